//! From a command value to an outcome.
//!
//! Four rooms: `plan` turns the value into everything that starting needs, or into an error, with
//! nothing started; `life` is the pure table of what happens when; `machine` performs it on real
//! processes and pipes; `blocking` and `crate::tokio` are the two drivers that wait. `janitor` is
//! the one shared thread for what outlives its caller.

pub(crate) mod blocking;
pub(crate) mod handle;
pub(crate) mod janitor;
mod life;
pub(crate) mod machine;
pub(crate) mod plan;
mod plumbing;

pub use handle::{Lines, Running};
pub(crate) use plan::Verb;
