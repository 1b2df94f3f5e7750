//! A child of ours, and how it may be touched.
//!
//! The rule that makes signalling safe: a pid stays ours only while we have not reaped it. So the
//! leader is waited for *without* reaping, its process group is signalled only through a value
//! that still holds it, and it is reaped last of all. A process that is not our child is reached
//! through a pidfd whose start time was checked.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, WaitId, WaitIdOptions, pidfd_open, pidfd_send_signal, waitid,
};

use super::proc;
use super::spawn::Spawned;
use crate::ending::WaitStatus;
use crate::outcome::Usage;
use crate::signal::Signal;

/// What the kernel says of a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Life {
    Running,
    Ended(WaitStatus),
    /// Over, but the status went to somebody else: the host ignores SIGCHLD, or reaped it.
    Lost,
}

/// A child whose pid is held: not reaped before `reap`.
#[derive(Debug)]
pub(crate) struct Leader {
    pid: Pid,
    pidfd: OwnedFd,
    reaped: bool,
}

impl Leader {
    pub(crate) fn new(spawned: Spawned) -> Leader {
        Leader {
            pid: spawned.pid,
            pidfd: spawned.pidfd,
            reaped: false,
        }
    }

    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    pub(crate) fn pidfd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    /// Whether its pid is certainly still its own: not reaped by us, nor by anybody else that we
    /// know of.
    pub(crate) fn is_held(&self) -> bool {
        !self.reaped
    }

    /// Whether it has ended, without reaping it.
    pub(crate) fn look(&mut self) -> Life {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match waitid(WaitId::PidFd(self.pidfd()), options) {
            Ok(None) => Life::Running,
            Ok(Some(status)) => match (status.exit_status(), status.terminating_signal()) {
                (Some(code), _) => Life::Ended(WaitStatus::Exited { code }),
                (None, Some(signal)) => match Signal::from_number(signal) {
                    Some(signal) => {
                        let core_dumped = status.dumped();
                        Life::Ended(WaitStatus::Signaled {
                            signal,
                            core_dumped,
                        })
                    }
                    None => Life::Lost,
                },
                (None, None) => Life::Running,
            },
            Err(_) => {
                self.reaped = true;
                Life::Lost
            }
        }
    }

    /// Whether a stop (Ctrl-Z) has happened since the last time this was asked.
    pub(crate) fn was_stopped(&self) -> bool {
        self.changed(WaitIdOptions::STOPPED)
    }

    /// Whether it was continued since the last time this was asked.
    pub(crate) fn was_continued(&self) -> bool {
        self.changed(WaitIdOptions::CONTINUED)
    }

    fn changed(&self, what: WaitIdOptions) -> bool {
        matches!(
            waitid(WaitId::PidFd(self.pidfd()), what | WaitIdOptions::NOHANG),
            Ok(Some(_))
        )
    }

    /// Signals the leader alone. Whether it was there to take it.
    pub(crate) fn signal(&self, signal: Signal) -> bool {
        !self.reaped && send(self.pidfd(), signal).is_ok()
    }

    /// Signals the whole group that it leads.
    pub(crate) fn signal_group(&self, signal: Signal) {
        let group = self.pid.as_raw_nonzero().get();
        // A group of 1 or less would be everybody's; an unreaped child's pid never is.
        if self.reaped || group <= 1 {
            return;
        }
        // SAFETY: no memory is involved; the group is ours while its leader is unreaped.
        unsafe {
            libc::kill(-group, signal.number());
        }
    }

    /// Takes the status and the resource use, and lets the pid go. `None` while it still runs.
    pub(crate) fn reap(&mut self) -> Option<(Option<WaitStatus>, Option<Usage>)> {
        if self.reaped {
            return Some((None, None));
        }
        let (status, usage) = match wait4(self.pid, libc::WNOHANG) {
            Ok(Some((status, usage))) => (Some(status), Some(usage)),
            Ok(None) => return None,
            Err(_) => (None, None),
        };
        self.reaped = true;
        Some((status, usage))
    }
}

fn send(pidfd: BorrowedFd<'_>, signal: Signal) -> Result<(), Errno> {
    // SAFETY: the number is one the kernel knows; real-time signals are sent, not handled here.
    let signal = unsafe { rustix::process::Signal::from_raw_unchecked(signal.number()) };
    pidfd_send_signal(pidfd, signal)
}

fn wait4(pid: Pid, options: i32) -> io::Result<Option<(WaitStatus, Usage)>> {
    let mut raw = 0;
    // SAFETY: zero is a valid value for plain numbers, and both pointers are to this frame.
    let (result, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        let result = libc::wait4(
            pid.as_raw_nonzero().get(),
            &raw mut raw,
            options,
            &raw mut usage,
        );
        (result, usage)
    };
    match result {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(None),
        _ => Ok(status_of(raw).map(|status| (status, usage_of(&usage)))),
    }
}

fn status_of(raw: i32) -> Option<WaitStatus> {
    if libc::WIFEXITED(raw) {
        return Some(WaitStatus::Exited {
            code: libc::WEXITSTATUS(raw),
        });
    }
    let signal = Signal::from_number(libc::WTERMSIG(raw))?;
    Some(WaitStatus::Signaled {
        signal,
        core_dumped: libc::WCOREDUMP(raw),
    })
}

fn usage_of(usage: &libc::rusage) -> Usage {
    let micros = |time: libc::timeval| {
        std::time::Duration::from_micros(time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64)
    };
    Usage {
        cpu_user: micros(usage.ru_utime),
        cpu_system: micros(usage.ru_stime),
        max_rss_bytes: usage.ru_maxrss as u64 * 1024,
    }
}

/// Collects a child that failed before its program ran. It has exited already.
pub(crate) fn reap_failed(pid: Pid) {
    // Where the host ignores SIGCHLD there is nothing to collect, and that is fine.
    while let Err(error) = wait4(pid, 0) {
        if error.kind() != io::ErrorKind::Interrupted {
            break;
        }
    }
}

/// Collects a foster child of this process (see `containment::subreaper`) if it has ended.
/// Whether it is gone.
pub(crate) fn reap_foster_child(pid: i32) -> bool {
    match Pid::from_raw(pid).map(|pid| wait4(pid, libc::WNOHANG)) {
        Some(Ok(collected)) => collected.is_some(),
        Some(Err(_)) | None => true,
    }
}

/// A pidfd of a process that came back to us as an orphan; `None` where it is nobody's foster child
/// of ours.
pub(crate) fn foster_child(pid: i32) -> Option<OwnedFd> {
    let stat = proc::stat(pid).filter(|stat| stat.parent == std::process::id() as i32)?;
    pidfd_open(Pid::from_raw(stat.pid)?, PidfdFlags::empty()).ok()
}

/// Whether a process group has anyone in it.
pub(crate) fn group_exists(group: i32) -> bool {
    // SAFETY: signal 0 only asks; no memory is involved.
    group > 1 && unsafe { libc::kill(-group, 0) } == 0
}

/// Signals a process that is not a leader of ours, if it is still the one that was seen: its pid
/// may have been given to another since. Whether it took the signal.
pub(crate) fn signal_seen(seen: &proc::Seen, signal: Signal) -> bool {
    let Some(pid) = Pid::from_raw(seen.pid).filter(|_| seen.pid > 1) else {
        return false;
    };
    let Ok(pidfd) = pidfd_open(pid, PidfdFlags::empty()) else {
        return false;
    };
    // The pidfd holds whoever has the pid now; if that one started when ours did, it is ours.
    proc::stat(seen.pid).is_some_and(|now| now.start_ticks == seen.start_ticks && !now.is_zombie())
        && send(pidfd.as_fd(), signal).is_ok()
}

/// Whether this process ignores SIGCHLD, so that the kernel throws its children's statuses away.
pub(crate) fn ignores_sigchld() -> bool {
    // SAFETY: only asks for the current action, into memory of this frame.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGCHLD, std::ptr::null(), &raw mut action) == 0
            && (action.sa_sigaction == libc::SIG_IGN || action.sa_flags & libc::SA_NOCLDWAIT != 0)
    }
}

/// Makes this process the one that orphans of its descendants come back to.
pub(crate) fn adopt_orphans() -> io::Result<()> {
    // The value only says on or off.
    Ok(rustix::process::set_child_subreaper(Some(
        rustix::process::getpid(),
    ))?)
}

/// Whether orphans come back to this process.
pub(crate) fn adopts_orphans() -> bool {
    matches!(rustix::process::child_subreaper(), Ok(Some(_)))
}
