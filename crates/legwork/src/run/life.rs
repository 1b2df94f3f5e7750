//! The life of a run as a table: what it is doing, what happens, what is to be done.
//!
//! ```text
//! phase      | event                     | next      | to do
//! -----------+---------------------------+-----------+---------------------------
//! Running    | leaders gone              | Draining  | (survivors: end → Stopping, look)
//! Running    | deadline, silence, cancel | Stopping  | ask the tree to end
//! Running    | kill                      | Killing   | kill the tree
//! Stopping   | leaders gone, looks due   | Stopping  | look who is left
//! Stopping   | nobody left, twice        | Draining  |
//! Stopping   | cancel, with less grace   | Stopping  | (the grace is over sooner)
//! Stopping   | grace over                | Killing   | kill the tree
//! Killing    | somebody left             | Killing   | kill the tree, ever less often
//! Killing    | nobody left, twice        | Draining  |
//! Killing    | patience over             | Over      | let go
//! Draining   | pipes closed              | Over      | finish
//! Draining   | drain over, all passed on | Over      | let go
//! Draining   | kill, cancel, time over   | Over      | let go
//! ```
//!
//! Under a supervisor the run is not over with its answer: where the table says `Over` it comes to
//! linger instead, for as long as somebody lives or holds a pipe.
//!
//! ```text
//! Lingering  | a descendant ended, pipes closed | Lingering | look who is left
//! Lingering  | nobody left, pipes closed        | Over      | finish
//! Lingering  | stop                             | Stopping  | ask the tree to end
//! Lingering  | kill                             | Killing   | kill the tree
//! ```
//!
//! Time is a number that the caller passes in: how long the run has been going on, with the time
//! that a person stopped it left out.

use std::time::Duration;

use crate::options::Survivors;

/// How long the answer waits for pipes that somebody still holds when the command has ended.
const DRAIN: Duration = Duration::from_millis(100);

/// How long killing is tried before the run is given up with what is left listed: a process that
/// the kernel itself cannot end, or one that forks faster than it is found.
const GIVE_UP: Duration = Duration::from_secs(10);

/// Between two looks at the tree, at first and at last.
const FIRST_GAP: Duration = Duration::from_millis(1);
const LAST_GAP: Duration = Duration::from_millis(100);

/// How long a run that was ended may take to pass on what it printed: whoever reads our own output
/// may have stopped doing so.
const SETTLE: Duration = Duration::from_secs(2);

/// Looks in a row that must find nobody. One is not enough: a process can fork and end behind
/// the back of a scan.
const EMPTY_LOOKS: u8 = 2;

/// Why legwork ends a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    Deadline,
    Idle,
    /// It printed more than its supervisor keeps.
    OutputLimit,
    Cancelled,
    /// The caller killed it through its handle: the signal is the cause.
    Killed,
    /// It has ended by itself; what it left behind is being ended.
    Survivors,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    Stopping { kill_at: Duration },
    Killing { give_up_at: Duration },
    Draining { until: Duration, force_at: Option<Duration> },
    Lingering,
    Over,
}

/// What comes after the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    /// Nothing: whoever lives on is let go.
    Finish,
    /// Whoever lives on is looked after.
    Linger,
}

/// What happens to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// Nothing but time.
    Time,
    /// Something was printed.
    Output,
    /// Every leader has ended.
    LeadersGone,
    /// All that the leaders had printed when they ended has been read and passed on.
    Settled,
    /// Every pipe has reached its end, and all that is to be passed on has been.
    PipesClosed,
    /// Somebody looked at the tree: is anyone left?
    Looked {
        empty: bool,
    },
    /// A descendant has ended, or has lost its parent.
    Orphan,
    Stop(Reason),
    Kill,
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// Ask everyone to end.
    Ask,
    /// Kill everyone, then look.
    Kill,
    /// Look who is left.
    Look,
    /// Give up the pipes, list who lives on, finish.
    LetGo,
    /// Tell how it ended, then look who is left.
    Answer,
    Finish,
}

/// The limits of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) timeout: Option<Duration>,
    pub(crate) idle: Option<Duration>,
    pub(crate) grace: Duration,
    pub(crate) survivors: Survivors,
    pub(crate) after: After,
}

/// A run's place in the table.
#[derive(Debug)]
pub(crate) struct Life {
    limits: Limits,
    phase: Phase,
    reason: Option<Reason>,
    leaders_gone: bool,
    pipes_closed: bool,
    last_output: Duration,
    next_look: Duration,
    gap: Duration,
    empty_looks: u8,
    /// Whether everyone was asked to end.
    asked: bool,
    /// Whether all that the leaders printed has been read.
    settled: bool,
    /// Whether it was told how it ended.
    answered: bool,
}

impl Life {
    pub(crate) fn new(limits: Limits) -> Life {
        Life {
            limits,
            phase: Phase::Running,
            reason: None,
            leaders_gone: false,
            pipes_closed: false,
            last_output: Duration::ZERO,
            next_look: Duration::ZERO,
            gap: FIRST_GAP,
            empty_looks: 0,
            asked: false,
            settled: false,
            answered: false,
        }
    }

    /// Whether it is being ended.
    pub(crate) fn is_stopping(&self) -> bool {
        matches!(self.phase, Phase::Stopping { .. } | Phase::Killing { .. })
    }

    /// Whether it lives on after its answer.
    pub(crate) fn lingers(&self) -> bool {
        self.limits.after == After::Linger
    }

    /// From now on, it has so long between being asked and being killed.
    pub(crate) fn set_grace(&mut self, grace: Duration) {
        self.limits.grace = grace;
    }

    /// Why legwork ended it, if it did.
    pub(crate) fn reason(&self) -> Option<Reason> {
        self.reason
    }

    /// When time alone will change something.
    pub(crate) fn next_time(&self) -> Option<Duration> {
        match self.phase {
            Phase::Running => {
                let idle = self.limits.idle.map(|idle| self.last_output + idle);
                self.limits.timeout.into_iter().chain(idle).min()
            }
            Phase::Stopping { kill_at } if self.leaders_gone => Some(kill_at.min(self.next_look)),
            Phase::Stopping { kill_at } => Some(kill_at),
            Phase::Killing { give_up_at } => Some(give_up_at.min(self.next_look)),
            Phase::Draining { until, .. } if self.settled => Some(until),
            Phase::Draining { force_at, .. } => force_at,
            Phase::Lingering | Phase::Over => None,
        }
    }

    /// What is to be done about `event`, `now`.
    pub(crate) fn on(&mut self, event: Event, now: Duration) -> Option<Action> {
        match event {
            Event::Output => {
                self.last_output = now;
                return None;
            }
            Event::LeadersGone => self.leaders_gone = true,
            Event::PipesClosed => self.pipes_closed = true,
            Event::Settled => self.settled = true,
            Event::Time | Event::Looked { .. } | Event::Orphan | Event::Stop(_) | Event::Kill => {}
        }
        match self.phase {
            Phase::Running => self.while_running(event, now),
            Phase::Stopping { kill_at } => self.while_stopping(event, now, kill_at),
            Phase::Killing { give_up_at } => self.while_killing(event, now, give_up_at),
            Phase::Draining { until, force_at } => self.while_draining(event, now, until, force_at),
            Phase::Lingering => self.while_lingering(event, now),
            Phase::Over => None,
        }
    }

    fn while_running(&mut self, event: Event, now: Duration) -> Option<Action> {
        let over = |limit: Option<Duration>, since: Duration| {
            limit.is_some_and(|limit| now >= since + limit)
        };
        // A command that has ended by itself has done so, whatever else happens now.
        if self.leaders_gone {
            return match self.limits.survivors {
                Survivors::Keep => self.drain(now),
                Survivors::End => {
                    self.stop(Reason::Survivors, now);
                    Some(Action::Look)
                }
            };
        }
        let reason = match event {
            Event::Kill => Reason::Killed,
            Event::Stop(reason) => reason,
            _ if over(self.limits.timeout, Duration::ZERO) => Reason::Deadline,
            _ if over(self.limits.idle, self.last_output) => Reason::Idle,
            _ => return None,
        };
        if reason == Reason::Killed {
            self.reason = Some(reason);
            return self.kill(now);
        }
        self.stop(reason, now);
        Some(Action::Ask)
    }

    fn while_stopping(&mut self, event: Event, now: Duration, kill_at: Duration) -> Option<Action> {
        match event {
            Event::Kill => return self.kill(now),
            Event::Looked { empty } => {
                if self.looked(empty, now) {
                    return self.drain(now);
                }
                // The first look at survivors finds out whether there are any to ask.
                if !empty && !self.asked {
                    self.asked = true;
                    return Some(Action::Ask);
                }
            }
            Event::LeadersGone => self.next_look = now,
            // Whoever asks again may have less patience, never more.
            Event::Stop(_) => {
                let kill_at = kill_at.min(now + self.limits.grace);
                self.phase = Phase::Stopping { kill_at };
                return (now >= kill_at).then(|| self.kill(now)).flatten();
            }
            Event::Time | Event::Output | Event::Settled | Event::PipesClosed | Event::Orphan => {}
        }
        if now >= kill_at {
            return self.kill(now);
        }
        (self.leaders_gone && now >= self.next_look).then_some(Action::Look)
    }

    fn while_killing(
        &mut self,
        event: Event,
        now: Duration,
        give_up_at: Duration,
    ) -> Option<Action> {
        if let Event::Looked { empty } = event
            && self.looked(empty, now)
        {
            return self.drain(now);
        }
        if now >= give_up_at {
            return self.end(Action::LetGo);
        }
        (now >= self.next_look).then_some(Action::Kill)
    }

    fn while_draining(
        &mut self,
        event: Event,
        now: Duration,
        until: Duration,
        force_at: Option<Duration>,
    ) -> Option<Action> {
        if self.pipes_closed {
            return self.end(Action::Finish);
        }
        // It has ended, but not all of it: under a supervisor that is to be ended, too.
        match event {
            Event::Stop(_) if self.lingers() => return self.stop_survivors(now),
            Event::Kill if self.lingers() => return self.kill(now),
            _ => {}
        }
        let forced = matches!(event, Event::Kill | Event::Stop(_))
            || force_at.is_some_and(|force_at| now >= force_at);
        if forced || (now >= until && self.settled) {
            return self.end(Action::LetGo);
        }
        None
    }

    fn while_lingering(&mut self, event: Event, now: Duration) -> Option<Action> {
        match event {
            Event::Looked { empty: true } if self.pipes_closed => {
                self.phase = Phase::Over;
                Some(Action::Finish)
            }
            Event::PipesClosed | Event::Orphan => Some(Action::Look),
            Event::Stop(_) => self.stop_survivors(now),
            Event::Kill => self.kill(now),
            Event::Time
            | Event::Output
            | Event::LeadersGone
            | Event::Settled
            | Event::Looked { .. } => None,
        }
    }

    /// How it ended is certain: only its survivors are left to be ended.
    fn stop_survivors(&mut self, now: Duration) -> Option<Action> {
        self.stop(self.reason.unwrap_or(Reason::Survivors), now);
        self.asked = true;
        Some(Action::Ask)
    }

    /// It can be told how it ended.
    fn end(&mut self, last: Action) -> Option<Action> {
        match self.limits.after {
            After::Finish => {
                self.phase = Phase::Over;
                Some(last)
            }
            After::Linger => {
                self.phase = Phase::Lingering;
                let answered = std::mem::replace(&mut self.answered, true);
                Some(if answered { Action::Look } else { Action::Answer })
            }
        }
    }

    fn stop(&mut self, reason: Reason, now: Duration) {
        self.reason = Some(reason);
        self.asked = reason != Reason::Survivors;
        self.phase = Phase::Stopping { kill_at: now + self.limits.grace };
        self.next_look = now;
    }

    fn kill(&mut self, now: Duration) -> Option<Action> {
        self.phase = Phase::Killing { give_up_at: now + GIVE_UP };
        self.gap = FIRST_GAP;
        self.empty_looks = 0;
        self.next_look = now;
        Some(Action::Kill)
    }

    fn drain(&mut self, now: Duration) -> Option<Action> {
        let until = now + DRAIN;
        // One that ended by itself has what is left of its own time; one that was ended has had it.
        let force_at = match self.reason {
            Some(_) => Some(now + SETTLE),
            None => self.limits.timeout.map(|timeout| timeout.max(until)),
        };
        self.phase = Phase::Draining { until, force_at };
        self.while_draining(Event::Time, now, until, force_at)
    }

    /// Takes note of a look. Whether the tree is known to be empty.
    fn looked(&mut self, empty: bool, now: Duration) -> bool {
        if empty && self.leaders_gone {
            self.empty_looks += 1;
            self.next_look = now;
        } else {
            self.empty_looks = 0;
            self.next_look = now + self.gap;
            self.gap = (self.gap * 2).min(LAST_GAP);
        }
        self.empty_looks >= EMPTY_LOOKS
    }
}

#[cfg(test)]
mod tests;
