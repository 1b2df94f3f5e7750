//! The ground on which jobs find one another: one directory of the user's, and nothing else.
//!
//! There is no daemon, so whatever two callers must agree upon is a file here: which jobs there
//! are (`jobs/ID`), who has a name (`names/`), which request was answered by which job
//! (`requests/`). Each is made complete under a name nobody looks at and then made visible in one
//! step, so that a caller that is killed leaves a whole thing or nothing.
//!
//! Whoever can write here can have commands run as the user, so the directory is refused unless it
//! is the user's alone.

mod claims;
mod directory;
mod error;
mod folder;
mod hash;
mod identity;
mod labels;
mod names;
mod prune;
mod removal;
mod requests;
mod salt;
mod session;
mod sweep;

pub use directory::StateDir;
pub use error::StateError;

pub(crate) use hash::fingerprint;
pub(crate) use identity::{Identity, Whereabouts, compare};
pub(crate) use labels::{Label, check_name};
pub(crate) use names::{NameClaim, NameError};
pub(crate) use prune::{Old, Pace, PrunePolicy, doomed};
pub(crate) use removal::{finish_removal, remove_job_folder};
pub(crate) use requests::Request;
pub(crate) use session::Session;
