//! The promises of the crate, against real output and against anything.

mod corpus;
mod large;
mod promises;
