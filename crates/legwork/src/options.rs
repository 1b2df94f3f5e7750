//! The choices a command offers, each an enum that reads as what it does.

use std::path::PathBuf;
use std::sync::Arc;

/// What a command reads.
///
/// ```
/// use legwork::prelude::*;
/// let outcome = cmd(["wc", "-c"]).stdin(Stdin::from("12345")).capture()?;
/// assert_eq!(outcome.stdout_text().trim(), "5");
/// # Ok::<(), legwork::CommandError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Stdin {
    /// Nothing: `/dev/null`. A program that asks for input is told that there is none.
    #[default]
    Null,
    /// The caller's own.
    Inherit,
    /// These bytes, then the end. A program that does not read them is no error.
    Bytes(Arc<[u8]>),
    /// This file, opened when the command starts; a relative path is taken from the caller's
    /// current directory.
    File(PathBuf),
    /// What [`Running::write`](crate::Running::write) sends; for `spawn` alone.
    Piped,
}

impl From<&str> for Stdin {
    fn from(text: &str) -> Stdin {
        Stdin::Bytes(text.as_bytes().into())
    }
}

impl From<String> for Stdin {
    fn from(text: String) -> Stdin {
        Stdin::Bytes(text.into_bytes().into())
    }
}

impl From<Vec<u8>> for Stdin {
    fn from(bytes: Vec<u8>) -> Stdin {
        Stdin::Bytes(bytes.into())
    }
}

impl From<&[u8]> for Stdin {
    fn from(bytes: &[u8]) -> Stdin {
        Stdin::Bytes(bytes.into())
    }
}

/// Where one of a command's outputs goes.
///
/// ```
/// use legwork::prelude::*;
/// let outcome = shell("echo data; echo noise >&2").stderr(Output::Null).capture()?;
/// assert_eq!(outcome.stdout_text(), "data\n");
/// assert!(outcome.stderr.is_none(), "absent, since it was not captured");
/// # Ok::<(), legwork::CommandError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// On to the caller's own stdout or stderr, as it comes. The program gets the caller's file
    /// itself, terminal included, unless an idle limit or a line callback has to see the bytes.
    Stream,
    /// Kept for the outcome, within the capture limit.
    Capture,
    /// Thrown away.
    Null,
    /// Both streamed and captured.
    Tee,
    /// Into this file, made or emptied first; a relative path is taken from the caller's current
    /// directory.
    File(PathBuf),
    /// At the end of this file, made where it is missing.
    Append(PathBuf),
}

/// What happens to descendants that outlive a command which ended by itself.
///
/// ```
/// use legwork::prelude::*;
/// let outcome = shell("sleep 300 & echo started").survivors(Survivors::End).capture()?;
/// assert!(outcome.success());
/// assert!(outcome.survivors.is_empty());
/// # Ok::<(), legwork::CommandError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Survivors {
    /// They live on, are listed in the outcome where they can be seen, and can be signalled.
    #[default]
    Keep,
    /// They are ended like a command at its deadline: asked, then killed.
    End,
}

/// What keeps a command's descendants together, so that all of them can be ended. Each level
/// contains those before it.
///
/// ```
/// use legwork::prelude::*;
/// let outcome = cmd(["true"]).containment(Containment::Cgroup).capture()?;
/// // Where the machine allows less, the outcome says so.
/// assert!(outcome.containment >= Containment::Marker);
/// # Ok::<(), legwork::CommandError>(())
/// ```
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    serde::Serialize,
    serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Containment {
    /// The process group, and whoever still hangs below the command in the process tree.
    Group,
    /// Also whoever carries this run's id in the variable `LEGWORK_RUN`. Who both leaves the
    /// group and clears its environment escapes.
    #[default]
    Marker,
    /// Also every orphan, since orphans come back to this process; only after
    /// [`adopt_orphans`](crate::adopt_orphans), which is process-wide.
    Subreaper,
    /// A cgroup of its own: nobody escapes. Where this user may make one.
    Cgroup,
}

/// How a command shares the caller's terminal, where there is one.
///
/// ```
/// use legwork::prelude::*;
/// // An editor: it gets the terminal, and Ctrl-C and Ctrl-Z act on it.
/// let edit = cmd(["vi", "notes.txt"]).stdin(Stdin::Inherit).terminal(Terminal::Foreground);
/// # let _ = edit;
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Terminal {
    /// The command stays in the caller's process group while the caller has a terminal, so that
    /// Ctrl-C and Ctrl-Z reach it as they reach the caller. Without a terminal it has a group of
    /// its own.
    #[default]
    Shared,
    /// The command gets a group of its own and the terminal's foreground; the caller takes the
    /// terminal back, with its settings, when the command ends or is stopped.
    Foreground,
}

/// Which stages of a pipeline have to succeed.
///
/// ```
/// use legwork::prelude::*;
/// let strict = cmd(["false"]).pipe(cmd(["cat"])).capture()?;
/// assert!(strict.failed());
/// let last = cmd(["false"]).pipe(cmd(["cat"])).pipefail(Pipefail::LastOnly).capture()?;
/// assert!(last.success());
/// assert_eq!(last.pipeline.len(), 2);
/// # Ok::<(), legwork::CommandError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pipefail {
    /// All of them, as with bash's `set -o pipefail`: the last one that failed is the ending.
    #[default]
    All,
    /// All, but an earlier stage may end by SIGPIPE, because its reader had enough.
    AllButSigpipe,
    /// The last one alone, as in a plain shell.
    LastOnly,
}

/// Resource limits, enforced by the kernel on the command and, each for itself, on its
/// descendants. What is not set is inherited.
///
/// ```
/// use legwork::prelude::*;
/// let limits = Limits { open_files: Some(64), ..Limits::default() };
/// let outcome = shell("ulimit -n").limits(limits).capture()?;
/// assert_eq!(outcome.stdout_text().trim(), "64");
/// # Ok::<(), legwork::CommandError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Bytes of address space (`RLIMIT_AS`); more is refused to the program.
    pub address_space: Option<u64>,
    /// Seconds of CPU (`RLIMIT_CPU`); then SIGXCPU, a second later SIGKILL.
    pub cpu_seconds: Option<u64>,
    /// Open files (`RLIMIT_NOFILE`).
    pub open_files: Option<u64>,
    /// Bytes of a core file (`RLIMIT_CORE`).
    pub core: Option<u64>,
    /// Bytes of any file it writes (`RLIMIT_FSIZE`); then SIGXFSZ.
    pub file_size: Option<u64>,
}

impl Limits {
    pub(crate) fn to_rlimits(self) -> Vec<crate::sys::spawn::Rlimit> {
        let pairs = [
            (libc::RLIMIT_AS, self.address_space),
            (libc::RLIMIT_CPU, self.cpu_seconds),
            (libc::RLIMIT_NOFILE, self.open_files),
            (libc::RLIMIT_CORE, self.core),
            (libc::RLIMIT_FSIZE, self.file_size),
        ];
        let limits = pairs.into_iter().filter_map(|(resource, value)| value.map(|v| (resource, v)));
        limits
            .map(|(resource, soft)| {
                // A second more than the warning, or the kernel kills without one.
                let grace = u64::from(resource == libc::RLIMIT_CPU);
                crate::sys::spawn::Rlimit { resource, soft, hard: soft.saturating_add(grace) }
            })
            .collect()
    }
}
