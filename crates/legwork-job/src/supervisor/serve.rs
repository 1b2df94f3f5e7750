//! The loop of a supervisor: waits for the job, for signals, for visitors, and does what its table
//! says. One thread, nothing polled for unless somebody waits for what no descriptor tells.

use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use legwork::engine::{Engine, Stop, Wants};
use legwork::{Outcome, Signal};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::life::{self, Action, Event, Stage};
use super::lookout::{self, Sight, Source};
use super::mailbox::{self, Mailbox, Posted};
use super::scribe::Scribe;
use super::sys::{Signals, Told};
use super::visitor::{Visitor, Waits};
use crate::place::{Reach, port_met};
use crate::protocol::{self, Answer, Ask, Facts, Kind, Wanted, WhatMet, Why};
use crate::record::{End, InputKind, Record, now_ms};
use crate::report::{Process, Used};
use crate::secrets::Mask;
use crate::spec::Size;

/// Between two looks at the processes, while somebody waits for a port or a prompt.
const GLANCE: Duration = Duration::from_millis(100);

/// Looks in a row that must see it waiting for input: one might catch it in passing.
const BLOCKED_LOOKS: u8 = 2;

/// Signals that are taken in a turn.
const SIGNALS: usize = 8;

/// More visitors than that wait outside, until one goes, or has come and said nothing.
const VISITORS: usize = 256;

/// Whoever says nothing for so long, and waits for nothing, gives way to those outside.
const SILENCE: Duration = Duration::from_secs(1);

/// What is kept of frames that are not whole yet, of all visitors together.
const BEGUN: usize = 48 * 1024 * 1024;

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
    fn scribe(&self) -> MutexGuard<'_, Scribe> {
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
        if self.has_room() {
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
        let limit = self.patience().map(|limit| Timespec {
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
    fn patience(&self) -> Option<Duration> {
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
        if self.visitors.len() >= VISITORS && !self.has_room() {
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
        let screen = scribe.display().map(|display| display.screen(id, state));
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

    /// The one who has been silent longest, of those who wait for nothing.
    fn silent(&self) -> Option<&Visitor> {
        let idle = |visitor: &&Visitor| {
            !visitor.left && visitor.waits == Waits::Nothing && !visitor.has_answers()
        };
        self.visitors.iter().filter(idle).min_by_key(|visitor| visitor.heard)
    }

    /// Whether one more can be let in, if need be in place of one who says nothing.
    fn has_room(&self) -> bool {
        self.visitors.iter().filter(|visitor| !visitor.left).count() < VISITORS
            || self.silent().is_some_and(|visitor| visitor.heard.elapsed() >= SILENCE)
    }

    fn welcome(&mut self) {
        while self.has_room()
            && let Ok((stream, _)) = self.listener.accept()
        {
            if self.visitors.iter().filter(|visitor| !visitor.left).count() >= VISITORS {
                let heard = self.silent().map(|visitor| visitor.heard);
                let mut silent = self.visitors.iter_mut().filter(|v| Some(v.heard) == heard);
                if let Some(visitor) = silent.next() {
                    visitor.leave();
                }
            }
            self.visitors.extend(Visitor::new(stream));
        }
    }

    /// Those who began a frame longest ago and did not finish it go, while all of them together
    /// have begun too much.
    fn limit_begun(&mut self) {
        while self.visitors.iter().map(Visitor::begun).sum::<usize>() > BEGUN {
            let begun = self.visitors.iter_mut().filter(|visitor| visitor.begun() > 0);
            match begun.min_by_key(|visitor| visitor.heard) {
                Some(visitor) => visitor.leave(),
                None => return,
            }
        }
    }

    fn attend(&mut self, index: usize, is_ready: bool) {
        if is_ready {
            self.visitors[index].write();
            self.visitors[index].read();
            while let Some((kind, payload)) = self.visitors[index].frame() {
                self.hear(index, kind, payload);
            }
            self.limit_begun();
        }
        if self.visitors[index].left && self.visitors[index].waits == Waits::Attached {
            self.visitors[index].waits = Waits::Nothing;
            let watched = self.visitors.iter().any(|visitor| visitor.waits == Waits::Attached);
            self.scribe().watch(watched);
        }
    }

    fn hear(&mut self, index: usize, kind: Kind, payload: Vec<u8>) {
        if self.visitors[index].waits == Waits::Attached {
            match kind {
                Kind::Bytes => {
                    self.mailbox.post(payload, false, None);
                }
                Kind::Json => {
                    if let Ok(size) = serde_json::from_slice(&payload) {
                        self.resize(size);
                    }
                }
            }
            return;
        }
        let ask: Ask = match serde_json::from_slice(&payload) {
            Ok(ask) => ask,
            Err(error) => {
                let why = error.to_string();
                let answer = Answer::NotUnderstood { v: protocol::VERSION, why };
                return self.visitors[index].answer(&answer);
            }
        };
        let answer = match ask {
            Ask::Facts { look } => self.facts(look),
            Ask::Wait(wanted) => {
                // News are told at the end of every turn.
                self.next_glance = Instant::now();
                self.visitors[index].waits = Waits::For { wanted, blocked_looks: 0 };
                return;
            }
            Ask::Write { bytes, close, request_id } => {
                let length = bytes.len() as u64;
                match self.post(bytes, close, request_id) {
                    Ok((letter, repeated)) => {
                        let length = self.mailbox.length(letter).unwrap_or(length);
                        let by = mailbox::answer_by();
                        self.visitors[index].waits = Waits::Taken { letter, length, repeated, by };
                        return;
                    }
                    Err(answer) => answer,
                }
            }
            Ask::Signal { signal, reach } => self.signal(signal, reach),
            // It ended just in time; its survivors had no deadline.
            Ask::Stop { why: Why::Deadline, .. } if self.record.end.is_some() => Answer::Stopped,
            Ask::Stop { why, grace_ms } => {
                let why = match why {
                    Why::Request => Stop::Cancelled,
                    Why::Deadline => Stop::Deadline,
                };
                self.stop = (why, grace_ms.map(Duration::from_millis));
                self.visitors[index].waits = Waits::Gone;
                return self.on(Event::StopAsked);
            }
            Ask::Screen => self.screen(),
            Ask::Attach { size } => match self.attach(index, size) {
                Some(refusal) => refusal,
                None => return,
            },
        };
        self.visitors[index].answer(&answer);
    }

    fn look(&self) -> Sight {
        let mut sight = lookout::look(self.source, self.engine.terminal());
        // A secret may stand in an argument.
        for process in &mut sight.processes {
            process.command.iter_mut().for_each(|word| *word = self.mask.text(word));
        }
        if let Some(blocked_on) = &mut sight.blocked_on {
            blocked_on.command.iter_mut().for_each(|word| *word = self.mask.text(word));
        }
        sight
    }

    fn process(&self, survivor: &legwork::Survivor) -> Process {
        let words = survivor.command.iter().map(|word| self.mask.text(&word.to_string_lossy()));
        Process::named(survivor.pid, words.collect())
    }

    fn facts(&mut self, look: bool) -> Answer {
        self.scribe().store_diagnostics(Path::new("."));
        let sight = if look { self.look() } else { Sight::default() };
        Answer::Facts(Facts {
            state: self.stage.state(),
            cursor: self.scribe().cursor(),
            blocked_on: sight.blocked_on,
            listening: sight.listening,
            processes: sight.processes,
        })
    }

    fn post(
        &mut self,
        bytes: Vec<u8>,
        close: bool,
        request: Option<String>,
    ) -> Result<(mailbox::Letter, bool), Answer> {
        if self.record.stdin != InputKind::Open && self.record.terminal.is_none() {
            return Err(Answer::NotPossible {
                why: "was started without an input to write to".into(),
                hint: "start it with `--stdin open` or `--pty`".into(),
            });
        }
        match self.mailbox.post(bytes, close, request) {
            Posted::New(letter) => Ok((letter, false)),
            Posted::Repeated(letter) => Ok((letter, true)),
            Posted::Closed if self.record.end.is_some() => Err(Answer::NothingLeft),
            Posted::Closed => Err(Answer::NotPossible {
                why: "has its input closed".into(),
                hint: "nothing more can be written to it".into(),
            }),
            Posted::Full => Err(Answer::NotPossible {
                why: format!("has not read {} MiB of input yet", mailbox::CAPACITY >> 20),
                hint: "wait until it reads, then write on".into(),
            }),
        }
    }

    fn signal(&mut self, signal: i32, reach: Reach) -> Answer {
        let Some(signal) = Signal::from_number(signal) else {
            let why = format!("no signal has the number {signal}");
            return Answer::NotUnderstood { v: protocol::VERSION, why };
        };
        let reached = match reach {
            Reach::Tree => self.engine.signal(signal).unwrap_or_default(),
            Reach::Leader => self.engine.signal_leader(signal).into_iter().collect(),
        };
        let processes: Vec<Process> = reached.iter().map(|one| self.process(one)).collect();
        if !processes.is_empty() {
            return Answer::Signalled { processes };
        }
        let others_live = || self.engine.processes().is_ok_and(|processes| !processes.is_empty());
        if reach == Reach::Leader && others_live() {
            return Answer::NotPossible {
                why: "has outlived its first process".into(),
                hint: "signal the whole tree".into(),
            };
        }
        Answer::NothingLeft
    }

    fn no_terminal() -> Answer {
        Answer::NotPossible {
            why: "has no terminal".into(),
            hint: "start it with `--pty`; `legwork output` shows what it prints".into(),
        }
    }

    fn screen(&mut self) -> Answer {
        let (id, state) = (self.record.id, self.stage.state());
        let screen = self.scribe().display().map(|display| display.screen(id, state));
        match screen {
            Some(mut screen) => {
                screen.blocked_on = self.look().blocked_on;
                Answer::Screen(screen)
            }
            None => Supervisor::no_terminal(),
        }
    }

    fn attach(&mut self, index: usize, size: Option<Size>) -> Option<Answer> {
        if self.record.terminal.is_none() {
            return Some(Supervisor::no_terminal());
        }
        if self.record.end.is_some() {
            return Some(Answer::NothingLeft);
        }
        if let Some(size) = size {
            self.resize(size);
        }
        let mut scribe = self.scribe();
        scribe.watch(true);
        let drawn = scribe.display().map(|display| display.redrawn()).unwrap_or_default();
        drop(scribe);
        let visitor = &mut self.visitors[index];
        visitor.waits = Waits::Attached;
        visitor.answer(&Answer::Attached);
        visitor.show(&drawn);
        None
    }

    fn resize(&mut self, size: Size) {
        let window = rustix::termios::Winsize {
            ws_row: size.rows,
            ws_col: size.cols,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        if let Some(terminal) = self.engine.terminal() {
            // A terminal that is gone has no size.
            let _ = rustix::termios::tcsetwinsize(terminal, window);
        }
        if let Some(display) = self.scribe().display() {
            display.resize(size);
        }
    }

    /// Answers those whose wait is over.
    fn tell_news(&mut self) {
        let now = Instant::now();
        let glance = now >= self.next_glance
            && self.visitors.iter().any(|visitor| {
                matches!(&visitor.waits, Waits::For { wanted, .. } if wanted.port.is_some() || wanted.input)
            });
        let sight = if glance {
            self.next_glance = now + GLANCE;
            Some(self.look())
        } else {
            None
        };
        let watched = self.scribe().take_watched();
        let (cursor, last_output) = {
            let scribe = self.scribe();
            (scribe.cursor(), scribe.last_output)
        };
        let ended = self.record.end.is_some();
        let Supervisor { visitors, mailbox, .. } = self;
        for visitor in visitors {
            let answer = match &mut visitor.waits {
                Waits::Nothing | Waits::Gone => continue,
                Waits::Attached => {
                    if !watched.is_empty() {
                        visitor.show(&watched);
                    }
                    // Its last words are shown; the connection ends with the job.
                    visitor.left |= ended && !visitor.has_answers();
                    continue;
                }
                Waits::Taken { letter, length, repeated, by } => {
                    let standing = mailbox.standing(*letter, *length);
                    if standing.queued > 0 && *by > now && !ended {
                        continue;
                    }
                    Answer::Written {
                        bytes: standing.taken,
                        queued: standing.queued,
                        repeated: *repeated,
                    }
                }
                Waits::For { wanted, blocked_looks } => {
                    let quiet = now.saturating_duration_since(last_output);
                    let seen = News { cursor, quiet, ended, sight: sight.as_ref() };
                    match seen.met(wanted, blocked_looks) {
                        Some(met) => Answer::Met { met },
                        None => continue,
                    }
                }
            };
            visitor.waits = Waits::Nothing;
            visitor.answer(&answer);
        }
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

/// What there is to tell.
struct News<'a> {
    cursor: u64,
    quiet: Duration,
    ended: bool,
    sight: Option<&'a Sight>,
}

impl News<'_> {
    /// Which condition is met. The end comes last: what happened before it is more to tell.
    fn met(&self, wanted: &Wanted, blocked_looks: &mut u8) -> Option<WhatMet> {
        if wanted.output.is_some_and(|cursor| self.cursor > cursor) {
            return Some(WhatMet::Output);
        }
        if let Some(sight) = self.sight {
            let port = wanted.port.map(|port| (port != 0).then_some(port));
            if let Some(port) = port.and_then(|port| port_met(&sight.listening, port)) {
                return Some(WhatMet::Port(port));
            }
            if let Some(blocked_on) = sight.blocked_on.as_ref().filter(|_| wanted.input) {
                *blocked_looks += 1;
                if *blocked_looks >= BLOCKED_LOOKS {
                    return Some(WhatMet::Input(blocked_on.clone()));
                }
            } else {
                *blocked_looks = 0;
            }
        }
        if self.ended {
            return Some(WhatMet::Exit);
        }
        let quiet = wanted.quiet_ms.map(Duration::from_millis);
        quiet.is_some_and(|quiet| self.quiet >= quiet).then_some(WhatMet::Quiet)
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
