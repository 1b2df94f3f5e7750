//! Bytes on their way to where a streamed output goes.
//!
//! They are kept until that place takes them, and the machine never waits for it: a terminal that
//! nobody scrolls, or a pager that nobody pages, must not keep a deadline from being met. What a
//! place refuses is counted, never lost silently.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;

use crate::sys::io as sysio;

/// Past this the source is not read on: the command waits, as it would on a pipe.
const FULL: usize = 256 * 1024;

/// What a pipe or socket that is ready takes without waiting.
const CERTAIN: usize = 4096;

#[derive(Debug)]
pub(crate) struct Forward {
    pub(crate) fd: OwnedFd,
    /// Whether writes on it return instead of wait.
    nonblocking: bool,
    pending: Vec<u8>,
    lost: u64,
    error: Option<Errno>,
}

impl Forward {
    pub(super) fn new(fd: BorrowedFd<'_>) -> io::Result<Forward> {
        let twin = sysio::nonblocking_twin(fd);
        let nonblocking = twin.is_some();
        let fd = match twin {
            Some(twin) => twin,
            None => sysio::duplicate(fd)?,
        };
        Ok(Forward { fd, nonblocking, pending: Vec::new(), lost: 0, error: None })
    }

    pub(super) fn take(&mut self, bytes: &[u8]) {
        if self.error.is_some() {
            self.lost += bytes.len() as u64;
        } else {
            self.pending.extend_from_slice(bytes);
        }
    }

    pub(super) fn is_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.pending.len() >= FULL
    }

    /// Writes what fits. To be called when the place is ready.
    pub(super) fn push(&mut self) {
        let count = if self.nonblocking { self.pending.len() } else { CERTAIN };
        let count = count.min(self.pending.len());
        match sysio::write(self.fd.as_fd(), &self.pending[..count]) {
            sysio::Put::Bytes(count) => drop(self.pending.drain(..count)),
            sysio::Put::Full => {}
            sysio::Put::Failed(error) => {
                self.error = Some(error);
                self.give_up();
            }
        }
    }

    /// Lets go of what was not taken.
    pub(super) fn give_up(&mut self) {
        self.lost += self.pending.len() as u64;
        self.pending.clear();
    }

    /// What was not passed on, and why.
    pub(super) fn complaint(&self) -> Option<String> {
        let why = match self.error {
            Some(error) => io::Error::from(error).to_string(),
            None => "nobody took them in time".to_owned(),
        };
        (self.lost > 0).then(|| format!("{} bytes of output were not passed on: {why}", self.lost))
    }
}
