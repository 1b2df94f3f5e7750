//! Listing: all of them, by pages, and one that cannot be read hurts no other.

use std::time::Duration;

use legwork_job::{Filter, JobError, JobId, JobSpec, Page, Place, Reading, State};

use crate::support::Jobs;

fn ids(page: &Page) -> Vec<JobId> {
    page.jobs.iter().filter_map(|job| job.id).collect()
}

#[test]
fn running_first_newest_first_by_pages() {
    let jobs = Jobs::new();
    let mut expected = Vec::new();
    let running_old = jobs.shell("sleep 300");
    for _ in 0..3 {
        expected.insert(0, jobs.finish(&JobSpec::shell("true")).id.unwrap());
    }
    let running_new = jobs.shell("sleep 300");
    expected.splice(0..0, [running_new, running_old]);

    let page = jobs.place.list(&Filter::default()).unwrap();
    assert_eq!((ids(&page), page.total), (expected.clone(), 5));
    let mut collected = Vec::new();
    for number in 0..4 {
        let filter = Filter { limit: Some(2), page: number, ..Filter::default() };
        let page = jobs.place.list(&filter).unwrap();
        assert_eq!(page.total, 5, "the whole is told on every page");
        assert_eq!(page.jobs.len(), [2, 2, 1, 0][number]);
        collected.extend(ids(&page));
    }
    assert_eq!(collected, expected);
}

#[test]
fn a_row_tells_what_is_known() {
    let jobs = Jobs::new();
    let mut spec = JobSpec::argv(["echo", "a b"]);
    spec.intent = Some("Saying".into());
    jobs.finish(&spec);
    let page = jobs.place.list(&Filter::default()).unwrap();
    let row = &page.jobs[0];
    assert_eq!(row.command, "echo 'a b'");
    assert_eq!(row.argv.as_deref(), Some(&["echo".to_owned(), "a b".to_owned()][..]));
    assert_eq!((row.state, row.exit_code, row.bytes), (Some(State::Ended), Some(0), Some(4)));
    assert_eq!((row.output.as_deref(), row.intent.as_deref()), (None, Some("Saying")));
    assert!(row.started_at.is_some() && row.ended_at.is_some() && row.workdir.is_some());
}

#[test]
fn filters_narrow_and_go_together() {
    let jobs = Jobs::new();
    let labelled = |name: &str, part: &str, line: &str| {
        let mut spec = JobSpec::shell(line);
        spec.name = Some(name.into());
        spec.labels = [("part".to_owned(), part.to_owned()), ("all".into(), "yes".into())].into();
        spec
    };
    let web = jobs.start(&labelled("web", "front", "sleep 300"));
    let api = jobs.start(&labelled("api", "back", "sleep 300"));
    let old = jobs.finish(&labelled("old", "back", "true")).id.unwrap();
    let listed = |filter: Filter| {
        let page = jobs.place.list(&filter).unwrap();
        assert_eq!(page.total, page.jobs.len());
        ids(&page)
    };
    let label = |key: &str, value: &str| [(key.to_owned(), value.to_owned())].into();
    assert_eq!(listed(Filter { name: Some("web".into()), ..Filter::default() }), [web]);
    assert_eq!(listed(Filter { labels: label("part", "back"), ..Filter::default() }), [api, old]);
    assert_eq!(listed(Filter { labels: label("part", "none"), ..Filter::default() }), []);
    assert_eq!(listed(Filter { states: vec![State::Ended], ..Filter::default() }), [old]);
    assert_eq!(listed(Filter { states: vec![State::Running], ..Filter::default() }), [api, web]);
    let both = Filter {
        labels: label("part", "back"),
        states: vec![State::Running, State::Stopping],
        ..Filter::default()
    };
    assert_eq!(listed(both), [api]);
    let soon = Duration::from_secs(3600);
    let all = Filter { ended_within: Some(soon), ..Filter::default() };
    assert_eq!(listed(all), [api, web, old]);
    age(&jobs, old, 2 * 3600 * 1000);
    let fresh = Filter { ended_within: Some(soon), ..Filter::default() };
    assert_eq!(listed(fresh), [api, web], "a running job is always fresh");
}

/// Lets a job have ended so many milliseconds earlier.
fn age(jobs: &Jobs, id: JobId, ms: u64) {
    let path = jobs.folder(id).join("record");
    let mut record: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let at = record["end"]["ended_at_ms"].as_u64().unwrap();
    record["end"]["ended_at_ms"] = (at - ms).into();
    std::fs::write(path, record.to_string()).unwrap();
}

#[test]
fn live_jobs_are_looked_at_where_that_is_wanted() {
    let jobs = Jobs::new();
    let id = jobs.shell("echo up; sleep 300");
    jobs.printed(id, "up");
    let seen = |look| jobs.place.list(&Filter { look, ..Filter::default() }).unwrap().jobs;
    assert!(seen(false)[0].processes.is_empty());
    testkit::wait_until("its child is seen", || {
        let looked = seen(true);
        looked[0].processes.iter().any(|process| process.command.iter().any(|word| word == "300"))
    });
}

#[test]
fn what_cannot_be_read_is_told_and_hurts_no_other() {
    let jobs = Jobs::new();
    let [whole, torn, future] =
        [(); 3].map(|()| jobs.finish(&JobSpec::shell("echo fine")).id.unwrap());
    let record = |id| jobs.folder(id).join("record");
    let half = std::fs::read(record(torn)).unwrap();
    std::fs::write(record(torn), &half[..half.len() / 2]).unwrap();
    std::fs::write(record(future), r#"{"v": 99, "shape": "unheard of"}"#).unwrap();
    std::fs::create_dir(jobs.state().join("jobs/no-job")).unwrap();
    std::fs::write(jobs.state().join("jobs/README"), "what is this").unwrap();

    let page = jobs.place.list(&Filter::default()).unwrap();
    assert_eq!((ids(&page), page.total), (vec![whole], 1));
    assert_eq!(page.unreadable.len(), 2, "{:?}", page.unreadable);
    let told = |id: JobId, word: &str| {
        page.unreadable.iter().any(|one| one.contains(id.as_str()) && one.contains(word))
    };
    assert!(told(torn, "prune"), "{:?}", page.unreadable);
    assert!(told(future, "format 99"), "{:?}", page.unreadable);
    for bad in [torn, future] {
        let error = jobs.place.read(bad, &Reading::default()).unwrap_err();
        assert!(matches!(error, JobError::BadRecord { .. }), "{error}");
        assert_eq!(jobs.place.find(bad.as_str(), None).unwrap(), bad, "it can be named");
    }
    assert_eq!(jobs.read(whole).output.as_deref(), Some("fine\n"));
    assert!(jobs.finish(&JobSpec::shell("true")).success.unwrap(), "and others start");
}

#[test]
fn looking_does_not_disturb_a_birth() {
    let jobs = Jobs::new();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let place = jobs.again();
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                place.list(&Filter::default()).unwrap();
            }
        });
        let started: Vec<_> = (0..60).map(|_| jobs.place.start(&JobSpec::argv(["true"]))).collect();
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        for one in started {
            assert!(one.is_ok(), "{one:?}");
        }
    });
}
