//! The command `legwork`.
//!
//! This binary is also the supervisor of the jobs it starts, so the question which of the two it
//! is comes before anything else is set up. Everything a person or an agent can ask for is one
//! verb, one file under `commands/`; what they have in common lies beside it.

mod cli;
mod clock;
mod commands;
mod config;
mod errors;
mod interrupt;
mod keys;
mod options;
mod passing;
mod place;
mod sys;
mod table;
mod terminal;
mod units;
mod words;

use std::process::ExitCode;

fn main() -> ExitCode {
    legwork_job::supervise_if_asked();
    cli::main()
}
