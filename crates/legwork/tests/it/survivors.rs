//! Nobody waits on a pipe, and who lives on is listed, reachable and unharmed.

use std::time::Duration;

use legwork::prelude::*;
use testkit::{Victim, is_alive, pid_in, wait_until};

use crate::forms::{Form, in_both_forms, misbehave, ms, place};

in_both_forms! {
    a_background_child_does_not_hold_the_answer_back,
    a_survivor_can_go_on_writing,
    survivors_without_a_pipe_are_listed_too,
    survivors_can_be_ended,
    all_that_the_leader_printed_is_there,
    a_survivor_of_a_cgroup_is_listed,
}

fn a_background_child_does_not_hold_the_answer_back(form: Form) {
    let outcome = form.capture(&shell("sleep 300 & echo hi")).unwrap();
    assert_eq!(outcome.stdout_text(), "hi\n");
    assert!(outcome.success());
    assert!(outcome.duration < Duration::from_secs(200), "it did not wait for the sleeper");
    let [survivor] = &outcome.survivors[..] else { panic!("{:?}", outcome.survivors) };
    let _victim = Victim(survivor.pid);
    assert_eq!(survivor.command, ["sleep", "300"]);
    assert!(survivor.is_alive());
    assert!(survivor.signal(Signal::KILL));
    wait_until("the survivor to be gone", || !survivor.is_alive());
    assert!(!survivor.signal(Signal::KILL), "a pid that may be another's is not signalled");
}

fn a_survivor_can_go_on_writing(form: Form) {
    let (_directory, pidfile) = place("pid");
    let path = pidfile.to_str().unwrap();
    let outcome = form.capture(&misbehave(["daemon", path, "hold"])).unwrap();
    assert!(outcome.success());
    let pid = pid_in(&pidfile);
    let _victim = Victim(pid);
    assert!(
        outcome.survivors.iter().any(|survivor| survivor.pid == pid),
        "{:?}",
        outcome.survivors
    );
    // More than any pipe holds: it is being drained.
    wait_until("3,000 lines of a thousand bytes", || {
        let count = std::fs::read_to_string(format!("{path}.count")).unwrap_or_default();
        count.parse::<u64>().is_ok_and(|count| count > 3000)
    });
    assert!(is_alive(pid));
}

fn survivors_without_a_pipe_are_listed_too(form: Form) {
    let outcome = form.capture(&shell("sleep 300 >/dev/null 2>&1 & echo hi")).unwrap();
    let [survivor] = &outcome.survivors[..] else { panic!("{:?}", outcome.survivors) };
    let _victim = Victim(survivor.pid);
    // It may not have become its program yet when it was listed.
    let command = || std::fs::read(format!("/proc/{}/cmdline", survivor.pid)).unwrap();
    testkit::wait_until("it to become sleep", || command() == b"sleep\x00300\x00");
}

fn survivors_can_be_ended(form: Form) {
    let (_directory, pidfile) = place("pid");
    let command = misbehave(["daemon", pidfile.to_str().unwrap()]);
    let outcome = form.capture(&command.survivors(Survivors::End).kill_grace(ms(50))).unwrap();
    assert!(outcome.success(), "the command itself had ended well: {outcome:?}");
    assert!(outcome.survivors.is_empty());
    assert!(!is_alive(pid_in(&pidfile)));
}

fn all_that_the_leader_printed_is_there(form: Form) {
    // A megabyte in the pipe when the leader ends, and a survivor that holds it.
    let command = shell("sleep 300 & exec \"$1\" flood 1000000").arg(testkit::misbehave());
    let outcome = form.capture(&command).unwrap();
    let _victims: Vec<Victim> = outcome.survivors.iter().map(|s| Victim(s.pid)).collect();
    assert_eq!(outcome.stdout.unwrap().total(), 1_000_000);
}

fn a_survivor_of_a_cgroup_is_listed(form: Form) {
    let (_directory, pidfile) = place("pid");
    let command = misbehave(["daemon", pidfile.to_str().unwrap(), "clear-env"]);
    let outcome = form.capture(&command.containment(Containment::Cgroup)).unwrap();
    let pid = pid_in(&pidfile);
    let victim = Victim(pid);
    if outcome.containment < Containment::Cgroup {
        eprintln!("skipped: this user cannot make a cgroup here");
        return;
    }
    assert_eq!(outcome.survivors.iter().map(|s| s.pid).collect::<Vec<_>>(), [pid]);
    let own = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
    let name = own.lines().find_map(|line| line.strip_prefix("0::")).unwrap().to_owned();
    let found = || {
        let name = name.rsplit('/').next().unwrap();
        shell("find /sys/fs/cgroup -type d -name \"$1\"")
            .arg(name)
            .capture()
            .unwrap()
            .stdout_text()
            .into_owned()
    };
    assert!(!found().is_empty());
    drop(victim);
    wait_until("the cgroup to be removed with its last process", || found().is_empty());
}
