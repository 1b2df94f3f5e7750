//! Many: families that hide, jobs at once.

use std::time::Duration;

use legwork_job::{Condition, Filter, Gather, JobSpec, Met, Place, Reading, State, Waiting};

use super::seen::{everyone, supervisors};
use crate::support::{Jobs, LONG};

#[test]
fn a_fork_storm_is_ended_by_stop_or_said() {
    let jobs = Jobs::new();
    let state = jobs.state();
    let id = jobs.start(&JobSpec::argv([testkit::misbehave().to_str().unwrap(), "fork-storm"]));
    jobs.printed(id, "up");
    let report = jobs.place.stop(id, Some(Duration::ZERO)).unwrap();
    assert!(!report.running, "{report:?}");
    // The supervisor itself is the last to go.
    let lives_on = !report.survivors.is_empty();
    testkit::wait_until("its supervisor to go", || lives_on || supervisors(&state).is_empty());
    let left = everyone(&state);
    let said = !report.survivors.is_empty() || report.note.is_some();
    assert!(left.is_empty() || said, "{} are left and nothing is said: {report:?}", left.len());
    println!("after stop {} are left; {:?}", left.len(), report.note);
    // What is left of one that was given up can be stopped again.
    testkit::wait_until("the end of the storm", || {
        let _ = jobs.place.stop(id, Some(Duration::ZERO));
        everyone(&state).is_empty()
    });
}

#[test]
fn fifty_families_that_did_everything_to_get_away_are_gone_after_stop() {
    let jobs = Jobs::new();
    let directory = tempfile::tempdir().unwrap();
    let program = testkit::misbehave().display();
    let pids = directory.path().display();
    let id = jobs.shell(&format!(
        "for i in $(seq 50); do {program} daemon {pids}/$i clear-env & done; wait; echo all; sleep 300"
    ));
    jobs.printed(id, "all\n");
    let daemons: Vec<testkit::Victim> = (1..=50)
        .map(|number| testkit::Victim(testkit::pid_in(&directory.path().join(number.to_string()))))
        .collect();
    assert!(daemons.iter().all(|daemon| testkit::is_alive(daemon.0)));
    let report = jobs.place.stop(id, Some(Duration::from_millis(100))).unwrap();
    assert!(!report.running && report.survivors.is_empty(), "{report:?}");
    let left = daemons.iter().filter(|daemon| testkit::is_alive(daemon.0)).count();
    assert_eq!(left, 0);
    testkit::wait_until("its supervisor to go", || everyone(&jobs.state()).is_empty());
}

#[test]
fn a_hundred_jobs_at_once_are_started_listed_and_stopped() {
    const JOBS: usize = 100;
    let jobs = Jobs::new();
    let state = jobs.state();
    let ids: Vec<_> = std::thread::scope(|scope| {
        let starters = [(); 4].map(|()| {
            scope.spawn(|| {
                let place = jobs.again();
                let start = |_| place.start(&JobSpec::argv(["sleep", "300"])).unwrap().id;
                (0..JOBS / 4).map(start).collect::<Vec<_>>()
            })
        });
        starters.into_iter().flat_map(|starter| starter.join().unwrap()).collect()
    });
    let page = jobs.place.list(&Filter { look: true, ..Filter::default() }).unwrap();
    assert_eq!((page.total, page.jobs.len()), (JOBS, JOBS));
    for job in &page.jobs {
        assert_eq!((job.state, job.processes.len()), (Some(State::Running), 1), "{job:?}");
    }
    std::thread::scope(|scope| {
        for chunk in ids.chunks(JOBS / 4) {
            let place = jobs.again();
            scope.spawn(move || {
                for id in chunk {
                    assert!(!place.stop(*id, None).unwrap().running);
                }
            });
        }
        let waiting = Waiting {
            jobs: ids.clone(),
            conditions: vec![Condition::Exit],
            gather: Gather::All,
            limit: Some(LONG),
            since: None,
            reading: Reading::default(),
            cancel: None,
        };
        let waited = jobs.place.wait(&waiting).unwrap();
        assert!(waited.iter().all(|waited| waited.met == Met::Exit && !waited.report.running));
    });
    testkit::wait_until("nobody to be left", || everyone(&state).is_empty());
}
