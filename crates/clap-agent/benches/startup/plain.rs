//! The program without the crate: parses, prints JSON.

#![allow(missing_docs, dead_code, unreachable_pub)]

#[path = "cli.rs"]
mod cli;

use clap::Parser;

fn main() {
    let cli = cli::Cli::parse();
    println!("{}", serde_json::to_string_pretty(&cli::items(&cli)).unwrap());
}
