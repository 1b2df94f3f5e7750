//! Commands that outlive their caller.
//!
//! A job is a command under a supervisor of its own: a small process that holds its pipes or its
//! terminal, writes its record and its log, and answers whoever comes. Whoever started it may die;
//! whoever comes later finds it by id or name. There is no daemon.
//!
//! The operations are a trait, [`Place`]; [`Local`] offers them on this machine, and with feature
//! `tokio` there is a form of them as futures. What comes back is one value, [`Report`].
//!
//! ```no_run
//! use legwork_job::{JobSpec, Local, Patience, Place, Reading};
//! use std::time::Duration;
//!
//! // First of all in `main`: this program is also the supervisor of the jobs it starts.
//! legwork_job::supervise_if_asked();
//!
//! let jobs = Local::from_env()?;
//! let build = JobSpec::argv(["cargo", "build"]);
//! let report = jobs.execute(&build, &Patience::of(Duration::from_secs(10)), &Reading::default())?;
//! if report.running {
//!     // Patience is over, and nothing is lost: it runs on under its id.
//!     println!("still running: {:?}", report.id);
//! }
//! # Ok::<(), legwork_job::JobError>(())
//! ```
//!
//! # What is promised
//!
//! - **Patience over never loses a command.** It runs on; output, id and cursor stay valid.
//! - **The ending is the truth**, also where the supervisor was killed or the machine restarted;
//!   while a job runs there is no exit code and no success.
//! - **Nobody is left behind.** Orphans come back to the supervisor, so a stop reaches every
//!   descendant, survivors of an ended job included.
//! - **Nothing grows without bound**, on disk and in memory, and what was dropped is counted.
//! - **Secrets do not reach the disk.**

mod error;
mod evidence;
mod id;
mod local;
mod log;
mod place;
mod protocol;
mod record;
mod report;
mod secrets;
mod spec;
mod state;
mod supervisor;
#[cfg(feature = "tokio")]
pub mod tokio;
mod wire;

pub use error::{JobError, NotStarted};
pub use evidence::{BlockedOn, Evidence, Listening, ProcessFacts, ProcessTree, Protocol, WaitsFor};
pub use id::{BadId, JobId};
pub use local::Local;
pub use log::{Facts, LogError, LogReader, LogWriter, Piece, Stretch};
pub use place::{
    Attached, Attachment, Condition, Ensured, Filter, Gather, Met, OnTimeout, Page, Patience,
    Place, Pruned, Pruning, Reach, Reading, Screen, Signalled, Started, Waited, Waiting, Writing,
    Written,
};
pub use report::{Process, REPORT_SCHEMA, Report, State, Used};
pub use secrets::{Mask, looks_secret};
pub use spec::{Input, JobSpec, LOG_LIMIT, OnLogLimit, Size, What};
pub use state::{StateDir, StateError};
pub use supervisor::supervise_if_asked;
