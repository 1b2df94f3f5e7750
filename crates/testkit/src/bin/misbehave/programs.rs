//! The programs.

#![expect(clippy::zombie_processes, reason = "leaving children behind is what they are for")]

use std::fs;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use legwork_job::{JobSpec, Local, Place, StateDir};

use crate::sys;

/// Writes so many bytes to stdout, in lines of 64, as fast as it can.
pub(crate) fn flood(bytes: u64) {
    let line = b"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n";
    let block = line.repeat(2048);
    let mut stdout = std::io::stdout().lock();
    let mut left = bytes;
    while left > 0 {
        let now = left.min(block.len() as u64) as usize;
        if stdout.write_all(&block[..now]).is_err() {
            return;
        }
        left -= now as u64;
    }
}

/// Ends only when killed.
pub(crate) fn ignore_term(pidfile: &str) {
    sys::ignore(libc::SIGTERM);
    write_pid(pidfile);
    sleep_for_ever();
}

/// Ends politely: exits 0 when asked by SIGTERM.
pub(crate) fn obey_term(pidfile: &str) {
    // A shell is the smallest program with a handler.
    let script = format!(
        "trap 'exit 0' TERM; echo $$ > '{pidfile}.new'; mv '{pidfile}.new' '{pidfile}'; while :; do sleep 0.01; done"
    );
    let status = Command::new("sh").args(["-c", &script]).status();
    std::process::exit(status.ok().and_then(|status| status.code()).unwrap_or(1));
}

/// Starts a child that ignores SIGTERM and stays in the group, then obeys SIGTERM itself.
pub(crate) fn leave_ignorer(pidfile: &str) {
    let child = myself().args(["ignore-term", pidfile]).spawn();
    child.expect("a child starts");
    sleep_for_ever();
}

/// Leaves a daemon behind that has done everything to get away: another session, two forks,
/// SIGTERM ignored; with `clear-env` also an empty environment; with `hold` it keeps stdout open;
/// with `linger` the first process stays.
pub(crate) fn daemon(pidfile: &str, options: &[&str]) {
    let status = myself().args(["daemon-middle", pidfile]).args(options).status();
    assert!(status.expect("the middle starts").success(), "the middle fails");
    if options.contains(&"linger") {
        sleep_for_ever();
    }
}

/// The middle: a session of its own, then gone, so that the last one is an orphan.
pub(crate) fn daemon_middle(pidfile: &str, options: &[&str]) {
    rustix::process::setsid().expect("a child may have a session of its own");
    let mut last = myself();
    last.args(["daemon-last", pidfile]).args(options).stdin(Stdio::null());
    if !options.contains(&"hold") {
        last.stdout(Stdio::null()).stderr(Stdio::null());
    }
    if options.contains(&"clear-env") {
        last.env_clear();
    }
    last.spawn().expect("the last one starts");
    // Only once the daemon is what it wants to be; otherwise a test would meet it half made.
    testkit::wait_until("the daemon", || fs::metadata(pidfile).is_ok());
}

/// The last: in yet another session, deaf to SIGTERM.
pub(crate) fn daemon_last(pidfile: &str, options: &[&str]) {
    rustix::process::setsid().expect("a child may have a session of its own");
    if options.contains(&"hold") {
        return chatter(pidfile);
    }
    ignore_term(pidfile);
}

/// Writes a line to stdout now and then, and notes in its file how many it got rid of.
pub(crate) fn chatter(pidfile: &str) {
    sys::ignore(libc::SIGTERM);
    write_pid(pidfile);
    for count in 1u64.. {
        if writeln!(std::io::stdout(), "line {count} {}", "x".repeat(1000)).is_err() {
            std::process::exit(1);
        }
        let _ = fs::write(format!("{pidfile}.count"), count.to_string());
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Prints its open descriptors.
pub(crate) fn descriptors() {
    let entries = fs::read_dir("/proc/self/fd").expect("own descriptors").flatten();
    let mut open: Vec<String> = entries
        .filter(|entry| fs::read_link(entry.path()).is_ok_and(|to| !to.starts_with("/proc")))
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    open.sort();
    println!("{}", open.join(" "));
}

/// Prints which signals are ignored and blocked at its start. Rust itself ignores SIGPIPE, so a
/// program without a runtime is asked.
pub(crate) fn signals() {
    let status = fs::read_to_string("/proc/self/status").expect("own status");
    for line in status.lines().filter(|line| line.starts_with("Sig")) {
        println!("{line}");
    }
}

/// Neither reads nor ends: waits with an open stdin that fills up.
pub(crate) fn wedge() {
    let mut byte = [0];
    let _ = std::io::stdin().read(&mut byte);
    sleep_for_ever();
}

/// Starts a job of the shell line, prints its id, and is done.
pub(crate) fn start_job(state: &str, line: &str) {
    let state = StateDir::at(state).expect("a state directory");
    let started = Local::with(state).start(&JobSpec::shell(line)).expect("a job starts");
    println!("{}", started.id);
}

fn myself() -> Command {
    Command::new(std::env::current_exe().expect("own path"))
}

/// Whole or not at all: a reader never sees half a number.
fn write_pid(pidfile: &str) {
    let new = format!("{pidfile}.new.{}", std::process::id());
    fs::write(&new, std::process::id().to_string()).expect("the pid file can be written");
    fs::rename(&new, pidfile).expect("the pid file can be renamed");
}

fn sleep_for_ever() {
    loop {
        sys::pause();
    }
}
