//! The same operations as futures, on tokio.
//!
//! Most of them are a few system calls, and the long ones only wait for a descriptor; each runs on
//! a thread of the runtime's pool for blocking work. A wait whose future is dropped ends at once
//! and gives its thread back; the job it waited for runs on.

use std::sync::Arc;
use std::time::Duration;

use legwork::{CancelToken, Signal};

use crate::error::JobError;
use crate::id::JobId;
use crate::log::Piece;
use crate::place::{
    Attachment, Ensured, Filter, OnTimeout, Page, Patience, Place, Pruned, Pruning, Reach, Reading,
    Screen, Signalled, Started, Waited, Waiting, Writing, Written,
};
use crate::report::Report;
use crate::spec::{JobSpec, Size};

/// A place whose operations are futures.
///
/// ```no_run
/// # async fn example() -> Result<(), legwork_job::JobError> {
/// use legwork_job::{JobSpec, Local, tokio::Async};
///
/// let jobs = Async::new(Local::from_env()?);
/// let started = jobs.start(JobSpec::argv(["make", "test"])).await?;
/// println!("{}", started.id);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Async<P> {
    place: Arc<P>,
}

impl<P> Clone for Async<P> {
    fn clone(&self) -> Async<P> {
        Async { place: Arc::clone(&self.place) }
    }
}

/// Ends a wait when its future is dropped.
struct Interest(CancelToken);

impl Drop for Interest {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl Interest {
    fn new() -> Result<Interest, JobError> {
        let token = CancelToken::new();
        token.map(Interest).map_err(|source| JobError::Io {
            what: "make",
            path: "an eventfd".into(),
            source,
        })
    }
}

impl<P: Place + Send + Sync + 'static> Async<P> {
    /// The operations of this place.
    pub fn new(place: P) -> Async<P> {
        Async { place: Arc::new(place) }
    }

    async fn on_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce(&P) -> Result<T, JobError> + Send + 'static,
    ) -> Result<T, JobError> {
        let place = Arc::clone(&self.place);
        match tokio::task::spawn_blocking(move || work(&place)).await {
            Ok(result) => result,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(error) => Err(JobError::NoSupervisor { why: error.to_string() }),
            },
        }
    }

    /// See [`Place::start`].
    ///
    /// # Errors
    /// As there.
    pub async fn start(&self, spec: JobSpec) -> Result<Started, JobError> {
        self.on_thread(move |place| place.start(&spec)).await
    }

    /// See [`Place::execute`]. Dropped, it waits no longer; the job runs on.
    ///
    /// # Errors
    /// As there.
    pub async fn execute(
        &self,
        spec: JobSpec,
        limit: Duration,
        on_timeout: OnTimeout,
        reading: Reading,
    ) -> Result<Report, JobError> {
        let interest = Interest::new()?;
        let cancel = Some(interest.0.clone());
        let report = self.on_thread(move |place| {
            place.execute(&spec, &Patience { limit, on_timeout, cancel, on_start: None }, &reading)
        });
        let report = report.await;
        drop(interest);
        report
    }

    /// See [`Place::find`].
    ///
    /// # Errors
    /// As there.
    pub async fn find(
        &self,
        reference: String,
        session: Option<String>,
    ) -> Result<JobId, JobError> {
        self.on_thread(move |place| place.find(&reference, session.as_deref())).await
    }

    /// See [`Place::list`].
    ///
    /// # Errors
    /// As there.
    pub async fn list(&self, filter: Filter) -> Result<Page, JobError> {
        self.on_thread(move |place| place.list(&filter)).await
    }

    /// See [`Place::read`].
    ///
    /// # Errors
    /// As there.
    pub async fn read(&self, id: JobId, reading: Reading) -> Result<Report, JobError> {
        self.on_thread(move |place| place.read(id, &reading)).await
    }

    /// See [`Place::bytes`].
    ///
    /// # Errors
    /// As there.
    pub async fn bytes(&self, id: JobId, cursor: u64, most: usize) -> Result<Piece, JobError> {
        self.on_thread(move |place| place.bytes(id, cursor, most)).await
    }

    /// See [`Place::wait`]. Dropped, it waits no longer.
    ///
    /// # Errors
    /// As there.
    pub async fn wait(&self, mut waiting: Waiting) -> Result<Vec<Waited>, JobError> {
        let interest = Interest::new()?;
        waiting.cancel = Some(interest.0.clone());
        let waited = self.on_thread(move |place| place.wait(&waiting)).await;
        drop(interest);
        waited
    }

    /// See [`Place::write`].
    ///
    /// # Errors
    /// As there.
    pub async fn write(&self, id: JobId, writing: Writing) -> Result<Written, JobError> {
        self.on_thread(move |place| place.write(id, &writing)).await
    }

    /// See [`Place::signal`].
    ///
    /// # Errors
    /// As there.
    pub async fn signal(
        &self,
        id: JobId,
        signal: Signal,
        reach: Reach,
    ) -> Result<Signalled, JobError> {
        self.on_thread(move |place| place.signal(id, signal, reach)).await
    }

    /// See [`Place::stop`].
    ///
    /// # Errors
    /// As there.
    pub async fn stop(&self, id: JobId, grace: Option<Duration>) -> Result<Report, JobError> {
        self.on_thread(move |place| place.stop(id, grace)).await
    }

    /// See [`Place::attach`]. What it gives is for threads.
    ///
    /// # Errors
    /// As there.
    pub async fn attach(
        &self,
        id: JobId,
        size: Option<Size>,
    ) -> Result<Box<dyn Attachment>, JobError> {
        self.on_thread(move |place| place.attach(id, size)).await
    }

    /// See [`Place::screen`].
    ///
    /// # Errors
    /// As there.
    pub async fn screen(&self, id: JobId) -> Result<Screen, JobError> {
        self.on_thread(move |place| place.screen(id)).await
    }

    /// See [`Place::ensure`].
    ///
    /// # Errors
    /// As there.
    pub async fn ensure(&self, spec: JobSpec) -> Result<(JobId, Ensured), JobError> {
        self.on_thread(move |place| place.ensure(&spec)).await
    }

    /// See [`Place::prune`].
    ///
    /// # Errors
    /// As there.
    pub async fn prune(&self, pruning: Pruning) -> Result<Pruned, JobError> {
        self.on_thread(move |place| place.prune(&pruning)).await
    }
}
