//! One enum for every number a program can end with.
//!
//! Agents branch on exit codes, so the numbers are a contract: the ten of the murli protocol, and
//! [`Exit::Other`] for a command that passes another program's status through.

use std::process::ExitCode;

/// How a program ends, as the number its caller sees.
///
/// ```
/// use clap_agent::Exit;
///
/// assert_eq!(Exit::NotFound.code(), 5);
/// assert_eq!(Exit::from_code(5), Exit::NotFound);
/// assert_eq!(Exit::from_code(125), Exit::Other(125));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exit {
    /// 0: it worked.
    Ok,
    /// 1: bad input or arguments; the caller can correct it.
    UserError,
    /// 2: the environment or the program itself failed.
    ToolError,
    /// 3: some of the work succeeded and some failed.
    Partial,
    /// 4: it took too long; trying again may succeed.
    Timeout,
    /// 5: what was asked for does not exist.
    NotFound,
    /// 6: the caller may not do this.
    Permission,
    /// 7: the state does not allow it, for example because it exists already.
    Conflict,
    /// 8: too many requests; `retry_after_ms` says when to try again.
    RateLimited,
    /// 9: ended by a signal, or declined at the prompt.
    Cancelled,
    /// Any other number: another program's status passed through, or a number the program chose.
    Other(u8),
}

impl Exit {
    /// The number.
    ///
    /// ```
    /// assert_eq!(clap_agent::Exit::Cancelled.code(), 9);
    /// ```
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Exit::Ok => 0,
            Exit::UserError => 1,
            Exit::ToolError => 2,
            Exit::Partial => 3,
            Exit::Timeout => 4,
            Exit::NotFound => 5,
            Exit::Permission => 6,
            Exit::Conflict => 7,
            Exit::RateLimited => 8,
            Exit::Cancelled => 9,
            Exit::Other(code) => code,
        }
    }

    /// The exit that has this number.
    ///
    /// ```
    /// assert_eq!(clap_agent::Exit::from_code(0), clap_agent::Exit::Ok);
    /// ```
    #[must_use]
    pub const fn from_code(code: u8) -> Self {
        match code {
            0 => Exit::Ok,
            1 => Exit::UserError,
            2 => Exit::ToolError,
            3 => Exit::Partial,
            4 => Exit::Timeout,
            5 => Exit::NotFound,
            6 => Exit::Permission,
            7 => Exit::Conflict,
            8 => Exit::RateLimited,
            9 => Exit::Cancelled,
            other => Exit::Other(other),
        }
    }

    /// What the number means, for documents.
    ///
    /// ```
    /// assert_eq!(clap_agent::Exit::RateLimited.meaning(), "rate limited");
    /// ```
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Exit::Ok => "ok",
            Exit::UserError => "user error",
            Exit::ToolError => "tool error",
            Exit::Partial => "partial",
            Exit::Timeout => "timeout",
            Exit::NotFound => "not found",
            Exit::Permission => "permission",
            Exit::Conflict => "conflict",
            Exit::RateLimited => "rate limited",
            Exit::Cancelled => "cancelled",
            Exit::Other(_) => "chosen by the command",
        }
    }

    /// The ten that have a meaning in every program, in order.
    pub(crate) const ALL: [Exit; 10] = [
        Exit::Ok,
        Exit::UserError,
        Exit::ToolError,
        Exit::Partial,
        Exit::Timeout,
        Exit::NotFound,
        Exit::Permission,
        Exit::Conflict,
        Exit::RateLimited,
        Exit::Cancelled,
    ];
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.code())
    }
}

/// What the author's function may return: nothing, an [`Exit`], or a `Result` of either.
///
/// The error can be an [`AgentError`](crate::AgentError), any type with
/// `impl From<MyError> for AgentError`, or `Box<dyn Error + Send + Sync>`, through which `?`
/// takes everything (an `AgentError` inside it is found again).
///
/// ```
/// use clap_agent::{AgentError, Exit, Finish};
///
/// assert_eq!(().finish().unwrap(), Exit::Ok);
/// assert_eq!(Exit::Partial.finish().unwrap(), Exit::Partial);
/// let failed: Result<(), AgentError> = Err(AgentError::not_found("no task 7"));
/// assert_eq!(failed.finish().unwrap_err().exit(), Exit::NotFound);
/// ```
pub trait Finish {
    /// The exit, or the error that explains it.
    ///
    /// # Errors
    ///
    /// The error the author's function returned, as the one that is printed.
    fn finish(self) -> Result<Exit, crate::AgentError>;
}

impl Finish for () {
    fn finish(self) -> Result<Exit, crate::AgentError> {
        Ok(Exit::Ok)
    }
}

impl Finish for Exit {
    fn finish(self) -> Result<Exit, crate::AgentError> {
        Ok(self)
    }
}

impl<T: Finish, E: Into<crate::AgentError>> Finish for Result<T, E> {
    fn finish(self) -> Result<Exit, crate::AgentError> {
        self.map_err(Into::into)?.finish()
    }
}
