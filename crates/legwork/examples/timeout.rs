//! A timeout that really kills: a command that starts a daemon, which leaves the session, forks
//! twice and ignores SIGTERM. `cargo run --example timeout`

use std::time::Duration;

use legwork::prelude::*;

fn main() -> legwork::Result<()> {
    let script = r#"
        setsid bash -c 'trap "" TERM; (while :; do sleep 1; done) & wait' &
        echo "daemon started"
        sleep 300
    "#;
    let command = shell(script)
        .timeout(Duration::from_millis(500))
        .kill_grace(Duration::from_millis(200))
        .stdout(Output::Tee);
    let outcome = command.capture()?;
    println!("ended: {}; success: {}", outcome.ending, outcome.success());
    println!("contained by: {:?}; still alive: {}", outcome.containment, outcome.survivors.len());
    Ok(())
}
