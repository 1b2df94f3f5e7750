//! The options and verbs that a command and a pipeline share: those of the run as a whole.

use std::time::Duration;

use super::exec::LineCallback;
use super::{Command, Pipeline};
use crate::cancel::CancelToken;
use crate::error::Result;
use crate::lines::Line;
use crate::options::{Containment, Pipefail, Survivors, Terminal};
use crate::outcome::Outcome;
use crate::run::{self, Running, Verb};
use crate::signal::Signal;

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
                self.options.on_line = Some(LineCallback::new(callback));
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

            /// Whether it receives the [`Context`](crate::Context) in its environment; it does, unless told
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
