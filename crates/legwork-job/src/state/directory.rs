//! Where jobs live, and whether that place can be trusted.
//!
//! Whoever writes here decides what `legwork` believes of a job, so the directory must be the
//! user's, closed to everyone else and no symbolic link. It is opened once, without following a
//! link, and what was opened is what is looked at; everything below is reached through that
//! descriptor, so nobody can put another directory in its place between the look and the use.
//!
//! This runs at every call: four system calls where all is well.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::error::StateError;

/// The variable that says where, before all others.
const VARIABLE: &str = "LEGWORK_STATE_DIR";

/// The directory that holds all jobs of a user.
///
/// ```
/// use legwork_job::StateDir;
///
/// # let place = tempfile::tempdir().unwrap();
/// let path = place.path().join("state/legwork");
/// let state = StateDir::at(&path)?;
/// assert_eq!(state.path(), path);
/// assert!(path.is_dir());
/// # Ok::<(), legwork_job::StateError>(())
/// ```
#[derive(Debug)]
pub struct StateDir {
    path: PathBuf,
    fd: OwnedFd,
}

impl StateDir {
    /// The directory that the environment names: `$LEGWORK_STATE_DIR`, else
    /// `$XDG_STATE_HOME/legwork`, else `$HOME/.local/state/legwork`. It is made where it is missing.
    ///
    /// # Errors
    /// Where none is named, it cannot be made, or it is not the user's alone.
    ///
    /// ```no_run
    /// let state = legwork_job::StateDir::from_env()?;
    /// println!("jobs are in {}", state.path().display());
    /// # Ok::<(), legwork_job::StateError>(())
    /// ```
    pub fn from_env() -> Result<StateDir, StateError> {
        StateDir::at(chosen(|variable| std::env::var_os(variable))?)
    }

    /// This directory, made where it is missing.
    ///
    /// # Errors
    /// Where the path is relative, it cannot be made, or it is not the user's alone.
    ///
    /// ```
    /// use std::os::unix::fs::PermissionsExt;
    /// # let place = tempfile::tempdir().unwrap();
    /// # let path = place.path().join("open");
    /// std::fs::create_dir(&path).unwrap();
    /// std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    /// let error = legwork_job::StateDir::at(&path).unwrap_err();
    /// assert!(error.to_string().contains("chmod 700"));
    /// ```
    pub fn at(path: impl AsRef<Path>) -> Result<StateDir, StateError> {
        // A slash at the end would make the kernel follow a link after all.
        let path: PathBuf = path.as_ref().components().collect();
        if !path.is_absolute() {
            return Err(StateError::Relative { what: "the state directory", path });
        }
        let fd = match open(&path) {
            Err(Errno::NOENT) => {
                make(&path).map_err(|error| out_of_reach("make", &path, error))?;
                open(&path)
            }
            opened => opened,
        };
        let fd = fd.map_err(|error| unopened(&path, error))?;
        check(&path, &fd)?;
        Ok(StateDir { path, fd })
    }

    /// Its path.
    ///
    /// ```
    /// # let place = tempfile::tempdir().unwrap();
    /// let state = legwork_job::StateDir::at(place.path().join("state"))?;
    /// assert!(state.path().ends_with("state"));
    /// # Ok::<(), legwork_job::StateError>(())
    /// ```
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory that was looked at, whatever lies at its path by now. Things can be opened
    /// through it; it cannot be listed.
    pub(crate) fn fd(&self) -> &OwnedFd {
        &self.fd
    }
}

/// Which directory the variables name. A variable that is empty counts as not set.
fn chosen(variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, StateError> {
    let given = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(path) = given(VARIABLE) {
        return absolute(VARIABLE, path);
    }
    // The XDG specification: a relative one is to be ignored.
    if let Some(path) = given("XDG_STATE_HOME").filter(|path| path.is_absolute()) {
        return Ok(path.join("legwork"));
    }
    let home = given("HOME").ok_or(StateError::NoPlace)?;
    Ok(absolute("HOME", home)?.join(".local/state/legwork"))
}

fn absolute(what: &'static str, path: PathBuf) -> Result<PathBuf, StateError> {
    if path.is_absolute() { Ok(path) } else { Err(StateError::Relative { what, path }) }
}

/// Opened for its place alone, which needs no permission on it: what is wrong with a directory
/// that may not be read is told from what it is, not from an error.
fn open(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
}

fn make(path: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.mode(0o700);
    // Recursive also means: no error where another has made it meanwhile. It is checked anyway.
    builder.recursive(true).create(path)
}

/// What stands in the way of opening.
fn unopened(path: &Path, error: Errno) -> StateError {
    if let Ok(target) = std::fs::read_link(path) {
        // The whole way to its end, so that the repair does not lead to the next link.
        let target = std::fs::canonicalize(path)
            .unwrap_or_else(|_| path.parent().unwrap_or(path).join(target));
        return StateError::Symlink { path: path.to_owned(), target };
    }
    let blocking = path.ancestors().find(|above| above.exists() && !above.is_dir());
    match blocking {
        Some(blocking) => StateError::NotADirectory { path: blocking.to_owned() },
        None => out_of_reach("open", path, error),
    }
}

fn out_of_reach(what: &'static str, path: &Path, error: impl Into<io::Error>) -> StateError {
    StateError::OutOfReach { what, path: path.to_owned(), source: error.into() }
}

fn check(path: &Path, fd: &OwnedFd) -> Result<(), StateError> {
    let stat = rustix::fs::fstat(fd).map_err(|error| StateError::io("look at", path, error))?;
    let (owner, user) = (stat.st_uid, rustix::process::geteuid().as_raw());
    let mode = stat.st_mode & 0o7777;
    let path = path.to_owned();
    if owner != user {
        return Err(if is_for_jobs(&path) {
            StateError::OtherOwner { path, owner, user }
        } else {
            StateError::InUse { path, problem: "another user's" }
        });
    }
    if mode & 0o077 != 0 {
        return Err(if is_for_jobs(&path) {
            StateError::OpenToOthers { path, mode }
        } else {
            StateError::InUse { path, problem: "open to others" }
        });
    }
    if mode & 0o700 != 0o700 {
        return Err(StateError::ClosedToOwner { path, mode });
    }
    // The bits do not tell of a file system that is mounted read-only.
    rustix::fs::accessat(fd, ".", Access::WRITE_OK, AtFlags::empty())
        .map_err(|error| out_of_reach("write", &path, error))
}

/// Whether a directory that is refused can be repaired without harm to others: it is legwork's by
/// its name or by what it holds, or it is empty. Only whether to advise `chmod` hangs on this.
fn is_for_jobs(path: &Path) -> bool {
    let named = path.file_name().is_some_and(|name| name == "legwork");
    let empty = || std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
    named || path.join("jobs").is_dir() || empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    fn folder_with_mode(path: &Path, mode: u32) {
        fs::create_dir(path).unwrap();
        fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    }

    fn refusal(path: &Path) -> String {
        StateDir::at(path).unwrap_err().to_string()
    }

    #[test]
    fn the_environment_names_the_directory_in_order() {
        let choose = |set: &[(&str, &str)]| {
            chosen(|name| set.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into()))
                .map_err(|error| error.to_string())
        };
        let all = [("LEGWORK_STATE_DIR", "/own"), ("XDG_STATE_HOME", "/xdg"), ("HOME", "/home/me")];
        assert_eq!(choose(&all), Ok("/own".into()));
        assert_eq!(choose(&all[1..]), Ok("/xdg/legwork".into()));
        assert_eq!(choose(&all[2..]), Ok("/home/me/.local/state/legwork".into()));
        let empty = [("LEGWORK_STATE_DIR", ""), ("XDG_STATE_HOME", ""), ("HOME", "/home/me")];
        assert_eq!(choose(&empty), Ok("/home/me/.local/state/legwork".into()));
        let relative_xdg = [("XDG_STATE_HOME", "xdg"), ("HOME", "/home/me")];
        assert_eq!(choose(&relative_xdg), Ok("/home/me/.local/state/legwork".into()));
        for relative in [("LEGWORK_STATE_DIR", "own"), ("HOME", "me")] {
            let error = choose(&[relative]).unwrap_err();
            assert!(error.contains(relative.0) && error.contains("relative"), "{error}");
        }
        let error = choose(&[]).unwrap_err();
        assert!(error.contains("set LEGWORK_STATE_DIR to an absolute path"), "{error}");
    }

    #[test]
    fn it_is_made_with_its_parents_and_for_the_user_alone() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a/b/legwork");
        let state = StateDir::at(&path).unwrap();
        assert_eq!(state.path(), path);
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o700, 0o700));
        assert!(StateDir::at(&path).is_ok(), "the second time it is there");
    }

    #[test]
    fn two_that_make_it_at_once_both_have_it() {
        let place = tempfile::tempdir().unwrap();
        for round in 0..100 {
            let path = place.path().join(format!("{round}/state"));
            std::thread::scope(|scope| {
                let both = [(); 2].map(|()| scope.spawn(|| StateDir::at(&path)));
                for one in both {
                    one.join().unwrap().unwrap();
                }
            });
        }
    }

    #[test]
    fn one_that_is_open_to_others_is_refused_with_the_repair() {
        let place = tempfile::tempdir().unwrap();
        for open in [0o701, 0o710, 0o704, 0o770, 0o755, 0o777, 0o1777] {
            let path = place.path().join(format!("{open:o}"));
            folder_with_mode(&path, open);
            let error = refusal(&path);
            assert!(error.contains(&format!("`chmod 700 {}`", path.display())), "{error}");
            fs::set_permissions(&path, PermissionsExt::from_mode(0o700)).unwrap();
            assert!(StateDir::at(&path).is_ok(), "the repair repairs");
        }
    }

    #[test]
    fn one_that_its_owner_cannot_use_is_refused_with_the_repair() {
        let place = tempfile::tempdir().unwrap();
        for closed in [0o500, 0o600, 0o300, 0o000] {
            let path = place.path().join(format!("{closed:o}"));
            folder_with_mode(&path, closed);
            let error = refusal(&path);
            assert!(error.contains(&format!("`chmod 700 {}`", path.display())), "{error}");
            fs::set_permissions(&path, PermissionsExt::from_mode(0o700)).unwrap();
            assert!(StateDir::at(&path).is_ok(), "the repair repairs");
        }
    }

    #[test]
    fn nobody_is_told_to_close_a_directory_that_others_use() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("shared");
        folder_with_mode(&path, 0o1777);
        fs::write(path.join("another's file"), "").unwrap();
        let error = refusal(&path);
        assert!(!error.contains("chmod"), "{error}");
        let better = format!("`export LEGWORK_STATE_DIR={}`", path.join("legwork").display());
        assert!(error.contains(&better), "{error}");
        fs::create_dir(path.join("jobs")).unwrap();
        assert!(refusal(&path).contains("`chmod 700 "), "jobs are there: it is legwork's");
    }

    #[test]
    fn another_users_is_refused_with_the_repair() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: only root can give a directory away");
            return;
        }
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("theirs");
        folder_with_mode(&path, 0o700);
        let stranger = rustix::process::Uid::from_raw(12345);
        rustix::fs::chown(&path, Some(stranger), None).unwrap();
        let error = refusal(&path);
        assert!(error.contains("user 12345"), "{error}");
        assert!(error.contains(&format!("`chown -R 0 {}`", path.display())), "{error}");
        assert!(error.contains("LEGWORK_STATE_DIR"), "{error}");
        fs::write(path.join("their file"), "").unwrap();
        let error = refusal(&path);
        assert!(!error.contains("chown") && error.contains("LEGWORK_STATE_DIR="), "{error}");
    }

    #[test]
    fn a_link_is_refused_however_it_is_written_and_its_target_named() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path().canonicalize().unwrap();
        let target = place.join("target");
        folder_with_mode(&target, 0o700);
        symlink("target", place.join("near")).unwrap();
        symlink(place.join("near"), place.join("far")).unwrap();
        for link in ["near", "near/", "near/.", "far", "./far//"] {
            let error = refusal(&place.join(link));
            let repair = format!("`export LEGWORK_STATE_DIR={}`", target.display());
            assert!(error.contains("symbolic link") && error.contains(&repair), "{error}");
        }
        symlink("nowhere", place.join("dangling")).unwrap();
        let error = refusal(&place.join("dangling"));
        assert!(error.contains(&place.join("nowhere").display().to_string()), "{error}");
        assert!(!place.join("nowhere").exists(), "nothing is made through a link");
        let below = place.join("far/below");
        assert!(StateDir::at(&below).is_ok(), "links above are the user's own affair");
    }

    #[test]
    fn what_is_no_directory_is_refused_and_named() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("file");
        fs::write(&file, "").unwrap();
        for path in [file.clone(), file.join("below")] {
            let error = refusal(&path);
            let repair = format!("`mv {0} {0}.old`", file.display());
            assert!(error.contains("not a directory") && error.contains(&repair), "{error}");
        }
    }

    #[test]
    fn a_place_where_nothing_can_be_made_is_refused() {
        // The kernel makes the directories of /proc, and nobody else, not even root.
        let error = refusal(Path::new("/proc/legwork/state"));
        assert!(error.contains("cannot make") && error.contains("LEGWORK_STATE_DIR"), "{error}");
    }

    #[test]
    fn a_file_system_that_is_read_only_is_refused() {
        // Another program mounts it, and this test again, inside: mounts are the process's own.
        const INSIDE: &str = "LEGWORK_TEST_READ_ONLY";
        if let Some(path) = std::env::var_os(INSIDE) {
            let error = refusal(Path::new(&path));
            assert!(error.contains("cannot write") && error.contains("Read-only"), "{error}");
            return;
        }
        let place = tempfile::tempdir().unwrap();
        let mount =
            "mount -t tmpfs -o ro,mode=700 none \"$1\" || exit 77; exec \"$2\" --exact \"$3\"";
        let status = std::process::Command::new("unshare")
            .args(["--mount", "sh", "-c", mount, "sh"])
            .args([place.path().as_os_str(), std::env::current_exe().unwrap().as_os_str()])
            .arg(
                concat!(module_path!(), "::a_file_system_that_is_read_only_is_refused")
                    .split_once("::")
                    .unwrap()
                    .1,
            )
            .env(INSIDE, place.path())
            .status();
        match status {
            Ok(status) if status.success() => {}
            Ok(status) if status.code() == Some(101) => panic!("failed inside"),
            other => eprintln!("skipped: no mount of one's own here: {other:?}"),
        }
    }
}
