//! Short ways to ask, so that a test says only what it is about.

use std::time::Duration;

use legwork_job::{
    Condition, Gather, JobId, JobSpec, Local, Met, Place, Reading, Size, Waited, Waiting, Writing,
    Written,
};

use crate::support::{Jobs, LONG};

/// For one of the conditions, on all of the jobs, for as long as anything can take.
pub(super) fn waiting(jobs: &[JobId], conditions: &[Condition]) -> Waiting {
    Waiting {
        jobs: jobs.to_vec(),
        conditions: conditions.to_vec(),
        gather: Gather::All,
        limit: Some(LONG),
        since: None,
        reading: Reading::default(),
        cancel: None,
    }
}

/// Waits for one condition of one job.
pub(super) fn wait_one(place: &Local, job: JobId, condition: Condition) -> Waited {
    place.wait(&waiting(&[job], &[condition])).unwrap().remove(0)
}

/// Waits for one condition of one job no longer than this.
pub(super) fn wait_briefly(
    place: &Local,
    job: JobId,
    condition: Condition,
    limit: Duration,
) -> Met {
    let waiting = Waiting { limit: Some(limit), ..waiting(&[job], &[condition]) };
    place.wait(&waiting).unwrap().remove(0).met
}

/// The line with an input that can be written to.
pub(super) fn open(line: &str) -> JobSpec {
    JobSpec { stdin: legwork_job::Input::Open, ..JobSpec::shell(line) }
}

/// The command with a terminal, as a person's would be called.
pub(super) fn on_terminal(argv: &[&str]) -> JobSpec {
    let mut spec = JobSpec::argv(argv);
    spec.terminal = Some(Size::default());
    spec.env.push(("TERM".into(), Some("xterm".into())));
    spec
}

pub(super) fn write(jobs: &Jobs, id: JobId, bytes: impl AsRef<[u8]>) -> Written {
    let writing = Writing { bytes: bytes.as_ref().to_vec(), ..Writing::default() };
    jobs.place.write(id, &writing).unwrap()
}

pub(super) fn close(jobs: &Jobs, id: JobId) {
    jobs.place.write(id, &Writing { close: true, ..Writing::default() }).unwrap();
}

/// All that is kept of a job's output, as it came.
pub(super) fn log_of(jobs: &Jobs, id: JobId) -> Vec<u8> {
    let (mut bytes, mut cursor) = (Vec::new(), 0);
    loop {
        let piece = jobs.place.bytes(id, cursor, 1 << 20).unwrap();
        if piece.bytes.is_empty() {
            return bytes;
        }
        bytes.extend(piece.bytes);
        cursor = piece.next;
    }
}

/// How many jobs have a folder.
pub(super) fn folders(jobs: &Jobs) -> usize {
    std::fs::read_dir(jobs.state().join("jobs")).map_or(0, Iterator::count)
}
