//! Many threads on one writer.

use std::collections::HashSet;
use std::io::Read;
use std::os::fd::OwnedFd;

use clap_agent::{Progress, Writer};
use serde_json::Value;

const THREADS: u64 = 16;
/// Events, progress and log lines together make 100,000.
const EACH: u64 = 100_000 / THREADS / 3 + 1;

/// Through real pipes, whose other ends are read while sixteen threads write.
#[test]
fn sixteen_threads_tear_no_line_and_lose_none() {
    let (mut out_reader, out) = std::io::pipe().unwrap();
    let (mut err_reader, err) = std::io::pipe().unwrap();
    let file = |pipe: std::io::PipeWriter| std::fs::File::from(OwnedFd::from(pipe));
    let writer = Writer::builder(file(out), file(err)).build();
    let reading = std::thread::spawn(move || {
        let mut text = String::new();
        out_reader.read_to_string(&mut text).map(|_| text)
    });
    let reading_err = std::thread::spawn(move || {
        let mut text = String::new();
        err_reader.read_to_string(&mut text).map(|_| text)
    });
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let writer = writer.clone();
            scope.spawn(move || {
                // Long enough that a torn write would show.
                let filler = "x".repeat(200);
                for n in 0..EACH {
                    let event = serde_json::json!({"thread": thread, "n": n, "filler": filler});
                    writer.event(&event).unwrap();
                    writer.progress(&Progress::of(n + 1, EACH).message(format!("p {thread} {n}")));
                    writer.log(format!("l {thread} {n}"));
                }
            });
        }
    });
    writer.flush();
    drop(writer);
    let stdout = reading.join().unwrap().unwrap();
    let stderr = reading_err.join().unwrap().unwrap();

    let parse = |line: &str| -> Value {
        serde_json::from_str(line).unwrap_or_else(|error| panic!("torn ({error}): {line}"))
    };
    let events: HashSet<(u64, u64)> = stdout
        .lines()
        .map(parse)
        .map(|event| (event["thread"].as_u64().unwrap(), event["n"].as_u64().unwrap()))
        .collect();
    assert_eq!(events.len() as u64, THREADS * EACH);
    assert_eq!(stdout.lines().count() as u64, THREADS * EACH);
    let mut said: HashSet<String> = HashSet::new();
    for line in stderr.lines().map(parse) {
        let words = line["msg"].as_str().or(line["message"].as_str()).unwrap();
        assert!(line.get("repeated").is_none(), "all differ: {line}");
        assert!(said.insert(words.to_owned()), "twice: {line}");
    }
    assert_eq!(said.len() as u64, 2 * THREADS * EACH);
    let lines = events.len() + said.len();
    assert!(lines >= 100_000, "{lines}");
    println!("{lines} lines from {THREADS} threads: none torn, none lost");
}

/// Collapsed or not, the counts add up.
#[test]
fn repeated_lines_from_many_threads_add_up() {
    let stderr = clap_agent::Buffer::new();
    let writer = Writer::builder(clap_agent::Buffer::new(), stderr.clone()).build();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            let writer = writer.clone();
            scope.spawn(move || (0..1000).for_each(|_| writer.log("the same")));
        }
    });
    writer.flush();
    let text = stderr.text();
    assert_eq!(text.lines().count(), 1, "{text}");
    let line: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(line["repeated"].as_u64().unwrap() + 1, THREADS * 1000);
}
