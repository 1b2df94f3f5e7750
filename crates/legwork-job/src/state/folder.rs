//! The folders of the state directory, and files in them that are whole from the moment they are
//! seen.
//!
//! A file is written under a name that nobody looks at and then renamed to where it belongs, in one
//! step that fails where something is there already. Whoever is killed before leaves a `.new-…`
//! that [`Folder::sweep`] takes away. Nothing is synced unless asked: after a crash of the machine
//! every job is dead, and what is torn then reads as stale.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::directory::StateDir;
use super::error::StateError;
use crate::JobId;

/// What a file is called until it is whole.
const UNFINISHED: &str = ".new-";

/// Far longer than writing a file takes: whoever began it is gone.
const ABANDONED: Duration = Duration::from_secs(60 * 60);

/// What is read of a file at most. The largest that legwork writes here has a few hundred bytes.
const LARGEST: u64 = 64 * 1024;

/// The folders that the state directory has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Jobs,
    Names,
    Requests,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Jobs => "jobs",
            Kind::Names => "names",
            Kind::Requests => "requests",
        }
    }
}

/// Whether a file must outlast a crash of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Durability {
    Synced,
    WhenItComes,
}

/// What became of a file that may be made once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Published {
    Made,
    AlreadyThere,
}

/// What lies under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    Missing,
    Bytes(Vec<u8>),
    /// A folder, a link, or what may not be read: none of legwork's.
    Foreign,
}

/// An open folder of the state directory, or that directory itself.
#[derive(Debug)]
pub(super) struct Folder {
    fd: OwnedFd,
    path: PathBuf,
}

/// Held until it is dropped, or its holder dies.
#[derive(Debug)]
#[must_use]
pub(super) struct Lock {
    _fd: OwnedFd,
}

impl StateDir {
    /// The folder, made where it is missing.
    pub(super) fn folder(&self, kind: Kind) -> Result<Folder, StateError> {
        if let Some(folder) = self.existing_folder(kind)? {
            return Ok(folder);
        }
        let path = self.path().join(kind.name());
        match rustix::fs::mkdirat(self.fd(), kind.name(), Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(StateError::io("make", path, error)),
        }
        open(self.fd(), kind.name())
            .map_err(|error| StateError::io("open", &path, error))
            .map(|fd| Folder { fd, path })
    }

    pub(super) fn existing_folder(&self, kind: Kind) -> Result<Option<Folder>, StateError> {
        let path = self.path().join(kind.name());
        match open(self.fd(), kind.name()) {
            Ok(fd) => Ok(Some(Folder { fd, path })),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(StateError::io("open", path, error)),
        }
    }

    /// The state directory as a folder of files.
    pub(super) fn top(&self) -> Result<Folder, StateError> {
        let fd = open(self.fd(), ".").map_err(|error| self.error("open", error))?;
        Ok(Folder { fd, path: self.path().to_owned() })
    }

    fn error(&self, what: &'static str, error: Errno) -> StateError {
        StateError::io(what, self.path(), error)
    }
}

fn open(at: &OwnedFd, name: &str) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(at, name, flags, Mode::empty())
}

impl Folder {
    pub(super) fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn error(
        &self,
        what: &'static str,
        name: impl AsRef<Path>,
        error: impl Into<io::Error>,
    ) -> StateError {
        StateError::io(what, self.path.join(name), error)
    }

    pub(super) fn read(&self, name: &str) -> Result<Content, StateError> {
        // A pipe that somebody put there must not hold up the reader.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&self.fd, name, flags, Mode::empty());
        let read = opened.map_err(io::Error::from).and_then(|fd| {
            let mut bytes = Vec::new();
            File::from(fd).take(LARGEST).read_to_end(&mut bytes).map(|_| bytes)
        });
        match read {
            Ok(bytes) => Ok(Content::Bytes(bytes)),
            Err(error) => match Errno::from_io_error(&error) {
                Some(Errno::NOENT) => Ok(Content::Missing),
                Some(Errno::LOOP | Errno::ISDIR | Errno::ACCESS | Errno::NXIO | Errno::AGAIN) => {
                    Ok(Content::Foreign)
                }
                // Too many open files, or a bad disk: no reason to take it for anybody's.
                _ => Err(self.error("read", name, error)),
            },
        }
    }

    /// Makes a file that is whole when it is seen, unless there is one.
    pub(super) fn publish(
        &self,
        name: &str,
        content: &[u8],
        durability: Durability,
    ) -> Result<Published, StateError> {
        let new = self.write_unfinished(content, durability)?;
        let renamed =
            rustix::fs::renameat_with(&self.fd, &new.name, &self.fd, name, RenameFlags::NOREPLACE);
        match renamed {
            // NFS, among others, cannot rename this way.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => self.link(&new, name),
            Err(Errno::EXIST) => Ok(Published::AlreadyThere),
            Err(error) => Err(self.error("make", name, error)),
            Ok(()) => {
                new.keep();
                Ok(Published::Made)
            }
        }
    }

    fn link(&self, new: &Unfinished<'_>, name: &str) -> Result<Published, StateError> {
        match rustix::fs::linkat(&self.fd, &new.name, &self.fd, name, AtFlags::empty()) {
            Ok(()) => Ok(Published::Made),
            Err(Errno::EXIST) => Ok(Published::AlreadyThere),
            Err(error) => Err(self.error("make", name, error)),
        }
    }

    /// Puts a file in the place of whatever is there. Only for who holds the [lock](Folder::lock).
    pub(super) fn replace(&self, name: &str, content: &[u8]) -> Result<(), StateError> {
        let new = self.write_unfinished(content, Durability::WhenItComes)?;
        let rename = || rustix::fs::renameat(&self.fd, &new.name, &self.fd, name);
        let renamed = match rename() {
            // A folder gives way to no file. It is nobody's here, but what it holds may be.
            Err(Errno::ISDIR) => {
                let aside = format!("foreign-{}", JobId::random());
                rustix::fs::renameat(&self.fd, name, &self.fd, aside).and_then(|()| rename())
            }
            done => done,
        };
        renamed.map_err(|error| self.error("replace", name, error))?;
        new.keep();
        Ok(())
    }

    pub(super) fn remove(&self, name: impl AsRef<OsStr>) -> Result<(), StateError> {
        match rustix::fs::unlinkat(&self.fd, name.as_ref(), AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(self.error("remove", name.as_ref(), error)),
        }
    }

    /// Waits until nobody else holds it.
    pub(super) fn lock(&self) -> Result<Lock, StateError> {
        const LOCK: &str = ".lock";
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let locked =
            rustix::fs::openat(&self.fd, LOCK, flags, Mode::RUSR | Mode::WUSR).and_then(|fd| {
                rustix::io::retry_on_intr(|| {
                    rustix::fs::flock(&fd, FlockOperation::LockExclusive)
                })?;
                Ok(Lock { _fd: fd })
            });
        locked.map_err(|error| self.error("lock", LOCK, error))
    }

    /// All that lies here, but what is unfinished.
    pub(super) fn entries(&self) -> Result<Vec<(OsString, FileType)>, StateError> {
        let list = || -> Result<Vec<(OsString, FileType)>, Errno> {
            let mut entries = Vec::new();
            for entry in Dir::read_from(&self.fd)? {
                let entry = entry?;
                let name = OsStr::from_bytes(entry.file_name().to_bytes());
                let ours = [".", "..", ".lock"].iter().any(|ours| name == *ours);
                if !ours && !name.as_bytes().starts_with(UNFINISHED.as_bytes()) {
                    entries.push((name.to_owned(), entry.file_type()));
                }
            }
            Ok(entries)
        };
        list().map_err(|error| self.error("list", "", error))
    }

    /// Removes what was begun and abandoned.
    pub(super) fn sweep(&self, now: SystemTime) -> Result<(), StateError> {
        let list = Dir::read_from(&self.fd).map_err(|error| self.error("list", "", error))?;
        for entry in list {
            let entry = entry.map_err(|error| self.error("list", "", error))?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if !name.as_bytes().starts_with(UNFINISHED.as_bytes()) {
                continue;
            }
            let Ok(stat) = rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) else {
                continue;
            };
            let written = Duration::from_secs(u64::try_from(stat.st_mtime).unwrap_or(0));
            let age = now.duration_since(SystemTime::UNIX_EPOCH + written).unwrap_or_default();
            if age > ABANDONED {
                self.remove(name)?;
            }
        }
        Ok(())
    }

    fn write_unfinished(
        &self,
        content: &[u8],
        durability: Durability,
    ) -> Result<Unfinished<'_>, StateError> {
        let name = format!("{UNFINISHED}{}", JobId::random());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.fd, &name, flags, Mode::RUSR | Mode::WUSR)
            .map_err(|error| self.error("make", &name, error))?;
        let new = Unfinished { folder: self, name };
        let mut file = File::from(fd);
        let written = file.write_all(content).and_then(|()| match durability {
            Durability::Synced => file.sync_all(),
            Durability::WhenItComes => Ok(()),
        });
        written.map_err(|error| self.error("write", &new.name, error))?;
        Ok(new)
    }
}

/// A file nobody looks at; gone when dropped.
#[derive(Debug)]
struct Unfinished<'a> {
    folder: &'a Folder,
    name: String,
}

impl Unfinished<'_> {
    /// It has its real name now.
    fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        let _ = self.folder.remove(&self.name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{MetadataExt, symlink};

    fn names() -> (tempfile::TempDir, StateDir, Folder) {
        let place = tempfile::tempdir().unwrap();
        let state = StateDir::at(place.path().join("state")).unwrap();
        let folder = state.folder(Kind::Names).unwrap();
        (place, state, folder)
    }

    fn on_disk(folder: &Folder) -> Vec<OsString> {
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect()
    }

    #[test]
    fn folders_are_made_on_first_need_for_the_user_alone() {
        let place = tempfile::tempdir().unwrap();
        let state = StateDir::at(place.path().join("state")).unwrap();
        for kind in [Kind::Jobs, Kind::Names, Kind::Requests] {
            let path = state.path().join(kind.name());
            assert!(state.existing_folder(kind).unwrap().is_none() && !path.exists());
            assert_eq!(state.folder(kind).unwrap().path(), path);
            assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o700);
        }
    }

    #[test]
    fn a_folder_that_is_a_link_is_not_followed() {
        let (place, state, _) = names();
        symlink(place.path(), state.path().join("jobs")).unwrap();
        assert!(matches!(state.folder(Kind::Jobs), Err(StateError::Io { .. })));
    }

    #[test]
    fn the_directory_that_was_looked_at_is_the_one_that_is_used() {
        let (place, state, _) = names();
        fs::rename(state.path(), place.path().join("moved")).unwrap();
        fs::create_dir(state.path()).unwrap();
        state.folder(Kind::Jobs).unwrap();
        assert!(place.path().join("moved/jobs").is_dir());
        assert!(!state.path().join("jobs").exists());
    }

    #[test]
    fn a_file_is_made_once_and_leaves_nothing_beside_it() {
        let (_place, _, folder) = names();
        let publish = |content| folder.publish("one", content, Durability::WhenItComes).unwrap();
        assert_eq!(publish(b"first"), Published::Made);
        assert_eq!(publish(b"second"), Published::AlreadyThere);
        assert_eq!(folder.read("one").unwrap(), Content::Bytes(b"first".to_vec()));
        assert_eq!(fs::metadata(folder.path().join("one")).unwrap().mode() & 0o777, 0o600);
        folder.replace("one", b"third").unwrap();
        assert_eq!(folder.read("one").unwrap(), Content::Bytes(b"third".to_vec()));
        assert_eq!(on_disk(&folder), ["one"]);
    }

    #[test]
    fn where_a_rename_cannot_refuse_a_link_does() {
        let (_place, _, folder) = names();
        let link = |content| {
            let new = folder.write_unfinished(content, Durability::Synced).unwrap();
            folder.link(&new, "one").unwrap()
        };
        assert_eq!(link(b"first"), Published::Made);
        assert_eq!(link(b"second"), Published::AlreadyThere);
        assert_eq!(folder.read("one").unwrap(), Content::Bytes(b"first".to_vec()));
        assert_eq!(on_disk(&folder), ["one"]);
    }

    #[test]
    fn what_is_not_legworks_is_told_and_gives_way() {
        let (_place, _, folder) = names();
        let at = |name: &str| folder.path().join(name);
        assert_eq!(folder.read("missing").unwrap(), Content::Missing);
        symlink("/etc/passwd", at("link")).unwrap();
        fs::create_dir(at("folder")).unwrap();
        fs::write(at("folder/kept"), "").unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
        for name in ["link", "folder"] {
            assert_eq!(folder.read(name).unwrap(), Content::Foreign, "{name}");
        }
        assert_eq!(folder.read("pipe").unwrap(), Content::Bytes(Vec::new()));
        for name in ["link", "folder", "pipe"] {
            folder.replace(name, b"ours").unwrap();
            assert_eq!(folder.read(name).unwrap(), Content::Bytes(b"ours".to_vec()), "{name}");
        }
        let aside =
            on_disk(&folder).into_iter().find(|name| name.as_bytes().starts_with(b"foreign-"));
        assert!(at(aside.unwrap().to_str().unwrap()).join("kept").exists());
    }

    #[test]
    fn what_was_abandoned_is_swept_and_what_is_being_written_is_not() {
        let (_place, _, folder) = names();
        fs::write(folder.path().join(".new-k3vq8m2a"), "half").unwrap();
        fs::write(folder.path().join("whole"), "").unwrap();
        let now = SystemTime::now();
        folder.sweep(now).unwrap();
        assert_eq!(on_disk(&folder).len(), 2);
        assert_eq!(folder.entries().unwrap().len(), 1, "unfinished ones are not seen");
        folder.sweep(now + Duration::from_secs(2 * 60 * 60)).unwrap();
        assert_eq!(on_disk(&folder), ["whole"]);
    }

    #[test]
    fn the_lock_is_anothers_until_it_is_dropped() {
        let (_place, state, folder) = names();
        let held = folder.lock().unwrap();
        let other = state.folder(Kind::Names).unwrap();
        let try_lock = || {
            let fd = rustix::fs::openat(other.fd(), ".lock", OFlags::RDWR, Mode::empty()).unwrap();
            rustix::fs::flock(&fd, FlockOperation::NonBlockingLockExclusive)
        };
        assert_eq!(try_lock(), Err(Errno::WOULDBLOCK));
        drop(held);
        assert_eq!(try_lock(), Ok(()));
    }
}
