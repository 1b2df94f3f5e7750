//! Examples that cannot rot: all of the example program's, and some broken on purpose.

#![cfg(feature = "testing")]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use clap_agent::testing::{Examples, assert_contract, check_stdout};

use crate::seen::{call, fill, scratch, tasks};

#[test]
fn every_example_works() {
    let report = Examples::of(tasks()).prepare(fill).run();
    report.assert();
    let declared =
        call(scratch().path(), "describe").pipe().stdout.matches("\"command\": ").count();
    assert_eq!(report.passed.len(), declared, "{report:?}");
    assert_eq!(declared, 13);
}

/// The same program, without the tasks its examples speak of: each failure is named.
#[test]
fn a_broken_example_is_named() {
    let report = Examples::of(tasks())
        .prepare(|dir| fs::write(dir.join("list.txt"), "sweep\n"))
        .patience(std::time::Duration::from_secs(2))
        .run();
    let named: Vec<&str> = report.failed.iter().map(|failure| failure.example.as_str()).collect();
    assert_eq!(
        named,
        [
            "tasks task delete 1 --dry-run",
            "tasks task delete 1 --yes",
            "tasks task get 1",
            "tasks task update 1 --done --yes",
            "tasks watch --count 2",
        ]
    );
    let told = report.failed[2].to_string();
    let expected = "`tasks task get 1` (an example of `tasks task get`) exits with 5 instead of 0";
    assert!(told.starts_with(expected), "{told}");
    assert!(told.contains("no task has the id 1"), "{told}");
    assert!(report.failed[4].reason.contains("does not end within 2 s"), "{report:?}");
}

/// A program that promises one thing and prints another.
fn liar(describe: &serde_json::Value, says: &str) -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("liar");
    let script = format!(
        "#!/bin/sh\nif [ \"$1\" = describe ]; then cat <<'END'\n{describe}\nEND\nelse\ncat <<'END'\n{says}\nEND\nfi\n"
    );
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    (dir, path)
}

fn promise() -> serde_json::Value {
    serde_json::json!({"name": "liar", "commands": [{
        "name": "get",
        "returns": {"type": "object", "output_schema": {
            "type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]
        }},
        "examples": [{"command": "liar get"}],
    }]})
}

#[test]
fn a_result_that_breaks_its_schema_is_named() {
    let (_dir, path) = liar(&promise(), r#"{"result": {"id": "one"}, "status": "ok"}"#);
    let report = Examples::of(path).run();
    assert_eq!(report.failed.len(), 1);
    let told = report.failed[0].to_string();
    assert!(told.starts_with("`liar get` (an example of `liar get`) returns something"), "{told}");
    assert!(told.contains("'/id'"), "{told}");
}

#[test]
fn a_program_that_prints_anything_else_fails() {
    let (_dir, path) =
        liar(&promise(), "loading...\n{\"result\": {\"id\": 1}, \"status\": \"ok\"}");
    let report = Examples::of(path).run();
    assert_eq!(
        report.failed[0].reason,
        "stdout carries something that is no envelope and no event: 'loading...'"
    );
    assert!(check_stdout(b"7\n").is_err());
    assert!(check_stdout(b"{\"a\":1").is_err());
}

/// A word like `text` in an example is no reason to look away, and silence is no answer.
#[test]
fn an_example_cannot_hide() {
    for line in ["liar get", "liar get 'some text'", "liar get yaml --output=ndjson"] {
        let mut promise = promise();
        promise["commands"][0]["examples"][0]["command"] = line.into();
        let (_dir, path) = liar(&promise, r#"{"result": {"id": "one"}, "status": "ok"}"#);
        let report = Examples::of(path).run();
        assert!(report.failed[0].reason.starts_with("returns something"), "{line}: {report:?}");
        let (_dir, path) = liar(&promise, "");
        let report = Examples::of(path).run();
        assert_eq!(
            report.failed[0].reason, "declares what it returns, but ends with 0 and no answer",
            "{line}"
        );
    }
    let mut promise = promise();
    promise["commands"][0]["examples"][0]["command"] = "liar get --output text".into();
    let (_dir, path) = liar(&promise, "one");
    Examples::of(path).run().assert();
}

/// A new version, a new command, other words: the contract holds.
#[test]
fn a_contract_is_broken_by_breaking_changes_only() {
    let dir = tempfile::tempdir().unwrap();
    let committed = dir.path().join("contract.json");
    let mut old = promise();
    old["tool_version"] = "1.0.0".into();
    fs::write(&committed, old.to_string()).unwrap();
    let mut new = promise();
    new["tool_version"] = "1.1.0".into();
    new["commands"][0]["summary"] = "Get one".into();
    let (_dir, path) = liar(&new, "");
    assert_contract(&path, &committed);
    let changes = clap_agent::contract::compare(&old, &new);
    assert_eq!(changes[0].to_string(), "changed: `get`: summary null is now \"Get one\"");

    new["commands"] = serde_json::json!([]);
    let (_dir, path) = liar(&new, "");
    let broken = std::panic::catch_unwind(|| assert_contract(&path, &committed)).unwrap_err();
    let told = broken.downcast_ref::<String>().unwrap();
    assert!(told.contains("breaking: `get`: the command is gone"), "{told}");
}

#[test]
#[should_panic(expected = "1 of 1 examples do not work")]
fn the_report_fails_the_test() {
    let (_dir, path) = liar(&promise(), "{}oops");
    Examples::of(path).run().assert();
}

#[test]
fn the_contract_of_the_example_is_committed() {
    assert_contract(tasks(), concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/contract.json"));
}
