//! Records of another boot, another machine, another pid namespace: nothing is signalled for them.

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use legwork::Cause;
use legwork_job::{Filter, JobError, JobId, Place, Pruning, State};

use crate::support::{Jobs, supervisor};

/// A job that was running when its supervisor, and the machine with it, went; and a process that
/// now has everything by which a process of that job would be recognised.
fn relic(jobs: &Jobs, change: impl Fn(&mut serde_json::Value)) -> (JobId, testkit::Victim) {
    let id = jobs.shell("echo before; sleep 300");
    let leader = jobs.printed(id, "before").processes[0].pid;
    let supervisor = supervisor(&jobs.folder(id));
    drop(testkit::Victim(supervisor));
    drop(testkit::Victim(leader));
    testkit::wait_until("their end", || {
        !testkit::is_alive(supervisor) && !testkit::is_alive(leader)
    });
    let record = jobs.folder(id).join("record");
    let mut value: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&record).unwrap()).unwrap();
    change(&mut value["identity"]);
    std::fs::write(&record, value.to_string()).unwrap();
    let other = Command::new("sleep")
        .arg("300")
        .env("LEGWORK_RUN", format!("job-{id}"))
        .process_group(0)
        .spawn()
        .unwrap()
        .id();
    let stat = std::fs::read_to_string(format!("/proc/{other}/stat")).unwrap();
    let start: u64 = stat.rsplit(") ").next().unwrap().split(' ').nth(19).unwrap().parse().unwrap();
    let lock = serde_json::json!({"supervisor": other, "leader": other, "leader_start": start});
    std::fs::write(jobs.folder(id).join("lock"), lock.to_string()).unwrap();
    (id, testkit::Victim(other))
}

#[test]
fn the_fixture_would_be_ended_if_it_were_of_here_and_now() {
    let jobs = Jobs::new();
    let (id, other) = relic(&jobs, |_| ());
    assert_eq!(jobs.read(id).state, Some(State::Lost));
    testkit::wait_until("the end of what was left", || !testkit::is_alive(other.0));
}

#[test]
fn after_a_restart_it_is_said_and_nobody_is_signalled() {
    let jobs = Jobs::new();
    let (id, other) = relic(&jobs, |identity| identity["boot_id"] = "another boot".into());
    let report = jobs.read(id);
    assert_eq!(report.state, Some(State::Ended));
    assert_eq!(report.ending.unwrap().cause(), &Cause::MachineRestarted);
    assert_eq!((report.output.as_deref(), report.exit_code), (Some("before\n"), None));
    assert!(report.error.unwrap().contains("start it again"));
    assert!(matches!(jobs.place.stop(id, None), Err(JobError::NothingLeft { .. })));
    assert!(testkit::is_alive(other.0));
    // When it was found does not move, or it would never be old enough to be removed.
    std::thread::sleep(Duration::from_millis(5));
    assert_eq!(jobs.read(id).ended_at, report.ended_at);
    let pruning = Pruning { older_than: Some(Duration::ZERO), ..Pruning::default() };
    assert_eq!(jobs.place.prune(&pruning).unwrap().jobs, [id]);
    assert!(testkit::is_alive(other.0));
}

fn never_touched(change: impl Fn(&mut serde_json::Value)) {
    let jobs = Jobs::new();
    let (id, other) = relic(&jobs, change);
    let before = std::fs::read(jobs.folder(id).join("record")).unwrap();
    let report = jobs.read(id);
    assert_eq!((report.state, report.running), (Some(State::Elsewhere), false));
    assert_eq!((report.ending, report.success), (None, None));
    assert_eq!(report.output.as_deref(), Some("before\n"));
    assert!(matches!(jobs.place.stop(id, None), Err(JobError::NothingLeft { .. })));
    let all = Pruning { keep: Some(0), older_than: Some(Duration::ZERO), ..Pruning::default() };
    assert_eq!(jobs.place.prune(&all).unwrap().jobs, []);
    assert_eq!(jobs.place.list(&Filter::default()).unwrap().total, 1);
    assert_eq!(std::fs::read(jobs.folder(id).join("record")).unwrap(), before);
    assert!(testkit::is_alive(other.0));
}

#[test]
fn of_another_machine_it_is_elsewhere() {
    never_touched(|identity| identity["machine_id"] = "another machine".into());
}

#[test]
fn of_another_pid_namespace_it_is_elsewhere() {
    never_touched(|identity| identity["pid_namespace"] = 1.into());
}
