//! Foreground that turns into background.

use std::time::Duration;

use legwork_job::{JobSpec, Patience, Place, Reading, State};

use crate::support::Jobs;

#[test]
fn what_ends_in_time_is_told_whole() {
    let jobs = Jobs::new();
    let report = jobs.finish(&JobSpec::shell("echo hello; exit 3"));
    assert_eq!(report.output.as_deref(), Some("hello\n"));
    assert_eq!((report.exit_code, report.success), (Some(3), Some(false)));
    assert_eq!(report.state, Some(State::Ended));
}

#[test]
fn patience_over_never_loses_the_command() {
    let jobs = Jobs::new();
    let spec = JobSpec::shell("echo begun; sleep 300");
    let patience = Patience::of(Duration::from_millis(300));
    let report = jobs.place.execute(&spec, &patience, &Reading::default()).unwrap();
    assert!(report.running);
    assert_eq!(report.background_process_id, report.id);
    assert_eq!((report.exit_code, report.success, report.ending), (None, None, None));
}
