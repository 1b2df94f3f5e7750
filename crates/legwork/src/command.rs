//! The command value: what to run, with its environment, place, input, outputs and limits.
//!
//! A plain value: building one touches nothing, cloning one is cheap, and running one does not
//! use it up. What cannot be right is remembered and told when it is run, so that a chain of
//! options needs no error handling of its own.

mod data;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::cancel::CancelToken;
use crate::context::Context;
use crate::env::{EnvMode, Environment, Toolchain};
use crate::error::{InvalidInput, Result};
use crate::lines::Line;
use crate::options::{Containment, Limits, Output, Pipefail, Stdin, Survivors, Terminal};
use crate::outcome::Outcome;
use crate::run::{self, Running, Verb};
use crate::signal::Signal;

/// A command: argv or a shell line, with everything that belongs to it.
///
/// ```
/// use legwork::prelude::*;
/// use std::time::Duration;
///
/// let outcome = cmd(["git", "--version"])
///     .env("LC_ALL", "C")
///     .workdir("/")
///     .timeout(Duration::from_secs(10))
///     .capture()?;
/// assert!(outcome.stdout_text().starts_with("git version"));
/// # Ok::<(), legwork::CommandError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Command {
    pub(crate) exec: Exec,
    pub(crate) options: RunOptions,
}

/// Several commands, each reading what the one before it prints. No shell is involved.
///
/// ```
/// use legwork::prelude::*;
///
/// let outcome = cmd(["seq", "100"]).pipe(cmd(["grep", "9"])).pipe(cmd(["wc", "-l"])).capture()?;
/// assert_eq!(outcome.stdout_text().trim(), "19");
/// assert_eq!(outcome.pipeline.len(), 3);
/// # Ok::<(), legwork::CommandError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Pipeline {
    pub(crate) stages: Vec<Exec>,
    pub(crate) options: RunOptions,
}

/// What to execute.
#[derive(Debug, Clone)]
pub(crate) enum What {
    Argv(Vec<OsString>),
    Shell { line: OsString, shell: Option<OsString> },
}

/// The part of a command that concerns its process.
#[derive(Debug, Clone)]
pub(crate) struct Exec {
    pub(crate) what: What,
    /// Arguments added after it was made.
    pub(crate) args: Vec<OsString>,
    pub(crate) env: Environment,
    pub(crate) workdir: Option<PathBuf>,
    pub(crate) stdin: Stdin,
    pub(crate) stdout: Option<Output>,
    pub(crate) stderr: Option<Output>,
    pub(crate) merged: bool,
    pub(crate) pty: Option<(u16, u16)>,
    pub(crate) limits: Limits,
    pub(crate) nice: Option<i32>,
    pub(crate) oom_score_adj: Option<i32>,
    /// Only inside a Bundler project.
    pub(crate) needs_gemfile: bool,
    pub(crate) problem: Option<InvalidInput>,
}

/// The part that concerns the run as a whole. What is `None` has its default.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunOptions {
    pub(crate) timeout: Option<Duration>,
    pub(crate) idle_timeout: Option<Duration>,
    pub(crate) kill_signal: Option<Signal>,
    pub(crate) kill_grace: Option<Duration>,
    pub(crate) survivors: Option<Survivors>,
    pub(crate) capture_limit: Option<usize>,
    pub(crate) containment: Option<Containment>,
    pub(crate) require_containment: Option<Containment>,
    pub(crate) check: Option<bool>,
    pub(crate) on_line: Option<LineCallback>,
    pub(crate) cancel: Option<CancelToken>,
    pub(crate) terminal: Option<Terminal>,
    pub(crate) pipefail: Option<Pipefail>,
    pub(crate) propagate_context: Option<bool>,
    /// Set by the scope, not by the caller.
    pub(crate) scope: Scoped,
}

/// What a scope hands to its commands.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scoped {
    pub(crate) context: Option<Context>,
    pub(crate) external_denied: bool,
}

impl RunOptions {
    /// The name of an option that was set here though it belongs to the pipeline.
    fn misplaced(&self) -> Option<&'static str> {
        [
            ("timeout", self.timeout.is_some()),
            ("idle_timeout", self.idle_timeout.is_some()),
            ("kill_signal", self.kill_signal.is_some()),
            ("kill_grace", self.kill_grace.is_some()),
            ("survivors", self.survivors.is_some()),
            ("capture_limit", self.capture_limit.is_some()),
            ("containment", self.containment.is_some() || self.require_containment.is_some()),
            ("check", self.check.is_some()),
            ("on_line", self.on_line.is_some()),
            ("cancel_token", self.cancel.is_some()),
            ("terminal", self.terminal.is_some()),
            ("pipefail", self.pipefail.is_some()),
            ("propagate_context", self.propagate_context.is_some()),
        ]
        .into_iter()
        .find_map(|(name, set)| set.then_some(name))
    }
}

/// A callback for each line of output.
#[derive(Clone)]
pub(crate) struct LineCallback(Arc<Mutex<Callback>>);

type Callback = dyn FnMut(&Line) + Send;

impl fmt::Debug for LineCallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LineCallback")
    }
}

impl LineCallback {
    pub(crate) fn call(&self, line: &Line) {
        // A callback that panicked has unwound its run; another run may still use it.
        let mut callback = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        callback(line);
    }
}

impl Command {
    /// A program and its arguments. No shell, no expansion: `$HOME` is five characters.
    ///
    /// ```
    /// let command = legwork::Command::new(["echo", "$HOME"]);
    /// assert_eq!(command.capture()?.stdout_text(), "$HOME\n");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    pub fn new(argv: impl IntoIterator<Item = impl Into<OsString>>) -> Command {
        Command::of(What::Argv(argv.into_iter().map(Into::into).collect()))
    }

    /// A line for a shell: `bash` where it exists, else `sh`.
    ///
    /// ```
    /// let outcome = legwork::Command::shell("echo a b | tr ' ' '\n' | wc -l").capture()?;
    /// assert_eq!(outcome.stdout_text().trim(), "2");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    pub fn shell(line: impl Into<OsString>) -> Command {
        Command::of(What::Shell { line: line.into(), shell: None })
    }

    /// A command as data, as tools receive it: an object with `command` and, optionally, `argv`,
    /// `env`, `cwd` (or `workdir`), `timeout` (milliseconds) and `clear_env`.
    ///
    /// `argv` is a JSON array whose elements that are no strings are taken as their JSON text; a
    /// string that holds a JSON array is that array; any other string is one argument. `env` is
    /// an object, or a string that holds one.
    ///
    /// # Errors
    /// Whatever is malformed is named by its field; nothing is ignored.
    ///
    /// ```
    /// use legwork::Command;
    /// use serde_json::json;
    ///
    /// let command = Command::from_json(&json!({
    ///     "command": "echo", "argv": ["a b", 5], "timeout": 10_000, "clear_env": true,
    /// }))?;
    /// assert_eq!(command.capture()?.stdout_text(), "a b 5\n");
    ///
    /// let error = Command::from_json(&json!({"command": "env", "env": "{oops"})).unwrap_err();
    /// assert_eq!(error.field(), "env");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_json(fields: &serde_json::Value) -> Result<Command, InvalidInput> {
        data::command(fields)
    }

    fn of(what: What) -> Command {
        Command {
            exec: Exec {
                what,
                args: Vec::new(),
                env: Environment::default(),
                workdir: None,
                stdin: Stdin::Null,
                stdout: None,
                stderr: None,
                merged: false,
                pty: None,
                limits: Limits::default(),
                nice: None,
                oom_score_adj: None,
                needs_gemfile: false,
                problem: None,
            },
            options: RunOptions::default(),
        }
    }

    /// Adds an argument.
    ///
    /// ```
    /// assert_eq!(legwork::cmd(["echo"]).arg("hi").capture()?.stdout_text(), "hi\n");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    #[must_use]
    pub fn arg(self, arg: impl Into<OsString>) -> Command {
        self.args([arg])
    }

    /// Adds arguments. For a shell line they become its positional parameters `$1`, `$2`, …: the
    /// safe way to hand it values.
    ///
    /// ```
    /// let files = ["a b", "$(c)"];
    /// let outcome = legwork::shell(r#"printf '%s\n' "$@""#).args(files).capture()?;
    /// assert_eq!(outcome.stdout_text(), "a b\n$(c)\n");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<OsString>>) -> Command {
        self.exec.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Names the shell for a shell line; it has to understand `-c`.
    ///
    /// ```
    /// let outcome = legwork::shell("echo $0").shell_program("sh").capture()?;
    /// assert!(outcome.stdout_text().starts_with("sh"));
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    #[must_use]
    pub fn shell_program(mut self, program: impl Into<OsString>) -> Command {
        if let What::Shell { shell, .. } = &mut self.exec.what {
            *shell = Some(program.into());
        } else {
            self.complain("shell", "this command is no shell line", "make it with `shell(line)`");
        }
        self
    }

    /// Sets a variable.
    ///
    /// ```
    /// let outcome = legwork::shell("echo $X").env("X", "1").capture()?;
    /// assert_eq!(outcome.stdout_text(), "1\n");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Command {
        self.exec.env.set(name.into(), value.into());
        self
    }

    /// Sets several.
    ///
    /// ```
    /// let outcome = legwork::shell("echo $X$Y").envs([("X", "1"), ("Y", "2")]).capture()?;
    /// assert_eq!(outcome.stdout_text(), "12\n");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    #[must_use]
    pub fn envs(
        self,
        vars: impl IntoIterator<Item = (impl Into<OsString>, impl Into<OsString>)>,
    ) -> Command {
        vars.into_iter().fold(self, |command, (name, value)| command.env(name, value))
    }

    /// Takes a variable away.
    ///
    /// ```
    /// let outcome = legwork::shell("echo [$HOME]").env_remove("HOME").capture()?;
    /// assert_eq!(outcome.stdout_text(), "[]\n");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    #[must_use]
    pub fn env_remove(mut self, name: impl Into<OsString>) -> Command {
        self.exec.env.remove(name.into());
        self
    }

    /// Chooses where the environment starts from; `env` and `env_remove` come on top.
    ///
    /// ```
    /// use legwork::EnvMode;
    /// let outcome = legwork::shell("echo [$HOME]").env_mode(EnvMode::Empty).capture()?;
    /// assert_eq!(outcome.stdout_text(), "[]\n");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    #[must_use]
    pub fn env_mode(mut self, mode: EnvMode) -> Command {
        self.exec.env.set_mode(mode);
        self
    }

    /// Takes away what one tool-chain sets.
    ///
    /// ```
    /// use legwork::Toolchain;
    /// let command = legwork::cmd(["env"]).without(Toolchain::Python);
    /// # let _ = command;
    /// ```
    #[must_use]
    pub fn without(mut self, toolchain: Toolchain) -> Command {
        self.exec.env.without(toolchain);
        self
    }

    /// The directory it runs in. A relative one is taken from the scope's, else from the caller's
    /// current directory.
    ///
    /// ```
    /// assert_eq!(legwork::cmd(["pwd"]).workdir("/").capture()?.stdout_text(), "/\n");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    #[must_use]
    pub fn workdir(mut self, directory: impl Into<PathBuf>) -> Command {
        let directory = directory.into();
        self.exec.workdir = Some(match &self.exec.workdir {
            Some(base) => base.join(directory),
            None => directory,
        });
        self
    }

    /// What it reads; nothing, unless said.
    ///
    /// ```
    /// let outcome = legwork::cmd(["cat"]).stdin("text").capture()?;
    /// assert_eq!(outcome.stdout_text(), "text");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    #[must_use]
    pub fn stdin(mut self, stdin: impl Into<Stdin>) -> Command {
        self.exec.stdin = stdin.into();
        self
    }

    /// Where its stdout goes; by default as the verb says.
    ///
    /// ```
    /// use legwork::Output;
    /// let outcome = legwork::cmd(["echo", "x"]).stdout(Output::Null).capture()?;
    /// assert!(outcome.stdout.is_none());
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    #[must_use]
    pub fn stdout(mut self, output: Output) -> Command {
        self.exec.stdout = Some(output);
        self
    }

    /// Where its stderr goes; by default as the verb says.
    ///
    /// ```
    /// use legwork::Output;
    /// let outcome = legwork::shell("echo x >&2").stderr(Output::Capture).run()?;
    /// assert_eq!(outcome.stderr_text(), "x\n");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    #[must_use]
    pub fn stderr(mut self, output: Output) -> Command {
        self.exec.stderr = Some(output);
        self
    }

    /// Where both go.
    ///
    /// ```
    /// use legwork::Output;
    /// let outcome = legwork::shell("echo x; echo y >&2").output(Output::Capture).run()?;
    /// assert_eq!(outcome.stdout_text(), "x\n");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    #[must_use]
    pub fn output(self, output: Output) -> Command {
        self.stdout(output.clone()).stderr(output)
    }

    /// Puts stderr on the pipe of stdout: the exact order, without telling the two apart.
    ///
    /// ```
    /// let outcome = legwork::shell("echo a; echo b >&2; echo c").merged().capture()?;
    /// assert_eq!(outcome.stdout_text(), "a\nb\nc\n");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    #[must_use]
    pub fn merged(mut self) -> Command {
        self.exec.merged = true;
        self
    }

    /// Gives it a pseudo-terminal of this size. Its output is one stream, as on a screen; its
    /// input, if any, is typed.
    ///
    /// ```
    /// let outcome = legwork::shell("test -t 1 && stty size").pty(24, 80).capture()?;
    /// assert_eq!(outcome.stdout_text().trim(), "24 80");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    #[must_use]
    pub fn pty(mut self, rows: u16, cols: u16) -> Command {
        if rows == 0 || cols == 0 {
            self.complain(
                "pty",
                &format!("{rows}x{cols} is no size"),
                "use 24 rows, 80 columns, say",
            );
        }
        self.exec.pty = Some((rows, cols));
        self
    }

    /// Resource limits.
    ///
    /// ```
    /// use legwork::Limits;
    /// let limits = Limits { core: Some(0), ..Limits::default() };
    /// assert!(legwork::cmd(["true"]).limits(limits).capture()?.success());
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Command {
        self.exec.limits = limits;
        self
    }

    /// Its nice value, from -20 (first) to 19 (last).
    ///
    /// ```
    /// assert_eq!(legwork::cmd(["nice"]).nice(7).capture()?.stdout_text(), "7\n");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    #[must_use]
    pub fn nice(mut self, nice: i32) -> Command {
        if !(-20..=19).contains(&nice) {
            self.complain("nice", &format!("{nice} is out of range"), "use -20 to 19");
        }
        self.exec.nice = Some(nice);
        self
    }

    /// How willingly the kernel ends it for want of memory, from -1000 (never) to 1000 (first).
    ///
    /// ```
    /// let outcome = legwork::cmd(["cat", "/proc/self/oom_score_adj"]).oom_score_adj(500).capture()?;
    /// assert_eq!(outcome.stdout_text(), "500\n");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    #[must_use]
    pub fn oom_score_adj(mut self, score: i32) -> Command {
        if !(-1000..=1000).contains(&score) {
            self.complain(
                "oom_score_adj",
                &format!("{score} is out of range"),
                "use -1000 to 1000",
            );
        }
        self.exec.oom_score_adj = Some(score);
        self
    }

    /// Feeds what this prints to another command.
    ///
    /// ```
    /// use legwork::cmd;
    /// let outcome = cmd(["printf", "b\\na\\n"]).pipe(cmd(["sort"])).capture()?;
    /// assert_eq!(outcome.stdout_text(), "a\nb\n");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    #[must_use]
    pub fn pipe(self, next: Command) -> Pipeline {
        let options = RunOptions { scope: self.options.scope.clone(), ..RunOptions::default() };
        Pipeline { stages: vec![self.into_stage()], options }.pipe(next)
    }

    fn into_stage(mut self) -> Exec {
        if let Some(name) = self.options.misplaced() {
            self.complain(name, "set on one stage of a pipeline", "set it on the pipeline itself");
        }
        if self.exec.pty.is_some() {
            self.complain("pty", "a stage of a pipeline has no terminal", "run the command alone");
        }
        self.exec
    }

    /// Remembers the first thing that cannot be right.
    fn complain(&mut self, field: &str, problem: &str, hint: &str) {
        self.exec.problem.get_or_insert_with(|| InvalidInput::new(field, problem, hint));
    }

    fn stages(&self) -> &[Exec] {
        std::slice::from_ref(&self.exec)
    }
}

impl Pipeline {
    /// Adds a stage.
    ///
    /// ```
    /// use legwork::cmd;
    /// let pipeline = cmd(["seq", "3"]).pipe(cmd(["cat"])).pipe(cmd(["wc", "-l"]));
    /// assert_eq!(pipeline.capture()?.stdout_text().trim(), "3");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    #[must_use]
    pub fn pipe(mut self, next: Command) -> Pipeline {
        self.options.scope.external_denied |= next.options.scope.external_denied;
        self.stages.push(next.into_stage());
        self
    }

    fn stages(&self) -> &[Exec] {
        &self.stages
    }
}

/// The options and verbs that a command and a pipeline share.
macro_rules! shared {
    ($($type:ident),*) => {$(
        impl $type {
            /// Ends the whole tree when this time is over.
            ///
            /// ```
            /// use std::time::Duration;
            /// let outcome = legwork::shell("sleep 60").timeout(Duration::from_millis(10)).capture()?;
            /// assert!(outcome.timed_out());
            /// # Ok::<(), legwork::CommandError>(())
            /// ```
            #[must_use]
            pub fn timeout(mut self, limit: Duration) -> Self {
                self.options.timeout = Some(limit);
                self
            }

            /// Ends the whole tree when nothing was printed for so long. The output then comes
            /// through a pipe, even where it is streamed.
            ///
            /// ```
            /// use std::time::Duration;
            /// let silent = legwork::shell("sleep 60").idle_timeout(Duration::from_millis(10));
            /// assert!(silent.capture()?.timed_out());
            /// # Ok::<(), legwork::CommandError>(())
            /// ```
            #[must_use]
            pub fn idle_timeout(mut self, limit: Duration) -> Self {
                self.options.idle_timeout = Some(limit);
                self
            }

            /// The signal that asks it to end; TERM, unless said.
            ///
            /// ```
            /// use legwork::Signal;
            /// let command = legwork::shell("sleep 1").kill_signal(Signal::INT);
            /// # let _ = command;
            /// ```
            #[must_use]
            pub fn kill_signal(mut self, signal: Signal) -> Self {
                self.options.kill_signal = Some(signal);
                self
            }

            /// How long it has after that signal before the whole tree is killed; five seconds,
            /// unless said. Zero kills at once.
            ///
            /// ```
            /// use std::time::Duration;
            /// let command = legwork::shell("sleep 1").kill_grace(Duration::ZERO);
            /// # let _ = command;
            /// ```
            #[must_use]
            pub fn kill_grace(mut self, grace: Duration) -> Self {
                self.options.kill_grace = Some(grace);
                self
            }

            /// What happens to descendants that outlive it.
            ///
            /// ```
            /// use legwork::Survivors;
            /// let outcome = legwork::shell("sleep 300 &").survivors(Survivors::End).capture()?;
            /// assert!(outcome.survivors.is_empty());
            /// # Ok::<(), legwork::CommandError>(())
            /// ```
            #[must_use]
            pub fn survivors(mut self, survivors: Survivors) -> Self {
                self.options.survivors = Some(survivors);
                self
            }

            /// How many bytes of each captured stream are kept: half from the head, half from the
            /// tail, the rest counted. 64 MiB, unless said.
            ///
            /// ```
            /// let outcome = legwork::shell("seq 1000").capture_limit(100).capture()?;
            /// assert_eq!(outcome.stdout.unwrap().bytes().len(), 100);
            /// # Ok::<(), legwork::CommandError>(())
            /// ```
            #[must_use]
            pub fn capture_limit(mut self, bytes: usize) -> Self {
                self.options.capture_limit = Some(bytes);
                self
            }

            /// What keeps its descendants together. Where that cannot be had, the next lower
            /// level is used, and the outcome says which and why.
            ///
            /// ```
            /// use legwork::Containment;
            /// let outcome = legwork::shell("true").containment(Containment::Group).capture()?;
            /// assert_eq!(outcome.containment, Containment::Group);
            /// # Ok::<(), legwork::CommandError>(())
            /// ```
            #[must_use]
            pub fn containment(mut self, level: Containment) -> Self {
                self.options.containment = Some(level);
                self
            }

            /// The same, but nothing is started where that level cannot be had.
            ///
            /// ```
            /// use legwork::Containment;
            /// let outcome = legwork::shell("true").require_containment(Containment::Marker).capture()?;
            /// assert_eq!(outcome.containment, Containment::Marker);
            /// # Ok::<(), legwork::CommandError>(())
            /// ```
            #[must_use]
            pub fn require_containment(mut self, level: Containment) -> Self {
                self.options.require_containment = Some(level);
                self
            }

            /// Whether `run` turns a failure into an error. It does, unless told `false`.
            ///
            /// ```
            /// let outcome = legwork::shell("exit 3").check(false).run()?;
            /// assert_eq!(outcome.exit_code(), Some(3));
            /// # Ok::<(), legwork::CommandError>(())
            /// ```
            #[must_use]
            pub fn check(mut self, check: bool) -> Self {
                self.options.check = Some(check);
                self
            }

            /// Calls this for each line of output as it comes, on the thread that runs the
            /// command. The output then comes through a pipe, even where it is streamed.
            ///
            /// ```
            /// use std::sync::atomic::{AtomicUsize, Ordering};
            /// static LINES: AtomicUsize = AtomicUsize::new(0);
            /// legwork::shell("seq 5").on_line(|_| { LINES.fetch_add(1, Ordering::Relaxed); }).capture()?;
            /// assert_eq!(LINES.load(Ordering::Relaxed), 5);
            /// # Ok::<(), legwork::CommandError>(())
            /// ```
            #[must_use]
            pub fn on_line(mut self, callback: impl FnMut(&Line) + Send + 'static) -> Self {
                self.options.on_line = Some(LineCallback(Arc::new(Mutex::new(callback))));
                self
            }

            /// Ends it when the token is cancelled, from whichever thread.
            ///
            /// ```
            /// let token = legwork::CancelToken::new().unwrap();
            /// token.cancel();
            /// let outcome = legwork::shell("sleep 300").cancel_token(&token).capture()?;
            /// assert_eq!(outcome.ending.cause(), &legwork::Cause::Cancelled);
            /// # Ok::<(), legwork::CommandError>(())
            /// ```
            #[must_use]
            pub fn cancel_token(mut self, token: &CancelToken) -> Self {
                self.options.cancel = Some(token.clone());
                self
            }

            /// How it shares the caller's terminal.
            ///
            /// ```
            /// use legwork::Terminal;
            /// let editor = legwork::shell("vi notes").terminal(Terminal::Foreground);
            /// # let _ = editor;
            /// ```
            #[must_use]
            pub fn terminal(mut self, terminal: Terminal) -> Self {
                self.options.terminal = Some(terminal);
                self
            }

            /// Which stages of a pipeline have to succeed.
            ///
            /// ```
            /// use legwork::{cmd, Pipefail};
            /// let first = cmd(["seq", "99999999"]).pipe(cmd(["head", "-1"]));
            /// assert!(first.pipefail(Pipefail::AllButSigpipe).capture()?.success());
            /// # Ok::<(), legwork::CommandError>(())
            /// ```
            #[must_use]
            pub fn pipefail(mut self, pipefail: Pipefail) -> Self {
                self.options.pipefail = Some(pipefail);
                self
            }

            /// Whether it receives the [`Context`] in its environment; it does, unless told
            /// `false`, which leaves not one of those variables but what `env` sets itself.
            ///
            /// ```
            /// let command = legwork::shell("echo [$LEGWORK_CI]").propagate_context(false);
            /// assert_eq!(command.capture()?.stdout_text(), "[]\n");
            /// # Ok::<(), legwork::CommandError>(())
            /// ```
            #[must_use]
            pub fn propagate_context(mut self, propagate: bool) -> Self {
                self.options.propagate_context = Some(propagate);
                self
            }

            /// Runs it, its output flowing through; a failure is an error.
            ///
            /// # Errors
            /// Where it cannot be started, or fails and [`check`](Self::check) is on.
            ///
            /// ```
            /// legwork::shell("true").run()?;
            /// assert!(legwork::shell("false").run().is_err());
            /// # Ok::<(), legwork::CommandError>(())
            /// ```
            pub fn run(&self) -> Result<Outcome> {
                run::blocking::run(self.stages(), &self.options, Verb::Run)
            }

            /// Runs it and keeps its output; a failure is a result, not an error.
            ///
            /// # Errors
            /// Where it cannot be started.
            ///
            /// ```
            /// let outcome = legwork::shell("echo x; exit 1").capture()?;
            /// assert_eq!((&*outcome.stdout_text(), outcome.exit_code()), ("x\n", Some(1)));
            /// # Ok::<(), legwork::CommandError>(())
            /// ```
            pub fn capture(&self) -> Result<Outcome> {
                run::blocking::run(self.stages(), &self.options, Verb::Capture)
            }

            /// Runs it silently: whether it succeeded. Never an error.
            ///
            /// ```
            /// assert!(legwork::shell("true").succeeds());
            /// assert!(!legwork::shell("no-such-program").succeeds());
            /// ```
            pub fn succeeds(&self) -> bool {
                run::blocking::run(self.stages(), &self.options, Verb::Succeeds)
                    .is_ok_and(|outcome| outcome.success())
            }

            /// Starts it and comes back at once with a handle. Dropping the handle ends the tree.
            ///
            /// # Errors
            /// Where it cannot be started.
            ///
            /// ```
            /// let run = legwork::shell("echo x").stdout(legwork::Output::Capture).spawn()?;
            /// assert_eq!(run.wait()?.stdout_text(), "x\n");
            /// # Ok::<(), legwork::CommandError>(())
            /// ```
            pub fn spawn(&self) -> Result<Running> {
                run::blocking::spawn(self.stages(), &self.options)
            }

            /// The same four verbs as futures, on tokio.
            ///
            /// ```
            /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
            /// let outcome = legwork::shell("echo x").tokio().capture().await?;
            /// assert_eq!(outcome.stdout_text(), "x\n");
            /// # Ok::<(), legwork::CommandError>(()) }).unwrap();
            /// ```
            #[cfg(feature = "tokio")]
            pub fn tokio(&self) -> crate::tokio::Async {
                crate::tokio::Async::new(self.stages(), &self.options)
            }
        }
    )*};
}

shared!(Command, Pipeline);

impl Exec {
    /// The argv that will be executed; for a shell line, that of the shell.
    pub(crate) fn argv(&self, path: Option<&OsStr>) -> Vec<OsString> {
        match &self.what {
            What::Argv(argv) => argv.iter().chain(&self.args).cloned().collect(),
            What::Shell { line, shell } => {
                let shell = shell.clone().unwrap_or_else(|| {
                    let bash = crate::find::program("bash".as_ref(), path, None).is_ok();
                    OsString::from(if bash { "bash" } else { "sh" })
                });
                let mut argv = vec![shell.clone(), "-c".into(), line.clone()];
                if !self.args.is_empty() {
                    // What the shell calls itself; the parameters follow.
                    argv.push(shell);
                    argv.extend(self.args.iter().cloned());
                }
                argv
            }
        }
    }
}
