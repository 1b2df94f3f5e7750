//! A job that was started from inside a job outlives it.

use legwork_job::{JobId, JobSpec, Place};

use crate::support::Jobs;

/// The line that starts another job of the same place.
fn starting(jobs: &Jobs, line: &str) -> String {
    let program = testkit::misbehave().display();
    format!("'{program}' start-job '{}' '{line}'", jobs.state().display())
}

fn inner(jobs: &Jobs, outer: JobId) -> JobId {
    let first = |output: String| output.lines().next()?.parse().ok();
    testkit::wait_for("the inner job", || first(jobs.read(outer).output?))
}

#[test]
fn it_is_not_ended_with_it() {
    let jobs = Jobs::new();
    let line = starting(&jobs, "echo inside; exec sleep 300");
    let outer = jobs.shell(&format!("{line}; exec sleep 300"));
    let inner = inner(&jobs, outer);
    jobs.printed(inner, "inside");
    let report = jobs.place.stop(outer, None).unwrap();
    assert!(!report.running && report.survivors.is_empty(), "{report:?}");
    assert!(jobs.read(inner).running);
}

#[test]
fn it_is_no_survivor_and_no_process_of_it() {
    let jobs = Jobs::new();
    let report = jobs.finish(&JobSpec::shell(starting(&jobs, "exec sleep 300")));
    assert!(report.survivors.is_empty(), "{report:?}");
    let inner = inner(&jobs, report.id.unwrap());
    assert!(jobs.read(inner).running);
    let outer = crate::support::supervisor(&jobs.folder(report.id.unwrap()));
    testkit::wait_until("the outer supervisor to go", || !testkit::is_alive(outer));

    let outer = jobs.shell(&format!("{}; exec sleep 301", starting(&jobs, "exec sleep 302")));
    self::inner(&jobs, outer);
    testkit::wait_until("its last command", || {
        jobs.read(outer).processes.iter().any(|one| one.command.contains(&"301".into()))
    });
    let seen = jobs.read(outer).processes;
    assert!(seen.iter().all(|one| !one.command.contains(&"302".into())), "{seen:?}");
    let signalled =
        jobs.place.signal(outer, legwork::Signal::CONT, legwork_job::Reach::Tree).unwrap();
    assert_eq!(signalled.processes.len(), 1, "{signalled:?}");
}

#[test]
fn it_is_not_ended_when_the_outer_supervisor_is_lost() {
    let jobs = Jobs::new();
    let outer = jobs.shell(&format!("{}; exec sleep 300", starting(&jobs, "exec sleep 300")));
    let inner = inner(&jobs, outer);
    drop(testkit::Victim(crate::support::supervisor(&jobs.folder(outer))));
    jobs.ended(outer);
    assert!(jobs.read(inner).running);
}
