//! The table, line by line.

use super::*;

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn life(timeout: Option<u64>, idle: Option<u64>, survivors: Survivors) -> Life {
    Life::new(Limits {
        timeout: timeout.map(ms),
        idle: idle.map(ms),
        grace: ms(500),
        survivors,
        after: After::Finish,
    })
}

const EMPTY: Event = Event::Looked { empty: true };
const SOMEBODY: Event = Event::Looked { empty: false };

#[test]
fn an_ordinary_end_is_over_when_the_pipes_are_closed() {
    let mut life = life(None, None, Survivors::Keep);
    assert_eq!(life.next_time(), None);
    assert_eq!(life.on(Event::LeadersGone, ms(5)), None);
    assert_eq!(life.on(Event::PipesClosed, ms(6)), Some(Action::Finish));
    assert_eq!(life.reason(), None);

    let mut life = self::life(None, None, Survivors::Keep);
    assert_eq!(life.on(Event::PipesClosed, ms(5)), None, "closed pipes are no end");
    assert_eq!(life.on(Event::LeadersGone, ms(6)), Some(Action::Finish));
}

#[test]
fn a_held_pipe_is_let_go_after_the_drain() {
    let mut life = life(None, None, Survivors::Keep);
    life.on(Event::LeadersGone, ms(5));
    assert_eq!(life.on(Event::Time, ms(500)), None, "what the leader printed comes first");
    let mut life = self::life(None, None, Survivors::Keep);
    life.on(Event::LeadersGone, ms(5));
    assert_eq!(life.on(Event::Settled, ms(5)), None);
    assert_eq!(life.next_time(), Some(ms(5) + DRAIN));
    assert_eq!(life.on(Event::Time, ms(50)), None);
    assert_eq!(life.on(Event::Time, ms(105)), Some(Action::LetGo));
    assert_eq!(life.on(Event::Time, ms(106)), None, "over is over");
}

#[test]
fn an_output_that_nobody_takes_does_not_outlast_kill_cancel_or_the_limit() {
    for event in [Event::Kill, Event::Stop(Reason::Cancelled)] {
        let mut life = life(None, None, Survivors::Keep);
        life.on(Event::LeadersGone, ms(5));
        assert_eq!(life.next_time(), None);
        assert_eq!(life.on(event, ms(50)), Some(Action::LetGo));
        assert_eq!(life.reason(), None, "it had ended by itself");
    }
    let mut life = life(Some(1000), None, Survivors::Keep);
    life.on(Event::LeadersGone, ms(5));
    assert_eq!(life.next_time(), Some(ms(1000)));
    assert_eq!(life.on(Event::Time, ms(1000)), Some(Action::LetGo));
    assert_eq!(life.reason(), None);
}

#[test]
fn a_deadline_asks_then_kills_then_wants_two_empty_looks() {
    let mut life = life(Some(100), None, Survivors::Keep);
    assert_eq!(life.on(Event::Time, ms(99)), None);
    assert_eq!(life.on(Event::Time, ms(100)), Some(Action::Ask));
    assert_eq!(life.reason(), Some(Reason::Deadline));
    assert_eq!(life.on(Event::Time, ms(599)), None);
    assert_eq!(life.on(Event::Time, ms(600)), Some(Action::Kill));
    assert_eq!(life.on(SOMEBODY, ms(600)), None);
    assert_eq!(life.on(Event::LeadersGone, ms(601)), Some(Action::Kill));
    assert_eq!(life.on(EMPTY, ms(601)), Some(Action::Kill));
    assert_eq!(life.on(EMPTY, ms(602)), None);
    assert_eq!(life.on(Event::PipesClosed, ms(602)), Some(Action::Finish));
}

#[test]
fn a_leader_that_obeys_does_not_hide_a_grandchild_that_does_not() {
    let mut life = life(Some(100), None, Survivors::Keep);
    assert_eq!(life.on(Event::Time, ms(100)), Some(Action::Ask));
    assert_eq!(life.on(Event::LeadersGone, ms(110)), Some(Action::Look));
    assert_eq!(life.on(SOMEBODY, ms(110)), None);
    assert_eq!(life.on(Event::Time, ms(111)), Some(Action::Look));
    assert_eq!(life.on(SOMEBODY, ms(111)), None);
    assert_eq!(life.on(Event::Time, ms(600)), Some(Action::Kill));
}

#[test]
fn output_puts_silence_off_and_silence_ends() {
    let mut life = life(Some(1000), Some(100), Survivors::Keep);
    assert_eq!(life.on(Event::Output, ms(90)), None);
    assert_eq!(life.on(Event::Time, ms(100)), None);
    assert_eq!(life.next_time(), Some(ms(190)));
    assert_eq!(life.on(Event::Time, ms(190)), Some(Action::Ask));
    assert_eq!(life.reason(), Some(Reason::Idle));
}

#[test]
fn survivors_are_asked_once_and_then_killed() {
    let mut life = life(None, None, Survivors::End);
    assert_eq!(life.on(Event::LeadersGone, ms(5)), Some(Action::Look));
    assert_eq!(life.on(SOMEBODY, ms(5)), Some(Action::Ask));
    assert_eq!(life.on(Event::Time, ms(6)), Some(Action::Look));
    assert_eq!(life.on(SOMEBODY, ms(6)), None);
    assert_eq!(life.on(Event::Time, ms(505)), Some(Action::Kill));
    assert_eq!(life.reason(), Some(Reason::Survivors));
    assert_eq!(life.on(EMPTY, ms(505)), Some(Action::Kill));
    assert_eq!(life.on(EMPTY, ms(506)), None);

    let mut life = self::life(None, None, Survivors::End);
    assert_eq!(life.on(Event::LeadersGone, ms(5)), Some(Action::Look));
    assert_eq!(life.on(EMPTY, ms(5)), Some(Action::Look));
    life.on(Event::PipesClosed, ms(5));
    assert_eq!(life.on(EMPTY, ms(5)), Some(Action::Finish));
}

#[test]
fn what_cannot_be_killed_is_given_up() {
    let mut life = life(None, None, Survivors::Keep);
    assert_eq!(life.on(Event::Kill, ms(0)), Some(Action::Kill));
    let mut now = Duration::ZERO;
    let mut kills = 0;
    loop {
        now = life.next_time().unwrap().max(now);
        match life.on(Event::Time, now) {
            Some(Action::Kill) => {
                kills += 1;
                life.on(SOMEBODY, now);
            }
            Some(Action::LetGo) => break,
            other => assert_eq!(other, None),
        }
    }
    assert!((10..1000).contains(&kills), "{kills} kills: neither lazy nor frantic");
}

fn lingering(survivors: Survivors) -> Life {
    Life::new(Limits { timeout: None, idle: None, grace: ms(500), survivors, after: After::Linger })
}

#[test]
fn under_a_supervisor_the_answer_comes_first_and_the_end_when_nobody_is_left() {
    let mut life = lingering(Survivors::Keep);
    life.on(Event::PipesClosed, ms(4));
    assert_eq!(life.on(Event::LeadersGone, ms(5)), Some(Action::Answer));
    assert_eq!(life.on(EMPTY, ms(5)), Some(Action::Finish));

    let mut life = lingering(Survivors::Keep);
    life.on(Event::LeadersGone, ms(5));
    life.on(Event::Settled, ms(5));
    assert_eq!(life.on(Event::Time, ms(105)), Some(Action::Answer));
    assert_eq!(life.on(SOMEBODY, ms(105)), None);
    assert_eq!(life.next_time(), None, "nothing is polled for");
    assert_eq!(life.on(Event::Orphan, ms(200)), Some(Action::Look));
    assert_eq!(life.on(EMPTY, ms(200)), None, "somebody else holds the pipe");
    assert_eq!(life.on(Event::PipesClosed, ms(300)), Some(Action::Look));
    assert_eq!(life.on(EMPTY, ms(300)), Some(Action::Finish));
}

#[test]
fn a_stop_between_the_end_and_its_telling_ends_the_survivors() {
    let mut life = lingering(Survivors::Keep);
    assert_eq!(life.on(Event::LeadersGone, ms(5)), None);
    assert_eq!(life.on(Event::Stop(Reason::Cancelled), ms(50)), Some(Action::Ask));
    assert!(life.is_stopping());
    assert_eq!(life.reason(), Some(Reason::Survivors), "it ended by itself");
    assert_eq!(life.on(EMPTY, ms(60)), Some(Action::Look));
    assert_eq!(life.on(EMPTY, ms(60)), None);
    assert_eq!(life.on(Event::PipesClosed, ms(61)), Some(Action::Answer));
}

#[test]
fn survivors_that_linger_can_be_stopped_and_the_ending_stays() {
    let mut life = lingering(Survivors::Keep);
    life.on(Event::LeadersGone, ms(5));
    life.on(Event::Settled, ms(5));
    assert_eq!(life.on(Event::Time, ms(105)), Some(Action::Answer));
    assert_eq!(life.on(SOMEBODY, ms(105)), None);
    assert_eq!(life.on(Event::Stop(Reason::Cancelled), ms(200)), Some(Action::Ask));
    assert_eq!(life.on(Event::Time, ms(700)), Some(Action::Kill));
    assert_eq!(life.on(EMPTY, ms(700)), Some(Action::Kill));
    assert_eq!(life.on(EMPTY, ms(701)), None);
    assert_eq!(life.on(Event::PipesClosed, ms(702)), Some(Action::Look), "not told twice");
    assert_eq!(life.on(EMPTY, ms(702)), Some(Action::Finish));
}

#[test]
fn an_end_that_comes_with_the_deadline_is_an_end() {
    // Drivers tell the leaders' end first, and of the time only then.
    let mut life = life(Some(100), None, Survivors::Keep);
    assert_eq!(life.on(Event::LeadersGone, ms(100)), None);
    assert_eq!(life.reason(), None);
}
