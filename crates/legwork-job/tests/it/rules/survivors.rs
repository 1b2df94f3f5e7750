//! A command that ended and left processes behind.

use legwork::Survivors;
use legwork_job::{JobSpec, Place, Pruning, State};

use crate::support::{Jobs, supervisor};

fn daemon(jobs: &Jobs, options: &[&str]) -> (JobSpec, std::path::PathBuf) {
    let file = jobs.state().join("pid");
    let program = testkit::misbehave().to_str().unwrap();
    let words = [program, "daemon", file.to_str().unwrap()];
    (JobSpec::argv(words.iter().chain(options)), file)
}

#[test]
fn the_answer_comes_at_once_and_the_supervisor_stays_with_them() {
    let jobs = Jobs::new();
    let (spec, file) = daemon(&jobs, &["hold"]);
    let report = jobs.finish(&spec);
    let id = report.id.unwrap();
    let pid = testkit::pid_in(&file);
    assert_eq!((report.state, report.exit_code), (Some(State::Ended), Some(0)));
    assert_eq!(report.survivors[0].pid, pid);
    let folder = jobs.folder(id);
    let supervisor = supervisor(&folder);
    assert!(testkit::is_alive(supervisor));

    // What they print is kept.
    let before = report.bytes.unwrap();
    testkit::wait_until("the log to grow", || jobs.read(id).bytes.unwrap() > before + 5000);
    assert!(!jobs.read(id).running);
    let all = Pruning { keep: Some(0), ..Pruning::default() };
    assert_eq!(jobs.place.prune(&all).unwrap().jobs, [], "it is still looked after");

    drop(testkit::Victim(pid));
    testkit::wait_until("the supervisor to go", || !testkit::is_alive(supervisor));
    assert!(!folder.join("socket").exists());
    let report = jobs.read(id);
    assert_eq!((report.survivors.len(), report.exit_code), (0, Some(0)));
    assert_eq!(report.state, Some(State::Ended));
}

#[test]
fn they_can_be_ended_with_it() {
    let jobs = Jobs::new();
    let (mut spec, file) = daemon(&jobs, &[]);
    spec.survivors = Survivors::End;
    spec.kill_grace = Some(std::time::Duration::from_millis(50));
    let report = jobs.finish(&spec);
    assert!(!testkit::is_alive(testkit::pid_in(&file)));
    assert_eq!((report.exit_code, report.survivors.len()), (Some(0), 0));
}

#[test]
fn without_any_the_supervisor_goes() {
    let jobs = Jobs::new();
    let id = jobs.finish(&JobSpec::shell("true")).id.unwrap();
    let folder = jobs.folder(id);
    let supervisor = supervisor(&folder);
    testkit::wait_until("the supervisor to go", || !testkit::is_alive(supervisor));
    assert!(!folder.join("socket").exists());
}
