//! Foreground that turns into background.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use legwork::Cause;
use legwork_job::{JobError, JobSpec, OnTimeout, Patience, Place, Reading, Report, State};

use super::asking::folders;
use crate::support::{Jobs, LONG};

fn execute(jobs: &Jobs, spec: &JobSpec, patience: Duration, on_timeout: OnTimeout) -> Report {
    let patience = Patience { on_timeout, ..Patience::of(patience) };
    jobs.place.execute(spec, &patience, &Reading::default()).unwrap()
}

#[test]
fn what_ends_in_time_is_told_whole() {
    let jobs = Jobs::new();
    let report = jobs.finish(&JobSpec::shell("echo hello; exit 3"));
    assert_eq!(report.output.as_deref(), Some("hello\n"));
    assert_eq!((report.exit_code, report.success), (Some(3), Some(false)));
    assert_eq!((report.shell_code, report.state), (Some(3), Some(State::Ended)));
    assert!(!report.running && report.background_process_id.is_none());
    assert!(report.usage.is_some() && report.ended_at.is_some());
}

#[test]
fn patience_over_never_loses_the_command() {
    let jobs = Jobs::new();
    let go = jobs.state().join("go");
    let line =
        format!("echo begun; until [ -e '{}' ]; do sleep 0.01; done; echo done", go.display());
    let report = execute(&jobs, &JobSpec::shell(line), Duration::ZERO, OnTimeout::Background);
    assert!(report.running);
    assert_eq!(report.state, Some(State::Running));
    assert_eq!(report.background_process_id, report.id);
    assert_eq!((report.exit_code, report.success, report.ending), (None, None, None));
    assert_eq!((report.shell_code, report.ended_at), (None, None));
    assert!(!report.processes.is_empty(), "what still runs is looked at");

    let id = report.id.unwrap();
    jobs.printed(id, "begun");
    std::fs::write(go, "").unwrap();
    let report = jobs.ended(id);
    assert_eq!((report.output.as_deref(), report.exit_code), (Some("begun\ndone\n"), Some(0)));
}

#[test]
fn patience_over_can_be_a_deadline() {
    let jobs = Jobs::new();
    let spec = JobSpec::shell("trap 'exit 0' TERM; echo up; while :; do sleep 0.01; done");
    let report = execute(&jobs, &spec, Duration::from_millis(200), OnTimeout::Terminate);
    assert_eq!(report.ending.as_ref().unwrap().cause(), &Cause::Deadline);
    assert_eq!((report.state, report.success), (Some(State::Ended), Some(false)));
    assert_eq!((report.exit_code, report.shell_code), (None, Some(124)));
    assert!(report.processes.is_empty() && report.survivors.is_empty());
}

#[test]
fn what_cannot_start_leaves_nothing_and_tells_why_by_its_number() {
    let jobs = Jobs::new();
    let plain = jobs.state().join("plain");
    std::fs::write(&plain, "no program").unwrap();
    std::fs::set_permissions(&plain, std::fs::Permissions::from_mode(0o644)).unwrap();
    let mut nowhere = JobSpec::argv(["true"]);
    nowhere.workdir = Some("/no/such/place".into());
    let mut no_input = JobSpec::argv(["true"]);
    no_input.stdin = legwork_job::Input::File("/no/such/input".into());
    for (mut spec, number) in [
        (JobSpec::argv(["no-such-program-at-all"]), 127),
        (JobSpec::argv([plain.as_os_str()]), 126),
        (nowhere, 125),
        (no_input, 125),
    ] {
        spec.name = Some("web".into());
        spec.request_id = Some("once".into());
        let error = jobs.place.start(&spec).unwrap_err();
        let JobError::NotStarted(not_started) = &error else { panic!("{error}") };
        assert_eq!(not_started.ending.number(), number, "{error}");
        assert_eq!(not_started.ending.cause().word(), "not_started");
        testkit::wait_until("the folder to go", || folders(&jobs) == 0);
    }
    assert_eq!(jobs.place.list(&legwork_job::Filter::default()).unwrap().total, 0);
    // Neither its name nor its request id is lost with it.
    let mut spec = JobSpec::argv(["true"]);
    spec.name = Some("web".into());
    spec.request_id = Some("once".into());
    assert!(jobs.finish(&spec).success.unwrap());
}

#[test]
fn a_repeated_request_waits_for_the_same_job() {
    let jobs = Jobs::new();
    let go = jobs.state().join("go");
    let mut spec =
        JobSpec::shell(format!("until [ -e '{}' ]; do sleep 0.01; done; echo once", go.display()));
    spec.request_id = Some("r-1".into());
    let first = execute(&jobs, &spec, Duration::ZERO, OnTimeout::Background);
    assert!(first.running);
    let again = execute(&jobs, &spec, Duration::ZERO, OnTimeout::Background);
    assert_eq!((again.id, again.running), (first.id, true));
    std::fs::write(go, "").unwrap();
    for _ in 0..2 {
        let ended = execute(&jobs, &spec, LONG, OnTimeout::Background);
        assert_eq!((ended.id, ended.exit_code), (first.id, Some(0)));
        assert_eq!(ended.output.as_deref(), Some("once\n"));
    }
}
