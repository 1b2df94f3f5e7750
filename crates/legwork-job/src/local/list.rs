//! Listing jobs: all of them, by pages, running first, newest first.

use super::find::{sees, session};
use super::observe::{self, Observed};
use super::read::is_news;
use super::{Local, compose};
use crate::error::JobError;
use crate::place::{Filter, Page};
use crate::record::now_ms;

impl Local {
    pub(super) fn list_jobs(&self, filter: &Filter) -> Result<Page, JobError> {
        let session = session(filter.session.as_deref())?;
        let mut unreadable = Vec::new();
        let mut jobs: Vec<Observed> = Vec::new();
        for id in self.state.job_ids()?.ids {
            match observe::observe(&self.state, id) {
                Ok(observed) => jobs.push(observed),
                Err(JobError::NotFound { .. }) => observe::sweep(&self.state, id),
                Err(error) => unreadable.push(error.to_string()),
            }
        }
        jobs.retain(|job| {
            let record = &job.record;
            let fresh = |within: std::time::Duration| {
                let ended = record.end.as_ref().map(|end| end.ended_at_ms);
                ended.is_none_or(|at| now_ms().saturating_sub(at) <= within.as_millis() as u64)
            };
            (filter.states.is_empty() || filter.states.contains(&job.state()))
                && filter.name.as_ref().is_none_or(|name| record.name.as_ref() == Some(name))
                && filter.labels.iter().all(|(key, value)| record.labels.get(key) == Some(value))
                && sees(session.as_ref(), record.session.as_deref())
                && filter.ended_within.is_none_or(fresh)
        });
        jobs.sort_by_key(|job| {
            let newest = std::cmp::Reverse(job.record.started_at_ms);
            (!job.state().is_live(), newest, job.record.id)
        });
        let total = jobs.len();
        let size = filter.limit.unwrap_or(usize::MAX).max(1);
        let first = size.saturating_mul(filter.page);
        let rows = jobs.into_iter().skip(first).take(size);
        let jobs = rows.map(|mut observed| {
            let id = observed.record.id;
            let live = if filter.look && observed.attended {
                let live = self.facts(id, true).ok().flatten();
                if is_news(&observed, live.as_ref())
                    && let Ok(again) = observe::observe(&self.state, id)
                {
                    observed = again;
                }
                live
            } else {
                None
            };
            let log = self.log(id).ok().and_then(|log| log.facts().ok());
            compose::report(&observed, log, live)
        });
        Ok(Page { jobs: jobs.collect(), total, unreadable })
    }
}
