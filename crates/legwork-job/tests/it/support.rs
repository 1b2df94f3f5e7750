//! A place for one test: a state directory of its own, and nothing left when it is dropped.

use std::path::Path;
use std::time::Duration;

use legwork_job::{
    Filter, JobError, JobId, JobSpec, Local, Patience, Place, Reading, Report, StateDir,
};

/// Far more than anything takes on a loaded machine.
pub(crate) const LONG: Duration = Duration::from_secs(60);

pub(crate) struct Jobs {
    pub(crate) place: Local,
    directory: tempfile::TempDir,
}

impl Jobs {
    pub(crate) fn new() -> Jobs {
        let directory = tempfile::tempdir().unwrap();
        let state = StateDir::at(directory.path().join("legwork")).unwrap();
        Jobs { place: Local::with(state).supervisor(testkit::misbehave()), directory }
    }

    /// The same jobs, seen by another caller.
    pub(crate) fn again(&self) -> Local {
        Local::with(StateDir::at(self.state()).unwrap()).supervisor(testkit::misbehave())
    }

    pub(crate) fn state(&self) -> std::path::PathBuf {
        self.directory.path().join("legwork")
    }

    pub(crate) fn folder(&self, id: JobId) -> std::path::PathBuf {
        self.state().join("jobs").join(id.as_str())
    }

    pub(crate) fn start(&self, spec: &JobSpec) -> JobId {
        self.place.start(spec).unwrap().id
    }

    pub(crate) fn shell(&self, line: &str) -> JobId {
        self.start(&JobSpec::shell(line))
    }

    /// Runs to the end.
    pub(crate) fn finish(&self, spec: &JobSpec) -> Report {
        self.place.execute(spec, &Patience::of(LONG), &Reading::default()).unwrap()
    }

    pub(crate) fn read(&self, id: JobId) -> Report {
        self.place.read(id, &Reading { look: true, ..Reading::default() }).unwrap()
    }

    /// Waits until the job has ended.
    pub(crate) fn ended(&self, id: JobId) -> Report {
        testkit::wait_for("the end of a job", || {
            let report = self.read(id);
            (!report.running).then_some(report)
        })
    }

    /// Waits until the job has printed this.
    pub(crate) fn printed(&self, id: JobId, text: &str) -> Report {
        testkit::wait_for("output", || {
            let report = self.read(id);
            report.output.as_ref().is_some_and(|output| output.contains(text)).then_some(report)
        })
    }
}

impl Drop for Jobs {
    fn drop(&mut self) {
        let Ok(page) = self.place.list(&Filter::default()) else {
            return;
        };
        for job in page.jobs {
            if let Some(id) = job.id {
                match self.place.stop(id, Some(Duration::ZERO)) {
                    Ok(_) | Err(JobError::NothingLeft { .. }) => {}
                    Err(error) => eprintln!("cannot stop {id}: {error}"),
                }
            }
        }
    }
}

/// The pid of a job's supervisor, from its lock.
pub(crate) fn supervisor(folder: &Path) -> u32 {
    testkit::wait_for("a supervisor", || {
        let lock: serde_json::Value =
            serde_json::from_slice(&std::fs::read(folder.join("lock")).ok()?).ok()?;
        u32::try_from(lock["supervisor"].as_u64()?).ok()
    })
}
