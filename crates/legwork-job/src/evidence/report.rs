//! The plain values that a report about a live job is made of. Their JSON is public.

use serde::{Deserialize, Serialize};

/// One process, as the kernel showed it.
///
/// ```
/// let facts: legwork_job::ProcessFacts = serde_json::from_str(
///     r#"{"pid": 7, "parent": 1, "start_ticks": 123, "state": "S", "command": ["sleep", "9"],
///         "cpu_ms": 10, "rss_bytes": 4096}"#,
/// )?;
/// assert_eq!((facts.state, facts.command.join(" ").as_str()), ('S', "sleep 9"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ProcessFacts {
    /// Its pid.
    pub pid: i32,
    /// The pid of its parent.
    pub parent: i32,
    /// When it started, in the kernel's ticks since boot; with the pid it names this process and
    /// no later one.
    pub start_ticks: u64,
    /// The kernel's letter for the state of its main thread: `R` runs, `S` and `D` sleep, `T` is
    /// stopped.
    pub state: char,
    /// Its argv as text, cut where it is very long; its name in brackets where it shows none.
    pub command: Vec<String>,
    /// The time it has computed, in user and kernel mode.
    pub cpu_ms: u64,
    /// The memory it has in use, roughly: the kernel gathers the figure late, and one that has just
    /// begun may show none.
    pub rss_bytes: u64,
}

/// The live descendants of a process.
///
/// ```
/// let tree: legwork_job::ProcessTree =
///     serde_json::from_str(r#"{"processes": [], "capped": false}"#)?;
/// assert!(tree.processes.is_empty() && !tree.capped);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ProcessTree {
    /// A parent comes before its children.
    pub processes: Vec<ProcessFacts>,
    /// Whether there were more than are looked at.
    pub capped: bool,
}

/// What a job waits for, and how that is known.
///
/// ```
/// use legwork_job::{BlockedOn, Evidence};
///
/// let blocked: BlockedOn = serde_json::from_str(
///     r#"{"what": "input", "evidence": "strong", "echo": false, "pid": 7, "command": ["su"]}"#,
/// )?;
/// assert_eq!(blocked.evidence, Evidence::Strong);
/// assert_eq!(blocked.echo, Some(false), "a password is wanted");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct BlockedOn {
    /// What it waits for.
    pub what: WaitsFor,
    /// How sure that is.
    pub evidence: Evidence,
    /// On a terminal, whether it shows what is typed: `false` means that a password is being asked
    /// for. Absent without a terminal, and where the program reads single keys and shows them, or
    /// does not, by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub echo: Option<bool>,
    /// The process that waits.
    pub pid: i32,
    /// Its argv.
    pub command: Vec<String>,
}

/// What can be waited for.
///
/// ```
/// assert_eq!(serde_json::to_string(&legwork_job::WaitsFor::Input)?, r#""input""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum WaitsFor {
    /// The job's own input: its stdin, or its terminal.
    Input,
}

/// How sure it is that a process waits for input.
///
/// ```
/// use legwork_job::Evidence;
/// assert!(Evidence::Strong > Evidence::Weak);
/// assert_eq!(serde_json::to_string(&Evidence::Weak)?, r#""weak""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Evidence {
    /// It waits for input among other things, which may be all that it waits for; or it cannot be
    /// looked at, and the terminal hides what is typed.
    Weak,
    /// A thread of it sleeps in a read of the input.
    Strong,
}

/// A port that a process listens on.
///
/// ```
/// use legwork_job::{Listening, Protocol};
///
/// let port: Listening = serde_json::from_str(
///     r#"{"protocol": "tcp", "address": "127.0.0.1", "port": 8000, "pid": 7}"#,
/// )?;
/// assert_eq!((port.protocol, port.port), (Protocol::Tcp, 8000));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Listening {
    /// TCP over IPv4 or IPv6.
    pub protocol: Protocol,
    /// The address it is bound to; `0.0.0.0` and `::` are all of them.
    pub address: String,
    /// The port.
    pub port: u16,
    /// A process that holds the socket; the first where several do.
    pub pid: i32,
}

/// What a [`Listening`] socket speaks.
///
/// ```
/// assert_eq!(serde_json::to_string(&legwork_job::Protocol::Tcp6)?, r#""tcp6""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Protocol {
    /// TCP over IPv4.
    Tcp,
    /// TCP over IPv6, and over IPv4 too where the socket allows it.
    Tcp6,
}
