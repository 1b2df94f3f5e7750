//! The error that a program hands to its caller: for agents a JSON document on stderr, for people
//! two lines.
//!
//! The keys, their order and which of them are left out when empty are murli's. The `code` is the
//! exit code, in both modes.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::exit::Exit;

/// What went wrong, what it concerned and what to do next.
///
/// ```
/// use clap_agent::{AgentError, Exit};
///
/// let error = AgentError::user("no task has the id 7", "run `tasks task list` to see the ids")
///     .with_kind("unknown_task")
///     .with_exit(Exit::NotFound)
///     .with_field("id");
/// assert_eq!(error.exit().code(), 5);
/// assert_eq!(error.kind(), "unknown_task");
/// assert!(error.is_recoverable());
/// ```
#[derive(Debug)]
pub struct AgentError(Box<Body>);

#[derive(Debug)]
struct Body {
    exit: Exit,
    kind: String,
    message: String,
    suggestion: String,
    recoverable: bool,
    valid_values: Vec<String>,
    retry_after_ms: u64,
    doc_url: String,
    field: String,
    /// Whose stdout was closed by its reader needs no words, only an end.
    reader_gone: bool,
    source: Option<Box<dyn Error + Send + Sync>>,
}

/// The wire form: murli's keys in murli's order.
#[derive(Serialize)]
struct Wire<'a> {
    code: u8,
    error: &'a str,
    message: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    suggestion: &'a str,
    recoverable: bool,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    valid_values: &'a [String],
    #[serde(skip_serializing_if = "is_zero")]
    retry_after_ms: u64,
    #[serde(skip_serializing_if = "str::is_empty")]
    doc_url: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    field: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    schema_version: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    tool_version: &'a str,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl AgentError {
    /// An error of any type, exit and message; the other constructors are shorthands.
    ///
    /// ```
    /// use clap_agent::{AgentError, Exit};
    /// let error = AgentError::new(Exit::Conflict, "already_done", "task 7 is done already");
    /// assert_eq!(error.to_string(), "task 7 is done already");
    /// ```
    #[must_use]
    pub fn new(exit: Exit, kind: impl Into<String>, message: impl Into<String>) -> Self {
        AgentError(Box::new(Body {
            exit,
            kind: kind.into(),
            message: message.into(),
            suggestion: String::new(),
            recoverable: matches!(
                exit,
                Exit::UserError
                    | Exit::NotFound
                    | Exit::Conflict
                    | Exit::RateLimited
                    | Exit::Timeout
            ),
            valid_values: Vec::new(),
            retry_after_ms: 0,
            doc_url: String::new(),
            field: String::new(),
            reader_gone: false,
            source: None,
        }))
    }

    /// The caller gave something wrong and can correct it: `user_error`, exit 1, recoverable.
    ///
    /// ```
    /// let error = clap_agent::AgentError::user("the title is empty", "give a title");
    /// assert!(error.is_recoverable());
    /// ```
    #[must_use]
    pub fn user(message: impl Into<String>, suggestion: impl Into<String>) -> Self {
        Self::new(Exit::UserError, "user_error", message).with_suggestion(suggestion)
    }

    /// The environment or the program failed: `tool_error`, exit 2, not recoverable.
    ///
    /// ```
    /// let error = clap_agent::AgentError::tool("the database does not answer");
    /// assert_eq!(error.exit().code(), 2);
    /// ```
    #[must_use]
    pub fn tool(message: impl Into<String>) -> Self {
        Self::new(Exit::ToolError, "tool_error", message)
    }

    /// A failure that the program did not name itself: `execution_error`, exit 2.
    ///
    /// ```
    /// assert_eq!(clap_agent::AgentError::execution("disk full").kind(), "execution_error");
    /// ```
    #[must_use]
    pub fn execution(message: impl Into<String>) -> Self {
        Self::new(Exit::ToolError, "execution_error", message)
    }

    /// What was asked for does not exist: `not_found`, exit 5.
    ///
    /// ```
    /// assert_eq!(clap_agent::AgentError::not_found("no task 7").exit().code(), 5);
    /// ```
    #[must_use]
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(Exit::NotFound, "not_found", message)
    }

    /// The caller may not do this: `permission`, exit 6, not recoverable.
    ///
    /// ```
    /// assert!(!clap_agent::AgentError::permission("read-only token").is_recoverable());
    /// ```
    #[must_use]
    pub fn permission(message: impl Into<String>) -> Self {
        Self::new(Exit::Permission, "permission", message)
    }

    /// The state does not allow it: `conflict`, exit 7.
    ///
    /// ```
    /// assert_eq!(clap_agent::AgentError::conflict("exists already").exit().code(), 7);
    /// ```
    #[must_use]
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(Exit::Conflict, "conflict", message)
    }

    /// Too many requests: `rate_limited`, exit 8, with the time after which to try again.
    ///
    /// ```
    /// use std::time::Duration;
    /// let error = clap_agent::AgentError::rate_limited("slow down", Duration::from_secs(2));
    /// assert_eq!(error.exit().code(), 8);
    /// ```
    #[must_use]
    pub fn rate_limited(message: impl Into<String>, retry_after: Duration) -> Self {
        Self::new(Exit::RateLimited, "rate_limited", message).with_retry_after(retry_after)
    }

    /// It took too long: `timeout`, exit 4, recoverable.
    ///
    /// ```
    /// assert_eq!(clap_agent::AgentError::timeout("no answer in 30 s").exit().code(), 4);
    /// ```
    #[must_use]
    pub fn timeout(message: impl Into<String>) -> Self {
        Self::new(Exit::Timeout, "timeout", message)
    }

    /// Ended by a signal or declined: `cancelled`, exit 9, not recoverable.
    ///
    /// ```
    /// assert_eq!(clap_agent::AgentError::cancelled("interrupted").exit().code(), 9);
    /// ```
    #[must_use]
    pub fn cancelled(message: impl Into<String>) -> Self {
        Self::new(Exit::Cancelled, "cancelled", message)
    }

    /// The reader of stdout has gone (`tool list | head -1`): ends quietly, with the number a
    /// program ended by SIGPIPE has.
    pub(crate) fn reader_gone() -> Self {
        let mut error = Self::new(Exit::Other(141), "cancelled", "the reader of stdout has gone");
        error.0.reader_gone = true;
        error
    }

    /// Names the type of the error (`error` in JSON), for callers that branch on it.
    ///
    /// ```
    /// let error = clap_agent::AgentError::tool("no lock").with_kind("locked");
    /// assert_eq!(error.kind(), "locked");
    /// ```
    #[must_use]
    pub fn with_kind(mut self, kind: impl Into<String>) -> Self {
        self.0.kind = kind.into();
        self
    }

    /// Sets the exit code. Whether the error is recoverable stays as it was.
    ///
    /// ```
    /// use clap_agent::{AgentError, Exit};
    /// assert_eq!(AgentError::tool("x").with_exit(Exit::Other(125)).exit().code(), 125);
    /// ```
    #[must_use]
    pub fn with_exit(mut self, exit: Exit) -> Self {
        self.0.exit = exit;
        self
    }

    /// Says what to do next.
    ///
    /// ```
    /// let error = clap_agent::AgentError::conflict("locked").with_suggestion("try again");
    /// assert_eq!(error.suggestion(), "try again");
    /// ```
    #[must_use]
    pub fn with_suggestion(mut self, suggestion: impl Into<String>) -> Self {
        self.0.suggestion = suggestion.into();
        self
    }

    /// Says whether the caller can do something about it.
    ///
    /// ```
    /// assert!(clap_agent::AgentError::tool("x").with_recoverable(true).is_recoverable());
    /// ```
    #[must_use]
    pub fn with_recoverable(mut self, recoverable: bool) -> Self {
        self.0.recoverable = recoverable;
        self
    }

    /// Lists the values that would have been taken.
    ///
    /// ```
    /// let error = clap_agent::AgentError::user("no such colour", "").with_valid_values(["red", "blue"]);
    /// assert_eq!(error.valid_values(), ["red", "blue"]);
    /// ```
    #[must_use]
    pub fn with_valid_values<V: Into<String>>(
        mut self,
        values: impl IntoIterator<Item = V>,
    ) -> Self {
        self.0.valid_values = values.into_iter().map(Into::into).collect();
        self
    }

    /// Says after which time trying again makes sense.
    ///
    /// ```
    /// use std::time::Duration;
    /// let error = clap_agent::AgentError::tool("busy").with_retry_after(Duration::from_millis(250));
    /// # let _ = error;
    /// ```
    #[must_use]
    pub fn with_retry_after(mut self, after: Duration) -> Self {
        self.0.retry_after_ms = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
        self
    }

    /// Points to a document that explains the error.
    ///
    /// ```
    /// let error = clap_agent::AgentError::tool("x").with_doc_url("https://example.com/e1");
    /// # let _ = error;
    /// ```
    #[must_use]
    pub fn with_doc_url(mut self, url: impl Into<String>) -> Self {
        self.0.doc_url = url.into();
        self
    }

    /// Names the flag or argument the error concerns, as `--schema` names it.
    ///
    /// ```
    /// let error = clap_agent::AgentError::user("too long", "").with_field("title");
    /// assert_eq!(error.field(), "title");
    /// ```
    #[must_use]
    pub fn with_field(mut self, field: impl Into<String>) -> Self {
        self.0.field = field.into();
        self
    }

    /// Keeps the error that caused this one, for [`Error::source`].
    ///
    /// ```
    /// use std::error::Error;
    /// let cause = std::io::Error::other("disk");
    /// let error = clap_agent::AgentError::tool("cannot save").with_source(cause);
    /// assert!(error.source().is_some());
    /// ```
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// How the program ends with this error.
    ///
    /// ```
    /// assert_eq!(clap_agent::AgentError::tool("x").exit(), clap_agent::Exit::ToolError);
    /// ```
    #[must_use]
    pub fn exit(&self) -> Exit {
        self.0.exit
    }

    /// The type of the error: `error` in JSON.
    ///
    /// ```
    /// assert_eq!(clap_agent::AgentError::timeout("x").kind(), "timeout");
    /// ```
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.0.kind
    }

    /// What to do next, or an empty text.
    ///
    /// ```
    /// assert_eq!(clap_agent::AgentError::user("a", "b").suggestion(), "b");
    /// ```
    #[must_use]
    pub fn suggestion(&self) -> &str {
        &self.0.suggestion
    }

    /// Whether the caller can do something about it.
    ///
    /// ```
    /// assert!(clap_agent::AgentError::user("a", "b").is_recoverable());
    /// ```
    #[must_use]
    pub fn is_recoverable(&self) -> bool {
        self.0.recoverable
    }

    /// The values that would have been taken.
    ///
    /// ```
    /// assert!(clap_agent::AgentError::tool("x").valid_values().is_empty());
    /// ```
    #[must_use]
    pub fn valid_values(&self) -> &[String] {
        &self.0.valid_values
    }

    /// The flag or argument it concerns, or an empty text.
    ///
    /// ```
    /// assert_eq!(clap_agent::AgentError::tool("x").field(), "");
    /// ```
    #[must_use]
    pub fn field(&self) -> &str {
        &self.0.field
    }

    pub(crate) fn is_reader_gone(&self) -> bool {
        self.0.reader_gone
    }

    pub(crate) fn serialize_with<S: serde::Serializer>(
        &self,
        schema_version: &str,
        tool_version: &str,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let body = &self.0;
        Wire {
            code: body.exit.code(),
            error: &body.kind,
            message: &body.message,
            suggestion: &body.suggestion,
            recoverable: body.recoverable,
            valid_values: &body.valid_values,
            retry_after_ms: body.retry_after_ms,
            doc_url: &body.doc_url,
            field: &body.field,
            schema_version,
            tool_version,
        }
        .serialize(serializer)
    }
}

impl fmt::Display for AgentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl Error for AgentError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}

impl From<std::io::Error> for AgentError {
    /// What the kernel says is kept where an exit code has a word for it: not found, permission,
    /// timeout. Everything else is an `execution_error`.
    fn from(error: std::io::Error) -> Self {
        let made = match error.kind() {
            std::io::ErrorKind::TimedOut => AgentError::timeout(error.to_string()),
            std::io::ErrorKind::NotFound => AgentError::not_found(error.to_string()),
            std::io::ErrorKind::PermissionDenied => AgentError::permission(error.to_string()),
            _ => AgentError::execution(error.to_string()),
        };
        made.with_source(error)
    }
}

impl From<serde_json::Error> for AgentError {
    fn from(error: serde_json::Error) -> Self {
        AgentError::execution(error.to_string()).with_source(error)
    }
}

impl From<Box<dyn Error + Send + Sync>> for AgentError {
    /// An `AgentError` or an I/O error inside the box keeps its meaning; everything else becomes
    /// an `execution_error` whose message is the whole chain of causes.
    fn from(error: Box<dyn Error + Send + Sync>) -> Self {
        let error = match error.downcast::<AgentError>() {
            Ok(own) => return *own,
            Err(other) => other,
        };
        let error = match error.downcast::<std::io::Error>() {
            Ok(io) => return (*io).into(),
            Err(other) => other,
        };
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(inner) = cause {
            let text = inner.to_string();
            if !message.ends_with(&text) {
                message.push_str(": ");
                message.push_str(&text);
            }
            cause = inner.source();
        }
        AgentError::execution(message).with_source(error)
    }
}
