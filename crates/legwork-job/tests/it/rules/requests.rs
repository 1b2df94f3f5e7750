//! A request id starts once.

use std::sync::Barrier;

use legwork_job::{JobError, JobSpec, Place, Started};

use super::asking::folders;
use crate::support::Jobs;

fn request(line: &str, id: &str) -> JobSpec {
    let mut spec = JobSpec::shell(line);
    spec.request_id = Some(id.into());
    spec
}

#[test]
fn the_same_request_is_the_same_job_and_another_command_a_conflict() {
    let jobs = Jobs::new();
    let first = jobs.place.start(&request("sleep 300", "a")).unwrap();
    assert!(!first.existing);
    let again = jobs.again().start(&request("sleep 300", "a")).unwrap();
    assert_eq!(again, Started { id: first.id, existing: true });

    let error = jobs.place.start(&request("sleep 301", "a")).unwrap_err();
    assert!(matches!(error, JobError::RequestReused { id, .. } if id == first.id), "{error}");
    let mut elsewhere = request("sleep 300", "a");
    elsewhere.workdir = Some("/".into());
    assert!(matches!(jobs.place.start(&elsewhere), Err(JobError::RequestReused { .. })));

    assert_ne!(jobs.place.start(&request("sleep 300", "b")).unwrap().id, first.id);
    let mut other_session = request("sleep 301", "a");
    other_session.session = Some("mine".into());
    assert!(!jobs.place.start(&other_session).unwrap().existing);
    testkit::wait_until("three folders", || folders(&jobs) == 3);
}

#[test]
fn what_only_describes_a_job_makes_no_other_request_of_it() {
    let jobs = Jobs::new();
    let first = jobs.place.start(&request("sleep 300", "a")).unwrap();
    let mut described = request("sleep 300", "a");
    described.intent = Some("Sleeping".into());
    described.labels.insert("part".into(), "b".into());
    assert_eq!(jobs.place.start(&described).unwrap(), Started { id: first.id, existing: true });
}

#[test]
fn two_at_once_are_one_job() {
    let jobs = Jobs::new();
    for round in 0..20 {
        let spec = request("echo here", &format!("round {round}"));
        let barrier = Barrier::new(2);
        let ran = std::thread::scope(|scope| {
            let both = [0, 1].map(|_| {
                scope.spawn(|| {
                    let place = jobs.again();
                    barrier.wait();
                    let started = place.start(&spec).unwrap();
                    // Whoever is told an id can use it at once.
                    place.read(started.id, &legwork_job::Reading::default()).unwrap();
                    started
                })
            });
            both.map(|one| one.join().unwrap())
        });
        assert_eq!(ran[0].id, ran[1].id, "round {round}");
        assert!(ran[0].existing != ran[1].existing, "round {round}");
    }
    testkit::wait_until("a folder for each round", || folders(&jobs) == 20);
}

#[test]
fn two_at_once_that_cannot_start_are_both_told() {
    let jobs = Jobs::new();
    for round in 0..20 {
        let mut spec = JobSpec::argv(["no-such-program-at-all"]);
        spec.request_id = Some(format!("round {round}"));
        let barrier = Barrier::new(2);
        std::thread::scope(|scope| {
            let both = [0, 1].map(|_| {
                scope.spawn(|| {
                    let place = jobs.again();
                    barrier.wait();
                    place.start(&spec)
                })
            });
            for one in both {
                let told = one.join().unwrap();
                assert!(matches!(told, Err(JobError::NotStarted(_))), "round {round}: {told:?}");
            }
        });
    }
    testkit::wait_until("no folder", || folders(&jobs) == 0);
}

#[test]
fn a_request_id_has_a_length() {
    let jobs = Jobs::new();
    for bad in [String::new(), "x".repeat(257)] {
        let error = jobs.place.start(&request("true", &bad)).unwrap_err();
        assert!(matches!(error, JobError::Invalid { field: "request_id", .. }), "{error}");
    }
    assert!(!jobs.place.start(&request("true", &"x".repeat(256))).unwrap().existing);
}
