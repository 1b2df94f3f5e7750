//! From a command value to an outcome.
//!
//! `plan` turns the value into everything that starting needs, or into an error, with nothing
//! started. `plumbing` and `forward` are the pipes and files between us and the processes. `life`
//! is the pure table of what happens when; `start`, `machine` and `pump` perform it; `verdict`
//! says how it ended. `blocking` and `crate::tokio` are the two drivers that wait; `handle` is what
//! they share with whoever spawned. `quiet` shows what was held back. `janitor` is the one thread
//! for what outlives its caller.

pub(crate) mod blocking;
mod forward;
pub(crate) mod handle;
pub(crate) mod janitor;
pub(crate) mod life;
pub(crate) mod machine;
pub(crate) mod plan;
mod plumbing;
mod pump;
pub(crate) mod quiet;
mod start;
mod verdict;

pub use handle::{Lines, Running};
pub(crate) use plan::Verb;
