//! `run` for a person, a Makefile, CI: what the command does passes through, and so does its end.

use std::fs;
use std::process::Stdio;

use legwork::Signal;
use testkit::{Victim, is_alive, pid_in, wait_until};

use crate::seen::legwork;

#[test]
fn both_streams_and_the_code_pass_through() {
    let seen = legwork(["run", "-c", "echo out; echo err >&2; exit 7"]).seen();
    assert_eq!(
        (seen.stdout.as_str(), seen.stderr.as_str(), seen.code),
        ("out\n", "err\n", Some(7))
    );
    let seen = legwork(["run", "true"]).seen();
    assert_eq!((seen.stdout.as_str(), seen.stderr.as_str(), seen.code), ("", "", Some(0)));
}

#[test]
fn nothing_after_the_program_is_legworks_own() {
    let words = ["--schema", "--output", "nonsense", "--agent", "--help", "-c", "--deadline"];
    for marker in [&["run", "--", "echo"][..], &["run", "echo"], &["run", "--nice", "3", "echo"]] {
        let seen = legwork(marker.iter().copied().chain(words)).seen();
        assert_eq!(seen.stdout, format!("{}\n", words.join(" ")), "{marker:?}: {seen:?}");
        assert_eq!(seen.code, Some(0));
    }
    // Another `--` is the program's.
    assert_eq!(legwork(["run", "--", "echo", "--", "x"]).seen().stdout, "-- x\n");
}

#[test]
fn stdin_is_passed_on_unless_said() {
    assert_eq!(legwork(["run", "cat"]).reading("text").stdout, "text");
    assert_eq!(legwork(["run", "--stdin", "inherit", "cat"]).reading("text").stdout, "text");
    assert_eq!(legwork(["run", "--stdin", "-", "cat"]).reading("text").stdout, "text");
    assert_eq!(legwork(["run", "--stdin", "null", "cat"]).reading("text").stdout, "");
    let call = legwork(["run", "--stdin", "names.txt", "cat"]);
    fs::write(call.home().join("names.txt"), "of a file").unwrap();
    assert_eq!(call.reading("text").stdout, "of a file");
}

#[test]
fn a_signal_that_ended_the_command_is_128_and_more() {
    for (signal, code) in [("TERM", 143), ("KILL", 137), ("INT", 130), ("SEGV", 139)] {
        let seen = legwork(["run", "-c", &format!("kill -{signal} $$")]).seen();
        assert_eq!(seen.code, Some(code), "{signal}: {seen:?}");
    }
}

#[test]
fn a_command_that_cannot_be_started_has_its_own_numbers() {
    let seen = legwork(["run", "no-such-program-anywhere"]).seen();
    assert_eq!(seen.code, Some(127), "{seen:?}");
    assert!(seen.stderr.contains("not found"), "{seen:?}");
    let call = legwork(["run", "./plain"]);
    fs::write(call.home().join("plain"), "no program").unwrap();
    assert_eq!(call.seen().code, Some(126));
}

#[test]
fn a_deadline_ends_the_tree_and_is_124() {
    let call = legwork(["run", "--deadline", "300ms", "--kill-grace", "100ms", "-c"]);
    let file = call.home().join("pid");
    let mut call = call;
    call.command.arg(format!("setsid sleep 300 & echo $! > {}; sleep 300", file.display()));
    let seen = call.reading("");
    assert_eq!(seen.code, Some(124), "{seen:?}");
    assert!(seen.stderr.contains("process tree was ended"), "{seen:?}");
}

#[test]
fn patience_that_terminates_is_a_deadline() {
    let words = ["run", "--timeout", "100ms", "--on-timeout", "terminate", "sleep", "300"];
    assert_eq!(legwork(words).seen().code, Some(124));
}

#[test]
fn a_deadline_can_come_from_a_file_and_a_flag_beats_it() {
    let call = legwork(["run", "sleep", "300"]);
    fs::write(call.home().join(".legwork.toml"), "deadline = \"100ms\"\n").unwrap();
    assert_eq!(call.seen().code, Some(124));
    let call = legwork(["run", "--deadline", "100s", "true"]);
    fs::write(call.home().join(".legwork.toml"), "deadline = \"1ms\"\n").unwrap();
    assert_eq!(call.seen().code, Some(0));
    // Patience is nothing that a person's run has, and a file asks nobody for it.
    let call = legwork(["run", "true"]);
    fs::write(call.home().join(".legwork.toml"), "timeout = \"1ms\"\n").unwrap();
    assert_eq!(call.seen().code, Some(0));
}

#[test]
fn surroundings_reach_the_command() {
    let seen = legwork(["run", "--workdir", "/", "--env", "A=1=2", "-c", "pwd; echo $A"]).seen();
    assert_eq!(seen.stdout, "/\n1=2\n");
    let seen = legwork(["run", "--env-mode", "empty", "--env", "A=1", "-c", "echo [$HOME]"]).seen();
    assert_eq!(seen.stdout, "[]\n");
    let seen = legwork(["run", "--limit", "files=64", "-c", "ulimit -n"]).seen();
    assert_eq!(seen.stdout, "64\n");
}

#[test]
fn what_lives_on_is_named() {
    // A fork has its parent's command line until it executes its own.
    let line = "sleep 300 >/dev/null 2>&1 & \
                until grep -q sleep /proc/$!/comm; do :; done; echo $!";
    let seen = legwork(["run", "-c", line]).seen();
    let pid: u32 = seen.stdout.trim().parse().unwrap();
    let _victim = Victim(pid);
    assert_eq!(seen.code, Some(0));
    assert!(seen.stderr.contains(&format!("process {pid} lives on: sleep 300")), "{seen:?}");
    let seen = legwork(["run", "--survivors", "end", "-c", "sleep 300 & echo $!"]).seen();
    let pid: u32 = seen.stdout.trim().parse().unwrap();
    wait_until("the survivor to be gone", || !is_alive(pid));
    assert_eq!(seen.stderr, "");
}

/// Whoever ends `legwork run` means the command: nothing is left behind.
#[test]
fn a_signal_to_legwork_ends_the_command() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let mut call = legwork(["run", "-c"]);
        let file = call.home().join("pid");
        call.command.arg(format!("echo $$ > {}; exec sleep 300", file.display()));
        let mut child = call.command.stdin(Stdio::null()).spawn().unwrap();
        let pid = pid_in(&file);
        let _victim = Victim(pid);
        let own = rustix::process::Pid::from_child(&child);
        let number = rustix::process::Signal::from_named_raw(signal.number()).unwrap();
        rustix::process::kill_process(own, number).unwrap();
        let status = child.wait().unwrap();
        assert_eq!(status.code(), Some(128 + signal.number()), "{signal}: {status}");
        wait_until("the command to be gone", || !is_alive(pid));
    }
}

#[test]
fn text_is_the_form_for_people() {
    let seen = legwork(["run", "--output", "text", "--", "echo", "x"]).seen();
    assert_eq!((seen.stdout.as_str(), seen.code), ("x\n", Some(0)));
}
