//! The logic behind the README's commands and continuous integration.
//!
//! `cargo xtask test` checks everything; `cargo xtask bench NAME` measures. Both are written with
//! legwork itself, as any tool of its users would be.

mod install;
mod leftovers;
mod test;

use std::process::ExitCode;

use legwork::prelude::*;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  test         install what the tests need, then check format, lints, docs and all tests
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
        ["bench", suite @ "run", options @ ..] => bench(suite, options),
        ["bench", suite @ "jobs", options @ ..] => {
            bench_jobs().and_then(|()| bench(suite, options))
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
fn bench_jobs() -> Result<(), String> {
    let scope = workspace()?;
    let cargo = |args: &[&str]| {
        let argv = ["cargo"].iter().chain(args).copied();
        scope.command(argv).run().map(drop).map_err(|error| error.to_string())
    };
    cargo(&["build", "--release", "--quiet", "--package", "legwork-cli"])?;
    if scope.succeeds(["target/peers/bin/pueued", "--version"]) {
        return Ok(());
    }
    eprintln!("installing pueue into target/peers");
    cargo(&["install", "pueue", "--locked", "--quiet", "--root", "target/peers"])
}

fn bench(suite: &str, options: &[&str]) -> Result<(), String> {
    let cargo = ["cargo", "run", "--release", "--quiet", "--package", "bench", "--", suite];
    let bench = workspace()?.command(cargo).args(options.iter().copied());
    bench.run().map(drop).map_err(|error| error.to_string())
}
