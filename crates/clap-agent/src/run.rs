//! From the words of a call to its end: the one path every program takes.

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{ArgMatches, FromArgMatches};

use crate::called::Called;
use crate::describe;
use crate::exit::{Exit, Finish};
use crate::flags;
use crate::invocation::Invocation;
use crate::program::Program;
use crate::scan::scan;
use crate::writer::Writer;

/// Runs a clap program so that agents can discover, call and trust it: the one line of the
/// author's code.
///
/// ```no_run
/// use std::process::ExitCode;
/// use clap::Parser;
/// use clap_agent::{AgentError, Writer};
///
/// /// Says hello
/// #[derive(Parser)]
/// #[command(version)]
/// struct Cli {
///     /// Whom to greet
///     name: String,
/// }
///
/// fn app(cli: Cli, out: &Writer) -> Result<(), AgentError> {
///     if cli.name.is_empty() {
///         return Err(AgentError::user("the name is empty", "give a name").with_field("name"));
///     }
///     let greeting = format!("hello {}", cli.name);
///     out.success(&greeting, &serde_json::json!({"greeting": greeting}))
/// }
///
/// fn main() -> ExitCode {
///     clap_agent::run::<Cli>(|cli, out| app(cli, out))
/// }
/// ```
pub fn run<C: clap::Parser>(app: impl App<C>) -> ExitCode {
    Program::of::<C>().run::<C>(app)
}

/// The author's function: takes what was parsed and a [`Writer`], returns anything that is
/// [`Finish`]. Every closure and function of that form is one; nothing else need be.
///
/// ```
/// use clap_agent::{AgentError, App, Writer};
///
/// fn app(name: String, out: &Writer) -> Result<(), AgentError> {
///     out.success(&name, &name)
/// }
///
/// fn takes(_: impl App<String>) {}
/// takes(app);
/// ```
pub trait App<C>: FnOnce(C, &Writer) -> <Self as App<C>>::End {
    /// What it returns.
    type End: Finish;
}

impl<C, F: FnOnce(C, &Writer) -> R, R: Finish> App<C> for F {
    type End = R;
}

impl Program {
    /// Runs the program on this process's arguments and streams, parsed into a derived type.
    ///
    /// ```no_run
    /// # #[derive(clap::Parser)]
    /// # struct Cli {}
    /// use clap_agent::{Effect, Program};
    ///
    /// fn main() -> std::process::ExitCode {
    ///     Program::of::<Cli>().gate(Effect::Destructive).run::<Cli>(|_, out| out.success("ok", "ok"))
    /// }
    /// ```
    pub fn run<C: FromArgMatches>(self, app: impl App<C>) -> ExitCode {
        self.call::<C>(Invocation::real(), app).into()
    }

    /// Runs the program on this process's arguments and streams, as clap's matches.
    ///
    /// ```no_run
    /// fn main() -> std::process::ExitCode {
    ///     clap_agent::Program::new(clap::Command::new("x"))
    ///         .run_matches(|_matches, out| out.success("ok", "ok"))
    /// }
    /// ```
    pub fn run_matches(self, app: impl App<ArgMatches>) -> ExitCode {
        self.call_matches(Invocation::real(), app).into()
    }

    /// Runs the program on a call of your own making, parsed into a derived type.
    ///
    /// ```
    /// #[derive(clap::Parser)]
    /// struct Cli { name: String }
    /// use clap_agent::{Exit, Invocation, Program};
    ///
    /// let exit = Program::of::<Cli>()
    ///     .call::<Cli>(Invocation::of(["greet", "you"]), |cli, out| out.success(&cli.name, &cli.name));
    /// assert_eq!(exit, Exit::Ok);
    /// let exit = Program::of::<Cli>()
    ///     .call::<Cli>(Invocation::of(["greet"]), |cli, out| out.success(&cli.name, &cli.name));
    /// assert_eq!(exit, Exit::UserError);
    /// ```
    pub fn call<C: FromArgMatches>(self, call: Invocation, app: impl App<C>) -> Exit {
        let parse = |mut matches: ArgMatches| C::from_arg_matches_mut(&mut matches);
        self.execute(call, parse, app)
    }

    /// Runs the program on a call of your own making, as clap's matches.
    ///
    /// ```
    /// use clap_agent::{Exit, Invocation, Program};
    /// let program = Program::new(clap::Command::new("x"));
    /// let exit = program.call_matches(Invocation::of(["x"]), |_, out| out.success("ok", "ok"));
    /// assert_eq!(exit, Exit::Ok);
    /// ```
    pub fn call_matches(self, call: Invocation, app: impl App<ArgMatches>) -> Exit {
        self.execute(call, Ok, app)
    }

    fn execute<T, A: App<T>>(
        self,
        call: Invocation,
        parse: impl FnOnce(ArgMatches) -> Result<T, clap::Error>,
        app: A,
    ) -> Exit {
        let Program { command, settings } = self;
        let words = flags::words(&call.args, &command);
        let plain = flags::is_plain(&words, &command);
        let mut command = if plain { command } else { settings.furnish(command, &words) };
        let mut parsed = command.try_get_matches_from_mut(&call.args);
        if let Err(error) = &parsed
            && error.kind() == ErrorKind::MissingRequiredArgument
            && !plain
            && describe::is_mounted(&command, &scan(&command, &call.args, &settings.infra).path)
        {
            // `describe` needs nothing of what the program requires.
            command = command.subcommand_negates_reqs(true);
            parsed = command.try_get_matches_from_mut(&call.args);
            // What is told about the program is what its author set.
            command = command.subcommand_negates_reqs(false);
        }
        // Never freed in a real call: taking the tree apart takes longer than parsing, and the
        // process is about to end.
        let kept = call.real.then(|| &*Box::leak(Box::new(std::mem::take(&mut command))));
        let command = kept.unwrap_or(&command);
        let matches = match parsed {
            Ok(matches) => matches,
            Err(error) => return crate::refused::answer(&error, command, &settings, call),
        };
        let called = Called::read(command, &matches, &settings, plain);
        let (streams, surroundings) = (call.streams, call.surroundings);
        let (writer, selection) = called.writer(streams.stdout, streams.stderr, &surroundings);
        if let Err(error) = selection {
            return writer.error(&called.own(error));
        }
        if !plain && let Some(exit) = describe::serve(&called, &matches, &writer, call.real) {
            return exit;
        }
        if call.real && settings.signals && !called.passthrough() {
            crate::signals::install(&writer, surroundings.stderr_terminal);
        }
        if let Err(error) = called.pass_gate(&writer, &surroundings, streams.stdin) {
            return writer.error(&called.own(error));
        }
        let parsed = match parse(matches) {
            Ok(parsed) => parsed,
            Err(error) => {
                let error = error.with_cmd(command);
                return writer.error(&called.own(called.explain(&error)));
            }
        };
        let ended = crate::caught::caught(call.real, || app(parsed, &writer).finish());
        let exit = match (ended, writer.take_swallowed()) {
            (Err(error), _) | (Ok(_), Some(error)) => writer.error(&error),
            (Ok(exit), None) => {
                writer.flush();
                exit
            }
        };
        if call.real {
            // Everything is written, and the process is about to end.
            std::mem::forget(writer);
        }
        exit
    }
}
