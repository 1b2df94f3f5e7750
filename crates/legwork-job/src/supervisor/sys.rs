//! Signals as something that can be waited for.

#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};

/// What a supervisor is told by signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    /// A child has ended or was stopped.
    Child,
    /// It is asked to go.
    Go,
}

/// A descriptor on which the signals of a supervisor arrive.
#[derive(Debug)]
pub(super) struct Signals(OwnedFd);

impl Signals {
    /// From here on these signals no longer interrupt; a hang-up is ignored.
    pub(super) fn take() -> io::Result<Signals> {
        // SAFETY: the set is memory of this frame; the mask is this thread's, the only one; the
        // descriptor is fresh and nobody else's.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            for signal in [libc::SIGCHLD, libc::SIGTERM, libc::SIGINT] {
                libc::sigaddset(&raw mut set, signal);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
            libc::signal(libc::SIGHUP, libc::SIG_IGN);
            let fd = libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
            if fd == -1 {
                return Err(io::Error::last_os_error());
            }
            Ok(Signals(OwnedFd::from_raw_fd(fd)))
        }
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// The next one that has arrived.
    pub(super) fn next(&self) -> Option<Told> {
        let mut buffer = [0; size_of::<libc::signalfd_siginfo>()];
        let length = rustix::io::read(&self.0, &mut buffer).ok()?;
        // The signal's number is the first field.
        let number = buffer.get(..length.min(4)).and_then(|bytes| bytes.try_into().ok());
        match number.map(i32::from_ne_bytes)? {
            libc::SIGCHLD => Some(Told::Child),
            _ => Some(Told::Go),
        }
    }
}
