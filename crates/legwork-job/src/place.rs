//! The operations on jobs, as one trait, so that another place than this machine can offer them.
//!
//! They speak in values and bytes, never in descriptors.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::time::Duration;

use legwork::{CancelToken, Signal, Stream};
use legwork_view::{Budget, Folding, Part};
use serde::{Deserialize, Serialize};

use crate::error::JobError;
use crate::evidence::{BlockedOn, Listening};
use crate::id::JobId;
use crate::report::{Process, Report, State};
use crate::spec::{JobSpec, Size};

/// What came of a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// The job.
    pub id: JobId,
    /// Whether it was there already: its request id was known.
    pub existing: bool,
}

/// What happens to a command whose caller has no more patience.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnTimeout {
    /// It runs on.
    #[default]
    Background,
    /// Its tree is ended.
    Terminate,
}

/// How long a caller waits for a command, and what happens then.
///
/// ```
/// use legwork_job::{OnTimeout, Patience};
/// let patience = Patience::of(std::time::Duration::from_secs(10));
/// assert_eq!(patience.on_timeout, OnTimeout::Background);
/// ```
#[derive(Clone)]
pub struct Patience<'a> {
    /// So long.
    pub limit: Duration,
    /// What happens to the command then.
    pub on_timeout: OnTimeout,
    /// Patience is over at once when this is cancelled; the command runs on.
    pub cancel: Option<CancelToken>,
    /// Told the id as soon as the command runs, before it is waited for.
    pub on_start: Option<&'a dyn Fn(JobId)>,
}

impl Patience<'_> {
    /// For so long; then the command runs on.
    ///
    /// ```
    /// let patience = legwork_job::Patience::of(std::time::Duration::from_secs(1));
    /// assert!(patience.cancel.is_none());
    /// ```
    pub fn of(limit: Duration) -> Patience<'static> {
        Patience { limit, on_timeout: OnTimeout::Background, cancel: None, on_start: None }
    }
}

impl fmt::Debug for Patience<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limit = &self.limit;
        f.debug_struct("Patience").field("limit", limit).finish_non_exhaustive()
    }
}

/// How much of the output is wanted, and how.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// Which part; all of it as a summary, unless said.
    pub part: Part,
    /// How much of it fits.
    pub budget: Budget,
    /// Folded for reading, or as it came.
    pub folding: Folding,
    /// Only this stream.
    pub stream: Option<Stream>,
    /// Only lines that match.
    pub grep: Option<String>,
    /// Whether to look at its processes: what it waits for, what it listens on.
    pub look: bool,
}

/// Which jobs to list.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only in one of these states; in any, where there is none.
    pub states: Vec<State>,
    /// Of those that have ended, only those that did so within this time.
    pub ended_within: Option<Duration>,
    /// Only of this name.
    pub name: Option<String>,
    /// Only with all of these labels.
    pub labels: BTreeMap<String, String>,
    /// Only of this session and those below it.
    pub session: Option<String>,
    /// Rows of a page; all, unless said.
    pub limit: Option<usize>,
    /// Which page, from 0 on.
    pub page: usize,
    /// Whether to look at the processes of live jobs.
    pub look: bool,
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Page {
    /// Running first, then newest first.
    pub jobs: Vec<Report>,
    /// How many there are in all.
    pub total: usize,
    /// Records that could not be read, each with the reason; the others are unharmed.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub unreadable: Vec<String>,
}

/// What to wait for. The first that happens ends the wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// It ends.
    Exit,
    /// It prints something beyond the cursor.
    Output,
    /// A line of its output beyond the cursor matches.
    Pattern(String),
    /// It listens, on this port or on any.
    Port(Option<u16>),
    /// It prints nothing for so long.
    Quiet(Duration),
    /// It waits for input.
    Input,
}

/// Whether one of several jobs is enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Gather {
    /// The first one.
    Any,
    /// All of them.
    #[default]
    All,
}

/// A wait. A job that ends always ends the wait for it, whatever else was waited for.
#[derive(Debug, Clone)]
pub struct Waiting {
    /// For which jobs.
    pub jobs: Vec<JobId>,
    /// For what.
    pub conditions: Vec<Condition>,
    /// Whether one is enough.
    pub gather: Gather,
    /// For how long; for ever, unless said.
    pub limit: Option<Duration>,
    /// From which cursor on output counts; from now on, unless said.
    pub since: Option<u64>,
    /// How the output is to be shown in the reports.
    pub reading: Reading,
    /// The wait is over at once when this is cancelled.
    pub cancel: Option<CancelToken>,
}

/// Why a wait was over for one job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "met")]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Met {
    /// It has ended.
    Exit,
    /// It printed something.
    Output,
    /// A line matched.
    Pattern {
        /// Where it begins.
        cursor: u64,
        /// The line.
        line: String,
    },
    /// It listens.
    Port {
        /// On which port.
        port: u16,
    },
    /// It was quiet.
    Quiet,
    /// It waits for input.
    Input {
        /// By which evidence.
        blocked_on: BlockedOn,
    },
    /// Nothing of it, when the wait was over: by its time, or by another job.
    Nothing,
}

/// What came of a wait, for one job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Waited {
    /// Which condition.
    #[serde(flatten)]
    pub met: Met,
    /// The job, with its output beyond the cursor.
    pub report: Report,
}

/// Bytes for a job's input.
#[derive(Debug, Clone, Default)]
pub struct Writing {
    /// What to write.
    pub bytes: Vec<u8>,
    /// Whether that is the end of the input.
    pub close: bool,
    /// Writing twice with one request id writes once.
    pub request_id: Option<String>,
}

/// What came of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Written {
    /// How many bytes the job's input has taken.
    pub bytes: u64,
    /// How many more will be given to it when it reads.
    pub queued: u64,
    /// Whether this request had been made before: nothing was written again.
    pub repeated: bool,
}

/// Whom a signal reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reach {
    /// Everyone of the job.
    #[default]
    Tree,
    /// Its first process.
    Leader,
}

/// What was signalled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Signalled {
    /// The signal's name.
    pub signal: String,
    /// Who got it.
    pub processes: Vec<Process>,
}

/// The screen of a job with a terminal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Screen {
    /// The job.
    pub id: JobId,
    /// Its rows, without trailing blanks.
    pub rows: Vec<String>,
    /// The row of the cursor, from 0 on.
    pub cursor_row: u16,
    /// The column of the cursor, from 0 on.
    pub cursor_col: u16,
    /// Whether the cursor is hidden.
    pub cursor_hidden: bool,
    /// The window's title, where one was set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its size.
    pub size: Size,
    /// Where the job is in its life.
    pub state: State,
    /// What it waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked_on: Option<BlockedOn>,
}

/// How a named service came to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Ensured {
    /// It ran already, with the same command.
    Running,
    /// It ran with another command, which was ended.
    Replaced,
    /// It did not run.
    Started,
}

/// Which ended jobs to remove.
#[derive(Debug, Clone, Default)]
pub struct Pruning {
    /// Those that ended longer ago.
    pub older_than: Option<Duration>,
    /// All but the newest so many.
    pub keep: Option<usize>,
    /// The oldest, until the rest takes no more bytes.
    pub max_bytes: Option<u64>,
    /// Only of this session and those below it.
    pub session: Option<String>,
    /// Only tell what would be removed.
    pub dry_run: bool,
}

/// What was removed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Pruned {
    /// Which jobs.
    pub jobs: Vec<JobId>,
    /// How many bytes.
    pub bytes: u64,
}

/// What comes from an attached job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attached {
    /// Its terminal printed this.
    Output(Vec<u8>),
    /// It has ended, or the connection has.
    End,
}

/// A person's terminal on a job's terminal. One thread may read while another writes.
pub trait Attachment: Send + Sync {
    /// Waits for what comes next.
    ///
    /// # Errors
    /// Where the connection breaks.
    fn next(&self) -> io::Result<Attached>;
    /// Types.
    ///
    /// # Errors
    /// Where the connection breaks.
    fn send(&self, bytes: &[u8]) -> io::Result<()>;
    /// The person's terminal has another size now.
    ///
    /// # Errors
    /// Where the connection breaks.
    fn resize(&self, size: Size) -> io::Result<()>;
    /// Ends the connection, so that [`next`](Attachment::next) comes back.
    fn detach(&self);
}

/// The operations on the jobs of one place.
pub trait Place {
    /// Starts a job.
    ///
    /// # Errors
    /// [`JobError::NotStarted`] where the command cannot be run; conflicts of names and requests.
    fn start(&self, spec: &JobSpec) -> Result<Started, JobError>;

    /// Starts a job and waits for it, as long as there is patience; then it runs on or is ended.
    ///
    /// # Errors
    /// As for [`start`](Place::start).
    fn execute(
        &self,
        spec: &JobSpec,
        patience: &Patience<'_>,
        reading: &Reading,
    ) -> Result<Report, JobError>;

    /// The job that a text means: an exact name first, then an id or the beginning of one. Only
    /// those of the session, where one is given.
    ///
    /// # Errors
    /// [`JobError::NotFound`], [`JobError::Ambiguous`].
    fn find(&self, reference: &str, session: Option<&str>) -> Result<JobId, JobError>;

    /// The jobs there are.
    ///
    /// # Errors
    /// Where the place cannot be looked at.
    fn list(&self, filter: &Filter) -> Result<Page, JobError>;

    /// A job and a view of its output.
    ///
    /// # Errors
    /// Where the cursor or the pattern is wrong, or the log damaged.
    fn read(&self, id: JobId, reading: &Reading) -> Result<Report, JobError>;

    /// The raw bytes of the log from a cursor on: at most `most`, nothing at the end.
    ///
    /// # Errors
    /// As for [`read`](Place::read).
    fn bytes(&self, id: JobId, cursor: u64, most: usize) -> Result<crate::log::Piece, JobError>;

    /// Waits until one of the conditions is met, for one job or for all.
    ///
    /// # Errors
    /// As for [`read`](Place::read).
    fn wait(&self, waiting: &Waiting) -> Result<Vec<Waited>, JobError>;

    /// Writes to a job's input.
    ///
    /// # Errors
    /// Where it has none, or has ended.
    fn write(&self, id: JobId, writing: &Writing) -> Result<Written, JobError>;

    /// Sends a signal.
    ///
    /// # Errors
    /// [`JobError::NothingLeft`] where no process is left, survivors included.
    fn signal(&self, id: JobId, signal: Signal, reach: Reach) -> Result<Signalled, JobError>;

    /// Asks the whole tree to end, kills what is left after the grace, and tells how it ended.
    /// Survivors of a job that has ended are ended too.
    ///
    /// # Errors
    /// [`JobError::NothingLeft`] where no process is left.
    fn stop(&self, id: JobId, grace: Option<Duration>) -> Result<Report, JobError>;

    /// A person's terminal on the job's terminal.
    ///
    /// # Errors
    /// Where it has none, or has ended.
    fn attach(&self, id: JobId, size: Option<Size>) -> Result<Box<dyn Attachment>, JobError>;

    /// The screen of a job with a terminal; of one that has ended, the last one.
    ///
    /// # Errors
    /// Where it has none.
    fn screen(&self, id: JobId) -> Result<Screen, JobError>;

    /// A named job that runs this command: the one that does, or a new one, in place of one that
    /// runs another command.
    ///
    /// # Errors
    /// As for [`start`](Place::start); also where the spec has no name.
    fn ensure(&self, spec: &JobSpec) -> Result<(JobId, Ensured), JobError>;

    /// Removes ended jobs. Running ones never.
    ///
    /// # Errors
    /// Where the place cannot be looked at.
    fn prune(&self, pruning: &Pruning) -> Result<Pruned, JobError>;
}

/// The ports of a job, for [`Met::Port`].
pub(crate) fn port_met(listening: &[Listening], wanted: Option<u16>) -> Option<u16> {
    listening
        .iter()
        .map(|socket| socket.port)
        .find(|port| wanted.is_none_or(|wanted| wanted == *port))
}
