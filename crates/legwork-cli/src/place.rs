//! Where the jobs are: today on this machine.

use clap_agent::AgentError;
use legwork_job::{JobId, Local, Place};

use crate::errors::told;
use crate::options::Session;

/// The place, made when a command first needs it: most of the start-up of commands that need none
/// would be this.
pub(crate) fn place() -> Result<Box<dyn Place>, AgentError> {
    Ok(Box::new(Local::from_env().map_err(told)?))
}

/// The job a text means.
pub(crate) fn find(
    place: &dyn Place,
    reference: &str,
    session: &Session,
) -> Result<JobId, AgentError> {
    place.find(reference, session.get()).map_err(told)
}
