//! `tasks mcp`, used by the Python `mcp` client from PyPI.
//!
//! A virtual environment is made under `target/` when there is none.

use std::path::PathBuf;
use std::process::Command;

use crate::seen::{scratch, tasks};

/// The environment's interpreter.
fn python() -> PathBuf {
    let target = tasks().ancestors().nth(3).expect("target").to_owned();
    let ready = target.join("clap-agent-mcp-venv");
    let python = ready.join("bin/python");
    if python.exists() {
        return python;
    }
    println!("making a virtual environment with PyPI's `mcp` in {}", ready.display());
    // Made aside and moved into place, so that a run that is stopped, or another that does the
    // same, never leaves half of one. (Its interpreter does not mind being moved.)
    let half = tempfile::tempdir_in(&target).expect("a directory beside it");
    let run = |command: &mut Command| {
        let output = command.output().expect("python3 is installed");
        assert!(
            output.status.success(),
            "{command:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    };
    run(Command::new("python3").args(["-m", "venv", "--symlinks"]).arg(half.path()));
    run(Command::new(half.path().join("bin/python")).args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "mcp>=2,<3",
    ]));
    let half = half.keep();
    if std::fs::rename(&half, &ready).is_err() {
        let _ = std::fs::remove_dir_all(&half);
    }
    assert!(python.exists(), "{}", python.display());
    python
}

/// The client's script checks everything it sees and says so; see there.
fn client(mode: &str) -> String {
    let dir = scratch();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp_client.py");
    let output = Command::new(python())
        .arg(script)
        .arg(tasks())
        .arg(dir.path())
        .arg(mode)
        .output()
        .expect("the client runs");
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{complained}");
    assert!(said.ends_with("everything seen\n"), "{said}\n{complained}");
    print!("{said}");
    said.into_owned()
}

/// Protocol versions with a handshake: the server asks in the middle of a call.
#[test]
fn a_python_client_lists_calls_is_refused_confirms_and_sees_progress() {
    let said = client("legacy");
    assert!(said.starts_with("protocol 2025-"), "{said}");
}

/// Protocol 2026-07-28: the server answers that input is required, and the client calls again.
#[test]
fn the_same_without_a_handshake() {
    let said = client("auto");
    assert!(said.starts_with("protocol 2026-07-28\n"), "{said}");
}
