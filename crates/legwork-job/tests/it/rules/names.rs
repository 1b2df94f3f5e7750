//! Names, labels and intents: what a caller calls a job.

use std::sync::Barrier;

use legwork_job::{JobError, JobSpec, Place};

use crate::support::Jobs;

fn named(line: &str, name: &str) -> JobSpec {
    let mut spec = JobSpec::shell(line);
    spec.name = Some(name.into());
    spec
}

#[test]
fn a_name_belongs_to_one_running_job_and_is_free_after_its_end() {
    let jobs = Jobs::new();
    let first = jobs.start(&named("sleep 300", "web"));
    let error = jobs.place.start(&named("true", "web")).unwrap_err();
    assert!(matches!(&error, JobError::NameTaken { id, name } if *id == first && name == "web"));
    assert!(error.to_string().contains("ensure"), "it says what to do: {error}");
    assert_eq!(jobs.place.find("web", None).unwrap(), first);

    jobs.place.stop(first, None).unwrap();
    assert_eq!(jobs.place.find("web", None).unwrap(), first, "an ended job is still found by it");
    let second = jobs.start(&named("sleep 300", "web"));
    assert_ne!(first, second);
    assert_eq!(jobs.place.find("web", None).unwrap(), second);
}

#[test]
fn survivors_do_not_keep_the_name() {
    let jobs = Jobs::new();
    let first = jobs.finish(&named("sleep 300 >/dev/null 2>&1 &", "web"));
    assert_eq!(first.survivors.len(), 1, "{first:?}");
    assert_ne!(Some(jobs.start(&named("sleep 300", "web"))), first.id);
}

#[test]
fn a_name_holds_within_a_session() {
    let jobs = Jobs::new();
    let mut ids = Vec::new();
    for session in [None, Some("a"), Some("a/b"), Some("b")] {
        let mut spec = named("sleep 300", "web");
        spec.session = session.map(str::to_owned);
        ids.push(jobs.start(&spec));
    }
    assert_eq!(jobs.place.find("web", Some("a")).unwrap(), ids[1], "one's own comes first");
    assert_eq!(jobs.place.find("web", Some("a/b")).unwrap(), ids[2]);
    assert_eq!(jobs.place.find("web", None).unwrap(), ids[0], "also of who has no session");
    jobs.place.stop(ids[0], None).unwrap();
    let error = jobs.place.find("web", None).unwrap_err();
    assert!(matches!(error, JobError::Ambiguous { .. }), "{error}");
}

#[test]
fn two_at_once_are_one_job() {
    let jobs = Jobs::new();
    for round in 0..10 {
        let spec = named("sleep 300", &format!("web-{round}"));
        let barrier = Barrier::new(2);
        let ran = std::thread::scope(|scope| {
            let both = [0, 1].map(|_| {
                scope.spawn(|| {
                    let place = jobs.again();
                    barrier.wait();
                    place.start(&spec)
                })
            });
            both.map(|one| one.join().unwrap())
        });
        let started: Vec<_> = ran.iter().filter_map(|one| one.as_ref().ok()).collect();
        assert_eq!(started.len(), 1, "round {round}: {ran:?}");
        let refused = ran.iter().find_map(|one| one.as_ref().err()).unwrap();
        let id = started[0].id;
        assert!(matches!(refused, JobError::NameTaken { id: of, .. } if *of == id), "{refused}");
    }
}

#[test]
fn a_malformed_name_or_label_is_refused() {
    let jobs = Jobs::new();
    for name in ["", "-web", ".web", "a b", "a/b", &"x".repeat(65)] {
        let error = jobs.place.start(&named("true", name)).unwrap_err();
        assert!(matches!(error, JobError::Invalid { field: "name", .. }), "{name:?}: {error}");
    }
    for (key, value) in [("", "x"), ("a b", "x"), ("part", "a\nb")] {
        let mut spec = JobSpec::shell("true");
        spec.labels.insert(key.into(), value.into());
        let error = jobs.place.start(&spec).unwrap_err();
        assert!(matches!(error, JobError::Invalid { field: "label", .. }), "{key:?}: {error}");
    }
}

#[test]
fn labels_and_the_intent_are_kept_and_the_intent_is_short() {
    let jobs = Jobs::new();
    let mut spec = JobSpec::shell("true");
    spec.labels.insert("part".into(), "backend".into());
    spec.labels.insert("why".into(), "a=b ü".into());
    spec.intent = Some("ü".repeat(150));
    let report = jobs.finish(&spec);
    assert_eq!(report.labels, spec.labels);
    assert_eq!(report.intent, Some("ü".repeat(100)));
}

#[test]
fn a_job_is_found_by_name_by_id_and_by_the_beginning_of_one() {
    let jobs = Jobs::new();
    let id = jobs.start(&named("sleep 300", "web"));
    assert_eq!(jobs.place.find(id.as_str(), None).unwrap(), id);
    assert_eq!(jobs.place.find(&id.as_str()[..5], None).unwrap(), id);
    let error = jobs.place.find("wbe", None).unwrap_err();
    assert!(matches!(&error, JobError::NotFound { near, .. } if near == &["web"]), "{error}");
    // An exact name beats the beginning of an id.
    let namesake = jobs.start(&named("sleep 300", &id.as_str()[..5]));
    assert_eq!(jobs.place.find(&id.as_str()[..5], None).unwrap(), namesake);
}
