//! Somebody who has come to a supervisor: what they ask, and what they wait for.
//!
//! A visitor may be anything that can open a socket. It is read a little at a time, and not at all
//! while it does not take its answers, so that none can make the supervisor large or busy.

use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Instant;

use super::mailbox::Letter;
use crate::protocol::{self, Answer, Kind, Wanted};

/// What may wait to be taken by a visitor before it is sent no more.
const PATIENCE: usize = 8 * 1024 * 1024;

/// What is read from a visitor at a time.
const SIP: usize = 64 * 1024;

/// Answers that wait to be taken, above which no more is asked of us.
const BACKLOG: usize = 256 * 1024;

/// What a visitor waits for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Waits {
    Nothing,
    /// The first of these, or the end.
    For {
        wanted: Wanted,
        blocked_looks: u8,
    },
    /// That the job takes what was written.
    Taken {
        letter: Letter,
        length: u64,
        repeated: bool,
        by: Instant,
    },
    /// That nothing of the job is left.
    Gone,
    /// Nothing: it sees and types.
    Attached,
}

#[derive(Debug)]
pub(super) struct Visitor {
    stream: UnixStream,
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
    sent: usize,
    pub(super) waits: Waits,
    pub(super) left: bool,
    /// When it last said something.
    pub(super) heard: Instant,
}

impl Visitor {
    pub(super) fn new(stream: UnixStream) -> Option<Visitor> {
        stream.set_nonblocking(true).ok()?;
        Some(Visitor {
            stream,
            incoming: Vec::new(),
            outgoing: Vec::new(),
            sent: 0,
            waits: Waits::Nothing,
            left: false,
            heard: Instant::now(),
        })
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    pub(super) fn has_answers(&self) -> bool {
        self.sent < self.outgoing.len()
    }

    /// Whether it has to take answers before it is asked for more.
    pub(super) fn is_behind(&self) -> bool {
        self.outgoing.len() - self.sent > BACKLOG
    }

    /// The bytes of a frame that is not whole yet.
    pub(super) fn begun(&self) -> usize {
        self.incoming.len()
    }

    /// Reads some of what has come.
    pub(super) fn read(&mut self) {
        let mut buffer = [0; 16 * 1024];
        let mut taken = 0;
        while taken < SIP && !self.is_behind() {
            match self.stream.read(&mut buffer) {
                Ok(0) => {
                    self.left = true;
                    break;
                }
                Ok(count) => {
                    self.heard = Instant::now();
                    self.incoming.extend_from_slice(&buffer[..count]);
                    taken += count;
                    if count < buffer.len() {
                        break;
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => {
                    self.left = true;
                    break;
                }
            }
        }
    }

    /// The next frame that is whole, unless there are answers to be taken first.
    pub(super) fn frame(&mut self) -> Option<(Kind, Vec<u8>)> {
        if self.is_behind() {
            return None;
        }
        let frame = protocol::unframe(&mut self.incoming);
        if self.incoming.is_empty() {
            self.incoming = Vec::new();
        }
        frame.unwrap_or_else(|error| {
            let why = error.to_string();
            self.answer(&Answer::NotUnderstood { v: protocol::VERSION, why });
            self.leave();
            None
        })
    }

    /// Is sent away.
    pub(super) fn leave(&mut self) {
        self.left = true;
        self.incoming = Vec::new();
    }

    pub(super) fn answer(&mut self, answer: &Answer) {
        protocol::message(answer, &mut self.outgoing);
        self.write();
    }

    /// Shows what the job's terminal printed.
    pub(super) fn show(&mut self, bytes: &[u8]) {
        protocol::frame(Kind::Bytes, bytes, &mut self.outgoing);
        self.write();
        if self.outgoing.len() - self.sent > PATIENCE {
            self.left = true;
        }
    }

    /// Writes as much as the visitor takes now.
    pub(super) fn write(&mut self) {
        while self.has_answers() {
            match self.stream.write(&self.outgoing[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => {
                    self.left = true;
                    return;
                }
            }
        }
        self.outgoing = Vec::new();
        self.sent = 0;
    }
}
