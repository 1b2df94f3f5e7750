//! Calls `legwork` as a caller would and keeps what the caller sees.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

/// The built program.
pub(crate) const LEGWORK: &str = env!("CARGO_BIN_EXE_legwork");

/// What a caller may have around it that would change what it sees.
const VARIABLES: [&str; 20] = [
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
    "LEGWORK_SESSION",
    "LEGWORK_STATE_DIR",
    "XDG_CONFIG_HOME",
    "XDG_STATE_HOME",
];

/// One call, in a home of its own.
pub(crate) struct Call {
    pub(crate) command: Command,
    home: tempfile::TempDir,
}

/// A call with these words.
pub(crate) fn legwork<'a>(words: impl IntoIterator<Item = &'a str>) -> Call {
    let home = tempfile::tempdir().expect("a home");
    let mut command = Command::new(LEGWORK);
    command.args(words).current_dir(home.path()).env("HOME", home.path()).env("TERM", "xterm");
    for variable in VARIABLES {
        command.env_remove(variable);
    }
    Call { command, home }
}

impl Call {
    pub(crate) fn env(mut self, name: &str, value: &str) -> Call {
        self.command.env(name, value);
        self
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    /// Through pipes, with nothing on stdin.
    pub(crate) fn seen(self) -> Seen {
        self.reading("")
    }

    /// Through pipes, with this on stdin.
    pub(crate) fn reading(mut self, stdin: &str) -> Seen {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.command.spawn().expect("legwork runs");
        let mut input = child.stdin.take().expect("a pipe");
        // Who does not read it is no error.
        let _ = input.write_all(stdin.as_bytes());
        drop(input);
        let output = child.wait_with_output().expect("legwork ends");
        Seen {
            stdout: String::from_utf8(output.stdout).expect("UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("UTF-8"),
            code: output.status.code(),
        }
    }
}

/// What a caller saw.
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

    /// The only document on stderr.
    pub(crate) fn error(&self) -> Value {
        serde_json::from_str(&self.stderr)
            .unwrap_or_else(|error| panic!("stderr is no JSON ({error}): {self:?}"))
    }
}
