//! The environment of a job: non-interactive, handed down, or none at all.

use std::collections::BTreeMap;

use legwork::EnvMode;
use legwork_job::{JobSpec, Size};

use super::asking::log_of;
use crate::support::Jobs;

/// The group that a job without a terminal gets.
const UNATTENDED: [(&str, &str); 7] = [
    ("GIT_EDITOR", "true"),
    ("GIT_SEQUENCE_EDITOR", "true"),
    ("EDITOR", "true"),
    ("VISUAL", "true"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("NO_COLOR", "1"),
    ("TERM", "dumb"),
];

/// The group that every job gets.
const ALWAYS: [(&str, &str); 5] = [
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GH_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("DEBIAN_FRONTEND", "noninteractive"),
];

/// What the job has for an environment.
fn of(spec: &mut JobSpec) -> BTreeMap<String, String> {
    let jobs = Jobs::new();
    spec.what = JobSpec::argv(["/usr/bin/env", "-0"]).what;
    let report = jobs.finish(spec);
    assert_eq!(report.exit_code, Some(0), "{report:?}");
    let log = String::from_utf8(log_of(&jobs, report.id.unwrap())).unwrap();
    let variables = log.split('\0').filter_map(|one| one.split_once('='));
    variables.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn has(environment: &BTreeMap<String, String>, name: &str) -> Option<String> {
    environment.get(name).cloned()
}

#[test]
fn nothing_in_it_waits_for_a_person() {
    let environment = of(&mut JobSpec::argv(["x"]));
    for (name, value) in UNATTENDED.into_iter().chain(ALWAYS) {
        assert_eq!(has(&environment, name).as_deref(), Some(value), "{name}");
    }
}

#[test]
fn on_a_terminal_somebody_can_be_asked() {
    let mut spec = JobSpec::argv(["x"]);
    spec.env_mode = EnvMode::Empty;
    spec.terminal = Some(Size::default());
    let environment = of(&mut spec);
    for (name, value) in UNATTENDED {
        assert_ne!(has(&environment, name).as_deref(), Some(value), "{name}");
    }
    for (name, value) in ALWAYS {
        assert_eq!(has(&environment, name).as_deref(), Some(value), "{name}");
    }
}

#[test]
fn each_of_it_can_be_overridden_or_removed() {
    let mut spec = JobSpec::argv(["x"]);
    for (name, _) in UNATTENDED.into_iter().chain(ALWAYS) {
        spec.env.push((name.into(), Some("mine".into())));
    }
    let environment = of(&mut spec);
    for (name, _) in UNATTENDED.into_iter().chain(ALWAYS) {
        assert_eq!(has(&environment, name).as_deref(), Some("mine"), "{name}");
    }
    for (_, value) in &mut spec.env {
        *value = None;
    }
    let environment = of(&mut spec);
    for (name, _) in UNATTENDED.into_iter().chain(ALWAYS) {
        assert_eq!(has(&environment, name), None, "{name}");
    }
}

#[test]
fn the_session_is_handed_down() {
    let mut spec = JobSpec::argv(["x"]);
    spec.session = Some("ci/build-7".into());
    assert_eq!(has(&of(&mut spec), "LEGWORK_SESSION").as_deref(), Some("ci/build-7"));
    spec.env_mode = EnvMode::Empty;
    assert_eq!(has(&of(&mut spec), "LEGWORK_SESSION").as_deref(), Some("ci/build-7"));
}

#[test]
fn it_begins_where_the_caller_says() {
    // Cargo sets this for every test.
    let cargo = "CARGO_MANIFEST_DIR";
    let with = |mode| {
        let mut spec = JobSpec::argv(["x"]);
        spec.env_mode = mode;
        of(&mut spec)
    };
    let inherited = with(EnvMode::Inherit);
    assert_eq!(has(&inherited, cargo), std::env::var(cargo).ok());
    assert_eq!(has(&inherited, "PATH"), std::env::var("PATH").ok());
    let clean = with(EnvMode::Clean);
    assert_eq!(has(&clean, cargo), None);
    assert!(has(&clean, "PATH").is_some());
    let empty = with(EnvMode::Empty);
    assert_eq!((has(&empty, cargo), has(&empty, "HOME")), (None, None));
}

#[test]
fn a_variable_with_an_impossible_name_is_refused() {
    let jobs = Jobs::new();
    let mut spec = JobSpec::argv(["true"]);
    spec.env.push(("A=B".into(), Some("c".into())));
    let error = legwork_job::Place::start(&jobs.place, &spec).unwrap_err();
    assert!(matches!(error, legwork_job::JobError::Invalid { field: "env", .. }), "{error}");
}
