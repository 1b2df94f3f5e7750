//! Requests: a caller that does not know whether it was heard asks again, and gets the same job.
//!
//! A request id is the caller's and holds within its session. The claim says which job answered it
//! and carries a fingerprint of what was asked, so that the same id with another command is told
//! apart. It holds while its job is known, ended or not: whoever asks again late wants to know how
//! it went, not to run it twice.

use serde::{Deserialize, Serialize};

use super::claims::{self, VERSION};
use super::directory::StateDir;
use super::error::StateError;
use super::folder::Kind;
use super::hash;
use super::session::Session;
use crate::JobId;

/// To whom a request belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Request {
    /// To the job that claimed it now.
    Yours,
    /// To this one, which was asked for the same.
    Same(JobId),
    /// To this one, which was asked for something else.
    Different(JobId),
}

/// The claim on file.
#[derive(Debug, Serialize, Deserialize)]
struct OnFile {
    v: u32,
    session: Option<Session>,
    request: String,
    id: JobId,
    fingerprint: String,
}

fn file(session: Option<&Session>, request: &str) -> String {
    hash::file_name("request", session.map_or("", Session::as_str), request)
}

impl StateDir {
    /// Gives the request to the job, which must exist already, unless one that exists has it.
    pub(crate) fn claim_request(
        &self,
        session: Option<&Session>,
        request: &str,
        id: &JobId,
        fingerprint: &str,
        exists: impl Fn(&JobId) -> bool,
    ) -> Result<Request, StateError> {
        let claim = OnFile {
            v: VERSION,
            session: session.cloned(),
            request: request.to_owned(),
            id: *id,
            fingerprint: fingerprint.to_owned(),
        };
        let folder = self.folder(Kind::Requests)?;
        let holder = claims::take(&folder, &file(session, request), &claim, |found: OnFile| {
            exists(&found.id).then_some(found)
        })?;
        Ok(match holder {
            None => Request::Yours,
            Some(found) if found.fingerprint == fingerprint => Request::Same(found.id),
            Some(found) => Request::Different(found.id),
        })
    }

    /// Forgets the request, unless it is another job's by now.
    pub(crate) fn release_request(
        &self,
        session: Option<&Session>,
        request: &str,
        id: &JobId,
    ) -> Result<(), StateError> {
        match self.existing_folder(Kind::Requests)? {
            Some(folder) => {
                claims::release(&folder, &file(session, request), |found: &OnFile| found.id == *id)
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::fs;
    use std::sync::Barrier;

    fn state() -> (tempfile::TempDir, StateDir) {
        let place = tempfile::tempdir().unwrap();
        let state = StateDir::at(place.path().join("state")).unwrap();
        (place, state)
    }

    #[test]
    fn the_same_request_gives_the_same_job_and_another_command_a_conflict() {
        let (_place, state) = state();
        let [first, second] = [(); 2].map(|()| JobId::random());
        let claim = |request: &str, id, print: &str| {
            state.claim_request(None, request, id, print, |_| true).unwrap()
        };
        assert_eq!(claim("r", &first, "print"), Request::Yours);
        assert_eq!(claim("r", &second, "print"), Request::Same(first));
        assert_eq!(claim("r", &second, "other"), Request::Different(first));
        assert_eq!(claim("any text/../\n", &second, "other"), Request::Yours);
        let session: Session = "a".parse().unwrap();
        let elsewhere = state.claim_request(Some(&session), "r", &second, "other", |_| true);
        assert_eq!(elsewhere.unwrap(), Request::Yours);
    }

    #[test]
    fn a_claim_whose_job_is_gone_is_taken_over() {
        let (_place, state) = state();
        let [first, second, third] = [(); 3].map(|()| JobId::random());
        let claim = |id: &JobId, print: &str, existing: JobId| {
            state.claim_request(None, "r", id, print, |id| *id == existing).unwrap()
        };
        assert_eq!(claim(&first, "print", first), Request::Yours);
        assert_eq!(claim(&second, "other", second), Request::Yours);
        assert_eq!(claim(&third, "other", second), Request::Same(second));
    }

    #[test]
    fn what_is_torn_is_taken_over_and_what_is_released_is_free() {
        let (_place, state) = state();
        let [first, second] = [(); 2].map(|()| JobId::random());
        let claim = |id| state.claim_request(None, "r", id, "print", |_| true).unwrap();
        state.release_request(None, "r", &first).unwrap();
        assert_eq!(claim(&first), Request::Yours);
        fs::write(state.path().join("requests").join(file(None, "r")), "{\"v\":1,").unwrap();
        assert_eq!(claim(&second), Request::Yours);
        state.release_request(None, "r", &first).unwrap();
        assert_eq!(claim(&first), Request::Same(second));
        state.release_request(None, "r", &second).unwrap();
        assert_eq!(claim(&first), Request::Yours);
    }

    #[test]
    fn of_all_who_ask_at_once_one_is_answered_and_the_others_are_told_by_whom() {
        let (_place, state) = state();
        for round in 0..200 {
            // A fresh request, and one whose job was pruned, in turn.
            let request = if round % 2 == 0 { format!("fresh-{round}") } else { "old".to_owned() };
            let ids = [(); 4].map(|()| JobId::random());
            let existing = HashSet::from(ids);
            let start = Barrier::new(ids.len());
            let claim = &|id: JobId| {
                start.wait();
                state.claim_request(None, &request, &id, "print", |id| existing.contains(id))
            };
            let answers = std::thread::scope(|scope| {
                ids.map(|id| scope.spawn(move || claim(id)))
                    .map(|answer| answer.join().unwrap().unwrap())
            });
            let winner = answers.iter().position(|answer| *answer == Request::Yours).unwrap();
            for (place, answer) in answers.iter().enumerate() {
                let expected =
                    if place == winner { Request::Yours } else { Request::Same(ids[winner]) };
                assert_eq!(*answer, expected, "round {round}");
            }
        }
    }
}
