//! The one who writes.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use legwork::Stream;

use super::LogError;
use super::layout::{Facts, INDEX, LOG, Stretch};

/// What is kept from the beginning, at most.
const HEAD: u64 = 4 * 1024 * 1024;

/// The smallest log: less would be no log.
const SMALLEST: u64 = 64 * 1024;

/// Output of one stream within so many milliseconds is one stretch.
const SAME_STRETCH_MS: u64 = 100;

/// Writes the log of one job.
///
/// ```
/// use legwork_job::{LogReader, LogWriter};
/// # let directory = tempfile::tempdir().unwrap();
/// let mut writer = LogWriter::create(directory.path(), 64 << 20)?;
/// writer.append(legwork::Stream::Stdout, 0, b"hello\n");
/// assert_eq!(LogReader::open(directory.path())?.read(0, 100)?.bytes, b"hello\n");
/// # Ok::<(), legwork_job::LogError>(())
/// ```
#[derive(Debug)]
pub struct LogWriter {
    log: File,
    index: File,
    facts: Facts,
    last: Option<Stretch>,
    trouble: Option<String>,
}

impl LogWriter {
    /// Makes the log in a job's folder. A limit of less than 64 KiB is taken as 64 KiB; of a small
    /// one, half is kept from the beginning.
    ///
    /// # Errors
    /// Where the files cannot be made.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// assert!(legwork_job::LogWriter::create(directory.path(), 0).is_ok());
    /// ```
    pub fn create(folder: impl AsRef<Path>, limit: u64) -> Result<LogWriter, LogError> {
        let limit = limit.max(SMALLEST);
        let head = HEAD.min(limit / 2);
        LogWriter::with_sizes(folder, head, limit - head)
    }

    pub(super) fn with_sizes(
        folder: impl AsRef<Path>,
        head: u64,
        ring: u64,
    ) -> Result<LogWriter, LogError> {
        let make = |name: &str| -> Result<File, LogError> {
            let path: PathBuf = folder.as_ref().join(name);
            let file = File::options().write(true).create(true).truncate(true).open(&path);
            file.map_err(|source| LogError::Io { what: "make", path, source })
        };
        let facts = Facts { head, ring, total: 0, lost: 0, stretches: 0 };
        let (log, index) = (make(LOG)?, make(INDEX)?);
        let mut writer = LogWriter { log, index, facts, last: None, trouble: None };
        let begun = writer.index.write_all_at(&facts.encode(), 0);
        writer.note(begun);
        Ok(writer)
    }

    /// The cursor of the next byte.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// assert_eq!(legwork_job::LogWriter::create(directory.path(), 0)?.cursor(), 0);
    /// # Ok::<(), legwork_job::LogError>(())
    /// ```
    pub fn cursor(&self) -> u64 {
        self.facts.total
    }

    /// What went wrong first, if something did: the job runs on, and its report says so.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// assert_eq!(legwork_job::LogWriter::create(directory.path(), 0)?.trouble(), None);
    /// # Ok::<(), legwork_job::LogError>(())
    /// ```
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// Adds what one stream printed, so many milliseconds after the job's start. What cannot be
    /// written is counted as lost.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// let mut writer = legwork_job::LogWriter::create(directory.path(), 0)?;
    /// writer.append(legwork::Stream::Stderr, 5, b"oops\n");
    /// assert_eq!(writer.cursor(), 5);
    /// # Ok::<(), legwork_job::LogError>(())
    /// ```
    pub fn append(&mut self, stream: Stream, time_ms: u64, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.begin_stretch(stream, time_ms);
        let mut rest = bytes;
        while !rest.is_empty() {
            let (at, room) = self.facts.place(self.facts.total);
            let (now, later) =
                rest.split_at(rest.len().min(usize::try_from(room).unwrap_or(usize::MAX)));
            if let Err(error) = self.log.write_all_at(now, at) {
                self.facts.lost += rest.len() as u64;
                self.note(Err(error));
                break;
            }
            self.facts.total += now.len() as u64;
            rest = later;
            if !rest.is_empty() {
                self.count();
            }
        }
        self.count();
    }

    /// After the bytes: a reader never counts on one that is not there.
    fn count(&mut self) {
        let counted = self.index.write_all_at(&self.facts.encode(), 0);
        self.note(counted);
    }

    fn begin_stretch(&mut self, stream: Stream, time_ms: u64) {
        let goes_on = self.last.is_some_and(|last| {
            last.stream == stream && time_ms.saturating_sub(last.time_ms) < SAME_STRETCH_MS
        });
        if goes_on {
            return;
        }
        let stretch = Stretch { cursor: self.facts.total, stream, time_ms };
        // Nothing was written since the last one began: it is overwritten, not followed.
        let number = match self.last {
            Some(last) if last.cursor == stretch.cursor => self.facts.stretches - 1,
            _ => self.facts.stretches,
        };
        let written = self.index.write_all_at(&stretch.encode(), Stretch::place(number));
        self.note(written);
        self.facts.stretches = number + 1;
        self.last = Some(stretch);
    }

    fn note(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            self.trouble.get_or_insert_with(|| format!("the log cannot be written: {error}"));
        }
    }
}
