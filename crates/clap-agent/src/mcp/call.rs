//! One call: the program in a process of its own, its streams read as they come.

use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;

use rmcp::ErrorData;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext, RoleServer};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::Command;

/// How the process ended, as far as the protocol tells.
#[derive(Debug)]
pub(super) enum Ended {
    /// It answered.
    Answered {
        /// `ok` or `plan`.
        status: String,
        result: Value,
        /// What it emitted on the way.
        events: Vec<Value>,
    },
    /// It failed with an error in the protocol's form.
    Failed(Value),
    /// It printed something else: a command that passes another program's output through.
    Printed { code: Option<i32>, stdout: String, stderr: String },
}

/// Bytes a call may print before it is given up.
const MOST_OUTPUT: usize = 64 << 20;

/// Events kept of a call; the rest is counted.
const MOST_EVENTS: usize = 1000;

/// Runs the program and waits for its end; a cancelled call ends it.
pub(super) async fn run(
    program: &Path,
    argv: Vec<OsString>,
    context: &RequestContext<RoleServer>,
) -> Result<Ended, ErrorData> {
    let failed = |error: std::io::Error| {
        ErrorData::internal_error(format!("cannot run '{}': {error}", program.display()), None)
    };
    let mut child = Command::new(program)
        .args(argv)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(failed)?;
    let mut stdout = child.stdout.take().expect("piped");
    let stderr = child.stderr.take().expect("piped");
    let token = context.meta.get_progress_token();
    let mut output = Vec::new();
    let talk = async {
        // An error of the one must not wait for the end of the others.
        tokio::try_join!(
            async { read_all(&mut stdout, &mut output).await.map_err(failed) },
            async { Ok(listen(stderr, token, &context.peer).await) },
            async { child.wait().await.map_err(failed) },
        )
    };
    let ((), stderr, status) = tokio::select! {
        talked = talk => talked?,
        () = context.ct.cancelled() => {
            // Dropping the process ends it.
            return Err(ErrorData::internal_error("the call was cancelled", None));
        }
    };
    Ok(ended(&output, stderr, status.code()))
}

/// Reads to the end, or to the most a call may print.
async fn read_all(
    stdout: &mut tokio::process::ChildStdout,
    output: &mut Vec<u8>,
) -> std::io::Result<()> {
    loop {
        if stdout.read_buf(output).await? == 0 {
            return Ok(());
        }
        if output.len() > MOST_OUTPUT {
            let message = format!("it printed more than {} MiB", MOST_OUTPUT >> 20);
            return Err(std::io::Error::other(message));
        }
    }
}

/// Reads stderr line by line: progress is passed on, log lines are dropped, the rest is kept.
async fn listen(
    stderr: tokio::process::ChildStderr,
    token: Option<ProgressToken>,
    peer: &Peer<RoleServer>,
) -> String {
    let mut lines = BufReader::new(stderr).lines();
    let mut rest = String::new();
    let mut steps = 0.0;
    while let Ok(Some(line)) = lines.next_line().await {
        let parsed = serde_json::from_str::<Value>(&line).ok().filter(Value::is_object);
        let Some(entry) = parsed else {
            rest.push_str(&line);
            rest.push('\n');
            continue;
        };
        let message = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
        let untyped = entry["level"] == "progress";
        let typed = ["stage", "current", "total", "percent", "eta_ms"]
            .iter()
            .any(|key| entry.get(*key).is_some());
        if untyped || (typed && entry.get("code").is_none()) {
            steps += 1.0;
            if let Some(token) = &token {
                let mut progress = ProgressNotificationParam::new(token.clone(), steps);
                if let Some(current) = entry["current"].as_f64() {
                    progress.progress = current;
                }
                progress.total = entry["total"].as_f64();
                let words = [message("stage"), message("message"), message("msg")];
                let words: Vec<_> = words.into_iter().filter(|word| !word.is_empty()).collect();
                progress.message = (!words.is_empty()).then(|| words.join(": "));
                let _ = peer.notify_progress(progress).await;
            }
        } else if entry.get("level").is_none() || entry.get("msg").is_none() {
            rest.push_str(&line);
            rest.push('\n');
        }
    }
    rest
}

fn ended(stdout: &[u8], stderr: String, code: Option<i32>) -> Ended {
    let error = stderr.find('{').and_then(|start| {
        let mut values = serde_json::Deserializer::from_str(&stderr[start..]).into_iter::<Value>();
        values.next()?.ok().filter(|error| error["error"].is_string() && error["code"].is_u64())
    });
    if let Some(error) = error.filter(|_| code != Some(0)) {
        return Ended::Failed(error);
    }
    let mut values: Vec<Value> = Vec::new();
    let mut structured = true;
    let mut left_out = 0;
    for value in serde_json::Deserializer::from_slice(stdout).into_iter::<Value>() {
        match value {
            Ok(value) if value.is_object() => {
                values.push(value);
                if values.len() > MOST_EVENTS {
                    values.remove(0);
                    left_out += 1;
                }
            }
            _ => {
                structured = false;
                break;
            }
        }
    }
    match values.pop() {
        Some(mut last)
            if structured && last["status"].is_string() && last.get("result").is_some() =>
        {
            if left_out > 0 {
                values.insert(0, serde_json::json!({"events_left_out": left_out}));
            }
            Ended::Answered {
                status: last["status"].as_str().unwrap_or_default().to_owned(),
                result: last["result"].take(),
                events: values,
            }
        }
        _ => Ended::Printed { code, stdout: String::from_utf8_lossy(stdout).into_owned(), stderr },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn envelopes_errors_and_foreign_output_are_told_apart() {
        let stream = b"{\"id\":1}\n{\n \"result\": {\"n\": 1},\n \"status\": \"ok\"\n}\n";
        match ended(stream, String::new(), Some(0)) {
            Ended::Answered { status, result, events } => {
                assert_eq!((status.as_str(), result["n"].as_u64()), ("ok", Some(1)));
                assert_eq!(events.len(), 1);
            }
            other => panic!("{other:?}"),
        }
        let error = "note\n{\n \"code\": 5,\n \"error\": \"not_found\"\n}\n".to_owned();
        assert!(matches!(ended(b"", error, Some(5)), Ended::Failed(error) if error["code"] == 5));
        let foreign = ended(b"hello\n", String::new(), Some(7));
        assert!(matches!(foreign, Ended::Printed { code: Some(7), .. }));
    }
}
