//! The context, handed down, and what it changes.

use std::time::Duration;

use legwork::prelude::*;

use crate::forms::{Form, in_both_forms, misbehave};

in_both_forms! {
    it_is_handed_down_with_any_prefix,
    opting_out_leaves_none_of_it,
    verbose_prints_the_command_before_it_runs,
    quiet_holds_stdout_back_unless_it_fails,
    otherwise_output_streams,
}

const NAMES: [&str; 4] = ["CALL_TREE", "AGENT_MODE", "ENV", "CI"];

fn it_is_handed_down_with_any_prefix(form: Form) {
    for prefix in ["LEGWORK", "DX"] {
        let context = Context::detect_as(prefix)
            .agent(true)
            .ci(true)
            .environment("test")
            .enter("a")
            .enter("b");
        let scope = Scope::new().context(context);
        let outcome = form.capture(&scope.command(["env"])).unwrap();
        let text = outcome.stdout_text();
        for (name, value) in NAMES.iter().zip(["a:b", "1", "test", "1"]) {
            let line = format!("{prefix}_{name}={value}");
            assert!(text.lines().any(|l| l.ends_with(&line)), "{line}: {text}");
        }
    }
}

fn opting_out_leaves_none_of_it(form: Form) {
    // The host has all four in its own environment, and knows that it is in CI besides.
    let vars: Vec<(String, &str)> =
        NAMES.iter().map(|name| (format!("LEGWORK_{name}"), "1")).collect();
    let host = misbehave(["host", "context", form.word()]).envs(vars).env("CI", "true");
    let printed = host.timeout(Duration::from_secs(60)).capture().unwrap();
    let text: String = serde_json::from_str(&printed.stdout_text()).unwrap();
    for name in NAMES {
        let start = format!("LEGWORK_{name}=");
        assert!(!text.lines().any(|line| line.starts_with(&start)), "{start} in {text}");
    }
    // What a caller sets itself has the last word, with and without the context.
    for propagate in [true, false] {
        let command = shell("echo $LEGWORK_ENV").env("LEGWORK_ENV", "mine");
        let outcome = form.capture(&command.propagate_context(propagate)).unwrap();
        assert_eq!(outcome.stdout_text(), "mine\n");
    }
}

/// What a host prints that runs a command which prints `out` and `err` and exits with `code`.
fn speak(form: Form, variable: &str, code: &str) -> (String, String) {
    let host = misbehave(["host", "speak", form.word(), code]).env(variable, "1");
    let outcome = host.timeout(Duration::from_secs(60)).capture().unwrap();
    (outcome.stdout_text().into_owned(), outcome.stderr_text().into_owned())
}

fn verbose_prints_the_command_before_it_runs(form: Form) {
    let (stdout, stderr) = speak(form, "LEGWORK_VERBOSE", "0");
    assert_eq!(stdout, "out\ntrue\n");
    assert_eq!(stderr, "$ sh -c 'echo out; echo err >&2; exit 0'\nerr\n");
}

fn quiet_holds_stdout_back_unless_it_fails(form: Form) {
    let (stdout, stderr) = speak(form, "LEGWORK_QUIET", "0");
    assert_eq!((&*stdout, &*stderr), ("true\n", "err\n"));
    let (stdout, stderr) = speak(form, "LEGWORK_QUIET", "3");
    assert_eq!((&*stdout, &*stderr), ("out\nfalse\n", "err\n"));
}

fn otherwise_output_streams(form: Form) {
    for variable in ["LEGWORK_AGENT_MODE", "LEGWORK_CI", "LEGWORK_NOTHING"] {
        let (stdout, stderr) = speak(form, variable, "0");
        assert_eq!((&*stdout, &*stderr), ("out\ntrue\n", "err\n"), "{variable}");
    }
}
