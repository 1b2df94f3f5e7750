//! `odd mcp` (see `mcp_odd.rs`), spoken to by hand: one JSON-RPC message a line.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

fn odd() -> PathBuf {
    let odd = crate::seen::tasks().with_file_name("odd");
    assert!(odd.exists(), "build it with `cargo build --example odd`: {}", odd.display());
    odd
}

struct Session {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    last_id: u64,
    /// What the person answers; nothing is an error of the client's.
    answer: Option<Value>,
    asked: Vec<String>,
    progress: Vec<Value>,
}

impl Session {
    fn start(program: &Path, args: &[&str], can_ask: bool) -> Self {
        let mut child = Command::new(program)
            .args(args)
            .arg("mcp")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        let (answer, asked, progress) = (None, Vec::new(), Vec::new());
        let mut session = Session { child, stdin, stdout, last_id: 0, answer, asked, progress };
        let capabilities = if can_ask { json!({"elicitation": {}}) } else { json!({}) };
        let hello = session.request(
            "initialize",
            &json!({
                "protocolVersion": "2025-06-18",
                "capabilities": capabilities,
                "clientInfo": {"name": "by hand", "version": "0"},
            }),
        );
        assert!(hello["result"]["serverInfo"].is_object(), "{hello}");
        session.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        session
    }

    fn odd(args: &[&str]) -> Self {
        Self::start(&odd(), args, false)
    }

    fn send(&mut self, message: &Value) {
        let stdin = self.stdin.as_mut().expect("open");
        writeln!(stdin, "{message}").expect("the server reads");
    }

    fn begin(&mut self, method: &str, params: &Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = self.begin(method, params);
        loop {
            let mut line = String::new();
            assert!(self.stdout.read_line(&mut line).unwrap() > 0, "the server is gone");
            let message: Value = serde_json::from_str(&line).expect("a message a line");
            if message["method"] == "elicitation/create" {
                let words = message["params"]["message"].as_str().expect("words").to_owned();
                self.asked.push(words);
                let failed = json!({"code": -32603, "message": "nobody there"});
                let mut answer = json!({"jsonrpc": "2.0", "id": message["id"]});
                match self.answer.clone() {
                    Some(result) => answer["result"] = result,
                    None => answer["error"] = failed,
                }
                self.send(&answer);
            } else if message["method"] == "notifications/progress" {
                self.progress.push(message["params"].clone());
            } else if message["id"] == id {
                return message;
            }
        }
    }

    /// A call's result.
    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let meta = json!({"progressToken": 1});
        let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
        let answer = self.request("tools/call", &params);
        if answer.get("error").is_some() { answer } else { answer["result"].clone() }
    }

    fn tool(&mut self, name: &str) -> Value {
        let listed = self.request("tools/list", &json!({}));
        let tools = listed["result"]["tools"].as_array().expect("a list").clone();
        tools.into_iter().find(|tool| tool["name"] == name).unwrap_or(Value::Null)
    }

    /// Starts a call that does not end by itself, and waits until both its processes are there.
    fn hold(&mut self, dir: &Path, stubborn: bool) -> (u64, [i32; 2]) {
        let file = dir.join("processes");
        let arguments = json!({"file": file, "stubborn": stubborn});
        let id = self.begin("tools/call", &json!({"name": "hold", "arguments": arguments}));
        loop {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            if let [one, other] = lines[..]
                && other.ends_with('\n')
            {
                let pid = |line: &str| line.trim().parse().expect("a number");
                return (id, [pid(one), pid(other)]);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Closes stdin and waits for the server's end: its code, and what it said on stderr.
    fn end(mut self) -> (Option<i32>, String) {
        drop(self.stdin.take());
        self.wait()
    }

    fn wait(mut self) -> (Option<i32>, String) {
        let code = self.child.wait().expect("it ends").code();
        let mut said = String::new();
        self.child.stderr.take().expect("piped").read_to_string(&mut said).unwrap();
        (code, said)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until there is no such process any more (or nothing but its entry).
fn wait_until_gone(pids: [i32; 2]) {
    let alive = |pid: i32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(") ").next().is_some_and(|state| !state.is_empty() && !state.starts_with('Z'))
    };
    let started = Instant::now();
    while pids.into_iter().any(alive) {
        if started.elapsed() > Duration::from_secs(20) {
            for pid in pids.into_iter().filter(|pid| alive(*pid)) {
                let _ = kill_process(Pid::from_raw(pid).expect("a number"), Signal::KILL);
            }
            panic!("they go on: {pids:?}");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn error(result: &Value) -> Value {
    assert_eq!(result["isError"], true, "{result}");
    let text = result["content"][0]["text"].as_str().expect("text");
    serde_json::from_str(text).unwrap_or_else(|_| panic!("no error of ours: {result}"))
}

fn text(result: &Value) -> String {
    result.to_string()
}

#[test]
fn the_authors_own_yes_and_dry_run_are_given_once() {
    let mut session = Session::odd(&[]);
    let refused = session.call("own", &json!({}));
    assert_eq!(error(&refused)["error"], "confirmation_required");
    let done = session.call("own", &json!({"yes": true}));
    assert_eq!(done["structuredContent"], json!({"dry": false}), "{done}");
    let planned = session.call("own", &json!({"dry_run": true}));
    assert_eq!(planned["structuredContent"], json!({"dry": true}), "{planned}");
}

#[test]
fn no_value_becomes_a_flag() {
    let mut session = Session::odd(&[]);
    let opened = session.call("many", &json!({"items": ["a", "--yes"]}));
    assert!(opened["error"]["message"].as_str().unwrap().contains("'--yes'"), "{opened}");
    let opened = session.call("last", &json!({"a": "--yes", "rest": ["x"]}));
    assert!(opened["error"]["message"].as_str().unwrap().contains("'--yes'"), "{opened}");
    let one = session.call("many", &json!({"items": ["--yes"], "yes": true}));
    assert_eq!(one["structuredContent"]["items"], json!(["--yes"]), "{one}");
    let two = session.call("many", &json!({"items": ["a", "b"], "yes": true}));
    assert_eq!(two["structuredContent"]["items"], json!(["a", "b"]), "{two}");
    let both = session.call("last", &json!({"a": "x", "rest": ["--yes", "y"], "yes": true}));
    let expected = json!({"a": "x", "rest": ["--yes", "y"]});
    assert_eq!(both["structuredContent"], expected, "{both}");
    let first = session.call("last", &json!({"a": "x", "yes": true}));
    assert_eq!(first["structuredContent"], json!({"a": "x", "rest": null}), "{first}");
}

#[test]
fn a_flag_that_switches_off_is_given_or_not() {
    let mut session = Session::odd(&[]);
    let schema = session.tool("many")["inputSchema"]["properties"]["no_colour"].clone();
    assert_eq!(schema["default"], false, "{schema}");
    for given in [true, false] {
        let called = session.call("many", &json!({"no_colour": given, "yes": true}));
        assert_eq!(called["structuredContent"]["colour"], !given, "{called}");
    }
}

#[test]
fn flags_above_the_command_can_be_given_and_count() {
    let mut session = Session::odd(&[]);
    let look = session.tool("look");
    assert_eq!(look["annotations"]["readOnlyHint"], false, "{look}");
    assert_eq!(look["annotations"]["destructiveHint"], true, "{look}");
    let properties = &look["inputSchema"]["properties"];
    assert!(properties["yes"].is_object() && properties["profile"].is_object(), "{look}");
    assert!(!text(&look).contains("hunter2"), "{look}");
    let seen = session.call("look", &json!({"profile": "work", "token": "t"}));
    assert_eq!(seen["structuredContent"], json!({"profile": "work", "token": "t"}), "{seen}");
}

#[test]
fn what_the_server_was_started_with_holds_for_its_calls() {
    let mut session = Session::odd(&["--profile", "home", "--token=secret"]);
    let look = session.tool("look");
    assert_eq!(look["inputSchema"]["properties"]["profile"]["default"], "home", "{look}");
    assert!(!text(&look).contains("secret"), "{look}");
    let seen = session.call("look", &json!({}));
    assert_eq!(seen["structuredContent"], json!({"profile": "home", "token": "secret"}), "{seen}");
    let seen = session.call("look", &json!({"profile": "work"}));
    assert_eq!(seen["structuredContent"], json!({"profile": "work", "token": "secret"}), "{seen}");
}

#[test]
fn an_error_is_found_in_the_noise() {
    let mut session = Session::odd(&[]);
    for how in ["progress", "noise"] {
        let failed = session.call("say", &json!({"how": how}));
        assert_eq!(error(&failed)["error"], "conflict", "{failed}");
    }
    assert_eq!(session.progress.len(), 1, "{:?}", session.progress);
    assert_eq!(session.progress[0]["message"], "connecting");
}

#[test]
fn what_was_promised_is_answered_or_it_is_an_error() {
    let mut session = Session::odd(&[]);
    let polluted = session.call("say", &json!({"how": "pollution"}));
    assert_eq!(polluted["structuredContent"], json!({"ok": 1}), "{polluted}");
    assert!(text(&polluted).contains("hello from a library"), "{polluted}");
    assert_ne!(polluted["isError"], true, "{polluted}");
    let partial = session.call("say", &json!({"how": "partial"}));
    assert_eq!(partial["structuredContent"], json!({"ok": 1}), "{partial}");
    assert_eq!(partial["isError"], true, "{partial}");
    assert!(text(&partial).contains("code 3"), "{partial}");
    let nothing = session.call("say", &json!({"how": "nothing"}));
    assert_eq!(error(&nothing)["error"], "execution_error");
    let flooded = session.call("say", &json!({"how": "flood"}));
    assert!(text(&error(&flooded)).contains("more than 64 MiB"), "{flooded}");
}

#[test]
fn a_command_that_runs_itself_is_a_tool_beside_those_below_it() {
    let mut session = Session::odd(&[]);
    let alone = session.call("remote", &json!({"verbose": true}));
    assert_eq!(alone["structuredContent"], json!({"verbose": true, "below": null}), "{alone}");
    let below = session.call("remote_add", &json!({"verbose": true}));
    assert_eq!(below["structuredContent"], json!({"verbose": true, "below": "add"}), "{below}");
}

#[test]
fn a_person_is_told_what_is_asked_and_only_a_ticked_box_is_a_yes() {
    let dir = crate::seen::scratch();
    let file = dir.path().join("tasks.json");
    let file = file.to_str().unwrap();
    let mut session = Session::start(&crate::seen::tasks(), &["--file", file], true);
    session.answer = Some(json!({"action": "accept"}));
    let declined = session.call("task_delete", &json!({"id": 2}));
    assert_eq!(error(&declined)["error"], "cancelled");
    let asked = &session.asked[0];
    assert!(asked.contains(&format!("\ntasks --file={file} task delete -- 2\n")), "{asked}");
    session.answer = None;
    let refused = session.call("task_delete", &json!({"id": 2}));
    assert_eq!(error(&refused)["error"], "confirmation_required");
    session.answer = Some(json!({"action": "accept", "content": {"confirm": true}}));
    let deleted = session.call("task_delete", &json!({"id": 2}));
    assert_eq!(deleted["structuredContent"]["id"], 2, "{deleted}");

    let mut session = Session::start(&odd(), &[], true);
    session.answer = Some(json!({"action": "decline"}));
    let arguments = json!({"items": ["a\nGo on, it is harmless"], "token": "s3cret"});
    session.call("many", &arguments);
    let asked = &session.asked[0];
    assert!(asked.contains("--token=***") && !asked.contains("s3cret"), "{asked}");
    assert!(asked.contains("a\\nGo on"), "{asked}");
}

#[test]
fn a_cancelled_call_ends_with_all_it_started() {
    let dir = tempfile::tempdir().unwrap();
    let mut session = Session::odd(&[]);
    let (id, processes) = session.hold(dir.path(), true);
    let params = json!({"requestId": id, "reason": "enough"});
    let method = "notifications/cancelled";
    session.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    wait_until_gone(processes);
    // The server goes on.
    assert!(session.tool("look").is_object());
}

#[test]
fn a_server_whose_client_goes_leaves_nothing_running() {
    let dir = tempfile::tempdir().unwrap();
    let mut session = Session::odd(&[]);
    let (_, processes) = session.hold(dir.path(), false);
    assert_eq!(session.end().0, Some(0));
    wait_until_gone(processes);
}

#[test]
fn a_server_that_gets_a_signal_leaves_nothing_running_and_says_cancelled() {
    for (signal, name) in [(Signal::TERM, "SIGTERM"), (Signal::INT, "SIGINT")] {
        let dir = tempfile::tempdir().unwrap();
        let mut session = Session::odd(&[]);
        let (_, processes) = session.hold(dir.path(), false);
        kill_process(Pid::from_child(&session.child), signal).unwrap();
        let (code, said) = session.wait();
        wait_until_gone(processes);
        assert_eq!(code, Some(9), "{said}");
        assert!(said.contains("\"cancelled\"") && said.contains(name), "{said}");
    }
}
