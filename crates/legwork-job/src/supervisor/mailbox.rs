//! What is written to the job's input, in order, each request once.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::io::Errno;

/// How many request ids are remembered.
const REMEMBERED: usize = 1024;

/// What may wait to be read by the job.
pub(super) const CAPACITY: usize = 64 * 1024 * 1024;

/// A writer gets its answer after so long, also where the job has not taken everything.
const PATIENCE: Duration = Duration::from_secs(1);

/// The key that says "end of input" on a terminal in line mode.
const END_OF_INPUT: u8 = 4;

/// A letter's number.
pub(super) type Letter = u64;

#[derive(Debug)]
struct Pending {
    number: Letter,
    bytes: Vec<u8>,
    taken: usize,
}

/// How a letter stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Standing {
    pub(super) taken: u64,
    pub(super) queued: u64,
}

#[derive(Debug)]
struct Known {
    request: String,
    number: Letter,
    length: u64,
    digest: u64,
}

/// What a write came to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Posted {
    New(Letter),
    Repeated(Letter),
    /// The input was closed before, by a request or by the job.
    Closed,
    /// The request id was used for other bytes.
    Different,
    /// More would be waiting than is kept.
    Full,
}

#[derive(Debug)]
pub(super) struct Mailbox {
    fd: Option<OwnedFd>,
    is_terminal: bool,
    queue: VecDeque<Pending>,
    queued: usize,
    next: Letter,
    known: VecDeque<Known>,
    close_after: bool,
    /// Whether the last line that was typed has no end.
    unfinished: bool,
    /// How much of a letter was taken that could not be delivered whole.
    undelivered: Vec<(Letter, Standing)>,
}

impl Mailbox {
    pub(super) fn new(fd: Option<OwnedFd>, is_terminal: bool) -> Mailbox {
        Mailbox {
            fd,
            is_terminal,
            queue: VecDeque::new(),
            queued: 0,
            next: 0,
            known: VecDeque::new(),
            close_after: false,
            unfinished: false,
            undelivered: Vec::new(),
        }
    }

    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.fd.as_ref().map(AsFd::as_fd)
    }

    /// The descriptor to watch, while something waits to be written.
    pub(super) fn wants_to_write(&self) -> Option<BorrowedFd<'_>> {
        self.fd().filter(|_| !self.queue.is_empty())
    }

    pub(super) fn post(
        &mut self,
        mut bytes: Vec<u8>,
        close: bool,
        request: Option<String>,
    ) -> Posted {
        if let Some(request) = &request
            && let Some(known) = self.known.iter().find(|known| known.request == *request)
        {
            let same = known.digest == digest(&bytes, close);
            return if same { Posted::Repeated(known.number) } else { Posted::Different };
        }
        if self.fd.is_none() || self.close_after {
            return Posted::Closed;
        }
        if self.queued + bytes.len() > CAPACITY {
            return Posted::Full;
        }
        let number = self.next;
        self.next += 1;
        if let Some(request) = request {
            if self.known.len() == REMEMBERED {
                self.known.pop_front();
            }
            self.known.push_back(Known {
                request,
                number,
                length: bytes.len() as u64,
                digest: digest(&bytes, close),
            });
        }
        if let Some(last) = bytes.last() {
            self.unfinished = !matches!(last, b'\n' | b'\r' | &END_OF_INPUT);
        }
        if close && self.is_terminal {
            // In line mode the first one ends an unfinished line, the next one the input.
            let keys = if std::mem::take(&mut self.unfinished) { 2 } else { 1 };
            bytes.extend([END_OF_INPUT; 2].iter().take(keys));
        } else if close {
            self.close_after = true;
        }
        self.queued += bytes.len();
        self.queue.push_back(Pending { number, bytes, taken: 0 });
        self.push();
        Posted::New(number)
    }

    /// Writes as much as the job takes now.
    pub(super) fn push(&mut self) {
        while let Some(first) = self.queue.front_mut() {
            let rest = &first.bytes[first.taken..];
            let Some(fd) = &self.fd else { break };
            if !rest.is_empty() {
                match rustix::io::write(fd, rest) {
                    Ok(count) => {
                        first.taken += count;
                        self.queued -= count;
                        continue;
                    }
                    Err(Errno::INTR) => continue,
                    Err(Errno::AGAIN) => return,
                    // Nobody reads any more.
                    Err(_) => {
                        self.close();
                        return;
                    }
                }
            }
            self.queue.pop_front();
        }
        if self.close_after && self.queue.is_empty() {
            self.fd = None;
        }
    }

    /// Nothing more can be delivered.
    pub(super) fn close(&mut self) {
        self.fd = None;
        for pending in self.queue.drain(..) {
            let standing = Standing { taken: pending.taken as u64, queued: 0 };
            self.undelivered.push((pending.number, standing));
        }
        self.queued = 0;
    }

    /// How a letter stands; `length` is what it had.
    pub(super) fn standing(&self, number: Letter, length: u64) -> Standing {
        if let Some((_, standing)) = self.undelivered.iter().find(|(other, _)| *other == number) {
            return *standing;
        }
        match self.queue.iter().find(|pending| pending.number == number) {
            Some(pending) => {
                let taken = (pending.taken as u64).min(length);
                Standing { taken, queued: length - taken }
            }
            None => Standing { taken: length, queued: 0 },
        }
    }

    /// How long a remembered letter was.
    pub(super) fn length(&self, number: Letter) -> Option<u64> {
        self.known.iter().find(|known| known.number == number).map(|known| known.length)
    }
}

/// Enough to tell a repeated request from another one.
fn digest(bytes: &[u8], close: bool) -> u64 {
    let mut hasher = DefaultHasher::new();
    (bytes, close).hash(&mut hasher);
    hasher.finish()
}

/// When somebody who has written is answered at the latest.
pub(super) fn answer_by() -> Instant {
    Instant::now() + PATIENCE
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn pipe() -> (std::io::PipeReader, Mailbox) {
        let (read, write) = std::io::pipe().unwrap();
        let fd = OwnedFd::from(write);
        rustix::io::ioctl_fionbio(&fd, true).unwrap();
        (read, Mailbox::new(Some(fd), false))
    }

    #[test]
    fn a_request_is_written_once_and_the_order_is_kept() {
        let (mut read, mut mailbox) = pipe();
        assert_eq!(mailbox.post(b"one ".to_vec(), false, Some("a".into())), Posted::New(0));
        assert_eq!(mailbox.post(b"one ".to_vec(), false, Some("a".into())), Posted::Repeated(0));
        assert_eq!(mailbox.post(b"other".to_vec(), false, Some("a".into())), Posted::Different);
        assert_eq!(mailbox.post(b"two".to_vec(), true, None), Posted::New(1));
        assert_eq!(mailbox.post(b"late".to_vec(), false, None), Posted::Closed);
        let mut text = String::new();
        read.read_to_string(&mut text).unwrap();
        assert_eq!(text, "one two");
        assert_eq!(mailbox.standing(0, 4), Standing { taken: 4, queued: 0 });
    }

    #[test]
    fn what_is_not_taken_waits_and_is_counted() {
        let (mut read, mut mailbox) = pipe();
        let big = vec![b'x'; 1 << 20];
        assert_eq!(mailbox.post(big, true, None), Posted::New(0));
        let standing = mailbox.standing(0, 1 << 20);
        assert!(standing.taken > 0 && standing.queued > 0, "{standing:?}");
        let reader = std::thread::spawn(move || {
            let mut all = Vec::new();
            read.read_to_end(&mut all).unwrap();
            all.len()
        });
        while mailbox.wants_to_write().is_some() {
            mailbox.push();
        }
        assert_eq!(reader.join().unwrap(), 1 << 20);
        assert_eq!(mailbox.standing(0, 1 << 20), Standing { taken: 1 << 20, queued: 0 });
    }

    #[test]
    fn a_reader_that_is_gone_closes_it() {
        let (read, mut mailbox) = pipe();
        drop(read);
        assert_eq!(mailbox.post(b"hello".to_vec(), false, None), Posted::New(0));
        assert_eq!(mailbox.standing(0, 5), Standing { taken: 0, queued: 0 });
        assert_eq!(mailbox.post(b"again".to_vec(), false, None), Posted::Closed);
    }

    #[test]
    fn only_the_last_requests_are_remembered() {
        let (mut read, mut mailbox) = pipe();
        for number in 0..=REMEMBERED {
            mailbox.post(b"x".to_vec(), false, Some(number.to_string()));
        }
        assert!(matches!(mailbox.post(b"x".to_vec(), false, Some("0".into())), Posted::New(_)));
        assert!(matches!(
            mailbox.post(b"x".to_vec(), false, Some("5".into())),
            Posted::Repeated(_)
        ));
        mailbox.close();
        let mut all = Vec::new();
        read.read_to_end(&mut all).unwrap();
        assert_eq!(all.len(), REMEMBERED + 2);
    }
}
