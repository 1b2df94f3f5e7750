//! A tour: what a command can do to its caller, and what the caller learns of it.
//!
//! `cargo run --example tour`

use std::time::{Duration, Instant};

use legwork::prelude::*;

fn main() -> legwork::Result<()> {
    println!("a failure is a result, with everything known of it:");
    let outcome = shell("echo building; echo 'undefined symbol: x' >&2; exit 2").capture()?;
    println!(
        "  {} after {:?}, stderr {:?}",
        outcome.ending,
        outcome.duration,
        outcome.stderr_text()
    );

    println!(
        "a timeout ends the whole tree, also what ignores SIGTERM and left the process group:"
    );
    let stubborn = "(trap '' TERM; exec setsid sleep 300) & exec sleep 300";
    let limit = Duration::from_millis(300);
    let command = shell(stubborn).timeout(limit).kill_grace(Duration::from_millis(200));
    let outcome = command.capture()?;
    println!(
        "  {} ({}), survivors: {}",
        outcome.ending,
        outcome.ending.number(),
        outcome.survivors.len()
    );

    println!("a daemon that holds the output does not hold the caller:");
    let start = Instant::now();
    let outcome = shell("sleep 300 & echo started").capture()?;
    println!("  {:?} after {:?}, and it lives on:", outcome.stdout_text(), start.elapsed());
    for survivor in &outcome.survivors {
        println!(
            "  pid {}: {:?}, ended now: {}",
            survivor.pid,
            survivor.command,
            survivor.signal(Signal::KILL)
        );
    }

    println!("output is bounded, and the end is kept:");
    let outcome = cmd(["seq", "10000000"]).capture_limit(40).capture()?;
    println!("  {:?}", outcome.stdout_text());

    println!("what cannot be started says why:");
    for command in [cmd(["carog", "build"]), cmd(["ls"]).workdir("/no/such/place")] {
        println!("  {}", command.run().unwrap_err());
    }
    Ok(())
}
