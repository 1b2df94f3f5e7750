//! Named services: running, with this command, and only one of them.

use super::Local;
use crate::error::JobError;
use crate::id::JobId;
use crate::place::Ensured;
use crate::protocol::Why;
use crate::spec::JobSpec;

/// How often another caller may be faster.
const ATTEMPTS: usize = 16;

impl Local {
    pub(super) fn ensure_job(&self, spec: &JobSpec) -> Result<(JobId, Ensured), JobError> {
        if spec.name.is_none() {
            return Err(JobError::Invalid {
                field: "name",
                problem: "a service needs one".into(),
                hint: "name it, as in `legwork ensure web -- npm start`".into(),
            });
        }
        let mut replaced = None;
        for _ in 0..ATTEMPTS {
            let how = if replaced.is_some() { Ensured::Replaced } else { Ensured::Started };
            let taken = match self.bring_up(spec) {
                Ok((started, _)) => return Ok((started.id, how)),
                Err(JobError::NameTaken { id, .. }) => id,
                Err(error) => return Err(error),
            };
            match self.runs(taken, spec) {
                Ok(true) => return Ok((taken, Ensured::Running)),
                Ok(false) => {
                    self.end(taken, Why::Request, spec.kill_grace)?;
                    replaced = Some(taken);
                }
                // It has gone, or is only just coming.
                Err(JobError::NotFound { .. }) => std::thread::yield_now(),
                Err(error) => return Err(error),
            }
        }
        Err(JobError::NoSupervisor {
            why: "others keep starting and stopping a service of the same name; try again".into(),
        })
    }

    /// Whether the job runs what the spec says.
    fn runs(&self, id: JobId, spec: &JobSpec) -> Result<bool, JobError> {
        let observed = self.observe(id)?;
        let fingerprint = self.fingerprint(&super::start::whole(spec)?)?;
        Ok(observed.attended
            && observed.state().is_live()
            && observed.record.fingerprint == fingerprint)
    }
}
