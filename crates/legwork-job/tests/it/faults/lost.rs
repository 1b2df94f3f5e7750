//! A supervisor that was killed: whoever looks next ends its tree and says so.

use std::time::{Duration, Instant};

use legwork::Cause;
use legwork_job::{
    Condition, Filter, Gather, JobError, JobSpec, Place, Reading, Report, State, Waiting,
};

use super::seen::{Dice, answer, assert_nobody, everyone, folders, supervisor_of_our_own};
use crate::support::{Jobs, supervisor};

fn assert_lost(report: &Report) {
    assert_eq!(report.state, Some(State::Lost));
    assert_eq!(report.ending.as_ref().unwrap().cause(), &Cause::SupervisorLost);
    assert!(!report.running && report.exit_code.is_none() && report.success == Some(false));
}

#[test]
fn a_lost_supervisor_is_said_and_its_tree_is_ended() {
    let jobs = Jobs::new();
    let id = jobs.start(&JobSpec::shell("echo before; sleep 300"));
    let pid = jobs.printed(id, "before").processes[0].pid;
    drop(testkit::Victim(supervisor(&jobs.folder(id))));
    let report = jobs.ended(id);
    assert_lost(&report);
    assert_eq!(report.output.as_deref(), Some("before\n"));
    assert!(!testkit::is_alive(pid));
    // What was said once stays said.
    let again = jobs.again().read(id, &Reading::default()).unwrap();
    assert_eq!((again.ended_at, again.note), (report.ended_at, report.note));
}

#[test]
fn a_daemon_that_did_everything_to_get_away_is_ended_with_a_lost_job() {
    let jobs = Jobs::new();
    let pidfile = jobs.state().join("pid");
    let program = testkit::misbehave().to_str().unwrap();
    let spec = JobSpec::argv([program, "daemon", pidfile.to_str().unwrap(), "linger"]);
    let id = jobs.start(&spec);
    let daemon = testkit::Victim(testkit::pid_in(&pidfile));
    let supervisor = supervisor(&jobs.folder(id));
    drop(testkit::Victim(supervisor));
    testkit::wait_until("the supervisor's end", || !testkit::is_alive(supervisor));
    assert!(testkit::is_alive(daemon.0), "nobody has looked yet");
    let page = jobs.place.list(&Filter::default()).unwrap();
    assert_lost(&page.jobs[0]);
    testkit::wait_until("the daemon's end", || !testkit::is_alive(daemon.0));
    assert_nobody(&jobs.state());
}

#[test]
fn survivors_go_with_their_supervisor_and_the_end_on_record_stays() {
    let jobs = Jobs::new();
    let pidfile = jobs.state().join("pid");
    let program = testkit::misbehave().to_str().unwrap();
    let spec = JobSpec::argv([program, "daemon", pidfile.to_str().unwrap()]);
    let report = jobs.finish(&spec);
    let (id, survivor) = (report.id.unwrap(), testkit::Victim(testkit::pid_in(&pidfile)));
    assert_eq!((report.exit_code, report.survivors.len()), (Some(0), 1));
    drop(testkit::Victim(supervisor(&jobs.folder(id))));
    testkit::wait_until("the survivor's end", || {
        jobs.place.list(&Filter::default()).unwrap();
        !testkit::is_alive(survivor.0)
    });
    let report = jobs.read(id);
    assert_eq!((report.state, report.exit_code), (Some(State::Ended), Some(0)));
    assert!(report.survivors.is_empty());
    assert!(report.note.unwrap().contains("supervisor was killed"));
    let error = jobs.place.stop(id, None).unwrap_err();
    assert!(matches!(error, JobError::NothingLeft { .. }), "{error}");
}

#[test]
fn those_who_wait_are_told_at_once() {
    let jobs = Jobs::new();
    let ids = [(); 2].map(|()| jobs.shell("echo begun; sleep 300"));
    for id in ids {
        jobs.printed(id, "begun");
    }
    let waiting = Waiting {
        jobs: ids.to_vec(),
        conditions: vec![Condition::Exit],
        gather: Gather::All,
        limit: None,
        since: None,
        reading: Reading::default(),
        cancel: None,
    };
    // Several wait, and look at the same moment: each is told the same.
    std::thread::scope(|scope| {
        let waiters = [(); 4].map(|()| scope.spawn(|| jobs.again().wait(&waiting).unwrap()));
        let begun = Instant::now();
        while waiters.iter().all(|waiter| !waiter.is_finished())
            && begun.elapsed() < Duration::from_millis(50)
        {
            std::thread::yield_now();
        }
        for id in ids {
            drop(testkit::Victim(supervisor(&jobs.folder(id))));
        }
        for waiter in waiters {
            for waited in waiter.join().unwrap() {
                assert_eq!(waited.met, legwork_job::Met::Exit);
                assert_lost(&waited.report);
            }
        }
    });
    assert_nobody(&jobs.state());
}

#[test]
fn a_supervisor_killed_at_any_moment_of_a_birth_leaves_nothing_or_a_lost_job() {
    let jobs = Jobs::new();
    let state = jobs.state();
    let mut spec = JobSpec::shell("sleep 300");
    spec.workdir = Some("/".into());
    // How long a whole birth takes here, now.
    let begun = Instant::now();
    let (mut first, mut line) = supervisor_of_our_own(&state, &spec);
    assert!(answer(&mut line).unwrap()["started"]["id"].is_string());
    let birth = begun.elapsed();
    first.kill().unwrap();
    first.wait().unwrap();
    let mut dice = Dice::new();
    let (mut nothing, mut lost) = (0, 0);
    for _ in 0..80 {
        let before = jobs.place.list(&Filter::default()).unwrap().total;
        let (mut child, _line) = supervisor_of_our_own(&state, &spec);
        std::thread::sleep(Duration::from_nanos(dice.below(birth.as_nanos() as u64)));
        child.kill().unwrap();
        child.wait().unwrap();
        // Its child has the lock until it has executed its program; then it is found.
        let page = testkit::wait_for("the end of the birth", || {
            let page = jobs.place.list(&Filter::default()).unwrap();
            page.jobs.iter().all(|job| !job.running).then_some(page)
        });
        assert!(page.unreadable.is_empty(), "{:?}", page.unreadable);
        assert_eq!(page.total, folders(&state).len(), "no folder without a record");
        page.jobs.iter().for_each(assert_lost);
        assert_nobody(&state);
        match page.total - before {
            0 => nothing += 1,
            _ => lost += 1,
        }
    }
    println!("80 kills within {birth:?}: {nothing} left nothing, {lost} a lost job");
}

#[test]
fn a_request_whose_job_never_came_to_be_is_anybodys() {
    let jobs = Jobs::new();
    let state = jobs.state();
    let mut spec = JobSpec::shell("sleep 300");
    spec.request_id = Some("once".into());
    let id = jobs.start(&spec);
    jobs.place.stop(id, Some(Duration::ZERO)).unwrap();
    // As one leaves it who was killed between the claim and the record.
    std::fs::remove_file(jobs.folder(id).join("record")).unwrap();
    testkit::wait_until("its supervisor's end", || everyone(&state).is_empty());
    let started = jobs.place.start(&spec).unwrap();
    assert!(!started.existing, "{started:?}");
    assert!(jobs.read(started.id).running);
}

#[test]
fn a_job_started_by_a_lost_job_is_not_its_own() {
    let jobs = Jobs::new();
    let state = jobs.state();
    let program = testkit::misbehave().to_str().unwrap();
    let inner = format!("echo | {program} jobs start '{}' name inner 'sleep 300'", state.display());
    let outer = jobs.start(&JobSpec::shell(format!("{inner}; sleep 300")));
    jobs.printed(outer, "\n");
    let inner = testkit::wait_for("the inner job", || jobs.place.find("inner", None).ok());
    testkit::wait_until("the inner job to run", || {
        jobs.place.list(&Filter::default()).unwrap().total == 2
            && jobs.read(inner).state == Some(State::Running)
    });
    drop(testkit::Victim(supervisor(&jobs.folder(outer))));
    assert_lost(&jobs.ended(outer));
    let inner = jobs.read(inner);
    assert!(inner.running && inner.processes.len() == 1, "{inner:?}");
}
