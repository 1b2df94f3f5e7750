//! Named services.

use std::sync::Barrier;

use legwork_job::{Ensured, JobError, JobSpec, Place};

use crate::support::Jobs;

fn service(line: &str) -> JobSpec {
    let mut spec = JobSpec::shell(line);
    spec.name = Some("web".into());
    spec
}

#[test]
fn started_then_running_then_replaced() {
    let jobs = Jobs::new();
    let (first, how) = jobs.place.ensure(&service("sleep 300")).unwrap();
    assert_eq!(how, Ensured::Started);
    assert_eq!(jobs.again().ensure(&service("sleep 300")).unwrap(), (first, Ensured::Running));

    let (second, how) = jobs.place.ensure(&service("sleep 301")).unwrap();
    assert_eq!(how, Ensured::Replaced);
    assert!(!jobs.read(first).running);
    assert_eq!(jobs.place.find("web", None).unwrap(), second);

    jobs.place.stop(second, None).unwrap();
    let (third, how) = jobs.place.ensure(&service("sleep 301")).unwrap();
    assert_eq!(how, Ensured::Started, "it had ended");
    assert_ne!(second, third);
}

#[test]
fn another_workdir_or_environment_is_another_service() {
    let jobs = Jobs::new();
    let (first, _) = jobs.place.ensure(&service("sleep 300")).unwrap();
    let mut there = service("sleep 300");
    there.workdir = Some("/".into());
    let (second, how) = jobs.place.ensure(&there).unwrap();
    assert_eq!((how, first == second), (Ensured::Replaced, false));
    there.env.push(("PORT".into(), Some("80".into())));
    assert_eq!(jobs.place.ensure(&there).unwrap().1, Ensured::Replaced);
    assert_eq!(jobs.place.ensure(&there).unwrap().1, Ensured::Running);
    there.intent = Some("Serving".into());
    assert_eq!(jobs.place.ensure(&there).unwrap().1, Ensured::Running, "only described");
}

#[test]
fn two_at_once_are_one_job() {
    let jobs = Jobs::new();
    for round in 0..8 {
        let spec = service(&format!("sleep 30{round}"));
        let barrier = Barrier::new(3);
        let ids = std::thread::scope(|scope| {
            let all = [(); 3].map(|()| {
                scope.spawn(|| {
                    let place = jobs.again();
                    barrier.wait();
                    place.ensure(&spec).unwrap()
                })
            });
            all.map(|one| one.join().unwrap())
        });
        let running = ids.iter().filter(|(_, how)| *how == Ensured::Running).count();
        assert_eq!(running, 2, "round {round}: {ids:?}");
        assert!(ids.iter().all(|(id, _)| *id == ids[0].0), "round {round}: {ids:?}");
        assert!(jobs.read(ids[0].0).running);
    }
}

#[test]
fn a_service_needs_a_name() {
    let jobs = Jobs::new();
    let error = jobs.place.ensure(&JobSpec::shell("true")).unwrap_err();
    assert!(matches!(error, JobError::Invalid { field: "name", .. }), "{error}");
}
