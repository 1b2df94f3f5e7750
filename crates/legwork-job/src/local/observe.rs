//! What is true of a job now: its record, held against who is alive.
//!
//! A record alone can be wrong: its supervisor may have been killed, the machine restarted, the
//! directory carried to another machine. The lock tells whether the supervisor lives. Whoever finds
//! it free though the record needs care ends what is left and says so on record; the lock is held
//! meanwhile, so that only one does.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use legwork::{Cause, Ending, engine};
use rustix::fs::FlockOperation;
use rustix::io::Errno;

use crate::error::JobError;
use crate::id::JobId;
use crate::record::{End, Holder, LOCK, Record, now_ms};
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
        Whereabouts::Restarted => {
            if record.state.is_live() {
                over(
                    &mut record,
                    Cause::MachineRestarted,
                    "the machine was restarted while it ran",
                );
                record.state = State::Ended;
            } else if let Some(end) = &mut record.end {
                end.survivors.clear();
            }
            return Ok(Observed { record, attended: false });
        }
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
        Hold::Free(file) => settle(&folder, id, file),
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

/// Ends what is left of a job whose supervisor is gone, and says so on record.
fn settle(folder: &Path, id: JobId, lock: File) -> Result<Observed, JobError> {
    let io = |source: io::Error| JobError::Io { what: "lock", path: folder.join(LOCK), source };
    // Another reader may be at it: then this waits until it is done.
    drop(lock);
    let lock = File::options().read(true).write(true).open(folder.join(LOCK)).map_err(io)?;
    loop {
        match rustix::fs::flock(&lock, FlockOperation::LockExclusive) {
            Err(Errno::INTR) => {}
            other => break other.map_err(|error| io(error.into()))?,
        }
    }
    let mut record = Record::load(folder, id)?;
    if !record.needs_care() {
        return Ok(Observed { record, attended: false });
    }
    let leader = holder(folder).map(|holder| (holder.leader, holder.leader_start));
    let ended = engine::end_remnant(&record.marker, leader);
    let note = match &ended {
        Ok(0) => "its supervisor was killed; no process of it was left".to_owned(),
        Ok(1) => "its supervisor was killed; the one process left of it was ended".to_owned(),
        Ok(count) => format!("its supervisor was killed; {count} processes left of it were ended"),
        Err(error) => format!("its supervisor was killed; what it left cannot be seen: {error}"),
    };
    if record.state.is_live() {
        over(&mut record, Cause::SupervisorLost, &note);
        record.state = State::Lost;
    } else if let Some(end) = &mut record.end {
        end.survivors.clear();
        end.notes.push(note);
    }
    // Where the disk is full, whoever looks next finds nothing left to end and says the same.
    let _ = record.store(folder);
    Ok(Observed { record, attended: false })
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

/// A folder without a record: somebody is making a job there, or was killed while doing so. The
/// latter is removed.
pub(crate) fn sweep(state: &StateDir, id: JobId) {
    /// Between making the folder and locking it.
    const BIRTH: Duration = Duration::from_secs(60);
    let folder = state.job_folder(&id);
    // A lock that was free is held until the folder is gone: who makes a job there waits for it.
    let hold = probe(&folder);
    let is_dead = match &hold {
        Ok(Hold::Free(_)) => true,
        Ok(Hold::Missing) => std::fs::metadata(&folder)
            .and_then(|facts| facts.modified())
            .is_ok_and(|at| at.elapsed().is_ok_and(|age| age > BIRTH)),
        Ok(Hold::Supervisor) | Err(_) => false,
    };
    if is_dead && !folder.join(crate::record::RECORD).exists() {
        let _ = crate::state::remove_job_folder(state, &id);
    }
}
