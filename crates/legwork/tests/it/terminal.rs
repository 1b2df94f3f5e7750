//! Interactive programs on the caller's own terminal: keys reach whom they should, and the
//! terminal comes back as it was. The caller here is a host on a terminal that the test types at.

use std::time::Duration;

use legwork::prelude::*;
use testkit::{is_alive, pid_in, wait_until};

use crate::forms::place;

const CTRL_C: &[u8] = &[3];
const CTRL_Z: &[u8] = &[26];

/// A host with a terminal, running a shell script on it; `timeout` in milliseconds.
fn host(mode: &str, timeout: &str, script: &str) -> Command {
    cmd([testkit::misbehave()])
        .args(["host", "terminal", "blocking", mode, timeout, "sh", "-c", script])
        .pty(24, 80)
        .stdin(Stdin::Piped)
        .output(Output::Capture)
        .timeout(Duration::from_secs(120))
}

fn last_json(text: &str) -> serde_json::Value {
    // The terminal shows typed keys in front of it.
    let line = text.lines().rev().find_map(|line| line.find('{').map(|at| &line[at..]));
    line.and_then(|line| serde_json::from_str(line).ok())
        .unwrap_or_else(|| panic!("no JSON in {text:?}"))
}

#[test]
fn a_shared_terminal_gives_ctrl_c_to_both() {
    let (_directory, pidfile) = place("pid");
    let script = format!("echo $$ > {}; exec sleep 300", pidfile.display());
    let mut run = host("shared", "100000", &script).spawn().unwrap();
    let child = pid_in(&pidfile);
    run.write(CTRL_C).unwrap();
    let outcome = run.wait().unwrap();
    assert_eq!(outcome.ending.number(), 130, "the host itself got the key: {:?}", outcome.ending);
    wait_until("the child to be gone too", || !is_alive(child));
}

#[test]
fn a_foreground_command_gets_ctrl_c_alone() {
    let (_directory, pidfile) = place("pid");
    let script = format!("echo $$ > {}; exec sleep 300", pidfile.display());
    let mut run = host("foreground", "100000", &script).spawn().unwrap();
    pid_in(&pidfile);
    run.write(CTRL_C).unwrap();
    let outcome = run.wait().unwrap();
    assert!(outcome.success(), "the host lives: {outcome:?}");
    let printed = last_json(&outcome.stdout_text());
    assert_eq!(printed["ending"]["signal"], 2, "{printed}");
}

#[test]
fn commands_read_from_the_terminal() {
    for mode in ["shared", "foreground"] {
        let mut run = host(mode, "100000", "read line; echo \"<$line>\"").spawn().unwrap();
        run.write(b"typed\n").unwrap();
        let outcome = run.wait().unwrap();
        assert!(outcome.stdout_text().contains("<typed>"), "{mode}: {:?}", outcome.stdout_text());
        assert!(outcome.success());
    }
}

#[test]
fn the_terminals_settings_come_back() {
    let program = testkit::misbehave().display().to_string();
    let script = "\"$1\" host terminal blocking foreground 100000 sh -c 'stty raw -echo'; stty -a";
    let command = shell(script).arg(program).pty(24, 80).timeout(Duration::from_secs(120));
    let outcome = command.capture().unwrap();
    let text = outcome.stdout_text();
    assert!(text.contains(" icanon") && text.contains(" echo "), "{text}");
}

#[test]
fn the_terminal_comes_back_from_a_command_that_does_not_start() {
    let (_directory, script) = place("script");
    std::fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, mode).unwrap();
    let line = "\"$1\" host terminal blocking foreground 100000 \"$2\"; read -r x; echo \"<$x>\"";
    let command = shell(line).arg(testkit::misbehave()).arg(&script);
    let command = command.pty(24, 80).stdin("typed\n").timeout(Duration::from_secs(120));
    let outcome = command.capture().unwrap();
    assert!(outcome.stdout_text().contains("<typed>"), "{outcome:?}");
}

#[test]
fn ctrl_z_stops_the_host_as_well_and_its_clock() {
    for mode in ["foreground", "shared"] {
        let (_directory, pidfile) = place("pid");
        // A shell with job control is the host's parent, as at a prompt: it sees the host stop,
        // waits longer than the host's whole limit, and continues it.
        let script = r#"
            set -m
            "$1" host terminal blocking "$2" 4000 sh -c 'echo $$ > "$0.new"; mv "$0.new" "$0"; read line; echo "<$line>"' "$3"
            echo stopped $?
            sleep 5
            fg %1
        "#;
        let command = cmd(["bash", "-c", script, "bash"])
            .arg(testkit::misbehave())
            .args([mode, pidfile.to_str().unwrap()])
            .pty(24, 80)
            .stdin(Stdin::Piped)
            .output(Output::Capture)
            .timeout(Duration::from_secs(120));
        let mut run = command.spawn().unwrap();
        let child = pid_in(&pidfile);
        run.write(CTRL_Z).unwrap();
        for line in run.lines() {
            if line.text().contains("stopped 148") {
                break;
            }
        }
        wait_until("the child to be stopped", || testkit::state(child) == Some('T'));
        wait_until("the child to be continued", || testkit::state(child) != Some('T'));
        run.write(b"again\n").unwrap();
        let outcome = run.wait().unwrap();
        let text = outcome.stdout_text();
        assert!(text.contains("<again>"), "{mode}: {text:?}");
        let printed = last_json(&text);
        assert_eq!(printed["ending"]["cause"], "exited", "{mode}: not timed out: {text:?}");
    }
}
