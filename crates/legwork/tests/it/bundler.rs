//! Bundler in full, against the real `ruby` and `bundle`.
//!
//! Two projects with gems by path, so that nothing is downloaded: an outer one, whose Bundler
//! runs the tool, and an inner one, whose own bundle the tool wants to use.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use legwork::prelude::*;

use crate::forms::{Form, in_both_forms, place};

in_both_forms! {
    bundle_exec_uses_the_projects_own_gems,
    bundle_exec_sheds_an_outer_bundler,
    modes_agree_with_bundlers_own_answers,
    bundle_exec_outside_a_project_says_where_it_looked,
}

/// A project with one gem by path, whose constant holds `value`.
fn project(root: &Path, gem: &str, value: &str) {
    let write = |path: &str, text: String| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("Gemfile", format!("gem '{gem}', path: 'gems/{gem}'\n"));
    write(
        &format!("gems/{gem}/{gem}.gemspec"),
        format!(
            "Gem::Specification.new {{ |s| s.name = '{gem}'; s.version = '1.0'; s.summary = 'x'; s.authors = ['x']; s.files = ['lib/{gem}.rb'] }}\n"
        ),
    );
    write(
        &format!("gems/{gem}/lib/{gem}.rb"),
        format!("VALUE_OF_{} = '{value}'\n", gem.to_uppercase()),
    );
}

/// Runs in an environment without this test's own Cargo, with a home of its own.
fn scope(root: &Path) -> Scope {
    assert!(succeeds(["bundle", "--version"]), "install the Debian packages ruby and ruby-bundler");
    Scope::new().clean().in_dir(root).with_env([("HOME", root)])
}

const LIMIT: Duration = Duration::from_secs(120);

fn bundle_exec_uses_the_projects_own_gems(form: Form) {
    let (directory, _) = place("project");
    project(directory.path(), "inner", "found");
    let scope = scope(directory.path());
    let command =
        scope.bundle_exec(["ruby", "-e", "require 'inner'; puts VALUE_OF_INNER"]).timeout(LIMIT);
    let outcome = form.capture(&command).unwrap();
    assert_eq!(outcome.stdout_text(), "found\n", "{}", outcome.stderr_text());
    // Without Bundler the gem is not there.
    let bare = scope.command(["ruby", "-e", "require 'inner'"]).timeout(LIMIT);
    assert!(form.capture(&bare).unwrap().failed());
}

/// A host of the test kit, run by the outer project's Bundler.
fn under_bundler(form: Form, outer: &Path, name: &str, args: &[&Path]) -> serde_json::Value {
    let command = scope(outer)
        .bundle_exec([testkit::misbehave().as_os_str()])
        .args(["host", name, form.word()])
        .args(args)
        .env("BUNDLE_JOBS", "2")
        .env("RUBYOPT", "-W0");
    let outcome = command.timeout(LIMIT).capture().unwrap();
    serde_json::from_str(outcome.stdout_text().trim()).unwrap_or_else(|error| {
        panic!("{error}: {:?} {}", outcome.stdout_text(), outcome.stderr_text())
    })
}

fn bundle_exec_sheds_an_outer_bundler(form: Form) {
    let (directory, _) = place("projects");
    let [outer, inner] = ["outer", "inner"].map(|name| directory.path().join(name));
    project(&outer, "outer", "outer");
    project(&inner, "inner", "inner");
    let printed = under_bundler(form, &outer, "bundled", &[&inner]);
    assert_eq!(
        printed["plain"], false,
        "inside the outer bundle the inner gem is not there: {printed}"
    );
    assert_eq!(printed["bundled"], "inner\n", "{printed}");
}

fn modes_agree_with_bundlers_own_answers(form: Form) {
    let (directory, _) = place("projects");
    let outer = directory.path().join("outer");
    project(&outer, "outer", "outer");
    let printed = under_bundler(form, &outer, "modes", &[]);
    let vars = |value: &serde_json::Value| -> BTreeMap<String, String> {
        let mut vars: BTreeMap<String, String> = serde_json::from_value(value.clone()).unwrap();
        // Of the program that prints them, not of the mode.
        for own in ["_", "SHLVL", "PWD", "OLDPWD", "LEGWORK_RUN"] {
            vars.remove(own);
        }
        vars
    };
    let before = vars(&printed["inherit"]);
    assert!(before["RUBYOPT"].contains("bundler/setup"), "{before:?}");
    assert!(before.contains_key("BUNDLER_ORIG_PATH"), "{before:?}");
    for mode in ["original", "unbundled"] {
        assert_eq!(vars(&printed[mode]), vars(&printed["bundler"][mode]), "{mode}");
    }
    assert_eq!(vars(&printed["original"])["RUBYOPT"], "-W0");
    assert_eq!(
        vars(&printed["original"])["BUNDLE_JOBS"],
        "2",
        "a person's own setting is original"
    );
    assert!(!vars(&printed["unbundled"]).contains_key("BUNDLE_JOBS"));
    let clean = vars(&printed["clean"]);
    let ruby: Vec<&String> = clean
        .keys()
        .filter(|name| ["RUBY", "GEM_", "BUNDLE"].iter().any(|prefix| name.starts_with(prefix)))
        .collect();
    assert!(ruby.is_empty(), "{ruby:?}");
}

fn bundle_exec_outside_a_project_says_where_it_looked(form: Form) {
    let (directory, _) = place("empty");
    let root = directory.path().canonicalize().unwrap();
    let error = form.run(&Scope::new().in_dir(&root).bundle_exec(["rake"])).unwrap_err();
    assert_eq!(error.invalid_input().unwrap().field(), "workdir");
    assert!(error.to_string().contains(root.to_str().unwrap()), "{error}");
    assert!(error.to_string().contains("Gemfile"), "{error}");
}
