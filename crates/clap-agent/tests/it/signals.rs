//! How a program ends that is told to, and one whose reader has gone.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::seen::{call, scratch};

/// A stream that has begun.
fn streaming(dir: &std::path::Path) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut child =
        call(dir, "watch").command().stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert!(line.contains("buy milk"), "{line}");
    (child, stdout)
}

#[test]
fn a_signal_ends_it_with_9_and_an_error_and_loses_no_log_line() {
    for (signal, name) in [(Signal::INT, "SIGINT"), (Signal::TERM, "SIGTERM")] {
        let dir = scratch();
        let (mut child, mut stdout) = streaming(dir.path());
        // Both tasks were reported: the log entry of the last is held back.
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert!(line.contains("file taxes"), "{line}");
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut first = String::new();
        stderr.read_line(&mut first).unwrap();
        assert!(first.contains("\"msg\":\"new: buy milk\""), "{first}");
        kill_process(Pid::from_child(&child), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(9));
        let mut said = String::new();
        stderr.read_to_string(&mut said).unwrap();
        let (log, error) = said.split_once('\n').unwrap();
        assert!(log.contains("\"msg\":\"new: file taxes\""), "{said}");
        let error: Value = serde_json::from_str(error).unwrap();
        assert_eq!(error["error"], "cancelled");
        assert_eq!(error["code"], 9);
        assert_eq!(error["message"], format!("cancelled by {name}"));
    }
}

/// Nobody reads stdout any more, and a log entry is held back by the thread that waits there.
#[test]
fn a_signal_ends_it_even_if_nobody_reads_its_stdout() {
    for signals in [[Signal::TERM].as_slice(), &[Signal::INT, Signal::TERM]] {
        let dir = scratch();
        let title = "x".repeat(100);
        std::fs::write(dir.path().join("list.txt"), format!("{title}\n").repeat(1000)).unwrap();
        assert_eq!(call(dir.path(), "import list.txt --yes").pipe().code, Some(0));
        let said = dir.path().join("said");
        let stderr = std::fs::File::create(&said).unwrap();
        let mut child = call(dir.path(), "watch")
            .command()
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .unwrap();
        let stdout = child.stdout.take().unwrap();
        // A pipe holds 64 KiB; less room than a line has left means that the next one waits.
        wait_until(|| rustix::io::ioctl_fionread(&stdout).unwrap() > 60_000);
        for signal in signals {
            kill_process(Pid::from_child(&child), *signal).unwrap();
        }
        let mut code = None;
        wait_until(|| {
            code = child.try_wait().unwrap();
            code.is_some()
        });
        assert_eq!(code.unwrap().code(), Some(9));
        if let [only] = signals {
            assert_eq!(*only, Signal::TERM);
            let said = std::fs::read_to_string(said).unwrap();
            assert!(said.contains("cancelled by SIGTERM"), "{said}");
        }
    }
}

fn wait_until(mut is_so: impl FnMut() -> bool) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !is_so() {
        assert!(std::time::Instant::now() < deadline, "it never came");
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

/// Without a log entry there is no thread: the handler itself writes.
#[test]
fn a_person_is_told_in_words() {
    let dir = scratch();
    std::fs::write(dir.path().join("list.txt"), "a\n".repeat(1000)).unwrap();
    let terminal =
        call(dir.path(), "import list.txt --yes --pace 20").env("NO_COLOR", "1").terminal();
    terminal.wait_for("/1000");
    kill_process(terminal.pid(), Signal::INT).unwrap();
    let (screen, code) = terminal.end();
    assert_eq!(code, Some(9));
    assert!(crate::seen::screen(&screen).ends_with("Error: cancelled by SIGINT\n"), "{screen:?}");
}

/// The program is asked at a prompt: Ctrl-C there is a no.
#[test]
fn ctrl_c_at_the_prompt_ends_it() {
    let dir = scratch();
    let terminal = call(dir.path(), "task delete 1").env("NO_COLOR", "1").terminal();
    terminal.wait_for("[y/N] ");
    kill_process(terminal.pid(), Signal::INT).unwrap();
    assert_eq!(terminal.end().1, Some(9));
}

#[test]
fn an_ignored_signal_stays_ignored() {
    let dir = scratch();
    let line = format!("trap '' INT; exec {} watch --count 3", crate::seen::tasks().display());
    let mut child = std::process::Command::new("sh")
        .args(["-c", &line])
        .current_dir(dir.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    stdout.read_line(&mut text).unwrap();
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(call(dir.path(), "task create third --yes").pipe().code, Some(0));
    stdout.read_to_string(&mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(text.contains("third"), "{text}");
}

/// `tasks watch | head -1`: no panic, no word, the number of SIGPIPE.
#[test]
fn a_reader_that_goes_ends_it_quietly() {
    let dir = scratch();
    let (mut child, stdout) = streaming(dir.path());
    let mut stderr = child.stderr.take().unwrap();
    drop(stdout);
    let fill = format!("{}\n", "more\n".repeat(50));
    std::fs::write(dir.path().join("list.txt"), fill).unwrap();
    assert_eq!(call(dir.path(), "import list.txt --yes").pipe().code, Some(0));
    assert_eq!(child.wait().unwrap().code(), Some(141));
    let mut said = String::new();
    stderr.read_to_string(&mut said).unwrap();
    assert!(said.lines().all(|line| line.starts_with("{\"ts\":")), "{said}");
}
