//! A front end that is killed while it starts jobs: there is no job, or a whole one.

use std::collections::HashSet;
use std::io::Read;
use std::process::Stdio;
use std::time::Duration;

use legwork_job::{Filter, JobId, Place, State};

use super::seen::{Dice, everyone, folders, front_end, id};
use crate::support::Jobs;

const ROUNDS: usize = 40;

#[test]
fn a_front_end_killed_at_any_moment_leaves_no_job_or_a_whole_one() {
    let jobs = Jobs::new();
    let state = jobs.state();
    let mut dice = Dice::new();
    let mut told: HashSet<JobId> = HashSet::new();
    for _ in 0..ROUNDS {
        let mut killed = front_end(&state)
            .args(["jobs", "start-for-ever"])
            .arg(&state)
            .arg("sleep 300")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // A birth takes some milliseconds: the first one or the second is hit anywhere.
        std::thread::sleep(Duration::from_micros(dice.below(20_000)));
        killed.kill().unwrap();
        killed.wait().unwrap();
        let mut printed = String::new();
        killed.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
        told.extend(printed.lines().filter(|line| line.len() == 8).map(id));
    }
    // A supervisor that was told everything before its front end died finishes what it began.
    testkit::wait_until("the last births", || {
        let page = jobs.place.list(&Filter::default()).unwrap();
        page.total == folders(&state).len()
            && page.jobs.iter().all(|job| job.state == Some(State::Running))
    });
    let page = jobs.place.list(&Filter { look: true, ..Filter::default() }).unwrap();
    assert!(page.unreadable.is_empty(), "{:?}", page.unreadable);
    let listed: HashSet<JobId> = page.jobs.iter().filter_map(|job| job.id).collect();
    assert!(told.is_subset(&listed), "a job that was told is there");
    for job in &page.jobs {
        assert!(!job.processes.is_empty(), "a whole job runs: {job:?}");
        assert!(jobs.folder(job.id.unwrap()).join("record").exists());
    }
    println!("{ROUNDS} kills, {} jobs, of which {} had been told", listed.len(), told.len());
    // Everyone there is a supervisor of a listed job or its command: ended, nobody is left.
    for id in listed {
        jobs.place.stop(id, Some(Duration::ZERO)).unwrap();
    }
    testkit::wait_until("nobody to be left", || everyone(&state).is_empty());
}
