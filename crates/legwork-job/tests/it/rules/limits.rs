//! Limits of the kernel, and who goes first when memory runs out.

use legwork::Limits;
use legwork_job::JobSpec;

use crate::support::{Jobs, supervisor};

#[test]
fn the_kernel_enforces_them() {
    let jobs = Jobs::new();
    let mut spec = JobSpec::argv(["cat", "/proc/self/limits"]);
    spec.limits = Limits {
        open_files: Some(64),
        core: Some(0),
        file_size: Some(512 * 1024),
        ..Limits::default()
    };
    let output = jobs.finish(&spec).output.unwrap();
    for (name, limit) in
        [("Max open files", "64"), ("Max core file size", "0"), ("Max file size", "524288")]
    {
        let row = output.lines().find_map(|row| row.strip_prefix(name)).unwrap();
        assert_eq!(row.split_whitespace().next(), Some(limit), "{name}");
    }
}

#[test]
fn one_that_prints_is_not_ended_by_its_limit_on_files() {
    // Its log is its supervisor's, not its own.
    let jobs = Jobs::new();
    let mut spec = JobSpec::shell("head -c 100000 /dev/zero; echo end");
    spec.limits = Limits { file_size: Some(1), ..Limits::default() };
    let report = jobs.finish(&spec);
    assert_eq!((report.exit_code, report.bytes), (Some(0), Some(100_004)));
}

#[test]
fn one_can_be_nice() {
    let jobs = Jobs::new();
    let mut spec = JobSpec::argv(["nice"]);
    spec.nice = Some(17);
    assert_eq!(jobs.finish(&spec).output.as_deref(), Some("17\n"));
}

fn score(pid: &str) -> i32 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/oom_score_adj")).unwrap();
    text.trim().parse().unwrap()
}

#[test]
fn a_job_is_killed_for_memory_before_its_supervisor_and_that_before_the_caller() {
    let jobs = Jobs::new();
    let id = jobs.shell("cat /proc/self/oom_score_adj; echo; sleep 300");
    let job: i32 = jobs.printed(id, "\n\n").output.unwrap().trim().parse().unwrap();
    let supervisor = score(&supervisor(&jobs.folder(id)).to_string());
    assert!(job > supervisor, "{job} {supervisor}");
    assert!(supervisor >= score("self"), "{supervisor}");
}

#[test]
fn how_gladly_can_be_said() {
    let jobs = Jobs::new();
    let mut spec = JobSpec::argv(["cat", "/proc/self/oom_score_adj"]);
    spec.oom_score_adj = Some(900);
    assert_eq!(jobs.finish(&spec).output.as_deref(), Some("900\n"));
}
