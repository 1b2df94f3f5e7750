//! Helpers for the tests of a program that uses the crate (feature `testing`).
//!
//! They run the built program itself, through a pipe, as an agent would.
//!
//! ```no_run
//! #[test]
//! fn every_example_works() {
//!     clap_agent::testing::Examples::of(env!("CARGO_BIN_EXE_tasks"))
//!         .prepare(|dir| std::fs::write(dir.join("tasks.json"), "[]"))
//!         .run()
//!         .assert();
//! }
//!
//! #[test]
//! fn the_contract_holds() {
//!     clap_agent::testing::assert_contract(env!("CARGO_BIN_EXE_tasks"), "tests/contract.json");
//! }
//! # fn main() {}
//! ```

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::contract;

type Prepare = Box<dyn Fn(&Path) -> io::Result<()>>;

/// Runs every example a program declares, each in a scratch directory of its own.
///
/// ```no_run
/// let report = clap_agent::testing::Examples::of("target/debug/tasks").run();
/// println!("{} examples work", report.passed.len());
/// report.assert();
/// ```
pub struct Examples {
    program: PathBuf,
    prepare: Prepare,
    patience: Duration,
}

impl Examples {
    /// The examples of the program at this path.
    ///
    /// ```
    /// let examples = clap_agent::testing::Examples::of("target/debug/tasks");
    /// # let _ = examples;
    /// ```
    #[must_use]
    pub fn of(program: impl Into<PathBuf>) -> Self {
        Examples {
            program: program.into(),
            prepare: Box::new(|_| Ok(())),
            patience: Duration::from_secs(60),
        }
    }

    /// Puts into each scratch directory what the examples need.
    ///
    /// ```
    /// let examples = clap_agent::testing::Examples::of("target/debug/tasks")
    ///     .prepare(|dir| std::fs::write(dir.join("tasks.json"), "[]"));
    /// # let _ = examples;
    /// ```
    #[must_use]
    pub fn prepare(mut self, prepare: impl Fn(&Path) -> io::Result<()> + 'static) -> Self {
        self.prepare = Box::new(prepare);
        self
    }

    /// How long one example may take before it counts as failed: a minute unless set.
    ///
    /// ```
    /// use std::time::Duration;
    /// let examples = clap_agent::testing::Examples::of("target/debug/tasks")
    ///     .patience(Duration::from_secs(5));
    /// # let _ = examples;
    /// ```
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Runs them all.
    ///
    /// # Panics
    ///
    /// When the program cannot be described or a scratch directory cannot be made.
    ///
    /// ```no_run
    /// clap_agent::testing::Examples::of("target/debug/tasks").run().assert();
    /// ```
    #[must_use]
    pub fn run(&self) -> Report {
        let described = describe(&self.program);
        let name = described["name"].as_str().expect("a described program has a name").to_owned();
        let mut report = Report::default();
        let mut visit = |path: &str, command: &Value| {
            for example in command["examples"].as_array().into_iter().flatten() {
                let line = example["command"].as_str().unwrap_or_default().to_owned();
                match self.run_one(&name, &line, example, command) {
                    Ok(()) => report.passed.push(line),
                    Err(reason) => report.failed.push(Failure {
                        command: path.to_owned(),
                        example: line,
                        reason,
                    }),
                }
            }
        };
        if described["command"].is_object() {
            visit(&name, &described["command"]);
        }
        each(&name, &described["commands"], &mut visit);
        report
    }

    fn run_one(
        &self,
        name: &str,
        line: &str,
        example: &Value,
        command: &Value,
    ) -> Result<(), String> {
        let outside = tempfile::tempdir().expect("a scratch directory");
        let scratch = outside.path().join("work");
        let bin = outside.path().join("bin");
        fs::create_dir(&scratch).and_then(|()| fs::create_dir(&bin)).expect("a scratch directory");
        let program = fs::canonicalize(&self.program).expect("the program exists");
        std::os::unix::fs::symlink(program, bin.join(name)).expect("a link to the program");
        (self.prepare)(&scratch).map_err(|error| format!("cannot prepare: {error}"))?;
        let ended = self.shell(line, &scratch, &bin, outside.path())?;
        let expected = example["expected_exit_code"].as_u64().unwrap_or(0);
        if ended.code != Some(i32::try_from(expected).unwrap_or(-1)) {
            let code = ended.code.map_or("a signal".to_owned(), |code| code.to_string());
            return Err(format!(
                "exits with {code} instead of {expected}\n  stdout: {}\n  stderr: {}",
                ended.stdout.trim(),
                ended.stderr.trim()
            ));
        }
        if command["passthrough"] == true || !prints_json(line) {
            return Ok(());
        }
        let values = check_stdout(ended.stdout.as_bytes())?;
        let schema = &command["returns"]["output_schema"];
        let answer = values.last().filter(|value| value["status"] == "ok");
        let planned = values.last().is_some_and(|value| value["status"] == "plan");
        let selects = has_flag(line, "--fields") || has_flag(line, "--jq");
        match answer {
            _ if schema.is_null() || expected != 0 || planned => Ok(()),
            None => Err("declares what it returns, but ends with 0 and no answer".to_owned()),
            Some(_) if selects => Ok(()),
            Some(answer) => validate(schema, &answer["result"]),
        }
    }

    fn shell(&self, line: &str, dir: &Path, bin: &Path, outside: &Path) -> Result<Ended, String> {
        let failed = |error: io::Error| format!("cannot be run: {error}");
        let (out, err) = (outside.join("stdout"), outside.join("stderr"));
        let mut path = bin.as_os_str().to_owned();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let mut child = Command::new("sh")
            .args(["-c", line])
            .current_dir(dir)
            .env("PATH", path)
            .stdin(Stdio::null())
            .stdout(File::create(&out).map_err(failed)?)
            .stderr(File::create(&err).map_err(failed)?)
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let deadline = Instant::now() + self.patience;
        let status = loop {
            if let Some(status) = child.try_wait().map_err(failed)? {
                break status;
            }
            if Instant::now() > deadline {
                let group = rustix::process::Pid::from_child(&child);
                let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
                let _ = child.wait();
                return Err(format!("does not end within {} s", self.patience.as_secs()));
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        let read = |path| fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        Ok(Ended {
            code: status.code(),
            stdout: read(&out).map_err(failed)?,
            stderr: read(&err).map_err(failed)?,
        })
    }
}

impl fmt::Debug for Examples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Examples").field("program", &self.program).finish_non_exhaustive()
    }
}

/// Whether a shell line asks for JSON, which is what it gets if it asks for nothing.
fn prints_json(line: &str) -> bool {
    let mut words = line.split_whitespace().map(|word| word.trim_matches(['\'', '"']));
    let mut json = true;
    while let Some(word) = words.next() {
        let format = match word.strip_prefix("--output") {
            Some("") => words.next(),
            Some(rest) => rest.strip_prefix('='),
            None => None,
        };
        if let Some(format) = format {
            json = matches!(format, "json" | "ndjson");
        }
    }
    json
}

fn has_flag(line: &str, flag: &str) -> bool {
    line.split_whitespace().any(|word| word.split('=').next() == Some(flag))
}

struct Ended {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

/// Which examples work.
///
/// ```
/// let report = clap_agent::testing::Report::default();
/// report.assert();
/// ```
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Examples that did what they say.
    pub passed: Vec<String>,
    /// Examples that did not.
    pub failed: Vec<Failure>,
}

impl Report {
    /// Fails the test if an example failed, naming each.
    ///
    /// # Panics
    ///
    /// When an example failed.
    ///
    /// ```
    /// clap_agent::testing::Report::default().assert();
    /// ```
    pub fn assert(&self) {
        let failures: Vec<String> = self.failed.iter().map(ToString::to_string).collect();
        assert!(
            failures.is_empty(),
            "{} of {} examples do not work:\n{}",
            failures.len(),
            failures.len() + self.passed.len(),
            failures.join("\n")
        );
    }
}

/// An example that does not do what it says.
///
/// ```
/// let failure = clap_agent::testing::Failure {
///     command: "tasks task get".into(),
///     example: "tasks task get 1".into(),
///     reason: "exits with 5 instead of 0".into(),
/// };
/// assert_eq!(
///     failure.to_string(),
///     "`tasks task get 1` (an example of `tasks task get`) exits with 5 instead of 0"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The command it is an example of.
    pub command: String,
    /// The example.
    pub example: String,
    /// What is wrong.
    pub reason: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` (an example of `{}`) {}", self.example, self.command, self.reason)
    }
}

/// Checks that stdout carries envelopes and events only, and returns them.
///
/// # Errors
///
/// Says where something else begins.
///
/// ```
/// use clap_agent::testing::check_stdout;
///
/// let values = check_stdout(b"{\"id\":1}\n{\"result\":1,\"status\":\"ok\"}\n").unwrap();
/// assert_eq!(values.len(), 2);
/// let error = check_stdout(b"{\"id\":1}\nloading...\n").unwrap_err();
/// assert_eq!(error, "stdout carries something that is no envelope and no event: 'loading...'");
/// ```
pub fn check_stdout(stdout: &[u8]) -> Result<Vec<Value>, String> {
    let mut values = Vec::new();
    let mut stream = serde_json::Deserializer::from_slice(stdout).into_iter::<Value>();
    loop {
        let start = stream.byte_offset();
        match stream.next() {
            None => return Ok(values),
            Some(Ok(value)) if value.is_object() => values.push(value),
            Some(_) => {
                let rest = String::from_utf8_lossy(&stdout[start..]);
                let line = rest.trim_start().lines().next().unwrap_or_default().to_owned();
                return Err(format!(
                    "stdout carries something that is no envelope and no event: '{line}'"
                ));
            }
        }
    }
}

/// Compares what the program describes with the committed contract. What would break a caller
/// fails the test and is named; what merely changed is said on stderr. Versions are no promise.
/// With `UPDATE_CONTRACT=1` the file is written instead.
///
/// # Panics
///
/// When a change is breaking, or there is no contract.
///
/// ```no_run
/// clap_agent::testing::assert_contract("target/debug/tasks", "tests/contract.json");
/// ```
pub fn assert_contract(program: impl AsRef<Path>, committed: impl AsRef<Path>) {
    let committed = committed.as_ref();
    let now = describe(program.as_ref());
    if std::env::var_os("UPDATE_CONTRACT").is_some() {
        let text = serde_json::to_string_pretty(&now).expect("it was JSON") + "\n";
        fs::write(committed, text).expect("the contract can be written");
        return;
    }
    let text = fs::read_to_string(committed).unwrap_or_else(|error| {
        panic!(
            "no contract at '{}' ({error}); make one with UPDATE_CONTRACT=1",
            committed.display()
        )
    });
    let old: Value = serde_json::from_str(&text).expect("a contract is JSON");
    let changes = contract::compare(&old, &now);
    let listed: Vec<String> = changes.iter().map(ToString::to_string).collect();
    let told = format!(
        "the program no longer describes itself as in '{}':\n{}\n\
         if that is meant, update it with UPDATE_CONTRACT=1",
        committed.display(),
        listed.join("\n")
    );
    assert!(!changes.iter().any(|change| change.breaking), "{told}");
    if !changes.is_empty() {
        eprintln!("{told}");
    }
}

/// What a program says of itself: by the flag of one that is a single command, which any other
/// refuses without doing anything, or by the command.
fn describe(program: &Path) -> Value {
    let mut said = String::new();
    for word in ["--describe", "describe"] {
        let output = Command::new(program)
            .args([word, "--output", "json"])
            .stdin(Stdio::null())
            .output()
            .unwrap_or_else(|error| panic!("cannot run '{}': {error}", program.display()));
        match serde_json::from_slice::<Value>(&output.stdout) {
            Ok(described) if described["name"].is_string() => return described,
            _ => said = String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
    panic!("`{} describe` printed no document: {said}", program.display())
}

fn each(prefix: &str, commands: &Value, visit: &mut dyn FnMut(&str, &Value)) {
    for command in commands.as_array().into_iter().flatten() {
        let path = format!("{prefix} {}", command["name"].as_str().unwrap_or_default());
        visit(&path, command);
        each(&path, &command["subcommands"], visit);
    }
}

fn validate(schema: &Value, result: &Value) -> Result<(), String> {
    let validator = jsonschema::validator_for(schema)
        .map_err(|error| format!("declares an output schema that is none: {error}"))?;
    match validator.iter_errors(result).next() {
        None => Ok(()),
        Some(error) => Err(format!(
            "returns something its output schema does not allow, at '{}': {error}",
            error.instance_path()
        )),
    }
}
