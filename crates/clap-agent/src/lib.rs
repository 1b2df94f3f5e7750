#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod buffer;
mod called;
mod caught;
mod check;
pub mod contract;
mod conventions;
mod describe;
mod docs;
mod effect;
mod envelope;
mod error;
mod exit;
mod flags;
mod format;
mod gate;
mod invocation;
#[cfg(feature = "jq")]
mod jq;
#[cfg(feature = "tracing")]
mod layer;
mod lineage;
mod log;
#[cfg(feature = "mcp")]
mod mcp;
mod mode;
mod notes;
mod ordered;
mod person;
mod program;
mod progress;
mod refused;
mod run;
mod scan;
mod schema;
mod select;
mod signals;
mod sys;
#[cfg(feature = "testing")]
pub mod testing;
mod tree;
mod usage;
mod writer;

pub use buffer::Buffer;
pub use check::Finding;
pub use conventions::check_conventions;
pub use effect::{Confirm, Effect};
pub use error::AgentError;
pub use exit::{Exit, Finish};
pub use flags::InfraFlag;
pub use format::{OutputFormat, Protocol, SCHEMA_VERSION, UnknownName};
pub use invocation::Invocation;
#[cfg(feature = "tracing")]
pub use layer::LogLayer;
pub use log::Level;
pub use mode::{Mode, Surroundings};
pub use notes::{Example, FlagNotes, Notes, Returns};
pub use program::Program;
pub use progress::Progress;
pub use run::{App, run};
pub use schema::{
    ArgumentSchema, Capabilities, CommandSchema, Conventions, DescribeOutput, ExampleSchema,
    FlagSchema, ReturnSchema, Subcommand,
};
pub use writer::{Writer, WriterBuilder};
