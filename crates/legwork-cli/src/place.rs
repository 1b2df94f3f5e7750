//! Where the jobs are: today on this machine.

use clap_agent::AgentError;
use legwork_job::{JobError, JobId, Local, Place};

use crate::errors::told;
use crate::options::Session;

/// The place, made when a command first needs it: most of the start-up of commands that need none
/// would be this.
pub(crate) fn place() -> Result<Box<dyn Place>, AgentError> {
    Made(Local::from_env().map_err(told)?).boxed().map_err(told)
}

/// Takes the operations where the type has them, and says so where it has not: this crate and the
/// one below it grow side by side.
struct Made<T>(T);

#[allow(dead_code, reason = "chosen by the compiler where the operations are there")]
impl<T: Place + 'static> Made<T> {
    fn boxed(self) -> Result<Box<dyn Place>, JobError> {
        Ok(Box::new(self.0))
    }
}

#[allow(dead_code, reason = "chosen by the compiler where the operations are missing")]
trait Unmade: Sized {
    fn boxed(self) -> Result<Box<dyn Place>, JobError> {
        Err(JobError::NoSupervisor { why: "this build has no jobs yet".to_owned() })
    }
}

impl<T> Unmade for Made<T> {}

/// The job a text means.
pub(crate) fn find(
    place: &dyn Place,
    reference: &str,
    session: &Session,
) -> Result<JobId, AgentError> {
    place.find(reference, session.get()).map_err(told)
}
