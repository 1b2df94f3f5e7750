//! A child of ours, and how it may be touched.
//!
//! The rule that makes signalling safe: a pid stays ours only while we have not reaped it. So the
//! leader is waited for *without* reaping, its process group is signalled only through a value
//! that still holds it, and it is reaped last of all. A process that is not our child is reached
//! through a pidfd whose start time was checked.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, WaitId, WaitIdOptions, pidfd_open, pidfd_send_signal, waitid,
};

use super::proc;
use super::spawn::Spawned;
use crate::ending::WaitStatus;
use crate::outcome::Usage;
use crate::signal::Signal;

/// A child whose pid is held: not reaped before `reap`.
#[derive(Debug)]
pub(crate) struct Leader {
    pid: Pid,
    pidfd: OwnedFd,
    gone: bool,
    reaped: bool,
}

impl Leader {
    pub(crate) fn new(spawned: Spawned) -> Leader {
        Leader { pid: spawned.pid, pidfd: spawned.pidfd, gone: false, reaped: false }
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

    /// Whether it has ended; it is not reaped by asking.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone
    }

    /// Asks the kernel whether it has ended, without reaping it.
    pub(crate) fn look(&mut self) {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match waitid(WaitId::PidFd(self.pidfd()), options) {
            Ok(None) | Err(Errno::INTR) => {}
            Ok(Some(_)) => self.gone = true,
            // The status went to somebody else: the host ignores SIGCHLD, or reaped it.
            Err(_) => {
                self.gone = true;
                self.reaped = true;
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
        matches!(waitid(WaitId::PidFd(self.pidfd()), what | WaitIdOptions::NOHANG), Ok(Some(_)))
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
        let (status, usage) = match collect(self.pidfd(), libc::WNOHANG) {
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

/// Reaps through the pidfd, never by number: another part of this process may have reaped the
/// child already, and its number may be another child's by now.
fn collect(pidfd: BorrowedFd<'_>, options: i32) -> io::Result<Option<(WaitStatus, Usage)>> {
    // SAFETY: zero is a valid value for plain numbers, and both pointers are to this frame. The
    // system call itself is used because the C library's function has no place for the usage.
    let (result, info, usage) = unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let mut usage: libc::rusage = std::mem::zeroed();
        let result = libc::syscall(
            libc::SYS_waitid,
            libc::P_PIDFD,
            pidfd.as_raw_fd(),
            &raw mut info,
            libc::WEXITED | options,
            &raw mut usage,
        );
        (result, info, usage)
    };
    if result == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: after a successful wait the kernel has filled in these fields, or left them zero.
    let (pid, status) = unsafe { (info.si_pid(), info.si_status()) };
    if pid == 0 {
        return Ok(None);
    }
    let status = match info.si_code {
        libc::CLD_EXITED => WaitStatus::Exited { code: status },
        code => {
            let signal = Signal::from_number(status).ok_or(io::ErrorKind::InvalidData)?;
            WaitStatus::Signaled { signal, core_dumped: code == libc::CLD_DUMPED }
        }
    };
    Ok(Some((status, usage_of(&usage))))
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

/// Collects a child that has exited already: it failed before its program ran, or was there only to
/// start another.
pub(crate) fn reap_exited(pidfd: BorrowedFd<'_>) {
    // Where the host ignores SIGCHLD there is nothing to collect, and that is fine.
    while let Err(error) = collect(pidfd, 0) {
        if error.kind() != io::ErrorKind::Interrupted {
            break;
        }
    }
}

/// Collects a foster child of this process (see `containment`) if it has ended. Whether it is
/// gone.
pub(crate) fn reap_foster_child(pidfd: BorrowedFd<'_>) -> bool {
    collect(pidfd, libc::WNOHANG).map_or(true, |collected| collected.is_some())
}

/// A pidfd of a process that came back to us as an orphan; `None` where it is nobody's foster child
/// of ours.
pub(crate) fn foster_child(pid: i32) -> Option<OwnedFd> {
    let stat = proc::stat(pid).filter(|stat| stat.parent == std::process::id() as i32)?;
    pidfd_open(Pid::from_raw(stat.pid)?, PidfdFlags::empty()).ok()
}

/// Kills a child of this process that nobody else collects: until then its pid is its own.
pub(crate) fn kill_child(pid: i32) {
    // A pid of 1 or less would be everybody's.
    if let Some(child) = Pid::from_raw(pid).filter(|_| pid > 1) {
        let _ = rustix::process::kill_process(child, rustix::process::Signal::KILL);
    }
}

/// Collects such a child, if it has ended. Whether it is gone.
pub(crate) fn reap_child(pid: i32) -> bool {
    let Some(child) = Pid::from_raw(pid).filter(|_| pid > 1) else {
        return true;
    };
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
    !matches!(waitid(WaitId::Pid(child), options), Ok(None) | Err(Errno::INTR))
}

/// Whether a process group has anyone in it.
pub(crate) fn group_exists(group: i32) -> bool {
    // SAFETY: signal 0 only asks; no memory is involved.
    let answer = unsafe { libc::kill(-group, 0) };
    // One that may not be signalled is there.
    group > 1 && (answer == 0 || io::Error::last_os_error().raw_os_error() == Some(libc::EPERM))
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

/// This process's own process group and session; 0 for one that lies outside its pid namespace,
/// as in a sandbox that was entered from without.
pub(crate) fn own_group_and_session() -> (i32, i32) {
    // SAFETY: plain questions about this process; no memory is involved. Asked of the C library,
    // since 0 is no valid value of a typed pid.
    unsafe { (libc::getpgrp(), libc::getsid(0)) }
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
    Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?)
}

/// Whether orphans come back to this process.
pub(crate) fn adopts_orphans() -> bool {
    matches!(rustix::process::child_subreaper(), Ok(Some(_)))
}
