//! A supervisor that was stopped: it lives, holds its lock, and says nothing.

use std::path::Path;
use std::time::Duration;

use legwork::Signal;
use legwork_job::{
    Condition, Filter, Gather, JobError, JobSpec, Local, Place, Reach, Reading, State, Waiting,
    Writing,
};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use rustix::process::{Pid, Signal as Sent, kill_process};

use crate::support::{Jobs, supervisor};

/// Goes on when the test is over, so that it can be ended.
struct Stopped(Pid);

impl Stopped {
    fn new(pid: u32) -> Stopped {
        let stopped = Stopped(Pid::from_raw(pid as i32).unwrap());
        kill_process(stopped.0, Sent::STOP).unwrap();
        testkit::wait_until("it to stop", || testkit::state(pid) == Some('T'));
        stopped
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = kill_process(self.0, Sent::CONT);
    }
}

/// Comes and goes until nobody more may come. Who has gone still counts: it was not let in.
fn fill_the_queue(socket: &Path) {
    let address = SocketAddrUnix::new(socket).unwrap();
    let (unix, stream) = (AddressFamily::UNIX, SocketType::STREAM);
    for _ in 0..100_000 {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = net::socket_with(unix, stream, flags, None).unwrap();
        match net::connect(&socket, &address) {
            Ok(()) => {}
            Err(Errno::AGAIN) => return,
            Err(error) => panic!("{error}"),
        }
    }
    panic!("the queue has no end");
}

fn impatient(jobs: &Jobs) -> Local {
    jobs.again().patience(Duration::from_millis(100))
}

fn assert_said<T: std::fmt::Debug>(result: Result<T, JobError>) {
    let error = result.unwrap_err();
    assert!(matches!(error, JobError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains("SIGSTOP"), "{error}");
}

#[test]
fn every_operation_on_it_ends_with_a_clear_error_and_others_are_unharmed() {
    let jobs = Jobs::new();
    let mut spec = JobSpec::shell("echo begun; cat");
    spec.stdin = legwork_job::Input::Open;
    let (id, other) = (jobs.start(&spec), jobs.shell("echo begun; sleep 300"));
    jobs.printed(id, "begun");
    jobs.printed(other, "begun");
    let stopped = Stopped::new(supervisor(&jobs.folder(id)));
    let place = impatient(&jobs);
    for look in [false, true] {
        let page = place.list(&Filter { look, ..Filter::default() }).unwrap();
        assert_eq!(page.total, 2);
        assert!(page.jobs.iter().all(|job| job.state == Some(State::Running)));
    }
    let report = place.read(id, &Reading::default()).unwrap();
    assert_eq!((report.running, report.output.as_deref()), (true, Some("begun\n")));
    assert!(report.note.as_ref().unwrap().contains("SIGSTOP"), "{report:?}");
    assert_said(place.write(id, &Writing { bytes: b"x\n".to_vec(), ..Writing::default() }));
    assert_said(place.signal(id, Signal::TERM, Reach::Tree));
    assert_said(place.screen(id));
    assert_said(place.attach(id, None).map(drop));
    assert_said(place.stop(id, Some(Duration::ZERO)));
    let wait = |id| {
        let limit = Some(Duration::from_millis(10));
        let (conditions, reading) = (vec![Condition::Exit], Reading::default());
        let gather = Gather::All;
        place.wait(&Waiting {
            jobs: vec![id],
            conditions,
            gather,
            limit,
            since: None,
            reading,
            cancel: None,
        })
    };
    assert_eq!(wait(id).unwrap()[0].met, legwork_job::Met::Nothing);
    // What is on disk can be read without it.
    assert_eq!(place.bytes(id, 0, 100).unwrap().bytes, b"begun\n");
    assert!(place.read(other, &Reading::default()).unwrap().running);
    assert_eq!(wait(other).unwrap()[0].met, legwork_job::Met::Nothing);
    assert!(!place.stop(other, None).unwrap().running);
    // It does what it was asked meanwhile once it goes on: the stop was heard.
    drop(stopped);
    assert!(!jobs.ended(id).running);
}

#[test]
fn nobody_hangs_at_its_door_when_the_queue_is_full() {
    let jobs = Jobs::new();
    let id = jobs.shell("echo begun; sleep 300");
    jobs.printed(id, "begun");
    let stopped = Stopped::new(supervisor(&jobs.folder(id)));
    fill_the_queue(&jobs.folder(id).join("socket"));
    let report = impatient(&jobs).read(id, &Reading::default()).unwrap();
    assert!(report.note.as_ref().unwrap().contains("SIGSTOP"), "{report:?}");
    assert_said(impatient(&jobs).stop(id, None));
    drop(stopped);
    testkit::wait_until("it to answer again", || {
        jobs.again().read(id, &Reading::default()).is_ok_and(|report| report.running)
    });
}
