//! The one table from what can go wrong with a job to what a caller is told: kind, exit code, and
//! what to do next.
//!
//! The exit codes are those of every clap-agent program; `run` alone has its own rule, because its
//! numbers belong to the command: there everything of legwork's own is 125.

use clap_agent::{AgentError, Exit};
use legwork::{CommandError, Ending, InvalidInput};
use legwork_job::{JobError, LogError};

/// The exit code of legwork's own errors where the other numbers belong to a command.
pub(crate) const OWN: Exit = Exit::Other(125);

/// Still running: neither success nor failure (`EX_TEMPFAIL`).
pub(crate) const STILL_RUNNING: Exit = Exit::Other(75);

/// What a caller is told about an operation that was not done.
pub(crate) fn told(error: JobError) -> AgentError {
    let made = match &error {
        JobError::NotFound { reference, near } => {
            let message = match &near[..] {
                [] => format!("no job {reference:?}"),
                _ => error.to_string(),
            };
            AgentError::not_found(message)
                .with_suggestion("`legwork list --all` shows every job")
                .with_field("id")
                .with_valid_values(near)
        }
        JobError::Ambiguous { reference, ids } => AgentError::user(
            format!("{reference:?} is the beginning of several ids: {}", ids.join(", ")),
            "write more of the id, or the job's name",
        )
        .with_kind("ambiguous")
        .with_field("id")
        .with_valid_values(ids),
        JobError::NameTaken { name, id } => {
            AgentError::conflict(format!("the name {name:?} belongs to the running job {id}"))
                .with_kind("name_taken")
                .with_suggestion(format!(
                    "`legwork stop {id}` ends it, `legwork ensure {name}` replaces it; or choose \
                     another name"
                ))
                .with_field("name")
        }
        JobError::RequestReused { request, id } => AgentError::conflict(format!(
            "the request id {request:?} was used for another command, by job {id}"
        ))
        .with_kind("request_reused")
        .with_suggestion(format!("use a new one; `legwork output {id}` shows that job"))
        .with_field("request-id"),
        JobError::NothingLeft { id, .. } => {
            AgentError::conflict(format!("job {id} has ended and left no process behind"))
                .with_kind("nothing_left")
                .with_suggestion(format!("`legwork output {id}` shows what it printed"))
        }
        JobError::NotPossible { id, why, hint } => AgentError::conflict(format!("job {id} {why}"))
            .with_kind("not_possible")
            .with_suggestion(hint),
        JobError::Invalid { field, problem, hint } => {
            AgentError::user(format!("{field}: {problem}"), hint)
                .with_kind("invalid")
                .with_field(*field)
        }
        JobError::NotStarted(not_started) => {
            return not_started_as(error.to_string(), &not_started.ending);
        }
        JobError::Unreachable { id, why, hint } => {
            AgentError::tool(format!("the supervisor of job {id} cannot be reached: {why}"))
                .with_kind("unreachable")
                .with_suggestion(*hint)
        }
        JobError::NoSupervisor { .. } => AgentError::tool(error.to_string())
            .with_kind("no_supervisor")
            .with_suggestion("`legwork doctor` shows what this machine allows"),
        JobError::BadRecord { .. } => AgentError::tool(error.to_string())
            .with_kind("bad_record")
            .with_suggestion("`legwork list --all` shows the records that can be read"),
        JobError::State(_) => AgentError::tool(error.to_string())
            .with_kind("state_directory")
            .with_suggestion("`legwork doctor` shows it; LEGWORK_STATE_DIR names another"),
        JobError::Log(LogError::BeyondTheEnd { .. }) => AgentError::user(
            error.to_string(),
            "`legwork output ID` without a cursor shows what there is",
        ),
        JobError::Log(_) => AgentError::tool(error.to_string())
            .with_kind("log")
            .with_suggestion("`legwork output ID` without a cursor shows what there is"),
        JobError::View(_) => AgentError::user(
            error.to_string(),
            "`legwork output --help` shows what can be asked for",
        )
        .with_kind("view"),
        JobError::Io { source, .. } => {
            let made = match source.kind() {
                std::io::ErrorKind::PermissionDenied => AgentError::permission(error.to_string()),
                _ => AgentError::tool(error.to_string()).with_kind("io"),
            };
            made.with_suggestion("`legwork doctor` shows what this machine allows")
        }
        // The enum may grow; what is new is a failure until it has a place here.
        _ => AgentError::tool(error.to_string()),
    };
    made.with_source(error)
}

/// A command that could not be started: its number is that of DESIGN's table, in every command.
fn not_started_as(message: String, ending: &Ending) -> AgentError {
    AgentError::new(number(ending.number()), ending.cause().word(), message)
        .with_recoverable(true)
        .with_suggestion("check the program's name and path, --workdir and --env-mode")
}

/// What a caller is told about a command of the library that was not started.
pub(crate) fn told_of_command(error: &CommandError) -> AgentError {
    match error.invalid_input() {
        Some(input) => told_of_input(input).with_exit(OWN),
        None => not_started_as(error.to_string(), error.ending()),
    }
}

/// What a caller is told about a word that cannot be right.
pub(crate) fn told_of_input(input: &InvalidInput) -> AgentError {
    AgentError::user(input.to_string(), input.hint()).with_kind("invalid").with_field(input.field())
}

/// For `run`: what is legwork's own has a number that no command is likely to have. The numbers of
/// a command that could not be started stay.
pub(crate) fn own(error: AgentError) -> AgentError {
    match error.exit() {
        Exit::Other(_) => error,
        _ => error.with_exit(OWN),
    }
}

/// A command's number as an exit; one that no process can have is unknown, and so a failure.
pub(crate) fn number(number: i32) -> Exit {
    u8::try_from(number).map_or(OWN, Exit::from_code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use legwork_job::{JobId, NotStarted};

    fn id() -> JobId {
        "k3vq8m2a".parse().unwrap()
    }

    #[test]
    fn each_kind_has_its_number_and_says_what_to_do() {
        let text = |text: &str| text.to_owned();
        let table = [
            (JobError::NotFound { reference: text("wbe"), near: vec![text("web")] }, 5),
            (JobError::Ambiguous { reference: text("k3"), ids: vec![text("k3vq8m2a")] }, 1),
            (JobError::NameTaken { name: text("web"), id: id() }, 7),
            (JobError::RequestReused { request: text("r"), id: id() }, 7),
            (JobError::NothingLeft { id: id(), hint: "read its output" }, 7),
            (JobError::NotPossible { id: id(), why: text("has no terminal"), hint: text("x") }, 7),
            (JobError::Invalid { field: "name", problem: text("empty"), hint: text("x") }, 1),
            (JobError::Unreachable { id: id(), why: text("gone"), hint: "list" }, 2),
            (JobError::NoSupervisor { why: text("no memory") }, 2),
            (JobError::BadRecord { id: id(), problem: text("torn") }, 2),
        ];
        for (error, code) in table {
            let words = error.to_string();
            let told = told(error);
            assert_eq!(told.exit().code(), code, "{words}");
            assert!(!told.suggestion().is_empty(), "{words}");
            assert_eq!(own(told).exit().code(), 125, "{words}");
        }
    }

    #[test]
    fn a_refusal_of_the_system_is_a_permission() {
        let error = |kind: std::io::ErrorKind| {
            told(JobError::Io { what: "cannot open", path: "/x".into(), source: kind.into() })
        };
        assert_eq!(error(std::io::ErrorKind::PermissionDenied).exit().code(), 6);
        assert_eq!(error(std::io::ErrorKind::StorageFull).exit().code(), 2);
    }

    #[test]
    fn a_command_that_cannot_be_started_keeps_its_number() {
        let failed = legwork::capture(["no-such-program-anywhere"]).unwrap_err();
        let error = JobError::NotStarted(Box::new(NotStarted::from(&failed)));
        let error = own(told(error));
        assert_eq!((error.exit().code(), error.kind()), (127, "not_started"));
        let nowhere = legwork::cmd(["true"]).workdir("/no/such/place").capture().unwrap_err();
        assert_eq!(told_of_command(&nowhere).exit().code(), 125);
    }

    #[test]
    fn the_nearest_name_is_said_and_listed() {
        let near = vec!["web".to_owned()];
        let told = told(JobError::NotFound { reference: "wbe".into(), near });
        assert_eq!(told.to_string(), "no job \"wbe\"; did you mean \"web\"?");
        assert_eq!(told.valid_values(), ["web"]);
    }
}
