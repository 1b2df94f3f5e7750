//! Bad input: an error that names the field, never a panic, and nothing is started.

use std::time::Duration;

use legwork::prelude::*;
use serde_json::json;

use crate::forms::{Form, in_both_forms, ms, place};

in_both_forms! { each_is_refused_by_name, an_unreadable_directory, data_runs_as_it_says }

fn each_is_refused_by_name(form: Form) {
    let nothing: [&str; 0] = [];
    let (_directory, file) = place("file");
    let touch = || cmd(["touch".as_ref(), file.as_os_str()]);
    let cases = [
        (cmd(nothing), "argv"),
        (cmd([""]), "argv"),
        (cmd(["echo", "a\0b"]), "argv"),
        (shell("echo \0"), "argv"),
        (touch().timeout(Duration::ZERO), "timeout"),
        (touch().timeout(Duration::MAX), "timeout"),
        (touch().idle_timeout(Duration::ZERO), "idle_timeout"),
        (touch().idle_timeout(Duration::from_secs(u64::MAX)), "idle_timeout"),
        (touch().kill_grace(Duration::MAX), "kill_grace"),
        (touch().env("A=B", "x"), "env"),
        (touch().env("", "x"), "env"),
        (touch().env("A", "x\0"), "env"),
        (touch().nice(20), "nice"),
        (touch().oom_score_adj(-1001), "oom_score_adj"),
        (touch().pty(0, 0), "pty"),
        (touch().shell_program("sh"), "shell"),
    ];
    for (command, field) in cases {
        let error = form.capture(&command).unwrap_err();
        assert_eq!(error.invalid_input().unwrap().field(), field, "{error}");
        assert_eq!(error.ending().number(), 125);
        assert!(error.to_string().contains(field), "{error}");
        assert!(form.run(&command).is_err());
        assert!(!form.succeeds(&command));
        assert!(form.spawn(&command).is_err());
    }
    assert_eq!(
        form.capture(&cmd(["cat"]).stdin(Stdin::Piped))
            .unwrap_err()
            .invalid_input()
            .unwrap()
            .field(),
        "stdin"
    );
    assert!(!file.exists(), "nothing was started");
}

fn an_unreadable_directory(form: Form) {
    // As root every directory can be entered; another user is asked for.
    let (directory, closed) = place("closed");
    std::fs::create_dir(&closed).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o000);
    std::fs::set_permissions(&closed, mode).unwrap();
    let result = form.capture(&cmd(["pwd"]).workdir(&closed));
    match result {
        Ok(outcome) => assert!(rustix::process::geteuid().is_root() && outcome.success()),
        Err(error) => {
            assert_eq!(error.ending().number(), 125);
            assert!(error.to_string().contains("closed"), "{error}");
        }
    }
    drop(directory);
}

fn data_runs_as_it_says(form: Form) {
    let run = |fields| form.capture(&Command::from_json(&fields).unwrap()).unwrap();
    let outcome = run(json!({"command": "printf", "argv": ["%s|", "a b", 1, true], "cwd": "/"}));
    assert_eq!(outcome.stdout_text(), "a b|1|true|");
    let outcome = run(json!({"command": "env", "env": "{\"A\": \"1\"}", "clear_env": true}));
    let text = outcome.stdout_text();
    // The caller's PATH served for the look-up alone.
    assert!(text.lines().any(|line| line == "A=1") && !text.contains("PATH="), "{text}");
    let outcome = run(json!({"command": "sleep", "argv": "300", "timeout": "50"}));
    assert!(outcome.timed_out());
    assert_eq!(outcome.ending.number(), 124);
    let path = json!({"command": "no-such-thing"});
    let error = form.capture(&Command::from_json(&path).unwrap()).unwrap_err();
    assert_eq!(error.ending().number(), 127);
    let absurd = Command::from_json(&json!({"command": "true", "timeout": u64::MAX})).unwrap();
    assert_eq!(form.capture(&absurd).unwrap_err().invalid_input().unwrap().field(), "timeout");
    let zero = Command::from_json(&json!({"command": "true", "timeout": 0})).unwrap();
    assert_eq!(form.capture(&zero).unwrap_err().invalid_input().unwrap().field(), "timeout");
    assert!(form.succeeds(&cmd(["true"]).timeout(ms(60_000))));
}
