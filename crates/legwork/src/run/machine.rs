//! Performs a run's life on real processes and pipes.
//!
//! A driver calls [`Machine::turn`] until it gives the outcome; each turn waits at most as long as
//! the driver allows, then does what has become possible. Nothing in here waits otherwise: every
//! descriptor that is read or written returns instead, so a turn with no patience is safe on an
//! async runtime. (Stopping with a person's Ctrl-Z is the one exception, and stops everything.)

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use rustix::event::{PollFd, PollFlags};

use super::handle::{Request, Shared};
use super::janitor;
use super::life::{Action, Event, Life, Reason};
use super::plumbing::{Fed, Feed, Source};
use super::verdict::Evidence;
use crate::capture::{HeadTail, Order};
use crate::command::RunOptions;
use crate::containment::{Found, Tree};
use crate::lines::Splitter;
use crate::outcome::{Outcome, Survivor, Usage};
use crate::signal::Signal;
use crate::sys::cgroup::Cgroup;
use crate::sys::io as sysio;
use crate::sys::process::{self, Leader};
use crate::sys::terminal::Loan;

/// How often a shared terminal is looked at for Ctrl-Z, which no descriptor tells of.
const TICK: Duration = Duration::from_millis(100);

/// A wake-up later than this after its time means that we were stopped, if the child was too.
const LATE: Duration = Duration::from_millis(500);

/// How long the run has been going on, without the time a person stopped it.
#[derive(Debug)]
pub(super) struct Clock {
    start: Instant,
    paused: Duration,
    last_turn: Instant,
}

impl Clock {
    pub(super) fn start() -> Clock {
        let start = Instant::now();
        Clock { start, paused: Duration::ZERO, last_turn: start }
    }

    pub(super) fn now(&self) -> Duration {
        self.start.elapsed().saturating_sub(self.paused)
    }
}

/// What a descriptor is watched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wants {
    /// That it can be read.
    Read,
    /// That it can be written.
    Write,
}

/// Whose descriptor it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Source(usize),
    Forward(usize),
    Leader,
    Feed,
    Cancel,
    Handle,
}

/// A run under way.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(super) command: Vec<OsString>,
    pub(super) workdir: Option<PathBuf>,
    pub(super) options: RunOptions,
    pub(super) kill_signal: Signal,
    pub(super) hold_stdout: bool,
    pub(super) notes: Vec<String>,

    pub(crate) leaders: Vec<Leader>,
    pub(super) first_pid: u32,
    pub(crate) tree: Tree,
    pub(crate) life: Life,
    pub(super) clock: Clock,
    pub(super) started_at: SystemTime,

    pub(super) feed: Option<Feed>,
    pub(super) sources: Vec<Source>,
    pub(super) captures: [Option<HeadTail>; 2],
    pub(super) order: Order,
    pub(super) buffer: Vec<u8>,
    /// Descriptors we are done with, until the driver has stopped watching them.
    pub(super) retired: Vec<OwnedFd>,

    pub(super) shared: Option<Arc<Shared>>,
    pub(super) loan: Option<Loan>,
    /// In the caller's group, on the caller's terminal.
    pub(super) on_terminal: bool,
    pub(crate) requested: Vec<Signal>,
    pub(super) cancel_seen: bool,
    pub(super) settled: bool,
    pub(super) closed: bool,
    pub(super) over: bool,
    pub(super) survivors: Vec<Survivor>,
    /// The outcome of a run that lingers, until it is taken.
    pub(super) answer: Option<Outcome>,
}

impl Machine {
    pub(crate) fn pid(&self) -> u32 {
        self.first_pid
    }

    /// Our side of its terminal, a second time.
    pub(crate) fn terminal(&self) -> Option<OwnedFd> {
        let source = self.sources.iter().find(|source| !source.is_pipe)?;
        sysio::duplicate(source.fd.as_ref()?.as_fd()).ok()
    }

    /// Whether stdout was kept to be shown only on failure.
    pub(crate) fn holds_stdout(&self) -> bool {
        self.hold_stdout
    }

    /// Ends it because whoever wanted it is gone: nobody is told anything any more.
    fn abandon(&mut self) {
        self.options.on_line = None;
        self.shared = None;
        for source in &mut self.sources {
            source.splitter = None;
            self.retired.extend(source.forward.take().map(|forward| forward.fd));
        }
        self.act(Event::Kill);
    }

    /// Lets go of descriptors that were closed for good, after `last` has seen each.
    pub(crate) fn bury(&mut self, mut last: impl FnMut(BorrowedFd<'_>)) {
        for fd in self.retired.drain(..) {
            last(fd.as_fd());
        }
    }

    /// Every descriptor it may come to wait for: found by its number, where it is still open.
    #[cfg(feature = "tokio")]
    pub(crate) fn descriptor(&self, number: std::os::fd::RawFd) -> Option<BorrowedFd<'_>> {
        use std::os::fd::AsRawFd;
        let sources = self.sources.iter().flat_map(|source| {
            let forward = source.forward.as_ref().map(|forward| forward.fd.as_fd());
            source.fd.as_ref().map(AsFd::as_fd).into_iter().chain(forward)
        });
        let leaders = self.leaders.iter().map(Leader::pidfd);
        let feed = self.feed.as_ref().map(|feed| feed.fd.as_fd());
        let token = self.options.cancel.as_ref().map(|token| token.bell());
        let mut all = sources.chain(leaders).chain(feed).chain(token);
        all.find(|fd| fd.as_raw_fd() == number)
    }

    /// What it waits for, beside time.
    pub(crate) fn interest<'a>(&'a self, each: &mut dyn FnMut(Part, BorrowedFd<'a>, Wants)) {
        let full = self.shared.as_ref().is_some_and(|shared| shared.is_full());
        for (index, source) in self.sources.iter().enumerate() {
            if let Some(fd) = source.fd.as_ref().filter(|_| !full && !source.is_blocked()) {
                each(Part::Source(index), fd.as_fd(), Wants::Read);
            }
            if let Some(forward) = source.forward.as_ref().filter(|forward| forward.is_pending()) {
                each(Part::Forward(index), forward.fd.as_fd(), Wants::Write);
            }
        }
        for leader in self.leaders.iter().filter(|leader| !leader.is_gone()) {
            each(Part::Leader, leader.pidfd(), Wants::Read);
        }
        if let Some(feed) = &self.feed {
            each(Part::Feed, feed.fd.as_fd(), Wants::Write);
        }
        if let Some(token) = self.options.cancel.as_ref().filter(|_| !self.cancel_seen) {
            each(Part::Cancel, token.bell(), Wants::Read);
        }
        if let Some(shared) = &self.shared {
            each(Part::Handle, shared.bell(), Wants::Read);
        }
    }

    /// How long it may be left alone.
    pub(crate) fn patience(&self) -> Option<Duration> {
        let limit = self.life.next_time().map(|at| at.saturating_sub(self.clock.now()));
        if self.watches_terminal() { Some(limit.unwrap_or(TICK).min(TICK)) } else { limit }
    }

    fn watches_terminal(&self) -> bool {
        let timed = self.options.timeout.is_some() || self.options.idle_timeout.is_some();
        self.loan.is_some() || (self.on_terminal && timed)
    }

    /// Waits until something can be done, at most `limit`, and does it. The outcome, when it is
    /// over.
    pub(crate) fn turn(&mut self, limit: Option<Duration>) -> Option<Outcome> {
        self.watch_terminal();
        if !self.over {
            let patience = self.patience();
            self.wait(limit.into_iter().chain(patience).min());
            // Time comes last: a command that has ended has ended, however late we look.
            if self.life.next_time().is_some_and(|at| at <= self.clock.now()) {
                self.look_at_leaders();
                self.act(Event::Time);
            }
        }
        if self.life.lingers() {
            return self.answer.take();
        }
        self.over.then(|| self.finish())
    }

    /// Whether nothing of it is left to be looked after.
    pub(crate) fn is_over(&self) -> bool {
        self.over
    }

    fn wait(&mut self, limit: Option<Duration>) {
        let mut parts = Vec::with_capacity(8);
        let mut fds: Vec<PollFd<'_>> = Vec::with_capacity(8);
        self.interest(&mut |part, fd, wants| {
            let flags = match wants {
                Wants::Read => PollFlags::IN,
                Wants::Write => PollFlags::OUT,
            };
            parts.push(part);
            fds.push(PollFd::from_borrowed_fd(fd, flags));
        });
        // Where the call itself fails, for want of memory, everything is simply tried.
        let polled = sysio::poll(&mut fds, limit).is_ok();
        let mut ready = fds.iter().map(|fd| !polled || !fd.revents().is_empty());
        parts.retain(|_| ready.next().unwrap_or(true));

        for part in &parts {
            match part {
                Part::Source(index) => self.read(*index),
                Part::Forward(index) => {
                    if let Some(forward) = &mut self.sources[*index].forward {
                        forward.push();
                    }
                }
                Part::Feed => {
                    if self.feed.as_mut().is_some_and(|feed| feed.push() == Fed::Done) {
                        self.retired.extend(self.feed.take().map(|feed| feed.fd));
                    }
                }
                Part::Leader | Part::Cancel | Part::Handle => {}
            }
        }
        // An end first, then what somebody wants of it: what has ended has not been cancelled.
        if parts.iter().any(|part| matches!(part, Part::Leader | Part::Cancel | Part::Handle)) {
            self.look_at_leaders();
        }
        if parts.contains(&Part::Cancel) {
            self.cancel_seen = true;
            self.act(Event::Stop(Reason::Cancelled));
        }
        if parts.contains(&Part::Handle) {
            self.obey();
        }
        self.look_at_pipes();
    }

    fn obey(&mut self) {
        let Some(shared) = self.shared.clone() else {
            return;
        };
        for request in shared.take_requests() {
            match request {
                Request::SignalTree(signal) => {
                    self.requested.push(signal);
                    let sent = self.tree.signal(&self.leaders, signal);
                    self.note_failure(sent.map(drop));
                }
                Request::SignalLeader(signal) => {
                    self.requested.push(signal);
                    for leader in &self.leaders {
                        leader.signal(signal);
                    }
                }
                Request::Kill => self.act(Event::Kill),
                Request::Cancel => self.act(Event::Stop(Reason::Cancelled)),
            }
        }
    }

    fn look_at_leaders(&mut self) {
        if self.leaders_gone() {
            return;
        }
        for leader in self.leaders.iter_mut().filter(|leader| !leader.is_gone()) {
            leader.look();
        }
        if self.leaders_gone() {
            // What the leaders wrote before they ended is in the pipes now, and is owed.
            for source in &mut self.sources {
                source.owed = source.fd.as_ref().map_or(0, |fd| sysio::available(fd.as_fd()));
            }
            self.act(Event::LeadersGone);
        }
    }

    pub(super) fn leaders_gone(&self) -> bool {
        self.leaders.iter().all(Leader::is_gone)
    }

    /// Tells the life what happened and does what it wants, until it wants nothing more.
    pub(crate) fn act(&mut self, event: Event) {
        let mut next = self.life.on(event, self.clock.now());
        while let Some(action) = next {
            next = match action {
                Action::Ask => {
                    let asked = self.tree.ask(&self.leaders, self.kill_signal);
                    self.note_failure(asked);
                    None
                }
                Action::Kill => self.looked(self.tree.kill(&self.leaders)),
                Action::Look => self.looked(self.tree.seek(&self.leaders)),
                Action::LetGo => {
                    self.let_go();
                    None
                }
                Action::Answer => {
                    self.answer = Some(self.finish());
                    self.looked(self.tree.seek(&self.leaders))
                }
                Action::Finish => {
                    self.over = true;
                    None
                }
            };
        }
    }

    fn looked(&mut self, found: io::Result<Found>) -> Option<Action> {
        // Not being able to look is not the same as finding nobody.
        let empty = found.as_ref().is_ok_and(|found| found.members.is_empty());
        self.note_failure(found.map(drop));
        self.life.on(Event::Looked { empty }, self.clock.now())
    }

    fn note_failure(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            let note = format!("not all descendants could be looked for: {error}");
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }

    /// Somebody holds a pipe, or cannot be ended, or does not take what we pass on: whoever lives
    /// is listed, and the pipes go on being drained, so that nobody dies of a closed one.
    fn let_go(&mut self) {
        self.over = true;
        self.list_survivors();
        let mut last_lines = Vec::new();
        for mut source in std::mem::take(&mut self.sources) {
            last_lines.extend(source.splitter.as_mut().and_then(Splitter::finish));
            if let Some(forward) = &mut source.forward {
                forward.give_up();
            }
            self.part_with(source.forward);
            if let Some(fd) = source.fd {
                janitor::drain(fd);
            }
        }
        // Last of all: a callback may panic.
        for line in last_lines {
            self.tell(line);
        }
    }

    fn list_survivors(&mut self) {
        match self.tree.seek(&self.leaders) {
            Ok(found) => {
                if !found.unclear.is_empty() {
                    let count = found.unclear.len();
                    self.notes.push(format!(
                        "{count} orphans belong to this run or to another one; they were not touched"
                    ));
                }
                let all = found.members.into_iter().chain(found.unclear);
                self.survivors = all.map(Survivor::new).collect();
            }
            Err(error) => self.note_failure(Err(error)),
        }
    }

    /// Follows a person's Ctrl-Z.
    fn watch_terminal(&mut self) {
        let since = self.clock.last_turn.elapsed();
        self.clock.last_turn = Instant::now();
        let Some(first) = self.leaders.first().filter(|_| self.watches_terminal()) else {
            return;
        };
        if let Some(loan) = &self.loan {
            if first.was_stopped() {
                let stopped = Instant::now();
                loan.stop_too(first.pid());
                first.signal_group(Signal::CONT);
                self.clock.paused += stopped.elapsed();
            }
        } else if since > TICK + LATE && first.was_continued() {
            self.clock.paused += since - TICK;
        }
    }

    /// Gives a lent terminal back to the caller.
    pub(super) fn return_terminal(&mut self) {
        if let Some(loan) = self.loan.take() {
            loan.take_back(self.leaders.first().map(Leader::pid));
        }
    }

    fn finish(&mut self) -> Outcome {
        self.feed = None;
        self.return_terminal();
        let out_of_memory = self.tree.cgroup().and_then(Cgroup::out_of_memory) == Some(true);
        let mut usage: Option<Usage> = None;
        let mut statuses = Vec::with_capacity(self.leaders.len());
        let mut unended = false;
        for mut leader in std::mem::take(&mut self.leaders) {
            let Some((status, used)) = leader.reap() else {
                // Given up: it is listed as a survivor, and collected whenever it ends.
                if !self.life.lingers() {
                    janitor::collect(leader);
                }
                unended = true;
                statuses.push(None);
                continue;
            };
            if let Some(used) = used {
                usage = Some(usage.map_or(used, |sum| sum.add(used)));
            }
            statuses.push(status);
        }
        let evidence = Evidence {
            reason: self.life.reason(),
            requested: &self.requested,
            out_of_memory,
            why_unknown: if unended {
                "it could not be ended and still runs"
            } else if process::ignores_sigchld() {
                "this process ignores SIGCHLD, so the kernel does not keep how its children end"
            } else {
                "another part of this process collected its status"
            },
            pipefail: self.options.pipefail.unwrap_or_default(),
        };
        let pipeline: Vec<_> = statuses.iter().map(|status| evidence.stage(*status)).collect();
        let ending = evidence.whole(&pipeline);
        if self.survivors.is_empty() && self.tree.may_have_survivors() {
            self.list_survivors();
        }
        if !self.survivors.is_empty() && !self.life.lingers() {
            janitor::keep(self.tree.take_cgroup(), &self.survivors);
        }
        let [stdout, stderr] = std::mem::take(&mut self.captures).map(|c| c.map(HeadTail::finish));
        Outcome {
            command: std::mem::take(&mut self.command),
            workdir: self.workdir.take(),
            ending,
            stdout,
            stderr,
            pid: Some(self.first_pid),
            started_at: self.started_at,
            duration: self.clock.start.elapsed(),
            usage,
            pipeline,
            survivors: std::mem::take(&mut self.survivors),
            containment: self.tree.level(),
            notes: std::mem::take(&mut self.notes),
            order: std::mem::take(&mut self.order).finish(),
        }
    }
}

/// A machine that does not die with its driver: dropped before its end, it is abandoned to the
/// janitor, who ends the tree.
#[derive(Debug)]
pub(crate) struct Guarded(Option<Box<Machine>>);

impl Guarded {
    pub(crate) fn new(machine: Machine) -> Guarded {
        Guarded(Some(Box::new(machine)))
    }

    pub(crate) fn get(&mut self) -> &mut Machine {
        self.0.as_mut().unwrap_or_else(|| unreachable!("only `drop` takes it"))
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        let Some(mut machine) = self.0.take() else {
            return;
        };
        if !machine.over {
            machine.abandon();
            janitor::adopt(machine);
        } else if !machine.leaders.is_empty() {
            // A callback panicked on the last lines: what is left is to collect the leaders.
            machine.finish();
        }
    }
}
