//! The jobs of this machine: what is on disk, and the supervisors of those that live.
//!
//! Whoever asks reads the record and the log themselves and goes to the supervisor only for what
//! it alone knows. One verb, one file.

mod compose;
mod control;
mod ensure;
mod find;
mod line;
mod list;
pub(crate) mod observe;
mod prune;
mod read;
mod start;
mod wait;

use std::path::PathBuf;
use std::time::Duration;

use legwork::Signal;

use self::line::Line;
use crate::error::JobError;
use crate::id::JobId;
use crate::log::{LogReader, Piece};
use crate::place::{
    Attachment, Ensured, Filter, Page, Patience, Place, Pruned, Pruning, Reach, Reading, Screen,
    Signalled, Started, Waited, Waiting, Writing, Written,
};
use crate::report::Report;
use crate::spec::{JobSpec, Size};
use crate::state::StateDir;

/// The jobs of this user on this machine.
///
/// ```no_run
/// use legwork_job::{JobSpec, Local, Place};
///
/// legwork_job::supervise_if_asked();
/// let jobs = Local::from_env()?;
/// let started = jobs.start(&JobSpec::shell("sleep 5; echo done"))?;
/// println!("{}", started.id);
/// # Ok::<(), legwork_job::JobError>(())
/// ```
#[derive(Debug)]
pub struct Local {
    pub(crate) state: StateDir,
    supervisor: PathBuf,
    patience: Duration,
}

/// A supervisor answers at once what it can answer at once; one that does not is stopped, or its
/// machine is out of breath.
const PATIENCE: Duration = Duration::from_secs(30);

impl Local {
    /// With the state directory that the environment names.
    ///
    /// # Errors
    /// Where it cannot be used, with the command that repairs it.
    pub fn from_env() -> Result<Local, JobError> {
        Ok(Local::with(StateDir::from_env()?))
    }

    /// With this state directory.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// let jobs = legwork_job::Local::with(legwork_job::StateDir::at(directory.path().join("s"))?);
    /// # Ok::<(), legwork_job::JobError>(())
    /// ```
    pub fn with(state: StateDir) -> Local {
        // The running program itself, also where its file was replaced meanwhile.
        Local { state, supervisor: PathBuf::from("/proc/self/exe"), patience: PATIENCE }
    }

    /// The program that becomes the supervisor, where that is not this one: one whose `main` calls
    /// [`supervise_if_asked`](crate::supervise_if_asked) first.
    #[must_use]
    pub fn supervisor(mut self, program: impl Into<PathBuf>) -> Local {
        self.supervisor = program.into();
        self
    }

    /// How long a supervisor may take to answer what it can answer at once; 30 seconds, unless
    /// said. One that does not answer in time is [`JobError::Unreachable`].
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Local {
        self.patience = patience.max(Duration::from_millis(1));
        self
    }

    /// Where the jobs are.
    pub fn state_dir(&self) -> &StateDir {
        &self.state
    }

    /// Goes to a job's supervisor. `None` where nobody listens any more.
    fn line(&self, id: JobId) -> Result<Option<Line>, JobError> {
        Line::to(&self.state.job_folder(&id), id, self.patience)
    }

    fn log(&self, id: JobId) -> Result<LogReader, JobError> {
        Ok(LogReader::open(self.state.job_folder(&id))?)
    }
}

impl Place for Local {
    fn start(&self, spec: &JobSpec) -> Result<Started, JobError> {
        Ok(self.bring_up(spec)?.0)
    }

    fn execute(
        &self,
        spec: &JobSpec,
        patience: &Patience<'_>,
        reading: &Reading,
    ) -> Result<Report, JobError> {
        self.execute_job(spec, patience, reading)
    }

    fn find(&self, reference: &str, session: Option<&str>) -> Result<JobId, JobError> {
        self.find_job(reference, session)
    }

    fn list(&self, filter: &Filter) -> Result<Page, JobError> {
        self.list_jobs(filter)
    }

    fn read(&self, id: JobId, reading: &Reading) -> Result<Report, JobError> {
        self.read_job(id, reading)
    }

    fn bytes(&self, id: JobId, cursor: u64, most: usize) -> Result<Piece, JobError> {
        Ok(self.log(id)?.read(cursor, most)?)
    }

    fn wait(&self, waiting: &Waiting) -> Result<Vec<Waited>, JobError> {
        self.wait_for(waiting)
    }

    fn write(&self, id: JobId, writing: &Writing) -> Result<Written, JobError> {
        self.write_to(id, writing)
    }

    fn signal(&self, id: JobId, signal: Signal, reach: Reach) -> Result<Signalled, JobError> {
        self.signal_job(id, signal, reach)
    }

    fn stop(&self, id: JobId, grace: Option<Duration>) -> Result<Report, JobError> {
        self.stop_job(id, grace)
    }

    fn attach(&self, id: JobId, size: Option<Size>) -> Result<Box<dyn Attachment>, JobError> {
        self.attach_to(id, size)
    }

    fn screen(&self, id: JobId) -> Result<Screen, JobError> {
        self.screen_of(id)
    }

    fn ensure(&self, spec: &JobSpec) -> Result<(JobId, Ensured), JobError> {
        self.ensure_job(spec)
    }

    fn prune(&self, pruning: &Pruning) -> Result<Pruned, JobError> {
        self.prune_jobs(pruning)
    }
}
