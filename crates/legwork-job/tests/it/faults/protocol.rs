//! Nonsense on the socket: the supervisor lives, answers others, and stays small.

use std::io::{ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use legwork_job::{JobId, Place, Reading, State};

use super::seen::{Dice, answer, connect, frame};
use crate::support::{Jobs, supervisor};

fn job(jobs: &Jobs) -> JobId {
    let id = jobs.shell("echo begun; sleep 300");
    jobs.printed(id, "begun");
    id
}

fn assert_well(jobs: &Jobs, id: JobId) {
    let report = jobs.again().read(id, &Reading::default()).unwrap();
    assert_eq!(report.state, Some(State::Running));
}

/// The most memory that the supervisor ever had, in KiB.
fn peak(jobs: &Jobs, id: JobId) -> u64 {
    let pid = supervisor(&jobs.folder(id));
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn garbage_is_answered_with_an_error_and_harms_nobody() {
    let jobs = Jobs::new();
    let id = job(&jobs);
    let folder = jobs.folder(id);
    let mut dice = Dice::new();
    let mut noise =
        |length: usize| -> Vec<u8> { (0..length).map(|_| dice.below(256) as u8).collect() };
    let mut nonsense: Vec<Vec<u8>> = vec![
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        frame(b"{}"),
        frame(b""),
        frame(b"{\"op\":\"no-such-thing\"}"),
        frame(b"{\"op\":\"signal\",\"signal\":-1,\"reach\":\"tree\"}"),
        frame(b"{\"op\":\"write\",\"bytes\":{\"b64\":\"?\"},\"close\":false,\"request_id\":null}"),
        frame(&b"[".repeat(100_000)),
        [b"B", &5u32.to_le_bytes()[..], b"bytes"].concat(),
    ];
    nonsense.extend((0..50).map(|length| noise(length * 7 + 5)).filter(|n| !b"JB".contains(&n[0])));
    for bytes in nonsense {
        let mut line = connect(&folder);
        line.write_all(&bytes).unwrap();
        let told = answer(&mut line).expect("an answer");
        assert!(told["is"] == "not_understood" || told["is"] == "not_possible", "{told}");
    }
    assert_well(&jobs, id);
}

#[test]
fn a_huge_frame_is_refused_before_it_is_read() {
    let jobs = Jobs::new();
    let id = job(&jobs);
    for length in [u32::MAX, 16 * 1024 * 1024 + 1] {
        let mut line = connect(&jobs.folder(id));
        line.write_all(b"J").unwrap();
        line.write_all(&length.to_le_bytes()).unwrap();
        let told = answer(&mut line).unwrap();
        assert!(told["why"].as_str().unwrap().contains(&length.to_string()), "{told}");
        assert_eq!(answer(&mut line), None, "and hung up");
    }
    assert_well(&jobs, id);
}

/// Writes until it is not taken any more.
fn push(line: &mut UnixStream, bytes: &[u8]) {
    line.set_nonblocking(false).unwrap();
    line.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
    match line.write_all(bytes) {
        Ok(()) => {}
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
        Err(error)
            if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => {}
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn half_frames_and_questions_without_end_do_not_make_it_large() {
    let jobs = Jobs::new();
    let id = job(&jobs);
    let folder = jobs.folder(id);
    let before = peak(&jobs, id);
    // Forty who begin the longest frame there is and do not finish it.
    let mut half = [b"J", &(16 * 1024 * 1024u32).to_le_bytes()[..]].concat();
    half.resize(15 * 1024 * 1024, b' ');
    let mut lines: Vec<UnixStream> = (0..40).map(|_| connect(&folder)).collect();
    lines.iter_mut().for_each(|line| push(line, &half));
    assert_well(&jobs, id);
    // One who asks and asks, and never reads an answer.
    let questions = frame(b"{\"op\":\"facts\",\"look\":false}").repeat(1 << 19);
    let mut deaf = connect(&folder);
    push(&mut deaf, &questions);
    assert_well(&jobs, id);
    let grown = peak(&jobs, id) - before;
    println!("grown by {grown} KiB");
    assert!(grown < 128 * 1024, "it grew by {grown} KiB");
}

#[test]
fn three_hundred_who_say_nothing_keep_nobody_out() {
    let jobs = Jobs::new();
    let id = job(&jobs);
    let folder = jobs.folder(id);
    let half = frame(b"{\"op\":\"facts\",\"look\":false}");
    let lines: Vec<UnixStream> = (0..300)
        .map(|number| {
            let mut line = connect(&folder);
            if number % 2 == 0 {
                line.write_all(&half[..half.len() / 2]).unwrap();
            }
            line
        })
        .collect();
    assert_well(&jobs, id);
    // Those who wait are not sent away for the sake of those who are silent.
    let mut waiter = connect(&folder);
    let wait = b"{\"op\":\"wait\",\"output\":null,\"port\":null,\"quiet_ms\":null,\"input\":false}";
    waiter.write_all(&frame(wait)).unwrap();
    let more: Vec<UnixStream> = (0..300).map(|_| connect(&folder)).collect();
    assert_well(&jobs, id);
    jobs.place.stop(id, Some(Duration::ZERO)).unwrap();
    assert_eq!(answer(&mut waiter).unwrap()["met"], "exit");
    drop((lines, more));
}
