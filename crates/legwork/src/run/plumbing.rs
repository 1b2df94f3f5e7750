//! Pipes, files and terminals between us and the processes of a run.
//!
//! The children's ends are only held until the children have them. Our ends are: a [`Feed`] that
//! writes their input, and [`Source`]s that read their output and pass it on.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;

use super::forward::Forward;
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
    fn held(fd: impl Into<OwnedFd>) -> Result<End, Failure> {
        Ok(End::Held(Arc::new(making(sysio::out_of_the_way(fd.into()))?)))
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
            let (now, from_bytes) =
                if rest.is_empty() { (self.epilogue, false) } else { (rest, true) };
            if now.is_empty() {
                return Fed::Done;
            }
            match sysio::write(self.fd.as_fd(), now) {
                sysio::Put::Bytes(count) if from_bytes => self.at += count,
                sysio::Put::Bytes(count) => self.epilogue = &self.epilogue[count..],
                sysio::Put::Full => return Fed::More,
                sysio::Put::Failed(_) => return Fed::Done,
            }
        }
    }
}

/// An output of a command, as we read it. It stays until it has ended and all of it is passed on.
#[derive(Debug)]
pub(crate) struct Source {
    /// `None` once it has ended.
    pub(crate) fd: Option<OwnedFd>,
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
    /// Whether it has to wait for those it passes its bytes on to.
    pub(crate) fn is_blocked(&self) -> bool {
        self.forward.as_ref().is_some_and(Forward::is_full)
    }

    pub(crate) fn is_pending(&self) -> bool {
        self.forward.as_ref().is_some_and(Forward::is_pending)
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
#[derive(Debug, Default)]
pub(crate) struct Plumbing {
    pub(crate) ends: Vec<Ends>,
    pub(crate) sources: Vec<Source>,
    pub(crate) feed: Option<Feed>,
    /// Our end of a piped stdin.
    pub(crate) writer: Option<OwnedFd>,
    /// Files that were opened, by device and number: two outputs into one share its position.
    files: Vec<((u64, u64), End)>,
    /// Whether every byte has to come past us, for an idle limit or for lines.
    see: bool,
    lines: bool,
}

/// What went wrong, and with which of the caller's files.
pub(crate) type Failure = (String, io::Error);

fn opening<T>(path: &Path, result: io::Result<T>) -> Result<T, Failure> {
    result.map_err(|error| (format!("open {}", crate::quote::path(path)), error))
}

fn making<T>(result: io::Result<T>) -> Result<T, Failure> {
    result.map_err(|error| ("make a pipe".to_owned(), error))
}

/// Opening a named pipe waits for its other side, and nobody's clock runs yet.
fn no_named_pipe(path: &Path) -> Result<(), Failure> {
    // Names of descriptors that are open already, such as /dev/stdin.
    if path.starts_with("/dev") || path.starts_with("/proc") {
        return Ok(());
    }
    if fs::metadata(path).is_ok_and(|facts| facts.file_type().is_fifo()) {
        let why = "it is a named pipe, and opening it may wait for ever; \
                   redirect inside a shell line, where the time limit counts";
        return opening(path, Err(io::Error::new(io::ErrorKind::InvalidInput, why)));
    }
    Ok(())
}

/// Lays the pipes for these stages.
pub(crate) fn lay(stages: &[Stage], see: bool, lines: bool) -> Result<Plumbing, Failure> {
    let mut laid = Plumbing { see, lines, ..Plumbing::default() };
    if let [stage] = stages
        && let Some((rows, cols)) = stage.pty
    {
        laid.terminal(stage, rows, cols)?;
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
            from_previous = Some(End::held(read)?);
            End::held(write)?
        } else {
            laid.output(&stage.stdout, Stream::Stdout)?
        };
        let stderr =
            if stage.merged { stdout.clone() } else { laid.output(&stage.stderr, Stream::Stderr)? };
        laid.ends.push(Ends { stdin, stdout, stderr });
    }
    Ok(laid)
}

impl Plumbing {
    fn input(&mut self, stdin: &Stdin) -> Result<End, Failure> {
        match stdin {
            Stdin::Null => Ok(End::Static(making(sysio::null())?)),
            Stdin::Inherit => Ok(End::Static(making(sysio::inherited(0))?)),
            Stdin::File(path) => {
                no_named_pipe(path)?;
                End::held(opening(path, File::open(path))?)
            }
            Stdin::Bytes(bytes) => {
                let (end, write) = input_pipe()?;
                let bytes = Arc::clone(bytes);
                self.feed = Some(Feed { fd: write, bytes, at: 0, epilogue: b"" });
                Ok(end)
            }
            Stdin::Piped => {
                let (end, write) = input_pipe()?;
                self.writer = Some(write);
                Ok(end)
            }
        }
    }

    /// Where an output goes that we need not see.
    fn place(&mut self, output: &Output, stream: Stream) -> Result<Option<End>, Failure> {
        let path = match output {
            Output::Capture => return Ok(None),
            Output::Null => return Ok(Some(End::Static(making(sysio::null())?))),
            Output::Stream | Output::Tee => {
                let own = match stream {
                    Stream::Stdout => 1,
                    Stream::Stderr => 2,
                };
                return Ok(Some(End::Static(making(sysio::inherited(own))?)));
            }
            Output::File(path) | Output::Append(path) => path,
        };
        no_named_pipe(path)?;
        let mut options = OpenOptions::new();
        match output {
            Output::Append(_) => options.append(true),
            _ => options.write(true),
        };
        let file = opening(path, options.create(true).truncate(false).open(path))?;
        // The same file by another name, perhaps: it is one place then.
        let facts = opening(path, file.metadata())?;
        let identity = (facts.dev(), facts.ino());
        if let Some((_, end)) = self.files.iter().find(|(opened, _)| *opened == identity) {
            return Ok(Some(end.clone()));
        }
        if matches!(output, Output::File(_)) && facts.is_file() {
            opening(path, file.set_len(0))?;
        }
        let end = End::held(file)?;
        self.files.push((identity, end.clone()));
        Ok(Some(end))
    }

    fn output(&mut self, output: &Output, stream: Stream) -> Result<End, Failure> {
        let place = self.place(output, stream)?;
        let capture = matches!(output, Output::Capture | Output::Tee);
        if let Some(place) = &place
            && !capture
            && !self.see
        {
            return Ok(place.clone());
        }
        let (read, write) = making(sysio::pipe())?;
        making(sysio::set_nonblocking(read.as_fd()))?;
        let place = place.filter(|_| *output != Output::Null);
        let forward = place.map(|place| Forward::new(place.fd())).transpose();
        self.source(read, stream, capture, making(forward)?, true);
        End::held(write)
    }

    fn source(
        &mut self,
        fd: OwnedFd,
        stream: Stream,
        capture: bool,
        forward: Option<Forward>,
        is_pipe: bool,
    ) {
        let splitter = self.lines.then(|| Splitter::new(stream));
        self.sources.push(Source {
            fd: Some(fd),
            stream,
            capture,
            forward,
            splitter,
            is_pipe,
            enlarged: false,
            owed: 0,
        });
    }

    fn terminal(&mut self, stage: &Stage, rows: u16, cols: u16) -> Result<(), Failure> {
        let opened = pty::open(rows, cols);
        let (ours, theirs) = opened.map_err(|error| ("open a terminal".to_owned(), error))?;
        making(sysio::set_nonblocking(ours.as_fd()))?;
        match &stage.stdin {
            Stdin::Null => self.feed = Some(typed(&ours, &Arc::from([]))?),
            Stdin::Bytes(bytes) => self.feed = Some(typed(&ours, bytes)?),
            Stdin::File(path) => self.feed = Some(typed(&ours, &small_file(path)?.into())?),
            Stdin::Piped => self.writer = Some(making(sysio::duplicate(ours.as_fd()))?),
            Stdin::Inherit => {
                let why = "it has an input of its own; type into it with `Stdin::Piped`";
                let error = io::Error::new(io::ErrorKind::InvalidInput, why);
                return Err(("give the caller's stdin to a new terminal".to_owned(), error));
            }
        }
        let capture = matches!(stage.stdout, Output::Capture | Output::Tee);
        let place = match &stage.stdout {
            Output::Null => None,
            other => self.place(other, Stream::Stdout)?,
        };
        let forward = making(place.map(|place| Forward::new(place.fd())).transpose())?;
        self.source(ours, Stream::Stdout, capture, forward, false);
        let theirs = End::held(theirs)?;
        self.ends.push(Ends { stdin: theirs.clone(), stdout: theirs.clone(), stderr: theirs });
        Ok(())
    }
}

/// The child's end of a pipe for its input, and ours, on which writes do not wait.
fn input_pipe() -> Result<(End, OwnedFd), Failure> {
    let (read, write) = making(sysio::pipe())?;
    making(sysio::set_nonblocking(write.as_fd()))?;
    Ok((End::held(read)?, write))
}

/// Bytes to be typed on a terminal, then its end of input.
fn typed(terminal: &OwnedFd, bytes: &Arc<[u8]>) -> Result<Feed, Failure> {
    // In line mode the first one ends an unfinished line, the next one the input.
    let unfinished = bytes.last().is_some_and(|last| *last != b'\n');
    let epilogue: &[u8] =
        if unfinished { &[pty::END_OF_INPUT; 2] } else { &[pty::END_OF_INPUT; 1] };
    let fd = making(sysio::duplicate(terminal.as_fd()))?;
    Ok(Feed { fd, bytes: Arc::clone(bytes), at: 0, epilogue })
}

/// The largest file that is typed on a terminal.
const TYPED_LIMIT: u64 = 16 * 1024 * 1024;

fn small_file(path: &Path) -> Result<Vec<u8>, Failure> {
    no_named_pipe(path)?;
    let facts = opening(path, fs::metadata(path))?;
    if facts.len() > TYPED_LIMIT {
        let why = "more than 16 MiB are not typed on a terminal; write them with `Stdin::Piped`";
        return opening(path, Err(io::Error::new(io::ErrorKind::InvalidInput, why)));
    }
    opening(path, fs::read(path))
}
