//! What a job waits for, by the kernel's evidence.

use legwork_job::{BlockedOn, Evidence, Input, JobId, JobSpec, WaitsFor};

use super::asking::{on_terminal, open};
use crate::support::Jobs;

fn blocked(jobs: &Jobs, id: JobId) -> BlockedOn {
    testkit::wait_for("it to wait for input", || jobs.read(id).blocked_on)
}

fn python(code: &str) -> JobSpec {
    JobSpec { stdin: Input::Open, ..JobSpec::argv(["python3", "-c", code]) }
}

#[test]
fn bash_reads() {
    let jobs = Jobs::new();
    let id = jobs.start(&JobSpec { stdin: Input::Open, ..JobSpec::argv(["bash", "-c", "read a"]) });
    let blocked = blocked(&jobs, id);
    assert_eq!((blocked.what, blocked.evidence), (WaitsFor::Input, Evidence::Strong));
    assert_eq!((blocked.echo, blocked.command[0].as_str()), (None, "bash"));
    let note = jobs.read(id).note.unwrap_or_default();
    assert!(note.contains("legwork input"), "{note:?}");
}

#[test]
fn python_asks() {
    let jobs = Jobs::new();
    let id = jobs.start(&python("input('name? ')"));
    assert_eq!(blocked(&jobs, id).evidence, Evidence::Strong);
}

#[test]
fn a_password_is_asked_for() {
    let jobs = Jobs::new();
    let id = jobs.start(&on_terminal(&["python3", "-c", "import getpass; getpass.getpass()"]));
    jobs.printed(id, "Password:");
    let blocked = blocked(&jobs, id);
    assert_eq!((blocked.evidence, blocked.echo), (Evidence::Strong, Some(false)));
    let plain = jobs.start(&on_terminal(&["sh", "-c", "read a"]));
    assert_eq!(self::blocked(&jobs, plain).echo, Some(true));
}

#[test]
fn one_below_counts_too() {
    let jobs = Jobs::new();
    let id = jobs.start(&open("echo up; sh -c 'read a; echo $a' ; echo"));
    assert_eq!(blocked(&jobs, id).what, WaitsFor::Input);
}

#[test]
fn who_sleeps_or_computes_waits_for_nothing() {
    let jobs = Jobs::new();
    let sleeps = jobs.start(&open("echo up; exec sleep 300"));
    let busy = jobs.start(&open("echo up; while :; do :; done"));
    let piped = jobs.start(&open("echo up; sleep 300 | cat"));
    let null = jobs.shell("echo up; sleep 300");
    let on_tty = jobs.start(&on_terminal(&["sh", "-c", "echo up; exec sleep 300"]));
    for id in [sleeps, busy, piped, null, on_tty] {
        jobs.printed(id, "up");
    }
    for _ in 0..20 {
        for id in [sleeps, busy, piped, null, on_tty] {
            assert_eq!(jobs.read(id).blocked_on, None);
        }
    }
}
