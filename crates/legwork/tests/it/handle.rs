//! Handles: wait, write, signal, lines, drop, detach.

use std::io::ErrorKind;
use std::time::Duration;

use legwork::Cause;
use legwork::prelude::*;
use testkit::{Victim, is_alive, pid_in, wait_until};

use crate::forms::{Form, Handle, in_both_forms, misbehave, ms, place};

in_both_forms! {
    waiting_with_and_without_a_limit,
    writing_and_closing,
    writing_to_one_who_does_not_read,
    signals_by_request_are_told_as_such,
    a_signal_for_the_leader_alone,
    stopping_and_continuing,
    killing_ends_the_tree,
    cancelling_is_polite,
    lines_come_as_they_are_printed,
    lines_that_nobody_reads_do_not_stop_the_command,
    a_slow_reader_slows_the_command_and_loses_nothing,
    dropping_ends_the_tree,
    detaching_does_not,
    limits_hold_without_a_waiter,
    a_conversation_on_a_terminal,
}

fn waiting_with_and_without_a_limit(form: Form) {
    let mut run = form.spawn(&cmd(["cat"]).stdin(Stdin::Piped)).unwrap();
    assert!(run.try_wait().is_none());
    assert!(run.wait_timeout(ms(5)).is_none());
    run.close_stdin();
    assert!(run.wait_timeout(Duration::from_secs(60)).unwrap().success());
    assert!(run.try_wait().unwrap().success(), "asked twice");
    assert!(run.wait().unwrap().success(), "and again");
    // Waiting for the end says that no more input will come.
    let run = form.spawn(&cmd(["cat"]).stdin(Stdin::Piped)).unwrap();
    assert!(run.wait().unwrap().success());
}

fn writing_and_closing(form: Form) {
    let command = cmd(["wc", "-c"]).stdin(Stdin::Piped).stdout(Output::Capture);
    let mut run = form.spawn(&command).unwrap();
    for _ in 0..100 {
        run.write(&[b'x'; 10_000]).unwrap();
    }
    run.close_stdin();
    run.close_stdin();
    assert_eq!(run.write(b"x").unwrap_err().kind(), ErrorKind::NotConnected);
    assert_eq!(run.wait().unwrap().stdout_text().trim(), "1000000");
}

fn writing_to_one_who_does_not_read(form: Form) {
    let mut run = form.spawn(&cmd(["true"]).stdin(Stdin::Piped)).unwrap();
    wait_until("the end", || run.try_wait().is_some());
    assert_eq!(run.write(&[b'x'; 1 << 20]).unwrap_err().kind(), ErrorKind::BrokenPipe);
    // A survivor holds the other end and never reads: the end of the run ends the wait.
    let held = shell("sleep 300 <&0 & exit 0").stdin(Stdin::Piped);
    let mut run = form.spawn(&held).unwrap();
    assert_eq!(run.write(&[b'x'; 1 << 20]).unwrap_err().kind(), ErrorKind::BrokenPipe);
    let outcome = run.wait().unwrap();
    assert!(outcome.survivors.iter().all(|survivor| survivor.signal(Signal::KILL)));
    let mut run = form.spawn(&cmd(["true"])).unwrap();
    assert_eq!(run.write(b"x").unwrap_err().kind(), ErrorKind::NotConnected);
}

fn signals_by_request_are_told_as_such(form: Form) {
    let run = form.spawn(&cmd(["sleep", "300"])).unwrap();
    run.signal(Signal::USR1);
    let outcome = run.wait().unwrap();
    let cause = Cause::Signaled { signal: Signal::USR1, by_request: true };
    assert_eq!(outcome.ending.cause(), &cause);
    let json = serde_json::to_value(&outcome.ending).unwrap();
    assert_eq!(json["by_request"], true);
    assert_eq!(json["signal_name"], "SIGUSR1");
}

fn a_signal_for_the_leader_alone(form: Form) {
    let run = form.spawn(&shell("sleep 300 >/dev/null & wait").survivors(Survivors::Keep)).unwrap();
    wait_until("the child", || !children(run.pid()).is_empty());
    run.signal_leader(Signal::KILL);
    let outcome = run.wait().unwrap();
    let [survivor] = &outcome.survivors[..] else { panic!("{:?}", outcome.survivors) };
    assert!(survivor.signal(Signal::KILL));
}

fn stopping_and_continuing(form: Form) {
    let run = form.spawn(&cmd(["sleep", "300"])).unwrap();
    let pid = run.pid();
    run.signal(Signal::STOP);
    wait_until("the stop", || testkit::state(pid) == Some('T'));
    run.signal(Signal::CONT);
    wait_until("the continuation", || testkit::state(pid) == Some('S'));
    run.kill();
    assert_eq!(run.wait().unwrap().ending.number(), 137);
}

fn daemon(form: Form) -> (Handle, u32) {
    let (_directory, pidfile) = place("pid");
    let run = form.spawn(&misbehave(["daemon", pidfile.to_str().unwrap(), "linger"])).unwrap();
    let pid = pid_in(&pidfile);
    // The middle one goes when it has seen the file, which goes with the directory.
    wait_until("the daemon to be an orphan", || children(run.pid()).is_empty());
    assert!(is_alive(pid));
    (run, pid)
}

/// The pids of a process's children, as the kernel lists them.
fn children(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default()
}

fn killing_ends_the_tree(form: Form) {
    let (run, pid) = daemon(form);
    run.kill();
    let outcome = run.wait().unwrap();
    let cause = Cause::Signaled { signal: Signal::KILL, by_request: true };
    assert_eq!(outcome.ending.cause(), &cause);
    assert!(!is_alive(pid));
}

fn cancelling_is_polite(form: Form) {
    let (_directory, file) = place("asked");
    let script =
        "trap 'echo asked > \"$1\"; exit 5' TERM; echo ready; while :; do sleep 0.01; done";
    let mut run = form.spawn(&shell(script).arg(&file).stdout(Output::Capture)).unwrap();
    run.each_line(|line| line.text() != "ready");
    run.cancel();
    let outcome = run.wait().unwrap();
    assert_eq!(outcome.ending.cause(), &Cause::Cancelled);
    assert_eq!(outcome.exit_code(), None);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "asked\n");
}

fn lines_come_as_they_are_printed(form: Form) {
    // The second line is printed only after the first was read here.
    let command =
        shell("echo one; read x; echo two $x").stdin(Stdin::Piped).output(Output::Capture);
    let mut run = form.spawn(&command).unwrap();
    run.each_line(|line| line.text() != "one");
    run.write(b"heard\n").unwrap();
    let mut rest = Vec::new();
    run.each_line(|line| {
        rest.push(line.text().into_owned());
        true
    });
    assert_eq!(rest, ["two heard"]);
    assert_eq!(run.wait().unwrap().stdout_text(), "one\ntwo heard\n");
}

fn lines_that_nobody_reads_do_not_stop_the_command(form: Form) {
    let mut run = form.spawn(&cmd(["seq", "1000000"]).stdout(Output::Capture)).unwrap();
    wait_until("the end", || run.try_wait().is_some());
    let mut last = String::new();
    let mut read = 0;
    let skipped = run.each_line(|line| {
        last = line.text().into_owned();
        read += 1;
        true
    });
    assert_eq!(last, "1000000", "the newest are kept");
    assert_eq!(skipped + read, 1_000_000, "and the others are counted");
    assert!(skipped > 0);
}

fn a_slow_reader_slows_the_command_and_loses_nothing(form: Form) {
    let mut run = form
        .spawn(&shell("read x; exec seq 1000000").stdin(Stdin::Piped).output(Output::Capture))
        .unwrap();
    run.write(b"\n").unwrap();
    let mut expected = 1;
    // The first line decides: from then on everything is read.
    run.each_line(|line| {
        assert_eq!(line.text(), expected.to_string());
        expected += 1;
        expected <= 1_000_000
    });
    assert_eq!(expected, 1_000_001);
    assert!(run.wait().unwrap().success());
}

fn dropping_ends_the_tree(form: Form) {
    let (run, pid) = daemon(form);
    let leader = run.pid();
    drop(run);
    wait_until("the tree to be gone", || !is_alive(pid) && testkit::state(leader).is_none());
}

fn detaching_does_not(form: Form) {
    let (run, pid) = daemon(form);
    let leader = run.pid();
    let victims = (Victim(leader), Victim(pid));
    run.detach();
    assert!(is_alive(pid) && is_alive(leader));
    drop(victims);
    wait_until("both to be gone", || !is_alive(pid) && !is_alive(leader));
}

fn limits_hold_without_a_waiter(form: Form) {
    let mut run = form.spawn(&cmd(["sleep", "300"]).timeout(ms(50))).unwrap();
    let pid = run.pid();
    wait_until("the deadline", || !is_alive(pid));
    assert!(run.wait_timeout(Duration::from_secs(60)).unwrap().timed_out());
}

fn a_conversation_on_a_terminal(form: Form) {
    let command = shell("printf 'name? '; read -r name; echo; echo \"hello $name\"; cat; echo bye");
    let mut run =
        form.spawn(&command.pty(24, 80).stdin(Stdin::Piped).output(Output::Capture)).unwrap();
    run.write(b"world\n").unwrap();
    run.each_line(|line| line.text() != "hello world");
    run.close_stdin();
    let outcome = run.wait().unwrap();
    assert!(outcome.stdout_text().ends_with("bye\r\n"), "{:?}", outcome.stdout_text());
}

#[test]
fn a_dropped_future_ends_the_tree() {
    let (_directory, pidfile) = place("pid");
    let command = misbehave(["daemon", pidfile.to_str().unwrap(), "linger"]);
    let pid = crate::forms::runtime().block_on(async {
        let future = command.tokio().capture();
        let waiting = tokio::task::spawn_blocking(move || pid_in(&pidfile));
        tokio::select! {
            outcome = future => panic!("it ended: {outcome:?}"),
            pid = waiting => pid.unwrap(),
        }
    });
    wait_until("the tree to be gone", || !is_alive(pid));
}

#[test]
fn a_runtime_that_goes_ends_its_trees() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (_directory, pidfile) = place("pid");
    let command = misbehave(["daemon", pidfile.to_str().unwrap(), "linger"]);
    let run = {
        let _guard = runtime.enter();
        command.tokio().spawn().unwrap()
    };
    let pid = pid_in(&pidfile);
    runtime.shutdown_background();
    wait_until("the tree to be gone", || !is_alive(pid));
    drop(run);
}

#[test]
fn a_callback_that_panics_ends_the_tree_and_reaches_the_caller() {
    let (_directory, pidfile) = place("pid");
    let script = "echo $$ > \"$1\"; echo line; exec sleep 300";
    let command = shell(script).arg(&pidfile).on_line(|_| panic!("enough"));
    let result = std::panic::catch_unwind(|| command.capture());
    assert!(result.is_err());
    let pid = pid_in(&pidfile);
    wait_until("the tree to be gone", || !is_alive(pid));
    // A handle tells that nothing is known, instead of that it still runs.
    let mut run = command.spawn().unwrap();
    wait_until("the news", || run.try_wait().is_some());
    assert!(matches!(run.wait().unwrap().ending.cause(), Cause::Unknown { .. }));
    // And whoever needs the janitor afterwards still finds it.
    let (_directory, pidfile) = place("pid");
    let path = pidfile.to_str().unwrap();
    misbehave(["daemon", path, "hold"]).capture().unwrap();
    let _victim = Victim(pid_in(&pidfile));
    wait_until("the survivor to be drained", || {
        let count = std::fs::read_to_string(format!("{path}.count")).unwrap_or_default();
        count.parse::<u64>().is_ok_and(|count| count > 500)
    });
}

#[test]
fn spawning_outside_a_runtime_starts_nothing() {
    let (_directory, file) = place("file");
    let command = cmd(["touch".as_ref(), file.as_os_str()]).stdin(Stdin::Piped);
    assert!(std::panic::catch_unwind(|| command.tokio().spawn()).is_err());
    assert!(!file.exists());
}

#[test]
fn a_callback_that_panics_on_the_last_line_leaves_nothing() {
    let (_directory, pidfile) = place("pid");
    let script = "echo $$ > \"$1\"; sleep 300 & printf unfinished";
    let command = shell(script).arg(&pidfile).on_line(|_| panic!("enough"));
    assert!(std::panic::catch_unwind(|| command.capture()).is_err());
    let leader = pid_in(&pidfile);
    wait_until("the leader to be collected", || testkit::state(leader).is_none());
    let survivors = shell("pgrep -g \"$1\"").arg(leader.to_string()).capture().unwrap();
    for pid in survivors.stdout_text().lines() {
        drop(Victim(pid.parse().unwrap()));
    }
}

#[test]
fn a_runtime_without_a_clock_starts_nothing() {
    let (_directory, file) = place("file");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    let command = cmd(["touch".as_ref(), file.as_os_str()]);
    let run = || runtime.block_on(command.tokio().capture());
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err());
    assert!(!file.exists());
}
