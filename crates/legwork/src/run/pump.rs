//! Moves what the processes print: reads it, keeps it, passes it on, tells it line by line.

use std::os::fd::AsFd;

use super::forward::Forward;
use super::life::Event;
use super::machine::Machine;
use super::plumbing::Source;
use crate::lines::{Line, Splitter};
use crate::sys::io::{self as sysio, Got};

/// One read. A larger buffer would leave the fast cache.
const READ: usize = 64 * 1024;

/// Reads of one output in one turn, at most: the others, and the clock, want their turn too.
const READS_A_TURN: usize = 16;

impl Machine {
    /// Reads one output until it is empty or has had its share of this turn.
    pub(super) fn read(&mut self, index: usize) {
        let mut buffer = std::mem::take(&mut self.buffer);
        if buffer.capacity() == 0 {
            buffer.reserve_exact(READ);
        }
        for _ in 0..READS_A_TURN {
            let Some(fd) = &self.sources[index].fd else {
                break;
            };
            match sysio::read(fd.as_fd(), buffer.spare_capacity_mut()) {
                Got::Bytes(bytes) => {
                    let came_back_full = bytes.len() == READ;
                    self.take(index, bytes);
                    let source = &mut self.sources[index];
                    if !came_back_full || source.is_blocked() {
                        break;
                    }
                    if let Some(fd) =
                        source.fd.as_ref().filter(|_| source.is_pipe && !source.enlarged)
                    {
                        sysio::enlarge(fd.as_fd());
                        source.enlarged = true;
                    }
                }
                Got::Nothing => break,
                Got::End => {
                    self.end_of(index);
                    break;
                }
            }
        }
        self.buffer = buffer;
    }

    /// Bytes of one output: kept, passed on, told line by line.
    fn take(&mut self, index: usize, bytes: &[u8]) {
        let source = &mut self.sources[index];
        let stream = source.stream;
        source.owed = source.owed.saturating_sub(bytes.len() as u64);
        if let Some(forward) = &mut source.forward {
            forward.take(bytes);
        }
        if let Some(supervised) = &self.options.supervised {
            supervised.sink.take(stream, bytes);
        } else if source.capture {
            if let Some(capture) = &mut self.captures[stream as usize] {
                capture.write(bytes);
            }
            self.order.note(stream, bytes.len() as u64);
        }
        if let Some(mut splitter) = source.splitter.take() {
            splitter.push(bytes, |line| self.tell(line));
            self.sources[index].splitter = Some(splitter);
        }
        // After the callbacks: their time is not the command's silence.
        self.life.on(Event::Output, self.clock.now());
    }

    pub(super) fn tell(&self, line: Line) {
        if let Some(callback) = &self.options.on_line {
            callback.call(&line);
        }
        if let Some(shared) = &self.shared {
            shared.push_line(line);
        }
    }

    /// An output has ended; what it has to pass on may still be pending.
    fn end_of(&mut self, index: usize) {
        let source = &mut self.sources[index];
        source.owed = 0;
        self.retired.extend(source.fd.take());
        if let Some(last) = source.splitter.as_mut().and_then(Splitter::finish) {
            self.tell(last);
        }
    }

    pub(super) fn look_at_pipes(&mut self) {
        for index in (0..self.sources.len()).rev() {
            if self.sources[index].fd.is_none() && !self.sources[index].is_pending() {
                let source = self.sources.swap_remove(index);
                self.part_with(source.forward);
            }
        }
        let waits_for_others = self.sources.iter().any(Source::is_blocked)
            || self.shared.as_ref().is_some_and(|shared| shared.is_full());
        if waits_for_others {
            // It is we who do not read: that is no silence of the command's.
            self.life.on(Event::Output, self.clock.now());
        }
        let settled = self.sources.iter().all(|s| s.owed == 0 && !s.is_pending());
        if settled && !self.settled && self.leaders_gone() {
            self.settled = true;
            self.act(Event::Settled);
        }
        if self.sources.is_empty() && !self.closed {
            self.closed = true;
            self.act(Event::PipesClosed);
        }
    }

    pub(super) fn part_with(&mut self, forward: Option<Forward>) {
        if let Some(forward) = forward {
            self.notes.extend(forward.complaint());
            self.retired.push(forward.fd);
        }
    }
}
