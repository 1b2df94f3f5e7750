//! Which jobs there are, and how one goes.
//!
//! A folder with files in it cannot be removed in one step, so it is renamed first: to a name that
//! is no id. From then on it is no job to anybody, and whoever removes jobs next finishes what a
//! killed one began. What has nothing to do with legwork is told and left.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::directory::StateDir;
use super::error::StateError;
use super::folder::{Folder, Kind};
use crate::JobId;

/// What a job that is being removed is called, in front of its id.
const REMOVING: &str = ".removing-";

/// What lies in a job's folder. Others are removed as well; these without looking for them.
pub(crate) use crate::record::FILES as JOB_FILES;

/// What was found among the jobs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct JobIds {
    pub(crate) ids: Vec<JobId>,
    /// Those whose removal was begun and not finished.
    pub(crate) half_removed: Vec<JobId>,
    /// What is no job's.
    pub(crate) foreign: Vec<OsString>,
}

impl StateDir {
    /// The folder of all jobs, made where it is missing.
    pub(crate) fn jobs_dir(&self) -> Result<PathBuf, StateError> {
        Ok(self.folder(Kind::Jobs)?.path().to_owned())
    }

    /// The folder of a job, whether there is one or not.
    pub(crate) fn job_folder(&self, id: &JobId) -> PathBuf {
        self.path().join(Kind::Jobs.name()).join(id.as_str())
    }

    /// All jobs.
    pub(crate) fn job_ids(&self) -> Result<JobIds, StateError> {
        let mut found = JobIds::default();
        let Some(folder) = self.existing_folder(Kind::Jobs)? else { return Ok(found) };
        for (name, file_type) in folder.entries()? {
            let text = name.to_str().unwrap_or_default();
            // Some file systems do not say what an entry is; reading the job will.
            let may_be_job = matches!(file_type, FileType::Directory | FileType::Unknown);
            let id_after = |prefix| text.strip_prefix(prefix).and_then(|id: &str| id.parse().ok());
            match (may_be_job, id_after(""), id_after(REMOVING)) {
                (true, Some(id), _) => found.ids.push(id),
                (true, _, Some(id)) => found.half_removed.push(id),
                _ => found.foreign.push(name),
            }
        }
        found.ids.sort();
        found.half_removed.sort();
        found.foreign.sort();
        Ok(found)
    }
}

/// Removes the folder of a job that nobody needs, and gives the bytes that it held. One that is
/// gone already is no error: two may prune at once.
///
/// Whether the job has ended is for the caller to know.
pub(crate) fn remove_job_folder(state: &StateDir, id: &JobId) -> Result<u64, StateError> {
    let Some(jobs) = state.existing_folder(Kind::Jobs)? else { return Ok(0) };
    let aside = format!("{REMOVING}{id}");
    let rename = || rustix::fs::renameat(jobs.fd(), id.as_str(), jobs.fd(), &aside);
    let mut bytes = 0;
    let renamed = match rename() {
        // An id that was removed before, by half, and came again.
        Err(Errno::NOTEMPTY | Errno::EXIST) => {
            bytes += finish(&jobs, &aside)?;
            rename()
        }
        done => done,
    };
    match renamed {
        Ok(()) => Ok(bytes + finish(&jobs, &aside)?),
        Err(Errno::NOENT) => Ok(bytes),
        Err(error) => Err(jobs.error("remove", id.as_str(), error)),
    }
}

/// Finishes a removal that was begun by one who was killed, as [`JobIds::half_removed`] tells.
pub(crate) fn finish_removal(state: &StateDir, id: &JobId) -> Result<u64, StateError> {
    match state.existing_folder(Kind::Jobs)? {
        Some(jobs) => finish(&jobs, &format!("{REMOVING}{id}")),
        None => Ok(0),
    }
}

fn finish(jobs: &Folder, aside: &str) -> Result<u64, StateError> {
    empty_and_remove(jobs.fd(), aside).map_err(|error| jobs.error("remove", aside, error))
}

fn empty_and_remove(jobs: &OwnedFd, aside: &str) -> io::Result<u64> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = match rustix::fs::openat(jobs, aside, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(0),
        opened => opened?,
    };
    let mut bytes = 0;
    for name in JOB_FILES {
        bytes += remove_file(&folder, OsStr::new(name))?;
    }
    let remove = || match rustix::fs::unlinkat(jobs, aside, AtFlags::REMOVEDIR) {
        Err(Errno::NOENT) => Ok(()),
        done => done,
    };
    match remove() {
        Err(Errno::NOTEMPTY | Errno::EXIST) => {
            // Of another version, or half written. A folder is none of legwork's: it stays, and so
            // does this one, and the caller is told.
            for entry in Dir::read_from(&folder)? {
                let entry = entry?;
                let name = OsStr::from_bytes(entry.file_name().to_bytes());
                if entry.file_type() != FileType::Directory {
                    bytes += remove_file(&folder, name)?;
                }
            }
            remove()?;
        }
        done => done?,
    }
    Ok(bytes)
}

fn remove_file(folder: &OwnedFd, name: &OsStr) -> io::Result<u64> {
    let stat = match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => return Ok(0),
        stat => stat?,
    };
    match rustix::fs::unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) => Ok(u64::try_from(stat.st_size).unwrap_or(0)),
        // Another who prunes has counted it.
        Err(Errno::NOENT) => Ok(0),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn state() -> (tempfile::TempDir, StateDir) {
        let place = tempfile::tempdir().unwrap();
        let state = StateDir::at(place.path().join("state")).unwrap();
        (place, state)
    }

    /// A job of 10 bytes.
    fn job(state: &StateDir) -> JobId {
        let id = JobId::random();
        state.jobs_dir().unwrap();
        fs::create_dir(state.job_folder(&id)).unwrap();
        fs::write(state.job_folder(&id).join("log"), "1234567").unwrap();
        fs::write(state.job_folder(&id).join("record"), "123").unwrap();
        id
    }

    fn aside(state: &StateDir, id: &JobId) -> PathBuf {
        state.path().join(format!("jobs/.removing-{id}"))
    }

    #[test]
    fn jobs_are_told_from_what_is_none() {
        let (_place, state) = state();
        assert_eq!(state.job_ids().unwrap(), JobIds::default());
        assert!(!state.path().join("jobs").exists(), "looking makes nothing");
        let (mut ids, half) = ([job(&state), job(&state)], job(&state));
        ids.sort();
        fs::rename(state.job_folder(&half), aside(&state, &half)).unwrap();
        let jobs = state.jobs_dir().unwrap();
        fs::create_dir(jobs.join("lost+found")).unwrap();
        fs::create_dir(jobs.join(".removing-x")).unwrap();
        fs::write(jobs.join("k3vq8m2a"), "a file with an id for a name").unwrap();
        symlink("/", jobs.join("k3vq8m2b")).unwrap();
        let foreign = [".removing-x", "k3vq8m2a", "k3vq8m2b", "lost+found"].map(OsString::from);
        let expected =
            JobIds { ids: ids.into(), half_removed: vec![half], foreign: foreign.into() };
        assert_eq!(state.job_ids().unwrap(), expected);
    }

    #[test]
    fn a_job_goes_with_all_its_files_and_no_other() {
        let (_place, state) = state();
        let (doomed, other) = (job(&state), job(&state));
        fs::write(state.job_folder(&doomed).join("of-a-newer-version"), "12345").unwrap();
        symlink(state.job_folder(&other).join("log"), state.job_folder(&doomed).join("found"))
            .unwrap();
        std::os::unix::net::UnixListener::bind(state.job_folder(&doomed).join("socket")).unwrap();
        assert!(remove_job_folder(&state, &doomed).unwrap() >= 15);
        let left = JobIds { ids: vec![other], ..JobIds::default() };
        assert_eq!(state.job_ids().unwrap(), left);
        assert_eq!(fs::read(state.job_folder(&other).join("log")).unwrap(), b"1234567");
        assert_eq!(remove_job_folder(&state, &other).unwrap(), 10);
        assert_eq!(remove_job_folder(&state, &other).unwrap(), 0, "gone already");
    }

    #[test]
    fn a_prune_that_was_killed_is_finished_by_the_next() {
        let (_place, state) = state();
        // Killed after the rename, after each file, and before the folder itself went.
        for removed in [&[][..], &["record"], &["record", "log"]] {
            let id = job(&state);
            fs::rename(state.job_folder(&id), aside(&state, &id)).unwrap();
            for file in removed {
                fs::remove_file(aside(&state, &id).join(file)).unwrap();
            }
            let found = state.job_ids().unwrap();
            assert_eq!((found.ids, &found.half_removed[..]), (vec![], &[id][..]));
            let left = [10, 7, 0][removed.len()];
            assert_eq!(finish_removal(&state, &id).unwrap(), left);
            assert_eq!(state.job_ids().unwrap(), JobIds::default());
            assert_eq!(finish_removal(&state, &id).unwrap(), 0);
        }
    }

    #[test]
    fn an_id_that_was_removed_by_half_can_go_again() {
        let (_place, state) = state();
        let id = job(&state);
        fs::create_dir(aside(&state, &id)).unwrap();
        fs::write(aside(&state, &id).join("log"), "12345").unwrap();
        assert_eq!(remove_job_folder(&state, &id).unwrap(), 15);
        assert_eq!(state.job_ids().unwrap(), JobIds::default());
    }

    #[test]
    fn while_it_goes_it_is_no_job() {
        let (_place, state) = state();
        let id = job(&state);
        // A folder inside holds up the removal in the middle.
        fs::create_dir(state.job_folder(&id).join("foreign")).unwrap();
        fs::write(state.job_folder(&id).join("foreign/kept"), "").unwrap();
        let error = remove_job_folder(&state, &id).unwrap_err().to_string();
        assert!(error.contains(&format!(".removing-{id}")), "{error}");
        let found = state.job_ids().unwrap();
        assert_eq!((found.ids, found.half_removed), (vec![], vec![id]));
        assert!(aside(&state, &id).join("foreign/kept").exists());
    }

    #[test]
    fn two_who_prune_at_once_remove_each_job_once() {
        let (_place, state) = state();
        for _ in 0..50 {
            let id = job(&state);
            std::thread::scope(|scope| {
                let both =
                    [(); 2].map(|()| scope.spawn(|| remove_job_folder(&state, &id).unwrap()));
                let bytes: u64 = both.map(|one| one.join().unwrap()).into_iter().sum();
                assert_eq!(bytes, 10);
            });
            assert_eq!(state.job_ids().unwrap(), JobIds::default());
        }
    }
}
