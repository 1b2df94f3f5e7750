//! The same program with the crate.

#![allow(missing_docs, dead_code, unreachable_pub)]

#[path = "cli.rs"]
mod cli;

fn main() -> std::process::ExitCode {
    clap_agent::run::<cli::Cli>(|cli, out| out.success("two tasks", &cli::items(&cli)))
}
