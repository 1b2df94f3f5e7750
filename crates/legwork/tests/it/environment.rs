//! Environment and place: modes, look-up, scopes that do not disturb each other.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use legwork::prelude::*;

use crate::forms::{Form, in_both_forms, place};

in_both_forms! {
    the_commands_own_path_is_searched,
    a_path_with_a_slash_is_taken_from_the_workdir,
    clean_removes_what_cargo_set,
    empty_is_empty,
    login_asks_the_login_shell,
    scopes_do_not_disturb_each_other,
    a_project_is_found_and_left_alone,
}

fn tool(path: &Path, prints: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("#!/bin/sh\necho {prints}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn the_commands_own_path_is_searched(form: Form) {
    let (directory, _) = place("bin");
    tool(&directory.path().join("one/tool"), "one");
    tool(&directory.path().join("two/tool"), "two");
    let path = format!(":{0}/one::{0}/two:/bin:/usr/bin", directory.path().display());
    let command = cmd(["tool"]).env("PATH", &path);
    assert_eq!(form.capture(&command).unwrap().stdout_text(), "one\n");
    // A relative element is taken from the workdir; an empty one is skipped, not the workdir.
    let relative = cmd(["tool"]).env("PATH", "two:/bin").workdir(directory.path());
    assert_eq!(form.capture(&relative).unwrap().stdout_text(), "two\n");
    let empty = cmd(["tool"]).env("PATH", ":").workdir(directory.path().join("one"));
    assert_eq!(form.capture(&empty).unwrap_err().ending().number(), 127);
    let without = cmd(["echo", "x"]).env_mode(EnvMode::Empty);
    assert_eq!(form.capture(&without).unwrap().stdout_text(), "x\n");
}

fn a_path_with_a_slash_is_taken_from_the_workdir(form: Form) {
    let (directory, _) = place("bin");
    tool(&directory.path().join("sub/tool"), "sub");
    let command = cmd(["./tool"]).workdir(directory.path().join("sub"));
    assert_eq!(form.capture(&command).unwrap().stdout_text(), "sub\n");
    let command = cmd(["sub/tool"]).workdir(directory.path());
    assert_eq!(form.capture(&command).unwrap().stdout_text(), "sub\n");
}

fn clean_removes_what_cargo_set(form: Form) {
    // This test is run by Cargo, so its environment is as polluted as that of any `cargo run`.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    for mode in [EnvMode::Clean, EnvMode::Original] {
        let outcome = form.capture(&cmd(["env"]).env_mode(mode)).unwrap();
        let text = outcome.stdout_text();
        assert!(!text.contains("CARGO_MANIFEST_DIR=") && !text.contains("CARGO_PKG_"), "{text}");
        assert!(text.contains("PATH="), "{text}");
    }
    let outcome = form.capture(&cmd(["env"])).unwrap();
    assert!(outcome.stdout_text().contains("CARGO_MANIFEST_DIR="), "no magic: only when asked");
}

fn empty_is_empty(form: Form) {
    let command = cmd(["env"]).env_mode(EnvMode::Empty).containment(Containment::Group);
    let outcome = form.capture(&command.propagate_context(false)).unwrap();
    assert_eq!(outcome.stdout_text(), "");
}

fn login_asks_the_login_shell(form: Form) {
    let (directory, _) = place("home");
    // A login shell of our own: prints noise, as profile scripts do, then answers.
    let shell = directory.path().join("shell");
    fs::write(&shell, "#!/bin/sh\necho noise A=1\nexport FROM_LOGIN=yes\nexec /bin/sh -c \"$3\"\n")
        .unwrap();
    fs::set_permissions(&shell, fs::Permissions::from_mode(0o755)).unwrap();
    // The answer is cached for a process, so a process of its own asks.
    let host = crate::forms::misbehave(["host", "login", form.word()]).env("SHELL", &shell);
    let outcome = host.env("NOT_FROM_LOGIN", "1").capture().unwrap();
    let printed: serde_json::Value = serde_json::from_str(&outcome.stdout_text()).unwrap();
    let text = printed["env"].as_str().unwrap();
    assert!(text.lines().any(|line| line == "FROM_LOGIN=yes"), "{text}");
    assert!(!text.contains("NOT_FROM_LOGIN") && !text.contains("noise"), "{text}");
    let differs = printed["differs"].as_array().unwrap();
    assert!(differs.contains(&"FROM_LOGIN".into()) && differs.contains(&"NOT_FROM_LOGIN".into()));
    // One that hangs, fails or says nothing is an error, not an empty environment.
    fs::write(&shell, "#!/bin/sh\nexit 3\n").unwrap();
    let host = crate::forms::misbehave(["host", "login", form.word()]).env("SHELL", &shell);
    let printed = host.capture().unwrap().stdout_text().into_owned();
    assert!(printed.contains("env_mode") && printed.contains("exit 3"), "{printed}");
}

fn scopes_do_not_disturb_each_other(form: Form) {
    let before = std::env::current_dir().unwrap();
    let scopes = ["/", "/usr", "/tmp", "/proc"]
        .map(|dir| (dir, Scope::new().in_dir(dir).with_env([("WHERE", dir)])));
    std::thread::scope(|threads| {
        for (dir, scope) in &scopes {
            threads.spawn(move || {
                for _ in 0..20 {
                    let outcome = form.capture(&scope.shell("pwd; echo $WHERE")).unwrap();
                    assert_eq!(outcome.stdout_text(), format!("{dir}\n{dir}\n"));
                }
            });
        }
    });
    assert_eq!(std::env::current_dir().unwrap(), before);
    assert!(std::env::var_os("WHERE").is_none());
}

fn a_project_is_found_and_left_alone(form: Form) {
    let (directory, _) = place("project");
    let root = directory.path().canonicalize().unwrap();
    fs::write(root.join(".legwork.toml"), "").unwrap();
    fs::create_dir_all(root.join("a/b")).unwrap();
    let project = Project::find_from(root.join("a/b")).unwrap();
    let here = form.capture(&project.scope().command(["pwd"])).unwrap();
    assert_eq!(here.stdout_text().trim_end(), root.to_str().unwrap());
    let below = form.capture(&project.scope().in_dir("a").command(["pwd"]).workdir("b")).unwrap();
    assert_eq!(below.stdout_text().trim_end(), root.join("a/b").to_str().unwrap());
    assert!(project.scope().ensure_project_root().is_ok());
    let error = project.scope().in_dir("a").ensure_project_root().unwrap_err();
    assert!(error.to_string().contains(root.to_str().unwrap()), "{error}");
}
