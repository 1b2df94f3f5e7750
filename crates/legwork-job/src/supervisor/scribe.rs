//! Writes down what the job prints: masked, into the log, its diagnostics remembered, and on a
//! screen where the job has a terminal.

use std::path::Path;
use std::time::{Duration, Instant};

use legwork::Stream;
use legwork_view::Diagnostics;

use super::screen::Display;
use crate::log::LogWriter;
use crate::record;
use crate::secrets::Mask;
use crate::spec::{OnLogLimit, Size};

/// What may be the beginning of a secret is held back so long at most: a prompt that happens to
/// end in the same letter has to be seen.
const HOLD: Duration = Duration::from_secs(1);

/// A log up to this size is searched by who reads it where no diagnostics are on disk; for a larger
/// one it is on disk, too, that there are none.
const SEARCHED: u64 = 1024 * 1024;

/// What of the output is kept for those who watch and have not taken it yet.
const WATCHED: usize = 1024 * 1024;

pub(super) struct Scribe {
    log: LogWriter,
    masks: [Mask; 2],
    diagnostics: Option<Diagnostics>,
    /// How many diagnostics there were when they were last written to disk.
    stored: Option<u64>,
    display: Option<Display>,
    limit: u64,
    on_limit: OnLogLimit,
    start: Instant,
    pub(super) last_output: Instant,
    /// What was printed since it was last taken, while somebody watches.
    watched: Option<Vec<u8>>,
}

impl Scribe {
    pub(super) fn new(
        log: LogWriter,
        mask: Mask,
        terminal: Option<Size>,
        limit: u64,
        on_limit: OnLogLimit,
    ) -> Scribe {
        let start = Instant::now();
        Scribe {
            log,
            masks: [mask.clone(), mask],
            diagnostics: None,
            stored: None,
            display: terminal.map(Display::new),
            limit,
            on_limit,
            start,
            last_output: start,
            watched: None,
        }
    }

    pub(super) fn take(&mut self, stream: Stream, bytes: &[u8]) {
        self.last_output = Instant::now();
        let mut mask = std::mem::replace(&mut self.masks[stream as usize], Mask::none());
        mask.push(bytes, |bytes| self.write(stream, bytes));
        self.masks[stream as usize] = mask;
    }

    /// Writes what was held back.
    pub(super) fn flush(&mut self) {
        for stream in [Stream::Stdout, Stream::Stderr] {
            let mut mask = std::mem::replace(&mut self.masks[stream as usize], Mask::none());
            mask.flush(|bytes| self.write(stream, bytes));
            self.masks[stream as usize] = mask;
        }
    }

    /// When what is held back is due.
    pub(super) fn due(&self) -> Option<Instant> {
        self.masks.iter().any(Mask::is_holding).then(|| self.last_output + HOLD)
    }

    fn write(&mut self, stream: Stream, bytes: &[u8]) {
        let time_ms = self.start.elapsed().as_millis() as u64;
        let cursor = self.log.cursor();
        self.log.append(stream, time_ms, bytes);
        self.diagnostics.get_or_insert_with(Diagnostics::new).push(cursor, bytes);
        if let Some(display) = &mut self.display {
            display.show(bytes);
        }
        if let Some(watched) = &mut self.watched {
            watched.extend_from_slice(bytes);
            // Who does not look for so long sees the screen as it is then.
            if watched.len() > WATCHED {
                watched.clear();
                if let Some(display) = &self.display {
                    watched.extend_from_slice(&display.redrawn());
                }
            }
        }
    }

    pub(super) fn cursor(&self) -> u64 {
        self.log.cursor()
    }

    /// Whether more was printed than is kept, and that is to end the job.
    pub(super) fn is_over_limit(&self) -> bool {
        self.on_limit == OnLogLimit::Terminate && self.log.cursor() > self.limit
    }

    /// What went wrong with the log, if something did.
    pub(super) fn trouble(&self) -> Option<&str> {
        self.log.trouble()
    }

    /// Puts the diagnostics into the job's folder, where there are new ones.
    pub(super) fn store_diagnostics(&mut self, folder: &Path) {
        let Some(diagnostics) = &self.diagnostics else {
            return;
        };
        let count = diagnostics.count();
        let is_known = count == 0 && self.log.cursor() <= SEARCHED;
        if is_known || self.stored == Some(count) {
            return;
        }
        // Without them a reader searches what is left of the log.
        if let Ok(bytes) = serde_json::to_vec(&diagnostics.found())
            && record::replace(folder, record::FOUND, &bytes).is_ok()
        {
            self.stored = Some(count);
        }
    }

    pub(super) fn display(&mut self) -> Option<&mut Display> {
        self.display.as_mut()
    }

    /// From now on, what is printed is kept for those who watch.
    pub(super) fn watch(&mut self, watch: bool) {
        match (watch, &self.watched) {
            (true, None) => self.watched = Some(Vec::new()),
            (false, Some(_)) => self.watched = None,
            (true, Some(_)) | (false, None) => {}
        }
    }

    pub(super) fn take_watched(&mut self) -> Vec<u8> {
        self.watched.as_mut().map(std::mem::take).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn that_a_large_log_has_no_diagnostics_is_on_disk_too() {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path();
        let log = LogWriter::create(folder, 8 << 20).unwrap();
        let mut scribe = Scribe::new(log, Mask::none(), None, 8 << 20, OnLogLimit::Drop);
        let is_stored = || folder.join(record::FOUND).exists();
        scribe.take(Stream::Stdout, b"all is well\n");
        scribe.store_diagnostics(folder);
        assert!(!is_stored());
        scribe.take(Stream::Stdout, &b"all is well\n".repeat(100_000));
        scribe.store_diagnostics(folder);
        assert!(is_stored());
    }
}
