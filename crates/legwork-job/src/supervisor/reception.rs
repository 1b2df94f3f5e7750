//! The reception of a supervisor: who may come in, what they ask, and when they are answered.

use std::path::Path;
use std::time::{Duration, Instant};

use legwork::Signal;
use legwork::engine::Stop;

use super::life::Event;
use super::lookout::{self, Sight};
use super::mailbox::{self, Posted};
use super::serve::Supervisor;
use super::visitor::{Visitor, Waits};
use crate::place::{Reach, port_met};
use crate::protocol::{self, Answer, Ask, Facts, Kind, Wanted, WhatMet, Why};
use crate::record::InputKind;
use crate::report::Process;
use crate::spec::Size;

/// Between two looks at the processes, while somebody waits for a port or a prompt.
const GLANCE: Duration = Duration::from_millis(100);

/// Looks in a row that must see it waiting for input: one might catch it in passing.
const BLOCKED_LOOKS: u8 = 2;

/// More visitors than that wait outside, until one goes, or has come and said nothing.
const VISITORS: usize = 256;

/// Whoever says nothing for so long, and waits for nothing, gives way to those outside.
pub(super) const SILENCE: Duration = Duration::from_secs(1);

/// What is kept of frames that are not whole yet, of all visitors together.
const BEGUN: usize = 48 * 1024 * 1024;

impl Supervisor {
    /// The one who has been silent longest, of those who wait for nothing.
    pub(super) fn silent(&self) -> Option<&Visitor> {
        let idle = |visitor: &&Visitor| {
            !visitor.left && visitor.waits == Waits::Nothing && !visitor.has_answers()
        };
        self.visitors.iter().filter(idle).min_by_key(|visitor| visitor.heard)
    }

    /// Whether one more can be let in, if need be in place of one who says nothing.
    pub(super) fn has_room(&self) -> bool {
        self.visitors.iter().filter(|visitor| !visitor.left).count() < VISITORS
            || self.silent().is_some_and(|visitor| visitor.heard.elapsed() >= SILENCE)
    }

    pub(super) fn welcome(&mut self) {
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

    pub(super) fn attend(&mut self, index: usize, is_ready: bool) {
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

    pub(super) fn process(&self, survivor: &legwork::Survivor) -> Process {
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
            Posted::Different => Err(Answer::NotPossible {
                why: "was sent something else with this request id".into(),
                hint: "use a new one".into(),
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
        let screen = self.scribe().display().map(|display| display.screen(id, state, &self.mask));
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
    pub(super) fn tell_news(&mut self) {
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
