//! Completions are read by a shell, so they are the script itself, in a pipe too.

use crate::seen::legwork;

#[test]
fn every_shell_gets_a_script_that_knows_the_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let seen = legwork(["completions", shell]).env("CLAUDECODE", "1").seen();
        assert_eq!((seen.code, seen.stderr.as_str()), (Some(0), ""), "{shell}");
        for word in ["legwork", "ensure", "on-log-limit", "protocol-version"] {
            assert!(seen.stdout.contains(word), "{shell} does not know {word}");
        }
    }
}

#[test]
fn bash_takes_its_script() {
    let seen = legwork(["completions", "bash"]).seen();
    let checked = legwork(["run", "bash", "-n"]).reading(&seen.stdout);
    assert_eq!((checked.stderr.as_str(), checked.code), ("", Some(0)));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let line = format!("{} completions bash | head -1", crate::seen::LEGWORK);
    let seen = legwork(["run", "-c", &line]).seen();
    assert_eq!((seen.stderr.as_str(), seen.code), ("", Some(0)));
}
