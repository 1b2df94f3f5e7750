//! Hosts in bad circumstances, each in a process of its own.

use crate::forms::{Form, host, in_both_forms};

in_both_forms! {
    ten_thousand_runs_leave_nothing,
    sixty_four_at_once_leave_nothing,
    a_host_that_ignores_sigchld_is_told_so,
    a_host_with_default_sigpipe_lives,
    a_host_without_standard_descriptors,
    a_host_of_four_gigabytes,
    a_host_without_descriptors,
}

fn ten_thousand_runs_leave_nothing(form: Form) {
    let printed = host(form, "soak", ["10000"]);
    assert_eq!(
        printed["before"], printed["after"],
        "descriptors, threads, children"
    );
}

fn sixty_four_at_once_leave_nothing(form: Form) {
    let printed = host(form, "crowd", ["64"]);
    assert_eq!(printed["right"], 256);
    assert_eq!(printed["holdings"]["before"], printed["holdings"]["after"]);
}

fn a_host_that_ignores_sigchld_is_told_so(form: Form) {
    let printed = host(form, "deaf", []);
    assert_eq!(printed["ending"]["cause"], "unknown");
    assert!(
        printed["ending"]["reason"]
            .as_str()
            .unwrap()
            .contains("SIGCHLD"),
        "{printed}"
    );
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
    assert!(
        printed["error"]
            .as_str()
            .unwrap()
            .contains("Too many open files"),
        "{printed}"
    );
    assert_eq!(
        printed["after"], true,
        "once there are some again, so are commands"
    );
}

#[test]
fn a_host_that_collects_everybodys_children_is_told_so() {
    let printed = host(Form::Blocking, "thief", []);
    assert_eq!(printed["ending"]["cause"], "unknown");
    assert!(
        printed["ending"]["reason"]
            .as_str()
            .unwrap()
            .contains("collected"),
        "{printed}"
    );
}
