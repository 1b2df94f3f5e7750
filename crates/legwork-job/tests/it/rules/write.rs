//! Writing to a job: in order, once, as fast as it reads.

use legwork_job::{JobError, JobSpec, Place, Writing, Written};

use super::asking::{close, log_of, on_terminal, open, write};
use crate::support::Jobs;

#[test]
fn once_for_a_request_id() {
    let jobs = Jobs::new();
    let id = jobs.start(&open("cat"));
    let once = |bytes: &str, request: &str| {
        let request_id = Some(request.to_owned());
        let writing = Writing { bytes: bytes.into(), close: false, request_id };
        jobs.again().write(id, &writing).unwrap()
    };
    assert_eq!(once("one\n", "a"), Written { bytes: 4, queued: 0, repeated: false });
    assert_eq!(once("one\n", "a"), Written { bytes: 4, queued: 0, repeated: true });
    once("two\n", "b");
    once("one\n", "a");
    write(&jobs, id, "two\n");
    write(&jobs, id, "two\n");
    close(&jobs, id);
    assert_eq!(log_of(&jobs, jobs.ended(id).id.unwrap()), b"one\ntwo\ntwo\ntwo\n");
}

#[test]
fn two_at_once_with_one_request_id_are_written_once() {
    let jobs = Jobs::new();
    let id = jobs.start(&open("cat"));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let request_id = Some("same".to_owned());
                let writing = Writing { bytes: b"once\n".to_vec(), close: false, request_id };
                jobs.again().write(id, &writing).unwrap();
            });
        }
    });
    close(&jobs, id);
    assert_eq!(jobs.ended(id).output.as_deref(), Some("once\n"));
}

#[test]
fn to_a_slow_reader_all_of_it_arrives() {
    let jobs = Jobs::new();
    let go = jobs.state().join("go");
    let line = format!("until [ -e '{}' ]; do sleep 0.01; done; wc -c", go.display());
    let id = jobs.start(&open(&line));
    let bytes = vec![b'x'; 1 << 20];
    let writing = Writing { bytes: bytes.clone(), close: false, request_id: Some("big".into()) };
    let written = jobs.place.write(id, &writing).unwrap();
    assert_eq!(written.bytes + written.queued, 1 << 20);
    assert!(written.queued > 0, "nobody has read it: {written:?}");
    std::fs::write(go, "").unwrap();
    // Asked again, it tells how far it is.
    testkit::wait_until("all to be taken", || {
        let again = jobs.place.write(id, &writing).unwrap();
        assert!(again.repeated);
        again == Written { bytes: 1 << 20, queued: 0, repeated: true }
    });
    write(&jobs, id, "12345");
    close(&jobs, id);
    assert_eq!(jobs.ended(id).output.unwrap().trim(), ((1 << 20) + 5).to_string());
}

#[test]
fn much_at_once_of_any_bytes() {
    let jobs = Jobs::new();
    for byte in [0u8, 0xff] {
        let id = jobs.start(&open("wc -c"));
        write(&jobs, id, vec![byte; 3 << 20]);
        close(&jobs, id);
        assert_eq!(jobs.ended(id).output.unwrap().trim(), (3 << 20).to_string(), "{byte}");
    }
    let id = jobs.start(&open("wc -c"));
    let writing = Writing { bytes: vec![0; (8 << 20) + 1], ..Writing::default() };
    let error = jobs.place.write(id, &writing).unwrap_err();
    assert!(matches!(error, JobError::Invalid { field: "bytes", .. }), "{error}");
}

#[test]
fn to_one_without_an_input_is_refused() {
    let jobs = Jobs::new();
    let id = jobs.shell("sleep 300");
    let error = jobs.place.write(id, &Writing::default()).unwrap_err();
    assert!(matches!(error, JobError::NotPossible { .. }), "{error}");
    assert!(error.to_string().contains("--stdin open"), "{error}");
}

#[test]
fn after_the_end_of_input_is_refused() {
    let jobs = Jobs::new();
    let id = jobs.start(&open("cat; echo closed; sleep 300"));
    close(&jobs, id);
    jobs.printed(id, "closed");
    let error = jobs.place.write(id, &Writing::default()).unwrap_err();
    assert!(matches!(error, JobError::NotPossible { .. }), "{error}");
    // One that closes its own input.
    let id = jobs.start(&open("exec <&-; echo closed; exec sleep 300"));
    jobs.printed(id, "closed");
    let writing = Writing { bytes: b"x".to_vec(), ..Writing::default() };
    assert_eq!(jobs.place.write(id, &writing).unwrap().bytes, 0, "nothing was taken");
    let error = jobs.place.write(id, &writing).unwrap_err();
    assert!(matches!(error, JobError::NotPossible { .. }), "{error}");
}

#[test]
fn to_one_that_has_ended_is_a_conflict() {
    let jobs = Jobs::new();
    let id = jobs.start(&open("exit 0"));
    jobs.ended(id);
    let error = jobs.place.write(id, &Writing::default()).unwrap_err();
    assert!(matches!(error, JobError::NothingLeft { .. }), "{error}");
}

#[test]
fn to_a_terminal() {
    let jobs = Jobs::new();
    let spec = on_terminal(&["sh", "-c", "read a; echo got-$a; cat; echo end"]);
    let id = jobs.start(&spec);
    write(&jobs, id, "one\r");
    jobs.printed(id, "got-one");
    // The end of input, also where the last line is not finished.
    let last = Writing { bytes: b"rest".to_vec(), close: true, request_id: None };
    assert_eq!(jobs.place.write(id, &last).unwrap().bytes, 4);
    let output = jobs.ended(id).output.unwrap();
    assert!(output.ends_with("restend\n") || output.ends_with("restrestend\n"), "{output:?}");
}

#[test]
fn the_end_of_input_on_a_terminal_after_a_whole_line() {
    let jobs = Jobs::new();
    let id = jobs.start(&on_terminal(&["sh", "-c", "cat; echo end; cat; echo really"]));
    let last = Writing { bytes: b"line\n".to_vec(), close: true, request_id: None };
    jobs.place.write(id, &last).unwrap();
    jobs.printed(id, "end");
    // A terminal is not closed by that: the next program reads on.
    write(&jobs, id, "more\n");
    jobs.printed(id, "more\nmore");
    close(&jobs, id);
    jobs.ended(id);
}

#[test]
fn an_interrupt_is_typed() {
    let jobs = Jobs::new();
    let id = jobs.start(&on_terminal(&["sh", "-c", "echo up; exec sleep 300"]));
    jobs.printed(id, "up");
    write(&jobs, id, [3]);
    let ending = jobs.ended(id).ending.unwrap();
    assert_eq!(ending.number(), 130);
}

#[test]
fn a_job_without_a_terminal_knows_it() {
    let jobs = Jobs::new();
    let line = "[ -t 0 ] || [ -t 1 ] || echo none";
    assert_eq!(jobs.finish(&JobSpec::shell(line)).output.as_deref(), Some("none\n"));
}
