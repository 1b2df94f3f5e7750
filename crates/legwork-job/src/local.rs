//! The jobs of this machine.

use crate::error::JobError;

/// The jobs of this user on this machine.
#[derive(Debug)]
pub struct Local {}

impl Local {
    /// With the state directory that the environment names.
    ///
    /// # Errors
    /// Where it cannot be used.
    pub fn from_env() -> Result<Local, JobError> {
        Ok(Local {})
    }
}

/// Becomes a supervisor where this process was started as one, and never returns then.
pub fn supervise_if_asked() {}
