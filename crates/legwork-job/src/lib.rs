//! What a job leaves on disk.
//!
//! A job is a command that outlives whoever started it, so what it prints has to lie where anyone
//! finds it later. This crate holds that ground: short [ids](JobId), a [log](LogWriter) that is
//! bounded, addressed by cursor and readable by anyone at any time, and a [mask](Mask) that keeps
//! secrets from ever being written. Nothing here starts or watches a process.
//!
//! ```
//! use legwork::Stream;
//! use legwork_job::{JobId, LogReader, LogWriter, Mask};
//!
//! # let state = tempfile::tempdir().unwrap();
//! let folder = state.path().join(JobId::random().as_str());
//! std::fs::create_dir(&folder).unwrap();
//!
//! let mut mask = Mask::new(["s3cr3t-t0ken"]);
//! let mut log = LogWriter::create(&folder, 64 << 20)?;
//! mask.push(b"using s3cr3t-t0ken\n", |bytes| log.append(Stream::Stdout, 0, bytes));
//!
//! let piece = LogReader::open(&folder)?.read(0, 4096)?;
//! assert_eq!(piece.bytes, b"using ************\n");
//! assert_eq!(piece.next, 19);
//! # Ok::<(), legwork_job::LogError>(())
//! ```

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
