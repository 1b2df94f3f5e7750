//! The record: a job's facts on disk.
//!
//! Written once before the command starts, and again for what changes: that it is being ended, how
//! it ended, that its survivors are gone. Replaced by write-then-rename, so that a reader sees one
//! or the other. Values of the environment are never in it, and secrets are overwritten.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use legwork::{Containment, Ending};
use serde::{Deserialize, Serialize};

use crate::error::JobError;
use crate::id::JobId;
use crate::place::Screen;
use crate::report::{Process, State, Used};
use crate::spec::{Input, JobSpec, Size, What};
use crate::state::Identity;
use crate::{secrets::Mask, wire};

/// The format of the record.
pub(crate) const VERSION: u32 = 1;

/// What is kept free in a record for the job's end, so that it can be written on a full disk.
const ROOM: usize = 1024;

/// The files of a job's folder, for whoever removes it.
pub(crate) const FILES: [&str; 8] =
    ["record", "record.new", "log", "index", "found", "found.new", "lock", "socket"];

pub(crate) const RECORD: &str = "record";
pub(crate) const LOCK: &str = "lock";
pub(crate) const SOCKET: &str = "socket";
pub(crate) const FOUND: &str = "found";

/// What a job reads, without the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum InputKind {
    Null,
    Open,
    Bytes,
    File,
}

impl From<&Input> for InputKind {
    fn from(input: &Input) -> InputKind {
        match input {
            Input::Null => InputKind::Null,
            Input::Open => InputKind::Open,
            Input::Bytes(_) => InputKind::Bytes,
            Input::File(_) => InputKind::File,
        }
    }
}

/// How a job ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct End {
    pub(crate) ending: Ending,
    pub(crate) ended_at_ms: u64,
    pub(crate) wall_ms: u64,
    pub(crate) usage: Option<Used>,
    pub(crate) containment: Option<Containment>,
    pub(crate) survivors: Vec<Process>,
    pub(crate) notes: Vec<String>,
    /// The last screen of a job with a terminal.
    pub(crate) screen: Option<Screen>,
}

/// A job's facts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) v: u32,
    pub(crate) id: JobId,
    pub(crate) what: What,
    #[serde(with = "wire::maybe_path")]
    pub(crate) workdir: Option<PathBuf>,
    pub(crate) name: Option<String>,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) session: Option<String>,
    pub(crate) intent: Option<String>,
    pub(crate) request_id: Option<String>,
    /// The variables that the caller set: their names alone.
    pub(crate) env_names: Vec<String>,
    pub(crate) stdin: InputKind,
    pub(crate) terminal: Option<Size>,
    /// The command, its workdir and its environment, as a salted hash.
    pub(crate) fingerprint: String,
    pub(crate) identity: Identity,
    /// The id that its processes carry.
    pub(crate) marker: String,
    pub(crate) started_at_ms: u64,
    pub(crate) state: State,
    pub(crate) end: Option<End>,
}

/// The part of a record that says whether the rest can be read.
#[derive(Deserialize)]
struct Versioned {
    v: u32,
}

impl Record {
    pub(crate) fn new(
        id: JobId,
        spec: &JobSpec,
        mask: &Mask,
        fingerprint: String,
        identity: Identity,
        marker: String,
    ) -> Record {
        let masked = |text: &OsString| OsString::from_vec(mask.bytes(text.as_bytes()));
        let what = match &spec.what {
            What::Argv(argv) => What::Argv(argv.iter().map(masked).collect()),
            What::Shell(line) => What::Shell(masked(line)),
        };
        let names = spec.env.iter().map(|(name, _)| name.to_string_lossy().into_owned());
        Record {
            v: VERSION,
            id,
            what,
            workdir: spec.workdir.clone(),
            name: spec.name.clone(),
            labels: spec.labels.clone(),
            session: spec.session.clone(),
            intent: spec.short_intent().map(|intent| mask.text(&intent)),
            request_id: spec.request_id.clone(),
            env_names: names.collect(),
            stdin: InputKind::from(&spec.stdin),
            terminal: spec.terminal,
            fingerprint,
            identity,
            marker,
            started_at_ms: now_ms(),
            state: State::Starting,
            end: None,
        }
    }

    /// Reads the record in a job's folder.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] where there is none; else what is wrong with it.
    pub(crate) fn load(folder: &Path, id: JobId) -> Result<Record, JobError> {
        let bad = |problem: String| JobError::BadRecord { id, problem };
        let bytes = match fs::read(folder.join(RECORD)) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(JobError::NotFound { reference: id.to_string(), near: Vec::new() });
            }
            Err(error) => return Err(bad(error.to_string())),
        };
        let torn = |error: serde_json::Error| {
            bad(format!("it is damaged ({error}); `legwork prune` removes it"))
        };
        let Versioned { v } = serde_json::from_slice(&bytes).map_err(torn)?;
        if v > VERSION {
            return Err(bad(format!(
                "it has format {v}, this legwork reads up to {VERSION}; use a newer one"
            )));
        }
        let record: Record = serde_json::from_slice(&bytes).map_err(torn)?;
        if record.id != id {
            return Err(bad(format!("it is of another job, {}", record.id)));
        }
        Ok(record)
    }

    /// Replaces the record in a job's folder. On a full disk it is written over in place, without
    /// what can be spared: how the job ended matters more than that a reader may see it torn.
    pub(crate) fn store(&self, folder: &Path) -> io::Result<()> {
        let mut bytes = self.encode();
        if self.end.is_none() {
            // The room that its end will take.
            bytes.resize(bytes.len() + ROOM, b' ');
        }
        let replaced = replace(folder, RECORD, &bytes);
        replaced.or_else(|error| {
            let file = File::options().write(true).open(folder.join(RECORD));
            // The first one is not written over anything: it must be whole or not be.
            let Ok(file) = file else { return Err(error) };
            let room = file.metadata()?.len() as usize;
            let mut lean = self.clone();
            if let Some(end) = &mut lean.end {
                end.screen = None;
                end.notes = vec![format!("the record could not be replaced: {error}")];
                end.survivors.truncate(4);
            }
            let mut bytes = lean.encode();
            // In one write, blanks where the old one was longer.
            bytes.resize(bytes.len().max(room), b' ');
            file.write_all_at(&bytes, 0)
        })
    }

    fn encode(&self) -> Vec<u8> {
        // Plain values and text: it cannot fail.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Whether processes of it may be there.
    pub(crate) fn needs_care(&self) -> bool {
        self.state.is_live() || self.end.as_ref().is_some_and(|end| !end.survivors.is_empty())
    }
}

/// Writes a file beside the old one, then puts it in its place.
pub(crate) fn replace(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let new = folder.join(format!("{name}.new"));
    let written = fs::write(&new, bytes).and_then(|()| fs::rename(&new, folder.join(name)));
    if written.is_err() {
        // What it took is wanted back.
        let _ = fs::remove_file(&new);
    }
    written
}

/// The wall clock, in milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

/// Who supervises a job and which process it is: in the lock file, written when it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Holder {
    pub(crate) supervisor: u32,
    pub(crate) leader: u32,
    pub(crate) leader_start: u64,
}
