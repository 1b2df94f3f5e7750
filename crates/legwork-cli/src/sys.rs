//! Signals as something to read: the one piece here that the safe crates have no word for.
//!
//! A handler can do almost nothing, so it only writes two bytes to a pipe: which signal, and
//! whether the kernel sent it because of a key at the terminal. That difference matters, because
//! such a signal has reached the whole process group, and passing it on would deliver it twice.

#![allow(unsafe_code, reason = "sigaction; each block says why it is sound")]

use std::io;
use std::os::fd::{AsFd, BorrowedFd, IntoRawFd, OwnedFd};
use std::sync::atomic::{AtomicI32, Ordering};

use legwork::Signal;
use rustix::pipe::{PipeFlags, pipe_with};

/// Where the handler writes; -1 before anyone listens.
static WRITER: AtomicI32 = AtomicI32::new(-1);

/// A signal that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arrival {
    pub(crate) signal: Signal,
    pub(crate) sent_by: Sender,
}

/// Who sent a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sender {
    /// The terminal: the whole group has it.
    Terminal,
    /// Another process: only this one has it.
    Process,
}

/// Signals to be read instead of being acted on.
#[derive(Debug)]
pub(crate) struct Arrivals {
    reader: OwnedFd,
}

impl AsFd for Arrivals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }
}

impl Arrivals {
    /// From now on these signals are read here. One that is ignored stays so: whoever started us
    /// with `nohup` meant it.
    pub(crate) fn of(signals: &[Signal]) -> io::Result<Arrivals> {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
        // A handler must never wait, and a full pipe has told enough.
        rustix::fs::fcntl_setfl(&writer, rustix::fs::OFlags::NONBLOCK)?;
        // Kept open for the life of the process: the handler may run at any time.
        WRITER.store(writer.into_raw_fd(), Ordering::Release);
        for signal in signals {
            install(signal.number())?;
        }
        Ok(Arrivals { reader })
    }

    /// Waits for the next one; `None` where the pipe is broken, which nothing does.
    pub(crate) fn wait(&self) -> Option<Arrival> {
        let mut bytes = [0_u8; 2];
        loop {
            match rustix::io::read(&self.reader, &mut bytes) {
                Ok(2) => break,
                Err(rustix::io::Errno::INTR) => {}
                Ok(_) | Err(_) => return None,
            }
        }
        let sent_by = if bytes[1] == 1 { Sender::Terminal } else { Sender::Process };
        Some(Arrival { signal: Signal::from_number(i32::from(bytes[0]))?, sent_by })
    }
}

fn install(signal: i32) -> io::Result<()> {
    // SAFETY: both structures are memory of this frame, zeroed is a valid value of each, and the
    // handler does only what a handler may: atomic loads, `write`, and saving `errno`.
    unsafe {
        let mut before: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(signal, std::ptr::null(), &raw mut before) != 0 {
            return Err(io::Error::last_os_error());
        }
        if before.sa_sigaction == libc::SIG_IGN {
            return Ok(());
        }
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_signal as extern "C" fn(_, _, _) as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        libc::sigemptyset(&raw mut action.sa_mask);
        if libc::sigaction(signal, &raw const action, std::ptr::null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

extern "C" fn on_signal(signal: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel hands a valid `info` to a handler with SA_SIGINFO; the bytes are memory
    // of this frame; the descriptor is open for the life of the process; `errno` is put back.
    unsafe {
        let errno = *libc::__errno_location();
        let from_terminal = !info.is_null() && (*info).si_code == libc::SI_KERNEL;
        let bytes = [signal as u8, u8::from(from_terminal)];
        let fd = WRITER.load(Ordering::Acquire);
        libc::write(fd, bytes.as_ptr().cast(), bytes.len());
        *libc::__errno_location() = errno;
    }
}

/// Whether a descriptor can be polled for reading right now, with a limit in milliseconds.
pub(crate) fn readable<const N: usize>(
    descriptors: [BorrowedFd<'_>; N],
    limit: Option<std::time::Duration>,
) -> io::Result<[bool; N]> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut polled = descriptors.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
    let limit = limit.map(|limit| Timespec {
        tv_sec: limit.as_secs() as _,
        tv_nsec: i64::from(limit.subsec_nanos()),
    });
    match poll(&mut polled, limit.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(polled.map(|fd| !fd.revents().is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    /// One test for all, since the handlers are the process's.
    #[test]
    fn a_signal_is_read_with_its_sender_and_an_ignored_one_stays_ignored() {
        // SAFETY: SIG_IGN is a valid disposition, and nothing else here uses SIGUSR2.
        unsafe { libc::signal(libc::SIGUSR2, libc::SIG_IGN) };
        let arrivals = Arrivals::of(&[Signal::USR1, Signal::USR2]).unwrap();
        assert_ne!(WRITER.load(Ordering::Acquire), arrivals.reader.as_raw_fd());
        let own = rustix::process::getpid();
        rustix::process::kill_process(own, rustix::process::Signal::USR2).unwrap();
        rustix::process::kill_process(own, rustix::process::Signal::USR1).unwrap();
        let arrival = arrivals.wait().unwrap();
        assert_eq!(arrival, Arrival { signal: Signal::USR1, sent_by: Sender::Process });
        let now = Some(std::time::Duration::ZERO);
        assert_eq!(readable([arrivals.as_fd()], now).unwrap(), [false]);
    }
}
