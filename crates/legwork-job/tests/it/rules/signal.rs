//! Signals: to the tree, to the leader, to survivors.

use legwork::{Cause, Signal};
use legwork_job::{JobError, JobId, JobSpec, Place, Reach};

use crate::support::Jobs;

#[test]
fn to_the_tree_or_to_the_leader() {
    let jobs = Jobs::new();
    let id = jobs.start(&JobSpec::argv([
        "bash",
        "-c",
        "trap 'echo leader' USR1
         (trap 'echo child' USR1; echo up; while :; do sleep 0.01; done) &
         echo up; while :; do sleep 0.01; done",
    ]));
    jobs.printed(id, "up\nup\n");
    let leader = jobs.place.signal(id, Signal::USR1, Reach::Leader).unwrap();
    assert_eq!((leader.signal.as_str(), leader.processes.len()), ("SIGUSR1", 1));
    jobs.printed(id, "leader");
    let tree = jobs.place.signal(id, Signal::USR1, Reach::Tree).unwrap();
    assert!(tree.processes.len() >= 2, "{tree:?}");
    assert!(tree.processes.contains(&leader.processes[0]), "{tree:?}");
    let output = jobs.printed(id, "child").output.unwrap();
    assert_eq!(output.matches("child").count(), 1, "{output}");
}

#[test]
fn any_signal_and_the_end_says_which() {
    let jobs = Jobs::new();
    for (word, signal) in [
        ("terminate", Signal::TERM),
        ("kill", Signal::KILL),
        ("34", Signal::from_number(34).unwrap()),
    ] {
        assert_eq!(word.parse::<Signal>().unwrap(), signal);
        let id = jobs.shell("echo up; exec sleep 300");
        jobs.printed(id, "up");
        jobs.place.signal(id, signal, Reach::Tree).unwrap();
        let ending = jobs.ended(id).ending.unwrap();
        assert_eq!(ending.cause(), &Cause::Signaled { signal, by_request: true });
        assert_eq!(ending.number(), 128 + signal.number());
    }
}

#[test]
fn one_that_is_stopped_goes_on_when_told() {
    let jobs = Jobs::new();
    let id = jobs.shell("while :; do echo tick; sleep 0.01; done");
    let pid = jobs.printed(id, "tick").processes[0].pid;
    jobs.place.signal(id, Signal::STOP, Reach::Tree).unwrap();
    testkit::wait_until("it to be stopped", || testkit::state(pid) == Some('T'));
    assert!(jobs.read(id).running);
    jobs.place.signal(id, Signal::CONT, Reach::Tree).unwrap();
    testkit::wait_until("it to go on", || testkit::state(pid) != Some('T'));
}

#[test]
fn survivors_are_reached_and_a_conflict_is_only_where_nothing_is_left() {
    let jobs = Jobs::new();
    let report = jobs.finish(&JobSpec::shell("sleep 300 >/dev/null 2>&1 & echo left"));
    let id = report.id.unwrap();
    assert_eq!(report.survivors.len(), 1);
    let error = jobs.place.signal(id, Signal::TERM, Reach::Leader).unwrap_err();
    assert!(matches!(error, JobError::NotPossible { .. }), "its leader has ended: {error}");
    let signalled = jobs.place.signal(id, Signal::TERM, Reach::Tree).unwrap();
    assert_eq!(signalled.processes.len(), 1);
    assert_eq!(signalled.processes[0].pid, report.survivors[0].pid);
    testkit::wait_until("a conflict", || {
        matches!(
            jobs.place.signal(id, Signal::TERM, Reach::Tree),
            Err(JobError::NothingLeft { .. })
        )
    });
    assert_eq!(jobs.read(id).exit_code, Some(0), "its end stays what it was");
}

#[test]
fn an_unknown_job_is_not_found() {
    let jobs = Jobs::new();
    let error = jobs.place.signal(JobId::random(), Signal::TERM, Reach::Tree).unwrap_err();
    assert!(matches!(error, JobError::NotFound { .. }), "{error}");
}
