//! clap-agent as its callers see it: `examples/tasks.rs` driven through pipes, pseudo-terminals
//! and MCP, and small programs called inside the test.

mod bad_input;
mod builder;
mod contract;
mod documents;
mod examples;
mod faults;
mod gate;
mod goldens;
#[cfg(feature = "mcp")]
mod mcp;
#[cfg(feature = "mcp")]
mod mcp_session;
mod passthrough;
mod seen;
mod selection;
mod signals;
mod streams;
