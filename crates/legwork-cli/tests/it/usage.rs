//! Mistakes: what is wrong, what would be right, and a number that a caller can tell apart.

use std::fs;

use crate::seen::legwork;

/// `run` gives its numbers to the command, so everything of its own is 125.
#[test]
fn every_mistake_with_run_is_125() {
    for words in [
        &["run"][..],
        &["run", "--bogus", "--", "true"],
        &["run", "--tiemout=5s", "true"],
        &["run", "--timeout=5", "--", "true"],
        &["run", "--timeout=5s", "--", "true"],
        &["run", "--deadline=soon", "--", "true"],
        &["run", "--env=PATH", "--", "true"],
        &["run", "--stdin=open", "--", "true"],
        &["run", "--pty", "--", "true"],
        &["run", "-c", "true", "extra"],
        &["run", "--workdir=/no/such/place", "--", "true"],
        &["run", "--stdin=/no/such/file", "--", "true"],
        &["run", "--output=nonsense", "--", "true"],
        &["run", "--output=json", "--stdin=inherit", "--", "true"],
        &["run", "--agent", "--limit=ram=1", "--", "true"],
    ] {
        let seen = legwork(words.iter().copied()).seen();
        assert_eq!(seen.code, Some(125), "{words:?}: {seen:?}");
        assert_eq!(seen.stdout, "", "{words:?}");
        assert!(!seen.stderr.is_empty(), "{words:?}");
    }
}

#[test]
fn a_mistake_elsewhere_is_1() {
    for words in [
        &["frobnicate"][..],
        &["start"],
        &["start", "--timeout=5s", "--", "true"],
        &["wait"],
        &["wait", "x", "--for", "never"],
        &["output"],
        &["output", "x", "--head", "--tail"],
        &["signal", "x", "TREM"],
        &["input", "x"],
        &["input", "x", "--key", "entre"],
        &["list", "--state", "dead"],
        &["prune", "--older-than", "3"],
        &["completions", "cmd"],
    ] {
        let seen = legwork(words.iter().copied()).seen();
        assert_eq!(seen.code, Some(1), "{words:?}: {seen:?}");
        assert_eq!(seen.stdout, "", "{words:?}");
    }
}

#[test]
fn a_person_is_told_in_words_and_an_agent_in_json() {
    let person = legwork(["run", "--deadline", "soon", "--", "true"]).seen();
    assert!(person.stderr.starts_with("Error: "), "{person:?}");
    assert!(person.stderr.contains("30s"), "a good one is shown: {person:?}");
    let agent = legwork(["run", "--output", "json", "--deadline", "soon", "--", "true"]).seen();
    assert_eq!(
        (agent.error()["code"].as_i64(), agent.error()["field"].as_str()),
        (Some(125), Some("deadline"))
    );
    let agent = legwork(["signal", "x", "TREM"]).seen();
    assert!(agent.error()["message"].as_str().unwrap().contains("did you mean \"TERM\"?"));
}

/// A variable that an agent sets is inherited by every Makefile below it.
#[test]
fn an_agents_variable_alone_changes_nothing_of_run() {
    let seen = legwork(["run", "--", "echo", "x"]).env("CLAUDECODE", "1").seen();
    assert_eq!((seen.stdout.as_str(), seen.stderr.as_str(), seen.code), ("x\n", "", Some(0)));
    let seen = legwork(["run", "--bogus"]).env("CLAUDECODE", "1").seen();
    assert!(seen.stderr.starts_with("Error: "), "{seen:?}");
    assert_eq!(seen.code, Some(125));
    let seen = legwork(["wait"]).env("CLAUDECODE", "1").seen();
    assert_eq!(seen.error()["code"], 1);
}

#[test]
fn patience_in_front_of_a_person_says_what_to_use() {
    let seen = legwork(["run", "--timeout", "5s", "--", "true"]).seen();
    assert!(seen.stderr.contains("--deadline") && seen.stderr.contains("--output"), "{seen:?}");
}

#[test]
fn a_mistake_in_a_file_is_told_with_its_line() {
    let call = legwork(["run", "--", "true"]);
    fs::write(call.home().join(".legwork.toml"), "\ndeadlien = \"5s\"\n").unwrap();
    let file = call.home().join(".legwork.toml");
    let seen = call.seen();
    assert_eq!(seen.code, Some(125), "{seen:?}");
    assert!(seen.stderr.contains(&format!("{}:2: ", file.display())), "{seen:?}");
    assert!(seen.stderr.contains("deadlien"), "{seen:?}");
}

/// What may be lost for good is not done unasked, and nothing else asks.
#[test]
fn prune_and_stop_all_need_a_yes() {
    for words in [&["prune"][..], &["stop", "--all"]] {
        let seen = legwork(words.iter().copied()).seen();
        assert_eq!(seen.error()["error"], "confirmation_required", "{words:?}: {seen:?}");
        assert_eq!(seen.code, Some(1));
    }
    for words in
        [&["stop", "x"][..], &["signal", "x", "TERM"], &["start", "--agent", "--", "/no/x"]]
    {
        let seen = legwork(words.iter().copied()).seen();
        assert_ne!(seen.error()["error"], "confirmation_required", "{words:?}: {seen:?}");
    }
}

#[test]
fn what_needs_a_terminal_says_what_does_not() {
    let seen = legwork(["list", "--watch", "--output", "text"]).seen();
    if seen.stderr.contains("--watch draws on a terminal") {
        assert!(seen.stderr.contains("legwork wait"), "{seen:?}");
    }
    assert_ne!(seen.code, Some(0));
}

#[test]
fn what_only_a_job_can_have_is_refused_in_a_run_that_streams() {
    for option in ["--name=x", "--request-id=x", "--label=a=b", "--log-limit=1MiB"] {
        let seen = legwork(["run", option, "--", "true"]).seen();
        assert_eq!(seen.code, Some(125), "{option}: {}", seen.stderr);
        assert!(seen.stderr.contains("is for jobs"), "{option}: {}", seen.stderr);
    }
}
