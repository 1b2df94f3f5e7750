//! What counts as breaking a promise.

use clap_agent::contract::compare;
use serde_json::{Value, json};

fn contract() -> Value {
    json!({"commands": [{
        "name": "task",
        "subcommands": [{
            "name": "list",
            "idempotent": true,
            "effect": "read",
            "arguments": [{"name": "filter", "type": "string", "required": false}],
            "flags": [
                {"name": "limit", "type": "int", "default": 10},
                {"name": "status", "type": "string", "default": "all", "enum": ["all", "done"]},
            ],
            "returns": {"output_schema": {
                "type": "object", "required": ["id"],
                "properties": {"id": {"$ref": "#/$defs/Id"}, "title": {"type": "string"}},
                "$defs": {"Id": {"type": "integer"}},
            }},
            "examples": [{"command": "tasks task list", "expected_exit_code": 0}],
        }],
    }]})
}

/// The changes that follow from putting something else at a place of the command.
fn after(place: &str, value: Value) -> Vec<String> {
    let mut new = contract();
    let command = &mut new["commands"][0]["subcommands"][0];
    let (parent, key) = place.rsplit_once('/').unwrap();
    command.pointer_mut(parent).unwrap()[key] = value;
    compare(&contract(), &new).iter().map(ToString::to_string).collect()
}

#[test]
fn nothing_changed() {
    assert!(compare(&contract(), &contract()).is_empty());
}

#[test]
fn breaking_changes_are_named() {
    let flags = contract()["commands"][0]["subcommands"][0]["flags"].clone();
    let (limit, status) = (flags[0].clone(), flags[1].clone());
    let required = json!({"name": "new", "type": "string", "required": true});
    let schema = "/returns/output_schema";
    let at = |below: &str| format!("{schema}{below}");
    let cases = [
        ("/name".into(), json!("ls"), "`task list`: the command is gone"),
        ("/flags".into(), json!([status]), "`task list --limit`: the flag is gone"),
        (
            "/flags".into(),
            json!([limit, status, required]),
            "`task list --new`: the flag is new and required",
        ),
        ("/arguments".into(), json!([]), "`task list FILTER`: the argument is gone"),
        ("/effect".into(), json!("write"), "`task list`: effect read is now write"),
        ("/idempotent".into(), json!(false), "`task list`: it is no longer safe to run again"),
        (
            at("/$defs/Id/type"),
            json!(["integer", "null"]),
            "`task list`: result.id may now be null",
        ),
        (
            at("/properties"),
            json!({"id": {"$ref": "#/$defs/Id"}}),
            "`task list`: result.title is gone",
        ),
        (at("/required"), json!([]), "`task list`: result.id may now be missing"),
    ];
    for (place, value, expected) in cases {
        let changes = after(&place, value);
        assert_eq!(changes.first(), Some(&format!("breaking: {expected}")), "{changes:?}");
    }
    let in_flag = [
        (0, "type", json!("uint"), "`task list --limit`: type int is now uint"),
        (0, "default", json!(5), "`task list --limit`: default 10 is now 5"),
        (0, "required", json!(true), "`task list --limit`: it is now required"),
        (0, "pattern", json!("^1"), "`task list --limit`: it must now match '^1'"),
        (1, "enum", json!(["all"]), "`task list --status`: it no longer takes 'done'"),
        (1, "effect", json!("write"), "`task list --status`: its effect has risen"),
    ];
    for (index, key, value, expected) in in_flag {
        let mut changed = flags.clone();
        changed[index][key] = value;
        let changes = after("/flags", changed);
        assert_eq!(changes, [format!("breaking: {expected}")]);
    }
    let failing = json!([{"command": "tasks task list", "expected_exit_code": 5}]);
    assert_eq!(
        after("/examples", failing),
        ["breaking: `task list`: exit code 0 of `tasks task list` is now 5"]
    );
}

#[test]
fn growth_is_not_breaking() {
    let flags = contract()["commands"][0]["subcommands"][0]["flags"].clone();
    let mut wider = flags.clone();
    wider[0]["type"] = json!("string");
    wider[1]["enum"] = json!(["all", "done", "open"]);
    wider.as_array_mut().unwrap().push(json!({"name": "new", "type": "string"}));
    let argument = json!({"name": "filter", "type": "string", "required": false});
    let more = json!({"name": "more", "type": "string", "required": false});
    for (place, value) in [
        ("/flags", wider),
        ("/arguments", json!([argument, more])),
        ("/returns/output_schema/properties/due", json!({"type": "string"})),
        ("/effect", json!("read")),
    ] {
        let changes = after(place, value);
        assert!(changes.iter().all(|change| change.starts_with("changed: ")), "{changes:?}");
    }
}
