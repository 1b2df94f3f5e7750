//! A state directory that is not the user's alone is refused, with the repair; and nobody else
//! sees the jobs.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use legwork_job::StateDir;

use crate::support::Jobs;

const STRANGER: u32 = 12345;

fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        eprintln!("skipped: only root can give a directory to another user");
    }
    root
}

fn refusal(path: &Path) -> String {
    StateDir::at(path).map(drop).unwrap_err().to_string()
}

/// A state directory with a job in it that has ended.
fn used() -> (Jobs, std::path::PathBuf) {
    let jobs = Jobs::new();
    jobs.finish(&legwork_job::JobSpec::shell("echo mine"));
    let state = jobs.state();
    (jobs, state)
}

#[test]
fn one_that_is_open_to_others_is_refused_with_the_repair() {
    let (_jobs, state) = used();
    for mode in [0o777, 0o755, 0o701, 0o1777] {
        fs::set_permissions(&state, PermissionsExt::from_mode(mode)).unwrap();
        let refusal = refusal(&state);
        assert!(refusal.contains(&format!("chmod 700 {}", state.display())), "{refusal}");
    }
    fs::set_permissions(&state, PermissionsExt::from_mode(0o700)).unwrap();
    StateDir::at(&state).unwrap();
}

#[test]
fn a_symbolic_link_is_refused_and_its_end_is_told() {
    let (_jobs, state) = used();
    let link = state.with_file_name("link");
    symlink(&state, &link).unwrap();
    let refusal = refusal(&link);
    assert!(refusal.contains(state.to_str().unwrap()), "{refusal}");
    StateDir::at(&state).unwrap();
}

#[test]
fn one_of_another_user_is_refused_with_the_repair() {
    if !is_root() {
        return;
    }
    let (_jobs, state) = used();
    chown(&state, Some(STRANGER), None).unwrap();
    let refusal = refusal(&state);
    assert!(refusal.contains(&format!("chown -R 0 {}", state.display())), "{refusal}");
    chown(&state, Some(0), None).unwrap();
    StateDir::at(&state).unwrap();
}

#[test]
fn a_second_user_sees_no_job() {
    if !is_root() {
        return;
    }
    let (_jobs, state) = used();
    // Where the program lies may be closed to strangers.
    let open = tempfile::tempdir().unwrap();
    fs::set_permissions(open.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let program = open.path().join("misbehave");
    fs::copy(testkit::misbehave(), &program).unwrap();
    let list = |uid: u32| {
        let mut command = Command::new(&program);
        command.args(["jobs", "list"]).arg(&state).uid(uid).gid(uid).current_dir("/");
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    assert_eq!(list(0), "1 jobs\n");
    fs::set_permissions(state.parent().unwrap(), PermissionsExt::from_mode(0o700)).unwrap();
    // The way there is closed, and so is the directory itself.
    let closed = list(STRANGER);
    assert!(closed.contains("Permission denied"), "{closed}");
    fs::set_permissions(state.parent().unwrap(), PermissionsExt::from_mode(0o755)).unwrap();
    let refused = list(STRANGER);
    assert!(
        refused.contains(state.to_str().unwrap()) && refused.contains("user 12345"),
        "{refused}"
    );
    for file in ["record", "log", "index"] {
        let file = super::seen::files(&state).into_iter().find(|path| path.ends_with(file));
        let mut read = Command::new("cat");
        read.arg(file.unwrap()).uid(STRANGER).gid(STRANGER).current_dir("/");
        let read = read.output().unwrap();
        assert!(!read.status.success() && read.stdout.is_empty());
    }
}
