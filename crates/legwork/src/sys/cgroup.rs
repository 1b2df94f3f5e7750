//! A cgroup of its own for one run: the one containment that nothing escapes.
//!
//! Made below the caller's own cgroup, where this user may do so. The child is born inside it
//! (see `spawn`), every descendant stays inside whatever it does, and one write ends them all.

use std::fs;
use std::io::{self, ErrorKind, Read, Seek};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::fs::{Mode, OFlags};

use super::proc;

/// A fresh cgroup; removed when dropped.
#[derive(Debug)]
pub(crate) struct Cgroup {
    path: PathBuf,
    directory: OwnedFd,
}

impl Cgroup {
    /// Makes one below the caller's own, named for the run.
    pub(crate) fn create(run: &str) -> io::Result<Cgroup> {
        let parent = own_directory()?;
        let path = parent.join(format!("legwork-{run}"));
        fs::create_dir(&path).map_err(|error| {
            io::Error::new(error.kind(), format!("create {}: {error}", path.display()))
        })?;
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        match rustix::fs::open(&path, flags, Mode::empty()) {
            Ok(directory) => Ok(Cgroup { path, directory }),
            Err(error) => {
                let _ = fs::remove_dir(&path);
                Err(error.into())
            }
        }
    }

    pub(crate) fn directory(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }

    /// Everyone inside, nested cgroups included. Zombies are not counted by the kernel.
    pub(crate) fn members(&self) -> io::Result<Vec<proc::Seen>> {
        let mut members = Vec::new();
        let mut result = Ok(());
        self.each_directory(&mut |directory| match fs::read_to_string(
            directory.join("cgroup.procs"),
        ) {
            Ok(listed) => {
                let pids = listed.lines().filter_map(|line| line.parse().ok());
                members.extend(pids.filter_map(proc::stat).map(|stat| stat.seen()));
            }
            Err(error) => result = Err(error),
        });
        result.map(|()| members)
    }

    /// Ends everyone inside at once. Kernels before 5.14 have no `cgroup.kill`: there everyone is
    /// frozen first, so that nobody forks meanwhile.
    pub(crate) fn kill(&self) {
        if fs::write(self.path.join("cgroup.kill"), "1").is_ok() {
            return;
        }
        let freeze = self.path.join("cgroup.freeze");
        let _ = fs::write(&freeze, "1");
        for member in self.members().unwrap_or_default() {
            super::process::signal_seen(&member, crate::Signal::KILL);
        }
        let _ = fs::write(&freeze, "0");
    }

    /// Whether the kernel ended someone in here for want of memory; `None` where the memory
    /// controller does not count for this cgroup.
    pub(crate) fn out_of_memory(&self) -> Option<bool> {
        let events = fs::read_to_string(self.path.join("memory.events")).ok()?;
        let kills = events.lines().find_map(|line| line.strip_prefix("oom_kill "))?;
        Some(kills.trim() != "0")
    }

    /// The file that tells when the last one inside is gone; `poll` wakes for it.
    pub(crate) fn events(&self) -> io::Result<fs::File> {
        fs::File::open(self.path.join("cgroup.events"))
    }

    /// Whether that file says so.
    pub(crate) fn is_empty(events: &mut fs::File) -> bool {
        let mut text = String::new();
        let read = events.rewind().and_then(|()| events.read_to_string(&mut text));
        read.is_err() || text.lines().any(|line| line == "populated 0")
    }

    /// Depth first, the deepest directory first.
    fn each_directory(&self, f: &mut dyn FnMut(&Path)) {
        fn walk(directory: &Path, f: &mut dyn FnMut(&Path)) {
            let entries = fs::read_dir(directory).into_iter().flatten().flatten();
            for entry in entries {
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    walk(&entry.path(), f);
                }
            }
            f(directory);
        }
        walk(&self.path, f);
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        self.each_directory(&mut |directory| {
            // Survivors hold the directory; the janitor keeps the cgroup until they are gone.
            let _ = fs::remove_dir(directory);
        });
    }
}

/// The directory of this process's own cgroup in the unified hierarchy.
fn own_directory() -> io::Result<PathBuf> {
    static MOUNT: OnceLock<Option<PathBuf>> = OnceLock::new();
    let mount = MOUNT.get_or_init(|| {
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        mount_point(&mounts).map(PathBuf::from)
    });
    let no = |what: &str| io::Error::new(ErrorKind::Unsupported, what.to_owned());
    let mount = mount.as_deref().ok_or_else(|| no("no cgroup2 file system is mounted"))?;
    let own = fs::read_to_string("/proc/self/cgroup")?;
    let path = own
        .lines()
        .find_map(|line| line.strip_prefix("0::/"))
        .ok_or_else(|| no("this process is in no cgroup of the unified hierarchy"))?;
    Ok(mount.join(path))
}

fn mount_point(mountinfo: &str) -> Option<&str> {
    mountinfo.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let mut fields = before.split(' ');
        let point = fields.nth(4)?;
        (after.split(' ').next()? == "cgroup2").then_some(point)
    })
}

#[cfg(test)]
mod tests {
    use super::mount_point;

    #[test]
    fn the_unified_hierarchy_is_found_wherever_it_is_mounted() {
        let mounts = "\
24 1 0:22 / /proc rw,relatime - proc proc rw
30 1 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
31 1 0:27 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw";
        assert_eq!(mount_point(mounts), Some("/sys/fs/cgroup/unified"));
        assert_eq!(mount_point("24 1 0:22 / /proc rw - proc proc rw"), None);
    }
}
