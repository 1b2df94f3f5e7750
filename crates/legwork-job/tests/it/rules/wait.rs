//! Waiting: for an end, for output, for a port, for silence, for a question.

use std::time::Duration;

use legwork_job::{Condition, Gather, JobError, JobSpec, Met, Place, State, Waiting};

use super::asking::{open, wait_briefly, wait_one, waiting, write};
use crate::support::{Jobs, supervisor};

/// Enough for nothing to happen in.
const BRIEF: Duration = Duration::from_millis(100);

#[test]
fn for_the_end() {
    let jobs = Jobs::new();
    let id = jobs.start(&open("read a; echo bye; exit 4"));
    assert_eq!(wait_briefly(&jobs.place, id, Condition::Exit, BRIEF), Met::Nothing);
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| wait_one(&jobs.again(), id, Condition::Exit));
        write(&jobs, id, "go\n");
        let waited = waiter.join().unwrap();
        assert_eq!((waited.met, waited.report.exit_code), (Met::Exit, Some(4)));
    });
    let again = wait_one(&jobs.place, id, Condition::Exit);
    assert_eq!((again.met, again.report.state), (Met::Exit, Some(State::Ended)));
}

#[test]
fn for_new_output() {
    let jobs = Jobs::new();
    let id = jobs.start(&open("echo old; read a; echo new; sleep 300"));
    let old = jobs.printed(id, "old\n").cursor.unwrap();
    assert_eq!(wait_briefly(&jobs.place, id, Condition::Output, BRIEF), Met::Nothing);
    let from_the_start = Waiting { since: Some(0), ..waiting(&[id], &[Condition::Output]) };
    let waited = jobs.place.wait(&from_the_start).unwrap().remove(0);
    assert_eq!((waited.met, waited.report.output.as_deref()), (Met::Output, Some("old\n")));

    let since = Waiting { since: Some(old), ..waiting(&[id], &[Condition::Output]) };
    write(&jobs, id, "go\n");
    let waited = jobs.place.wait(&since).unwrap().remove(0);
    assert_eq!((waited.met, waited.report.output.as_deref()), (Met::Output, Some("new\n")));
    assert!(waited.report.running);
    let beyond = Waiting { since: Some(1000), ..waiting(&[id], &[Condition::Output]) };
    assert!(matches!(jobs.place.wait(&beyond).unwrap_err(), JobError::Log(_)));
}

#[test]
fn for_a_pattern_that_was_printed_is_printed_later_or_is_a_prompt() {
    let jobs = Jobs::new();
    let id = jobs.start(&open("echo line; echo listening on 80; read a; printf 'name? '; read b"));
    let pattern = |text: &str| Condition::Pattern(text.into());
    let met = wait_one(&jobs.place, id, pattern(r"on \d+")).met;
    assert_eq!(met, Met::Pattern { cursor: 5, line: "listening on 80".into() });
    let again = wait_one(&jobs.place, id, pattern(r"on \d+")).met;
    assert_eq!(again, met, "it has been printed already");
    assert_eq!(wait_briefly(&jobs.place, id, pattern("name"), BRIEF), Met::Nothing);

    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| wait_one(&jobs.again(), id, pattern(r"\? $")));
        write(&jobs, id, "go\n");
        let met = waiter.join().unwrap().met;
        assert!(matches!(&met, Met::Pattern { cursor: 21, line } if line.trim() == "name?"));
    });
    let later = Waiting { since: Some(21), ..waiting(&[id], &[pattern("listening")]) };
    write(&jobs, id, "end\n");
    let met = jobs.place.wait(&later).unwrap().remove(0).met;
    assert_eq!(met, Met::Exit, "what came before the cursor does not count");
    let error = jobs.place.wait(&waiting(&[id], &[pattern("(")])).unwrap_err();
    assert!(matches!(error, JobError::Invalid { field: "pattern", .. }), "{error}");
}

#[test]
fn a_pattern_printed_in_the_moment_of_asking_is_not_missed() {
    let jobs = Jobs::new();
    for round in 0..60 {
        let id = jobs.shell(&format!("sleep 0.0{:02}; echo ready; exec sleep 300", round % 8));
        let met = wait_one(&jobs.place, id, Condition::Pattern("ready".into())).met;
        assert_eq!(met, Met::Pattern { cursor: 0, line: "ready".into() }, "round {round}");
        jobs.place.stop(id, Some(Duration::ZERO)).unwrap();
    }
}

#[test]
fn for_a_port() {
    let jobs = Jobs::new();
    let id = jobs.start(&JobSpec::argv(["python3", "-u", "-m", "http.server", "0"]));
    let Met::Port { port } = wait_one(&jobs.place, id, Condition::Port(None)).met else {
        panic!("no port");
    };
    assert_ne!(port, 0);
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
    assert_eq!(wait_one(&jobs.place, id, Condition::Port(Some(port))).met, Met::Port { port });
    let other = if port == 1 { 2 } else { port - 1 };
    assert_eq!(wait_briefly(&jobs.place, id, Condition::Port(Some(other)), BRIEF), Met::Nothing);
    assert_eq!(jobs.read(id).listening[0].port, port);
}

#[test]
fn for_silence() {
    let jobs = Jobs::new();
    let quiet = Condition::Quiet(Duration::from_millis(200));
    let id = jobs.shell("echo word; sleep 300");
    assert_eq!(wait_one(&jobs.place, id, quiet.clone()).met, Met::Quiet);
    let never = jobs.shell("while :; do echo word; sleep 0.01; done");
    jobs.printed(never, "word");
    let limit = Duration::from_millis(500);
    let long = Condition::Quiet(Duration::from_secs(30));
    assert_eq!(wait_briefly(&jobs.place, never, long, limit), Met::Nothing);
    let over = jobs.shell("exit 3");
    assert_eq!(wait_one(&jobs.place, over, Condition::Quiet(crate::support::LONG)).met, Met::Exit);
}

#[test]
fn for_a_question() {
    let jobs = Jobs::new();
    let id = jobs.start(&open("sleep 0.1; read a; echo $a; sleep 300"));
    let Met::Input { blocked_on } = wait_one(&jobs.place, id, Condition::Input).met else {
        panic!("no question");
    };
    assert!(blocked_on.pid > 0 && !blocked_on.command.is_empty());
    write(&jobs, id, "answer\n");
    jobs.printed(id, "answer");
    assert_eq!(wait_briefly(&jobs.place, id, Condition::Input, 4 * BRIEF), Met::Nothing);
}

#[test]
fn of_several_conditions_the_first() {
    let jobs = Jobs::new();
    let id = jobs.start(&open("read a; echo hello; sleep 300"));
    let conditions =
        [Condition::Output, Condition::Port(None), Condition::Pattern("no such".into())];
    std::thread::scope(|scope| {
        let place = jobs.again();
        let from_the_start = Waiting { since: Some(0), ..waiting(&[id], &conditions) };
        let waiter = scope.spawn(move || place.wait(&from_the_start).unwrap());
        write(&jobs, id, "go\n");
        assert_eq!(waiter.join().unwrap()[0].met, Met::Output);
    });
}

#[test]
fn for_any_or_all_of_many() {
    let jobs = Jobs::new();
    let ids: Vec<_> =
        (0..8).map(|n| jobs.start(&open(&format!("read a; sleep 0.{n}; exit {n}")))).collect();
    write(&jobs, ids[5], "go\n");
    let any = Waiting { gather: Gather::Any, ..waiting(&ids, &[Condition::Exit]) };
    let waited = jobs.place.wait(&any).unwrap();
    assert_eq!(waited.len(), 8);
    for (n, one) in waited.iter().enumerate() {
        assert_eq!(one.met, if n == 5 { Met::Exit } else { Met::Nothing }, "{n}");
        assert_eq!(one.report.running, n != 5);
    }
    let all = Waiting { limit: Some(BRIEF), ..waiting(&ids, &[Condition::Exit]) };
    let met =
        |waited: Vec<legwork_job::Waited>| waited.iter().filter(|one| one.met == Met::Exit).count();
    assert_eq!(met(jobs.place.wait(&all).unwrap()), 1);
    for id in ids.iter().filter(|id| **id != ids[5]) {
        write(&jobs, *id, "go\n");
    }
    let waited = jobs.place.wait(&waiting(&ids, &[Condition::Exit])).unwrap();
    let codes: Vec<_> = waited.iter().map(|one| one.report.exit_code.unwrap()).collect();
    assert_eq!(codes, (0..8).collect::<Vec<_>>());
}

#[test]
fn for_none_is_over_at_once() {
    let jobs = Jobs::new();
    for gather in [Gather::Any, Gather::All] {
        let none = Waiting { gather, limit: None, ..waiting(&[], &[Condition::Exit]) };
        assert!(jobs.place.wait(&none).unwrap().is_empty());
    }
}

#[test]
fn a_job_that_ends_ends_every_wait_for_it() {
    let jobs = Jobs::new();
    let conditions = [
        Condition::Output,
        Condition::Pattern("never".into()),
        Condition::Port(None),
        Condition::Quiet(crate::support::LONG),
        Condition::Input,
    ];
    for condition in conditions {
        let id = jobs.start(&open("cat >/dev/null & exec sleep 300"));
        std::thread::scope(|scope| {
            let again = jobs.again();
            let wanted = condition.clone();
            let waiter = scope.spawn(move || wait_one(&again, id, wanted));
            jobs.place.stop(id, None).unwrap();
            assert_eq!(waiter.join().unwrap().met, Met::Exit, "{condition:?}");
        });
    }
}

/// How often a process has gone to sleep by itself.
fn naps(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("voluntary_ctxt")).unwrap();
    line.split_whitespace().last().unwrap().parse().unwrap()
}

#[test]
fn nobody_polls_for_what_can_be_told() {
    let jobs = Jobs::new();
    let id = jobs.shell("echo up; exec sleep 300");
    jobs.printed(id, "up");
    let pid = supervisor(&jobs.folder(id));
    let before = naps(pid);
    let limit = Duration::from_millis(400);
    let conditions = [Condition::Output, Condition::Pattern("x".into()), Condition::Exit];
    let waiting = Waiting { limit: Some(limit), ..waiting(&[id], &conditions) };
    assert_eq!(jobs.place.wait(&waiting).unwrap()[0].met, Met::Nothing);
    let woken = naps(pid) - before;
    assert!(woken < 20, "the supervisor woke {woken} times");
}

#[test]
fn output_beyond_the_cursor_counts_also_of_a_job_that_has_ended() {
    let jobs = Jobs::new();
    let id = jobs.finish(&JobSpec::shell("echo hello")).id.unwrap();
    let news = Waiting { since: Some(0), ..waiting(&[id], &[Condition::Output]) };
    assert_eq!(jobs.place.wait(&news).unwrap()[0].met, Met::Output);
    let none = Waiting { since: Some(6), ..waiting(&[id], &[Condition::Output]) };
    assert_eq!(jobs.place.wait(&none).unwrap()[0].met, Met::Exit);
}
