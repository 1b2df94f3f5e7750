//! Reading a job: its report, and a view of its output.

use std::borrow::Cow;
use std::fs;
use std::ops::Range;
use std::time::Duration;

use legwork::Stream;
use legwork_view::{Diagnostics, Found, Part, Request, Source, View, Writing};

use super::line::Line;
use super::observe::{self, Observed};
use super::{Local, compose};
use crate::error::JobError;
use crate::id::JobId;
use crate::log::{LogError, LogReader};
use crate::place::Reading;
use crate::protocol::{Answer, Ask, Facts};
use crate::record::FOUND;
use crate::report::Report;

/// How long whoever reads waits for what only the supervisor knows.
const GLANCE: Duration = Duration::from_secs(2);

/// A log as a view sees it: as it was when it was opened.
struct Log<'a> {
    reader: &'a LogReader,
    total: u64,
    kept: Vec<Range<u64>>,
}

impl Source for Log<'_> {
    fn total(&self) -> u64 {
        self.total
    }

    fn kept(&self) -> Vec<Range<u64>> {
        self.kept.clone()
    }

    fn read(&self, range: Range<u64>) -> Cow<'_, [u8]> {
        let length = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        match self.reader.read(range.start, length) {
            Ok(piece) if piece.dropped == 0 => piece.bytes.into(),
            // Dropped since, or damaged: what cannot be read counts as elided.
            Ok(_) | Err(_) => Cow::Borrowed(&[]),
        }
    }
}

/// Whether the record has to be read again: its supervisor has gone since, or has told an end that
/// was put on record meanwhile.
pub(super) fn is_news(observed: &Observed, live: Option<&Facts>) -> bool {
    live.is_none_or(|facts| observed.state().is_live() && !facts.state.is_live())
}

impl Local {
    pub(super) fn observe(&self, id: JobId) -> Result<Observed, JobError> {
        observe::observe(&self.state, id)
    }

    /// What the supervisor knows; `None` where it has gone.
    pub(super) fn facts(&self, id: JobId, look: bool) -> Result<Option<Facts>, JobError> {
        let patience = self.patience.min(GLANCE);
        let asked = Line::to(&self.state.job_folder(&id), id, patience)
            .and_then(|line| line.map(|mut line| line.ask(&Ask::Facts { look })).transpose());
        match asked {
            Ok(Some(Some(Answer::Facts(facts)))) => Ok(Some(facts)),
            Ok(_) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) fn read_job(&self, id: JobId, reading: &Reading) -> Result<Report, JobError> {
        let mut observed = self.observe(id)?;
        let mut live = None;
        let mut silent = None;
        if observed.attended {
            live = match self.facts(id, reading.look) {
                // What is on disk can be read without it.
                Err(error @ JobError::Unreachable { .. }) => {
                    silent = Some(error.to_string());
                    None
                }
                other => other?,
            };
            if is_news(&observed, live.as_ref()) {
                observed = self.observe(id)?;
            }
        }
        let reader = self.log(id)?;
        let facts = reader.facts()?;
        let mut report = compose::report(&observed, Some(facts), live);
        let view = self.view(id, &reader, reading, report.running)?;
        report.output = Some(view.text);
        report.cursor = Some(view.next);
        report.truncated = view.truncated;
        let unsearched = (reading.grep.is_some() && facts.dropped() > 0)
            .then(|| format!("{} bytes were dropped and not searched", facts.dropped()));
        let notes: Vec<String> = report.note.into_iter().chain(silent).chain(unsearched).collect();
        report.note = (!notes.is_empty()).then(|| notes.join("; "));
        Ok(report)
    }

    fn view(
        &self,
        id: JobId,
        reader: &LogReader,
        reading: &Reading,
        running: bool,
    ) -> Result<View, JobError> {
        let facts = reader.facts()?;
        let mut request = Request::new().budget(reading.budget).folding(reading.folding);
        request = request.writing(if running { Writing::GoesOn } else { Writing::Ended });
        if let Some(pattern) = &reading.grep {
            request = request.grep(pattern)?;
        }
        if let Some(stream) = reading.stream {
            return one_stream(reader, &request, reading.part, stream);
        }
        let log = Log { reader, total: facts.total, kept: facts.kept().to_vec() };
        // Damage is an error, not an empty view.
        if let Some(last) = log.kept.iter().rev().find(|range| !range.is_empty()) {
            reader.read(last.end - 1, 1)?;
        }
        let fits = facts.total <= reading.budget.bytes() as u64;
        let found = if fits { None } else { self.found(id, &log) };
        Ok(request.part(reading.part).view(&log, found.as_ref())?)
    }

    /// The diagnostics that the supervisor kept; of one that was killed, what a search finds.
    fn found(&self, id: JobId, log: &Log<'_>) -> Option<Found> {
        let path = self.state.job_folder(&id).join(FOUND);
        if let Ok(bytes) = fs::read(path) {
            return serde_json::from_slice(&bytes).ok();
        }
        let mut diagnostics = Diagnostics::new();
        for range in &log.kept {
            let mut cursor = range.start;
            while cursor < range.end {
                let to = range.end.min(cursor + (1 << 20));
                let bytes = log.read(cursor..to);
                if bytes.is_empty() {
                    break;
                }
                diagnostics.push(cursor, &bytes);
                cursor += bytes.len() as u64;
            }
        }
        Some(diagnostics.found())
    }
}

/// The view of what one stream printed. Its cursors count that stream's bytes from the cursor that
/// was asked for; the cursor to go on from is the log's.
fn one_stream(
    reader: &LogReader,
    request: &Request,
    part: Part,
    stream: Stream,
) -> Result<View, JobError> {
    let facts = reader.facts()?;
    let (from, part) = match part {
        Part::Since(cursor) => (cursor, Part::Whole),
        Part::From(cursor) => (cursor, Part::Head),
        Part::Between(from, _) => (from, Part::Head),
        other => (0, other),
    };
    if from > facts.total {
        return Err(LogError::BeyondTheEnd { cursor: from, total: facts.total }.into());
    }
    let stretches = reader.stretches()?;
    let mut bytes = Vec::new();
    // Which byte of the log each run of them began with.
    let mut runs: Vec<(usize, u64)> = Vec::new();
    for (index, stretch) in stretches.iter().enumerate().filter(|(_, s)| s.stream == stream) {
        let end = stretches.get(index + 1).map_or(facts.total, |next| next.cursor);
        let mut cursor = stretch.cursor.max(from);
        while cursor < end {
            let piece = reader.read(cursor, usize::try_from(end - cursor).unwrap_or(usize::MAX))?;
            // Dropped bytes may reach beyond this stretch.
            let within = end.saturating_sub(piece.cursor) as usize;
            runs.push((bytes.len(), piece.cursor));
            bytes.extend_from_slice(&piece.bytes[..piece.bytes.len().min(within)]);
            if piece.bytes.is_empty() {
                break;
            }
            cursor = piece.next;
        }
    }
    let mut view = request.clone().part(part).of(&bytes)?;
    let shown = usize::try_from(view.next).unwrap_or(usize::MAX);
    view.next = match runs.iter().rev().find(|(start, _)| *start <= shown) {
        Some((start, cursor)) if shown < bytes.len() => cursor + (shown - start) as u64,
        _ => facts.total,
    };
    Ok(view)
}
