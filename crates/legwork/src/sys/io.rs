//! Pipes, waiting and writing, each with the hazard it avoids.

use std::fs::OpenOptions;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, Timespec};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::pipe::PipeFlags;

/// A pipe that no other child inherits: read end, write end.
pub(crate) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (read, write) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    Ok((out_of_the_way(read)?, out_of_the_way(write)?))
}

/// A descriptor of ours that is none of 0 to 2. A host may have closed those, and what is opened
/// next lands there: it would be taken for the host's own input or output.
pub(crate) fn out_of_the_way(fd: OwnedFd) -> io::Result<OwnedFd> {
    if fd.as_raw_fd() > 2 { Ok(fd) } else { duplicate(fd.as_fd()) }
}

/// Makes reads and writes on this end return instead of wait. The other end is not touched.
pub(crate) fn set_nonblocking(fd: BorrowedFd<'_>) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(fd)?;
    Ok(rustix::fs::fcntl_setfl(fd, flags | OFlags::NONBLOCK)?)
}

/// A counter that makes `poll` return; for waking a loop from another thread.
pub(crate) fn eventfd() -> io::Result<OwnedFd> {
    let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
    out_of_the_way(rustix::event::eventfd(0, flags)?)
}

/// Makes the eventfd readable.
pub(crate) fn ring(fd: BorrowedFd<'_>) {
    // It cannot fail but by overflow, and then it is readable already.
    let _ = rustix::io::write(fd, &1u64.to_ne_bytes());
}

/// Makes the eventfd unreadable again.
pub(crate) fn hush(fd: BorrowedFd<'_>) {
    let _ = rustix::io::read(fd, &mut [0; 8]);
}

/// Larger than any command may run; keeps the arithmetic of the kernel's clock safe.
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

/// Waits until one of them is ready or the time is over. A signal handler of the host that
/// interrupts the wait is no reason to go on: the caller looks again.
pub(crate) fn poll(fds: &mut [PollFd<'_>], limit: Option<Duration>) -> io::Result<()> {
    let limit = limit.map(|limit| limit.min(LONGEST_WAIT));
    let timespec = limit.map(|limit| Timespec {
        tv_sec: limit.as_secs() as i64,
        tv_nsec: i64::from(limit.subsec_nanos()),
    });
    match rustix::event::poll(fds, timespec.as_ref()) {
        Ok(_) => Ok(()),
        Err(Errno::INTR) => {
            for fd in fds {
                fd.clear_revents();
            }
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

/// What a read came back with.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Got<'a> {
    Bytes(&'a [u8]),
    Nothing,
    End,
}

/// One read into spare memory. A terminal whose other side is closed reads as its end.
pub(crate) fn read<'b>(fd: BorrowedFd<'_>, buffer: &'b mut [MaybeUninit<u8>]) -> Got<'b> {
    match rustix::io::read(fd, buffer) {
        Ok(([], _)) => Got::End,
        Ok((bytes, _)) => Got::Bytes(bytes),
        Err(Errno::AGAIN | Errno::INTR) => Got::Nothing,
        Err(_) => Got::End,
    }
}

/// What a write came back with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Put {
    Bytes(usize),
    Full,
    /// Nobody reads any more, or the place is full or broken.
    Failed(Errno),
}

/// One write that does not raise SIGPIPE, whatever the host has done with that signal: a library
/// must neither die of a closed pipe nor change the host's signal handling.
pub(crate) fn write(fd: BorrowedFd<'_>, bytes: &[u8]) -> Put {
    let result = if sigpipe_is_ignored() {
        rustix::io::write(fd, bytes)
    } else {
        without_sigpipe(|| rustix::io::write(fd, bytes))
    };
    match result {
        Ok(count) => Put::Bytes(count),
        Err(Errno::AGAIN | Errno::INTR) => Put::Full,
        Err(error) => Put::Failed(error),
    }
}

fn sigpipe_is_ignored() -> bool {
    // SAFETY: only asks for the current action, into memory of this frame.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGPIPE, std::ptr::null(), &raw mut action) == 0
            && action.sa_sigaction == libc::SIG_IGN
    }
}

/// Runs `write` with SIGPIPE blocked in this thread, and takes the one it may have raised. SIGPIPE
/// is sent to the writing thread, so nobody else's is taken.
fn without_sigpipe<T>(write: impl FnOnce() -> T) -> T {
    // SAFETY: the sets are memory of this frame; the mask is restored; a SIGPIPE that was pending
    // before is left pending.
    unsafe {
        let mut pipe: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        let mut pending: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut pipe);
        libc::sigaddset(&raw mut pipe, libc::SIGPIPE);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const pipe, &raw mut before);
        libc::sigpending(&raw mut pending);
        let was_pending = libc::sigismember(&raw const pending, libc::SIGPIPE) == 1;
        let result = write();
        if !was_pending {
            let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            libc::sigtimedwait(&raw const pipe, std::ptr::null_mut(), &raw const now);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        result
    }
}

/// What an enlarged pipe holds. A larger one means fewer switches between writer and reader, up to
/// where it no longer fits the fast cache: a mebibyte is slower than this, and than not to enlarge.
const LARGE_PIPE: usize = 256 * 1024;

/// Enlarges a pipe that was found full. An ordinary user may hold 256 such pipes; past that the
/// kernel refuses, and the pipe works as it is.
pub(crate) fn enlarge(pipe: BorrowedFd<'_>) {
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, LARGE_PIPE);
}

/// `/dev/null`, opened once for reading and writing.
pub(crate) fn null() -> io::Result<BorrowedFd<'static>> {
    static NULL: OnceLock<OwnedFd> = OnceLock::new();
    if NULL.get().is_none() {
        let file = OpenOptions::new().read(true).write(true).open("/dev/null")?;
        let _ = NULL.set(out_of_the_way(file.into())?);
    }
    NULL.get().map(OwnedFd::as_fd).ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// One of this process's own 0, 1, 2; `/dev/null` where the host has closed it, since a child
/// without it would hand the next file it opens to whoever reads or writes there.
pub(crate) fn inherited(fd: i32) -> io::Result<BorrowedFd<'static>> {
    // SAFETY: 0 to 2 are never owned by a Rust value; the borrow is checked right here, and used
    // at once.
    let own = unsafe { BorrowedFd::borrow_raw(fd) };
    if rustix::io::fcntl_getfd(own).is_ok() { Ok(own) } else { null() }
}

/// A second way to the same terminal or pipe, on which writes return instead of wait. The first
/// way is shared with others, and is not touched. `None` for what cannot be opened twice.
pub(crate) fn nonblocking_twin(fd: BorrowedFd<'_>) -> Option<OwnedFd> {
    use rustix::fs::{FileType, Mode, open};
    let facts = rustix::fs::fstat(fd).ok()?;
    let kind = FileType::from_raw_mode(facts.st_mode);
    // The controlling side of a pseudo-terminal would open as a new pair.
    let opens_anew = rustix::pty::ptsname(fd, Vec::new()).is_ok();
    if !matches!(kind, FileType::Fifo | FileType::CharacterDevice) || opens_anew {
        return None;
    }
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    let twin = open(path, flags, Mode::empty()).or_else(|error| {
        // After `su` the terminal belongs to another user; as our own it can be opened by name.
        if super::terminal::is_controlling(facts.st_rdev) {
            open("/dev/tty", flags, Mode::empty())
        } else {
            Err(error)
        }
    });
    out_of_the_way(twin.ok()?).ok()
}

/// A copy of a descriptor, closed on exec, out of the way of 0 to 2.
pub(crate) fn duplicate(fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    Ok(rustix::io::fcntl_dupfd_cloexec(fd, 3)?)
}

/// How many bytes wait to be read; none where that cannot be told.
pub(crate) fn available(fd: BorrowedFd<'_>) -> u64 {
    rustix::io::ioctl_fionread(fd).unwrap_or(0)
}

/// Lets the runtime watch a descriptor.
#[cfg(feature = "tokio")]
pub(crate) fn watched(
    fd: OwnedFd,
    interest: tokio::io::Interest,
) -> io::Result<tokio::io::unix::AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is open and stays the same descriptor until it is dropped.
    Ok(unsafe { tokio::io::unix::AsyncFd::register_with_interest(fd, interest) }?)
}
