//! The log: everything a job prints, in order of arrival, up to a limit, addressed by cursor.
//!
//! Two files, never more, whatever the size (deleting many files makes creating new ones slow).
//! `log` holds the first 4 MiB as they came and, behind them, a ring of the newest; `index` holds
//! a header with the number of bytes written, and a list of stretches: from which cursor on, which
//! stream, since when. A cursor is a byte's number; where it lies is arithmetic, so that reading at
//! a cursor costs the same in a log of any size, and nothing is searched.
//!
//! One process writes, any number read, without a word between them. The writer puts the bytes in
//! place, then the count: what a reader was given under a cursor is on file, also after the writer
//! was killed. The ring is a little longer than what is kept in it, so that what is being written
//! never lies over what can be read. A reader that was overtaken by the ring notices it by the count and says how much
//! is gone.

mod layout;
mod reader;
mod writer;

use std::path::PathBuf;

pub use layout::{Facts, Stretch};
pub use reader::{LogReader, Piece};
pub use writer::LogWriter;

/// Why a log cannot be read or made.
///
/// ```
/// let error = legwork_job::LogReader::open("/no/such/job").unwrap_err();
/// assert!(matches!(error, legwork_job::LogError::Io { .. }));
/// ```
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The system said no.
    #[error("{what} {path:?}: {source}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The index is not one, or was damaged.
    #[error("{path:?} is no log index: {problem}")]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// Written by a newer legwork.
    #[error("{path:?} has format {found}, this legwork reads up to {known}; use a newer one")]
    FromTheFuture {
        /// Which file.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The newest that is known here.
        known: u32,
    },
    /// A cursor that no byte has had yet.
    #[error("cursor {cursor} is beyond the end of the log, which is at {total}; read from there")]
    BeyondTheEnd {
        /// The cursor that was asked for.
        cursor: u64,
        /// The cursor of the next byte to come.
        total: u64,
    },
    /// The file holds less than the index says.
    #[error("{path:?} was cut short: bytes from cursor {cursor} on are missing")]
    CutShort {
        /// Which file.
        path: PathBuf,
        /// From where on.
        cursor: u64,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use legwork::Stream;
    use proptest::prelude::*;

    /// All that is kept, by cursor: what was dropped in front of each piece, and the bytes.
    fn read_all(reader: &LogReader, step: usize) -> Vec<(u64, Vec<u8>)> {
        let mut pieces = Vec::new();
        let mut cursor = 0;
        loop {
            let piece = reader.read(cursor, step).unwrap();
            if piece.bytes.is_empty() {
                return pieces;
            }
            cursor = piece.next;
            pieces.push((piece.dropped, piece.bytes));
        }
    }

    proptest! {
        #[test]
        fn head_and_newest_are_kept_and_the_rest_is_counted(
            writes in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..50), 0..60),
            head in 1u64..40,
            ring in 1u64..60,
            step in 1usize..40,
        ) {
            let directory = tempfile::tempdir().unwrap();
            let mut writer = LogWriter::with_sizes(directory.path(), head, ring).unwrap();
            let all = writes.concat();
            for write in &writes {
                writer.append(Stream::Stdout, 0, write);
            }
            let reader = LogReader::open(directory.path()).unwrap();
            let facts = reader.facts().unwrap();
            let total = all.len() as u64;
            prop_assert_eq!(facts.total, total);
            let tail_from = total.saturating_sub(ring).max(head.min(total));
            let kept = [&all[..head.min(total) as usize], &all[tail_from as usize..]].concat();
            let pieces = read_all(&reader, step);
            prop_assert_eq!(pieces.iter().flat_map(|(_, b)| b.clone()).collect::<Vec<u8>>(), kept);
            let dropped: u64 = pieces.iter().map(|(dropped, _)| dropped).sum();
            prop_assert_eq!(dropped, tail_from - head.min(total));
            prop_assert_eq!(dropped, facts.dropped());
        }
    }

    #[test]
    fn a_writer_killed_before_it_counts_has_spoilt_nothing() {
        use std::os::unix::fs::FileExt;
        let directory = tempfile::tempdir().unwrap();
        let mut writer = LogWriter::with_sizes(directory.path(), 4, 8).unwrap();
        let file = std::fs::File::options().write(true).open(directory.path().join("log")).unwrap();
        let reader = LogReader::open(directory.path()).unwrap();
        for round in 0..40u8 {
            writer.append(Stream::Stdout, 0, &[b'a' + round % 26; 3]);
            let facts = reader.facts().unwrap();
            let before = read_all(&reader, 5);
            // As much as it may write at once.
            let (at, room) = facts.place(facts.total);
            file.write_all_at(&vec![b'X'; room as usize], at).unwrap();
            assert_eq!(read_all(&reader, 5), before, "round {round}");
        }
    }

    #[test]
    fn a_cursor_into_a_dropped_range_reads_on_and_one_beyond_the_end_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = LogWriter::with_sizes(directory.path(), 4, 4).unwrap();
        writer.append(Stream::Stdout, 0, b"0123456789");
        let reader = LogReader::open(directory.path()).unwrap();
        let piece = reader.read(5, 100).unwrap();
        assert_eq!(
            (piece.dropped, piece.cursor, &piece.bytes[..], piece.next),
            (1, 6, &b"6789"[..], 10)
        );
        let end = reader.read(10, 100).unwrap();
        assert!(end.bytes.is_empty() && end.next == 10);
        let error = reader.read(11, 100).unwrap_err();
        assert!(matches!(error, LogError::BeyondTheEnd { cursor: 11, total: 10 }));
    }

    #[test]
    fn streams_and_times_are_known() {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = LogWriter::with_sizes(directory.path(), 1000, 1000).unwrap();
        writer.append(Stream::Stdout, 1_000, b"out");
        writer.append(Stream::Stdout, 1_010, b"more");
        writer.append(Stream::Stderr, 1_020, b"err");
        writer.append(Stream::Stderr, 9_000, b"late");
        let reader = LogReader::open(directory.path()).unwrap();
        let seen: Vec<(u64, Stream, u64)> =
            reader.stretches().unwrap().iter().map(|s| (s.cursor, s.stream, s.time_ms)).collect();
        let expected =
            [(0, Stream::Stdout, 1_000), (7, Stream::Stderr, 1_020), (10, Stream::Stderr, 9_000)];
        assert_eq!(seen, expected);
    }

    #[test]
    fn stretches_are_bounded_and_the_first_and_newest_stay() {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = LogWriter::with_sizes(directory.path(), 1 << 20, 1 << 20).unwrap();
        for turn in 0..40_000u64 {
            let stream = if turn % 2 == 0 { Stream::Stdout } else { Stream::Stderr };
            writer.append(stream, turn, b"x");
        }
        let reader = LogReader::open(directory.path()).unwrap();
        let stretches = reader.stretches().unwrap();
        assert!(stretches.len() < 40_000);
        assert_eq!(stretches.first().unwrap().cursor, 0);
        assert_eq!(stretches.last().unwrap().cursor, 39_999);
        assert!(stretches.windows(2).all(|pair| pair[0].cursor < pair[1].cursor));
    }

    #[test]
    fn a_log_outlives_its_writer() {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = LogWriter::with_sizes(directory.path(), 4, 8).unwrap();
        writer.append(Stream::Stdout, 0, b"0123456789");
        drop(writer);
        assert_eq!(LogReader::open(directory.path()).unwrap().facts().unwrap().total, 10);
    }

    #[test]
    fn damage_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = LogWriter::with_sizes(directory.path(), 100, 100).unwrap();
        writer.append(Stream::Stdout, 0, &[b'x'; 50]);
        let open = || LogReader::open(directory.path());
        std::fs::File::options()
            .write(true)
            .open(directory.path().join("log"))
            .unwrap()
            .set_len(20)
            .unwrap();
        assert_eq!(open().unwrap().read(0, 10).unwrap().bytes.len(), 10);
        let error = open().unwrap().read(0, 100).unwrap_err();
        assert!(matches!(error, LogError::CutShort { cursor: 20, .. }), "{error}");
        let index = directory.path().join("index");
        let mut bytes = std::fs::read(&index).unwrap();
        bytes[4] = 99;
        std::fs::write(&index, &bytes).unwrap();
        assert!(matches!(open().unwrap_err(), LogError::FromTheFuture { found: 99, .. }));
        std::fs::write(&index, b"short").unwrap();
        assert!(matches!(open().unwrap_err(), LogError::Damaged { .. }));
    }

    #[test]
    fn a_full_disk_is_counted_and_the_log_goes_on() {
        let directory = tempfile::tempdir().unwrap();
        // Every write to the log itself fails there, and the index works.
        std::os::unix::fs::symlink("/dev/full", directory.path().join("log")).unwrap();
        let mut writer = LogWriter::with_sizes(directory.path(), 10, 10).unwrap();
        writer.append(Stream::Stdout, 0, b"hello");
        let facts = LogReader::open(directory.path()).unwrap().facts().unwrap();
        assert_eq!((facts.total, facts.lost), (0, 5));
        assert!(writer.trouble().unwrap().contains("No space left"));
    }
}
