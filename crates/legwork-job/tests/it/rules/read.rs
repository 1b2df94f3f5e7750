//! Reading: views within a budget, by cursor, by stream, by pattern.

use legwork::{Cause, Stream};
use legwork_job::{JobError, JobId, JobSpec, LogError, OnLogLimit, Place, Reading};
use legwork_view::{Budget, Folding, Part};

use super::asking::log_of;
use crate::support::Jobs;

fn part(jobs: &Jobs, id: JobId, part: Part) -> String {
    jobs.place.read(id, &Reading { part, ..Reading::default() }).unwrap().output.unwrap()
}

fn flood(bytes: u64) -> JobSpec {
    let program = testkit::misbehave().to_str().unwrap();
    JobSpec::argv([program, "flood", &bytes.to_string()])
}

#[test]
fn a_view_fits_its_budget_and_keeps_the_end_and_the_errors() {
    let jobs = Jobs::new();
    let line = "seq 100000; echo 'error: the one that matters'; seq 100000; echo the-end";
    let id = jobs.finish(&JobSpec::shell(line)).id.unwrap();
    for bytes in [1024, 4096, 32_768] {
        let reading = Reading { budget: Budget::Bytes(bytes), ..Reading::default() };
        let report = jobs.place.read(id, &reading).unwrap();
        let output = report.output.unwrap();
        assert!(output.len() <= bytes, "{} of {bytes}", output.len());
        assert!(output.ends_with("the-end\n") && output.starts_with("1\n2\n"), "{output}");
        assert!(output.contains("error: the one that matters"), "{output}");
        let truncated = report.truncated.unwrap();
        assert_eq!(Some(truncated.original_bytes), report.bytes);
        assert_eq!(truncated.retained_bytes + truncated.omitted_bytes, truncated.original_bytes);
    }
}

#[test]
fn by_cursor_head_and_tail() {
    let jobs = Jobs::new();
    let id = jobs.finish(&JobSpec::shell("echo one; echo two; echo three")).id.unwrap();
    assert_eq!(part(&jobs, id, Part::Since(4)), "two\nthree\n");
    assert_eq!(part(&jobs, id, Part::From(8)), "three\n");
    assert_eq!(part(&jobs, id, Part::Between(4, 8)), "two\n");
    assert_eq!(part(&jobs, id, Part::Since(14)), "", "at the end there is nothing yet");

    let many = jobs.finish(&JobSpec::shell("seq 10000")).id.unwrap();
    let budget = Budget::Bytes(1024);
    let read =
        |part| jobs.place.read(many, &Reading { part, budget, ..Reading::default() }).unwrap();
    let head = read(Part::Head);
    assert!(head.output.unwrap().starts_with("1\n2\n3\n"));
    assert!(read(Part::Tail).output.unwrap().ends_with("\n9999\n10000\n"));
    // Pages join up, nothing skipped.
    let mut cursor = 0;
    let mut joined = String::new();
    while Some(cursor) != head.bytes {
        let piece = read(Part::From(cursor));
        let text = piece.output.unwrap();
        joined.extend(text.lines().filter(|l| !l.starts_with('[')).map(|l| format!("{l}\n")));
        assert!(piece.cursor.unwrap() > cursor);
        cursor = piece.cursor.unwrap();
    }
    assert_eq!(joined.into_bytes(), log_of(&jobs, many));
}

#[test]
fn a_cursor_reads_on_where_it_stopped() {
    let jobs = Jobs::new();
    let go = jobs.state().join("go");
    let line = format!("echo one; until [ -e '{}' ]; do sleep 0.01; done; echo two", go.display());
    let id = jobs.start(&JobSpec::shell(line));
    let cursor = jobs.printed(id, "one\n").cursor.unwrap();
    assert_eq!(cursor, 4);
    std::fs::write(go, "").unwrap();
    jobs.ended(id);
    assert_eq!(part(&jobs, id, Part::Since(cursor)), "two\n");
}

#[test]
fn a_cursor_beyond_the_end_is_an_error() {
    let jobs = Jobs::new();
    let id = jobs.finish(&JobSpec::shell("echo one")).id.unwrap();
    for part in [Part::Since(5), Part::From(5), Part::Between(5, 6)] {
        for stream in [None, Some(Stream::Stdout)] {
            let reading = Reading { part, stream, ..Reading::default() };
            let error = jobs.place.read(id, &reading).unwrap_err();
            assert!(matches!(error, JobError::Log(_) | JobError::View(_)), "{error:?}");
            assert!(error.to_string().contains('5'), "{error}");
        }
    }
    let error = jobs.place.bytes(id, 5, 10).unwrap_err();
    assert!(matches!(error, JobError::Log(LogError::BeyondTheEnd { cursor: 5, total: 4 })));
}

#[test]
fn a_cursor_into_a_dropped_range_says_how_much_is_gone() {
    let jobs = Jobs::new();
    let spec = JobSpec { log_limit: 64 * 1024, ..flood(1 << 20) };
    let report = jobs.finish(&spec);
    assert_eq!(report.bytes, Some(1 << 20));
    let (id, middle) = (report.id.unwrap(), 1 << 19);
    let piece = jobs.place.bytes(id, middle, 64).unwrap();
    assert_eq!(piece.dropped, piece.cursor - middle);
    assert!(piece.cursor > middle && piece.bytes.len() == 64, "{piece:?}");
    let kept = log_of(&jobs, id).len();
    assert!((32 * 1024..=65 * 1024).contains(&kept), "{kept}");

    let reading = Reading { part: Part::From(middle), ..Reading::default() };
    let report = jobs.place.read(id, &reading).unwrap();
    let output = report.output.unwrap();
    assert!(output.starts_with("[…") && output.contains("dropped"), "{}", &output[..200]);
    assert!(output.contains(&piece.dropped.to_string()), "{}", &output[..200]);
    assert!(report.truncated.unwrap().omitted_bytes >= piece.dropped);
}

#[test]
fn the_log_limit_can_end_the_job() {
    let jobs = Jobs::new();
    let mut spec = JobSpec::argv(["yes"]);
    spec.log_limit = 64 * 1024;
    spec.on_log_limit = OnLogLimit::Terminate;
    let report = jobs.finish(&spec);
    assert_eq!(report.ending.unwrap().cause(), &Cause::OutputLimit);
    assert_eq!((report.success, report.exit_code), (Some(false), None));
    assert!(report.bytes.unwrap() > 64 * 1024);
    // One that ends by itself within it is not touched.
    let mut spec = flood(64 * 1024);
    spec.log_limit = 64 * 1024;
    spec.on_log_limit = OnLogLimit::Terminate;
    assert_eq!(jobs.finish(&spec).exit_code, Some(0));
}

#[test]
fn one_stream_alone() {
    let jobs = Jobs::new();
    let line = "echo out1; sleep 0.05; echo err1 >&2; sleep 0.05; echo out2";
    let id = jobs.finish(&JobSpec::shell(line)).id.unwrap();
    let of = |stream, part| {
        let reading = Reading { stream: Some(stream), part, ..Reading::default() };
        let report = jobs.place.read(id, &reading).unwrap();
        assert_eq!(report.cursor, Some(15), "the cursor to go on from is the log's");
        report.output.unwrap()
    };
    assert_eq!(of(Stream::Stdout, Part::Whole), "out1\nout2\n");
    assert_eq!(of(Stream::Stderr, Part::Whole), "err1\n");
    assert_eq!(of(Stream::Stdout, Part::Since(5)), "out2\n");
}

#[test]
fn only_lines_that_match() {
    let jobs = Jobs::new();
    let id = jobs.finish(&JobSpec::shell("seq 1000; echo seven-7")).id.unwrap();
    let grep = |pattern: &str| {
        let reading = Reading { grep: Some(pattern.into()), ..Reading::default() };
        jobs.place.read(id, &reading)
    };
    let output = grep("^77[0-9]$").unwrap().output.unwrap();
    // Each with its cursor.
    let lines = output.lines().filter(|line| !line.starts_with('['));
    let lines: Vec<_> = lines.filter_map(|line| line.split_once(": ")).collect();
    assert_eq!(lines.len(), 10, "{output}");
    for (cursor, line) in lines {
        let piece = jobs.place.bytes(id, cursor.parse().unwrap(), 3).unwrap();
        assert_eq!(piece.bytes, line.as_bytes());
        assert!(line.starts_with("77"), "{line}");
    }
    assert!(matches!(grep("(").unwrap_err(), JobError::View(_)));
}

#[test]
fn a_view_is_always_utf8() {
    let jobs = Jobs::new();
    let line = r"printf '\377\376a\n'; for i in $(seq 5000); do printf 'äöü€😀'; done";
    let id = jobs.finish(&JobSpec::shell(line)).id.unwrap();
    for bytes in (256..300).chain([1024, 4096]) {
        for folding in [Folding::Folded, Folding::Raw] {
            let reading = Reading { budget: Budget::Bytes(bytes), folding, ..Reading::default() };
            let output = jobs.place.read(id, &reading).unwrap().output.unwrap();
            assert!(output.len() <= bytes, "{} of {bytes}", output.len());
            let cut = output.matches('\u{fffd}').count();
            assert!(cut <= 2, "a character was cut: {output}");
        }
    }
}

#[test]
fn an_unknown_job_is_not_found() {
    let jobs = Jobs::new();
    let error = jobs.place.read(JobId::random(), &Reading::default()).unwrap_err();
    assert!(matches!(error, JobError::NotFound { .. }), "{error}");
}

#[test]
fn the_pages_of_one_stream_give_every_byte_of_it_once() {
    let jobs = Jobs::new();
    let line = "for i in $(seq 2000); do echo line $i; echo err $i >&2; done";
    let id = jobs.finish(&JobSpec::shell(line)).id.unwrap();
    let (mut cursor, mut lines) = (0, Vec::new());
    loop {
        let reading = Reading {
            part: Part::From(cursor),
            stream: Some(Stream::Stdout),
            budget: Budget::Bytes(4096),
            ..Reading::default()
        };
        let page = jobs.place.read(id, &reading).unwrap();
        let text = page.output.unwrap();
        lines.extend(text.lines().filter(|l| l.starts_with("line ")).map(str::to_owned));
        let next = page.cursor.unwrap();
        if next == cursor || text.is_empty() {
            break;
        }
        cursor = next;
    }
    let all: Vec<String> = (1..=2000).map(|number| format!("line {number}")).collect();
    assert_eq!(lines, all);
}

#[test]
fn what_could_not_be_searched_is_said() {
    let jobs = Jobs::new();
    let mut spec = JobSpec::shell("seq 100000");
    spec.log_limit = 64 * 1024;
    let id = jobs.finish(&spec).id.unwrap();
    let reading = Reading { grep: Some("^50000$".into()), ..Reading::default() };
    let report = jobs.place.read(id, &reading).unwrap();
    assert!(report.note.unwrap().contains("not searched"));
}
