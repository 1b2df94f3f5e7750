//! What a job reads.

use legwork_job::{Input, JobError, JobSpec, Place};

use super::asking::{close, open, write};
use crate::support::Jobs;

fn reading(stdin: Input) -> String {
    let jobs = Jobs::new();
    let spec = JobSpec { stdin, ..JobSpec::argv(["cat"]) };
    jobs.finish(&spec).output.unwrap()
}

#[test]
fn nothing_unless_said() {
    assert_eq!(reading(Input::Null), "");
    let jobs = Jobs::new();
    let report = jobs.finish(&JobSpec::shell("readlink /proc/self/fd/0"));
    assert_eq!(report.output.as_deref(), Some("/dev/null\n"));
}

#[test]
fn bytes_then_the_end() {
    assert_eq!(reading(Input::Bytes(b"one\ntwo".to_vec())), "one\ntwo");
    assert_eq!(reading(Input::Bytes(Vec::new())), "");
}

#[test]
fn many_bytes_of_any_kind() {
    // Bytes that become longer on their way to the supervisor, as JSON.
    let jobs = Jobs::new();
    for byte in [0u8, 0xff] {
        let stdin = Input::Bytes(vec![byte; 3 << 20]);
        let report = jobs.finish(&JobSpec { stdin, ..JobSpec::shell("wc -c") });
        assert_eq!(report.output.unwrap().trim(), (3 << 20).to_string(), "{byte}");
    }
    let stdin = Input::Bytes(vec![b'x'; (8 << 20) + 1]);
    let error = jobs.place.start(&JobSpec { stdin, ..JobSpec::shell("wc -c") }).unwrap_err();
    assert!(matches!(error, JobError::Invalid { field: "stdin", .. }), "{error}");
}

#[test]
fn a_file_also_by_a_relative_path() {
    // Tests run in the folder of their package.
    let expected = std::fs::read_to_string("Cargo.toml").unwrap();
    assert_eq!(reading(Input::File("Cargo.toml".into())), expected);
    let whole = std::env::current_dir().unwrap().join("Cargo.toml");
    assert_eq!(reading(Input::File(whole)), expected);
}

#[test]
fn what_is_written_while_it_runs() {
    let jobs = Jobs::new();
    let id = jobs.start(&open("read a; echo got $a; cat; echo end"));
    write(&jobs, id, "one\n");
    jobs.printed(id, "got one");
    write(&jobs, id, "two\n");
    jobs.printed(id, "two");
    close(&jobs, id);
    assert_eq!(jobs.ended(id).output.as_deref(), Some("got one\ntwo\nend\n"));
}
