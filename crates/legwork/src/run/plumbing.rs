//! Pipes, files and terminals between us and the processes of a run.
//!
//! The child's ends are only held until the children have them. Our ends are: a `Feed` that
//! writes their input, and `Source`s that read their output and pass it on.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use super::plan::Stage;
use crate::capture::Stream;
use crate::lines::Splitter;
use crate::options::{Output, Stdin};
use crate::sys::{io as sysio, pty};

/// A child's end.
#[derive(Debug, Clone)]
pub(crate) enum End {
    Held(Arc<OwnedFd>),
    /// One of the caller's own, or `/dev/null`.
    Static(BorrowedFd<'static>),
}

impl End {
    fn held(fd: impl Into<OwnedFd>) -> End {
        End::Held(Arc::new(fd.into()))
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        match self {
            End::Held(fd) => fd.as_fd(),
            End::Static(fd) => *fd,
        }
    }
}

/// Bytes on their way to a command's stdin.
#[derive(Debug)]
pub(crate) struct Feed {
    pub(crate) fd: OwnedFd,
    bytes: Arc<[u8]>,
    at: usize,
    /// What is typed after them on a terminal.
    epilogue: &'static [u8],
}

/// How a feed stands.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fed {
    More,
    Done,
}

impl Feed {
    /// Writes as much as fits. Done also where nobody reads any more.
    pub(crate) fn push(&mut self) -> Fed {
        loop {
            let rest = &self.bytes[self.at..];
            let (now, from_bytes) = if rest.is_empty() {
                (self.epilogue, false)
            } else {
                (rest, true)
            };
            if now.is_empty() {
                return Fed::Done;
            }
            match sysio::write(self.fd.as_fd(), now) {
                sysio::Put::Bytes(count) if from_bytes => self.at += count,
                sysio::Put::Bytes(count) => self.epilogue = &self.epilogue[count..],
                sysio::Put::Full => return Fed::More,
                sysio::Put::Closed => return Fed::Done,
            }
        }
    }
}

/// Bytes on their way to where a streamed output goes. Kept until that place takes them, so that
/// a terminal that nobody scrolls does not keep a deadline from being met.
#[derive(Debug)]
pub(crate) struct Forward {
    pub(crate) fd: OwnedFd,
    pending: Vec<u8>,
    closed: bool,
}

/// Past this the source is not read on: the command waits, as it would on a pipe.
const PENDING_LIMIT: usize = 256 * 1024;

/// A pipe that is ready takes so many bytes without waiting.
const CERTAIN: usize = 4096;

impl Forward {
    fn new(fd: BorrowedFd<'_>) -> io::Result<Forward> {
        Ok(Forward {
            fd: sysio::duplicate(fd)?,
            pending: Vec::new(),
            closed: false,
        })
    }

    fn take(&mut self, bytes: &[u8]) {
        if !self.closed {
            self.pending.extend_from_slice(bytes);
        }
    }

    pub(crate) fn is_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Writes what is certain to fit. To be called when the place is ready.
    pub(crate) fn push(&mut self) {
        let count = self.pending.len().min(CERTAIN);
        match sysio::write(self.fd.as_fd(), &self.pending[..count]) {
            sysio::Put::Bytes(count) => drop(self.pending.drain(..count)),
            sysio::Put::Full => {}
            sysio::Put::Closed => {
                self.closed = true;
                self.pending.clear();
            }
        }
    }

    /// Writes all of it, waiting as long as that takes.
    pub(crate) fn flush(&mut self) {
        while self.is_pending() {
            let mut fds = [rustix::event::PollFd::new(
                &self.fd,
                rustix::event::PollFlags::OUT,
            )];
            if sysio::poll(&mut fds, None).is_err() {
                return;
            }
            self.push();
        }
    }
}

/// An output of a command, as we read it.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) fd: OwnedFd,
    pub(crate) stream: Stream,
    pub(crate) capture: bool,
    pub(crate) forward: Option<Forward>,
    pub(crate) splitter: Option<Splitter>,
    pub(crate) is_pipe: bool,
    pub(crate) enlarged: bool,
    /// What the leaders had printed when they ended and is not read yet.
    pub(crate) owed: u64,
}

impl Source {
    pub(crate) fn is_blocked(&self) -> bool {
        self.forward
            .as_ref()
            .is_some_and(|forward| forward.pending.len() >= PENDING_LIMIT)
    }

    pub(crate) fn pass_on(&mut self, bytes: &[u8]) {
        if let Some(forward) = &mut self.forward {
            forward.take(bytes);
        }
    }
}

/// The three ends of one child.
#[derive(Debug)]
pub(crate) struct Ends {
    pub(crate) stdin: End,
    pub(crate) stdout: End,
    pub(crate) stderr: End,
}

/// All of it for one run.
#[derive(Debug)]
pub(crate) struct Plumbing {
    pub(crate) ends: Vec<Ends>,
    pub(crate) sources: Vec<Source>,
    pub(crate) feed: Option<Feed>,
    /// Our end of a piped stdin.
    pub(crate) writer: Option<OwnedFd>,
}

/// What went wrong, and with which of the caller's files.
pub(crate) type Failure = (String, io::Error);

fn opening<T>(path: &Path, result: io::Result<T>) -> Result<T, Failure> {
    result.map_err(|error| (format!("open {}", crate::quote::path(path)), error))
}

fn making<T>(result: io::Result<T>) -> Result<T, Failure> {
    result.map_err(|error| ("make a pipe".to_owned(), error))
}

/// Lays the pipes for these stages. `see` is whether every byte has to come past us, for an idle
/// limit or for lines.
pub(crate) fn lay(stages: &[Stage], see: bool, lines: bool) -> Result<Plumbing, Failure> {
    let mut laid = Plumbing {
        ends: Vec::new(),
        sources: Vec::new(),
        feed: None,
        writer: None,
    };
    if let [
        Stage {
            pty: Some((rows, cols)),
            ..
        },
    ] = stages
    {
        laid.terminal(&stages[0], *rows, *cols, lines)?;
        return Ok(laid);
    }
    let mut from_previous = None;
    for (index, stage) in stages.iter().enumerate() {
        let stdin = match from_previous.take() {
            Some(end) => end,
            None => laid.input(&stage.stdin)?,
        };
        let stdout = if index + 1 < stages.len() {
            let (read, write) = making(sysio::pipe())?;
            from_previous = Some(End::held(read));
            End::held(write)
        } else {
            laid.output(&stage.stdout, Stream::Stdout, see, lines)?
        };
        let stderr = if stage.merged {
            stdout.clone()
        } else {
            laid.output(&stage.stderr, Stream::Stderr, see, lines)?
        };
        laid.ends.push(Ends {
            stdin,
            stdout,
            stderr,
        });
    }
    Ok(laid)
}

impl Plumbing {
    fn input(&mut self, stdin: &Stdin) -> Result<End, Failure> {
        match stdin {
            Stdin::Null => Ok(End::Static(making(sysio::null())?)),
            Stdin::Inherit => Ok(End::Static(making(sysio::inherited(0))?)),
            Stdin::File(path) => Ok(End::held(opening(path, File::open(path))?)),
            Stdin::Bytes(bytes) => {
                let (read, write) = making(sysio::pipe())?;
                making(sysio::set_nonblocking(write.as_fd()))?;
                let bytes = bytes.clone();
                self.feed = Some(Feed {
                    fd: write,
                    bytes,
                    at: 0,
                    epilogue: b"",
                });
                Ok(End::held(read))
            }
            Stdin::Piped => {
                let (read, write) = making(sysio::pipe())?;
                making(sysio::set_nonblocking(write.as_fd()))?;
                self.writer = Some(write);
                Ok(End::held(read))
            }
        }
    }

    fn output(
        &mut self,
        output: &Output,
        stream: Stream,
        see: bool,
        lines: bool,
    ) -> Result<End, Failure> {
        let own = match stream {
            Stream::Stdout => 1,
            Stream::Stderr => 2,
        };
        let (capture, place) = match output {
            Output::Stream => (false, Some(End::Static(making(sysio::inherited(own))?))),
            Output::Null => (false, Some(End::Static(making(sysio::null())?))),
            Output::File(path) => {
                let file = OpenOptions::new()
                    .write(true)
                    .create(true)
                    .truncate(true)
                    .open(path);
                (false, Some(End::held(opening(path, file)?)))
            }
            Output::Append(path) => {
                let file = OpenOptions::new().append(true).create(true).open(path);
                (false, Some(End::held(opening(path, file)?)))
            }
            Output::Capture => (true, None),
            Output::Tee => (true, Some(End::Static(making(sysio::inherited(own))?))),
        };
        let place = match place {
            Some(place) if !capture && !see => return Ok(place),
            other => other,
        };
        // Stages of a pipeline that want the same share one pipe.
        let forwards = place.is_some() && *output != Output::Null;
        let (read, write) = making(sysio::pipe())?;
        let forward = match place {
            Some(place) if forwards => Some(making(Forward::new(place.fd()))?),
            Some(_) | None => None,
        };
        self.sources.push(Source {
            fd: read,
            stream,
            capture,
            forward,
            splitter: lines.then(|| Splitter::new(stream)),
            is_pipe: true,
            enlarged: false,
            owed: 0,
        });
        Ok(End::held(write))
    }

    fn terminal(
        &mut self,
        stage: &Stage,
        rows: u16,
        cols: u16,
        lines: bool,
    ) -> Result<(), Failure> {
        let opened = pty::open(rows, cols);
        let (ours, theirs) = opened.map_err(|error| ("open a terminal".to_owned(), error))?;
        making(sysio::set_nonblocking(ours.as_fd()))?;
        let typed = |bytes: &Arc<[u8]>| -> Result<Feed, Failure> {
            // In line mode the first one ends an unfinished line, the next one the input.
            let unfinished = bytes.last().is_some_and(|last| *last != b'\n');
            let epilogue: &[u8] = if unfinished {
                &[pty::END_OF_INPUT, pty::END_OF_INPUT]
            } else {
                &[pty::END_OF_INPUT]
            };
            let fd = making(sysio::duplicate(ours.as_fd()))?;
            Ok(Feed {
                fd,
                bytes: bytes.clone(),
                at: 0,
                epilogue,
            })
        };
        match &stage.stdin {
            Stdin::Null => self.feed = Some(typed(&Arc::from([]))?),
            Stdin::Bytes(bytes) => self.feed = Some(typed(bytes)?),
            Stdin::File(path) => {
                let bytes = opening(path, std::fs::read(path))?;
                self.feed = Some(typed(&bytes.into())?);
            }
            Stdin::Piped => self.writer = Some(making(sysio::duplicate(ours.as_fd()))?),
            // The caller's own input cannot be a second terminal's too.
            Stdin::Inherit => {
                let error = io::Error::from(io::ErrorKind::InvalidInput);
                return Err((
                    "pass the caller's stdin on to a new terminal".to_owned(),
                    error,
                ));
            }
        }
        let capture = matches!(stage.stdout, Output::Capture | Output::Tee);
        let forward = match &stage.stdout {
            Output::Capture | Output::Null => None,
            Output::Stream | Output::Tee => {
                Some(making(Forward::new(making(sysio::inherited(1))?))?)
            }
            Output::File(path) => {
                let file = opening(path, File::create(path))?;
                Some(making(Forward::new(file.as_fd()))?)
            }
            Output::Append(path) => {
                let file = OpenOptions::new().append(true).create(true).open(path);
                Some(making(Forward::new(opening(path, file)?.as_fd()))?)
            }
        };
        self.sources.push(Source {
            fd: ours,
            stream: Stream::Stdout,
            capture,
            forward,
            splitter: lines.then(|| Splitter::new(Stream::Stdout)),
            is_pipe: false,
            enlarged: false,
            owed: 0,
        });
        let theirs = End::held(theirs);
        self.ends.push(Ends {
            stdin: theirs.clone(),
            stdout: theirs.clone(),
            stderr: theirs,
        });
        Ok(())
    }
}
