//! Which machine, which start of it and which pid namespace a record speaks of.
//!
//! A state directory may lie in a shared home or a container's volume, and a pid in it means
//! nothing outside of where it was written down. So every record carries this, and nothing is ever
//! signalled for one that belongs elsewhere.
//!
//! What follows for containers: the boot id is the kernel's, so all containers of one host share
//! it; what tells them apart is the pid namespace, and two of one host read as elsewhere to each
//! other even where an image gave both the same machine id. Two of *different* hosts with the same
//! machine id from one image and one volume read as restarted to each other, although the job may
//! still run: the word is wrong then, but it too means that nothing is signalled. The number of a
//! namespace that is gone can be given to a new one; the job then reads as being here, and its free
//! lock and the start times of its processes tell that it is not.

use std::path::Path;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::error::StateError;

/// Where a job is, or was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    pub(crate) machine_id: String,
    pub(crate) boot_id: String,
    pub(crate) pid_namespace: u64,
}

/// How a recorded identity stands to that of the one who looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whereabouts {
    /// Its processes can be seen from here.
    Here,
    /// This machine, before it was started again: its processes are gone.
    Restarted,
    /// Another machine, or another container of this one.
    Elsewhere,
}

impl Identity {
    /// Of this process. It does not change, so it is asked for once.
    pub(crate) fn here() -> Result<&'static Identity, StateError> {
        static HERE: OnceLock<Identity> = OnceLock::new();
        match HERE.get() {
            Some(here) => Ok(here),
            None => {
                let here = Identity::read()?;
                Ok(HERE.get_or_init(|| here))
            }
        }
    }

    fn read() -> Result<Identity, StateError> {
        const BOOT: &str = "/proc/sys/kernel/random/boot_id";
        const NAMESPACE: &str = "/proc/self/ns/pid";
        let boot_id = std::fs::read_to_string(BOOT)
            .map_err(|error| StateError::io("read", BOOT, error))?
            .trim()
            .to_owned();
        let namespace = rustix::fs::stat(NAMESPACE)
            .map_err(|error| StateError::io("look at", NAMESPACE, error))?;
        let machine_id = machine_id(Path::new("/etc/machine-id"));
        Ok(Identity { machine_id, boot_id, pid_namespace: namespace.st_ino })
    }
}

/// What `/etc/machine-id` says, or the name of the host where it says nothing. The latter is marked,
/// so that no host is taken for a machine that has its name for an id.
fn machine_id(file: &Path) -> String {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    match text.trim() {
        // The second is what an image has before its first start.
        "" | "uninitialized" => {
            format!("host:{}", rustix::system::uname().nodename().to_string_lossy())
        }
        id => id.to_owned(),
    }
}

/// How `recorded` stands to `here`.
pub(crate) fn compare(recorded: &Identity, here: &Identity) -> Whereabouts {
    if recorded.machine_id != here.machine_id {
        Whereabouts::Elsewhere
    } else if recorded.boot_id != here.boot_id {
        // Whatever the namespace: its number means nothing to another kernel.
        Whereabouts::Restarted
    } else if recorded.pid_namespace != here.pid_namespace {
        Whereabouts::Elsewhere
    } else {
        Whereabouts::Here
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(machine: &str, boot: &str, pid_namespace: u64) -> Identity {
        Identity { machine_id: machine.into(), boot_id: boot.into(), pid_namespace }
    }

    #[test]
    fn every_combination_has_its_word() {
        let here = identity("m", "b", 1);
        for (recorded, expected) in [
            (identity("m", "b", 1), Whereabouts::Here),
            (identity("m", "b", 2), Whereabouts::Elsewhere),
            (identity("m", "x", 1), Whereabouts::Restarted),
            (identity("m", "x", 2), Whereabouts::Restarted),
            (identity("x", "b", 1), Whereabouts::Elsewhere),
            (identity("x", "b", 2), Whereabouts::Elsewhere),
            (identity("x", "x", 1), Whereabouts::Elsewhere),
            (identity("x", "x", 2), Whereabouts::Elsewhere),
        ] {
            assert_eq!(compare(&recorded, &here), expected, "{recorded:?}");
        }
    }

    #[test]
    fn this_process_is_here_and_survives_json() {
        let here = Identity::here().unwrap();
        assert!(!here.machine_id.is_empty() && here.boot_id.len() == 36, "{here:?}");
        let link = std::fs::read_link("/proc/self/ns/pid").unwrap();
        assert_eq!(link.to_str().unwrap(), format!("pid:[{}]", here.pid_namespace));
        let json = serde_json::to_string(&here).unwrap();
        let read: Identity = serde_json::from_str(&json).unwrap();
        assert_eq!(compare(&read, Identity::here().unwrap()), Whereabouts::Here);
    }

    #[test]
    fn another_pid_namespace_is_elsewhere() {
        let ns = std::process::Command::new("unshare")
            .args(["--pid", "--fork", "readlink", "/proc/self/ns/pid_for_children"])
            .output();
        let Some(ns) = ns.ok().filter(|output| output.status.success()) else {
            eprintln!("skipped: no pid namespace of one's own here");
            return;
        };
        let number = String::from_utf8(ns.stdout).unwrap();
        let number = number.trim().trim_start_matches("pid:[").trim_end_matches(']');
        let here = Identity::here().unwrap();
        let there = Identity { pid_namespace: number.parse().unwrap(), ..here.clone() };
        assert_eq!(compare(&there, here), Whereabouts::Elsewhere);
    }

    #[test]
    fn a_machine_without_an_id_goes_by_its_name() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("machine-id");
        let host = format!("host:{}", rustix::system::uname().nodename().to_str().unwrap());
        assert_eq!(machine_id(&file), host);
        for nothing in ["", "\n", "uninitialized\n"] {
            std::fs::write(&file, nothing).unwrap();
            assert_eq!(machine_id(&file), host);
        }
        std::fs::write(&file, "0123abcd\n").unwrap();
        assert_eq!(machine_id(&file), "0123abcd");
    }
}
