//! One call of a program, real or made up.

use std::ffi::OsString;
use std::io::Write;

use crate::buffer::Buffer;
use crate::mode::Surroundings;

/// One call of a program: its words, its surroundings and its three streams.
///
/// ```
/// use clap_agent::{Exit, Invocation, Program};
///
/// let mut call = Invocation::of(["greet", "--output", "ndjson"]);
/// let stdout = call.capture_stdout();
/// let program = Program::new(clap::Command::new("greet"));
/// let exit = program.call_matches(call, |_, out| out.success("hello", "hello"));
/// assert_eq!(exit, Exit::Ok);
/// assert!(stdout.text().contains(r#""result":"hello""#));
/// ```
pub struct Invocation {
    pub(crate) args: Vec<OsString>,
    pub(crate) surroundings: Surroundings,
    pub(crate) streams: Streams,
    /// The process is ours: handlers may be installed.
    pub(crate) real: bool,
}

pub(crate) struct Streams {
    pub(crate) stdin: Stdin,
    pub(crate) stdout: Box<dyn Write + Send>,
    pub(crate) stderr: Box<dyn Write + Send>,
}

/// Where the answer to a question comes from.
pub(crate) enum Stdin {
    Real,
    Typed(String),
}

impl Stdin {
    /// One line. What follows it stays for the program: its buffer is the process's own.
    pub(crate) fn line(self) -> String {
        let mut line = String::new();
        match self {
            Stdin::Real => {
                let _ = std::io::stdin().read_line(&mut line);
            }
            Stdin::Typed(text) => {
                line.push_str(text.split_inclusive('\n').next().unwrap_or_default());
            }
        }
        line
    }
}

impl Invocation {
    /// The one this process was started with.
    ///
    /// ```
    /// let call = clap_agent::Invocation::real();
    /// # let _ = call;
    /// ```
    #[must_use]
    #[inline]
    pub fn real() -> Self {
        Invocation {
            args: std::env::args_os().collect(),
            surroundings: Surroundings::detect(),
            streams: Streams {
                stdin: Stdin::Real,
                stdout: Box::new(std::io::stdout()),
                stderr: Box::new(std::io::stderr()),
            },
            real: true,
        }
    }

    /// A made-up one, for tests: the program's name and its arguments, nothing on stdin, no
    /// terminal, streams that go nowhere.
    ///
    /// ```
    /// let call = clap_agent::Invocation::of(["tasks", "list"]);
    /// # let _ = call;
    /// ```
    #[must_use]
    pub fn of<S: Into<OsString>>(args: impl IntoIterator<Item = S>) -> Self {
        Invocation {
            args: args.into_iter().map(Into::into).collect(),
            surroundings: Surroundings::default(),
            streams: Streams {
                stdin: Stdin::Typed(String::new()),
                stdout: Box::new(std::io::sink()),
                stderr: Box::new(std::io::sink()),
            },
            real: false,
        }
    }

    /// Other surroundings.
    ///
    /// ```
    /// use clap_agent::{Invocation, Surroundings};
    /// let call = Invocation::of(["tasks"]).within(Surroundings::terminal());
    /// # let _ = call;
    /// ```
    #[must_use]
    pub fn within(mut self, surroundings: Surroundings) -> Self {
        self.surroundings = surroundings;
        self
    }

    /// What is typed.
    ///
    /// ```
    /// let call = clap_agent::Invocation::of(["tasks", "clear"]).typing("y\n");
    /// # let _ = call;
    /// ```
    #[must_use]
    pub fn typing(mut self, text: &str) -> Self {
        self.streams.stdin = Stdin::Typed(text.to_owned());
        self
    }

    /// Collects what goes to stdout.
    ///
    /// ```
    /// let stdout = clap_agent::Invocation::of(["tasks"]).capture_stdout();
    /// assert_eq!(stdout.text(), "");
    /// ```
    pub fn capture_stdout(&mut self) -> Buffer {
        let buffer = Buffer::new();
        self.streams.stdout = Box::new(buffer.clone());
        buffer
    }

    /// Collects what goes to stderr.
    ///
    /// ```
    /// let stderr = clap_agent::Invocation::of(["tasks"]).capture_stderr();
    /// assert_eq!(stderr.text(), "");
    /// ```
    pub fn capture_stderr(&mut self) -> Buffer {
        let buffer = Buffer::new();
        self.streams.stderr = Box::new(buffer.clone());
        buffer
    }
}

impl std::fmt::Debug for Invocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Invocation").field("args", &self.args).finish_non_exhaustive()
    }
}
