//! The caller's own terminal: who is in its foreground, and giving it back as it was.

use std::fs::OpenOptions;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::process::{Pid, getpgrp, kill_process_group};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr, tcsetpgrp};

/// The controlling terminal of this process, where it has one.
pub(crate) fn controlling() -> Option<OwnedFd> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/tty")
        .ok()
        .map(OwnedFd::from)
}

/// The terminal as it was before a child got it.
pub(crate) struct Loan {
    terminal: OwnedFd,
    owner: Pid,
    settings: Option<Termios>,
}

impl std::fmt::Debug for Loan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loan")
            .field("owner", &self.owner)
            .finish_non_exhaustive()
    }
}

impl Loan {
    /// Prepares to lend the terminal; `None` where there is none, or it is not ours to lend
    /// because we are in the background ourselves.
    pub(crate) fn new() -> Option<Loan> {
        let terminal = controlling()?;
        let owner = getpgrp();
        if tcgetpgrp(&terminal).ok()? != owner {
            return None;
        }
        let settings = tcgetattr(&terminal).ok();
        Some(Loan {
            terminal,
            owner,
            settings,
        })
    }

    pub(crate) fn terminal(&self) -> BorrowedFd<'_> {
        self.terminal.as_fd()
    }

    /// Takes the terminal back, with the settings it had.
    pub(crate) fn take_back(&self) {
        without_ttou(|| {
            let _ = tcsetpgrp(&self.terminal, self.owner);
            if let Some(settings) = &self.settings {
                let _ = tcsetattr(&self.terminal, OptionalActions::Drain, settings);
            }
        });
    }

    /// Lends it to a group.
    pub(crate) fn give(&self, group: Pid) {
        without_ttou(|| {
            let _ = tcsetpgrp(&self.terminal, group);
        });
    }

    /// The child was stopped from the keyboard: stop with it, as a shell's job does, and come
    /// back when the person continues us.
    pub(crate) fn stop_too(&self, group: Pid) {
        let child_settings = tcgetattr(&self.terminal).ok();
        self.take_back();
        let _ = kill_process_group(self.owner, rustix::process::Signal::TSTP);
        self.give(group);
        if let Some(settings) = child_settings {
            without_ttou(|| {
                let _ = tcsetattr(&self.terminal, OptionalActions::Drain, &settings);
            });
        }
    }
}

/// Runs `f` with SIGTTOU blocked in this thread: a group that is not in the foreground may then
/// change the terminal without being stopped for it.
fn without_ttou(f: impl FnOnce()) {
    // SAFETY: the sets are memory of this frame, and the mask is restored.
    unsafe {
        let mut ttou: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut ttou);
        libc::sigaddset(&raw mut ttou, libc::SIGTTOU);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const ttou, &raw mut before);
        f();
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
    }
}
