//! The logic behind the README's commands and continuous integration.
//!
//! `cargo xtask test` checks everything; `cargo xtask bench NAME` measures. Both are written with
//! legwork itself, as any tool of its users would be.

mod install;
mod leftovers;
mod release;
mod test;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use legwork::prelude::*;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  test         install what the tests need, then check format, lints, docs and all tests
  build        the command `legwork` as it is meant to be installed: one static file
  bench run    measure running commands against std, duct, subprocess, tokio and xshell
  bench jobs   measure jobs against timeout, std, pueue and a plain file; installs pueue into
               target/peers where it is missing
               options of both (--quick, --rounds N, --row N) are passed on
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["test"] => test::run(),
        ["build"] => workspace().and_then(|scope| release::build(&scope)).map(|binary| {
            println!("{}", binary.display());
        }),
        ["bench", suite @ "run", options @ ..] => bench(suite, options, None),
        ["bench", suite @ "jobs", options @ ..] => {
            bench_jobs().and_then(|legwork| bench(suite, options, Some(&legwork)))
        }
        ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("xtask: {problem}");
            ExitCode::FAILURE
        }
    }
}

/// Where Cargo is run: in the workspace's root, without the traces of the Cargo that runs us.
fn workspace() -> Result<Scope, String> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let scope = Scope::new().in_dir(root).without(Toolchain::Cargo);
    if scope.succeeds(["cargo", "--version"]) {
        Ok(scope)
    } else {
        Err("cargo is not there".into())
    }
}

/// What the suite of jobs needs beside itself: the command, and the peer that keeps jobs.
fn bench_jobs() -> Result<PathBuf, String> {
    let scope = workspace()?;
    let cargo = |args: &[&str]| {
        let argv = ["cargo"].iter().chain(args).copied();
        scope.command(argv).run().map(drop).map_err(|error| error.to_string())
    };
    let legwork = release::build(&scope)?;
    if !scope.succeeds(["target/peers/bin/pueued", "--version"]) {
        eprintln!("installing pueue into target/peers");
        cargo(&["install", "pueue", "--locked", "--quiet", "--root", "target/peers"])?;
    }
    Ok(legwork)
}

fn bench(suite: &str, options: &[&str], legwork: Option<&Path>) -> Result<(), String> {
    let cargo = ["cargo", "run", "--release", "--quiet", "--package", "bench", "--", suite];
    let mut bench = workspace()?.command(cargo).args(options.iter().copied());
    if let Some(legwork) = legwork {
        bench = bench.env("LEGWORK_BENCH_BINARY", legwork);
    }
    bench.run().map(drop).map_err(|error| error.to_string())
}
