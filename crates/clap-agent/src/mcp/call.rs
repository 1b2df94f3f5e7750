//! One call: the program in a process group of its own, its streams read as they come.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;

use rmcp::ErrorData;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext, RoleServer};
use serde_json::Value;
use tokio::io::AsyncReadExt;
use tokio::process::{ChildStderr, ChildStdout, Command};

use super::answer::tool_error;
use super::ending::Stop;
use super::group::Group;
use super::stderr::{Line, Rest, classify};

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
        /// What it printed beside that, and should not have.
        stray: String,
        code: Option<i32>,
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

/// Bytes kept of what does not belong on stdout.
const MOST_STRAY: usize = 16 << 10;

/// Bytes of a line on stderr that are looked at together.
const LONGEST_LINE: usize = 1 << 20;

/// Why the streams were not read to their end.
enum Broken {
    TooMuch,
    Io(std::io::Error),
}

/// Runs the program and waits for its end; a call that is cancelled, or whose server ends, is
/// ended with all it started.
pub(super) async fn run(
    program: &Path,
    argv: Vec<OsString>,
    context: &RequestContext<RoleServer>,
    stop: &Stop,
) -> Result<Ended, ErrorData> {
    let cancelled = || ErrorData::internal_error("the call was cancelled", None);
    let failed = |error: std::io::Error| {
        ErrorData::internal_error(format!("cannot run '{}': {error}", program.display()), None)
    };
    let stopped = async {
        tokio::select! {
            () = context.ct.cancelled() => {}
            () = stop.told() => {}
        }
    };
    tokio::pin!(stopped);
    // A confirmation may have come in the meantime of a call that nobody wants any more.
    if context.ct.is_cancelled() {
        return Err(cancelled());
    }
    let mut command = Command::new(program);
    command.args(argv).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut group = Group::start(&mut command).map_err(failed)?;
    let stdout = group.child.stdout.take().expect("piped");
    let stderr = group.child.stderr.take().expect("piped");
    let token = context.meta.get_progress_token();
    let streams = async {
        // An error of the one must not wait for the end of the other.
        tokio::try_join!(read_all(stdout), async { Ok(listen(stderr, token, &context.peer).await) })
    };
    tokio::pin!(streams);
    // The streams first and the process after: as long as it is not reaped, its group is ours.
    let read = tokio::select! {
        read = &mut streams => read,
        () = &mut stopped => {
            group.end(streams).await;
            return Err(cancelled());
        }
    };
    let (output, rest) = match read {
        Ok(read) => read,
        Err(broken) => {
            group.end(std::future::ready(())).await;
            return match broken {
                Broken::TooMuch => {
                    let most = MOST_OUTPUT >> 20;
                    let message = format!("it printed more than {most} MiB and was ended");
                    Ok(Ended::Failed(tool_error(&message)))
                }
                Broken::Io(error) => Err(failed(error)),
            };
        }
    };
    let status = tokio::select! {
        status = group.child.wait() => Some(status),
        () = &mut stopped => None,
    };
    match status {
        Some(status) => Ok(ended(&output, &rest, status.map_err(failed)?.code())),
        None => {
            group.end(std::future::ready(())).await;
            Err(cancelled())
        }
    }
}

/// Reads to the end, or to the most a call may print.
async fn read_all(mut stdout: ChildStdout) -> Result<Vec<u8>, Broken> {
    let mut output = Vec::new();
    while stdout.read_buf(&mut output).await.map_err(Broken::Io)? > 0 {
        if output.len() > MOST_OUTPUT {
            return Err(Broken::TooMuch);
        }
    }
    Ok(output)
}

/// Reads stderr line by line: progress is passed on, log lines are dropped, the rest is kept.
async fn listen(
    mut stderr: ChildStderr,
    token: Option<ProgressToken>,
    peer: &Peer<RoleServer>,
) -> Rest {
    let mut rest = Rest::default();
    let mut pending = Vec::new();
    let mut steps = 0.0;
    loop {
        let more = stderr.read_buf(&mut pending).await.unwrap_or(0) > 0;
        loop {
            let newline = pending.iter().position(|byte| *byte == b'\n');
            let whole = match newline {
                Some(at) => at + 1,
                None if more && pending.len() < LONGEST_LINE => break,
                None => pending.len(),
            };
            if whole == 0 {
                break;
            }
            let line: Vec<u8> = pending.drain(..whole).collect();
            let line = String::from_utf8_lossy(&line);
            match classify(&line) {
                Line::Log => {}
                Line::Rest => rest.push(&line),
                Line::Progress { current, total, message } => {
                    steps += 1.0;
                    if let Some(token) = &token {
                        let at = current.unwrap_or(steps);
                        let mut progress = ProgressNotificationParam::new(token.clone(), at);
                        progress.total = total;
                        progress.message = message;
                        let _ = peer.notify_progress(progress).await;
                    }
                }
            }
        }
        if !more {
            return rest;
        }
    }
}

fn ended(stdout: &[u8], rest: &Rest, code: Option<i32>) -> Ended {
    if code != Some(0)
        && let Some(error) = rest.last_error()
    {
        return Ended::Failed(error);
    }
    let (mut values, stray, mut left_out) = objects(stdout);
    let is_answer = |value: &Value| value["status"].is_string() && value.get("result").is_some();
    let Some(mut answer) = values.iter().rposition(is_answer).and_then(|at| values.remove(at))
    else {
        let stdout = String::from_utf8_lossy(stdout).into_owned();
        return Ended::Printed { code, stdout, stderr: rest.text() };
    };
    while values.len() > MOST_EVENTS {
        values.pop_front();
        left_out += 1;
    }
    if left_out > 0 {
        values.push_front(serde_json::json!({"events_left_out": left_out}));
    }
    Ended::Answered {
        status: answer["status"].as_str().unwrap_or_default().to_owned(),
        result: answer["result"].take(),
        events: values.into(),
        stray,
        code,
    }
}

/// The objects on stdout, each of which ends its line; everything else that is there; and how many
/// of the first objects were not kept.
fn objects(stdout: &[u8]) -> (VecDeque<Value>, String, usize) {
    let mut values = VecDeque::new();
    let mut stray = String::new();
    let mut left_out = 0;
    let mut rest = stdout;
    while !rest.is_empty() {
        let line = rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |at| at + 1);
        let braces = rest[..line].iter().enumerate().filter(|(_, byte)| **byte == b'{');
        let object = braces.map(|(at, _)| at).find_map(|at| {
            let mut parsed = serde_json::Deserializer::from_slice(&rest[at..]).into_iter::<Value>();
            let value = parsed.next()?.ok()?;
            let end = at + parsed.byte_offset();
            let after = rest[end..].iter().find(|byte| !b" \t\r".contains(byte));
            matches!(after, None | Some(b'\n')).then_some((at, value, end))
        });
        let (before, next) = match object {
            Some((at, value, end)) => {
                values.push_back(value);
                // One more than is kept, which is the answer if it is the last.
                if values.len() > MOST_EVENTS + 1 {
                    values.pop_front();
                    left_out += 1;
                }
                (&rest[..at], end)
            }
            None => (&rest[..line], line),
        };
        if !before.trim_ascii().is_empty() && stray.len() < MOST_STRAY {
            let before = &before[..before.len().min(MOST_STRAY)];
            stray.push_str(&String::from_utf8_lossy(before));
        }
        rest = &rest[next..];
    }
    (values, stray, left_out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rest(text: &str) -> Rest {
        let mut rest = Rest::default();
        rest.push(text);
        rest
    }

    #[test]
    fn envelopes_errors_and_foreign_output_are_told_apart() {
        let stream = b"{\"id\":1}\n{\n \"result\": {\"n\": 1},\n \"status\": \"ok\"\n}\n";
        match ended(stream, &Rest::default(), Some(0)) {
            Ended::Answered { status, result, events, stray, .. } => {
                assert_eq!((status.as_str(), result["n"].as_u64()), ("ok", Some(1)));
                assert_eq!((events.len(), stray.as_str()), (1, ""));
            }
            other => panic!("{other:?}"),
        }
        let error = rest("note\n{\n \"code\": 5,\n \"error\": \"not_found\"\n}\n");
        assert!(matches!(ended(b"", &error, Some(5)), Ended::Failed(error) if error["code"] == 5));
        let foreign = ended(b"hello\n", &Rest::default(), Some(7));
        assert!(matches!(foreign, Ended::Printed { code: Some(7), .. }));
    }

    #[test]
    fn an_answer_is_found_among_what_does_not_belong_there() {
        let stdout =
            b"hello {\n{x}\nno newline {\"result\": {\"a\": {}},\n \"status\": \"ok\"}\nbye";
        match ended(stdout, &Rest::default(), Some(3)) {
            Ended::Answered { result, events, stray, code, .. } => {
                assert_eq!(result, serde_json::json!({"a": {}}));
                assert_eq!((events.len(), code), (0, Some(3)));
                assert_eq!(stray, "hello {\n{x}\nno newline bye");
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_last_events_are_kept_and_the_others_counted() {
        let mut stdout: String = (0..=1100).map(|n| format!("{{\"n\":{n}}}\n")).collect();
        stdout.push_str("{\"result\":null,\"status\":\"ok\"}");
        match ended(stdout.as_bytes(), &Rest::default(), Some(0)) {
            Ended::Answered { events, .. } => {
                assert_eq!(events.len(), MOST_EVENTS + 1);
                assert_eq!(events[0]["events_left_out"], 101);
                assert_eq!(events[MOST_EVENTS]["n"], 1100);
            }
            other => panic!("{other:?}"),
        }
    }
}
