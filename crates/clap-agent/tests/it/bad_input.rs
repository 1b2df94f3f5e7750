//! Mistakes: for an agent an error it can act on, for a person one that reads well.

use serde_json::{Value, json};

use crate::seen::{call, scratch};

/// What an agent gets.
fn error(line: &str) -> Value {
    let dir = scratch();
    let seen = call(dir.path(), line).pipe();
    assert_eq!(seen.stdout, "", "{line}: {seen:?}");
    let error = seen.error();
    assert_eq!(error["code"].as_i64(), seen.code.map(i64::from), "{line}");
    assert_eq!(error["schema_version"], "0.2", "{line}");
    error
}

/// What a person gets.
fn words(line: &str) -> String {
    let dir = scratch();
    let (screen, code) = call(dir.path(), line).env("NO_COLOR", "1").terminal().end();
    assert_eq!(code, Some(1), "{line}: {screen}");
    screen
}

fn expect(line: &str, expected: &Value, person: &str) {
    let error = error(line);
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(&error[key], value, "{key} of {error:#} for {line}");
    }
    assert_eq!(error["code"], 1, "{line}");
    assert_eq!(error["recoverable"], true, "{line}");
    assert_eq!(words(line), person, "{line}");
}

#[test]
fn an_unknown_flag_with_a_near_miss() {
    expect(
        "task list --stauts done",
        &json!({
            "error": "flag_error",
            "field": "--stauts",
            "message": "unexpected argument '--stauts' found",
            "suggestion": "did you mean '--status'?",
            "valid_values": ["--file", "--label", "--status"],
        }),
        "Error: unexpected argument '--stauts' found\n\
         Hint:  did you mean '--status'? (one of: --file, --label, --status)\n",
    );
}

#[test]
fn an_unknown_flag_near_nothing() {
    let error = error("task list --zzz");
    assert_eq!(error["error"], "flag_error");
    assert_eq!(error["suggestion"], "run `tasks task list --help` to see what it takes");
}

#[test]
fn a_wrong_enum_value() {
    expect(
        "task list --status dnoe",
        &json!({
            "error": "flag_error",
            "field": "status",
            "message": "invalid value 'dnoe' for '--status <STATUS>'",
            "suggestion": "did you mean 'done'?",
            "valid_values": ["open", "done", "all"],
        }),
        "Error: invalid value 'dnoe' for '--status <STATUS>'\n\
         Hint:  did you mean 'done'? (one of: open, done, all)\n",
    );
}

#[test]
fn a_missing_argument() {
    expect(
        "task get",
        &json!({
            "error": "command_error",
            "field": "id",
            "message": "the following required arguments were not provided: <ID>",
            "suggestion": "usage: tasks task get [OPTIONS] <ID>",
        }),
        "Error: the following required arguments were not provided: <ID>\n\
         Hint:  usage: tasks task get [OPTIONS] <ID>\n",
    );
}

#[test]
fn conflicting_flags() {
    expect(
        "task update 1 --done --open --yes",
        &json!({
            "error": "flag_error",
            "field": "done",
            "message": "the argument '--done' cannot be used with '--open'",
            "suggestion": "give only one of --done, --open",
        }),
        "Error: the argument '--done' cannot be used with '--open'\n\
         Hint:  give only one of --done, --open\n",
    );
}

#[test]
fn a_value_of_the_wrong_type() {
    let error = error("task get one");
    assert_eq!((&error["error"], &error["field"]), (&json!("command_error"), &json!("id")));
    assert_eq!(error["message"], "invalid value 'one' for '<ID>': invalid digit found in string");
}

#[test]
fn an_unknown_command_with_a_near_miss() {
    expect(
        "task lsit",
        &json!({
            "error": "command_error",
            "field": "lsit",
            "message": "unrecognized subcommand 'lsit'",
            "suggestion": "did you mean 'list'?",
            "valid_values": ["create", "delete", "get", "list", "update"],
        }),
        "Error: unrecognized subcommand 'lsit'\n\
         Hint:  did you mean 'list'? (one of: create, delete, get, list, update)\n",
    );
}

#[test]
fn a_missing_command() {
    let told = error("task");
    assert_eq!(told["error"], "command_error");
    assert_eq!(told["valid_values"], json!(["create", "delete", "get", "list", "update"]));
    // A person gets the help itself.
    let help = words("task");
    assert!(help.contains("Usage: tasks task") && help.contains("Delete a task"), "{help}");
}

#[test]
fn an_unknown_output_format() {
    expect(
        "task list --output nonsense",
        &json!({
            "error": "invalid_output_format",
            "field": "output",
            "message": "unknown --output value 'nonsense'",
            "suggestion": "use --output json, ndjson, yaml, text",
            "valid_values": ["json", "ndjson", "yaml", "text"],
        }),
        "Error: unknown --output value 'nonsense'\n\
         Hint:  use --output json, ndjson, yaml, text\n",
    );
    assert_eq!(error("task list --output jsn")["suggestion"], "did you mean --output json?");
    assert_eq!(error("task list --output")["error"], "invalid_output_format");
}

#[test]
fn an_unknown_protocol_version() {
    let error = error("task list --protocol-version 9");
    assert_eq!(error["error"], "invalid_protocol_version");
    assert_eq!(error["valid_values"], json!(["0.1", "0.2"]));
}

#[test]
#[cfg(feature = "jq")]
fn a_filter_that_does_not_compile() {
    expect(
        "task create x --yes --jq '.['",
        &json!({
            "error": "flag_error",
            "field": "jq",
            "message": "--jq '.[' does not compile: expected closing bracket at character 2",
        }),
        "Error: --jq '.[' does not compile: expected closing bracket at character 2\n\
         Hint:  a filter looks like `.[] | select(.done) | .id`\n",
    );
}

#[test]
fn fields_that_do_not_exist() {
    expect(
        "task create x --yes --fields id,titel",
        &json!({
            "error": "flag_error",
            "field": "fields",
            "message": "the result has no field 'titel'",
            "suggestion": "did you mean 'title'?",
            "valid_values": ["done", "id", "labels", "priority", "title"],
        }),
        "Error: the result has no field 'titel'\n\
         Hint:  did you mean 'title'? (one of: done, id, labels, priority, title)\n",
    );
}

/// A wrong selection is told before anything is done.
#[test]
fn nothing_is_done_when_the_selection_is_wrong() {
    let dir = scratch();
    let before = std::fs::read(dir.path().join("tasks.json")).unwrap();
    let mut wrong = vec!["--fields titel"];
    if cfg!(feature = "jq") {
        wrong.push("--jq nonsense");
    }
    for selection in wrong {
        let seen = call(dir.path(), &format!("task create x --yes {selection}")).pipe();
        assert_eq!(seen.code, Some(1), "{seen:?}");
    }
    assert_eq!(std::fs::read(dir.path().join("tasks.json")).unwrap(), before);
}

/// The form asked for holds for the error as well, wherever it stands.
#[test]
fn an_error_has_the_form_that_was_asked_for() {
    let dir = scratch();
    let seen = call(dir.path(), "task list --bogus --output ndjson --protocol-version 0.1").pipe();
    assert_eq!(seen.stderr.lines().count(), 1, "{seen:?}");
    assert!(!seen.stderr.contains("schema_version"), "{seen:?}");
    let seen = call(dir.path(), "--output text task get").pipe();
    assert!(seen.stderr.starts_with("Error: "), "{seen:?}");
    let (screen, _) = call(dir.path(), "--agent task get").terminal().end();
    assert!(screen.starts_with("{\n"), "{screen}");
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let dir = scratch();
    let (screen, _) = call(dir.path(), "task get 99").terminal().end();
    assert!(screen.starts_with("\u{1b}[1;31mError:\u{1b}[0m no task"), "{screen:?}");
    let seen = call(dir.path(), "task get 99 --output text").pipe();
    assert!(seen.stderr.starts_with("Error: no task"), "{seen:?}");
}
