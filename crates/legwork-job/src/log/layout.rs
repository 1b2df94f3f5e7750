//! Where a byte of the log lies, and what the index says. Pure.

use std::ops::Range;

use legwork::Stream;

pub(super) const LOG: &str = "log";
pub(super) const INDEX: &str = "index";

const MAGIC: &[u8; 4] = b"LWLG";

/// The format of the index.
pub(super) const VERSION: u32 = 1;

/// The bytes of the header.
pub(super) const HEADER: usize = 48;

/// The bytes of a stretch on file.
pub(super) const STRETCH: usize = 24;

/// Stretches that are kept for ever, and those that are overwritten in turn.
pub(super) const FIRST_STRETCHES: u64 = 4 * 1024;
pub(super) const NEWEST_STRETCHES: u64 = 12 * 1024;

/// What may be written before it is counted, at most.
const UNCOUNTED: u64 = 256 * 1024;

/// What is known of a log without reading it.
///
/// ```
/// use legwork_job::{LogReader, LogWriter};
/// # let directory = tempfile::tempdir().unwrap();
/// LogWriter::create(directory.path(), 64 << 20)?.append(legwork::Stream::Stdout, 0, b"hello");
/// let facts = LogReader::open(directory.path())?.facts()?;
/// assert_eq!((facts.total, facts.lost, facts.dropped()), (5, 0, 0));
/// # Ok::<(), legwork_job::LogError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// The bytes that are kept from the beginning, at most.
    pub head: u64,
    /// The bytes that are kept from the end, at most.
    pub ring: u64,
    /// The cursor of the next byte to come.
    pub total: u64,
    /// Bytes that could not be written, because the disk was full, say. They have no cursor.
    pub lost: u64,
    pub(super) stretches: u64,
}

impl Facts {
    /// The ranges of cursors that can be read.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # legwork_job::LogWriter::create(directory.path(), 64 << 20)?.append(legwork::Stream::Stdout, 0, b"hello");
    /// let facts = legwork_job::LogReader::open(directory.path())?.facts()?;
    /// assert_eq!(facts.kept(), [0..5, 5..5]);
    /// # Ok::<(), legwork_job::LogError>(())
    /// ```
    pub fn kept(&self) -> [Range<u64>; 2] {
        let head = self.head.min(self.total);
        let tail = self.total.saturating_sub(self.ring).max(head);
        [0..head, tail..self.total]
    }

    /// How many bytes between them are gone.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # legwork_job::LogWriter::create(directory.path(), 64 << 20)?;
    /// assert_eq!(legwork_job::LogReader::open(directory.path())?.facts()?.dropped(), 0);
    /// # Ok::<(), legwork_job::LogError>(())
    /// ```
    pub fn dropped(&self) -> u64 {
        let [head, tail] = self.kept();
        tail.start - head.end
    }

    /// Where a byte lies in the file, and how many follow it there without a break. So many may be
    /// written there at once.
    pub(super) fn place(&self, cursor: u64) -> (u64, u64) {
        match cursor.checked_sub(self.head) {
            None => (cursor, self.head - cursor),
            Some(beyond) => {
                let (length, most) = (self.ring + self.spare(), self.spare());
                let at = beyond % length;
                (self.head + at, most.min(length - at))
            }
        }
    }

    /// By so much the ring is longer than what is kept in it: bytes that are being written, and are
    /// not counted yet, lie over such as are gone already, never over such as can be read. A writer
    /// may be killed between the two.
    fn spare(&self) -> u64 {
        self.ring.min(UNCOUNTED)
    }

    pub(super) fn encode(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..4].copy_from_slice(MAGIC);
        bytes[4..8].copy_from_slice(&VERSION.to_le_bytes());
        let numbers = [self.head, self.ring, self.total, self.lost, self.stretches];
        for (place, number) in bytes[8..].chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    /// The facts, or the version of a format that is not known, or what is wrong.
    pub(super) fn decode(bytes: &[u8; HEADER]) -> Result<Facts, Result<u32, String>> {
        if &bytes[..4] != MAGIC {
            return Err(Err("it does not begin as one".into()));
        }
        let version = u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
        if version > VERSION {
            return Err(Ok(version));
        }
        let mut numbers = bytes[8..]
            .chunks_exact(8)
            .map(|number| number.try_into().map_or(0, u64::from_le_bytes));
        let mut next = || numbers.next().unwrap_or(0);
        let (head, ring, total, lost, stretches) = (next(), next(), next(), next(), next());
        if head == 0 || ring == 0 {
            return Err(Err("its sizes are zero".into()));
        }
        Ok(Facts { head, ring, total, lost, stretches })
    }
}

/// From a cursor on: which stream, and since when.
///
/// ```
/// # let directory = tempfile::tempdir().unwrap();
/// # legwork_job::LogWriter::create(directory.path(), 64 << 20)?.append(legwork::Stream::Stderr, 7, b"hello");
/// let stretches = legwork_job::LogReader::open(directory.path())?.stretches()?;
/// assert_eq!((stretches[0].stream, stretches[0].time_ms), (legwork::Stream::Stderr, 7));
/// # Ok::<(), legwork_job::LogError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// Its first byte.
    pub cursor: u64,
    /// Where it was printed.
    pub stream: Stream,
    /// When its first byte came, in milliseconds since the job started.
    pub time_ms: u64,
}

impl Stretch {
    /// Where the stretch of this number lies in the index.
    pub(super) fn place(number: u64) -> u64 {
        let slot = match number.checked_sub(FIRST_STRETCHES) {
            None => number,
            Some(beyond) => FIRST_STRETCHES + beyond % NEWEST_STRETCHES,
        };
        HEADER as u64 + slot * STRETCH as u64
    }

    pub(super) fn encode(&self) -> [u8; STRETCH] {
        let mut bytes = [0; STRETCH];
        bytes[..8].copy_from_slice(&self.cursor.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.time_ms.to_le_bytes());
        bytes[16] = match self.stream {
            Stream::Stdout => 1,
            Stream::Stderr => 2,
        };
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Stretch> {
        let number = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let stream = match bytes.get(16)? {
            1 => Stream::Stdout,
            2 => Stream::Stderr,
            _ => return None,
        };
        Some(Stretch { cursor: number(0)?, time_ms: number(8)?, stream })
    }
}
