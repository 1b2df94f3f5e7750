//! Run a command and know exactly how it ended.
//!
//! ```
//! use legwork::prelude::*;
//! use std::time::Duration;
//!
//! // Three patterns. Stream, and fail loudly:
//! sh(["true"])?;
//! // Capture; a failure is a result to look at:
//! let status = capture(["sh", "-c", "echo text; exit 3"])?;
//! assert_eq!((&*status.stdout_text(), status.exit_code()), ("text\n", Some(3)));
//! // Ask, silently:
//! if succeeds(["which", "make"]) { /* … */ }
//!
//! // The rest are options of a command, which is a plain value:
//! let build = cmd(["sleep", "60"])
//!     .workdir("/")
//!     .env("PROFILE", "release")
//!     .timeout(Duration::from_millis(50));
//! let outcome = build.capture()?;
//! assert!(outcome.timed_out());          // and its whole process tree is gone
//! assert_eq!(outcome.ending.number(), 124);
//!
//! // A shell only when asked, pipelines without one, scopes instead of `cd` and `export`:
//! shell("echo $((6 * 7)) | tee /dev/null").capture()?;
//! cmd(["seq", "9"]).pipe(cmd(["sort", "-r"])).capture()?;
//! Scope::new().in_dir("/").with_env([("LC_ALL", "C")]).capture(["ls"])?;
//! # Ok::<(), legwork::CommandError>(())
//! ```
//!
//! | verb | output | non-zero exit | cannot start |
//! |---|---|---|---|
//! | [`sh`], [`run`](Command::run) | flows through | `Err`, unless [`check(false)`](Command::check) | `Err` |
//! | [`capture`], [`capture`](Command::capture) | kept | `Ok`; ask [`success`](Outcome::success) | `Err` |
//! | [`succeeds`], [`succeeds`](Command::succeeds) | thrown away | `false` | `false` |
//! | [`spawn`](Command::spawn) | as asked | a handle, [`Running`] | `Err` |
//!
//! With feature `tokio`, [`command.tokio()`](Command::tokio) and the functions of
//! [`legwork::tokio`](crate::tokio) offer the same verbs as futures.
//!
//! # What is promised
//!
//! - **The ending is the truth.** One enum, [`Cause`], tells how a command ended, and with it
//!   stands what the kernel said. A command that was killed never reads as exit 0.
//! - **A timeout ends the tree**, grandchildren that left the process group or ignore SIGTERM
//!   included; [`Containment`] says how far that reaches, and each outcome which level was in force.
//! - **Nobody waits on a pipe.** When a command has ended its caller gets the answer, even if a
//!   daemon it left behind holds its output open. What lives on is [listed](Outcome::survivors).
//! - **Nothing grows without bound.** A capture keeps head and tail within a
//!   [limit](Command::capture_limit) and counts the rest.
//! - **A guest in your process.** No signal handler, no `waitpid(-1)`, no change of directory or
//!   environment, no thread but while a handle or a survivor needs one; and a start that costs
//!   the same from a parent of four gigabytes as from a small one.
//!
//! The hazards behind all this, with what stays unsolved, are in `docs/gotchas.md` of the
//! repository.

mod cancel;
mod capture;
mod command;
mod containment;
mod context;
mod ending;
pub mod engine;
mod env;
mod error;
mod find;
mod lines;
mod near;
mod options;
mod outcome;
mod project;
mod quote;
mod run;
mod scope;
mod signal;
mod sys;
#[cfg(feature = "tokio")]
pub mod tokio;

use std::ffi::OsString;

pub use cancel::CancelToken;
pub use capture::{Captured, Stream};
pub use command::{Command, Pipeline};
pub use containment::adopt_orphans;
pub use context::{Context, Verbosity};
pub use ending::{Cause, Ending, NotStarted, WaitStatus};
pub use env::{EnvMode, LoginEnv, Toolchain};
pub use error::{CommandError, InvalidInput, Result};
pub use lines::Line;
pub use near::nearest;
pub use options::{Containment, Limits, Output, Pipefail, Stdin, Survivors, Terminal};
pub use outcome::{Outcome, Survivor, Usage};
pub use project::Project;
pub use run::{Lines, Running};
pub use scope::Scope;
pub use signal::Signal;

/// What most programs want: the verbs, the command, and the enums of its options.
pub mod prelude {
    pub use crate::{
        CancelToken, Command, CommandError, Containment, Context, EnvMode, Limits, Line, Outcome,
        Output, Pipefail, Project, Running, Scope, Signal, Stdin, Stream, Survivors, Terminal,
        Toolchain, Verbosity, bundle_exec, capture, cmd, sh, shell, succeeds,
    };
}

/// Runs a command, its output flowing through; a failure is an error.
///
/// # Errors
/// Where it cannot be started or fails.
///
/// ```
/// legwork::sh(["true"])?;
/// assert!(legwork::sh(["false"]).is_err());
/// # Ok::<(), legwork::CommandError>(())
/// ```
pub fn sh(argv: impl IntoIterator<Item = impl Into<OsString>>) -> Result<Outcome> {
    cmd(argv).run()
}

/// Runs a command and keeps its output; a failure is a result, not an error.
///
/// # Errors
/// Where it cannot be started.
///
/// ```
/// assert_eq!(legwork::capture(["echo", "hi"])?.stdout_text(), "hi\n");
/// # Ok::<(), legwork::CommandError>(())
/// ```
pub fn capture(argv: impl IntoIterator<Item = impl Into<OsString>>) -> Result<Outcome> {
    cmd(argv).capture()
}

/// Runs a command silently: whether it succeeded. Never an error.
///
/// ```
/// assert!(legwork::succeeds(["true"]));
/// assert!(!legwork::succeeds(["no-such-program-anywhere"]));
/// ```
pub fn succeeds(argv: impl IntoIterator<Item = impl Into<OsString>>) -> bool {
    cmd(argv).succeeds()
}

/// A command, to be given options and run.
///
/// ```
/// assert!(legwork::cmd(["test", "-d", "/"]).succeeds());
/// ```
pub fn cmd(argv: impl IntoIterator<Item = impl Into<OsString>>) -> Command {
    Command::new(argv)
}

/// A line for a shell, to be given options and run. Hand it values with
/// [`args`](Command::args), never by pasting them into the line.
///
/// ```
/// assert!(legwork::shell("true && ! false").succeeds());
/// ```
pub fn shell(line: impl Into<OsString>) -> Command {
    Command::shell(line)
}

/// An argv as one line that a shell would read back as the same argv.
///
/// ```
/// assert_eq!(legwork::quote(&["echo".into(), "a b".into()]), "echo 'a b'");
/// ```
pub fn quote(argv: &[OsString]) -> String {
    quote::line(argv)
}

/// A command of the bundle of the current directory; see [`Scope::bundle_exec`].
///
/// ```no_run
/// legwork::bundle_exec(["rake", "test"]).run()?;
/// # Ok::<(), legwork::CommandError>(())
/// ```
pub fn bundle_exec(argv: impl IntoIterator<Item = impl Into<OsString>>) -> Command {
    Scope::new().bundle_exec(argv)
}
