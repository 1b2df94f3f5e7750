//! Performs a run's life on real processes and pipes.
//!
//! A driver calls [`Machine::turn`] until it gives the outcome; each turn waits at most as long as
//! the driver allows, then does what has become possible. Nothing in here waits otherwise, so a
//! turn with no patience is safe on an async runtime.

use std::ffi::OsString;
use std::io::Write;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use rustix::event::{PollFd, PollFlags};

use super::handle::{Request, Shared};
use super::janitor;
use super::life::{Action, Event, Life, Limits, Reason};
use super::plan::{Plan, Stage};
use super::plumbing::{self, Fed, Feed, Plumbing, Source};
use crate::capture::{HeadTail, Order, Stream};
use crate::command::RunOptions;
use crate::containment::Tree;
use crate::ending::{Cause, Ending, NotStarted, WaitStatus};
use crate::error::{CommandError, Result};
use crate::find;
use crate::options::{Pipefail, Terminal};
use crate::outcome::{Outcome, Survivor, Usage};
use crate::quote;
use crate::signal::Signal;
use crate::sys::cgroup::Cgroup;
use crate::sys::io::{self as sysio, Got};
use crate::sys::process::{self, Leader};
use crate::sys::spawn::{self, Group, Refused, Setup, Step};
use crate::sys::terminal::{self, Loan};

/// One read. A larger buffer would leave the fast cache.
const READ: usize = 64 * 1024;

/// Reads of one output in one turn, at most: the others, and the clock, want their turn too.
const READS_A_TURN: usize = 16;

/// How often a shared terminal is looked at for Ctrl-Z, which no descriptor tells of.
const TICK: Duration = Duration::from_millis(100);

/// A wake-up later than this after its time means that we were stopped, if the child was too.
const LATE: Duration = Duration::from_millis(500);

/// How long the run has been going on, without the time a person stopped it.
#[derive(Debug)]
struct Clock {
    start: Instant,
    paused: Duration,
    last_turn: Instant,
}

impl Clock {
    fn now(&self) -> Duration {
        self.start.elapsed().saturating_sub(self.paused)
    }
}

/// A leader and what is known of its end.
#[derive(Debug)]
struct Member {
    gone: bool,
}

/// What a poll is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wants {
    Read,
    Write,
}

/// A run under way.
#[derive(Debug)]
pub(crate) struct Machine {
    command: Vec<OsString>,
    workdir: Option<PathBuf>,
    options: RunOptions,
    kill_signal: Signal,
    hold_stdout: bool,
    notes: Vec<String>,

    leaders: Vec<Leader>,
    members: Vec<Member>,
    first_pid: u32,
    tree: Tree,
    life: Life,
    clock: Clock,
    started_at: SystemTime,

    feed: Option<Feed>,
    sources: Vec<Source>,
    captures: [Option<HeadTail>; 2],
    order: Order,
    buffer: Vec<u8>,

    shared: Option<Arc<Shared>>,
    loan: Option<Loan>,
    /// In the caller's group, on the caller's terminal.
    on_terminal: bool,
    requested: Vec<Signal>,
    settled: bool,
    closed: bool,
    over: bool,
    survivors: Vec<Survivor>,
}

impl Machine {
    /// Starts what was planned. The descriptor is our end of a piped stdin.
    pub(crate) fn start(
        plan: Plan,
        shared: Option<Arc<Shared>>,
    ) -> Result<(Machine, Option<OwnedFd>)> {
        let lines = plan.options.on_line.is_some() || shared.is_some();
        let see = plan.options.idle_timeout.is_some() || plan.options.on_line.is_some();
        let command = plan.command();
        let workdir = plan.stages.first().and_then(|stage| stage.workdir.clone());
        let laid = plumbing::lay(&plan.stages, see, lines).map_err(|(what, error)| {
            let why = NotStarted::System {
                reason: format!("cannot {what}: {error}"),
            };
            CommandError::not_started(command.clone(), workdir.clone(), why, Some(error))
        })?;
        let Plumbing {
            ends,
            sources,
            feed,
            writer,
        } = laid;

        let wants_terminal = plan.options.terminal.unwrap_or_default() == Terminal::Foreground;
        let has_pty = plan.stages.iter().any(|stage| stage.pty.is_some());
        let loan = if wants_terminal && !has_pty {
            Loan::new()
        } else {
            None
        };
        let on_terminal = !has_pty && loan.is_none() && terminal::controlling().is_some();

        if plan.verbose {
            // Lost where stderr is closed, and that is fine.
            let _ = writeln!(std::io::stderr(), "$ {}", shown(&plan.stages));
        }
        let grace = plan.grace();
        let kill_signal = plan.kill_signal();
        let capture = |stream| {
            let wanted = sources
                .iter()
                .any(|source| source.stream == stream && source.capture);
            wanted.then(|| HeadTail::new(plan.capture_limit()))
        };
        let captures = [capture(Stream::Stdout), capture(Stream::Stderr)];
        let limits = Limits {
            timeout: plan.options.timeout,
            idle: plan.options.idle_timeout,
            grace,
            survivors: plan.options.survivors.unwrap_or_default(),
        };
        let start = Instant::now();
        let mut machine = Machine {
            command,
            workdir,
            kill_signal,
            hold_stdout: plan.hold_stdout,
            notes: plan.notes,
            leaders: Vec::with_capacity(plan.stages.len()),
            members: Vec::with_capacity(plan.stages.len()),
            first_pid: 0,
            tree: plan.tree,
            life: Life::new(limits),
            clock: Clock {
                start,
                paused: Duration::ZERO,
                last_turn: start,
            },
            started_at: SystemTime::now(),
            feed,
            sources,
            captures,
            order: Order::default(),
            buffer: Vec::new(),
            shared,
            loan,
            on_terminal,
            requested: Vec::new(),
            settled: false,
            closed: false,
            over: false,
            survivors: Vec::new(),
            options: plan.options,
        };
        for (stage, ends) in plan.stages.iter().zip(&ends) {
            if let Err(refused) = machine.spawn(stage, ends) {
                machine.undo();
                return Err(explain(refused, stage, &machine.command));
            }
        }
        Ok((machine, writer))
    }

    fn spawn(&mut self, stage: &Stage, ends: &plumbing::Ends) -> Result<(), Refused> {
        let group = match self.leaders.first() {
            _ if stage.pty.is_some() => Group::Session,
            _ if self.on_terminal => Group::Callers,
            Some(first) => Group::Join(first.pid()),
            None => Group::Own,
        };
        let spawned = spawn::spawn(&Setup {
            program: &stage.program,
            argv: &stage.c_argv,
            env: &stage.c_env,
            workdir: stage.c_workdir.as_deref(),
            stdio: [ends.stdin.fd(), ends.stdout.fd(), ends.stderr.fd()],
            group,
            own_terminal: stage.pty.is_some(),
            foreground: self.loan.as_ref().map(Loan::terminal),
            limits: &stage.limits,
            nice: stage.nice,
            oom_score_adj: stage.oom_score_adj.as_deref(),
            cgroup: self.tree.cgroup().map(|cgroup| cgroup.directory()),
        })?;
        let leader = Leader::new(spawned);
        if self.leaders.is_empty() {
            self.first_pid = leader.pid().as_raw_nonzero().get() as u32;
        }
        self.leaders.push(leader);
        self.members.push(Member { gone: false });
        self.tree.started(&self.leaders, group != Group::Callers);
        Ok(())
    }

    /// A later stage could not be started: the earlier ones are ended.
    fn undo(&mut self) {
        self.sources.clear();
        self.feed = None;
        if self.leaders.is_empty() {
            return;
        }
        self.act(Event::Kill);
        while self.turn(None).is_none() {}
    }

    pub(crate) fn pid(&self) -> u32 {
        self.first_pid
    }

    /// Ends it because whoever wanted it is gone.
    pub(crate) fn abandon(&mut self) {
        self.sources
            .iter_mut()
            .for_each(|source| source.forward = None);
        self.act(Event::Kill);
    }

    /// What it waits for, beside time.
    pub(crate) fn interest<'a>(&'a self, each: &mut dyn FnMut(BorrowedFd<'a>, Wants)) {
        let full = self.shared.as_ref().is_some_and(|shared| shared.is_full());
        for source in &self.sources {
            if !full && !source.is_blocked() {
                each(source.fd.as_fd(), Wants::Read);
            }
            if let Some(forward) = source.forward.as_ref().filter(|f| f.is_pending()) {
                each(forward.fd.as_fd(), Wants::Write);
            }
        }
        for (leader, member) in self.leaders.iter().zip(&self.members) {
            if !member.gone {
                each(leader.pidfd(), Wants::Read);
            }
        }
        if let Some(feed) = &self.feed {
            each(feed.fd.as_fd(), Wants::Write);
        }
        if let Some(token) = self
            .options
            .cancel
            .as_ref()
            .filter(|_| self.life.reason().is_none())
        {
            each(token.bell(), Wants::Read);
        }
        if let Some(shared) = &self.shared {
            each(shared.bell(), Wants::Read);
        }
    }

    /// How long it may be left alone.
    pub(crate) fn patience(&self) -> Option<Duration> {
        let limit = self
            .life
            .next_time()
            .map(|at| at.saturating_sub(self.clock.now()));
        let watches_terminal =
            self.loan.is_some() || (self.on_terminal && self.options_have_clock());
        if watches_terminal {
            Some(limit.unwrap_or(TICK).min(TICK))
        } else {
            limit
        }
    }

    fn options_have_clock(&self) -> bool {
        self.options.timeout.is_some() || self.options.idle_timeout.is_some()
    }

    /// Waits until something can be done, at most `limit`, and does it. The outcome, when it is
    /// over.
    pub(crate) fn turn(&mut self, limit: Option<Duration>) -> Option<Outcome> {
        self.watch_terminal();
        self.act(Event::Time);
        if !self.over {
            let patience = self.patience();
            let limit = limit.into_iter().chain(patience).min();
            self.wait(limit);
        }
        self.over.then(|| self.finish())
    }

    fn wait(&mut self, limit: Option<Duration>) {
        let mut fds: Vec<PollFd<'_>> = Vec::with_capacity(8);
        self.interest(&mut |fd, wants| {
            let flags = match wants {
                Wants::Read => PollFlags::IN,
                Wants::Write => PollFlags::OUT,
            };
            fds.push(PollFd::from_borrowed_fd(fd, flags));
        });
        if sysio::poll(&mut fds, limit).is_err() {
            // Out of memory for the call itself: what is ready is found by trying.
            drop(fds);
            self.look_at_leaders();
            return;
        }
        // The same order as in `interest`, so that each answer finds its question.
        let mut ready = fds
            .iter()
            .map(|fd| !fd.revents().is_empty())
            .collect::<Vec<_>>()
            .into_iter();
        drop(fds);
        let mut next = || ready.next().unwrap_or(false);

        let full = self.shared.as_ref().is_some_and(|shared| shared.is_full());
        let mut readable = Vec::with_capacity(self.sources.len());
        for source in &mut self.sources {
            readable.push(!full && !source.is_blocked() && next());
            if let Some(forward) = source.forward.as_mut().filter(|f| f.is_pending())
                && next()
            {
                forward.push();
            }
        }
        let leader_ended = self
            .members
            .iter()
            .filter(|member| !member.gone)
            .fold(false, |any, _| next() || any);
        let can_feed = self.feed.is_some() && next();
        let cancelled = self.options.cancel.is_some() && self.life.reason().is_none() && next();
        let asked = self.shared.is_some() && next();

        for (index, readable) in readable.iter().enumerate().rev() {
            if *readable {
                self.read(index);
            }
        }
        if can_feed
            && let Some(feed) = &mut self.feed
            && feed.push() == Fed::Done
        {
            self.feed = None;
        }
        if cancelled {
            self.act(Event::Cancel);
        }
        if asked {
            self.obey();
        }
        if leader_ended {
            self.look_at_leaders();
        }
        self.look_at_pipes();
    }

    /// Reads one output until it is empty or has had its share of this turn.
    fn read(&mut self, index: usize) {
        let mut buffer = std::mem::take(&mut self.buffer);
        if buffer.capacity() == 0 {
            buffer.reserve_exact(READ);
        }
        for _ in 0..READS_A_TURN {
            let source = &mut self.sources[index];
            let spare: &mut [MaybeUninit<u8>] = buffer.spare_capacity_mut();
            let room = spare.len();
            match sysio::read(source.fd.as_fd(), spare) {
                Got::Bytes(bytes) => {
                    let was_full = bytes.len() == room;
                    self.take(index, bytes);
                    let source = &mut self.sources[index];
                    if !was_full || source.is_blocked() {
                        break;
                    }
                    if source.is_pipe && !source.enlarged {
                        source.enlarged = true;
                        sysio::enlarge(source.fd.as_fd());
                    }
                    // A pipe is read again only when it is certain not to make us wait.
                    if source.is_pipe && !sysio::is_readable(source.fd.as_fd()) {
                        break;
                    }
                }
                Got::Nothing => break,
                Got::End => {
                    self.close(index);
                    break;
                }
            }
        }
        self.buffer = buffer;
    }

    fn take(&mut self, index: usize, bytes: &[u8]) {
        let now = self.clock.now();
        let source = &mut self.sources[index];
        let stream = source.stream;
        source.owed = source.owed.saturating_sub(bytes.len() as u64);
        source.pass_on(bytes);
        if source.capture {
            if let Some(capture) = &mut self.captures[stream as usize] {
                capture.write(bytes);
            }
            self.order.note(stream, bytes.len() as u64);
        }
        if let Some(mut splitter) = source.splitter.take() {
            splitter.push(bytes, |line| self.line(line));
            self.sources[index].splitter = Some(splitter);
        }
        self.life.on(Event::Output, now);
    }

    fn line(&self, line: crate::lines::Line) {
        if let Some(callback) = &self.options.on_line {
            callback.call(&line);
        }
        if let Some(shared) = &self.shared {
            shared.push_line(line);
        }
    }

    fn close(&mut self, index: usize) {
        let mut source = self.sources.swap_remove(index);
        if let Some(last) = source
            .splitter
            .as_mut()
            .and_then(crate::lines::Splitter::finish)
        {
            self.line(last);
        }
        if let Some(mut forward) = source.forward.take() {
            forward.flush();
        }
    }

    fn obey(&mut self) {
        let Some(shared) = self.shared.clone() else {
            return;
        };
        for request in shared.take_requests() {
            match request {
                Request::SignalTree(signal) => {
                    self.requested.push(signal);
                    self.tree.ask(&self.leaders, signal);
                }
                Request::SignalLeader(signal) => {
                    self.requested.push(signal);
                    for leader in &self.leaders {
                        leader.signal(signal);
                    }
                }
                Request::Kill => self.act(Event::Kill),
                Request::Cancel => self.act(Event::Cancel),
            }
        }
    }

    fn look_at_leaders(&mut self) {
        for (leader, member) in self.leaders.iter_mut().zip(&mut self.members) {
            member.gone = member.gone || leader.look() != process::Life::Running;
        }
        if self.members.iter().all(|member| member.gone) {
            // What the leaders wrote before they ended is in the pipes now, and is owed.
            for source in &mut self.sources {
                source.owed = sysio::available(source.fd.as_fd());
            }
            self.act(Event::LeadersGone);
        }
    }

    fn look_at_pipes(&mut self) {
        let gone = self.members.iter().all(|member| member.gone);
        if gone && !self.settled && self.sources.iter().all(|source| source.owed == 0) {
            self.settled = true;
            self.act(Event::Settled);
        }
        if self.sources.is_empty() && !self.closed {
            self.closed = true;
            self.act(Event::PipesClosed);
        }
    }

    /// Tells the life what happened and does what it wants, until it wants nothing more.
    fn act(&mut self, event: Event) {
        let mut next = self.life.on(event, self.clock.now());
        while let Some(action) = next {
            next = match action {
                Action::Ask => {
                    self.tree.ask(&self.leaders, self.kill_signal);
                    None
                }
                Action::Kill => {
                    self.tree.kill(&self.leaders);
                    self.look_at_tree()
                }
                Action::Look => self.look_at_tree(),
                Action::LetGo => {
                    self.let_go();
                    None
                }
                Action::Finish => {
                    self.over = true;
                    None
                }
            };
        }
    }

    fn look_at_tree(&mut self) -> Option<Action> {
        let empty = self.tree.members(&self.leaders).is_empty();
        self.life.on(Event::Looked { empty }, self.clock.now())
    }

    /// Somebody holds a pipe or cannot be ended: they are listed, and the pipes go on being
    /// drained, so that nobody dies of a closed one.
    fn let_go(&mut self) {
        let left = self.tree.members(&self.leaders);
        self.survivors = left.into_iter().map(Survivor::new).collect();
        for mut source in std::mem::take(&mut self.sources) {
            if let Some(last) = source
                .splitter
                .as_mut()
                .and_then(crate::lines::Splitter::finish)
            {
                self.line(last);
            }
            if let Some(mut forward) = source.forward.take() {
                forward.flush();
            }
            janitor::drain(source.fd);
        }
        self.over = true;
    }

    /// Follows a person's Ctrl-Z.
    fn watch_terminal(&mut self) {
        let since = self.clock.last_turn.elapsed();
        self.clock.last_turn = Instant::now();
        let Some(first) = self.leaders.first() else {
            return;
        };
        if let Some(loan) = &self.loan {
            if first.was_stopped() {
                let stopped = Instant::now();
                loan.stop_too(first.pid());
                first.signal_group(Signal::CONT);
                self.clock.paused += stopped.elapsed();
            }
        } else if self.on_terminal
            && self.options_have_clock()
            && since > TICK + LATE
            && first.was_continued()
        {
            self.clock.paused += since - TICK;
        }
    }

    fn finish(&mut self) -> Outcome {
        self.feed = None;
        if let Some(loan) = self.loan.take() {
            loan.take_back();
        }
        let out_of_memory = self.tree.cgroup().and_then(Cgroup::out_of_memory);
        let mut pipeline = Vec::with_capacity(self.leaders.len());
        let mut usage: Option<Usage> = None;
        let mut statuses = Vec::with_capacity(self.leaders.len());
        for mut leader in std::mem::take(&mut self.leaders) {
            let (status, used) = match leader.reap() {
                Some(collected) => collected,
                None => {
                    // Given up: it is listed as a survivor, and collected whenever it ends.
                    janitor::collect(leader);
                    (None, None)
                }
            };
            if let Some(used) = used {
                usage = Some(usage.map_or(used, |sum| sum.add(used)));
            }
            pipeline.push(self.ending_of(status, out_of_memory));
            statuses.push(status);
        }
        let ending = self.ending(&pipeline, statuses.last().copied().flatten());
        self.list_survivors();
        if !self.survivors.is_empty() {
            janitor::keep(self.tree.take_cgroup(), &self.survivors);
        }
        let [stdout, stderr] = std::mem::take(&mut self.captures).map(|c| c.map(HeadTail::finish));
        let mut outcome = Outcome {
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
        };
        if self.hold_stdout {
            show_held(&mut outcome);
        }
        outcome
    }

    /// Who lives on after an ordinary end, where that can be seen at a glance.
    fn list_survivors(&mut self) {
        if self.survivors.is_empty() && self.tree.may_have_survivors(self.first_pid as i32) {
            let left = self.tree.survivors(self.first_pid as i32);
            self.survivors = left.into_iter().map(Survivor::new).collect();
        }
    }

    /// How one stage ended.
    fn ending_of(&self, status: Option<WaitStatus>, out_of_memory: Option<bool>) -> Ending {
        match status {
            Some(
                status @ WaitStatus::Signaled {
                    signal: Signal::KILL,
                    ..
                },
            ) if out_of_memory == Some(true) && self.life.reason().is_none() => {
                Ending::new(Cause::OutOfMemory, Some(status))
            }
            Some(status @ WaitStatus::Signaled { signal, .. }) => {
                let killed = self.life.reason() == Some(Reason::Killed) && signal == Signal::KILL;
                let by_request = killed || self.requested.contains(&signal);
                Ending::new(Cause::Signaled { signal, by_request }, Some(status))
            }
            Some(status) => Ending::of_status(status),
            None => {
                let reason = if process::ignores_sigchld() {
                    "this process ignores SIGCHLD, so the kernel does not keep how its children end"
                } else if self.survivors.iter().any(|s| s.pid == self.first_pid) {
                    "it could not be ended and still runs"
                } else {
                    "another part of this process collected its status"
                };
                Ending::new(
                    Cause::Unknown {
                        reason: reason.to_owned(),
                    },
                    None,
                )
            }
        }
    }

    /// How the run as a whole ended.
    fn ending(&self, pipeline: &[Ending], last_status: Option<WaitStatus>) -> Ending {
        match self.life.reason() {
            Some(Reason::Deadline) => return Ending::new(Cause::Deadline, last_status),
            Some(Reason::Idle) => return Ending::new(Cause::Idle, last_status),
            Some(Reason::Cancelled) => return Ending::new(Cause::Cancelled, last_status),
            Some(Reason::Killed | Reason::Survivors) | None => {}
        }
        let (last, earlier) = match pipeline.split_last() {
            Some((last, earlier)) => (last, earlier),
            None => {
                return Ending::new(
                    Cause::Unknown {
                        reason: "nothing was run".into(),
                    },
                    None,
                );
            }
        };
        let by_sigpipe = |ending: &Ending| {
            matches!(
                ending.cause(),
                Cause::Signaled {
                    signal: Signal::PIPE,
                    ..
                }
            )
        };
        let failed = match self.options.pipefail.unwrap_or_default() {
            _ if !last.success() => None,
            Pipefail::LastOnly => None,
            Pipefail::All => earlier.iter().rev().find(|ending| !ending.success()),
            Pipefail::AllButSigpipe => earlier
                .iter()
                .rev()
                .find(|ending| !ending.success() && !by_sigpipe(ending)),
        };
        failed.unwrap_or(last).clone()
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
        // It is only taken by `drop`.
        self.0
            .as_mut()
            .unwrap_or_else(|| unreachable!("taken by drop alone"))
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        if let Some(mut machine) = self.0.take()
            && !machine.over
        {
            machine.abandon();
            janitor::adopt(machine);
        }
    }
}

fn shown(stages: &[Stage]) -> String {
    let lines: Vec<String> = stages
        .iter()
        .map(|stage| quote::line(&stage.argv))
        .collect();
    lines.join(" | ")
}

/// In quiet mode a failure shows what was held back.
fn show_held(outcome: &mut Outcome) {
    let held = outcome.stdout.take();
    if let Some(held) = held.filter(|_| outcome.failed()) {
        let mut stdout = std::io::stdout().lock();
        let _ = stdout
            .write_all(held.text().as_bytes())
            .and_then(|()| stdout.flush());
    }
    outcome.order.clear();
}

/// Why the kernel refused, in the words of an ending.
fn explain(refused: Refused, stage: &Stage, command: &[OsString]) -> CommandError {
    let Refused { step, error } = refused;
    let why = match (step, error.raw_os_error()) {
        (Step::Workdir, _) => NotStarted::BadDirectory,
        (Step::Exec, Some(libc::ENOENT | libc::ENOTDIR | libc::ELOOP | libc::ENAMETOOLONG)) => {
            find::missing(&stage.program_path, stage.workdir.as_deref())
        }
        (Step::Exec, Some(libc::EACCES | libc::EPERM | libc::ENOEXEC | libc::EISDIR)) => {
            NotStarted::NotExecutable
        }
        (Step::Exec, Some(libc::E2BIG)) => NotStarted::ArgumentsTooLong,
        _ => NotStarted::System {
            reason: format!("cannot {}: {error}", step.words()),
        },
    };
    CommandError::not_started(command.to_vec(), stage.workdir.clone(), why, Some(error))
}
