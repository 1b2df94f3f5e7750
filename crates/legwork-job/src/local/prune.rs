//! Removing ended jobs: when asked, and a few on the way, so that records do not grow without
//! bound.

use super::find::{sees, session};
use super::{Local, observe};
use crate::error::JobError;
use crate::id::JobId;
use crate::place::{Pruned, Pruning};
use crate::record::{FILES, Record, now_ms};
use crate::report::State;
use crate::state::{self, Identity, Old, Pace, PrunePolicy};

/// One start in so many looks for what is too old. It costs as much as a list.
const ONE_IN: u64 = 64;

impl Local {
    pub(super) fn prune_jobs(&self, pruning: &Pruning) -> Result<Pruned, JobError> {
        let standard = PrunePolicy::default();
        let said =
            pruning.older_than.is_some() || pruning.keep.is_some() || pruning.max_bytes.is_some();
        let policy = if said {
            PrunePolicy {
                max_age: pruning.older_than,
                max_count: pruning.keep,
                max_bytes: pruning.max_bytes,
                pace: Pace::AtOnce,
            }
        } else {
            PrunePolicy { pace: Pace::AtOnce, ..standard }
        };
        self.remove(&policy, pruning)
    }

    /// A few of the oldest, once in a while.
    pub(super) fn prune_gently(&self, id: JobId) {
        let number = id.as_str().bytes().fold(0u64, |sum, byte| sum * 31 + u64::from(byte));
        if number % ONE_IN == 0 {
            // Whoever wants to know why it fails calls `prune`.
            let _ = self.remove(&PrunePolicy::default(), &Pruning::default());
        }
    }

    fn remove(&self, policy: &PrunePolicy, pruning: &Pruning) -> Result<Pruned, JobError> {
        let session = session(pruning.session.as_deref())?;
        let here = Identity::here()?;
        let found = self.state.job_ids()?;
        if !pruning.dry_run {
            for id in &found.half_removed {
                state::finish_removal(&self.state, id)?;
            }
        }
        let mut ended = Vec::new();
        for id in found.ids {
            match observe::observe(&self.state, &here, id) {
                Ok(job) if job.attended || job.state().is_live() => {}
                // It may well run, where it is.
                Ok(job) if job.state() == State::Elsewhere => {}
                Ok(job) if sees(session.as_ref(), job.record.session.as_deref()) => {
                    let at = job.record.end.as_ref().map(|end| end.ended_at_ms);
                    let ended_at = at.unwrap_or(job.record.started_at_ms);
                    ended.push(Old { id, ended_at, bytes: self.bytes_of(id) });
                }
                Ok(_) => {}
                Err(JobError::NotFound { .. }) => observe::sweep(&self.state, id),
                // A damaged record tells no age: it goes with the oldest, when somebody asks.
                Err(_) if policy.pace == Pace::AtOnce && session.is_none() => {
                    if !observe::is_held(&self.state, id) {
                        ended.push(Old { id, ended_at: 0, bytes: self.bytes_of(id) });
                    }
                }
                Err(_) => {}
            }
        }
        let doomed = state::doomed(&ended, policy, now_ms());
        let mut pruned = Pruned::default();
        for id in doomed {
            pruned.bytes += if pruning.dry_run {
                self.bytes_of(id)
            } else {
                self.release_claims(id);
                state::remove_job_folder(&self.state, &id)?
            };
            pruned.jobs.push(id);
        }
        if policy.pace == Pace::AtOnce && !pruning.dry_run {
            let exists = |id: &JobId| self.state.job_folder(id).exists();
            self.state.sweep(exists, std::time::SystemTime::now())?;
        }
        Ok(pruned)
    }

    /// Gives back its name and its request id, where they still are its own.
    fn release_claims(&self, id: JobId) {
        let Ok(record) = Record::load(&self.state.job_folder(&id), id) else {
            return;
        };
        let session = record.session.as_ref().and_then(|session| session.parse().ok());
        // What stays is swept by the next prune that is asked for.
        if let Some(name) = &record.name {
            let _ = self.state.release_name(session.as_ref(), name, &id);
        }
        if let Some(request) = &record.request_id {
            let _ = self.state.release_request(session.as_ref(), request, &id);
        }
    }

    fn bytes_of(&self, id: JobId) -> u64 {
        let folder = self.state.job_folder(&id);
        let size =
            |file: &&str| std::fs::metadata(folder.join(file)).map_or(0, |facts| facts.len());
        FILES.iter().map(size).sum()
    }
}
