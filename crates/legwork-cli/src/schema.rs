//! What the answers look like, as JSON Schema.
//!
//! The values are those of `legwork-job`, which says nothing about schemas; a test here holds both
//! together.

use serde_json::{Map, Value, json};

/// A report: what is known of a job.
pub(crate) fn report() -> Value {
    let mut schema = json!({"type": "object", "properties": properties()});
    schema["required"] = json!(["schema", "place", "command", "running"]);
    schema
}

/// A report, with more said.
fn report_with(more: &[(&str, Value)]) -> Value {
    let mut schema = report();
    for (name, value) in more {
        schema["properties"][name] = value.clone();
    }
    schema
}

/// What `start` answers with.
pub(crate) fn started() -> Value {
    report_with(&[("existing", json!({"type": "boolean"}))])
}

/// What `ensure` answers with.
pub(crate) fn ensured() -> Value {
    report_with(&[("ensured", json!({"enum": ["running", "replaced", "started"]}))])
}

/// What `wait` answers with.
pub(crate) fn waited() -> Value {
    let met = ["exit", "output", "pattern", "port", "quiet", "input", "timeout"];
    let one = json!({
        "type": "object",
        "properties": {
            "met": {"enum": met},
            "cursor": {"type": "integer"},
            "line": {"type": "string"},
            "port": {"type": "integer"},
            "blocked_on": {"type": "object"},
            "report": report(),
        },
        "required": ["met", "report"],
    });
    json!({"type": "array", "items": one})
}

/// What `list` answers with.
pub(crate) fn page() -> Value {
    json!({
        "type": "object",
        "properties": {
            "jobs": {"type": "array", "items": report()},
            "total": {"type": "integer"},
            "unreadable": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["jobs", "total"],
    })
}

/// What `stop` answers with.
pub(crate) fn stopped() -> Value {
    let failed = json!({
        "type": "object",
        "properties": {"job": {"type": "string"}, "error": {"type": "string"}},
        "required": ["job", "error"],
    });
    json!({
        "type": "object",
        "properties": {
            "stopped": {"type": "array", "items": report()},
            "failed": {"type": "array", "items": failed},
        },
        "required": ["stopped"],
    })
}

/// What `screen` answers with.
pub(crate) fn screen() -> Value {
    json!({
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "rows": {"type": "array", "items": {"type": "string"}},
            "cursor_row": {"type": "integer"},
            "cursor_col": {"type": "integer"},
            "cursor_hidden": {"type": "boolean"},
            "title": {"type": "string"},
            "size": {"type": "object"},
            "state": states(),
            "blocked_on": {"type": "object"},
        },
        "required": ["id", "rows", "cursor_row", "cursor_col", "cursor_hidden", "size", "state"],
    })
}

fn states() -> Value {
    json!({"enum": ["starting", "running", "stopping", "ended", "lost", "elsewhere"]})
}

fn properties() -> Map<String, Value> {
    let text = || json!({"type": "string"});
    let number = || json!({"type": "integer"});
    let object = || json!({"type": "object"});
    let list = || json!({"type": "array", "items": {"type": "object"}});
    let fields = [
        ("schema", number()),
        ("id", text()),
        ("name", text()),
        ("place", text()),
        ("command", text()),
        ("argv", json!({"type": "array", "items": {"type": "string"}})),
        ("workdir", text()),
        ("intent", text()),
        ("labels", json!({"type": "object", "additionalProperties": {"type": "string"}})),
        ("session", text()),
        ("state", states()),
        ("running", json!({"type": "boolean"})),
        ("ending", object()),
        ("exit_code", number()),
        ("shell_code", number()),
        ("success", json!({"type": "boolean"})),
        ("output", text()),
        ("cursor", number()),
        ("truncated", object()),
        ("bytes", number()),
        ("lost_bytes", number()),
        ("started_at", text()),
        ("ended_at", text()),
        ("wall_duration_ms", number()),
        ("usage", object()),
        ("containment", text()),
        ("survivors", list()),
        ("processes", list()),
        ("blocked_on", object()),
        ("listening", list()),
        ("background_process_id", text()),
        ("error", text()),
        ("note", text()),
    ];
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::tests::ended;
    use legwork_job::{Process, Used};

    #[test]
    fn every_field_of_a_report_is_declared() {
        let id = "k3vq8m2a";
        let mut full = ended(id, 0);
        full.name = Some("web".into());
        full.argv = Some(vec!["x".into()]);
        full.workdir = Some("/".into());
        full.intent = Some("y".into());
        full.labels = [("a".to_owned(), "b".to_owned())].into();
        full.session = Some("s".into());
        full.shell_code = Some(0);
        full.success = Some(true);
        full.output = Some(String::new());
        full.cursor = Some(0);
        full.bytes = Some(0);
        full.lost_bytes = Some(1);
        full.ended_at = Some("1970-01-01T00:00:00Z".into());
        full.usage = Some(Used { cpu_user_ms: 1, cpu_system_ms: 1, max_rss_bytes: 1 });
        full.containment = Some(legwork::Containment::Marker);
        let process = Process::named(1, vec![]);
        full.survivors = vec![process.clone()];
        full.processes = vec![process];
        full.background_process_id = full.id;
        full.error = Some("e".into());
        full.note = Some("n".into());
        let value = serde_json::to_value(&full).unwrap();
        let declared = properties();
        for key in value.as_object().unwrap().keys() {
            assert!(declared.contains_key(key), "{key} is not declared");
        }
        for key in report()["required"].as_array().unwrap() {
            assert!(value.get(key.as_str().unwrap()).is_some(), "{key} is not always there");
        }
    }
}
