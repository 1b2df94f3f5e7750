//! A person at a terminal: keys reach whom they should, and the terminal comes back as it was.

use std::time::Duration;

use legwork::prelude::*;
use testkit::{is_alive, pid_in, wait_until};

use crate::seen::LEGWORK;

const CTRL_C: &[u8] = &[3];

/// `legwork` on a terminal of its own.
fn on_terminal(words: &[&str]) -> Command {
    cmd([LEGWORK])
        .args(words.iter().copied())
        .env_remove("CLAUDECODE")
        .env_remove("AI_AGENT")
        .pty(24, 80)
        .stdin(Stdin::Piped)
        .output(Output::Capture)
        .timeout(Duration::from_secs(120))
}

#[test]
fn a_command_reads_what_is_typed() {
    let mut run = on_terminal(&["run", "-c", "read line; echo \"<$line>\""]).spawn().unwrap();
    run.write(b"typed\n").unwrap();
    let outcome = run.wait().unwrap();
    assert!(outcome.stdout_text().contains("<typed>"), "{outcome:?}");
    assert!(outcome.success(), "{outcome:?}");
}

#[test]
fn ctrl_c_is_the_commands_to_answer() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pid");
    let script = format!("echo $$ > {}; exec sleep 300", file.display());
    let mut run = on_terminal(&["run", "-c", &script]).spawn().unwrap();
    let pid = pid_in(&file);
    run.write(CTRL_C).unwrap();
    let outcome = run.wait().unwrap();
    assert_eq!(outcome.exit_code(), Some(130), "{outcome:?}");
    wait_until("the command to be gone", || !is_alive(pid));
}

#[test]
fn a_command_that_shrugs_off_ctrl_c_goes_on() {
    // Its stdin is no terminal, so that it shares the group, and the key reaches both.
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pid");
    let script = format!(
        "trap 'echo caught; exit 9' INT; echo $$ > {}; while :; do sleep 0.05; done",
        file.display()
    );
    let line = format!("{LEGWORK} run --stdin null -c \"$1\"; echo \"code $?\"");
    let command = shell(line)
        .arg(&script)
        .pty(24, 80)
        .stdin(Stdin::Piped)
        .output(Output::Capture)
        .timeout(Duration::from_secs(120));
    let mut run = command.spawn().unwrap();
    pid_in(&file);
    run.write(CTRL_C).unwrap();
    let outcome = run.wait().unwrap();
    assert!(outcome.stdout_text().contains("caught"), "{outcome:?}");
}

#[test]
fn the_terminals_settings_come_back() {
    let line = format!("{LEGWORK} run -c 'stty raw -echo'; stty -a");
    let command = shell(line).pty(24, 80).timeout(Duration::from_secs(120));
    let outcome = command.capture().unwrap();
    let text = outcome.stdout_text();
    assert!(text.contains(" icanon") && text.contains(" echo "), "{text}");
}

#[test]
fn a_person_is_told_in_words() {
    let outcome = on_terminal(&["signal", "x", "TREM"]).spawn().unwrap().wait().unwrap();
    let text = outcome.stdout_text();
    assert!(text.contains("Error:") && text.contains("did you mean \"TERM\"?"), "{text}");
}
