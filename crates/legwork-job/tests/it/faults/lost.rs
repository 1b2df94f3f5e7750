//! A supervisor that was killed.

use legwork::Cause;
use legwork_job::{JobSpec, State};

use crate::support::{Jobs, supervisor};

#[test]
fn a_lost_supervisor_is_said_and_its_tree_is_ended() {
    let jobs = Jobs::new();
    let id = jobs.start(&JobSpec::shell("echo before; sleep 300"));
    let pid = jobs.printed(id, "before").processes[0].pid;
    drop(testkit::Victim(supervisor(&jobs.folder(id))));
    let report = jobs.ended(id);
    assert_eq!(report.state, Some(State::Lost));
    assert_eq!(report.ending.unwrap().cause(), &Cause::SupervisorLost);
    assert_eq!(report.output.as_deref(), Some("before\n"));
    assert!(!testkit::is_alive(pid));
}
