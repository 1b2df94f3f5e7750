//! `--fields` and `--jq`.

use serde_json::json;

use crate::seen::{call, scratch};

#[test]
fn only_the_fields_that_were_asked_for() {
    let dir = scratch();
    let seen = call(dir.path(), "task list --fields title,id").pipe();
    assert_eq!(
        seen.result(),
        json!([{"title": "buy milk", "id": 1}, {"title": "file taxes", "id": 2}])
    );
    let yaml = call(dir.path(), "task get 1 --fields title,id --output yaml").pipe();
    assert!(yaml.stdout.starts_with("result:\n  title: buy milk\n  id: 1\n"), "{yaml:?}");
}

#[test]
#[cfg(feature = "jq")]
fn the_result_through_a_filter() {
    let dir = scratch();
    let seen = call(dir.path(), "task list --jq 'map(select(.done)) | .[].title'").pipe();
    assert_eq!(seen.result(), json!("file taxes"));
    let seen = call(dir.path(), "task list --jq '.[].id' --fields id").pipe();
    assert_eq!(seen.result(), json!([1, 2]));
    let seen = call(dir.path(), "describe --jq '[.commands[].name]' --output ndjson").pipe();
    assert_eq!(seen.stdout, "[\"exec\",\"import\",\"label\",\"task\",\"watch\"]\n");
    let seen = call(dir.path(), "task get --jq '.arguments[0].name' --schema").pipe();
    assert_eq!(seen.stdout, "\"id\"\n");
    // A filter that fails on the result.
    let seen = call(dir.path(), "task get 1 --jq '.title.x'").pipe();
    assert_eq!((seen.code, &seen.error()["field"]), (Some(3), &json!("jq")));
}

/// Whoever selects wants the structured answer, also in a terminal; but not as text.
#[test]
fn selecting_asks_for_structure() {
    let dir = scratch();
    let (screen, code) = call(dir.path(), "task get 1 --fields id").terminal().end();
    assert_eq!(code, Some(0));
    assert!(screen.starts_with("{\n  \"result\": {\n    \"id\": 1\n  },"), "{screen}");
    let seen = call(dir.path(), "task get 1 --fields id --output text").pipe();
    assert_eq!(seen.code, Some(1));
    assert_eq!(
        seen.stderr,
        "Error: --fields selects from structured output, not from text\n\
         Hint:  use --output json, or leave out --fields\n"
    );
}

/// `labels` is declared and left out when empty; that is neither a mistake nor told as one.
#[test]
fn a_declared_field_may_be_absent() {
    let dir = scratch();
    let seen = call(dir.path(), "task get 2 --fields id,labels").pipe();
    assert_eq!((seen.code, seen.result()), (Some(0), json!({"id": 2})));
    let seen = call(dir.path(), "task create c --yes --fields id,labels").pipe();
    assert_eq!((seen.code, seen.result()), (Some(0), json!({"id": 3})));
}

/// Whoever is told that a call failed and can be tried again would create the task again.
#[test]
#[cfg(feature = "jq")]
fn a_filter_that_fails_after_the_work_hides_neither_the_work_nor_its_answer() {
    let dir = scratch();
    let seen = call(dir.path(), "task create c --yes --jq '.id|error'").pipe();
    assert_eq!(seen.result()["id"], 3, "{seen:?}");
    let error = seen.error();
    assert_eq!((seen.code, &error["code"]), (Some(3), &json!(3)));
    assert_eq!((&error["recoverable"], &error["field"]), (&json!(false), &json!("jq")));
    let message = error["message"].as_str().unwrap();
    assert!(message.starts_with("the command has done its work"), "{message}");
    // A plan has done nothing: it can be asked for again.
    let seen = call(dir.path(), "task delete 1 --dry-run --jq '.id|error'").pipe();
    assert_eq!((seen.code, &seen.error()["recoverable"]), (Some(1), &json!(true)));
    // A document neither.
    let seen = call(dir.path(), "describe --jq error").pipe();
    assert_eq!((seen.code, seen.stdout.as_str()), (Some(1), ""));
}
