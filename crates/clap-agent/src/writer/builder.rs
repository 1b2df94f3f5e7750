//! Making a writer: sinks, reader, form.

use std::fmt;
use std::io::Write;
use std::sync::{Arc, Mutex};

use super::stderr::Stderr;
use super::{Inner, Writer};
use crate::exit::Exit;
use crate::format::{OutputFormat, Protocol};
use crate::mode::Mode;
use crate::select::Selection;

/// A writer being made.
///
/// ```
/// use clap_agent::{Buffer, Mode, Writer};
/// let out = Writer::builder(Buffer::new(), Buffer::new())
///     .mode(Mode::Person)
///     .tool_version("1.2.0")
///     .build();
/// assert_eq!(out.mode(), Mode::Person);
/// ```
pub struct WriterBuilder {
    stdout: Box<dyn Write + Send>,
    stderr: Box<dyn Write + Send>,
    mode: Option<Mode>,
    format: Option<OutputFormat>,
    protocol: Protocol,
    tool_version: String,
    stdout_terminal: bool,
    stderr_terminal: bool,
    colour: bool,
    forced: bool,
    dry_run: bool,
    selection: Selection,
    on_exit: Box<dyn Fn(Exit) + Send + Sync>,
}

impl WriterBuilder {
    #[inline]
    pub(super) fn new(stdout: Box<dyn Write + Send>, stderr: Box<dyn Write + Send>) -> Self {
        WriterBuilder {
            stdout,
            stderr,
            mode: None,
            format: None,
            protocol: Protocol::default(),
            tool_version: String::new(),
            stdout_terminal: false,
            stderr_terminal: false,
            colour: false,
            forced: false,
            dry_run: false,
            selection: Selection::default(),
            on_exit: Box::new(|exit| std::process::exit(i32::from(exit.code()))),
        }
    }

    /// Who is reading. A format, where one is given, decides instead.
    ///
    /// ```
    /// # use clap_agent::{Mode, OutputFormat, Writer};
    /// let out = Writer::builder(std::io::sink(), std::io::sink()).mode(Mode::Person).build();
    /// assert_eq!(out.format(), OutputFormat::Text);
    /// ```
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = Some(mode);
        self
    }

    /// The format.
    ///
    /// ```
    /// # use clap_agent::{Mode, OutputFormat, Writer};
    /// let out = Writer::builder(std::io::sink(), std::io::sink()).format(OutputFormat::Text).build();
    /// assert_eq!(out.mode(), Mode::Person);
    /// ```
    #[must_use]
    pub fn format(mut self, format: OutputFormat) -> Self {
        self.format = Some(format);
        self
    }

    /// The protocol.
    ///
    /// ```
    /// # use clap_agent::{Protocol, Writer};
    /// let out = Writer::builder(std::io::sink(), std::io::sink()).protocol(Protocol::V0_1).build();
    /// assert_eq!(out.protocol(), Protocol::V0_1);
    /// ```
    #[must_use]
    pub fn protocol(mut self, protocol: Protocol) -> Self {
        self.protocol = protocol;
        self
    }

    /// The program's version, for envelopes of protocol 0.2.
    ///
    /// ```
    /// # use clap_agent::Writer;
    /// let out = Writer::builder(std::io::sink(), std::io::sink()).tool_version("1.0").build();
    /// # let _ = out;
    /// ```
    #[must_use]
    pub fn tool_version(mut self, version: impl Into<String>) -> Self {
        self.tool_version = version.into();
        self
    }

    /// Which of the two sinks are terminals, and whether stderr takes colours.
    ///
    /// ```
    /// # use clap_agent::Writer;
    /// let out = Writer::builder(std::io::sink(), std::io::sink()).terminals(true, true, false).build();
    /// assert!(out.is_terminal());
    /// ```
    #[must_use]
    pub fn terminals(mut self, stdout: bool, stderr: bool, colour: bool) -> Self {
        self.stdout_terminal = stdout;
        self.stderr_terminal = stderr;
        self.colour = colour;
        self
    }

    /// The caller confirmed beforehand.
    ///
    /// ```
    /// # use clap_agent::Writer;
    /// let out = Writer::builder(std::io::sink(), std::io::sink()).forced(true).build();
    /// assert!(out.is_forced());
    /// ```
    #[must_use]
    pub fn forced(mut self, forced: bool) -> Self {
        self.forced = forced;
        self
    }

    /// Only a plan is wanted.
    ///
    /// ```
    /// # use clap_agent::Writer;
    /// let out = Writer::builder(std::io::sink(), std::io::sink()).dry_run(true).build();
    /// assert!(out.is_dry_run());
    /// ```
    #[must_use]
    pub fn dry_run(mut self, dry_run: bool) -> Self {
        self.dry_run = dry_run;
        self
    }

    pub(crate) fn selection(mut self, selection: Selection) -> Self {
        self.selection = selection;
        self
    }

    /// What [`Writer::fail`] ends the program with, instead of `std::process::exit`.
    ///
    /// ```
    /// # use clap_agent::Writer;
    /// let out = Writer::builder(std::io::sink(), std::io::sink())
    ///     .on_exit(|exit| panic!("exit {}", exit.code()))
    ///     .build();
    /// # let _ = out;
    /// ```
    #[must_use]
    pub fn on_exit(mut self, hook: impl Fn(Exit) + Send + Sync + 'static) -> Self {
        self.on_exit = Box::new(hook);
        self
    }

    /// The writer.
    ///
    /// ```
    /// let out = clap_agent::Writer::builder(std::io::sink(), std::io::sink()).build();
    /// # let _ = out;
    /// ```
    #[must_use]
    #[inline]
    pub fn build(self) -> Writer {
        let (mode, format) = match (self.format, self.mode) {
            (Some(OutputFormat::Text), _) => (Mode::Person, OutputFormat::Text),
            (Some(format), _) => (Mode::Agent, format),
            (None, Some(Mode::Person)) => (Mode::Person, OutputFormat::Text),
            (None, Some(Mode::Agent) | None) => (Mode::Agent, OutputFormat::Json),
        };
        Writer {
            inner: Arc::new(Inner {
                mode,
                format,
                protocol: self.protocol,
                tool_version: self.tool_version,
                terminal: self.stdout_terminal,
                colour: self.colour,
                forced: self.forced,
                dry_run: self.dry_run,
                selection: self.selection,
                stdout: Mutex::new(self.stdout),
                stderr: Mutex::new(Stderr::new(self.stderr, self.stderr_terminal)),
                swallowed: Mutex::new(None),
                on_exit: self.on_exit,
                on_held_log: std::sync::Once::new(),
            }),
        }
    }
}

impl fmt::Debug for WriterBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriterBuilder").finish_non_exhaustive()
    }
}
