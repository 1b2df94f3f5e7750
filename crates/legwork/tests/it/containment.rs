//! Ending a command ends every descendant, and the level in force is told.

use legwork::Cause;
use legwork::prelude::*;
use serde_json::Value;
use testkit::{is_alive, pid_in};

use crate::forms::{Form, host, in_both_forms, misbehave, ms, place};

in_both_forms! {
    a_daemon_is_gone_by_marker,
    a_daemon_is_gone_by_cgroup,
    a_daemon_is_gone_by_subreaper,
    one_without_environment_is_gone_by_cgroup,
    one_without_environment_is_gone_by_subreaper,
    one_without_environment_escapes_the_marker_and_the_docs_say_so,
    the_group_alone_is_not_enough_and_says_so,
    nested_runs_keep_both_markers,
    a_level_that_cannot_be_had_is_told,
    a_level_that_is_required_is_required,
    a_cgroup_leaves_no_directory,
    a_family_of_fifty_is_gone,
}

/// Times a daemon out and tells its pid.
fn time_out(form: Form, level: Containment, options: &[&str]) -> (u32, Outcome) {
    let (_directory, pidfile) = place("pid");
    let command = misbehave(["daemon", pidfile.to_str().unwrap()])
        .args(options)
        .arg("linger")
        .containment(level)
        .timeout(ms(700))
        .kill_grace(ms(100));
    let outcome = form.capture(&command).unwrap();
    assert_eq!(outcome.ending.cause(), &Cause::Deadline);
    (pid_in(&pidfile), outcome)
}

fn a_daemon_is_gone_by_marker(form: Form) {
    let (pid, outcome) = time_out(form, Containment::Marker, &[]);
    assert!(!is_alive(pid));
    assert_eq!(outcome.containment, Containment::Marker);
    assert!(outcome.survivors.is_empty());
}

/// Whether this machine lets this user make cgroups.
fn has_cgroups() -> bool {
    let outcome = cmd(["true"]).containment(Containment::Cgroup).capture().unwrap();
    outcome.containment == Containment::Cgroup
}

fn a_daemon_is_gone_by_cgroup(form: Form) {
    let (pid, outcome) = time_out(form, Containment::Cgroup, &[]);
    assert!(!is_alive(pid));
    assert!(outcome.containment == Containment::Cgroup || !has_cgroups(), "{outcome:?}");
}

fn one_without_environment_is_gone_by_cgroup(form: Form) {
    if !has_cgroups() {
        eprintln!("skipped: this user cannot make a cgroup here");
        return;
    }
    let (pid, outcome) = time_out(form, Containment::Cgroup, &["clear-env"]);
    assert!(!is_alive(pid));
    assert_eq!(outcome.containment, Containment::Cgroup);
}

fn foster(form: Form, options: [&str; 2]) {
    let (_directory, pidfile) = place("pid");
    let [first, second] = options;
    let printed = host(form, "foster", [pidfile.to_str().unwrap(), first, second]);
    assert!(!is_alive(pid_in(&pidfile)), "{printed}");
    assert_eq!(printed["outcome"]["containment"], "subreaper");
    assert_eq!(printed["outcome"]["ending"]["cause"], "deadline");
    assert_eq!(printed["holdings"]["before"], printed["holdings"]["after"]);
}

fn a_daemon_is_gone_by_subreaper(form: Form) {
    foster(form, ["linger", "plain"]);
}

fn one_without_environment_is_gone_by_subreaper(form: Form) {
    foster(form, ["linger", "clear-env"]);
}

fn one_without_environment_escapes_the_marker_and_the_docs_say_so(form: Form) {
    let (pid, outcome) = time_out(form, Containment::Marker, &["clear-env"]);
    let _victim = testkit::Victim(pid);
    assert!(is_alive(pid), "if this fails, the docs are too modest");
    assert_eq!(outcome.containment, Containment::Marker);
}

fn the_group_alone_is_not_enough_and_says_so(form: Form) {
    let (pid, outcome) = time_out(form, Containment::Group, &[]);
    let _victim = testkit::Victim(pid);
    assert!(is_alive(pid));
    assert_eq!(outcome.containment, Containment::Group);
    let outcome = form.capture(
        &shell("echo [$LEGWORK_RUN]").env_remove("LEGWORK_RUN").containment(Containment::Group),
    );
    assert_eq!(outcome.unwrap().stdout_text(), "[]\n");
}

fn nested_runs_keep_both_markers(form: Form) {
    let inner = form.capture(&shell("echo $LEGWORK_RUN").env("LEGWORK_RUN", "ignored")).unwrap();
    // The variable is legwork's own: what a caller sets there does not count.
    let inner = inner.stdout_text().trim().to_owned();
    let own = std::env::var("LEGWORK_RUN").unwrap_or_default();
    assert!(!inner.contains("ignored"), "{inner}");
    assert!(inner.starts_with(&own) && inner.len() > own.len(), "{own:?} {inner:?}");
}

fn a_level_that_cannot_be_had_is_told(form: Form) {
    // This test process has not opted in to adopting orphans.
    let outcome = form.capture(&cmd(["true"]).containment(Containment::Subreaper)).unwrap();
    assert_eq!(outcome.containment, Containment::Marker);
    assert!(outcome.notes.iter().any(|note| note.contains("adopt_orphans")), "{:?}", outcome.notes);
}

fn a_level_that_is_required_is_required(form: Form) {
    let command = cmd(["true"]).require_containment(Containment::Subreaper);
    let error = form.capture(&command).unwrap_err();
    assert_eq!(error.invalid_input().unwrap().field(), "containment");
    assert!(form.succeeds(&cmd(["true"]).require_containment(Containment::Marker)));
}

fn a_cgroup_leaves_no_directory(form: Form) {
    let directories = || -> Vec<String> {
        let listed = shell("find /sys/fs/cgroup -type d -name 'legwork-*' -newermt @$1").arg("0");
        let listed = listed.capture().unwrap();
        listed.stdout_text().lines().map(str::to_owned).collect()
    };
    let outcome = form.capture(&shell("cat /proc/self/cgroup").containment(Containment::Cgroup));
    let outcome = outcome.unwrap();
    if outcome.containment < Containment::Cgroup {
        eprintln!("skipped: this user cannot make a cgroup here");
        return;
    }
    let text = outcome.stdout_text();
    let name =
        text.lines().find_map(|line| line.strip_prefix("0::")).unwrap().rsplit('/').next().unwrap();
    assert!(name.starts_with("legwork-"), "{text}");
    assert!(!directories().iter().any(|path| path.ends_with(name)));
}

fn a_family_of_fifty_is_gone(form: Form) {
    let (directory, _) = place("pids");
    let script = r#"
        for i in $(seq 50); do "$1" daemon "$2/$i" & done
        wait
        echo ready
        exec sleep 300
    "#;
    let command = shell(script).arg(testkit::misbehave()).arg(directory.path());
    let mut run = form.spawn(&command.stdout(Output::Capture).kill_grace(ms(50))).unwrap();
    run.each_line(|line| line.text() != "ready");
    let pids: Vec<u32> = (1..=50).map(|i| pid_in(&directory.path().join(i.to_string()))).collect();
    assert!(pids.iter().all(|pid| is_alive(*pid)));
    run.cancel();
    let outcome = run.wait().unwrap();
    assert_eq!(outcome.ending.cause(), &Cause::Cancelled);
    assert_eq!(pids.iter().filter(|pid| is_alive(**pid)).count(), 0);
}

#[test]
fn the_level_stands_in_the_json() {
    let outcome = legwork::capture(["true"]).unwrap();
    let json: Value = serde_json::to_value(&outcome).unwrap();
    assert_eq!(json["containment"], "marker");
}
