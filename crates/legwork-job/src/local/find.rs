//! Which job a text means.

use super::{Local, observe};
use crate::error::JobError;
use crate::id::JobId;
use crate::record::Record;
use crate::state::Session;

/// Names and ids that are offered instead.
const OFFERS: usize = 3;

pub(super) fn session(text: Option<&str>) -> Result<Option<Session>, JobError> {
    text.map(|text| {
        text.parse::<Session>().map_err(|error| JobError::Invalid {
            field: "session",
            problem: error.to_string(),
            hint: "for example `ci/build-7`".into(),
        })
    })
    .transpose()
}

/// Whether who goes by `session` sees a job of `of`.
pub(super) fn sees(session: Option<&Session>, of: Option<&str>) -> bool {
    let Some(session) = session else {
        return true;
    };
    of.and_then(|of| of.parse::<Session>().ok()).is_some_and(|of| session.contains(&of))
}

impl Local {
    pub(super) fn find_job(
        &self,
        reference: &str,
        session: Option<&str>,
    ) -> Result<JobId, JobError> {
        let session = self::session(session)?;
        // The caller's own session comes before those below it.
        if let Some(id) = self.state.lookup_name(session.as_ref(), reference)?
            && self.state.job_folder(&id).exists()
            && (session.is_some() || observe::is_live(&self.state, id))
        {
            return Ok(id);
        }
        let names = self.state.names()?;
        let mut named: Vec<JobId> = names
            .iter()
            .filter(|named| named.name == reference)
            .filter(|named| sees(session.as_ref(), named.session.as_ref().map(Session::as_str)))
            .map(|named| named.id)
            .filter(|id| self.state.job_folder(id).exists())
            .collect();
        if named.len() > 1 {
            let live: Vec<JobId> =
                named.iter().copied().filter(|id| observe::is_live(&self.state, *id)).collect();
            match live.len() {
                0 => named.sort_by_key(|id| self.started_at(*id)),
                _ => named = live,
            }
            if named.len() > 1 && observe::is_live(&self.state, named[0]) {
                let ids = named.iter().map(JobId::to_string).collect();
                return Err(JobError::Ambiguous { reference: reference.to_owned(), ids });
            }
        }
        if let Some(id) = named.last() {
            return Ok(*id);
        }
        // A whole id needs no list.
        if let Ok(id) = reference.parse::<JobId>()
            && let Ok(record) = Record::load(&self.state.job_folder(&id), id)
            && sees(session.as_ref(), record.session.as_deref())
        {
            return Ok(id);
        }
        let visible = |id: &JobId| match Record::load(&self.state.job_folder(id), *id) {
            Ok(record) => sees(session.as_ref(), record.session.as_deref()),
            // One that cannot be read is found, so that it can be named.
            Err(JobError::NotFound { .. }) => false,
            Err(_) => session.is_none(),
        };
        let ids: Vec<JobId> = self.state.job_ids()?.ids;
        let matching: Vec<JobId> = ids
            .iter()
            .copied()
            .filter(|id| !reference.is_empty() && id.as_str().starts_with(reference))
            .filter(visible)
            .collect();
        match &matching[..] {
            [id] => Ok(*id),
            [] => {
                let names = names
                    .into_iter()
                    .filter(|named| {
                        sees(session.as_ref(), named.session.as_ref().map(Session::as_str))
                    })
                    .map(|named| named.name);
                let ids = ids.iter().filter(|id| visible(id)).map(JobId::to_string);
                let all: Vec<String> = names.chain(ids).collect();
                let near = legwork::nearest(reference, all.iter().map(String::as_str), OFFERS);
                Err(JobError::NotFound { reference: reference.to_owned(), near })
            }
            several => {
                let ids = several.iter().map(JobId::to_string).collect();
                Err(JobError::Ambiguous { reference: reference.to_owned(), ids })
            }
        }
    }

    fn started_at(&self, id: JobId) -> u64 {
        Record::load(&self.state.job_folder(&id), id).map_or(0, |record| record.started_at_ms)
    }
}
