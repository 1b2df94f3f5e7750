//! Those who read, while it is written or long after.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::LogError;
use super::layout::{
    FIRST_STRETCHES, Facts, HEADER, INDEX, LOG, NEWEST_STRETCHES, STRETCH, Stretch, VERSION,
};

/// A part of the log, as it was asked for or as much of it as there is.
///
/// ```
/// # let directory = tempfile::tempdir().unwrap();
/// # legwork_job::LogWriter::create(directory.path(), 0)?.append(legwork::Stream::Stdout, 0, b"hello");
/// let piece = legwork_job::LogReader::open(directory.path())?.read(1, 3)?;
/// assert_eq!((piece.cursor, piece.next, piece.dropped), (1, 4, 0));
/// assert_eq!(piece.bytes, b"ell");
/// # Ok::<(), legwork_job::LogError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The cursor of its first byte.
    pub cursor: u64,
    /// Bytes between the cursor that was asked for and this one, which are gone.
    pub dropped: u64,
    /// What there is; nothing at the end of the log.
    pub bytes: Vec<u8>,
    /// The cursor to go on from.
    pub next: u64,
}

/// Reads the log of one job.
///
/// ```
/// # let directory = tempfile::tempdir().unwrap();
/// # legwork_job::LogWriter::create(directory.path(), 0)?;
/// let reader = legwork_job::LogReader::open(directory.path())?;
/// assert!(reader.read(0, 1024)?.bytes.is_empty());
/// # Ok::<(), legwork_job::LogError>(())
/// ```
#[derive(Debug)]
pub struct LogReader {
    log: File,
    index: File,
    log_path: PathBuf,
    index_path: PathBuf,
}

impl LogReader {
    /// Opens the log in a job's folder.
    ///
    /// # Errors
    /// Where there is none, or its index cannot be read.
    ///
    /// ```
    /// assert!(legwork_job::LogReader::open("/no/such/folder").is_err());
    /// ```
    pub fn open(folder: impl AsRef<Path>) -> Result<LogReader, LogError> {
        let open = |path: &PathBuf| {
            File::open(path).map_err(|source| LogError::Io {
                what: "open",
                path: path.clone(),
                source,
            })
        };
        let (log_path, index_path) = (folder.as_ref().join(LOG), folder.as_ref().join(INDEX));
        let reader =
            LogReader { log: open(&log_path)?, index: open(&index_path)?, log_path, index_path };
        reader.facts()?;
        Ok(reader)
    }

    /// How much there is, now.
    ///
    /// # Errors
    /// Where the index is damaged or from a newer version.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # legwork_job::LogWriter::create(directory.path(), 0)?;
    /// assert_eq!(legwork_job::LogReader::open(directory.path())?.facts()?.total, 0);
    /// # Ok::<(), legwork_job::LogError>(())
    /// ```
    pub fn facts(&self) -> Result<Facts, LogError> {
        let path = || self.index_path.clone();
        let mut header = self.header()?;
        // The writer may be at it: what reads the same twice was not half written.
        loop {
            let again = self.header()?;
            if again == header {
                break;
            }
            header = again;
        }
        Facts::decode(&header).map_err(|problem| match problem {
            Ok(found) => LogError::FromTheFuture { path: path(), found, known: VERSION },
            Err(problem) => LogError::Damaged { path: path(), problem },
        })
    }

    fn header(&self) -> Result<[u8; HEADER], LogError> {
        let mut header = [0; HEADER];
        self.index.read_exact_at(&mut header, 0).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => LogError::Damaged {
                path: self.index_path.clone(),
                problem: "it is too short".into(),
            },
            _ => LogError::Io { what: "read", path: self.index_path.clone(), source: error },
        })?;
        Ok(header)
    }

    /// Up to `most` bytes from a cursor on, without a break. In a dropped range it reads on from
    /// the next kept byte, and says how many are gone.
    ///
    /// # Errors
    /// [`LogError::BeyondTheEnd`] for a cursor that no byte has had yet.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # legwork_job::LogWriter::create(directory.path(), 0)?.append(legwork::Stream::Stdout, 0, b"hello");
    /// let reader = legwork_job::LogReader::open(directory.path())?;
    /// assert_eq!(reader.read(0, 2)?.bytes, b"he");
    /// assert!(reader.read(6, 2).is_err());
    /// # Ok::<(), legwork_job::LogError>(())
    /// ```
    pub fn read(&self, cursor: u64, most: usize) -> Result<Piece, LogError> {
        let mut facts = self.facts()?;
        if cursor > facts.total {
            return Err(LogError::BeyondTheEnd { cursor, total: facts.total });
        }
        let mut bytes = Vec::new();
        loop {
            let [head, tail] = facts.kept();
            let from = if head.contains(&cursor) { cursor } else { cursor.max(tail.start) };
            let end = if head.contains(&from) { head.end } else { tail.end };
            let count = end.saturating_sub(from).min(most as u64) as usize;
            bytes.resize(count, 0);
            let mut done = 0;
            while done < count {
                let (at, unbroken) = facts.place(from + done as u64);
                let now = usize::try_from(unbroken).unwrap_or(usize::MAX).min(count - done);
                self.read_at(&mut bytes[done..done + now], at, from + done as u64)?;
                done += now;
            }
            // While we read, the ring may have come round to where we were.
            facts = self.facts()?;
            let [head, tail] = facts.kept();
            if count == 0 || head.contains(&from) || from >= tail.start {
                let next = from + count as u64;
                return Ok(Piece { cursor: from, dropped: from - cursor, bytes, next });
            }
        }
    }

    fn read_at(&self, bytes: &mut [u8], at: u64, cursor: u64) -> Result<(), LogError> {
        let mut done = 0;
        while done < bytes.len() {
            match self.log.read_at(&mut bytes[done..], at + done as u64) {
                Ok(0) => {
                    let cursor = cursor + done as u64;
                    return Err(LogError::CutShort { path: self.log_path.clone(), cursor });
                }
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => {
                    return Err(LogError::Io { what: "read", path: self.log_path.clone(), source });
                }
            }
        }
        Ok(())
    }

    /// Which stream printed what, and when: the first stretches and the newest, in order.
    ///
    /// # Errors
    /// Where the index cannot be read.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # legwork_job::LogWriter::create(directory.path(), 0)?;
    /// assert!(legwork_job::LogReader::open(directory.path())?.stretches()?.is_empty());
    /// # Ok::<(), legwork_job::LogError>(())
    /// ```
    pub fn stretches(&self) -> Result<Vec<Stretch>, LogError> {
        let facts = self.facts()?;
        let first = 0..facts.stretches.min(FIRST_STRETCHES);
        let newest =
            facts.stretches.saturating_sub(NEWEST_STRETCHES).max(first.end)..facts.stretches;
        let mut stretches: Vec<Stretch> = Vec::new();
        for number in first.chain(newest) {
            let mut bytes = [0; STRETCH];
            if self.index.read_exact_at(&mut bytes, Stretch::place(number)).is_err() {
                break;
            }
            // One that was overwritten meanwhile is out of order, and is left out.
            let in_order = |stretch: &Stretch| {
                stretches.last().is_none_or(|last| last.cursor < stretch.cursor)
            };
            if let Some(stretch) = Stretch::decode(&bytes).filter(in_order) {
                stretches.push(stretch);
            }
        }
        Ok(stretches)
    }
}
