//! Every form an answer can take, in both protocols, through a pipe and in a terminal, against
//! files that are read by people when they change.
//!
//! `UPDATE_GOLDEN=1 cargo test` writes them anew.

use std::fmt::Write;
use std::path::Path;

use crate::seen::{call, scratch, screen};

/// Times differ on every run.
fn without_times(text: &str) -> String {
    let mut rest = text;
    let mut out = String::new();
    while let Some(at) = rest.find("\"ts\":\"") {
        let value = at + "\"ts\":\"".len();
        let end = value + rest[value..].find('"').expect("a string ends");
        let time = &rest[value..end];
        assert!(time.ends_with('Z') && time.len() >= 20, "{time}");
        out.push_str(&rest[..value]);
        out.push_str("TIME");
        rest = &rest[end..];
    }
    out + rest
}

fn compare(name: &str, line: &str) {
    compare_in(name, line, &["", " --output ndjson", " --output yaml"]);
}

fn compare_in(name: &str, line: &str, formats: &[&str]) {
    let mut text = String::new();
    for version in ["0.1", "0.2"] {
        for format in formats {
            let dir = scratch();
            let line = format!("{line} --protocol-version {version}{format}");
            let seen = call(dir.path(), &line).pipe();
            let _ = write!(text, "$ tasks {line} | cat\n--- stdout\n{}", seen.stdout);
            let _ = write!(text, "--- stderr\n{}--- exit {:?}\n\n", seen.stderr, seen.code);
        }
    }
    for extra in ["", " --agent --protocol-version 0.1", " --agent --protocol-version 0.2"] {
        let dir = scratch();
        let line = format!("{line}{extra}");
        let (raw, code) = call(dir.path(), &line).env("NO_COLOR", "1").terminal().end();
        let _ = write!(
            text,
            "$ tasks {line}      (in a terminal)\n{}--- exit {code:?}\n\n",
            screen(&raw)
        );
    }
    let text = without_times(&text);
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format!("{name}.txt"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &text).expect("the golden file can be written");
        return;
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_else(|error| {
        panic!("{} ({error}); make it with UPDATE_GOLDEN=1", path.display())
    });
    let differs = golden.lines().zip(text.lines()).position(|(golden, now)| golden != now);
    assert!(
        golden == text,
        "{} differs from line {:?} on; now it is:\n{text}",
        path.display(),
        differs.map(|line| line + 1)
    );
}

#[test]
fn success() {
    compare("success", "task get 1");
}

#[test]
fn error() {
    compare("error", "task get 99");
}

#[test]
fn plan() {
    compare("plan", "task delete 1 --dry-run");
}

#[test]
fn event() {
    compare("event", "watch --count 2");
}

#[test]
fn progress_and_log() {
    compare("progress_and_log", "import list.txt --yes");
}

#[test]
fn refusal() {
    compare("refusal", "task delete 1 --agent");
}

#[test]
fn schema() {
    compare_in("schema", "task delete --schema", &["", " --output yaml"]);
}

#[test]
fn describe() {
    compare_in("describe", "describe", &[""]);
}

/// Both spellings of a document hold the same.
#[test]
fn yaml_and_json_have_the_same_keys() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/success.txt");
    let text = std::fs::read_to_string(golden).unwrap();
    for key in ["result:", "schema_version: \"0.2\"", "status: ok", "tool_version: \"1.4.0\""] {
        assert!(text.lines().any(|line| line == key), "{key} in {text}");
    }
}
