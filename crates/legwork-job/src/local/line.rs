//! The line to a job's supervisor.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use legwork::CancelToken;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::Timeout;
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use crate::error::JobError;
use crate::id::JobId;
use crate::protocol::{self, Answer, Ask};
use crate::record::SOCKET;

#[derive(Debug)]
pub(super) struct Line {
    pub(super) id: JobId,
    stream: UnixStream,
    patience: Duration,
}

impl Line {
    pub(super) fn new(id: JobId, stream: UnixStream, patience: Duration) -> Line {
        Line { id, stream, patience }
    }

    /// Goes to the supervisor. `None` where nobody listens any more.
    pub(super) fn to(
        folder: &Path,
        id: JobId,
        patience: Duration,
    ) -> Result<Option<Line>, JobError> {
        match connect(folder, patience) {
            Ok(stream) => Ok(Some(Line { id, stream, patience })),
            Err(error) if is_timeout(&error) => Err(no_answer(id, patience)),
            Err(error)
                if matches!(error.kind(), ErrorKind::ConnectionRefused | ErrorKind::NotFound) =>
            {
                Ok(None)
            }
            Err(error) => {
                Err(JobError::Unreachable { id, why: error.to_string(), hint: "try again" })
            }
        }
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    pub(super) fn into_stream(self) -> UnixStream {
        self.stream
    }

    pub(super) fn send(&mut self, ask: &Ask) -> io::Result<()> {
        self.stream.set_write_timeout(Some(self.patience))?;
        protocol::send(ask, &mut self.stream)
    }

    /// Waits until there is an answer to be heard; not, where the time is over or nobody wants to
    /// wait any more.
    pub(super) fn speaks(&self, until: Option<Instant>, cancel: Option<&CancelToken>) -> bool {
        !readable(&[self.fd()], until, cancel).is_empty()
    }

    /// Waits for the answer: for ever, unless said.
    pub(super) fn receive(&mut self, limit: Option<Duration>) -> io::Result<Answer> {
        self.stream.set_read_timeout(limit)?;
        protocol::receive_message(&mut self.stream)
    }

    /// Asks and waits for the answer. `None` where the supervisor has gone: the job is over.
    pub(super) fn ask(&mut self, ask: &Ask) -> Result<Option<Answer>, JobError> {
        let answer = self.send(ask).and_then(|()| self.receive(Some(self.patience)));
        self.heard(answer)
    }

    /// What became of a question.
    pub(super) fn heard(&self, answer: io::Result<Answer>) -> Result<Option<Answer>, JobError> {
        let id = self.id;
        match answer {
            Ok(Answer::NotUnderstood { v, why }) => Err(JobError::Unreachable {
                id,
                why: format!("it speaks version {v} of the protocol and answered: {why}"),
                hint: "use the legwork that started it",
            }),
            Ok(answer) => Ok(Some(answer)),
            Err(error) if is_gone(&error) => Ok(None),
            Err(error) if is_timeout(&error) => Err(no_answer(id, self.patience)),
            Err(error) => {
                Err(JobError::Unreachable { id, why: error.to_string(), hint: "try again" })
            }
        }
    }
}

/// Waits until one of the descriptors can be read; which. None, where the time is over or nobody
/// wants to wait any more.
pub(super) fn readable(
    descriptors: &[BorrowedFd<'_>],
    until: Option<Instant>,
    cancel: Option<&CancelToken>,
) -> Vec<usize> {
    let bell = cancel.map(AsFd::as_fd);
    let all = descriptors.iter().copied().chain(bell);
    let mut fds: Vec<PollFd<'_>> =
        all.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
    loop {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let limit = left.map(|left| Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(left.subsec_nanos()),
        });
        match poll(&mut fds, limit.as_ref()) {
            Ok(_) => break,
            Err(Errno::INTR) => {}
            // Out of memory: the first is tried, which waits for it.
            Err(_) => return vec![0],
        }
    }
    let ready = |index: &usize| !fds[*index].revents().is_empty();
    (0..descriptors.len()).filter(ready).collect()
}

/// Through the folder's descriptor: a socket's address has room for 108 bytes only. With a limit:
/// one who was stopped lets nobody in, and those before us may fill the queue at the door.
fn connect(folder: &Path, patience: Duration) -> io::Result<UnixStream> {
    let folder = File::open(folder)?;
    let address = format!("/proc/self/fd/{}/{SOCKET}", folder.as_raw_fd());
    let address = SocketAddrUnix::new(address)?;
    let socket =
        net::socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    net::sockopt::set_socket_timeout(&socket, Timeout::Send, Some(patience))?;
    rustix::io::retry_on_intr(|| net::connect(&socket, &address))?;
    Ok(UnixStream::from(socket))
}

fn no_answer(id: JobId, patience: Duration) -> JobError {
    JobError::Unreachable {
        id,
        why: format!("no answer in {patience:?}"),
        hint: "it may have been stopped with SIGSTOP; try again",
    }
}

pub(super) fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// Whether the other side has hung up.
pub(super) fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe
    )
}
