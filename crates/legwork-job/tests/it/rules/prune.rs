//! Removing ended jobs, never running ones.

use std::time::Duration;

use legwork_job::{Filter, JobError, JobId, JobSpec, Place, Pruning, State};

use super::asking::folders;
use crate::support::Jobs;

fn ended(jobs: &Jobs, line: &str) -> JobId {
    let id = jobs.finish(&JobSpec::shell(line)).id.unwrap();
    // The supervisor is the last to hold the folder.
    let supervisor = crate::support::supervisor(&jobs.folder(id));
    testkit::wait_until("the supervisor to go", || !testkit::is_alive(supervisor));
    id
}

fn edit(jobs: &Jobs, id: JobId, change: impl FnOnce(&mut serde_json::Value)) {
    let path = jobs.folder(id).join("record");
    let mut record = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    change(&mut record);
    std::fs::write(path, record.to_string()).unwrap();
}

fn age(jobs: &Jobs, id: JobId, hours: u64) {
    edit(jobs, id, |record| {
        let at = record["end"]["ended_at_ms"].as_u64().unwrap();
        record["end"]["ended_at_ms"] = (at - hours * 3_600_000).into();
    });
}

fn hours(hours: u64) -> Option<Duration> {
    Some(Duration::from_secs(hours * 3600))
}

fn sorted(mut ids: Vec<JobId>) -> Vec<JobId> {
    ids.sort();
    ids
}

fn left(jobs: &Jobs) -> Vec<JobId> {
    let page = jobs.place.list(&Filter::default()).unwrap();
    sorted(page.jobs.iter().filter_map(|job| job.id).collect())
}

#[test]
fn by_age_and_only_told_where_that_is_wanted() {
    let jobs = Jobs::new();
    let [old, older, new] = [(); 3].map(|()| ended(&jobs, "echo text"));
    age(&jobs, old, 3);
    age(&jobs, older, 5);
    let running = jobs.shell("sleep 300");
    let mut pruning = Pruning { older_than: hours(2), dry_run: true, ..Pruning::default() };
    let told = jobs.place.prune(&pruning).unwrap();
    assert_eq!(told.jobs, [older, old]);
    assert!(told.bytes > 0);
    assert_eq!(left(&jobs).len(), 4, "nothing was removed");
    pruning.dry_run = false;
    let done = jobs.place.prune(&pruning).unwrap();
    assert_eq!(done.jobs, [older, old]);
    assert_eq!(done.bytes, told.bytes);
    assert_eq!(left(&jobs), sorted(vec![new, running]));
    assert_eq!(folders(&jobs), 2);
    let error = jobs.place.read(old, &legwork_job::Reading::default()).unwrap_err();
    assert!(matches!(error, JobError::NotFound { .. }), "{error}");
}

#[test]
fn by_count_the_newest_stay_and_running_ones_always() {
    let jobs = Jobs::new();
    let running = jobs.shell("sleep 300");
    let all = [(); 4].map(|()| ended(&jobs, "true"));
    for (n, id) in all.iter().enumerate() {
        age(&jobs, *id, n as u64);
    }
    let keep = |keep| Pruning { keep: Some(keep), ..Pruning::default() };
    assert_eq!(jobs.place.prune(&keep(2)).unwrap().jobs, [all[3], all[2]]);
    assert_eq!(jobs.place.prune(&keep(0)).unwrap().jobs, [all[1], all[0]]);
    assert_eq!(left(&jobs), [running]);
    assert!(jobs.read(running).running);
}

#[test]
fn by_bytes_the_oldest_go() {
    let jobs = Jobs::new();
    let [big, small] = ["head -c 500000 /dev/zero", "echo x"].map(|line| ended(&jobs, line));
    age(&jobs, big, 1);
    let most = |bytes| Pruning { max_bytes: Some(bytes), ..Pruning::default() };
    assert_eq!(jobs.place.prune(&most(10_000_000)).unwrap().jobs, []);
    let pruned = jobs.place.prune(&most(400_000)).unwrap();
    assert_eq!(pruned.jobs, [big]);
    assert!(pruned.bytes >= 500_000, "{pruned:?}");
    assert_eq!(left(&jobs), [small]);
}

#[test]
fn only_those_of_the_session() {
    let jobs = Jobs::new();
    let of = |session: Option<&str>| {
        let mut spec = JobSpec::shell("true");
        spec.session = session.map(str::to_owned);
        jobs.finish(&spec).id.unwrap()
    };
    let [none, mine, below] = [None, Some("a"), Some("a/b")].map(of);
    let pruning = Pruning { keep: Some(0), session: Some("a".into()), ..Pruning::default() };
    assert_eq!(sorted(jobs.place.prune(&pruning).unwrap().jobs), sorted(vec![mine, below]));
    assert_eq!(left(&jobs), [none]);
}

#[test]
fn a_name_and_a_request_of_one_that_was_pruned_are_free() {
    let jobs = Jobs::new();
    let mut spec = JobSpec::shell("true");
    spec.name = Some("web".into());
    spec.request_id = Some("once".into());
    let first = jobs.finish(&spec).id.unwrap();
    assert!(jobs.place.start(&spec).unwrap().existing);
    jobs.place.prune(&Pruning { keep: Some(0), ..Pruning::default() }).unwrap();
    assert!(matches!(jobs.place.find("web", None), Err(JobError::NotFound { .. })));
    for folder in ["names", "requests"] {
        let claims = std::fs::read_dir(jobs.state().join(folder)).unwrap().flatten();
        let claims: Vec<_> = claims.map(|claim| claim.file_name()).collect();
        assert!(claims.iter().all(|claim| claim == "lock" || claim == ".lock"), "{claims:?}");
    }
    let mut other = JobSpec::shell("echo another");
    other.name = Some("web".into());
    other.request_id = Some("once".into());
    let second = jobs.place.start(&other).unwrap();
    assert!(!second.existing && second.id != first);
}

#[test]
fn a_damaged_record_goes_when_asked() {
    let jobs = Jobs::new();
    let [torn, whole] = [(); 2].map(|()| ended(&jobs, "true"));
    std::fs::write(jobs.folder(torn).join("record"), "{").unwrap();
    let pruning = Pruning { keep: Some(1), ..Pruning::default() };
    assert_eq!(jobs.place.prune(&pruning).unwrap().jobs, [torn]);
    assert_eq!(left(&jobs), [whole]);
}

#[test]
fn one_that_may_run_elsewhere_is_not_touched() {
    let jobs = Jobs::new();
    let id = ended(&jobs, "true");
    edit(&jobs, id, |record| {
        record["identity"]["machine_id"] = "another".into();
        record["state"] = "running".into();
        record["end"] = serde_json::Value::Null;
    });
    assert_eq!(jobs.read(id).state, Some(State::Elsewhere));
    let all = Pruning { keep: Some(0), older_than: Some(Duration::ZERO), ..Pruning::default() };
    assert_eq!(jobs.place.prune(&all).unwrap().jobs, []);
    assert_eq!(left(&jobs), [id]);
}
