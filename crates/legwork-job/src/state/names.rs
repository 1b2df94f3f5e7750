//! Names: one running job of a session has a name, and others reach it by that.
//!
//! The file is called by a hash of session and name, since a session has slashes in it; what they
//! were stands inside.

use serde::{Deserialize, Serialize};

use super::claims::{self, VERSION};
use super::directory::StateDir;
use super::error::StateError;
use super::folder::Kind;
use super::hash;
use super::session::Session;
use crate::JobId;

/// A name, and the job that has it or had it last.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NamedJob {
    pub(crate) session: Option<Session>,
    pub(crate) name: String,
    pub(crate) id: JobId,
}

/// Says that the name is had. It stays so when this is dropped: a name is the job's, which outlives
/// whoever claimed it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NameClaim(NamedJob);

impl NameClaim {
    /// For a job that did not come to be.
    pub(crate) fn release(self, state: &StateDir) -> Result<(), StateError> {
        let NamedJob { session, name, id } = self.0;
        state.release_name(session.as_ref(), &name, &id)
    }
}

/// Why a name cannot be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NameError {
    #[error(
        "the name {name:?} is taken by job {id}, which is running; \
         end it with `legwork stop {id}`, or choose another name"
    )]
    Taken { name: String, id: JobId },
    #[error(transparent)]
    State(#[from] StateError),
}

/// The claim on file.
#[derive(Debug, Serialize, Deserialize)]
struct OnFile {
    v: u32,
    session: Option<Session>,
    name: String,
    id: JobId,
}

fn file(session: Option<&Session>, name: &str) -> String {
    // No session is the empty text, which is none.
    hash::file_name("name", session.map_or("", Session::as_str), name)
}

impl StateDir {
    /// Gives the name to the job, which must count as live already, unless a live one has it.
    pub(crate) fn claim_name(
        &self,
        session: Option<&Session>,
        name: &str,
        id: &JobId,
        is_live: impl Fn(&JobId) -> bool,
    ) -> Result<NameClaim, NameError> {
        let claim =
            OnFile { v: VERSION, session: session.cloned(), name: name.to_owned(), id: *id };
        let taken = claims::take(
            &self.folder(Kind::Names)?,
            &file(session, name),
            &claim,
            |found: OnFile| is_live(&found.id).then_some(found.id),
        )?;
        match taken {
            // One that already has it may ask again.
            Some(other) if other != *id => {
                Err(NameError::Taken { name: name.to_owned(), id: other })
            }
            _ => Ok(NameClaim(NamedJob { session: claim.session, name: claim.name, id: claim.id })),
        }
    }

    /// Gives the name back, unless it is another job's by now.
    pub(crate) fn release_name(
        &self,
        session: Option<&Session>,
        name: &str,
        id: &JobId,
    ) -> Result<(), StateError> {
        match self.existing_folder(Kind::Names)? {
            Some(folder) => {
                claims::release(&folder, &file(session, name), |found: &OnFile| found.id == *id)
            }
            None => Ok(()),
        }
    }

    /// The job that has the name, or had it last.
    pub(crate) fn lookup_name(
        &self,
        session: Option<&Session>,
        name: &str,
    ) -> Result<Option<JobId>, StateError> {
        let Some(folder) = self.existing_folder(Kind::Names)? else { return Ok(None) };
        let found: Option<OnFile> = claims::find(&folder, &file(session, name))?;
        Ok(found.map(|found| found.id))
    }

    /// All names, so that a near one can be suggested. What cannot be read is left out.
    pub(crate) fn names(&self) -> Result<Vec<NamedJob>, StateError> {
        let Some(folder) = self.existing_folder(Kind::Names)? else { return Ok(Vec::new()) };
        let mut names: Vec<NamedJob> = folder
            .entries()?
            .iter()
            .filter_map(|(entry, _)| claims::find(&folder, entry.to_str()?).ok().flatten())
            .map(|OnFile { session, name, id, .. }| NamedJob { session, name, id })
            .collect();
        names.sort();
        Ok(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::fs;
    use std::path::PathBuf;
    use std::sync::Barrier;

    fn state() -> (tempfile::TempDir, StateDir) {
        let place = tempfile::tempdir().unwrap();
        let state = StateDir::at(place.path().join("state")).unwrap();
        (place, state)
    }

    fn path(state: &StateDir, name: &str) -> PathBuf {
        state.path().join("names").join(file(None, name))
    }

    #[test]
    fn a_live_job_keeps_its_name_and_a_dead_one_loses_it() {
        let (_place, state) = state();
        let [first, second] = [(); 2].map(|()| JobId::random());
        assert!(state.lookup_name(None, "web").unwrap().is_none());
        assert!(state.claim_name(None, "web", &first, |_| true).is_ok());
        assert_eq!(state.lookup_name(None, "web").unwrap(), Some(first));
        let error = state.claim_name(None, "web", &second, |id| *id == first).unwrap_err();
        assert!(matches!(error, NameError::Taken { id, .. } if id == first));
        assert!(error.to_string().contains(&format!("`legwork stop {first}`")), "{error}");
        assert!(state.claim_name(None, "web", &first, |_| true).is_ok(), "it is its own");
        assert!(state.claim_name(None, "web", &second, |_| false).is_ok());
        assert_eq!(state.lookup_name(None, "web").unwrap(), Some(second));
    }

    #[test]
    fn sessions_do_not_share_names() {
        let (_place, state) = state();
        let sessions: [Option<Session>; 3] =
            [None, Some("a".parse().unwrap()), Some("a/b".parse().unwrap())];
        let mut expected = Vec::new();
        for session in &sessions {
            let id = JobId::random();
            state.claim_name(session.as_ref(), "web", &id, |_| true).unwrap();
            expected.push(NamedJob { session: session.clone(), name: "web".into(), id });
        }
        fs::write(state.path().join("names/README"), "not a claim").unwrap();
        assert_eq!(state.names().unwrap(), expected);
    }

    #[test]
    fn only_the_one_who_has_it_gives_it_back() {
        let (_place, state) = state();
        let [first, second] = [(); 2].map(|()| JobId::random());
        state.release_name(None, "web", &first).unwrap();
        let claim = state.claim_name(None, "web", &first, |_| true).unwrap();
        state.release_name(None, "web", &second).unwrap();
        assert_eq!(state.lookup_name(None, "web").unwrap(), Some(first));
        claim.release(&state).unwrap();
        assert_eq!(state.lookup_name(None, "web").unwrap(), None);
        assert!(state.claim_name(None, "web", &second, |_| true).is_ok());
    }

    #[test]
    fn what_is_torn_or_foreign_is_taken_over() {
        let (_place, state) = state();
        let torn: [&[u8]; 6] = [
            b"",
            b"{\"v\":1,\"session\":nu",
            b"\xff\xfe",
            b"[]",
            b"{\"v\":1,\"session\":null,\"name\":\"web\",\"id\":\"../../..\"}",
            b"{\"v\":1,\"session\":\"/\",\"name\":\"web\",\"id\":\"k3vq8m2a\"}",
        ];
        let id = JobId::random();
        state.claim_name(None, "web", &id, |_| true).unwrap();
        for content in torn {
            fs::write(path(&state, "web"), content).unwrap();
            assert_eq!(state.lookup_name(None, "web").unwrap(), None);
            assert_eq!(state.names().unwrap(), []);
            state.release_name(None, "web", &id).unwrap();
            state.claim_name(None, "web", &id, |_| true).unwrap();
            assert_eq!(state.lookup_name(None, "web").unwrap(), Some(id));
        }
        fs::remove_file(path(&state, "web")).unwrap();
        fs::create_dir(path(&state, "web")).unwrap();
        state.claim_name(None, "web", &id, |_| true).unwrap();
        assert_eq!(state.lookup_name(None, "web").unwrap(), Some(id));
    }

    #[test]
    fn a_newer_claim_is_left_alone_and_said() {
        let (_place, state) = state();
        state.folder(Kind::Names).unwrap();
        fs::write(path(&state, "web"), r#"{"v":2,"who":"knows"}"#).unwrap();
        let error = state.claim_name(None, "web", &JobId::random(), |_| false).unwrap_err();
        assert!(matches!(error, NameError::State(StateError::FromTheFuture { found: 2, .. })));
        assert!(state.lookup_name(None, "web").is_err());
        assert_eq!(state.names().unwrap(), []);
    }

    #[test]
    fn a_claim_of_the_first_format_still_loads() {
        let (_place, state) = state();
        state.folder(Kind::Names).unwrap();
        let claim = r#"{"v":1,"session":"ci/build-7","name":"web","id":"k3vq8m2a"}"#;
        let name = state.path().join("names/c77779de63f7eee08023c2e448a7abe4");
        fs::write(name, claim).unwrap();
        let session: Session = "ci/build-7".parse().unwrap();
        let id = state.lookup_name(Some(&session), "web").unwrap();
        assert_eq!(id.unwrap().as_str(), "k3vq8m2a");
    }

    /// Every contender counts as live, the one who had the name does not.
    fn race(state: &StateDir, name: &str, contenders: &[JobId]) -> Vec<JobId> {
        let live: HashSet<JobId> = contenders.iter().copied().collect();
        let start = Barrier::new(contenders.len());
        std::thread::scope(|scope| {
            let claims: Vec<_> = contenders
                .iter()
                .map(|id| {
                    let (live, start) = (&live, &start);
                    scope.spawn(move || {
                        start.wait();
                        state.claim_name(None, name, id, |id| live.contains(id))
                    })
                })
                .collect();
            let outcomes = claims.into_iter().map(|claim| claim.join().unwrap());
            let results: Vec<_> = outcomes.zip(contenders).collect();
            let winners: Vec<JobId> =
                results.iter().filter(|(result, _)| result.is_ok()).map(|(_, id)| **id).collect();
            for (result, _) in results {
                if let Err(error) = result {
                    assert!(
                        matches!(error, NameError::Taken { id, .. } if winners == [id]),
                        "{error} but {winners:?} won"
                    );
                }
            }
            winners
        })
    }

    #[test]
    fn of_all_who_come_at_once_one_has_the_name() {
        let (_place, state) = state();
        for round in 0..200 {
            // A fresh name, a dead job's name, and a torn claim, in turn.
            let name = if round % 3 == 0 { format!("fresh-{round}") } else { "old".to_owned() };
            if round % 3 == 2 {
                fs::write(path(&state, "old"), "torn").unwrap();
            }
            let contenders = [(); 4].map(|()| JobId::random());
            let winners = race(&state, &name, &contenders);
            assert_eq!(winners.len(), 1, "round {round}");
            assert_eq!(state.lookup_name(None, &name).unwrap(), Some(winners[0]));
        }
    }

    #[test]
    fn one_has_the_name_also_while_the_last_one_gives_it_back() {
        let (_place, state) = state();
        for round in 0..200 {
            let old = JobId::random();
            state.claim_name(None, "web", &old, |_| false).unwrap();
            let contenders = [(); 4].map(|()| JobId::random());
            let winners = std::thread::scope(|scope| {
                scope.spawn(|| state.release_name(None, "web", &old).unwrap());
                race(&state, "web", &contenders)
            });
            assert_eq!(winners.len(), 1, "round {round}");
            assert_eq!(state.lookup_name(None, "web").unwrap(), Some(winners[0]));
        }
    }

    #[test]
    fn one_who_gives_back_never_takes_from_the_next() {
        let (_place, state) = state();
        for round in 0..200 {
            let [old, new] = [(); 2].map(|()| JobId::random());
            state.claim_name(None, "web", &old, |_| false).unwrap();
            let start = Barrier::new(2);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    start.wait();
                    state.release_name(None, "web", &old).unwrap();
                });
                start.wait();
                state.claim_name(None, "web", &new, |id| *id == new).unwrap();
            });
            assert_eq!(state.lookup_name(None, "web").unwrap(), Some(new), "round {round}");
        }
    }
}
