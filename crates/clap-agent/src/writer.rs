//! The one way out of a program: what goes to stdout and stderr, in whose form.
//!
//! stdout carries envelopes and events only. Everything that is written, is written as whole lines
//! under a lock, so threads never tear each other's lines; a handle is cheap to clone and can be
//! given to any thread.

mod builder;
mod errors;
mod stderr;

use std::fmt;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use serde::Serialize;

use crate::envelope::{self, Envelope, Status};
use crate::error::AgentError;
use crate::exit::Exit;
use crate::format::{OutputFormat, Protocol};
use crate::log::{Level, PROGRESS};
use crate::mode::Mode;
use crate::ordered::Ordered;
use crate::progress::Progress;
use crate::select::Selection;

pub use builder::WriterBuilder;
use stderr::Stderr;

/// Where a program's answers go.
///
/// The crate hands one to the author's function; tests and servers build their own on any two
/// sinks.
///
/// ```
/// use clap_agent::{Mode, Writer};
///
/// let (stdout, stderr) = (clap_agent::Buffer::new(), clap_agent::Buffer::new());
/// let out = Writer::builder(stdout.clone(), stderr).mode(Mode::Agent).build();
/// out.success("2 tasks", &["buy milk", "sleep"])?;
/// assert_eq!(
///     stdout.text(),
///     "{\n  \"result\": [\n    \"buy milk\",\n    \"sleep\"\n  ],\n  \
///      \"schema_version\": \"0.2\",\n  \"status\": \"ok\"\n}\n"
/// );
/// # Ok::<(), clap_agent::AgentError>(())
/// ```
#[derive(Clone)]
pub struct Writer {
    inner: Arc<Inner>,
}

/// A handle that keeps nothing alive.
pub(crate) struct WeakWriter(Weak<Inner>);

impl WeakWriter {
    pub(crate) fn upgrade(&self) -> Option<Writer> {
        self.0.upgrade().map(|inner| Writer { inner })
    }
}

struct Inner {
    mode: Mode,
    format: OutputFormat,
    protocol: Protocol,
    tool_version: String,
    terminal: bool,
    colour: bool,
    forced: bool,
    dry_run: bool,
    selection: Selection,
    stdout: Mutex<Box<dyn Write + Send>>,
    stderr: Mutex<Stderr>,
    /// A failure the author's function did not pass on must still end the program as one.
    swallowed: Mutex<Option<AgentError>>,
    on_exit: Box<dyn Fn(Exit) + Send + Sync>,
    on_held_log: std::sync::Once,
}

impl Writer {
    /// Starts a writer on two sinks.
    ///
    /// ```
    /// use clap_agent::{OutputFormat, Protocol, Writer};
    ///
    /// let out = Writer::builder(std::io::sink(), std::io::sink())
    ///     .format(OutputFormat::Yaml)
    ///     .protocol(Protocol::V0_1)
    ///     .build();
    /// assert_eq!(out.format(), OutputFormat::Yaml);
    /// assert_eq!(out.protocol(), Protocol::V0_1);
    /// ```
    #[inline]
    pub fn builder(
        stdout: impl Write + Send + 'static,
        stderr: impl Write + Send + 'static,
    ) -> WriterBuilder {
        WriterBuilder::new(Box::new(stdout), Box::new(stderr))
    }

    /// Who is reading.
    ///
    /// ```
    /// # use clap_agent::{Mode, Writer};
    /// let out = Writer::builder(std::io::sink(), std::io::sink()).build();
    /// assert_eq!(out.mode(), Mode::Agent);
    /// ```
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.inner.mode
    }

    /// The format in force.
    ///
    /// ```
    /// # use clap_agent::{OutputFormat, Writer};
    /// let out = Writer::builder(std::io::sink(), std::io::sink()).build();
    /// assert_eq!(out.format(), OutputFormat::Json);
    /// ```
    #[must_use]
    pub fn format(&self) -> OutputFormat {
        self.inner.format
    }

    /// The protocol in force.
    ///
    /// ```
    /// # use clap_agent::{Protocol, Writer};
    /// let out = Writer::builder(std::io::sink(), std::io::sink()).build();
    /// assert_eq!(out.protocol(), Protocol::V0_2);
    /// ```
    #[must_use]
    pub fn protocol(&self) -> Protocol {
        self.inner.protocol
    }

    /// Whether stdout is a terminal.
    ///
    /// ```
    /// # use clap_agent::Writer;
    /// assert!(!Writer::builder(std::io::sink(), std::io::sink()).build().is_terminal());
    /// ```
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        self.inner.terminal
    }

    /// Whether the caller confirmed beforehand (`--force`, `--yes`).
    ///
    /// ```
    /// # use clap_agent::Writer;
    /// assert!(!Writer::builder(std::io::sink(), std::io::sink()).build().is_forced());
    /// ```
    #[must_use]
    pub fn is_forced(&self) -> bool {
        self.inner.forced
    }

    /// Whether only a plan is wanted (`--dry-run`).
    ///
    /// ```
    /// # use clap_agent::Writer;
    /// let out = Writer::builder(std::io::sink(), std::io::sink()).dry_run(true).build();
    /// assert!(out.is_dry_run());
    /// ```
    #[must_use]
    pub fn is_dry_run(&self) -> bool {
        self.inner.dry_run
    }

    /// The answer: the text for people, the payload for programs.
    ///
    /// # Errors
    ///
    /// When the payload cannot be serialised (a NaN can: JSON has no word for it but `null`), when
    /// `--fields` or `--jq` cannot be applied to it (the whole answer is printed then), or when
    /// stdout cannot be written. Passing it on with `?` is enough; a caller that drops it
    /// still ends with the error's exit code.
    ///
    /// ```
    /// # use clap_agent::{Buffer, OutputFormat, Writer};
    /// let stdout = Buffer::new();
    /// let out = Writer::builder(stdout.clone(), Buffer::new()).format(OutputFormat::Text).build();
    /// out.success("created task 1", &serde_json::json!({"id": 1}))?;
    /// assert_eq!(stdout.text(), "created task 1\n");
    /// # Ok::<(), clap_agent::AgentError>(())
    /// ```
    pub fn success(
        &self,
        text: impl fmt::Display,
        payload: &(impl Serialize + ?Sized),
    ) -> Result<(), AgentError> {
        self.answer(Status::Ok, &text, payload)
    }

    /// What would be done, under `--dry-run`: `"status": "plan"`, an extension of protocol 0.2.
    ///
    /// # Errors
    ///
    /// As [`Writer::success`].
    ///
    /// ```
    /// # use clap_agent::{Buffer, OutputFormat, Writer};
    /// let stdout = Buffer::new();
    /// let out = Writer::builder(stdout.clone(), Buffer::new()).format(OutputFormat::Ndjson).build();
    /// out.plan("would delete task 1", &serde_json::json!({"delete": [1]}))?;
    /// assert!(stdout.text().contains(r#""status":"plan""#));
    /// # Ok::<(), clap_agent::AgentError>(())
    /// ```
    pub fn plan(
        &self,
        text: impl fmt::Display,
        payload: &(impl Serialize + ?Sized),
    ) -> Result<(), AgentError> {
        self.answer(Status::Plan, &text, payload)
    }

    fn answer(
        &self,
        status: Status,
        text: &dyn fmt::Display,
        payload: &(impl Serialize + ?Sized),
    ) -> Result<(), AgentError> {
        let inner = &*self.inner;
        // What was said before the answer stands before it, where both are read together.
        self.stderr().finish_log();
        let rendered = if inner.format == OutputFormat::Text {
            Ok(format!("{text}\n"))
        } else if inner.selection.is_empty() {
            self.envelope(status, payload)
        } else {
            match self.selected(status, payload) {
                // The work is done; whoever did not get the answer would do it again.
                Err(error) if error.is_recoverable() && status == Status::Ok => {
                    let whole = self.envelope(status, payload);
                    whole
                        .and_then(|text| self.to_stdout(text.as_bytes()))
                        .and_then(|()| Err(crate::select::after_the_work(&error)))
                }
                other => other,
            }
        };
        let answered = rendered.and_then(|text| self.to_stdout(text.as_bytes()));
        if answered.is_ok() {
            // An author who answers after all has dealt with what went wrong before.
            drop(self.take_swallowed());
        }
        self.remember(answered)
    }

    fn selected(
        &self,
        status: Status,
        payload: &(impl Serialize + ?Sized),
    ) -> Result<String, AgentError> {
        let value = Ordered::of(payload).map_err(envelope::unserialisable)?;
        self.envelope(status, &self.inner.selection.apply(value)?)
    }

    fn envelope(
        &self,
        status: Status,
        result: &(impl Serialize + ?Sized),
    ) -> Result<String, AgentError> {
        let inner = &*self.inner;
        let envelope = Envelope {
            result,
            status,
            protocol: inner.protocol,
            tool_version: &inner.tool_version,
        };
        envelope::render(&envelope, inner.format)
    }

    /// A raw document (`--schema`, `describe`): no envelope.
    pub(crate) fn document(&self, document: &impl Serialize) -> Result<(), AgentError> {
        let inner = &*self.inner;
        let rendered = if inner.selection.is_empty() {
            envelope::render(document, inner.format)
        } else {
            Ordered::of(document)
                .map_err(envelope::unserialisable)
                .and_then(|value| inner.selection.apply(value))
                .and_then(|value| envelope::render(&value, inner.format))
        };
        self.remember(rendered.and_then(|text| self.to_stdout(text.as_bytes())))
    }

    /// Text as it is (help, man pages).
    pub(crate) fn raw(&self, text: &str) -> Result<(), AgentError> {
        self.remember(self.to_stdout(text.as_bytes()))
    }

    /// One event: a minified JSON line on stdout, from any thread, never torn. Nothing for people.
    ///
    /// # Errors
    ///
    /// When the value cannot be serialised or stdout cannot be written.
    ///
    /// ```
    /// # use clap_agent::{Buffer, Writer};
    /// let stdout = Buffer::new();
    /// let out = Writer::builder(stdout.clone(), Buffer::new()).build();
    /// out.event(&serde_json::json!({"type": "created", "id": 1}))?;
    /// assert_eq!(stdout.text(), "{\"id\":1,\"type\":\"created\"}\n");
    /// # Ok::<(), clap_agent::AgentError>(())
    /// ```
    pub fn event(&self, value: &(impl Serialize + ?Sized)) -> Result<(), AgentError> {
        if self.inner.mode == Mode::Person {
            return Ok(());
        }
        let line = serde_json::to_vec(value).map_err(envelope::unserialisable).map(|mut line| {
            line.push(b'\n');
            line
        });
        self.remember(line.and_then(|line| self.to_stdout(&line)))
    }

    /// How far the work has come: a JSON line on stderr, or a live bar.
    ///
    /// ```
    /// # use clap_agent::{Buffer, Progress, Writer};
    /// let stderr = Buffer::new();
    /// let out = Writer::builder(Buffer::new(), stderr.clone()).build();
    /// out.progress(&Progress::of(1, 2).stage("scan"));
    /// assert_eq!(
    ///     stderr.text(),
    ///     "{\"stage\":\"scan\",\"current\":1,\"total\":2,\"percent\":50.0}\n"
    /// );
    /// ```
    pub fn progress(&self, progress: &Progress) {
        match self.inner.mode {
            Mode::Agent => self.stderr().progress_line(progress),
            Mode::Person => self.stderr().bar(progress),
        }
    }

    /// How far the work has come, in words: a log line of level `progress`, or a line that is
    /// drawn over.
    ///
    /// ```
    /// # use clap_agent::{Buffer, Writer};
    /// let stderr = Buffer::new();
    /// let out = Writer::builder(Buffer::new(), stderr.clone()).build();
    /// out.progress_message("connecting");
    /// out.flush();
    /// assert!(stderr.text().contains(r#""level":"progress","msg":"connecting""#));
    /// ```
    pub fn progress_message(&self, message: impl fmt::Display) {
        let message = message.to_string();
        match self.inner.mode {
            Mode::Agent => self.push_log(PROGRESS, &message),
            Mode::Person => self.stderr().passing(&message),
        }
    }

    /// Says something beside the answer.
    ///
    /// ```
    /// # use clap_agent::{Buffer, Writer};
    /// let stderr = Buffer::new();
    /// let out = Writer::builder(Buffer::new(), stderr.clone()).build();
    /// out.log("retrying");
    /// out.log("retrying");
    /// out.flush();
    /// assert!(stderr.text().contains(r#""msg":"retrying","repeated":1"#));
    /// ```
    pub fn log(&self, message: impl fmt::Display) {
        self.log_at(Level::Info, message);
    }

    /// Says something of a given weight.
    ///
    /// ```
    /// # use clap_agent::{Buffer, Level, Writer};
    /// let stderr = Buffer::new();
    /// let out = Writer::builder(Buffer::new(), stderr.clone()).build();
    /// out.log_at(Level::Warn, "the file is old");
    /// out.flush();
    /// assert!(stderr.text().contains(r#""level":"warn""#));
    /// ```
    pub fn log_at(&self, level: Level, message: impl fmt::Display) {
        match self.inner.mode {
            Mode::Agent => self.push_log(level.name(), &message.to_string()),
            Mode::Person => self.stderr().write(&format!("{message}\n")),
        }
    }

    fn push_log(&self, level: &'static str, message: &str) {
        self.stderr().log(level, message);
        self.inner.on_held_log.call_once(|| crate::signals::hold_back(self));
    }

    /// Writes what is held back and clears the bar.
    ///
    /// ```
    /// # use clap_agent::{Buffer, Writer};
    /// let out = Writer::builder(Buffer::new(), Buffer::new()).build();
    /// out.log("last words");
    /// out.flush();
    /// ```
    #[inline]
    pub fn flush(&self) {
        self.stderr().flush();
        let _ = self.lock_stdout().flush();
    }

    /// A question on stderr; the bar is gone and nothing is held back.
    pub(crate) fn ask(&self, question: &str) {
        self.flush();
        self.write_stderr(question);
    }

    fn write_stderr(&self, text: &str) {
        let mut stderr = self.stderr();
        stderr.write(text);
        stderr.flush();
    }

    /// The failure the author's function did not pass on.
    #[inline]
    pub(crate) fn take_swallowed(&self) -> Option<AgentError> {
        lock(&self.inner.swallowed).take()
    }

    /// A handle that keeps nothing alive.
    pub(crate) fn downgrade(&self) -> WeakWriter {
        WeakWriter(Arc::downgrade(&self.inner))
    }

    fn remember<T>(&self, result: Result<T, AgentError>) -> Result<T, AgentError> {
        result.inspect_err(|error| self.keep_failure(error))
    }

    /// A second one like it for the run, since the caller may drop the one it gets.
    fn keep_failure(&self, error: &AgentError) {
        let copy = if error.is_reader_gone() {
            AgentError::reader_gone()
        } else {
            AgentError::new(error.exit(), error.kind(), error.to_string())
                .with_suggestion(error.suggestion())
                .with_recoverable(error.is_recoverable())
                .with_field(error.field())
                .with_valid_values(error.valid_values())
        };
        *lock(&self.inner.swallowed) = Some(copy);
    }

    #[inline]
    fn to_stdout(&self, bytes: &[u8]) -> Result<(), AgentError> {
        if self.inner.mode == Mode::Person {
            // Both may be the same terminal.
            self.stderr().clear_bar();
        }
        let mut stdout = self.lock_stdout();
        stdout.write_all(bytes).map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => AgentError::reader_gone(),
            _ => AgentError::tool(format!("cannot write to stdout: {error}")).with_source(error),
        })
    }

    #[inline]
    fn lock_stdout(&self) -> MutexGuard<'_, Box<dyn Write + Send>> {
        lock(&self.inner.stdout)
    }

    #[inline]
    fn stderr(&self) -> MutexGuard<'_, Stderr> {
        lock(&self.inner.stderr)
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer")
            .field("mode", &self.inner.mode)
            .field("format", &self.inner.format)
            .field("protocol", &self.inner.protocol)
            .finish_non_exhaustive()
    }
}

impl Drop for Inner {
    /// The last handle is gone: what is still held back must not be lost.
    fn drop(&mut self) {
        self.stderr.get_mut().unwrap_or_else(PoisonError::into_inner).flush();
        let stdout = self.stdout.get_mut().unwrap_or_else(PoisonError::into_inner);
        let _ = stdout.flush();
    }
}

/// A thread that panicked while writing leaves whole lines behind it; the others go on.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
