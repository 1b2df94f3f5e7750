//! What is true of a job now: its record, held against who is alive.
//!
//! A record alone can be wrong: its supervisor may have been killed, the machine restarted, the
//! directory carried to another machine. The lock tells whether the supervisor lives. Whoever finds
//! it free though the record needs care ends what is left and says so on record, one after another:
//! the folder itself is locked meanwhile. (Were it the supervisor's own lock, others would take
//! whoever sets things right for a supervisor.)

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use legwork::{Cause, Ending, engine};
use rustix::fs::FlockOperation;
use rustix::io::Errno;

use crate::error::JobError;
use crate::id::JobId;
use crate::record::{End, Holder, LOCK, RECORD, Record, now_ms};
use crate::report::State;
use crate::state::{Identity, StateDir, Whereabouts, compare};

/// A job as it is now.
#[derive(Debug)]
pub(crate) struct Observed {
    pub(crate) record: Record,
    /// Whether its supervisor lives and can be asked.
    pub(crate) attended: bool,
}

impl Observed {
    pub(crate) fn state(&self) -> State {
        self.record.state
    }
}

/// Who has the lock.
enum Hold {
    Supervisor,
    /// Nobody; it is ours, shared with other readers.
    Free(File),
    /// There is none.
    Missing,
}

fn probe(folder: &Path) -> io::Result<Hold> {
    let file = match File::options().read(true).write(true).open(folder.join(LOCK)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Hold::Missing),
        Err(error) => return Err(error),
    };
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(Hold::Free(file)),
        Err(Errno::WOULDBLOCK) => Ok(Hold::Supervisor),
        Err(error) => Err(error.into()),
    }
}

/// Whether a job is live, or is just being made. Cheap, and changes nothing.
pub(crate) fn is_live(state: &StateDir, id: JobId) -> bool {
    let folder = state.job_folder(&id);
    match probe(&folder) {
        Ok(Hold::Supervisor) => {
            Record::load(&folder, id).map_or(true, |record| record.state.is_live())
        }
        Ok(Hold::Free(_) | Hold::Missing) => false,
        // Not being able to look is no proof that it is gone.
        Err(_) => folder.exists(),
    }
}

/// Whether a supervisor holds the job's lock, whatever its record says.
pub(crate) fn is_held(state: &StateDir, id: JobId) -> bool {
    matches!(probe(&state.job_folder(&id)), Ok(Hold::Supervisor))
}

/// Looks at a job, and sets right what nobody looks after any more.
pub(crate) fn observe(state: &StateDir, id: JobId) -> Result<Observed, JobError> {
    let folder = state.job_folder(&id);
    let mut record = Record::load(&folder, id)?;
    if !record.needs_care() {
        return Ok(Observed { record, attended: false });
    }
    match compare(&record.identity, Identity::here()?) {
        Whereabouts::Here => {}
        Whereabouts::Restarted => return settle(&folder, id, restarted),
        Whereabouts::Elsewhere => {
            record.state = if record.state.is_live() { State::Elsewhere } else { record.state };
            return Ok(Observed { record, attended: false });
        }
    }
    let io = |source| JobError::Io { what: "lock", path: folder.join(LOCK), source };
    match probe(&folder).map_err(io)? {
        Hold::Supervisor => {
            if record.state == State::Starting && holder(&folder).is_some() {
                record.state = State::Running;
            }
            Ok(Observed { record, attended: true })
        }
        // Nobody can take it any more while we have it.
        Hold::Free(_lock) => settle(&folder, id, |record| lost(&folder, record)),
        Hold::Missing => {
            over(&mut record, Cause::SupervisorLost, "its lock file is missing");
            record.state = State::Lost;
            Ok(Observed { record, attended: false })
        }
    }
}

pub(crate) fn holder(folder: &Path) -> Option<Holder> {
    let mut text = Vec::new();
    File::open(folder.join(LOCK)).ok()?.take(4096).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

/// Sets the record right of a job that nobody looks after.
fn settle(
    folder: &Path,
    id: JobId,
    set_right: impl FnOnce(&mut Record),
) -> Result<Observed, JobError> {
    let io = |source: io::Error| JobError::Io { what: "lock", path: folder.to_owned(), source };
    // Another reader may be at it: then this waits until it is done.
    let lock = File::open(folder).map_err(io)?;
    rustix::io::retry_on_intr(|| rustix::fs::flock(&lock, FlockOperation::LockExclusive))
        .map_err(|error| io(error.into()))?;
    let mut record = Record::load(folder, id)?;
    if record.needs_care() {
        set_right(&mut record);
        // Where the disk is full, whoever looks next finds nothing left to end and says the same.
        let _ = record.store(folder);
    }
    Ok(Observed { record, attended: false })
}

/// Of another boot: none of its processes is there, whoever has their pids by now.
fn restarted(record: &mut Record) {
    if record.state.is_live() {
        over(record, Cause::MachineRestarted, "the machine was restarted while it ran");
        record.state = State::Ended;
    } else if let Some(end) = &mut record.end {
        end.survivors.clear();
    }
}

/// Its supervisor is gone: what is left of it is ended.
fn lost(folder: &Path, record: &mut Record) {
    let leader = holder(folder).map(|holder| (holder.leader, holder.leader_start));
    let ended = engine::end_remnant(&record.marker, leader);
    let note = match &ended {
        Ok(0) => "its supervisor was killed; no process of it was left".to_owned(),
        Ok(1) => "its supervisor was killed; the one process left of it was ended".to_owned(),
        Ok(count) => format!("its supervisor was killed; {count} processes left of it were ended"),
        Err(error) => format!("its supervisor was killed; what it left cannot be seen: {error}"),
    };
    if record.state.is_live() {
        over(record, Cause::SupervisorLost, &note);
        record.state = State::Lost;
    } else if let Some(end) = &mut record.end {
        end.survivors.clear();
        end.notes.push(note);
    }
}

/// It is over, and how cannot be told.
fn over(record: &mut Record, cause: Cause, note: &str) {
    let ended_at_ms = now_ms();
    record.end = Some(End {
        ending: Ending::new(cause, None),
        ended_at_ms,
        wall_ms: ended_at_ms.saturating_sub(record.started_at_ms),
        usage: None,
        containment: None,
        survivors: Vec::new(),
        notes: vec![note.to_owned()],
        screen: None,
    });
}

/// Whether a job is, or is becoming one, in a supervisor's hands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Birth {
    /// Nobody is at it, and it has no record: there is no such job.
    Never,
    /// It may still fail.
    UnderWay,
    /// There is a job, whatever became of it.
    Done,
}

/// How far the birth of a job is.
pub(crate) fn birth(state: &StateDir, id: JobId) -> Birth {
    let folder = state.job_folder(&id);
    match probe(&folder) {
        Ok(Hold::Supervisor) if holder(&folder).is_some() => Birth::Done,
        Ok(Hold::Supervisor) => Birth::UnderWay,
        Ok(Hold::Free(_) | Hold::Missing) if folder.join(RECORD).exists() => Birth::Done,
        Ok(Hold::Free(_) | Hold::Missing) => Birth::Never,
        Err(_) if folder.exists() => Birth::UnderWay,
        Err(_) => Birth::Never,
    }
}

/// Held by those who make a folder and lock it, so that nobody takes it for an abandoned one in
/// between.
pub(crate) fn making(jobs: &Path) -> io::Result<File> {
    let lock = File::open(jobs)?;
    rustix::io::retry_on_intr(|| rustix::fs::flock(&lock, FlockOperation::LockShared))?;
    Ok(lock)
}

/// A folder without a record: somebody is making a job there, or was killed while doing so. The
/// latter is removed.
pub(crate) fn sweep(state: &StateDir, id: JobId) {
    let folder = state.job_folder(&id);
    let is_dead = || {
        matches!(probe(&folder), Ok(Hold::Free(_) | Hold::Missing)) && !folder.join(RECORD).exists()
    };
    if !is_dead() {
        return;
    }
    // Seen again while nobody is between making a folder and locking it.
    let Some(Ok(lock)) = folder.parent().map(File::open) else {
        return;
    };
    let alone = rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok();
    if alone && is_dead() {
        let _ = crate::state::remove_job_folder(state, &id);
    }
}
