//! What callers that were killed leave lying about: claims without a job, files half written.
//!
//! None of it does harm, since a stale claim is taken over by the next who wants it and half a file
//! is looked at by nobody. But nothing may grow without bound, so a prune takes it away.

use std::time::SystemTime;

use super::claims;
use super::directory::StateDir;
use super::error::StateError;
use super::folder::Kind;
use crate::JobId;

impl StateDir {
    /// Removes the claims of jobs that no longer exist, and what was abandoned half written. It
    /// reads every claim: for a prune that was asked for, not for every start.
    pub(crate) fn sweep(
        &self,
        exists: impl Fn(&JobId) -> bool,
        now: SystemTime,
    ) -> Result<(), StateError> {
        self.top()?.sweep(now)?;
        for kind in [Kind::Names, Kind::Requests] {
            if let Some(folder) = self.existing_folder(kind)? {
                folder.sweep(now)?;
                claims::sweep(&folder, &exists)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::requests::Request;
    use std::fs;
    use std::time::Duration;

    #[test]
    fn claims_without_a_job_go_and_all_others_stay() {
        let place = tempfile::tempdir().unwrap();
        let state = StateDir::at(place.path().join("state")).unwrap();
        let now = SystemTime::now();
        state.sweep(|_| true, now).unwrap();
        let [kept, gone] = [(); 2].map(|()| JobId::random());
        for id in [kept, gone] {
            state.claim_name(None, id.as_str(), &id, |_| true).unwrap();
            state.claim_request(None, id.as_str(), &id, "print", |_| true).unwrap();
        }
        let newer = state.path().join("names/newer");
        fs::write(&newer, format!("{{\"v\":2,\"id\":\"{gone}\"}}")).unwrap();
        state.sweep(|id| *id == kept, now).unwrap();
        assert_eq!(state.lookup_name(None, kept.as_str()).unwrap(), Some(kept));
        assert_eq!(state.lookup_name(None, gone.as_str()).unwrap(), None);
        assert!(newer.exists());
        let ask = |request: &JobId| {
            let other = JobId::random();
            state.claim_request(None, request.as_str(), &other, "print", |_| true).unwrap()
        };
        assert_eq!((ask(&kept), ask(&gone)), (Request::Same(kept), Request::Yours));
    }

    #[test]
    fn what_was_abandoned_goes_from_every_folder() {
        let place = tempfile::tempdir().unwrap();
        let state = StateDir::at(place.path().join("state")).unwrap();
        let halves = ["", "names", "requests"].map(|folder| {
            let folder = state.path().join(folder);
            fs::create_dir_all(&folder).unwrap();
            folder.join(".new-k3vq8m2a")
        });
        halves.iter().for_each(|half| fs::write(half, "half").unwrap());
        state.sweep(|_| true, SystemTime::now()).unwrap();
        assert!(halves.iter().all(|half| half.exists()), "they may be being written");
        state.sweep(|_| true, SystemTime::now() + Duration::from_secs(2 * 60 * 60)).unwrap();
        assert!(!halves.iter().any(|half| half.exists()));
    }
}
