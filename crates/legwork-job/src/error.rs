//! Why an operation on a job was not done.

use std::path::PathBuf;

use legwork::CommandError;
use legwork_view::ViewError;

use crate::id::JobId;
use crate::log::LogError;
use crate::state::StateError;

/// Why an operation was not done: for branching by variant, for people by its words.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// No job of this id or name.
    #[error("no job {reference:?}{}", suggestion(near))]
    NotFound {
        /// What was asked for.
        reference: String,
        /// Jobs with a similar id or name.
        near: Vec<String>,
    },
    /// Several jobs begin like that.
    #[error("{reference:?} can mean several jobs: {}; write more of the id", .ids.join(", "))]
    Ambiguous {
        /// What was asked for.
        reference: String,
        /// The ids it could mean.
        ids: Vec<String>,
    },
    /// A running job of this session has the name.
    #[error(
        "the name {name:?} belongs to the running job {id}; stop it, use `ensure`, or choose another name"
    )]
    NameTaken {
        /// The name.
        name: String,
        /// Whose it is.
        id: JobId,
    },
    /// The request id was used for another command.
    #[error("the request id {request:?} was used for another command, by job {id}; use a new one")]
    RequestReused {
        /// The request id.
        request: String,
        /// The job it started.
        id: JobId,
    },
    /// The operation needs a job that runs, or survivors of one.
    #[error("job {id} has ended and left no process behind; {hint}")]
    NothingLeft {
        /// Which job.
        id: JobId,
        /// What to do instead.
        hint: &'static str,
    },
    /// The job was not made for this.
    #[error("job {id} {why}; {hint}")]
    NotPossible {
        /// Which job.
        id: JobId,
        /// What it lacks.
        why: String,
        /// What to do.
        hint: String,
    },
    /// A request that cannot be right.
    #[error("{field}: {problem}; {hint}")]
    Invalid {
        /// The field that is wrong.
        field: &'static str,
        /// What is wrong with it.
        problem: String,
        /// What would be right.
        hint: String,
    },
    /// The command could not be started; there is no job.
    #[error(transparent)]
    NotStarted(Box<NotStarted>),
    /// The job's supervisor does not answer.
    #[error("the supervisor of job {id} cannot be reached: {why}; {hint}")]
    Unreachable {
        /// Which job.
        id: JobId,
        /// What happened.
        why: String,
        /// What to do.
        hint: &'static str,
    },
    /// No supervisor could be brought up.
    #[error("cannot start a supervisor: {why}")]
    NoSupervisor {
        /// What happened.
        why: String,
    },
    /// The record cannot be used.
    #[error("the record of job {id} cannot be read: {problem}")]
    BadRecord {
        /// Which job.
        id: JobId,
        /// What is wrong with it.
        problem: String,
    },
    /// The state directory cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
    /// The log cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The view cannot be made.
    #[error(transparent)]
    View(#[from] ViewError),
    /// The system said no.
    #[error("{what} {path:?}: {source}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

/// A command that could not be started, in the library's words.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct NotStarted {
    /// What happened, to which command, and what to do.
    pub message: String,
    /// As an ending: `not_started` or `denied`.
    pub ending: legwork::Ending,
}

impl From<&CommandError> for NotStarted {
    fn from(error: &CommandError) -> NotStarted {
        NotStarted { message: error.to_string(), ending: error.ending().clone() }
    }
}

fn suggestion(near: &[String]) -> String {
    match near {
        [] => "; `legwork list --all` shows all of them".to_owned(),
        near => format!(
            "; did you mean {}?",
            near.iter().map(|n| format!("{n:?}")).collect::<Vec<_>>().join(" or ")
        ),
    }
}
