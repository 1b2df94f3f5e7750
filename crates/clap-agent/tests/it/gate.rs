//! Who may change something, in a terminal and without one.

use std::path::Path;
use std::process::Stdio;

use crate::seen::{call, scratch};

fn ids(dir: &Path) -> Vec<u64> {
    let seen = call(dir, "task list").pipe();
    let ids = seen.result();
    ids.as_array().unwrap().iter().map(|task| task["id"].as_u64().unwrap()).collect()
}

#[test]
fn without_a_terminal_it_is_refused_until_confirmed() {
    let dir = scratch();
    let seen = call(dir.path(), "task delete 1").pipe();
    assert_eq!(seen.code, Some(1));
    let error = seen.error();
    assert_eq!(error["error"], "confirmation_required");
    assert_eq!(error["recoverable"], true);
    assert!(error["suggestion"].as_str().unwrap().contains("--yes"), "{error}");
    assert_eq!(ids(dir.path()), [1, 2]);
    assert_eq!(call(dir.path(), "task delete 1 --yes").pipe().code, Some(0));
    assert_eq!(call(dir.path(), "task delete 2 --force").pipe().code, Some(0));
    assert!(ids(dir.path()).is_empty());
}

#[test]
fn in_a_terminal_it_asks() {
    let dir = scratch();
    for (answer, code, left) in [
        ("n\n", 9, vec![1, 2]),
        ("\n", 9, vec![1, 2]),
        ("\u{4}", 9, vec![1, 2]),
        ("y\n", 0, vec![2]),
    ] {
        let mut terminal = call(dir.path(), "task delete 1").env("NO_COLOR", "1").terminal();
        terminal.wait_for("`tasks task delete` may destroy something for good. Go on? [y/N] ");
        terminal.type_in(answer);
        let (screen, ended) = terminal.end();
        assert_eq!(ended, Some(code), "{answer:?}: {screen}");
        assert_eq!(ids(dir.path()), left, "{answer:?}");
        if code == 9 {
            assert!(screen.contains("Error: not confirmed; nothing was changed"), "{screen}");
        }
    }
}

/// The answer's form is another matter: it asks on stderr and answers on stdout.
#[test]
fn in_a_terminal_it_asks_whatever_the_output() {
    let dir = scratch();
    let mut terminal = call(dir.path(), "task delete 1 --output ndjson").terminal();
    terminal.wait_for("[y/N] ");
    terminal.type_in("y\n");
    let (screen, code) = terminal.end();
    assert_eq!(code, Some(0));
    assert!(screen.contains("{\"result\":{\"id\":1,"), "{screen}");
    // stdout in a pipe is no reason not to ask.
    let mut terminal = call(dir.path(), "task delete 2").terminal_except(|command, _| {
        command.stdout(Stdio::null());
    });
    terminal.wait_for("[y/N] ");
    terminal.type_in("no\n");
    assert_eq!(terminal.end().1, Some(9));
}

/// Nobody is asked who cannot answer.
#[test]
fn asking_needs_a_terminal_on_stdin_and_stderr_and_a_person_at_it() {
    let dir = scratch();
    let no_stdin = call(dir.path(), "task delete 1").terminal_except(|command, _| {
        command.stdin(Stdio::null());
    });
    let no_stderr = call(dir.path(), "task delete 1").terminal_except(|command, _| {
        command.stderr(Stdio::null());
    });
    let flagged = call(dir.path(), "task delete 1 --agent").terminal();
    let known = call(dir.path(), "task delete 1").env("CLAUDECODE", "1").terminal();
    let known_text =
        call(dir.path(), "task delete 1 --output text").env("CLAUDECODE", "1").terminal();
    for terminal in [no_stdin, no_stderr, flagged, known, known_text] {
        let (screen, code) = terminal.end();
        assert_eq!(code, Some(1), "{screen}");
        assert!(!screen.contains("[y/N]"), "{screen}");
    }
    assert_eq!(ids(dir.path()), [1, 2]);
}

#[test]
fn a_plan_passes_and_changes_nothing() {
    let dir = scratch();
    let seen = call(dir.path(), "task delete 1 --dry-run").pipe();
    assert_eq!(seen.code, Some(0));
    assert_eq!(seen.json()["status"], "plan");
    assert_eq!(ids(dir.path()), [1, 2]);
}

/// A flag can make its command more dangerous: what it will be asked about says so.
#[test]
fn a_flag_raises_the_effect() {
    let dir = scratch();
    let plain = call(dir.path(), "import list.txt").pipe().error();
    assert!(plain["message"].as_str().unwrap().contains("changes state"), "{plain}");
    let raised = call(dir.path(), "import list.txt --replace").pipe().error();
    assert!(raised["message"].as_str().unwrap().contains("destroy"), "{raised}");
}

/// Ctrl-D is a no, and what is said about it stands on a line of its own.
#[test]
fn an_end_of_input_at_the_prompt_is_a_no() {
    let dir = scratch();
    let mut terminal = call(dir.path(), "task delete 1").env("NO_COLOR", "1").terminal();
    terminal.wait_for("[y/N] ");
    terminal.type_in("\x04");
    let (screen, code) = terminal.end();
    assert_eq!(code, Some(9));
    assert!(screen.contains("\nError: not confirmed"), "{screen:?}");
}
