//! The two errors of this crate.
//!
//! [`InvalidInput`] says that what the caller asked for cannot be right, and names the field.
//! [`CommandError`] says that a command did not do what was asked of it: it was not started, or
//! it ended badly. It carries the [`Ending`], so that callers branch on that one enum and never
//! on message text.

use std::error::Error as StdError;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::ending::{Cause, Ending, NotStarted};
use crate::outcome::Outcome;
use crate::quote;

/// What the verbs of this crate return.
pub type Result<T, E = CommandError> = std::result::Result<T, E>;

/// Something in a request that cannot be right: which field, what is wrong, what to do.
///
/// ```
/// use legwork::prelude::*;
///
/// let error = cmd(["make"]).timeout(std::time::Duration::ZERO).capture().unwrap_err();
/// assert_eq!(error.invalid_input().unwrap().field(), "timeout");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}; {hint}")]
pub struct InvalidInput {
    field: String,
    problem: String,
    hint: String,
}

impl InvalidInput {
    /// A complaint about `field`.
    ///
    /// ```
    /// let error = legwork::InvalidInput::new("port", "\"x\" is no number", "use 1 to 65535");
    /// assert_eq!(error.to_string(), "port: \"x\" is no number; use 1 to 65535");
    /// ```
    pub fn new(
        field: impl Into<String>,
        problem: impl Into<String>,
        hint: impl Into<String>,
    ) -> InvalidInput {
        InvalidInput { field: field.into(), problem: problem.into(), hint: hint.into() }
    }

    /// The field it is about, as the caller knows it.
    ///
    /// ```
    /// assert_eq!("x".parse::<legwork::Signal>().unwrap_err().field(), "signal");
    /// ```
    pub fn field(&self) -> &str {
        &self.field
    }

    /// What to do about it.
    ///
    /// ```
    /// let error = "TREM".parse::<legwork::Signal>().unwrap_err();
    /// assert_eq!(error.hint(), "did you mean \"TERM\"?");
    /// ```
    pub fn hint(&self) -> &str {
        &self.hint
    }
}

/// A command that was not started or ended badly.
///
/// ```
/// use legwork::prelude::*;
///
/// let error = sh(["sh", "-c", "exit 2"]).unwrap_err();
/// assert_eq!(error.exit_code(), Some(2));
/// assert_eq!(error.to_string(), "command failed (exit 2): sh -c 'exit 2'");
/// ```
#[derive(Debug)]
pub struct CommandError {
    inner: Box<Inner>,
}

#[derive(Debug)]
struct Inner {
    command: Vec<OsString>,
    ending: Ending,
    workdir: Option<PathBuf>,
    outcome: Option<Outcome>,
    source: Option<Source>,
}

#[derive(Debug)]
enum Source {
    Invalid(InvalidInput),
    Io(io::Error),
}

/// How much of stderr an error repeats at most.
const STDERR_TAIL: usize = 4096;

impl CommandError {
    pub(crate) fn failed(outcome: Outcome) -> CommandError {
        CommandError {
            inner: Box::new(Inner {
                command: outcome.command.clone(),
                ending: outcome.ending.clone(),
                workdir: outcome.workdir.clone(),
                outcome: Some(outcome),
                source: None,
            }),
        }
    }

    pub(crate) fn not_started(
        command: Vec<OsString>,
        workdir: Option<PathBuf>,
        why: NotStarted,
        source: Option<io::Error>,
    ) -> CommandError {
        CommandError {
            inner: Box::new(Inner {
                command,
                ending: Ending::not_started(why),
                workdir,
                outcome: None,
                source: source.map(Source::Io),
            }),
        }
    }

    pub(crate) fn denied(
        command: Vec<OsString>,
        workdir: Option<PathBuf>,
        rule: &str,
    ) -> CommandError {
        let ending = Ending::new(Cause::Denied { rule: rule.to_owned() }, None);
        CommandError {
            inner: Box::new(Inner { command, ending, workdir, outcome: None, source: None }),
        }
    }

    pub(crate) fn invalid(command: Vec<OsString>, input: InvalidInput) -> CommandError {
        CommandError {
            inner: Box::new(Inner {
                command,
                ending: Ending::not_started(NotStarted::Invalid { field: input.field.clone() }),
                workdir: None,
                outcome: None,
                source: Some(Source::Invalid(input)),
            }),
        }
    }

    /// The command, as it was given.
    ///
    /// ```
    /// let error = legwork::sh(["false"]).unwrap_err();
    /// assert_eq!(error.command(), ["false"]);
    /// ```
    pub fn command(&self) -> &[OsString] {
        &self.inner.command
    }

    /// How it ended; a command that was not started has an ending too.
    ///
    /// ```
    /// use legwork::{Cause, NotStarted};
    ///
    /// let error = legwork::sh(["no-such-program-here"]).unwrap_err();
    /// assert!(matches!(error.ending().cause(), Cause::NotStarted(NotStarted::NotFound { .. })));
    /// assert_eq!(error.ending().number(), 127);
    /// ```
    pub fn ending(&self) -> &Ending {
        &self.inner.ending
    }

    /// The exit code, where it really exited.
    ///
    /// ```
    /// assert_eq!(legwork::sh(["false"]).unwrap_err().exit_code(), Some(1));
    /// ```
    pub fn exit_code(&self) -> Option<i32> {
        self.inner.ending.exit_code()
    }

    /// The workdir, where one was asked for.
    ///
    /// ```
    /// let error = legwork::cmd(["false"]).workdir("/").run().unwrap_err();
    /// assert_eq!(error.workdir().unwrap().to_str(), Some("/"));
    /// ```
    pub fn workdir(&self) -> Option<&Path> {
        self.inner.workdir.as_deref()
    }

    /// Everything known of the run, where one took place.
    ///
    /// ```
    /// let error = legwork::sh(["false"]).unwrap_err();
    /// assert!(error.outcome().unwrap().pid.is_some());
    /// ```
    pub fn outcome(&self) -> Option<&Outcome> {
        self.inner.outcome.as_ref()
    }

    /// The last 4 KiB of stderr, where it was captured.
    ///
    /// ```
    /// use legwork::prelude::*;
    /// let error = shell("echo oops >&2; exit 1").stderr(Output::Capture).run().unwrap_err();
    /// assert_eq!(error.stderr_tail().as_deref(), Some("oops\n"));
    /// ```
    pub fn stderr_tail(&self) -> Option<String> {
        let stderr = self.inner.outcome.as_ref()?.stderr.as_ref()?.bytes();
        let mut from = stderr.len().saturating_sub(STDERR_TAIL);
        while from < stderr.len() && stderr[from] & 0xC0 == 0x80 {
            from += 1;
        }
        Some(String::from_utf8_lossy(&stderr[from..]).into_owned())
    }

    /// What in the request was wrong, where that is why nothing was started.
    ///
    /// ```
    /// let nothing: [&str; 0] = [];
    /// let error = legwork::sh(nothing).unwrap_err();
    /// assert_eq!(error.invalid_input().unwrap().field(), "argv");
    /// ```
    pub fn invalid_input(&self) -> Option<&InvalidInput> {
        match &self.inner.source {
            Some(Source::Invalid(input)) => Some(input),
            Some(Source::Io(_)) | None => None,
        }
    }

    /// The outcome itself, for callers that go on after a failure.
    ///
    /// ```
    /// let outcome = legwork::sh(["false"]).unwrap_err().into_outcome().unwrap();
    /// assert!(outcome.failed());
    /// ```
    pub fn into_outcome(self) -> Option<Outcome> {
        self.inner.outcome
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { command, ending, workdir, source, .. } = &*self.inner;
        let line = quote::line(command);
        match (ending.cause(), source) {
            (_, Some(Source::Invalid(input))) => write!(f, "command not started ({input})")?,
            (Cause::NotStarted(NotStarted::BadDirectory), _) => {
                let workdir = workdir.as_deref().unwrap_or(Path::new("."));
                write!(
                    f,
                    "command not started (workdir {} is no usable directory)",
                    quote::path(workdir)
                )?;
            }
            (Cause::NotStarted(_), _) => write!(f, "command not started ({ending})")?,
            (Cause::Denied { .. }, _) => write!(f, "command denied ({ending})")?,
            _ => write!(f, "command failed ({ending})")?,
        }
        if line.is_empty() { Ok(()) } else { write!(f, ": {line}") }
    }
}

impl StdError for CommandError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &self.inner.source {
            Some(Source::Invalid(input)) => Some(input),
            Some(Source::Io(error)) => Some(error),
            None => None,
        }
    }
}
