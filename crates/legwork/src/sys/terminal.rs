//! The caller's own terminal: who is in its foreground, and giving it back as it was.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::process::{Pid, kill_process_group, test_kill_process_group};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr, tcsetpgrp};

use super::io::out_of_the_way;

/// The controlling terminal of this process.
fn controlling() -> io::Result<OwnedFd> {
    out_of_the_way(OpenOptions::new().read(true).write(true).open("/dev/tty")?.into())
}

/// Whether this process has a controlling terminal. Where that cannot be told, it has one: to
/// share the caller's group without need is harmless, to miss Ctrl-C is not.
pub(crate) fn exists() -> bool {
    match controlling() {
        Ok(_) => true,
        Err(error) => !matches!(error.raw_os_error(), Some(libc::ENXIO | libc::ENOENT)),
    }
}

/// Whether a device is the controlling terminal of this process.
pub(crate) fn is_controlling(device: u64) -> bool {
    super::proc::own_terminal() == Some((rustix::fs::major(device), rustix::fs::minor(device)))
}

/// The terminal as it was before a child got it.
pub(crate) struct Loan {
    terminal: OwnedFd,
    owner: Pid,
    settings: Option<Termios>,
}

impl std::fmt::Debug for Loan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loan").field("owner", &self.owner).finish_non_exhaustive()
    }
}

impl Loan {
    /// Prepares to lend the terminal; `None` where there is none, or it is not ours to lend
    /// because we are in the background ourselves.
    pub(crate) fn new() -> Option<Loan> {
        let terminal = controlling().ok()?;
        // None where our group lies outside this pid namespace: it cannot be named here.
        let owner = Pid::from_raw(super::process::own_group_and_session().0)?;
        if tcgetpgrp(&terminal).ok()? != owner {
            return None;
        }
        let settings = tcgetattr(&terminal).ok();
        Some(Loan { terminal, owner, settings })
    }

    pub(crate) fn terminal(&self) -> BorrowedFd<'_> {
        self.terminal.as_fd()
    }

    /// Takes the terminal back, with the settings it had; unless a shell has it meanwhile, because
    /// we are in the background.
    pub(crate) fn take_back(&self, group: Option<Pid>) {
        let holder = tcgetpgrp(&self.terminal).ok();
        // A group that is gone holds it still, and nobody else can take it from there.
        let is_ours = holder.is_none() || holder == group || holder == Some(self.owner);
        if !is_ours && holder.is_some_and(|holder| test_kill_process_group(holder).is_ok()) {
            return;
        }
        without_ttou(|| {
            let _ = tcsetpgrp(&self.terminal, self.owner);
            if let Some(settings) = &self.settings {
                let _ = tcsetattr(&self.terminal, OptionalActions::Drain, settings);
            }
        });
    }

    /// The child was stopped from the keyboard: stop with it, as a shell's job does, and come
    /// back when the person continues us. In the foreground the child gets the terminal again; in
    /// the background it does without.
    pub(crate) fn stop_too(&self, group: Pid) {
        let child_settings = tcgetattr(&self.terminal).ok();
        self.take_back(Some(group));
        let _ = kill_process_group(self.owner, rustix::process::Signal::TSTP);
        // Another thread may be the one that takes the signal; this one must not run ahead of it.
        std::thread::sleep(STOP_LANDS);
        if tcgetpgrp(&self.terminal).ok() != Some(self.owner) {
            return;
        }
        without_ttou(|| {
            let _ = tcsetpgrp(&self.terminal, group);
            if let Some(settings) = child_settings {
                let _ = tcsetattr(&self.terminal, OptionalActions::Drain, &settings);
            }
        });
    }
}

/// How long a stop signal to our own process may take to reach all its threads.
const STOP_LANDS: Duration = Duration::from_millis(20);

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
