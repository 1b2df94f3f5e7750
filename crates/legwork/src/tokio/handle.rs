//! The handle of a run on tokio.

use std::future::poll_fn;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::unix::AsyncFd;

use crate::error::{CommandError, Result};
use crate::lines::Line;
use crate::outcome::Outcome;
use crate::run::handle::{Request, Shared, Writer, broken_pipe, not_connected};
use crate::signal::Signal;
use crate::sys::io::{self as sysio, Put};

/// A run that is under way; the same as [`legwork::Running`](crate::Running), with futures.
///
/// Dropping it ends the whole tree, unless it is [detached](Running::detach).
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use legwork::prelude::*;
/// let mut run = cmd(["cat"]).stdin(Stdin::Piped).stdout(Output::Capture).tokio().spawn()?;
/// run.write(b"hello\n").await.unwrap();
/// run.close_stdin().await;
/// assert_eq!(run.wait().await?.stdout_text(), "hello\n");
/// # Ok::<(), legwork::CommandError>(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct Running {
    shared: Arc<Shared>,
    writer: Option<Writer<AsyncFd<OwnedFd>>>,
    pid: u32,
    check: bool,
    outcome: Option<Outcome>,
    detached: bool,
}

impl Running {
    pub(super) fn new(
        shared: Arc<Shared>,
        writer: Option<Writer<AsyncFd<OwnedFd>>>,
        pid: u32,
        check: bool,
    ) -> Running {
        Running { shared, writer, pid, check, outcome: None, detached: false }
    }

    /// Its pid; of a pipeline, that of its first stage.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// assert!(legwork::cmd(["sleep", "300"]).tokio().spawn().unwrap().pid() > 1);
    /// # });
    /// ```
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Waits for the end, after closing its stdin.
    ///
    /// # Errors
    /// Where it fails and [`check(true)`](crate::Command::check) was asked for.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// assert!(legwork::cmd(["true"]).tokio().spawn()?.wait().await?.success());
    /// # Ok::<(), legwork::CommandError>(()) }).unwrap();
    /// ```
    pub async fn wait(mut self) -> Result<Outcome> {
        self.close_stdin().await;
        poll_fn(|context| self.shared.poll_finished(context)).await;
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
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use std::time::Duration;
    /// let mut run = legwork::cmd(["sleep", "300"]).tokio().spawn().unwrap();
    /// assert!(run.wait_timeout(Duration::from_millis(5)).await.is_none());
    /// # });
    /// ```
    pub async fn wait_timeout(&mut self, limit: Duration) -> Option<&Outcome> {
        let finished = poll_fn(|context| self.shared.poll_finished(context));
        let _ = tokio::time::timeout(limit, finished).await;
        self.try_wait()
    }

    /// The outcome, if it has ended.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// assert!(legwork::cmd(["sleep", "300"]).tokio().spawn().unwrap().try_wait().is_none());
    /// # });
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
    /// As for [`legwork::Running::write`](crate::Running::write).
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let mut run = legwork::cmd(["cat"]).stdin(legwork::Stdin::Piped).tokio().spawn().unwrap();
    /// run.write(b"").await.unwrap();
    /// # });
    /// ```
    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let writer = self.writer.as_ref().ok_or_else(not_connected)?;
        write_all(&writer.fd, &self.shared, bytes).await
    }

    /// Closes its stdin; on a terminal, types the end of input.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let mut run = legwork::cmd(["cat"]).stdin(legwork::Stdin::Piped).tokio().spawn()?;
    /// run.close_stdin().await;
    /// assert!(run.wait().await?.success());
    /// # Ok::<(), legwork::CommandError>(()) }).unwrap();
    /// ```
    pub async fn close_stdin(&mut self) {
        if let Some(writer) = self.writer.take() {
            // Nobody reading is as good as closed.
            let _ = write_all(&writer.fd, &self.shared, writer.farewell()).await;
        }
    }

    /// Sends a signal to the whole tree.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let run = legwork::cmd(["sleep", "300"]).tokio().spawn()?;
    /// run.signal(legwork::Signal::INT);
    /// assert_eq!(run.wait().await?.ending.number(), 130);
    /// # Ok::<(), legwork::CommandError>(()) }).unwrap();
    /// ```
    pub fn signal(&self, signal: Signal) {
        self.shared.ask(Request::SignalTree(signal));
    }

    /// Sends a signal to the command itself and to nobody else.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let run = legwork::cmd(["sleep", "300"]).tokio().spawn()?;
    /// run.signal_leader(legwork::Signal::TERM);
    /// assert!(run.wait().await?.failed());
    /// # Ok::<(), legwork::CommandError>(()) }).unwrap();
    /// ```
    pub fn signal_leader(&self, signal: Signal) {
        self.shared.ask(Request::SignalLeader(signal));
    }

    /// Kills the whole tree at once.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let run = legwork::cmd(["sleep", "300"]).tokio().spawn()?;
    /// run.kill();
    /// assert_eq!(run.wait().await?.ending.number(), 137);
    /// # Ok::<(), legwork::CommandError>(()) }).unwrap();
    /// ```
    pub fn kill(&self) {
        self.shared.ask(Request::Kill);
    }

    /// Ends the whole tree politely, then surely; the ending is `cancelled`.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let run = legwork::cmd(["sleep", "300"]).tokio().spawn()?;
    /// run.cancel();
    /// assert_eq!(run.wait().await?.ending.cause(), &legwork::Cause::Cancelled);
    /// # Ok::<(), legwork::CommandError>(()) }).unwrap();
    /// ```
    pub fn cancel(&self) {
        self.shared.ask(Request::Cancel);
    }

    /// Its lines as they come; see [`legwork::Running::lines`](crate::Running::lines).
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use legwork::Output;
    /// let mut run = legwork::shell("echo a; echo b").output(Output::Capture).tokio().spawn().unwrap();
    /// let mut lines = run.lines();
    /// assert_eq!(lines.next().await.unwrap().text(), "a");
    /// assert_eq!(lines.next().await.unwrap().text(), "b");
    /// assert!(lines.next().await.is_none());
    /// # });
    /// ```
    pub fn lines(&mut self) -> Lines<'_> {
        self.shared.set_reading(true);
        Lines { shared: &self.shared }
    }

    /// Lets it go on without this handle, for as long as the runtime lives.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// legwork::cmd(["true"]).tokio().spawn().unwrap().detach();
    /// # });
    /// ```
    pub fn detach(mut self) {
        self.detached = true;
    }

    fn collect(&mut self) {
        if self.outcome.is_none() {
            self.outcome = self.shared.take_outcome();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The driving task, or the janitor after it, does the rest.
        if !self.detached && !self.shared.is_finished() {
            self.shared.ask(Request::Kill);
        }
    }
}

/// Lines of a run as they come; see [`Running::lines`].
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let mut run = legwork::cmd(["true"]).tokio().spawn().unwrap();
/// assert!(run.lines().next().await.is_none());
/// # });
/// ```
#[derive(Debug)]
pub struct Lines<'a> {
    shared: &'a Shared,
}

impl Lines<'_> {
    /// The next line; `None` when there will be no more.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let mut run = legwork::shell("echo a").output(legwork::Output::Capture).tokio().spawn().unwrap();
    /// assert_eq!(run.lines().next().await.unwrap().text(), "a");
    /// # });
    /// ```
    pub async fn next(&mut self) -> Option<Line> {
        poll_fn(|context| self.shared.poll_line(context)).await
    }

    /// How many lines were dropped because nobody read them.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// assert_eq!(legwork::cmd(["true"]).tokio().spawn().unwrap().lines().skipped(), 0);
    /// # });
    /// ```
    pub fn skipped(&self) -> u64 {
        self.shared.skipped()
    }
}

impl Drop for Lines<'_> {
    fn drop(&mut self) {
        self.shared.set_reading(false);
    }
}

async fn write_all(writer: &AsyncFd<OwnedFd>, shared: &Shared, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let mut over = false;
        let mut ready = poll_fn(|context| {
            over = shared.poll_finished(context).is_ready();
            match writer.poll_write_ready(context) {
                std::task::Poll::Ready(ready) => std::task::Poll::Ready(Some(ready)),
                std::task::Poll::Pending if over => std::task::Poll::Ready(None),
                std::task::Poll::Pending => std::task::Poll::Pending,
            }
        })
        .await
        .ok_or_else(broken_pipe)??;
        match sysio::write(writer.get_ref().as_fd(), bytes) {
            Put::Bytes(count) => bytes = &bytes[count..],
            Put::Failed(_) => return Err(broken_pipe()),
            Put::Full => ready.clear_ready(),
        }
    }
    Ok(())
}
