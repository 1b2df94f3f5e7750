//! The driver on tokio: waits for the machine's descriptors and clock, then lets it take turns.

use std::ffi::OsString;
use std::future::Future as _;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::{Instant, Sleep, sleep_until};

use super::handle::Running;
use crate::command::{Exec, RunOptions};
use crate::ending::NotStarted;
use crate::error::{CommandError, Result};
use crate::outcome::Outcome;
use crate::run::blocking::checked;
use crate::run::handle::{Shared, Writer};
use crate::run::machine::{Guarded, Machine, Wants};
use crate::run::{Verb, plan, quiet};
use crate::sys::io as sysio;

/// Turns in a row before other tasks have theirs.
const TURNS: usize = 8;

pub(super) async fn run(stages: &[Exec], options: &RunOptions, verb: Verb) -> Result<Outcome> {
    let (command, mut machine, watch) = start(stages, options, verb)?;
    let holds = machine.get().holds_stdout();
    let outcome = drive(machine, watch).await.map_err(|error| refused(command, error))?;
    if !holds {
        return checked(outcome, options, verb);
    }
    let fallback = outcome.clone();
    let shown = tokio::task::spawn_blocking(move || quiet::show(outcome)).await;
    checked(shown.unwrap_or(fallback), options, verb)
}

/// Apart from the future, which may move between threads: a plan holds raw pointers and may not.
fn start(
    stages: &[Exec],
    options: &RunOptions,
    verb: Verb,
) -> Result<(Vec<OsString>, Guarded, Watch)> {
    let plan = plan::plan(stages, options, verb)?;
    let command = plan.command();
    // Whatever the runtime may refuse is asked for before anything is started.
    let watch = Watch::new().map_err(|error| refused(command.clone(), error))?;
    let machine = Guarded::new(Machine::start(plan, None)?.0);
    Ok((command, machine, watch))
}

pub(super) fn spawn(stages: &[Exec], options: &RunOptions) -> Result<Running> {
    let runtime = tokio::runtime::Handle::current();
    let plan = plan::plan(stages, options, Verb::Spawn)?;
    let command = plan.command();
    let workdir = plan.stages.first().and_then(|stage| stage.workdir.clone());
    let is_terminal = plan.stages.first().is_some_and(|stage| stage.pty.is_some());
    let watch = Watch::new().map_err(|error| refused(command.clone(), error))?;
    let shared = Shared::new().map_err(|error| refused(command.clone(), error))?;
    let (machine, writer) = Machine::start(plan, Some(Arc::clone(&shared)))?;
    let mut machine = Guarded::new(machine);
    let pid = machine.get().pid();
    let writer = match writer {
        Some(fd) => {
            // Where this fails, dropping the machine ends what was started.
            let watched = sysio::watched(fd, Interest::WRITABLE);
            let fd = watched.map_err(|error| refused(command.clone(), error))?;
            Some(Writer { fd, is_terminal })
        }
        None => None,
    };
    let on_exit = OnExit {
        shared: Arc::clone(&shared),
        without_outcome: Some(Outcome::unknown(command, workdir, pid)),
    };
    runtime.spawn(async move {
        let mut on_exit = on_exit;
        if let Ok(outcome) = drive(machine, watch).await {
            on_exit.without_outcome = None;
            on_exit.shared.finish(outcome);
        }
    });
    Ok(Running::new(shared, writer, pid, options.check.unwrap_or(false)))
}

/// Tells the handle when the driver is gone without an outcome.
struct OnExit {
    shared: Arc<Shared>,
    without_outcome: Option<Outcome>,
}

impl Drop for OnExit {
    fn drop(&mut self) {
        if let Some(outcome) = self.without_outcome.take() {
            self.shared.finish(outcome);
        }
    }
}

fn refused(command: Vec<OsString>, error: io::Error) -> CommandError {
    let reason = format!("cannot watch it on this runtime: {error}");
    CommandError::not_started(command, None, NotStarted::System { reason }, Some(error))
}

/// Waits for a machine's end. Where the runtime fails to watch it, dropping the machine ends the
/// tree.
async fn drive(mut machine: Guarded, mut watch: Watch) -> io::Result<Outcome> {
    loop {
        for _ in 0..TURNS {
            if let Some(outcome) = machine.get().turn(Some(Duration::ZERO)) {
                return Ok(outcome);
            }
            watch.follow(machine.get())?;
            if !watch.is_ready()? {
                break;
            }
        }
        if watch.is_ready()? {
            tokio::task::yield_now().await;
            continue;
        }
        watch.changed(machine.get().patience()).await?;
    }
}

/// One epoll instance with all that a machine waits for; to the runtime it is a single file.
struct Watch {
    // Dropped before the epoll instance that it watches.
    epoll: AsyncFd<OwnedFd>,
    watched: Vec<(RawFd, Wants)>,
    /// Something that epoll does not take, because it is always ready: a regular file.
    always_ready: bool,
    sleep: Pin<Box<Sleep>>,
}

impl Watch {
    fn new() -> io::Result<Watch> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let epoll = sysio::watched(epoll, Interest::READABLE)?;
        let sleep = Box::pin(sleep_until(Instant::now()));
        Ok(Watch { epoll, watched: Vec::new(), always_ready: false, sleep })
    }

    /// Makes the set that is watched the one that the machine waits for now.
    fn follow(&mut self, machine: &mut Machine) -> io::Result<()> {
        // Out of the set before they are closed: epoll would go on watching what a copy of the
        // descriptor keeps open.
        machine.bury(|fd| self.forget(fd));
        let mut wanted = Vec::with_capacity(8);
        machine.interest(&mut |_, fd, wants| wanted.push((fd, wants)));
        self.always_ready = false;
        let stale: Vec<_> = self
            .watched
            .iter()
            .filter(|(old, wants)| {
                !wanted.iter().any(|(fd, now)| fd.as_raw_fd() == *old && now == wants)
            })
            .map(|(old, _)| *old)
            .collect();
        for fd in stale {
            // Not wanted now, but open: it is the machine's, as are all that were not buried.
            let open = machine.descriptor(fd);
            if let Some(open) = open {
                let _ = epoll::delete(&self.epoll, open);
            }
            self.watched.retain(|(old, _)| *old != fd);
        }
        for (fd, wants) in wanted {
            if self.watched.contains(&(fd.as_raw_fd(), wants)) {
                continue;
            }
            let flags = match wants {
                Wants::Read => EventFlags::IN,
                Wants::Write => EventFlags::OUT,
            };
            match epoll::add(&self.epoll, fd, EventData::new_u64(0), flags) {
                Ok(()) => self.watched.push((fd.as_raw_fd(), wants)),
                Err(Errno::PERM) => self.always_ready = true,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn forget(&mut self, fd: BorrowedFd<'_>) {
        self.watched.retain(|(old, _)| *old != fd.as_raw_fd());
        // Where it was not watched, there is nothing to forget.
        let _ = epoll::delete(&self.epoll, fd);
    }

    /// Whether something can be done right now.
    fn is_ready(&self) -> io::Result<bool> {
        if self.always_ready {
            return Ok(true);
        }
        let mut events = [epoll::Event { flags: EventFlags::empty(), data: EventData::new_u64(0) }];
        let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
        match epoll::wait(&self.epoll, &mut events, Some(&now)) {
            Ok(count) => Ok(count > 0),
            Err(Errno::INTR) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until something can be done or the time is over.
    async fn changed(&mut self, patience: Option<Duration>) -> io::Result<()> {
        if let Some(patience) = patience {
            self.sleep.as_mut().reset(Instant::now() + patience);
        }
        std::future::poll_fn(|context| {
            if patience.is_some() && self.sleep.as_mut().poll(context).is_ready() {
                return Poll::Ready(Ok(()));
            }
            self.poll_ready(context)
        })
        .await
    }

    fn poll_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let Poll::Ready(ready) = self.epoll.poll_read_ready(context) else {
                return Poll::Pending;
            };
            let mut ready = ready?;
            // The runtime is told of changes only: what it knows may be over already.
            if self.is_ready()? {
                return Poll::Ready(Ok(()));
            }
            ready.clear_ready();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Outcome;
    use crate::error::Result;

    #[test]
    fn a_future_may_move_between_threads() {
        fn is_send(_: &(impl Future<Output = Result<Outcome>> + Send)) {}
        is_send(&crate::cmd(["true"]).tokio().capture());
        is_send(&crate::tokio::sh(["true"]));
        let scope = crate::Scope::new().tokio();
        is_send(&scope.capture(["true"]));
    }
}
