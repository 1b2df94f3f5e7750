//! The life of a job as a table: where it is, what happens, what is to be done.
//!
//! How a command is ended, step by step, is the library's table; this one is about the job around
//! it: what is on its record, who is told, and when its supervisor may go.

use crate::report::State;

/// Where a job is, seen by its supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Its record is written, its command is not running yet.
    Starting,
    /// Its command runs.
    Running,
    /// Its command is being ended.
    Stopping,
    /// How it ended is known; survivors may live on.
    Ended,
    /// Nothing of it is left.
    Gone,
}

impl Stage {
    /// As its record says it.
    pub(super) fn state(self) -> State {
        match self {
            Stage::Starting => State::Starting,
            Stage::Running => State::Running,
            Stage::Stopping => State::Stopping,
            Stage::Ended | Stage::Gone => State::Ended,
        }
    }
}

/// What happens to a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// The command runs.
    Born,
    /// Somebody wants it ended, or its supervisor itself is asked to go.
    StopAsked,
    /// One of its limits of time is over: it is being ended already.
    LimitOver,
    /// It printed more than is kept, and is not to go on then.
    LogFull,
    /// How it ended is known.
    Told,
    /// Its end is known, it was to be ended whole, and somebody is left who cannot be ended.
    GivenUp,
    /// No process and no pipe of it is left.
    Empty,
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// Say in the lock who the command is, and answer who started it.
    Announce,
    /// End it politely, then surely.
    Stop,
    /// The same, and the reason is its output.
    StopForOutput,
    /// Look who is left, for the record.
    Count,
    /// Write the record.
    Record,
    /// Answer those who wait for the end.
    TellEnd,
    /// Answer those who wait until nothing is left.
    TellGone,
    /// Go.
    Leave,
}

/// The table.
pub(super) fn next(stage: Stage, event: Event) -> (Stage, &'static [Action]) {
    use Action::{Announce, Count, Leave, Record, Stop, StopForOutput, TellEnd, TellGone};
    match (stage, event) {
        (Stage::Starting, Event::Born) => (Stage::Running, &[Announce]),

        (Stage::Running, Event::StopAsked) => (Stage::Stopping, &[Stop, Record]),
        (Stage::Running, Event::LogFull) => (Stage::Stopping, &[StopForOutput, Record]),
        (Stage::Running, Event::LimitOver) => (Stage::Stopping, &[Record]),
        (Stage::Running | Stage::Stopping, Event::Told) => (Stage::Ended, &[Record, TellEnd]),
        // A shorter grace may have been asked for.
        (Stage::Stopping, Event::StopAsked) => (Stage::Stopping, &[Stop]),

        (Stage::Ended, Event::StopAsked) => (Stage::Ended, &[Stop]),
        (Stage::Ended, Event::GivenUp) => (Stage::Ended, &[Count, Record, TellGone]),
        (Stage::Ended, Event::Empty) => (Stage::Gone, &[Record, TellGone, Leave]),

        // It comes too late, or too early to mean anything.
        (Stage::Starting, _)
        | (Stage::Running, Event::Born | Event::GivenUp | Event::Empty)
        | (
            Stage::Stopping,
            Event::Born | Event::LimitOver | Event::LogFull | Event::GivenUp | Event::Empty,
        )
        | (Stage::Ended, Event::Born | Event::LimitOver | Event::LogFull | Event::Told)
        | (Stage::Gone, _) => (stage, &[]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAGES: [Stage; 5] =
        [Stage::Starting, Stage::Running, Stage::Stopping, Stage::Ended, Stage::Gone];
    const EVENTS: [Event; 7] = [
        Event::Born,
        Event::StopAsked,
        Event::LimitOver,
        Event::LogFull,
        Event::Told,
        Event::GivenUp,
        Event::Empty,
    ];

    #[test]
    fn nothing_leads_back() {
        let order = |stage| STAGES.iter().position(|other| *other == stage).unwrap();
        for stage in STAGES {
            for event in EVENTS {
                assert!(order(next(stage, event).0) >= order(stage), "{stage:?} {event:?}");
            }
        }
    }

    #[test]
    fn an_end_is_on_record_before_anyone_is_told() {
        for stage in [Stage::Running, Stage::Stopping] {
            let (after, actions) = next(stage, Event::Told);
            assert_eq!(after.state(), State::Ended);
            assert_eq!(actions, [Action::Record, Action::TellEnd]);
        }
    }

    #[test]
    fn a_supervisor_goes_only_when_nothing_is_left() {
        for stage in STAGES {
            for event in EVENTS {
                let leaves = next(stage, event).1.contains(&Action::Leave);
                assert_eq!(leaves, (stage, event) == (Stage::Ended, Event::Empty));
            }
        }
    }

    #[test]
    fn an_end_cannot_be_overtaken_by_a_wish_to_end_it() {
        assert_eq!(next(Stage::Ended, Event::StopAsked), (Stage::Ended, &[Action::Stop][..]));
        assert_eq!(next(Stage::Ended, Event::LogFull).1, []);
    }
}
