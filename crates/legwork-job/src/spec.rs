//! What a job is asked to be: a plain value, the same from every door.
//!
//! It travels to the supervisor through a pipe and not through the disk, because it holds values
//! of the environment, and secrets do not reach the disk.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use legwork::{Command, EnvMode, Limits, Output, Stdin, Survivors};
use serde::{Deserialize, Serialize};

use crate::wire;

/// What to execute.
///
/// ```
/// let what = legwork_job::What::Shell("make 2>&1 | tail".into());
/// assert_eq!(what.shown(), "make 2>&1 | tail");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum What {
    /// A program and its arguments, without a shell.
    Argv(#[serde(with = "wire::texts")] Vec<OsString>),
    /// A line for the shell.
    Shell(#[serde(with = "wire::text")] OsString),
}

impl What {
    /// As people read it: the line, or the arguments quoted so that they can be pasted.
    ///
    /// ```
    /// let what = legwork_job::What::Argv(vec!["echo".into(), "a b".into()]);
    /// assert_eq!(what.shown(), "echo 'a b'");
    /// ```
    pub fn shown(&self) -> String {
        match self {
            What::Argv(argv) => legwork::quote(argv),
            What::Shell(line) => line.to_string_lossy().into_owned(),
        }
    }
}

/// What a job reads.
///
/// ```
/// assert_eq!(legwork_job::Input::default(), legwork_job::Input::Null);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Input {
    /// Nothing: a program that asks is told that there is no input.
    #[default]
    Null,
    /// What is written to the job while it runs.
    Open,
    /// These bytes, then the end.
    Bytes(#[serde(with = "wire::bytes")] Vec<u8>),
    /// This file.
    File(#[serde(with = "wire::path")] PathBuf),
}

/// What happens when the log is full.
///
/// ```
/// assert_eq!(legwork_job::OnLogLimit::default(), legwork_job::OnLogLimit::Drop);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnLogLimit {
    /// The oldest of the middle goes, and is counted.
    #[default]
    Drop,
    /// The job is ended; its cause is `output_limit`.
    Terminate,
}

/// The size of a terminal.
///
/// ```
/// assert_eq!(legwork_job::Size::default(), legwork_job::Size { cols: 80, rows: 24 });
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Size {
    /// Characters in a row.
    pub cols: u16,
    /// Rows.
    pub rows: u16,
}

impl Default for Size {
    fn default() -> Size {
        Size { cols: 80, rows: 24 }
    }
}

/// A job to be started. Make one with [`JobSpec::argv`] or [`JobSpec::shell`] and set its fields.
///
/// ```
/// use legwork_job::JobSpec;
/// let mut spec = JobSpec::argv(["cargo", "test"]);
/// spec.name = Some("tests".into());
/// spec.deadline = Some(std::time::Duration::from_secs(600));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobSpec {
    /// What to execute.
    pub what: What,
    /// Where; the caller's current directory, unless said.
    #[serde(with = "wire::maybe_path")]
    pub workdir: Option<PathBuf>,
    /// Where its environment starts from.
    pub env_mode: EnvMode,
    /// Variables to set, or with no value to remove.
    #[serde(with = "wire::changes")]
    pub env: Vec<(OsString, Option<OsString>)>,
    /// Variables whose values are overwritten wherever they would be written, beside those that
    /// look like secrets by their names.
    pub secrets: Vec<String>,
    /// What it reads.
    pub stdin: Input,
    /// A terminal of its own.
    pub terminal: Option<Size>,
    /// The end of its life: its tree is ended.
    pub deadline: Option<Duration>,
    /// The longest silence: its tree is ended.
    pub idle_timeout: Option<Duration>,
    /// Between asking it to end and killing it; five seconds, unless said.
    pub kill_grace: Option<Duration>,
    /// What happens to descendants that outlive it.
    pub survivors: Survivors,
    /// Limits that the kernel enforces.
    pub limits: Limits,
    /// Its nice value.
    pub nice: Option<i32>,
    /// How gladly the kernel kills it for want of memory; more gladly than its supervisor, unless
    /// said.
    pub oom_score_adj: Option<i32>,
    /// How many bytes of its output are kept.
    pub log_limit: u64,
    /// What happens when they are more.
    pub on_log_limit: OnLogLimit,
    /// The caller's name for it, unique among the running jobs of a session.
    pub name: Option<String>,
    /// The caller's labels.
    pub labels: BTreeMap<String, String>,
    /// The session it belongs to.
    pub session: Option<String>,
    /// What it is for, in a short phrase; cut at 100 characters.
    pub intent: Option<String>,
    /// Starting twice with one request id starts once.
    pub request_id: Option<String>,
}

/// How many bytes of a job's output are kept, unless said.
pub const LOG_LIMIT: u64 = 64 * 1024 * 1024;

/// How gladly a job is killed for want of memory: before its supervisor, which is killed before
/// the user's session.
const JOB_OOM_SCORE: i32 = 500;

/// The longest intent, in characters.
const INTENT: usize = 100;

impl JobSpec {
    fn new(what: What) -> JobSpec {
        JobSpec {
            what,
            workdir: None,
            env_mode: EnvMode::Inherit,
            env: Vec::new(),
            secrets: Vec::new(),
            stdin: Input::Null,
            terminal: None,
            deadline: None,
            idle_timeout: None,
            kill_grace: None,
            survivors: Survivors::Keep,
            limits: Limits::default(),
            nice: None,
            oom_score_adj: None,
            log_limit: LOG_LIMIT,
            on_log_limit: OnLogLimit::Drop,
            name: None,
            labels: BTreeMap::new(),
            session: None,
            intent: None,
            request_id: None,
        }
    }

    /// A program and its arguments.
    ///
    /// ```
    /// assert_eq!(legwork_job::JobSpec::argv(["make", "all"]).what.shown(), "make all");
    /// ```
    pub fn argv(argv: impl IntoIterator<Item = impl Into<OsString>>) -> JobSpec {
        JobSpec::new(What::Argv(argv.into_iter().map(Into::into).collect()))
    }

    /// A line for the shell.
    ///
    /// ```
    /// assert_eq!(legwork_job::JobSpec::shell("a | b").what.shown(), "a | b");
    /// ```
    pub fn shell(line: impl Into<OsString>) -> JobSpec {
        JobSpec::new(What::Shell(line.into()))
    }

    /// The intent as it is kept.
    pub(crate) fn short_intent(&self) -> Option<String> {
        self.intent.as_ref().map(|intent| intent.chars().take(INTENT).collect())
    }

    /// The command that the library runs for it: what concerns the process, without the
    /// surroundings of a job.
    ///
    /// ```
    /// let command = legwork_job::JobSpec::argv(["true"]).to_command();
    /// assert!(command.succeeds());
    /// ```
    pub fn to_command(&self) -> Command {
        let mut command = match &self.what {
            What::Argv(argv) => Command::new(argv.iter().cloned()),
            What::Shell(line) => Command::shell(line.clone()),
        };
        command = command.env_mode(self.env_mode);
        for (name, value) in &self.env {
            command = match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if let Some(workdir) = &self.workdir {
            command = command.workdir(workdir);
        }
        if let Some(size) = self.terminal {
            command = command.pty(size.rows, size.cols);
        }
        command = command
            .stdin(match &self.stdin {
                Input::Null => Stdin::Null,
                Input::Open => Stdin::Piped,
                Input::Bytes(bytes) => Stdin::from(&bytes[..]),
                Input::File(path) => Stdin::File(path.clone()),
            })
            .survivors(self.survivors)
            .limits(self.limits);
        if let Some(deadline) = self.deadline {
            command = command.timeout(deadline);
        }
        if let Some(idle) = self.idle_timeout {
            command = command.idle_timeout(idle);
        }
        if let Some(grace) = self.kill_grace {
            command = command.kill_grace(grace);
        }
        if let Some(nice) = self.nice {
            command = command.nice(nice);
        }
        match self.oom_score_adj {
            Some(score) => command.oom_score_adj(score),
            None => command,
        }
    }

    /// The command as a job runs it: with nothing that would wait for a person, its output taken
    /// by the supervisor, and killed before its supervisor.
    pub(crate) fn to_job_command(&self) -> Command {
        let mut surrounded = self.clone();
        let own = std::mem::take(&mut surrounded.env);
        surrounded.env = NON_INTERACTIVE
            .iter()
            .filter(|(_, _, when)| *when == When::Always || self.terminal.is_none())
            .map(|(name, value, _)| ((*name).into(), Some((*value).into())))
            .chain(own)
            .collect();
        if self.terminal.is_some() {
            // What its screen understands, whatever terminal the caller has.
            surrounded.env.insert(0, ("TERM".into(), Some("xterm-256color".into())));
        }
        if let Some(session) = &self.session {
            surrounded.env.insert(0, ("LEGWORK_SESSION".into(), Some(session.into())));
        }
        // On a terminal, no input is a key that somebody presses: it would end what waits for them.
        if self.terminal.is_some() && self.stdin == Input::Null {
            surrounded.stdin = Input::Open;
        }
        surrounded.oom_score_adj = self.oom_score_adj.or(Some(JOB_OOM_SCORE));
        surrounded.to_command().stdout(Output::Capture).stderr(Output::Capture)
    }
}

/// When a variable is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    Always,
    /// Not for a job with a terminal of its own: somebody can type there.
    WithoutTerminal,
}

/// What keeps programs from waiting for a person, or from drawing for one.
const NON_INTERACTIVE: [(&str, &str, When); 12] = [
    ("GIT_EDITOR", "true", When::WithoutTerminal),
    ("GIT_SEQUENCE_EDITOR", "true", When::WithoutTerminal),
    ("EDITOR", "true", When::WithoutTerminal),
    ("VISUAL", "true", When::WithoutTerminal),
    ("GIT_TERMINAL_PROMPT", "0", When::WithoutTerminal),
    ("NO_COLOR", "1", When::WithoutTerminal),
    ("TERM", "dumb", When::WithoutTerminal),
    ("PAGER", "cat", When::Always),
    ("GIT_PAGER", "cat", When::Always),
    ("GH_PAGER", "cat", When::Always),
    ("MANPAGER", "cat", When::Always),
    ("DEBIAN_FRONTEND", "noninteractive", When::Always),
];
