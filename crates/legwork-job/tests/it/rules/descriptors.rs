//! What a caller does not hand on, and what it is not left with.

use std::process::Command;

use legwork_job::{JobSpec, Place};
use testkit::Holdings;

use crate::support::{Jobs, supervisor};

#[test]
fn the_supervisor_has_none_of_the_callers_files() {
    let jobs = Jobs::new();
    // As in `id=$(program)`: this returns when nobody has the pipes any more.
    let script = r#"exec 7<&0 8>&2 9>&1; exec "$0" start-job "$1" 'exec sleep 300'"#;
    let output = Command::new("sh")
        .args(["-c", script])
        .args([testkit::misbehave(), &jobs.state()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let id = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
    assert!(jobs.read(id).running);

    let pid = supervisor(&jobs.folder(id));
    let files = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
    let links: Vec<String> = files
        .filter_map(|file| Some(std::fs::read_link(file.path()).ok()?.display().to_string()))
        .collect();
    let standard = links.iter().filter(|link| *link == "/dev/null").count();
    assert!(standard >= 3, "{links:?}");
    assert!(links.len() < 16, "{links:?}");
}

#[test]
fn it_has_a_session_of_its_own_and_is_nobodys_child() {
    let jobs = Jobs::new();
    let id = jobs.shell("exec sleep 300");
    let pid = supervisor(&jobs.folder(id));
    let of = |pid| rustix::process::Pid::from_raw(pid as i32);
    let session = rustix::process::getsid(of(pid)).unwrap();
    assert_eq!(Some(session), of(pid));
    let leader = jobs.read(id).processes[0].pid;
    assert_eq!(Some(rustix::process::getsid(of(leader)).unwrap()), of(leader));
    assert_eq!(Holdings::now().children, 0);
}

#[test]
fn the_job_has_only_its_own_three() {
    let jobs = Jobs::new();
    let program = testkit::misbehave().to_str().unwrap();
    let report = jobs.finish(&JobSpec::argv([program, "descriptors"]));
    assert_eq!(report.output.as_deref(), Some("0 1 2\n"));
}

#[test]
fn after_many_jobs_the_caller_has_no_children_and_no_more_files() {
    let jobs = Jobs::new();
    jobs.finish(&JobSpec::shell("true"));
    let before = Holdings::now();
    for n in 0..20 {
        let id = jobs.shell("sleep 300");
        jobs.read(id);
        assert_eq!(jobs.finish(&JobSpec::shell(format!("exit {n}"))).exit_code, Some(n));
        jobs.place.stop(id, None).unwrap();
        jobs.place.start(&JobSpec::argv(["no-such-program-at-all"])).unwrap_err();
    }
    testkit::wait_until("no children", || Holdings::now().children == 0);
    testkit::wait_until("no more files", || Holdings::now().descriptors <= before.descriptors);
}

#[test]
fn signals_are_as_in_a_fresh_program() {
    let jobs = Jobs::new();
    let argv = ["grep", "-E", "Sig(Blk|Ign)", "/proc/self/status"];
    let output = jobs.finish(&JobSpec::argv(argv)).output.unwrap();
    assert_eq!(output.lines().count(), 2, "{output}");
    for row in output.lines() {
        let mask = row.split_whitespace().last().unwrap();
        assert_eq!(u64::from_str_radix(mask, 16), Ok(0), "{output}");
    }
}
