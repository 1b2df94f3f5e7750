//! Stopping: asked, then surely, and nothing is left.

use std::time::Duration;

use legwork::Cause;
use legwork_job::{JobError, JobSpec, Place, State};

use crate::support::Jobs;

const SHORT: Option<Duration> = Some(Duration::from_millis(50));

fn misbehaving(args: &[&str]) -> JobSpec {
    let program = testkit::misbehave().to_str().unwrap();
    JobSpec::argv(std::iter::once(program).chain(args.iter().copied()))
}

#[test]
fn who_obeys_is_asked_and_ends_as_it_likes() {
    let jobs = Jobs::new();
    let id = jobs.shell("trap 'echo tidied; exit 7' TERM; echo up; while :; do sleep 0.01; done");
    jobs.printed(id, "up");
    let report = jobs.place.stop(id, None).unwrap();
    assert_eq!(report.ending.as_ref().unwrap().cause(), &Cause::Cancelled);
    assert_eq!((report.state, report.success), (Some(State::Ended), Some(false)));
    assert!(jobs.read(id).output.unwrap().contains("tidied\n"));
    let error = jobs.place.stop(id, None).unwrap_err();
    assert!(matches!(error, JobError::NothingLeft { .. }), "{error}");
}

#[test]
fn who_hid_in_another_session_and_ignores_it_is_gone_too() {
    let jobs = Jobs::new();
    for options in [&["linger"][..], &["linger", "clear-env"]] {
        let file = jobs.state().join(format!("pid{}", options.len()));
        let mut args = vec!["daemon", file.to_str().unwrap()];
        args.extend(options);
        let id = jobs.start(&misbehaving(&args));
        let pid = testkit::pid_in(&file);
        assert!(testkit::is_alive(pid));
        let report = jobs.place.stop(id, SHORT).unwrap();
        assert!(!testkit::is_alive(pid), "{options:?}");
        assert!(report.survivors.is_empty(), "{report:?}");
    }
}

#[test]
fn survivors_are_stopped_and_the_end_stays_what_it_was() {
    let jobs = Jobs::new();
    let file = jobs.state().join("pid");
    let report = jobs.finish(&misbehaving(&["daemon", file.to_str().unwrap()]));
    let pid = testkit::pid_in(&file);
    assert_eq!((report.exit_code, report.survivors[0].pid), (Some(0), pid));
    let id = report.id.unwrap();
    let report = jobs.place.stop(id, SHORT).unwrap();
    assert!(!testkit::is_alive(pid));
    assert_eq!((report.exit_code, report.survivors.len()), (Some(0), 0));
    assert_eq!(jobs.read(id).survivors, []);
}

#[test]
fn asked_again_with_less_grace_it_is_sooner() {
    let jobs = Jobs::new();
    let mut spec = JobSpec::shell("trap '' TERM; echo up; while :; do sleep 0.01; done");
    spec.kill_grace = Some(Duration::from_secs(3600));
    let id = jobs.start(&spec);
    jobs.printed(id, "up");
    std::thread::scope(|scope| {
        let patient = scope.spawn(|| jobs.again().stop(id, None).unwrap());
        testkit::wait_until("it to be stopping", || jobs.read(id).state == Some(State::Stopping));
        assert!(jobs.read(id).running);
        assert!(!jobs.place.stop(id, SHORT).unwrap().running);
        assert!(!patient.join().unwrap().running);
    });
}
