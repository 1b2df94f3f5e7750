//! A state directory on a disk that is full.
//!
//! The disk is a small tmpfs in a mount namespace of its own: each test runs itself again in there,
//! so that nothing is left mounted however it ends.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use legwork_job::{JobSpec, Place, Pruning, State};

use super::seen::{everyone, files, folders};
use crate::support::Jobs;

const INSIDE: &str = "LEGWORK_FAULTS_INSIDE";

/// Runs the rest of a test on a small disk. Whether this is the one inside.
fn on_a_small_disk(test: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let directory = tempfile::tempdir().unwrap();
    testkit::misbehave();
    let script = r#"mount -t tmpfs -o size=1m,mode=700 tmpfs "$TMPDIR" || exit 77; exec "$@""#;
    let status = Command::new("unshare")
        .args(["--mount", "sh", "-c", script, "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture", &format!("faults::full_disk::{test}")])
        .env("TMPDIR", directory.path())
        .env("TESTKIT_BUILT", "1")
        .env(INSIDE, "1")
        .status();
    match status.map(|status| status.code()) {
        Ok(Some(0)) => {}
        Ok(Some(77)) | Err(_) => eprintln!("skipped: nothing can be mounted here"),
        Ok(code) => panic!("the test inside ended with {code:?}"),
    }
    false
}

/// Takes all that is left on the disk.
fn fill(state: &Path) -> std::path::PathBuf {
    let path = state.join("ballast");
    let mut size = 1 << 20;
    let mut file = fs::File::create(&path).unwrap();
    while size > 0 {
        match std::io::Write::write_all(&mut file, &vec![b'x'; size]) {
            Ok(()) => {}
            Err(_) => size /= 2,
        }
    }
    path
}

#[test]
fn the_job_runs_to_its_end_and_what_was_lost_is_counted() {
    if !on_a_small_disk("the_job_runs_to_its_end_and_what_was_lost_is_counted") {
        return;
    }
    let jobs = Jobs::new();
    let program = testkit::misbehave().display();
    let other = jobs.shell("sleep 300");
    let mut spec = JobSpec::shell("echo begun; read go; echo more; exit 5");
    spec.stdin = legwork_job::Input::Open;
    let patient = jobs.start(&spec);
    jobs.printed(patient, "begun");
    let report = jobs.finish(&JobSpec::shell(format!("{program} flood 3000000; exit 3")));
    assert_eq!((report.state, report.exit_code), (Some(State::Ended), Some(3)));
    let (kept, lost) = (report.bytes.unwrap(), report.lost_bytes.unwrap());
    assert_eq!(kept + lost, 3_000_000);
    assert!(report.note.unwrap().contains("No space left"), "it is said");
    let piece = jobs.place.bytes(report.id.unwrap(), 0, 64 * 1000).unwrap();
    let line = b"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n";
    assert!(piece.bytes.chunks(64).all(|chunk| chunk == line));
    // The others live on, and what they print while there is no room is counted too.
    let writing = legwork_job::Writing { bytes: b"go\n".to_vec(), ..Default::default() };
    jobs.place.write(patient, &writing).unwrap();
    let ended = jobs.ended(patient);
    assert_eq!((ended.exit_code, ended.state), (Some(5), Some(State::Ended)));
    assert_eq!(ended.bytes.unwrap() + ended.lost_bytes.unwrap_or(0), 11);
    // With room again, all is well again.
    fs::remove_dir_all(jobs.folder(report.id.unwrap())).unwrap();
    assert!(jobs.read(other).running);
    assert_eq!(jobs.finish(&JobSpec::shell("echo again")).output.as_deref(), Some("again\n"));
}

#[test]
fn an_ending_is_on_record_without_a_free_byte() {
    if !on_a_small_disk("an_ending_is_on_record_without_a_free_byte") {
        return;
    }
    let jobs = Jobs::new();
    // Records just below and above a page: the ending must fit where the beginning was.
    let ids: Vec<_> = (0..18)
        .map(|step| {
            let mut spec = JobSpec::shell(format!("read go; exit 7 # {}", "x".repeat(step * 256)));
            spec.stdin = legwork_job::Input::Open;
            jobs.start(&spec)
        })
        .collect();
    let ballast = fill(&jobs.state());
    for id in &ids {
        let writing = legwork_job::Writing { bytes: b"go\n".to_vec(), ..Default::default() };
        jobs.place.write(*id, &writing).unwrap();
        let report = jobs.ended(*id);
        assert_eq!((report.state, report.exit_code), (Some(State::Ended), Some(7)), "{report:?}");
    }
    let page = jobs.place.list(&legwork_job::Filter::default()).unwrap();
    assert_eq!((page.total, page.unreadable.len()), (18, 0), "{:?}", page.unreadable);
    fs::remove_file(ballast).unwrap();
}

#[test]
fn a_supervisor_that_is_lost_on_a_full_disk_is_said_too() {
    if !on_a_small_disk("a_supervisor_that_is_lost_on_a_full_disk_is_said_too") {
        return;
    }
    let jobs = Jobs::new();
    let id = jobs.shell("echo begun; sleep 300");
    let pid = jobs.printed(id, "begun").processes[0].pid;
    let ballast = fill(&jobs.state());
    drop(testkit::Victim(crate::support::supervisor(&jobs.folder(id))));
    assert_eq!(jobs.ended(id).state, Some(State::Lost));
    assert!(!testkit::is_alive(pid));
    assert_eq!(jobs.again().list(&Default::default()).unwrap().jobs[0].state, Some(State::Lost));
    fs::remove_file(ballast).unwrap();
}

#[test]
fn a_start_on_a_full_disk_is_an_error_that_leaves_nothing() {
    if !on_a_small_disk("a_start_on_a_full_disk_is_an_error_that_leaves_nothing") {
        return;
    }
    for with_salt in [false, true] {
        let jobs = Jobs::new();
        if with_salt {
            jobs.finish(&JobSpec::shell("echo before"));
            let all = Pruning { keep: Some(0), ..Pruning::default() };
            testkit::wait_until("an empty place", || {
                jobs.place.prune(&all).unwrap();
                files(&jobs.state()).is_empty()
            });
        }
        let ballast = fill(&jobs.state());
        let full = fs::metadata(&ballast).unwrap().len();
        let mut spec = JobSpec::shell("touch ran; sleep 300");
        spec.name = Some("web".into());
        spec.request_id = Some("once".into());
        spec.workdir = Some(jobs.state());
        let mut refused = 0;
        // From no room at all up to enough for a job, one block after another: wherever the birth
        // stops, all that was made before goes.
        for blocks in 0.. {
            let length = full.saturating_sub(blocks * 4096);
            fs::File::options().write(true).open(&ballast).unwrap().set_len(length).unwrap();
            let error = match jobs.place.start(&spec) {
                Ok(started) => {
                    assert!(jobs.read(started.id).running, "name and request are free");
                    jobs.place.stop(started.id, Some(Duration::ZERO)).unwrap();
                    break;
                }
                Err(error) => error.to_string(),
            };
            assert!(error.contains("No space left"), "{error}");
            testkit::wait_until("its supervisor to go", || everyone(&jobs.state()).is_empty());
            assert_eq!(files(&jobs.state()), std::slice::from_ref(&ballast), "{blocks} blocks");
            assert_eq!(folders(&jobs.state()).len(), 0);
            refused += 1;
        }
        assert!(refused > 0);
        fs::remove_file(ballast).unwrap();
    }
}
