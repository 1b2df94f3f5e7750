//! What the crate costs at start: the same program with and without it, and `describe` on a
//! program of 200 commands against its `--version`.
//!
//! Whole processes, started in turns so that whatever else the machine does falls on both alike;
//! medians of many rounds.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const ROUNDS: usize = 1500;

fn main() {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let built = Command::new(cargo)
        .args(["build", "--quiet", "--release", "--package", "clap-agent"])
        .args(["--example", "startup_plain", "--example", "startup_agent"])
        .args(["--example", "startup_many"])
        .status()
        .expect("cargo runs");
    assert!(built.success(), "the programs build");
    let own = std::env::current_exe().expect("a bench has a path");
    let programs = own.ancestors().nth(2).expect("target/release").join("examples");
    let program = |name: &str| -> PathBuf { programs.join(name) };

    println!("{ROUNDS} rounds, interleaved; medians of whole processes");
    let (plain, agent) = (program("startup_plain"), program("startup_agent"));
    for args in [&["task", "list"][..], &["task", "get", "1"], &["--version"]] {
        let [without, with] = race([(&plain, args), (&agent, args)]);
        let ratio = with.as_secs_f64() / without.as_secs_f64();
        println!(
            "start, `{}`: without {:>7.1} us, with {:>7.1} us, ratio {ratio:.3}",
            args.join(" "),
            micros(without),
            micros(with),
        );
    }
    let many = program("startup_many");
    let [version, describe] = race([(&many, &["--version"]), (&many, &["describe"])]);
    println!(
        "200 commands: --version {:.2} ms, describe {:.2} ms, {:.2} ms more",
        micros(version) / 1e3,
        micros(describe) / 1e3,
        (micros(describe) - micros(version)) / 1e3,
    );
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn race(runners: [(&Path, &[&str]); 2]) -> [Duration; 2] {
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..ROUNDS {
        // Who goes first changes, too.
        for turn in [round % 2, (round + 1) % 2] {
            let (program, args) = runners[turn];
            let start = Instant::now();
            let status = Command::new(program)
                .args(args)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .expect("it runs");
            times[turn].push(start.elapsed());
            assert!(status.success());
        }
    }
    times.map(|mut times| {
        times.sort();
        times[times.len() / 2]
    })
}
