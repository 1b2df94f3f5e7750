//! The loop of a supervisor: waits for the job, for signals, for visitors, and does what its table
//! says. One thread, nothing polled for unless somebody waits for what no descriptor tells.

use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use legwork::Outcome;
use legwork::engine::{Engine, Stop, Wants};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::life::{self, Action, Event, Stage};
use super::lookout::Source;
use super::mailbox::Mailbox;
use super::reception::SILENCE;
use super::scribe::Scribe;
use super::sys::{Signals, Told};
use super::visitor::{Visitor, Waits};
use crate::protocol::Answer;
use crate::record::{End, Record, now_ms};
use crate::report::{Process, Used};
use crate::secrets::Mask;

/// Signals that are taken in a turn.
const SIGNALS: usize = 8;

/// How long the last answers may take to be taken before the supervisor goes all the same.
const FAREWELL: Duration = Duration::from_secs(2);

pub(super) struct Supervisor {
    pub(super) record: Record,
    pub(super) stage: Stage,
    pub(super) engine: Engine,
    pub(super) scribe: Arc<Mutex<Scribe>>,
    pub(super) mailbox: Mailbox,
    pub(super) source: Source,
    pub(super) mask: Mask,
    pub(super) listener: UnixListener,
    pub(super) signals: Signals,
    pub(super) visitors: Vec<Visitor>,
    /// Why and how the next stop is.
    pub(super) stop: (Stop, Option<Duration>),
    pub(super) next_glance: Instant,
    /// Whether it was being ended when it was last looked at.
    pub(super) stopping: bool,
}

/// Whose descriptor became ready.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ready {
    Engine,
    Signals,
    Listener,
    Mailbox,
    Visitor(usize),
}

impl Supervisor {
    pub(super) fn scribe(&self) -> MutexGuard<'_, Scribe> {
        self.scribe.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Until nothing of the job is left.
    pub(super) fn serve(mut self) {
        while self.stage != Stage::Gone {
            let ready = self.wait();
            if ready.contains(&Ready::Signals) {
                self.obey_signals();
            }
            if let Some(outcome) = self.engine.turn() {
                self.conclude(outcome);
            }
            self.watch_limits();
            if ready.contains(&Ready::Listener) {
                self.welcome();
            }
            self.mailbox.push();
            for index in 0..self.visitors.len() {
                let is_ready = ready.contains(&Ready::Visitor(index));
                self.attend(index, is_ready);
            }
            self.tell_news();
            self.visitors.retain(|visitor| !visitor.left);
            let was_stopping = std::mem::replace(&mut self.stopping, self.engine.is_stopping());
            if self.engine.is_over() {
                self.on(Event::Empty);
            } else if was_stopping && !self.stopping {
                self.on(Event::GivenUp);
            }
        }
        self.say_farewell();
    }

    fn wait(&self) -> Vec<Ready> {
        let mut whose = vec![Ready::Signals];
        let mut fds = vec![PollFd::from_borrowed_fd(self.signals.fd(), PollFlags::IN)];
        let mut watch = |who: Ready, fd, flags| {
            whose.push(who);
            fds.push(PollFd::from_borrowed_fd(fd, flags));
        };
        self.engine.interest(&mut |fd, wants| {
            let flags = match wants {
                Wants::Read => PollFlags::IN,
                Wants::Write => PollFlags::OUT,
            };
            watch(Ready::Engine, fd, flags);
        });
        // Asked once: a moment later the answer may be another, and nobody would look at the door.
        let room = self.has_room();
        if room {
            watch(Ready::Listener, self.listener.as_fd(), PollFlags::IN);
        }
        if let Some(fd) = self.mailbox.wants_to_write() {
            watch(Ready::Mailbox, fd, PollFlags::OUT);
        }
        for (index, visitor) in self.visitors.iter().enumerate() {
            let mut flags = PollFlags::empty();
            if !visitor.is_behind() {
                flags |= PollFlags::IN;
            }
            if visitor.has_answers() {
                flags |= PollFlags::OUT;
            }
            watch(Ready::Visitor(index), visitor.fd(), flags);
        }
        let limit = self.patience(room).map(|limit| Timespec {
            tv_sec: limit.as_secs() as i64,
            tv_nsec: i64::from(limit.subsec_nanos()),
        });
        if poll(&mut fds, limit.as_ref()).is_err() {
            // Interrupted, or out of memory: everything is simply tried.
            return whose;
        }
        let ready = |fd: &PollFd<'_>| !fd.revents().is_empty();
        whose.iter().zip(&fds).filter(|(_, fd)| ready(fd)).map(|(who, _)| *who).collect()
    }

    /// How long nothing has to be done unless something happens.
    fn patience(&self, room: bool) -> Option<Duration> {
        let now = Instant::now();
        let scribe = self.scribe();
        let mut due: Vec<Instant> = scribe.due().into_iter().collect();
        for visitor in &self.visitors {
            match &visitor.waits {
                Waits::For { wanted, .. } => {
                    if wanted.port.is_some() || wanted.input {
                        due.push(self.next_glance);
                    }
                    let quiet = wanted.quiet_ms.map(Duration::from_millis);
                    due.extend(quiet.and_then(|quiet| scribe.last_output.checked_add(quiet)));
                }
                Waits::Taken { by, .. } => due.push(*by),
                Waits::Nothing | Waits::Gone | Waits::Attached => {}
            }
        }
        if !room {
            due.extend(self.silent().map(|visitor| visitor.heard + SILENCE));
        }
        let own = due.into_iter().min().map(|due| due.saturating_duration_since(now));
        own.into_iter().chain(self.engine.patience()).min()
    }

    fn obey_signals(&mut self) {
        // In a fork storm children end faster than they can be collected: they are looked at once a
        // turn, so that a wish to end the storm is heard.
        let mut children = 0;
        for _ in 0..SIGNALS {
            match self.signals.next() {
                Some(Told::Child) => children += 1,
                Some(Told::Go) => {
                    self.stop = (Stop::Cancelled, None);
                    self.on(Event::StopAsked);
                }
                None => break,
            }
        }
        if children > 0 {
            self.engine.children_changed();
        }
    }

    fn watch_limits(&mut self) {
        if self.scribe().due().is_some_and(|due| due <= Instant::now()) {
            self.scribe().flush();
        }
        if self.engine.is_stopping() {
            self.on(Event::LimitOver);
        }
        if self.stage == Stage::Running && self.scribe().is_over_limit() {
            self.on(Event::LogFull);
        }
    }

    pub(super) fn on(&mut self, event: Event) {
        let (stage, actions) = life::next(self.stage, event);
        self.stage = stage;
        for action in actions {
            match action {
                Action::Announce | Action::Leave => {}
                Action::Stop => {
                    let (why, grace) = self.stop;
                    self.engine.stop(why, grace);
                }
                Action::StopForOutput => self.engine.stop(Stop::OutputLimit, None),
                Action::Count => self.count_survivors(),
                Action::Record => self.store(),
                Action::TellEnd => self.tell_news(),
                Action::TellGone => {
                    for visitor in &mut self.visitors {
                        if visitor.waits == Waits::Gone {
                            visitor.waits = Waits::Nothing;
                            visitor.answer(&Answer::Stopped);
                        }
                    }
                }
            }
        }
    }

    fn count_survivors(&mut self) {
        let survivors = self.engine.processes().unwrap_or_default();
        let survivors: Vec<Process> = survivors.iter().map(|one| self.process(one)).collect();
        if let Some(end) = &mut self.record.end {
            if !survivors.is_empty() {
                let note = format!("{} processes could not be ended", survivors.len());
                end.notes.retain(|other| !other.ends_with("could not be ended"));
                end.notes.push(note);
            }
            end.survivors = survivors;
        }
    }

    fn store(&mut self) {
        self.record.state = self.stage.state();
        if self.stage == Stage::Gone {
            let end = self.record.end.as_mut();
            let had_survivors = end.is_some_and(|end| {
                let survivors = std::mem::take(&mut end.survivors);
                !survivors.is_empty()
            });
            if !had_survivors {
                return;
            }
        }
        // Nothing else can be done about a disk that takes nothing; who looks finds the log.
        let _ = self.record.store(Path::new("."));
    }

    /// How it ended is known.
    fn conclude(&mut self, outcome: Outcome) {
        self.mailbox.close();
        let mut scribe = self.scribe();
        scribe.flush();
        scribe.store_diagnostics(Path::new("."));
        let trouble = scribe.trouble().map(str::to_owned);
        let (id, state) = (self.record.id, Stage::Ended.state());
        let screen = scribe.display().map(|display| display.screen(id, state, &self.mask));
        drop(scribe);
        let usage = outcome.usage.map(|usage| Used {
            cpu_user_ms: usage.cpu_user.as_millis() as u64,
            cpu_system_ms: usage.cpu_system.as_millis() as u64,
            max_rss_bytes: usage.max_rss_bytes,
        });
        self.record.end = Some(End {
            ending: outcome.ending,
            ended_at_ms: now_ms(),
            wall_ms: outcome.duration.as_millis() as u64,
            usage,
            containment: Some(outcome.containment),
            survivors: outcome.survivors.iter().map(|one| self.process(one)).collect(),
            notes: outcome.notes.into_iter().chain(trouble).collect(),
            screen,
        });
        self.on(Event::Told);
    }

    /// The last answers are taken, or not; then it goes.
    fn say_farewell(&mut self) {
        let until = Instant::now() + FAREWELL;
        while self.visitors.iter().any(|visitor| visitor.has_answers() && !visitor.left)
            && Instant::now() < until
        {
            let mut fds: Vec<PollFd<'_>> = self
                .visitors
                .iter()
                .map(|visitor| PollFd::from_borrowed_fd(visitor.fd(), PollFlags::OUT))
                .collect();
            let limit = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
            let _ = poll(&mut fds, Some(&limit));
            drop(fds);
            self.visitors.iter_mut().for_each(Visitor::write);
        }
    }
}

/// Where the job's input comes from, to be recognised when somebody waits for it.
pub(super) fn source(engine: &Engine, mailbox: &Mailbox) -> Source {
    match (engine.terminal(), mailbox.fd()) {
        (Some(terminal), _) => Source::of_terminal(terminal),
        (None, Some(pipe)) => Source::of_pipe(pipe),
        (None, None) => Source::None,
    }
}

/// A second descriptor for a terminal, to type into it.
pub(super) fn typing(terminal: BorrowedFd<'_>) -> Option<std::os::fd::OwnedFd> {
    rustix::io::fcntl_dupfd_cloexec(terminal, 3).ok()
}
