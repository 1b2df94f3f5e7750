//! Runs `examples/tasks.rs` as a caller would and keeps what the caller sees.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use serde_json::Value;

/// The built example. `cargo test` builds it before it runs this.
pub(crate) fn tasks() -> PathBuf {
    let own = std::env::current_exe().expect("a test has a path");
    let built = own.parent().and_then(Path::parent).expect("target/debug");
    let tasks = built.join("examples").join("tasks");
    assert!(tasks.exists(), "build it with `cargo build --example tasks`: {}", tasks.display());
    tasks
}

/// A directory with two tasks and a list to import.
pub(crate) fn scratch() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a scratch directory");
    fill(dir.path()).expect("it can be written");
    dir
}

pub(crate) fn fill(dir: &Path) -> std::io::Result<()> {
    let tasks = serde_json::json!([
        {"id": 1, "title": "buy milk", "done": false, "priority": "high", "labels": ["home"]},
        {"id": 2, "title": "file taxes", "done": true, "priority": "normal"},
    ]);
    std::fs::write(dir.join("tasks.json"), tasks.to_string())?;
    std::fs::write(dir.join("list.txt"), "sweep\n\n\ncook\n")
}

/// One call of the example.
pub(crate) struct Call {
    command: Command,
}

pub(crate) fn call(dir: &Path, line: &str) -> Call {
    let mut command = Command::new(tasks());
    command.current_dir(dir).args(words(line)).env_remove("TASKS_FILE").env("TERM", "xterm");
    for variable in [
        "AI_AGENT",
        "AGENT",
        "CLAUDECODE",
        "CODEX_CI",
        "CODEX_SANDBOX",
        "CODEX_THREAD_ID",
        "CURSOR_AGENT",
        "GEMINI_CLI",
        "OPENCODE",
        "ANTIGRAVITY_AGENT",
        "AUGMENT_AGENT",
        "CLINE_ACTIVE",
        "COPILOT_AGENT",
        "GOOSE_TERMINAL",
        "CLICOLOR_FORCE",
        "NO_COLOR",
    ] {
        command.env_remove(variable);
    }
    Call { command }
}

/// Words as a shell splits them; single quotes keep spaces.
pub(crate) fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, part) in line.split('\'').enumerate() {
        if index % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

impl Call {
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn command(self) -> Command {
        self.command
    }

    /// Through pipes.
    pub(crate) fn pipe(mut self) -> Seen {
        let output = self.command.stdin(Stdio::null()).output().expect("the example runs");
        let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
        Seen {
            stdout: text(output.stdout),
            stderr: text(output.stderr),
            code: output.status.code(),
        }
    }

    /// In a terminal.
    pub(crate) fn terminal(self) -> Terminal {
        Terminal::start(self.command, |_, _| ())
    }

    /// In a terminal, but with some streams elsewhere.
    pub(crate) fn terminal_except(self, redirect: impl FnOnce(&mut Command, &File)) -> Terminal {
        Terminal::start(self.command, redirect)
    }
}

/// What came through pipes.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: Option<i32>,
}

impl Seen {
    /// The only document on stdout.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("stdout is no JSON ({error}): {self:?}"))
    }

    pub(crate) fn result(&self) -> Value {
        self.json()["result"].clone()
    }

    /// The only document on stderr.
    pub(crate) fn error(&self) -> Value {
        serde_json::from_str(&self.stderr)
            .unwrap_or_else(|error| panic!("stderr is no JSON ({error}): {self:?}"))
    }
}

/// A call in a pseudo-terminal.
pub(crate) struct Terminal {
    child: Child,
    master: File,
    screen: Arc<(Mutex<(String, bool)>, Condvar)>,
}

impl Terminal {
    fn start(mut command: Command, redirect: impl FnOnce(&mut Command, &File)) -> Self {
        let pair = rustix_openpty::openpty(None, None).expect("a pseudo-terminal");
        let size = rustix::termios::Winsize { ws_row: 40, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
        rustix::termios::tcsetwinsize(&pair.user, size).expect("a size");
        let user = File::from(pair.user);
        let fd = || OwnedFd::from(user.try_clone().expect("a copy"));
        command.stdin(fd()).stdout(fd()).stderr(fd());
        redirect(&mut command, &user);
        let child = command.spawn().expect("the example runs");
        // Only the child may hold the terminal, or its end would never be seen.
        drop(command);
        drop(user);
        let master = File::from(pair.controller);
        let screen = Arc::new((Mutex::new((String::new(), false)), Condvar::new()));
        let (mut reader, shared) = (master.try_clone().expect("a copy"), screen.clone());
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            loop {
                let read = reader.read(&mut bytes).unwrap_or(0);
                let mut seen = shared.0.lock().unwrap();
                seen.0.push_str(&String::from_utf8_lossy(&bytes[..read]));
                seen.1 = read == 0;
                shared.1.notify_all();
                if read == 0 {
                    return;
                }
            }
        });
        Terminal { child, master, screen }
    }

    /// Waits until this is on the screen.
    pub(crate) fn wait_for(&self, text: &str) {
        let (lock, changed) = &*self.screen;
        let mut seen = lock.lock().unwrap();
        while !seen.0.contains(text) {
            assert!(!seen.1, "ended without showing {text:?}: {:?}", seen.0);
            let waited = changed.wait_timeout(seen, Duration::from_secs(60)).unwrap();
            seen = waited.0;
            assert!(!waited.1.timed_out(), "never showed {text:?}: {:?}", seen.0);
        }
    }

    pub(crate) fn type_in(&mut self, text: &str) {
        self.master.write_all(text.as_bytes()).expect("the terminal takes it");
    }

    pub(crate) fn pid(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_child(&self.child)
    }

    /// Waits for the end: everything that was written, and the exit code.
    pub(crate) fn end(mut self) -> (String, Option<i32>) {
        let status = self.child.wait().expect("the example ends");
        let (lock, changed) = &*self.screen;
        let mut seen = lock.lock().unwrap();
        while !seen.1 {
            seen = changed.wait(seen).unwrap();
        }
        (seen.0.replace("\r\n", "\n"), status.code())
    }
}

/// What is left on the screen: a line that was drawn over is gone.
pub(crate) fn screen(raw: &str) -> String {
    raw.split('\n')
        .map(|line| line.rsplit("\r\x1b[K").next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n")
}
