//! Hosts in bad circumstances, each in a process of its own.

use std::process::Stdio;

use testkit::{is_alive, pid_in, wait_for};

use crate::forms::{Form, host, in_both_forms, place};

in_both_forms! {
    ten_thousand_runs_leave_nothing,
    sixty_four_at_once_leave_nothing,
    a_host_that_ignores_sigchld_is_told_so,
    a_host_with_default_sigpipe_lives,
    a_host_without_standard_descriptors,
    a_host_of_four_gigabytes,
    a_host_without_descriptors,
    a_host_whose_stdout_nobody_reads,
    a_host_that_cannot_look_says_so,
    waiting_takes_no_cpu,
    a_quiet_host_whose_stdout_nobody_reads,
    a_host_that_begins_to_adopt_orphans_late,
    a_host_in_a_pid_namespace,
}

fn ten_thousand_runs_leave_nothing(form: Form) {
    let printed = host(form, "soak", ["10000"]);
    assert_eq!(printed["before"], printed["after"], "descriptors, threads, children");
}

fn sixty_four_at_once_leave_nothing(form: Form) {
    let printed = host(form, "crowd", ["64"]);
    assert_eq!(printed["right"], 256);
    assert_eq!(printed["holdings"]["before"], printed["holdings"]["after"]);
}

fn a_host_that_ignores_sigchld_is_told_so(form: Form) {
    let printed = host(form, "deaf", []);
    assert_eq!(printed["ending"]["cause"], "unknown");
    assert!(printed["ending"]["reason"].as_str().unwrap().contains("SIGCHLD"), "{printed}");
    assert_eq!(printed["success"], false);
    assert_eq!(printed["stdout"]["content"], "hello\n");
}

fn a_host_with_default_sigpipe_lives(form: Form) {
    assert_eq!(host(form, "sigpipe", [])["success"], true);
}

fn a_host_without_standard_descriptors(form: Form) {
    let printed = host(form, "closed", []);
    assert_eq!(printed["captured"], "through");
    assert_eq!(printed["descriptors"], "0 1 2\n");
    assert_eq!(printed["fed"], "exit 0");
}

fn a_host_of_four_gigabytes(form: Form) {
    let printed = host(form, "big-heap", ["4"]);
    assert_eq!(printed["stdout"], "hello\n");
}

fn a_host_without_descriptors(form: Form) {
    if form == Form::Tokio {
        // A runtime itself cannot be made without descriptors.
        return;
    }
    let printed = host(form, "exhausted", []);
    assert!(printed["error"].as_str().unwrap().contains("Too many open files"), "{printed}");
    assert_eq!(printed["after"], true, "once there are some again, so are commands");
}

/// What a host writes to a file whose stdout is held open here and never read.
fn unread(form: Form, name: &str, variable: &str) -> serde_json::Value {
    let (_directory, answer) = place("answer");
    let mut host = std::process::Command::new(testkit::misbehave());
    host.args(["host", name, form.word()]).arg(&answer).env(variable, "1").stdout(Stdio::piped());
    let mut host = host.spawn().unwrap();
    let told = wait_for("the host's answer", || {
        serde_json::from_slice::<serde_json::Value>(&std::fs::read(&answer).ok()?).ok()
    });
    host.wait().unwrap();
    told
}

fn a_quiet_host_whose_stdout_nobody_reads(form: Form) {
    let told = unread(form, "hush", "LEGWORK_QUIET");
    assert_eq!(told["ending"]["code"], 3, "{told}");
    assert!(told["notes"][0].as_str().unwrap().contains("not passed on"), "{told}");
}

fn a_host_that_begins_to_adopt_orphans_late(form: Form) {
    let printed = host(form, "late-adopter", []);
    assert_eq!(printed["ending"], serde_json::json!({"cause": "exited", "code": 3}), "{printed}");
}

fn a_host_in_a_pid_namespace(form: Form) {
    // Its own session and group lie outside, and have no number there.
    if !legwork::succeeds(["unshare", "-pf", "--mount-proc", "true"]) {
        eprintln!("skipped: this user cannot make a pid namespace here");
        return;
    }
    let inside = legwork::cmd(["unshare", "-pf", "--mount-proc"]).arg(testkit::misbehave());
    let inside = inside.args(["host", "soak", form.word(), "400"]);
    let outcome = inside.survivors(legwork::Survivors::End).capture().unwrap();
    assert!(outcome.success(), "{}: {}", outcome.ending, outcome.stderr_text());
}

#[test]
fn a_host_that_collects_everybodys_children_is_told_so() {
    let printed = host(Form::Blocking, "thief", []);
    assert_eq!(printed["ending"]["cause"], "unknown");
    assert!(printed["ending"]["reason"].as_str().unwrap().contains("collected"), "{printed}");
}

fn a_host_whose_stdout_nobody_reads(form: Form) {
    let told = unread(form, "stuck", "LEGWORK_NOTHING");
    assert_eq!(told["endless"]["cause"], "deadline", "{told}");
    assert_eq!(told["ended"]["cause"], "exited", "it had ended by itself: {told}");
    let note = told["notes"][0].as_str().unwrap();
    assert!(note.contains("bytes of output were not passed on"), "{told}");
}

fn a_host_that_cannot_look_says_so(form: Form) {
    let (_directory, pidfile) = place("pid");
    let printed = host(form, "blind", [pidfile.to_str().unwrap()]);
    assert_eq!(printed["ending"]["cause"], "deadline");
    let notes = printed["notes"].to_string();
    assert!(notes.contains("could be looked for"), "{printed}");
    let pid = pid_in(&pidfile);
    let listed = printed["survivors"].to_string().contains(&pid.to_string());
    assert!(!is_alive(pid) || listed, "gone, or told: {printed}");
    let _victim = testkit::Victim(pid);
}

fn waiting_takes_no_cpu(form: Form) {
    let printed = host(form, "idle", []);
    // Of a hundred ticks that it waited.
    assert!(printed["cpu_ticks"].as_u64().unwrap() < 40, "{printed}");
}

#[test]
fn a_host_that_adopts_orphans_does_not_take_its_own_leaders_for_some() {
    for form in [Form::Blocking, Form::Tokio] {
        assert_eq!(host(form, "fosters", ["8"])["right"], 800);
    }
}

#[test]
fn an_orphan_that_may_be_anothers_is_told_and_not_touched() {
    let (_directory, pidfile) = place("pid");
    let printed = host(Form::Blocking, "rivals", [pidfile.to_str().unwrap()]);
    let pid = pid_in(&pidfile);
    let _victim = testkit::Victim(pid);
    assert_eq!(printed["outcome"]["survivors"][0]["pid"], pid, "{printed}");
    assert!(printed["outcome"]["notes"].to_string().contains("orphans"), "{printed}");
    assert_eq!(printed["killed"], 1, "and can be ended by whoever knows better");
}
