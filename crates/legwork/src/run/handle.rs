//! What a spawned run and its handle share, and the blocking handle itself.
//!
//! The run is driven elsewhere: by a thread of its own, or by a tokio task. The two sides meet in
//! [`Shared`]: requests go one way, lines and the outcome the other.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::task::Waker;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};

use crate::error::{CommandError, Result};
use crate::lines::Line;
use crate::outcome::Outcome;
use crate::signal::Signal;
use crate::sys;
use crate::sys::io::{self as sysio, Put};

/// What a handle asks of its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Request {
    SignalTree(Signal),
    SignalLeader(Signal),
    Kill,
    Cancel,
}

/// Lines that wait to be read, at most.
const QUEUE_BYTES: usize = 1024 * 1024;

/// Beside its bytes, what one line costs.
const LINE_COST: usize = 64;

#[derive(Debug, Default)]
struct State {
    requests: Vec<Request>,
    outcome: Option<Outcome>,
    finished: bool,
    lines: VecDeque<Line>,
    line_bytes: usize,
    /// Whether somebody is reading lines now: then the run waits for them, else the oldest go.
    reading: bool,
    skipped: u64,
    wakers: Vec<Waker>,
}

#[cfg(feature = "tokio")]
impl State {
    fn wait(&mut self, context: &std::task::Context<'_>) {
        if !self.wakers.iter().any(|waker| waker.will_wake(context.waker())) {
            self.wakers.push(context.waker().clone());
        }
    }
}

/// Where a run and its handle meet.
#[derive(Debug)]
pub(crate) struct Shared {
    /// Rung by the handle.
    bell: OwnedFd,
    /// Rung when the run is over; stays readable.
    over: OwnedFd,
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    pub(crate) fn new() -> io::Result<Arc<Shared>> {
        Ok(Arc::new(Shared {
            bell: sysio::eventfd()?,
            over: sysio::eventfd()?,
            state: Mutex::default(),
            changed: Condvar::new(),
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    // The run's side.

    pub(crate) fn bell(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    pub(crate) fn take_requests(&self) -> Vec<Request> {
        sysio::hush(self.bell.as_fd());
        std::mem::take(&mut self.state().requests)
    }

    pub(crate) fn push_line(&self, line: Line) {
        let mut state = self.state();
        state.line_bytes += line.bytes.len() + LINE_COST;
        state.lines.push_back(line);
        while !state.reading && state.line_bytes > QUEUE_BYTES {
            let Some(oldest) = state.lines.pop_front() else {
                break;
            };
            state.line_bytes -= oldest.bytes.len() + LINE_COST;
            state.skipped += 1;
        }
        self.wake(state);
    }

    /// Whether the reader has enough to do.
    pub(crate) fn is_full(&self) -> bool {
        let state = self.state();
        state.reading && state.line_bytes > QUEUE_BYTES
    }

    pub(crate) fn finish(&self, outcome: Outcome) {
        let mut state = self.state();
        state.outcome = Some(outcome);
        state.finished = true;
        self.wake(state);
        sysio::ring(self.over.as_fd());
    }

    fn wake(&self, mut state: MutexGuard<'_, State>) {
        let wakers = std::mem::take(&mut state.wakers);
        drop(state);
        self.changed.notify_all();
        for waker in wakers {
            waker.wake();
        }
    }

    // The handle's side.

    pub(crate) fn ask(&self, request: Request) {
        self.state().requests.push(request);
        sysio::ring(self.bell.as_fd());
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.state().finished
    }

    pub(crate) fn over(&self) -> BorrowedFd<'_> {
        self.over.as_fd()
    }

    pub(crate) fn take_outcome(&self) -> Option<Outcome> {
        self.state().outcome.take()
    }

    pub(crate) fn set_reading(&self, reading: bool) {
        self.state().reading = reading;
        sysio::ring(self.bell.as_fd());
    }

    pub(crate) fn skipped(&self) -> u64 {
        self.state().skipped
    }

    /// The next line, if there is one.
    fn pop(&self, state: &mut State) -> Option<Line> {
        let line = state.lines.pop_front()?;
        let was_full = state.line_bytes > QUEUE_BYTES;
        state.line_bytes -= line.bytes.len() + LINE_COST;
        if was_full && state.line_bytes <= QUEUE_BYTES {
            sysio::ring(self.bell.as_fd());
        }
        Some(line)
    }

    #[cfg(feature = "tokio")]
    pub(crate) fn poll_line(
        &self,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Line>> {
        let mut state = self.state();
        if let Some(line) = self.pop(&mut state) {
            return std::task::Poll::Ready(Some(line));
        }
        if state.finished {
            return std::task::Poll::Ready(None);
        }
        state.wait(context);
        std::task::Poll::Pending
    }

    #[cfg(feature = "tokio")]
    pub(crate) fn poll_finished(
        &self,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<()> {
        let mut state = self.state();
        if state.finished {
            return std::task::Poll::Ready(());
        }
        state.wait(context);
        std::task::Poll::Pending
    }

    fn wait_line(&self) -> Option<Line> {
        let mut state = self.state();
        loop {
            if let Some(line) = self.pop(&mut state) {
                return Some(line);
            }
            if state.finished {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
    }

    fn wait_finished(&self, limit: Option<Duration>) -> bool {
        let until = limit.and_then(|limit| Instant::now().checked_add(limit));
        let mut state = self.state();
        while !state.finished {
            let poisoned = std::sync::PoisonError::into_inner;
            state = match until {
                None => self.changed.wait(state).unwrap_or_else(poisoned),
                Some(until) => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return false;
                    }
                    self.changed
                        .wait_timeout(state, left)
                        .unwrap_or_else(std::sync::PoisonError::into_inner)
                        .0
                }
            };
        }
        true
    }
}

/// A piped stdin: our end, and what closing it means.
#[derive(Debug)]
pub(crate) struct Writer<F = OwnedFd> {
    pub(crate) fd: F,
    pub(crate) is_terminal: bool,
}

impl<F> Writer<F> {
    /// The bytes that say "end of input"; a pipe is just closed.
    pub(crate) fn farewell(&self) -> &'static [u8] {
        if self.is_terminal { &[sys::pty::END_OF_INPUT] } else { &[] }
    }
}

/// A run that is under way, to be waited for, written to, signalled, read line by line.
///
/// Dropping it ends the whole tree, unless it is [detached](Running::detach).
///
/// ```
/// use legwork::prelude::*;
///
/// let mut run = cmd(["cat"]).stdin(Stdin::Piped).stdout(Output::Capture).spawn()?;
/// run.write(b"hello\n").unwrap();
/// run.close_stdin();
/// assert_eq!(run.wait()?.stdout_text(), "hello\n");
/// # Ok::<(), legwork::CommandError>(())
/// ```
#[derive(Debug)]
pub struct Running {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    writer: Option<Writer>,
    pid: u32,
    check: bool,
    outcome: Option<Outcome>,
    detached: bool,
}

impl Running {
    pub(crate) fn new(
        shared: Arc<Shared>,
        thread: JoinHandle<()>,
        writer: Option<Writer>,
        pid: u32,
        check: bool,
    ) -> Running {
        Running { shared, thread: Some(thread), writer, pid, check, outcome: None, detached: false }
    }

    /// Its pid; of a pipeline, that of its first stage.
    ///
    /// ```
    /// let run = legwork::cmd(["sleep", "300"]).spawn()?;
    /// assert!(run.pid() > 1);
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Waits for the end, after closing its stdin. What it prints is read on meanwhile.
    ///
    /// # Errors
    /// Where it fails and [`check(true)`](crate::Command::check) was asked for.
    ///
    /// ```
    /// let run = legwork::cmd(["true"]).spawn()?;
    /// assert!(run.wait()?.success());
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    pub fn wait(mut self) -> Result<Outcome> {
        self.close_stdin();
        self.shared.wait_finished(None);
        self.collect();
        let outcome = self.outcome.take();
        let outcome = outcome.unwrap_or_else(|| unreachable!("a finished run has its outcome"));
        if self.check && outcome.failed() {
            return Err(CommandError::failed(outcome));
        }
        Ok(outcome)
    }

    /// Waits at most so long; `None` where it still runs then. It runs on.
    ///
    /// ```
    /// use std::time::Duration;
    /// let mut run = legwork::cmd(["sleep", "300"]).spawn()?;
    /// assert!(run.wait_timeout(Duration::from_millis(5)).is_none());
    /// run.kill();
    /// assert!(run.wait_timeout(Duration::from_secs(60)).is_some());
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    pub fn wait_timeout(&mut self, limit: Duration) -> Option<&Outcome> {
        self.shared.wait_finished(Some(limit));
        self.try_wait()
    }

    /// The outcome, if it has ended.
    ///
    /// ```
    /// let mut run = legwork::cmd(["sleep", "300"]).spawn()?;
    /// assert!(run.try_wait().is_none());
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    pub fn try_wait(&mut self) -> Option<&Outcome> {
        if self.shared.is_finished() {
            self.collect();
        }
        self.outcome.as_ref()
    }

    /// Writes to its stdin, waiting while the pipe is full.
    ///
    /// # Errors
    /// `BrokenPipe` where it does not read any more or is over, `NotConnected` where its stdin is
    /// not [`Stdin::Piped`](crate::Stdin::Piped) or was closed.
    ///
    /// ```
    /// use legwork::Stdin;
    /// let mut run = legwork::cmd(["cat"]).stdin(Stdin::Piped).spawn()?;
    /// run.write(b"").unwrap();
    /// assert!(legwork::cmd(["cat"]).spawn()?.write(b"x").is_err());
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let writer = self.writer.as_ref().ok_or_else(not_connected)?;
        write_all(writer.fd.as_fd(), self.shared.over(), bytes)
    }

    /// Closes its stdin; on a terminal, types the end of input.
    ///
    /// ```
    /// use legwork::Stdin;
    /// let mut run = legwork::cmd(["cat"]).stdin(Stdin::Piped).spawn()?;
    /// run.close_stdin();
    /// assert!(run.wait()?.success());
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    pub fn close_stdin(&mut self) {
        if let Some(writer) = self.writer.take() {
            // Nobody reading is as good as closed.
            let _ = write_all(writer.fd.as_fd(), self.shared.over(), writer.farewell());
        }
    }

    /// Sends a signal to the whole tree.
    ///
    /// ```
    /// use legwork::{Cause, Signal};
    /// let run = legwork::cmd(["sleep", "300"]).spawn()?;
    /// run.signal(Signal::INT);
    /// let cause = Cause::Signaled { signal: Signal::INT, by_request: true };
    /// assert_eq!(run.wait()?.ending.cause(), &cause);
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    pub fn signal(&self, signal: Signal) {
        self.shared.ask(Request::SignalTree(signal));
    }

    /// Sends a signal to the command itself and to nobody else.
    ///
    /// ```
    /// use legwork::Signal;
    /// let run = legwork::cmd(["sleep", "300"]).spawn()?;
    /// run.signal_leader(Signal::TERM);
    /// assert!(run.wait()?.failed());
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    pub fn signal_leader(&self, signal: Signal) {
        self.shared.ask(Request::SignalLeader(signal));
    }

    /// Kills the whole tree at once.
    ///
    /// ```
    /// let run = legwork::cmd(["sleep", "300"]).spawn()?;
    /// run.kill();
    /// assert_eq!(run.wait()?.ending.number(), 137);
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    pub fn kill(&self) {
        self.shared.ask(Request::Kill);
    }

    /// Ends the whole tree politely, then surely; the ending is `cancelled`.
    ///
    /// ```
    /// let run = legwork::cmd(["sleep", "300"]).spawn()?;
    /// run.cancel();
    /// assert_eq!(run.wait()?.ending.cause(), &legwork::Cause::Cancelled);
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    pub fn cancel(&self) {
        self.shared.ask(Request::Cancel);
    }

    /// Its lines as they come, of each output that is captured. While this is read the command
    /// waits for the reader; while nobody reads, the newest 1 MiB is kept for later.
    ///
    /// ```
    /// use legwork::Output;
    /// let mut run = legwork::shell("echo a; echo b").output(Output::Capture).spawn()?;
    /// let lines: Vec<String> = run.lines().map(|line| line.text().into_owned()).collect();
    /// assert_eq!(lines, ["a", "b"]);
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    pub fn lines(&mut self) -> Lines<'_> {
        self.shared.set_reading(true);
        Lines { shared: &self.shared }
    }

    /// Lets it go on without this handle. Its limits stay in force.
    ///
    /// ```
    /// let run = legwork::cmd(["true"]).spawn()?;
    /// run.detach();
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    pub fn detach(mut self) {
        self.detached = true;
    }

    fn collect(&mut self) {
        if self.outcome.is_none() {
            self.outcome = self.shared.take_outcome();
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.detached || self.thread.is_none() {
            return;
        }
        if !self.shared.is_finished() {
            self.shared.ask(Request::Kill);
        }
        self.collect();
    }
}

/// Lines of a run as they come; see [`Running::lines`].
///
/// ```
/// use legwork::Output;
/// let mut run = legwork::cmd(["seq", "3"]).output(Output::Capture).spawn()?;
/// let mut lines = run.lines();
/// assert_eq!(lines.next().unwrap().text(), "1");
/// assert_eq!(lines.skipped(), 0);
/// # Ok::<(), legwork::CommandError>(())
/// ```
#[derive(Debug)]
pub struct Lines<'a> {
    shared: &'a Shared,
}

impl Lines<'_> {
    /// How many lines were dropped because nobody read them.
    ///
    /// ```
    /// let mut run = legwork::cmd(["true"]).spawn()?;
    /// assert_eq!(run.lines().skipped(), 0);
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    pub fn skipped(&self) -> u64 {
        self.shared.skipped()
    }
}

impl Iterator for Lines<'_> {
    type Item = Line;

    fn next(&mut self) -> Option<Line> {
        self.shared.wait_line()
    }
}

impl Drop for Lines<'_> {
    fn drop(&mut self) {
        self.shared.set_reading(false);
    }
}

pub(crate) fn not_connected() -> io::Error {
    let what = "stdin is not piped, or was closed; ask for `Stdin::Piped`";
    io::Error::new(io::ErrorKind::NotConnected, what)
}

pub(crate) fn broken_pipe() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the command does not read its stdin any more")
}

/// Writes all of it, or finds out that nobody will read it: a survivor may hold the other end
/// for ever, so the end of the run ends the wait too.
fn write_all(fd: BorrowedFd<'_>, over: BorrowedFd<'_>, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match sysio::write(fd, bytes) {
            Put::Bytes(count) => bytes = &bytes[count..],
            Put::Failed(_) => return Err(broken_pipe()),
            Put::Full => {
                let mut fds = [PollFd::new(&fd, PollFlags::OUT), PollFd::new(&over, PollFlags::IN)];
                sysio::poll(&mut fds, None)?;
                let [room, over] = fds.map(|fd| !fd.revents().is_empty());
                if over && !room {
                    return Err(broken_pipe());
                }
            }
        }
    }
    Ok(())
}
