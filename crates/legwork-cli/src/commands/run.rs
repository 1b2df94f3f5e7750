//! `legwork run`: a command in front.
//!
//! Two readers, two natures. For a person, a Makefile or CI it is a run of the library: it
//! streams, passes the terminal and stdin on, leaves no record, and ends as the command ended. For
//! a program that asked for a report it is a job: it is waited for with patience, and what does
//! not end in time runs on under its id. Which of the two it is, only a flag decides.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicI32, Ordering};

use clap::Args;
use clap_agent::{AgentError, Example, Exit, Mode, Notes, Returns, Writer};
use legwork::{CancelToken, Outcome, Output, Signal, Stdin, Terminal};
use legwork_job::{Input, Patience, Report};

use crate::errors::{self, OWN, STILL_RUNNING, told};
use crate::interrupt;
use crate::options::{JobOptions, Program, Source};
use crate::place::place;
use crate::sys::{Arrivals, Sender};
use crate::words::one_line;

pub(crate) const EXAMPLES: &str = "\
Examples:
  legwork run -- make test                          streams; ends as make ends
  legwork run --deadline 5m -c 'make 2>&1 | tail'   a shell line, with an end to its life
  legwork run --output json -- cargo test           a report, after at most ten seconds

Exit code: the command's own; 128+n when signal n ended it; 124 at its deadline; 127 not found,
126 not executable; 75 still running (reports only); 125 for legwork's own errors.";

pub(crate) fn notes() -> Notes {
    Notes::write()
        .passthrough()
        .errors_exit(OWN)
        .when_to_use(
            "to run a command and learn how it ended; pass --output json for a report, without it \
             the command's own output is streamed. For a server or a watcher use `start`",
        )
        .agent_description(
            "With --output json, ndjson or yaml, or with --agent, the command becomes a job: the \
             report comes when it has ended or after --timeout. `running: true` and exit code 75 \
             mean that it runs on; come back with `output` and its id.",
        )
        .returns(Returns::of::<Report>("the report of the job"))
        .example(Example::new("legwork run -- echo hello").says("streams"))
        .example(Example::new("legwork run -c 'exit 3'").exits(Exit::Partial).says("its own code"))
}

#[derive(Debug, Args)]
#[command(override_usage = "legwork run [OPTIONS] [--] PROGRAM [ARGUMENTS]...\n       \
                            legwork run [OPTIONS] -c LINE")]
pub(crate) struct Run {
    #[command(flatten)]
    options: JobOptions,
    /// A name for the job, unique among the running ones of its session
    #[arg(long, value_name = "NAME", help_heading = "The job", display_order = 0)]
    name: Option<String>,
    #[command(flatten)]
    program: Program,
}

pub(crate) fn execute(args: Run, out: &Writer) -> Result<Exit, AgentError> {
    let ended = match out.mode() {
        Mode::Person => streamed(args),
        Mode::Agent => reported(args, out),
    };
    ended.map_err(errors::own)
}

/// As a job, with a report.
fn reported(args: Run, out: &Writer) -> Result<Exit, AgentError> {
    let Run { options, name, program } = args;
    let config = options.config()?;
    let mut spec = options.spec(program, &config)?;
    spec.stdin = options.job_input()?;
    spec.name = name;
    let (limit, on_timeout) = options.patience(&config);
    // Only once there is a job to name; and while it runs, which costs the caller no time.
    let on_start = |id| interrupt::watch(id, out);
    let patience = Patience { limit, on_timeout, cancel: None, on_start: Some(&on_start) };
    let report = place()?.execute(&spec, &patience, &options.reading(&config)).map_err(told)?;
    out.success(report.output.as_deref().unwrap_or_default(), &report)?;
    Ok(exit(&report))
}

/// The command's number; still running is a number of its own.
fn exit(report: &Report) -> Exit {
    match report.shell_code {
        _ if report.running => STILL_RUNNING,
        Some(code) => errors::number(code),
        // It is over, and nobody knows how: that is no success.
        None => OWN,
    }
}

/// As a run of the library, for who sits in front of it.
fn streamed(args: Run) -> Result<Exit, AgentError> {
    let Run { options, name, program } = args;
    options.without_job(name.as_deref())?;
    let config = options.config()?;
    let mut spec = options.spec(program, &config)?;
    options.without_patience(
        &mut spec,
        "use --deadline to end the command, or --output json for a report after the timeout",
    )?;
    if options.pty.is_some() {
        return Err(AgentError::user(
            "a run that streams passes the caller's own terminal on",
            "leave out --pty, or use `legwork start --pty` and `legwork attach`",
        )
        .with_field("pty"));
    }
    let stdin = match options.source()? {
        Some(Source::Inherit) | None => Stdin::Inherit,
        Some(Source::Job(Input::Open)) => {
            return Err(AgentError::user(
                "only a job has an input that stays open",
                "use `legwork start --stdin open` and `legwork input`",
            )
            .with_field("stdin"));
        }
        Some(Source::Job(Input::Null)) => Stdin::Null,
        Some(Source::Job(Input::Bytes(bytes))) => Stdin::from(bytes),
        Some(Source::Job(Input::File(path))) => Stdin::File(path),
    };
    let terminal = match stdin {
        Stdin::Inherit if std::io::stdin().is_terminal() => Terminal::Foreground,
        _ => Terminal::Shared,
    };
    let cancel = CancelToken::new()?;
    pass_signals_on(&cancel);
    let command = spec
        .to_command()
        .stdin(stdin)
        .output(Output::Stream)
        .terminal(terminal)
        .cancel_token(&cancel)
        .check(false);
    let outcome = command.run().map_err(|error| errors::told_of_command(&error))?;
    tell(&outcome);
    Ok(match cancelled_by() {
        Some(signal) => errors::number(128 + signal.number()),
        None => errors::number(outcome.ending.number()),
    })
}

/// The signal for which the run was ended; 0: none.
static CANCELLED_BY: AtomicI32 = AtomicI32::new(0);

fn cancelled_by() -> Option<Signal> {
    Signal::from_number(CANCELLED_BY.load(Ordering::Acquire))
}

/// Who asks this process to end means the command. What a key at the terminal sent has reached the
/// command as well, and it decides.
fn pass_signals_on(cancel: &CancelToken) {
    let signals = [Signal::INT, Signal::QUIT, Signal::TERM, Signal::HUP];
    let Ok(arrivals) = Arrivals::of(&signals) else { return };
    let cancel = cancel.clone();
    let pass = move || {
        while let Some(arrival) = arrivals.wait() {
            if arrival.sent_by == Sender::Process {
                let number = arrival.signal.number();
                let _ =
                    CANCELLED_BY.compare_exchange(0, number, Ordering::AcqRel, Ordering::Acquire);
                cancel.cancel();
            }
        }
    };
    let _ = std::thread::Builder::new().name("signals".into()).spawn(pass);
}

/// What the command's own output does not say.
fn tell(outcome: &Outcome) {
    if outcome.timed_out() {
        eprintln!("legwork: {}; its whole process tree was ended", outcome.ending);
    }
    for note in &outcome.notes {
        eprintln!("legwork: {note}");
    }
    for survivor in &outcome.survivors {
        let command = one_line(&legwork::quote(&survivor.command));
        eprintln!("legwork: process {} lives on: {command}", survivor.pid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::tests::{ended, report};

    #[test]
    fn the_exit_is_the_commands_unless_it_runs() {
        assert_eq!(exit(&report("k3vq8m2a")).code(), 75);
        let mut failed = ended("k3vq8m2a", 3);
        failed.shell_code = Some(3);
        assert_eq!(exit(&failed).code(), 3);
        failed.shell_code = Some(137);
        assert_eq!(exit(&failed).code(), 137);
        failed.shell_code = None;
        assert_eq!(exit(&failed).code(), 125);
    }
}
