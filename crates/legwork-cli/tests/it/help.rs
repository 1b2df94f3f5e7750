//! Help teaches: it is read more often than any document, so every word of it is looked at.

use crate::seen::legwork;

const COMMANDS: [&str; 14] = [
    "run",
    "start",
    "output",
    "wait",
    "list",
    "signal",
    "stop",
    "input",
    "screen",
    "attach",
    "ensure",
    "prune",
    "doctor",
    "completions",
];

#[test]
fn the_whole() {
    let seen = legwork(["--help"]).seen();
    assert_eq!((seen.code, seen.stderr.as_str()), (Some(0), ""));
    insta::assert_snapshot!("help", seen.stdout);
}

#[test]
fn every_command() {
    for command in COMMANDS {
        let seen = legwork([command, "--help"]).seen();
        assert_eq!(seen.code, Some(0), "{command}");
        assert!(seen.stdout.contains("Examples:\n  "), "{command} has no example");
        assert!(seen.stdout.lines().all(|line| line.chars().count() <= 100), "{command}");
        insta::assert_snapshot!(format!("help_{command}"), seen.stdout);
    }
}

#[test]
fn nothing_at_all_is_answered_with_what_there_is() {
    let seen = legwork(["--output", "text"]).seen();
    assert_eq!(seen.code, Some(1));
    assert!(seen.stderr.contains("legwork --help"), "{seen:?}");
    let seen = legwork([]).seen();
    assert!(seen.error()["valid_values"].as_array().unwrap().contains(&"run".into()), "{seen:?}");
}

#[test]
fn the_version_is_the_packages() {
    let seen = legwork(["--version"]).seen();
    assert_eq!(seen.stdout, format!("legwork {}\n", env!("CARGO_PKG_VERSION")));
}
