//! A command as data: fields in, a command out, and each malformed field named.

use std::time::Duration;

use serde_json::{Map, Value};

use super::Command;
use crate::env::EnvMode;
use crate::error::InvalidInput;
use crate::near;

const FIELDS: [&str; 7] = ["command", "argv", "env", "cwd", "workdir", "timeout", "clear_env"];

pub(super) fn command(fields: &Value) -> Result<Command, InvalidInput> {
    let fields = fields.as_object().ok_or_else(|| {
        wrong("command", fields, "an object", r#"{"command": "cargo", "argv": ["build"]}"#)
    })?;
    if let Some(unknown) = fields.keys().find(|name| !FIELDS.contains(&name.as_str())) {
        let hint = match near::nearest(unknown, FIELDS, 1).first() {
            Some(name) => format!("did you mean \"{name}\"?"),
            None => format!("the fields are {}", FIELDS.join(", ")),
        };
        return Err(InvalidInput::new(unknown, "unknown field", hint));
    }

    let name = match field(fields, "command") {
        Some(Value::String(name)) if !name.is_empty() => name.clone(),
        Some(other) => return Err(wrong("command", other, "a name or path", r#""cargo""#)),
        None => {
            return Err(InvalidInput::new(
                "command",
                "missing",
                "name the program, as in \"cargo\"",
            ));
        }
    };
    let mut command = Command::new([name]).args(argv(fields)?);
    // The mode first: it chooses what the variables come on top of.
    if clear_env(fields)? {
        command = command.env_mode(EnvMode::Empty);
    }
    command = command.envs(env(fields)?);
    if let Some(directory) = workdir(fields)? {
        command = command.workdir(directory);
    }
    if let Some(limit) = timeout(fields)? {
        command = command.timeout(limit);
    }
    Ok(command)
}

/// A field that is there and not null.
fn field<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    fields.get(name).filter(|value| !value.is_null())
}

fn argv(fields: &Map<String, Value>) -> Result<Vec<String>, InvalidInput> {
    let texts = |elements: &[Value]| -> Vec<String> {
        let text = |element: &Value| match element {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        elements.iter().map(text).collect()
    };
    match field(fields, "argv") {
        None => Ok(Vec::new()),
        Some(Value::Array(elements)) => Ok(texts(elements)),
        Some(Value::String(text)) => match serde_json::from_str::<Vec<Value>>(text) {
            Ok(elements) => Ok(texts(&elements)),
            Err(_) => Ok(vec![text.clone()]),
        },
        Some(other) => Err(wrong("argv", other, "an array or a string", r#"["-r", ".foo"]"#)),
    }
}

fn env(fields: &Map<String, Value>) -> Result<Vec<(String, String)>, InvalidInput> {
    const EXAMPLE: &str = r#"{"NAME": "value"}"#;
    let parsed;
    let object = match field(fields, "env") {
        None => return Ok(Vec::new()),
        Some(Value::Object(object)) => object,
        Some(Value::String(text)) => {
            parsed = serde_json::from_str::<Map<String, Value>>(text).map_err(|error| {
                InvalidInput::new(
                    "env",
                    format!("the string holds no JSON object: {error}"),
                    format!("write it as {EXAMPLE}"),
                )
            })?;
            &parsed
        }
        Some(other) => return Err(wrong("env", other, "an object", EXAMPLE)),
    };
    let pair = |(name, value): (&String, &Value)| match value {
        Value::String(text) => Ok((name.clone(), text.clone())),
        Value::Number(_) | Value::Bool(_) => Ok((name.clone(), value.to_string())),
        other => Err(wrong(&format!("env.{name}"), other, "a string", r#""value""#)),
    };
    object.iter().map(pair).collect()
}

fn workdir(fields: &Map<String, Value>) -> Result<Option<String>, InvalidInput> {
    let text = |name: &str| match field(fields, name) {
        None => Ok(None),
        Some(Value::String(directory)) if !directory.is_empty() => Ok(Some(directory.clone())),
        Some(other) => Err(wrong(name, other, "a directory", r#""/workspace""#)),
    };
    match (text("cwd")?, text("workdir")?) {
        (Some(cwd), Some(workdir)) if cwd != workdir => {
            let problem = format!("\"cwd\" says {cwd:?}, \"workdir\" says {workdir:?}");
            Err(InvalidInput::new("workdir", problem, "give one of the two"))
        }
        (cwd, workdir) => Ok(cwd.or(workdir)),
    }
}

fn timeout(fields: &Map<String, Value>) -> Result<Option<Duration>, InvalidInput> {
    let Some(value) = field(fields, "timeout") else {
        return Ok(None);
    };
    let millis = match value {
        Value::Number(number) => number.as_u64(),
        Value::String(text) if text.bytes().all(|b| b.is_ascii_digit()) => text.parse().ok(),
        _ => None,
    };
    let millis = millis.ok_or_else(|| wrong("timeout", value, "whole milliseconds", "30000"))?;
    Ok(Some(Duration::from_millis(millis)))
}

fn clear_env(fields: &Map<String, Value>) -> Result<bool, InvalidInput> {
    match field(fields, "clear_env") {
        None => Ok(false),
        Some(Value::Bool(clear)) => Ok(*clear),
        Some(other) => Err(wrong("clear_env", other, "true or false", "true")),
    }
}

fn wrong(field: &str, got: &Value, expected: &str, example: &str) -> InvalidInput {
    let mut shown = got.to_string();
    if let Some((at, _)) = shown.char_indices().nth(60) {
        shown.truncate(at);
        shown.push('…');
    }
    InvalidInput::new(
        field,
        format!("expected {expected}, got {shown}"),
        format!("for example {example}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::What;
    use serde_json::json;

    fn argv_of(value: &Value) -> Vec<String> {
        let command = command(&json!({"command": "x", "argv": value})).unwrap();
        let What::Argv(_) = &command.exec.what else { panic!("no argv") };
        command.exec.args.iter().map(|arg| arg.to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn argv_in_all_its_forms() {
        assert_eq!(
            argv_of(&json!(["-r", 5, true, null, {"a": 1}])),
            ["-r", "5", "true", "null", r#"{"a":1}"#]
        );
        assert_eq!(argv_of(&json!(r#"["hello", 1]"#)), ["hello", "1"]);
        assert_eq!(argv_of(&json!("one argument, no splitting")), ["one argument, no splitting"]);
        assert_eq!(argv_of(&json!("[not json")), ["[not json"]);
        assert!(argv_of(&json!(null)).is_empty());
    }

    #[test]
    fn each_malformed_field_is_named() {
        let cases = [
            (json!("x"), "command"),
            (json!({}), "command"),
            (json!({"command": ""}), "command"),
            (json!({"command": 5}), "command"),
            (json!({"command": "x", "argv": 5}), "argv"),
            (json!({"command": "x", "argv": {}}), "argv"),
            (json!({"command": "x", "env": "{oops"}), "env"),
            (json!({"command": "x", "env": "[1]"}), "env"),
            (json!({"command": "x", "env": []}), "env"),
            (json!({"command": "x", "env": {"A": null}}), "env.A"),
            (json!({"command": "x", "env": {"A": ["b"]}}), "env.A"),
            (json!({"command": "x", "cwd": 1}), "cwd"),
            (json!({"command": "x", "workdir": ""}), "workdir"),
            (json!({"command": "x", "cwd": "/a", "workdir": "/b"}), "workdir"),
            (json!({"command": "x", "timeout": -1}), "timeout"),
            (json!({"command": "x", "timeout": 1.5}), "timeout"),
            (json!({"command": "x", "timeout": "10s"}), "timeout"),
            (json!({"command": "x", "timeout": "99999999999999999999999"}), "timeout"),
            (json!({"command": "x", "clear_env": "yes"}), "clear_env"),
            (json!({"command": "x", "arvg": []}), "arvg"),
        ];
        for (fields, expected) in cases {
            let error = command(&fields).unwrap_err();
            assert_eq!(error.field(), expected, "{fields}: {error}");
        }
        let error = command(&json!({"command": "x", "arvg": []})).unwrap_err();
        assert_eq!(error.hint(), "did you mean \"argv\"?");
    }

    #[test]
    fn timeouts_as_number_and_as_digits() {
        for value in [json!(1500), json!("1500")] {
            let command = command(&json!({"command": "x", "timeout": value})).unwrap();
            assert_eq!(command.options.timeout, Some(Duration::from_millis(1500)));
        }
    }
}
