//! What is said between a supervisor and those who come to it.
//!
//! Frames: one byte for the kind, four for the length, then JSON or plain bytes. A caller asks, the
//! supervisor answers; a question it does not know it answers with an error, so that the two may be
//! a version apart. After `attach`, bytes flow in both directions.

use std::io::{self, Read, Write};
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::evidence::{BlockedOn, Listening};
use crate::id::JobId;
use crate::place::{Reach, Screen};
use crate::report::{Process, State};
use crate::spec::{JobSpec, Size};
use crate::wire;

/// The version of the protocol.
pub(crate) const VERSION: u32 = 1;

/// The longest frame: an input of a few megabytes still fits.
pub(crate) const LONGEST: usize = 16 * 1024 * 1024;

const HEADER: usize = 5;

/// What a frame holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Json,
    Bytes,
}

/// Adds a frame to a buffer.
pub(crate) fn frame(kind: Kind, payload: &[u8], to: &mut Vec<u8>) {
    to.push(match kind {
        Kind::Json => b'J',
        Kind::Bytes => b'B',
    });
    to.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    to.extend_from_slice(payload);
}

/// Adds a message to a buffer.
pub(crate) fn message(value: &impl Serialize, to: &mut Vec<u8>) {
    // Plain values and text: it cannot fail.
    frame(Kind::Json, &serde_json::to_vec(value).unwrap_or_default(), to);
}

/// Takes the first whole frame out of a buffer; `None` while there is none.
///
/// # Errors
/// Where what is there can be no frame.
pub(crate) fn unframe(from: &mut Vec<u8>) -> io::Result<Option<(Kind, Vec<u8>)>> {
    let Some(header) = from.first_chunk::<HEADER>() else {
        return Ok(None);
    };
    let (kind, length) = parse_header(*header)?;
    if from.len() < HEADER + length {
        return Ok(None);
    }
    let payload = from[HEADER..HEADER + length].to_vec();
    from.drain(..HEADER + length);
    Ok(Some((kind, payload)))
}

fn parse_header(header: [u8; HEADER]) -> io::Result<(Kind, usize)> {
    let invalid = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    let [kind, length @ ..] = header;
    let kind = match kind {
        b'J' => Kind::Json,
        b'B' => Kind::Bytes,
        other => return Err(invalid(format!("a frame of the unknown kind {other}"))),
    };
    let length = u32::from_le_bytes(length) as usize;
    if length > LONGEST {
        return Err(invalid(format!("a frame of {length} bytes; the longest has {LONGEST}")));
    }
    Ok((kind, length))
}

/// Reads one frame, waiting for it.
pub(crate) fn receive(from: &mut impl Read) -> io::Result<(Kind, Vec<u8>)> {
    let mut header = [0; HEADER];
    from.read_exact(&mut header)?;
    let (kind, length) = parse_header(header)?;
    let mut payload = vec![0; length];
    from.read_exact(&mut payload)?;
    Ok((kind, payload))
}

/// Reads one message, waiting for it.
pub(crate) fn receive_message<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<T> {
    let (_, payload) = receive(from)?;
    serde_json::from_slice(&payload).map_err(io::Error::from)
}

/// Sends one message.
pub(crate) fn send(value: &impl Serialize, to: &mut impl Write) -> io::Result<()> {
    let mut bytes = Vec::new();
    message(value, &mut bytes);
    to.write_all(&bytes)
}

/// What a new supervisor is told.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Birth {
    pub(crate) v: u32,
    #[serde(with = "wire::path")]
    pub(crate) state_dir: PathBuf,
    pub(crate) spec: JobSpec,
    pub(crate) fingerprint: String,
}

/// What it answers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Born {
    Started {
        id: JobId,
    },
    /// The request id was used for the same command.
    Existing {
        id: JobId,
    },
    NameTaken {
        name: String,
        id: JobId,
    },
    RequestReused {
        request: String,
        id: JobId,
    },
    NotStarted {
        message: String,
        ending: legwork::Ending,
    },
    /// Something on legwork's side.
    Failed {
        why: String,
    },
}

/// What is asked of a supervisor.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "op")]
pub(crate) enum Ask {
    /// What is it doing? With `look`, its processes are looked at.
    Facts {
        look: bool,
    },
    /// Tell me when the first of these happens.
    Wait(Wanted),
    Write {
        #[serde(with = "wire::bytes")]
        bytes: Vec<u8>,
        close: bool,
        request_id: Option<String>,
    },
    Signal {
        signal: i32,
        reach: Reach,
    },
    /// Answered when nothing of it is left.
    Stop {
        why: Why,
        grace_ms: Option<u64>,
    },
    Screen,
    /// From here on, bytes are typed; JSON is a new [`Size`].
    Attach {
        size: Option<Size>,
    },
}

/// Why a job is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Why {
    Request,
    Deadline,
}

/// What a waiter waits for, beside the end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Wanted {
    /// Output beyond this cursor.
    pub(crate) output: Option<u64>,
    /// A port: this one, or any with 0.
    pub(crate) port: Option<u16>,
    pub(crate) quiet_ms: Option<u64>,
    pub(crate) input: bool,
}

/// What a supervisor answers.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub(crate) enum Answer {
    Facts(Facts),
    Met {
        met: WhatMet,
    },
    Written {
        bytes: u64,
        queued: u64,
        repeated: bool,
    },
    Signalled {
        processes: Vec<Process>,
    },
    Stopped,
    Screen(Screen),
    Attached,
    /// What was asked cannot be done with this job.
    NotPossible {
        why: String,
        hint: String,
    },
    /// No process is left.
    NothingLeft,
    /// The question is unknown, or made no sense.
    NotUnderstood {
        v: u32,
        why: String,
    },
}

/// What a supervisor knows now.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Facts {
    pub(crate) state: State,
    pub(crate) cursor: u64,
    pub(crate) blocked_on: Option<BlockedOn>,
    pub(crate) listening: Vec<Listening>,
    pub(crate) processes: Vec<Process>,
}

/// Which condition was met first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WhatMet {
    Exit,
    Output,
    Port(u16),
    Quiet,
    Input(BlockedOn),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_survive_being_cut() {
        let mut bytes = Vec::new();
        message(&Ask::Facts { look: true }, &mut bytes);
        frame(Kind::Bytes, b"typed", &mut bytes);
        let mut buffer = Vec::new();
        let mut seen = Vec::new();
        for byte in bytes {
            buffer.push(byte);
            seen.extend(unframe(&mut buffer).unwrap());
        }
        assert!(buffer.is_empty());
        assert_eq!(seen[0].0, Kind::Json);
        assert_eq!(seen[1], (Kind::Bytes, b"typed".to_vec()));
    }

    #[test]
    fn nonsense_is_refused_and_not_waited_for() {
        assert!(unframe(&mut b"GET / HTTP/1.1".to_vec()).is_err());
        assert!(unframe(&mut vec![b'J', 0xff, 0xff, 0xff, 0xff]).is_err());
    }
}
