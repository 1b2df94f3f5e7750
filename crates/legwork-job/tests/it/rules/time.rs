//! Limits of time: they end the tree, and say so.

use std::time::Duration;

use legwork::{Cause, WaitStatus};
use legwork_job::{JobSpec, State};

use crate::support::Jobs;

const SHORT: Option<Duration> = Some(Duration::from_millis(150));

/// A line whose child is told of, and whose whole tree has to go.
fn tree(rest: &str) -> String {
    format!("sleep 300 & echo child $!; {rest}")
}

fn child(report: &legwork_job::Report) -> u32 {
    let output = report.output.as_ref().unwrap();
    let line = output.lines().find(|line| line.starts_with("child")).unwrap();
    line.split(' ').nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_deadline_ends_the_tree() {
    let jobs = Jobs::new();
    let mut spec = JobSpec::shell(tree("while :; do echo busy; sleep 0.01; done"));
    spec.deadline = SHORT;
    let report = jobs.finish(&spec);
    assert_eq!(report.ending.as_ref().unwrap().cause(), &Cause::Deadline);
    assert_eq!((report.shell_code, report.success), (Some(124), Some(false)));
    assert_eq!(report.state, Some(State::Ended));
    assert!(!testkit::is_alive(child(&report)));
}

#[test]
fn silence_ends_it_and_words_keep_it() {
    let jobs = Jobs::new();
    let mut spec = JobSpec::shell(tree("exec sleep 300"));
    spec.idle_timeout = SHORT;
    let report = jobs.finish(&spec);
    assert_eq!(report.ending.as_ref().unwrap().cause(), &Cause::Idle);
    assert!(!testkit::is_alive(child(&report)));

    // Half a second of talk, with breaths far below the limit.
    let mut spec = JobSpec::shell("for i in $(seq 50); do echo $i; sleep 0.01; done");
    spec.idle_timeout = Some(Duration::from_secs(30));
    assert_eq!(jobs.finish(&spec).exit_code, Some(0));
}

#[test]
fn who_does_not_obey_is_killed_after_the_grace() {
    let jobs = Jobs::new();
    let mut spec = JobSpec::shell("trap 'echo asked' TERM; echo up; while :; do sleep 0.01; done");
    spec.deadline = SHORT;
    spec.kill_grace = Some(Duration::from_millis(300));
    let report = jobs.finish(&spec);
    let ending = report.ending.unwrap();
    assert_eq!(ending.cause(), &Cause::Deadline);
    assert!(matches!(ending.status(), Some(WaitStatus::Signaled { .. })), "{ending:?}");
    assert!(report.output.unwrap().contains("asked\n"), "it was asked first");
}

#[test]
fn while_it_is_being_ended_it_says_so() {
    let jobs = Jobs::new();
    let mut spec = JobSpec::shell("trap 'echo asked' TERM; echo up; while :; do sleep 0.01; done");
    spec.deadline = SHORT;
    spec.kill_grace = Some(Duration::from_secs(3600));
    let id = jobs.start(&spec);
    let report = testkit::wait_for("it to be stopping", || {
        Some(jobs.read(id)).filter(|report| report.state == Some(State::Stopping))
    });
    assert!(report.running && report.ending.is_none() && report.exit_code.is_none());
}
