//! What a job is doing, from kernel evidence.
//!
//! A job that prints nothing may compute, sleep, or wait for an answer that nobody knows it wants.
//! Guessing at its text is wrong in both directions, so the kernel is asked instead: which system
//! call a thread sleeps in, which descriptors that call names, and what those descriptors are.
//! Nothing is attached to, nothing is stopped, and a process that ends while it is looked at is
//! simply skipped.
//!
//! Evidence that cannot be had is absent, never "no". Every look is bounded, however many
//! processes and threads there are.

mod calls;
mod input;
mod ports;
mod proc;
mod report;
mod sys;
mod tree;

#[cfg(test)]
mod stage;

pub(crate) use input::{Input, blocked_on};
pub(crate) use ports::listening;
pub use report::{BlockedOn, Evidence, Listening, ProcessFacts, ProcessTree, Protocol, WaitsFor};
pub(crate) use tree::tree;
