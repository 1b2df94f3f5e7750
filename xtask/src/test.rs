//! The one test command: installs, checks format, lints and docs, runs all tests, counts leftovers.

use std::time::Instant;

use legwork::prelude::*;

use crate::leftovers;

/// One step: what it is called, and what it does.
type Step<'a> = (&'a str, Box<dyn Fn() -> Result<(), String> + 'a>);

pub(crate) fn run() -> Result<(), String> {
    let scope = crate::workspace()?;
    let suite = format!("{}", std::process::id());
    let tested = scope.with_env([(leftovers::MARK, suite.as_str()), ("TESTKIT_BUILT", "1")]);
    let docs = scope.with_env([("RUSTDOCFLAGS", "-D warnings")]);
    let all = ["--workspace", "--all-features"];

    let mut steps: Vec<Step<'_>> = vec![
        ("what the tests need", Box::new(crate::install::missing_packages)),
        ("format", Box::new(|| sh(&scope, &["cargo", "fmt", "--all", "--check"], &[]))),
        (
            "lints",
            Box::new(|| {
                let rest = ["--all-targets", "--quiet", "--", "-D", "warnings"];
                sh(&scope, &["cargo", "clippy"], &[&all[..], &rest].concat())
            }),
        ),
        ("documentation", Box::new(|| sh(&docs, &["cargo", "doc", "--no-deps", "--quiet"], &all))),
        (
            "test programs",
            Box::new(|| sh(&scope, &["cargo", "build", "--quiet", "--package", "testkit"], &[])),
        ),
    ];
    // Each test in a process of its own where nextest is there; both ways pass.
    let runner: &[&str] = if scope.succeeds(["cargo", "nextest", "--version"]) {
        &["cargo", "nextest", "run"]
    } else {
        &["cargo", "test", "--lib", "--bins", "--tests", "--examples"]
    };
    steps.push(("tests", Box::new(|| sh(&tested, runner, &all))));
    steps.push((
        "examples in the documentation",
        Box::new(|| sh(&tested, &["cargo", "test", "--doc", "--quiet"], &all)),
    ));
    steps.push(("nothing left behind", Box::new(|| leftovers::check(&suite))));

    let count = steps.len();
    for (index, (name, step)) in steps.iter().enumerate() {
        let start = Instant::now();
        eprintln!("[{}/{count}] {name}", index + 1);
        step().map_err(|problem| format!("{name}: {problem}"))?;
        eprintln!("[{}/{count}] {name}: good ({:.1} s)", index + 1, start.elapsed().as_secs_f64());
    }
    Ok(())
}

fn sh(scope: &Scope, argv: &[&str], rest: &[&str]) -> Result<(), String> {
    let command = scope.command(argv.iter().chain(rest).copied());
    command.run().map(drop).map_err(|error| error.to_string())
}
