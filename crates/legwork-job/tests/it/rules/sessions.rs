//! Whose jobs a caller sees.

use legwork_job::{Filter, JobError, JobId, JobSpec, Place, Pruning};

use crate::support::Jobs;

fn of(session: Option<&str>) -> JobSpec {
    let mut spec = JobSpec::argv(["true"]);
    spec.session = session.map(str::to_owned);
    spec
}

fn seen(jobs: &Jobs, session: Option<&str>) -> Vec<JobId> {
    let filter = Filter { session: session.map(str::to_owned), ..Filter::default() };
    let page = jobs.place.list(&filter).unwrap();
    let mut ids: Vec<JobId> = page.jobs.iter().filter_map(|job| job.id).collect();
    assert_eq!(page.total, ids.len());
    ids.sort();
    ids
}

fn sorted(mut ids: Vec<JobId>) -> Vec<JobId> {
    ids.sort();
    ids
}

#[test]
fn ones_own_and_those_below_and_without_one_all() {
    let jobs = Jobs::new();
    let [none, a, below, beside] =
        [None, Some("a"), Some("a/b"), Some("ab")].map(|s| jobs.finish(&of(s)).id.unwrap());
    assert_eq!(seen(&jobs, None), sorted(vec![none, a, below, beside]));
    assert_eq!(seen(&jobs, Some("a")), sorted(vec![a, below]));
    assert_eq!(seen(&jobs, Some("a/b")), vec![below]);
    assert_eq!(seen(&jobs, Some("c")), vec![]);

    assert_eq!(jobs.place.find(below.as_str(), Some("a")).unwrap(), below);
    for hidden in [none, beside] {
        let error = jobs.place.find(hidden.as_str(), Some("a")).unwrap_err();
        assert!(matches!(error, JobError::NotFound { .. }), "{error}");
    }
}

#[test]
fn what_is_not_seen_is_not_suggested() {
    let jobs = Jobs::new();
    let mut spec = of(Some("theirs"));
    spec.name = Some("web".into());
    let id = jobs.finish(&spec).id.unwrap();
    for near in ["wbe", &format!("{}2", &id.as_str()[..7])] {
        let error = jobs.place.find(near, Some("mine")).unwrap_err();
        assert!(matches!(&error, JobError::NotFound { near, .. } if near.is_empty()), "{error}");
    }
}

#[test]
fn a_malformed_one_is_refused_everywhere() {
    let jobs = Jobs::new();
    for bad in ["", "/a", "a//b", "a b", "..", &"x/".repeat(9)] {
        let field = |error: &JobError| matches!(error, JobError::Invalid { field: "session", .. });
        assert!(field(&jobs.place.start(&of(Some(bad))).unwrap_err()), "{bad:?}");
        let filter = Filter { session: Some(bad.into()), ..Filter::default() };
        assert!(field(&jobs.place.list(&filter).unwrap_err()), "{bad:?}");
        assert!(field(&jobs.place.find("x", Some(bad)).unwrap_err()), "{bad:?}");
        let pruning = Pruning { session: Some(bad.into()), ..Pruning::default() };
        assert!(field(&jobs.place.prune(&pruning).unwrap_err()), "{bad:?}");
    }
    assert_eq!(seen(&jobs, None), vec![]);
}
