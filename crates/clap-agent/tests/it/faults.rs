//! The known faults of the Go original, each shown not to exist here.

use std::process::Stdio;

use clap::{Arg, Command};
use clap_agent::{AgentError, Exit, Invocation, Notes, Program};
use serde_json::Value;

use crate::seen::{call, scratch};

/// There, `--output text` counted as a terminal and opened the confirmation gate.
#[test]
fn no_output_option_opens_the_gate() {
    for option in [
        "",
        "--output text",
        "--output json",
        "--output ndjson",
        "--output yaml",
        "--agent",
        "--protocol-version 0.1",
        "--fields id",
        "--output text --agent",
    ] {
        let dir = scratch();
        let before = std::fs::read(dir.path().join("tasks.json")).unwrap();
        let seen = call(dir.path(), &format!("task delete 1 {option}")).pipe();
        assert_eq!(seen.code, Some(1), "{option}: {seen:?}");
        assert!(seen.stderr.contains("needs confirmation"), "{option}: {seen:?}");
        let after = std::fs::read(dir.path().join("tasks.json")).unwrap();
        assert_eq!(before, after, "{option}");
    }
}

/// There, an error in terminal mode was returned instead of written and always ended with 1.
#[test]
fn an_error_keeps_its_code_in_terminal_mode() {
    let dir = scratch();
    let (screen, code) = call(dir.path(), "task get 99").env("NO_COLOR", "1").terminal().end();
    assert_eq!(code, Some(5));
    assert_eq!(
        screen,
        "Error: no task has the id 99\nHint:  run `tasks task list` to see the ids (one of: 1, 2)\n"
    );
    assert_eq!(call(dir.path(), "task get 99").pipe().code, Some(5));
    assert_eq!(call(dir.path(), "task get 99 --output text").pipe().code, Some(5));
}

/// There, YAML was written from the Go structs and had their field names, not the JSON keys.
#[test]
fn yaml_has_the_keys_of_json() {
    #[derive(serde::Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Report {
        exit_status: u8,
        ok: &'static str,
        born: &'static str,
        at: &'static str,
        kind: Kind,
    }
    #[derive(serde::Serialize)]
    #[serde(tag = "type", rename_all = "kebab-case")]
    enum Kind {
        VeryNew { since: u8 },
    }
    let payload = Report {
        exit_status: 0,
        ok: "no",
        born: "2001-12-14",
        at: "12:30:45",
        kind: Kind::VeryNew { since: 1 },
    };
    let mut run = Invocation::of(["x", "--output", "yaml"]);
    let stdout = run.capture_stdout();
    Program::new(Command::new("x")).call_matches(run, |_, out| out.success("", &payload));
    assert_eq!(
        stdout.text(),
        "result:\n  exitStatus: 0\n  ok: \"no\"\n  born: \"2001-12-14\"\n  at: \"12:30:45\"\n  \
         kind:\n    type: very-new\n    since: 1\nschema_version: \"0.2\"\nstatus: ok\n"
    );
}

/// There, every character device was taken for a terminal.
#[test]
fn dev_null_is_no_terminal() {
    let dir = scratch();
    let null = || Stdio::null();
    let status = call(dir.path(), "task delete 1")
        .command()
        .stdin(null())
        .stdout(null())
        .stderr(null())
        .status()
        .unwrap();
    // Neither asked nor done: refused.
    assert_eq!(status.code(), Some(1));
    let out = call(dir.path(), "task get 99").command().stdout(null()).output().unwrap();
    let error: Value = serde_json::from_slice(&out.stderr).expect("an agent's error");
    assert_eq!(error["code"], 5);
}

/// There, a payload that could not be serialised was dropped and the program ended with 0.
#[test]
fn a_payload_that_fails_to_serialise_is_a_tool_error() {
    use std::collections::HashMap;
    let unserialisable = HashMap::from([((1, 2), "a key that is no string")]);
    for format in ["json", "ndjson", "yaml"] {
        for passes_it_on in [true, false] {
            let mut run = Invocation::of(["x", "--output", format]);
            let (stdout, stderr) = (run.capture_stdout(), run.capture_stderr());
            let exit = Program::new(Command::new("x")).call_matches(run, |_, out| {
                let written = out.success("", &unserialisable);
                if passes_it_on { written } else { Ok::<(), AgentError>(()) }
            });
            assert_eq!(exit, Exit::ToolError, "{format}");
            assert_eq!(stdout.text(), "", "{format}");
            let error: Value = serde_json::from_str(&stderr.text()).unwrap();
            assert_eq!(error["error"], "tool_error");
            let message = error["message"].as_str().unwrap();
            assert!(message.contains("could not be serialised"), "{message}");
        }
    }
    // The same for an event.
    let mut run = Invocation::of(["x"]);
    let stderr = run.capture_stderr();
    let exit =
        Program::new(Command::new("x")).call_matches(run, |_, out| out.event(&unserialisable));
    assert_eq!(exit, Exit::ToolError);
    assert!(stderr.text().contains("could not be serialised"));
}

/// There, annotations were keyed by the command's last name, so these two shared one.
#[test]
fn same_named_subcommands_have_notes_of_their_own() {
    let dir = scratch();
    let schema = |path: &str| call(dir.path(), &format!("{path} --schema")).pipe().json();
    let (tasks, labels) = (schema("task list"), schema("label list"));
    assert_eq!(tasks["name"], labels["name"]);
    assert_eq!(tasks["when_to_use"], "to see what there is, before creating or deleting");
    assert_eq!(labels["when_to_use"], "before filtering tasks by label");
    assert_ne!(tasks["returns"], labels["returns"]);

    // The same in the builder, where notes are keyed by path.
    let list = || Command::new("delete").arg(Arg::new("id"));
    let command = Command::new("x")
        .subcommand(Command::new("a").subcommand(list()))
        .subcommand(Command::new("b").subcommand(list()));
    let program = Program::new(command).at("a delete", Notes::destructive());
    assert!(program.schema(&["a", "delete"]).unwrap().mutating);
    assert!(!program.schema(&["b", "delete"]).unwrap().mutating);
}
