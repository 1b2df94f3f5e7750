//! What a process printed, as a tool's answer.
//!
//! A tool with an output schema owes an object of that schema or an error; and what the exit code
//! says (some of it failed) must not get lost on the way.

use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use serde_json::{Value, json};

use super::call::Ended;
use crate::exit::Exit;

/// The form a tool promised its answers have.
#[derive(Clone, Copy)]
pub(super) struct Form {
    /// The result is no object by itself and is wrapped as `{"result": …}`.
    pub(super) wrapped: bool,
    /// An output schema was declared.
    pub(super) declared: bool,
}

pub(super) fn of(ended: Ended, form: Form) -> CallToolResult {
    match ended {
        Ended::Failed(error) => failed(&error),
        Ended::Answered { status, result, events, stray, code } => {
            let structured = if status == "plan" {
                json!({"plan": result})
            } else if form.wrapped {
                json!({"result": result})
            } else {
                Value::Object(object(result))
            };
            let mut answer = CallToolResult::structured(structured);
            if !events.is_empty() {
                let lines: Vec<_> = events.iter().map(Value::to_string).collect();
                answer.content.push(ContentBlock::text(lines.join("\n")));
            }
            if !stray.is_empty() {
                let note = format!("it also printed what is no part of the answer:\n{stray}");
                answer.content.push(ContentBlock::text(note));
            }
            if code != Some(0) {
                answer.is_error = Some(true);
                answer.content.push(ContentBlock::text(ending(code)));
            }
            answer
        }
        Ended::Printed { code, stdout, stderr } => {
            let mut content = vec![ContentBlock::text(stdout)];
            if !stderr.is_empty() {
                content.push(ContentBlock::text(stderr));
            }
            if code != Some(0) {
                content.push(ContentBlock::text(ending(code)));
                CallToolResult::error(content)
            } else if form.declared {
                let note = "it ended well but printed no answer of the form it declared";
                let mut answer = failed(&tool_error(note));
                answer.content.append(&mut content);
                answer
            } else {
                CallToolResult::success(content)
            }
        }
    }
}

/// An error in the protocol's form, of the server's own making.
pub(super) fn tool_error(message: &str) -> Value {
    json!({"code": 2, "error": "execution_error", "message": message, "recoverable": false})
}

pub(super) fn failed(error: &Value) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(error.to_string())])
}

fn ending(code: Option<i32>) -> String {
    let partial = i32::from(Exit::Partial.code());
    match code {
        None => "ended by a signal".to_owned(),
        Some(code) if code == partial => {
            format!("ended with code {code}: some of the work succeeded and some failed")
        }
        Some(code) => format!("ended with code {code}"),
    }
}

/// An object, whatever the value is.
pub(super) fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        other => JsonObject::from_iter([("result".to_owned(), other)]),
    }
}
