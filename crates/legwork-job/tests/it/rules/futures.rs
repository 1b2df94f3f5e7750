//! The operations as futures.

use std::time::Duration;

use legwork_job::tokio::Async;
use legwork_job::{Condition, Filter, JobSpec, Met, OnTimeout, Place, Reading};

use super::asking::waiting;
use crate::support::{Jobs, LONG};

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn they_do_the_same() {
    let jobs = Jobs::new();
    let place = Async::new(jobs.again());
    runtime().block_on(async {
        let report = place
            .execute(
                JobSpec::shell("echo hi; exit 3"),
                LONG,
                OnTimeout::Background,
                Reading::default(),
            )
            .await
            .unwrap();
        assert_eq!((report.output.as_deref(), report.exit_code), (Some("hi\n"), Some(3)));
        let id = place.start(JobSpec::shell("sleep 300")).await.unwrap().id;
        assert_eq!(place.find(id.to_string(), None).await.unwrap(), id);
        place.stop(id, Some(Duration::ZERO)).await.unwrap();
        let waited = place.wait(waiting(&[id], &[Condition::Exit])).await.unwrap();
        assert_eq!(waited[0].met, Met::Exit);
    });
}

#[test]
fn a_wait_that_is_dropped_gives_its_thread_back_and_leaves_the_job() {
    let jobs = Jobs::new();
    let id = jobs.shell("sleep 300");
    let place = Async::new(jobs.again());
    let runtime = runtime();
    runtime.block_on(async {
        let spec = JobSpec::shell("sleep 300");
        let wait = place.wait(waiting(&[id], &[Condition::Exit]));
        let execute = place.execute(spec, LONG, OnTimeout::Terminate, Reading::default());
        let brief = Duration::from_millis(200);
        assert!(tokio::time::timeout(brief, wait).await.is_err());
        assert!(tokio::time::timeout(brief, execute).await.is_err());
    });
    // It waits for its threads: with one still waiting for a job, for ever.
    drop(runtime);
    let page = jobs.place.list(&Filter::default()).unwrap();
    assert_eq!(page.jobs.iter().filter(|job| job.running).count(), 2, "both run on");
}
