//! Several who start the same at once: one job.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};
use std::time::Duration;

use legwork_job::{Filter, JobSpec, Place, Reading};

use super::seen::{folders, front_end, id};
use crate::support::Jobs;

/// Front ends that begin at the same moment; what each says.
fn at_once(jobs: &Jobs, which: &str, key: &str) -> Vec<String> {
    let state = jobs.state();
    let mut children: Vec<(Child, BufReader<std::process::ChildStdout>)> = (0..6)
        .map(|_| {
            let mut child = front_end(&state)
                .args(["jobs", "start"])
                .arg(&state)
                .args([which, key, "sleep 300"])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut stdout = BufReader::new(child.stdout.take().unwrap());
            stdout.read_line(&mut String::new()).unwrap();
            (child, stdout)
        })
        .collect();
    for (child, _) in &mut children {
        child.stdin.take().unwrap().write_all(b"\n").unwrap();
    }
    let said = children.iter_mut().map(|(child, stdout)| {
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        child.wait().unwrap();
        line.trim().to_owned()
    });
    said.collect()
}

#[test]
fn of_one_name_there_is_one_job_and_the_others_are_told_whose_it_is() {
    let jobs = Jobs::new();
    for round in 0..10 {
        let name = format!("web-{round}");
        let said = at_once(&jobs, "name", &name);
        let winners: Vec<&String> = said.iter().filter(|line| line.len() == 8).collect();
        assert_eq!(winners.len(), 1, "{said:?}");
        let conflict = format!("belongs to the running job {}", winners[0]);
        assert_eq!(said.iter().filter(|line| line.contains(&conflict)).count(), 5, "{said:?}");
        assert_eq!(jobs.place.find(&name, None).unwrap(), id(winners[0]));
        let page = jobs.place.list(&Filter::default()).unwrap();
        assert_eq!((page.total, folders(&jobs.state()).len()), (1, 1));
        jobs.place.stop(id(winners[0]), Some(Duration::ZERO)).unwrap();
        let all = legwork_job::Pruning { keep: Some(0), ..Default::default() };
        testkit::wait_until("the job to be removed", || {
            jobs.place.prune(&all).unwrap();
            folders(&jobs.state()).is_empty()
        });
    }
}

#[test]
fn of_one_request_there_is_one_job_and_all_are_told_the_same() {
    let jobs = Jobs::new();
    for round in 0..10 {
        let said = at_once(&jobs, "request", &format!("request-{round}"));
        let ids: HashSet<&String> = said.iter().collect();
        assert_eq!(ids.len(), 1, "{said:?}");
        let page = jobs.place.list(&Filter::default()).unwrap();
        assert_eq!((page.total, folders(&jobs.state()).len()), (round + 1, round + 1));
    }
}

#[test]
fn who_is_told_that_the_job_exists_can_read_it() {
    let jobs = Jobs::new();
    for round in 0..20 {
        let mut spec = JobSpec::shell("sleep 300");
        spec.request_id = Some(format!("request-{round}"));
        let barrier = std::sync::Barrier::new(4);
        let ids: HashSet<_> = std::thread::scope(|scope| {
            let threads = [(); 4].map(|()| {
                scope.spawn(|| {
                    let place = jobs.again();
                    barrier.wait();
                    let id = place.start(&spec).unwrap().id;
                    place.read(id, &Reading::default()).map(|_| id)
                })
            });
            threads.into_iter().map(|thread| thread.join().unwrap().unwrap()).collect()
        });
        assert_eq!(ids.len(), 1);
    }
}

#[test]
fn a_request_whose_command_cannot_be_run_is_told_so_to_everybody() {
    let jobs = Jobs::new();
    for round in 0..20 {
        let mut spec = JobSpec::argv(["/no/such/program"]);
        spec.request_id = Some(format!("request-{round}"));
        let barrier = std::sync::Barrier::new(4);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let place = jobs.again();
                    barrier.wait();
                    let error = place.start(&spec).unwrap_err();
                    assert!(error.to_string().contains("/no/such/program"), "{error}");
                });
            }
        });
    }
    assert_eq!(super::seen::files(&jobs.state()), Vec::<std::path::PathBuf>::new());
}
