//! One shape through every door: what is known of a job, as a value.
//!
//! Absent means not known or not applicable; nothing is faked. While a job runs there is no
//! `ending`, no `exit_code` and no `success`, and nobody can mistake it for one that succeeded.

use std::collections::BTreeMap;

use legwork::{Containment, Ending};
use legwork_view::Truncation;
use serde::{Deserialize, Serialize};

use crate::evidence::{BlockedOn, Listening};
use crate::id::JobId;

/// The version of the report.
pub const REPORT_SCHEMA: u32 = 1;

/// Where a job is in its life.
///
/// ```
/// assert!(legwork_job::State::Running.is_live());
/// assert!(!legwork_job::State::Lost.is_live());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum State {
    /// Being started.
    Starting,
    /// Running.
    Running,
    /// Being ended.
    Stopping,
    /// It has ended; survivors may live on.
    Ended,
    /// Its supervisor is gone, and how it ended with it.
    Lost,
    /// It belongs to another machine, boot or pid namespace: shown, never touched.
    Elsewhere,
}

impl State {
    /// Whether its command runs.
    ///
    /// ```
    /// assert!(legwork_job::State::Stopping.is_live());
    /// ```
    pub fn is_live(self) -> bool {
        matches!(self, State::Starting | State::Running | State::Stopping)
    }

    /// Its word.
    ///
    /// ```
    /// assert_eq!(legwork_job::State::Ended.word(), "ended");
    /// ```
    pub fn word(self) -> &'static str {
        match self {
            State::Starting => "starting",
            State::Running => "running",
            State::Stopping => "stopping",
            State::Ended => "ended",
            State::Lost => "lost",
            State::Elsewhere => "elsewhere",
        }
    }
}

/// What a job has used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Used {
    /// CPU time in user mode.
    pub cpu_user_ms: u64,
    /// CPU time in the kernel.
    pub cpu_system_ms: u64,
    /// The most memory that one of its processes had.
    pub max_rss_bytes: u64,
}

/// A process of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Process {
    /// Its pid.
    pub pid: u32,
    /// Its argv, as text.
    pub command: Vec<String>,
    /// Its parent, where it was looked at closely.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub parent: Option<u32>,
    /// The CPU time it has used, likewise.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cpu_ms: Option<u64>,
    /// The memory it has, likewise.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rss_bytes: Option<u64>,
}

impl Process {
    /// One of which no more is known than who it is.
    ///
    /// ```
    /// assert!(legwork_job::Process::named(1, vec!["init".into()]).cpu_ms.is_none());
    /// ```
    pub fn named(pid: u32, command: Vec<String>) -> Process {
        Process { pid, command, parent: None, cpu_ms: None, rss_bytes: None }
    }
}

/// What is known of a job, and what it printed, as far as it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Report {
    /// [`REPORT_SCHEMA`].
    pub schema: u32,
    /// The job; absent where none came to be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<JobId>,
    /// The caller's name for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Where it lives.
    pub place: String,
    /// As people read it.
    pub command: String,
    /// The program and its arguments; absent for a shell line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub argv: Option<Vec<String>>,
    /// Where it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workdir: Option<String>,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
    /// The caller's labels.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub labels: BTreeMap<String, String>,
    /// The session it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Where it is in its life; absent where it never began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// Whether its command runs.
    pub running: bool,
    /// How it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ending: Option<Ending>,
    /// The code, where it really exited by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The number for those who can only take a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shell_code: Option<i32>,
    /// Whether it exited 0 by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success: Option<bool>,
    /// The view of its output, where one was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Where to read on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<u64>,
    /// What the view left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncated: Option<Truncation>,
    /// How many bytes it has printed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Bytes that could not be kept, because the disk was full, say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_bytes: Option<u64>,
    /// When it started, in RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    /// When it ended, in RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// How long it has run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_duration_ms: Option<u64>,
    /// What it used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Used>,
    /// What keeps its descendants together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub containment: Option<Containment>,
    /// Descendants that live on after its end.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub survivors: Vec<Process>,
    /// Its processes, where they were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub processes: Vec<Process>,
    /// What it waits for, by the kernel's evidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked_on: Option<BlockedOn>,
    /// The ports it listens on.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub listening: Vec<Listening>,
    /// Its id while it runs: what a caller that must go on has to remember.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background_process_id: Option<JobId>,
    /// What went wrong on legwork's side, and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Advice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}
