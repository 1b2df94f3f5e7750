//! Lines that match a pattern, each with its cursor.
//!
//! The one view that searches. It goes through the kept bytes of its part in pieces, so that
//! memory stays small, and stops when the budget is full: reading on at the next cursor goes on
//! with the search.

use regex::Regex;

use crate::compose::truncation;
use crate::fold::{Folding, Line, Runs, fold_runs};
use crate::gap::{Absence, Gap, Width};
use crate::source::{Source, Window};
use crate::view::{Strategy, View};

const PIECE: u64 = 64 * 1024;

pub(crate) fn matching<S: Source + ?Sized>(
    window: &Window<'_, S>,
    pattern: &Regex,
    budget: usize,
    folding: Folding,
) -> View {
    let mut view =
        View { text: String::new(), truncated: None, next: window.range.end, gaps: Vec::new() };
    let mut search = Search {
        pattern,
        room: budget,
        line_limit: (budget / 4).clamp(64, 2048),
        shown: Vec::new(),
    };
    let more = |at: u64| format!("[… searched up to cursor {at}; read on there …]\n");
    if Width::for_budget(budget) != Width::Silent {
        search.room = search.room.saturating_sub(more(window.range.end).len());
    }
    let mut stopped = None;
    'search: for (stretch, readable) in window.stretches(window.range.clone()) {
        if !readable {
            continue;
        }
        let mut at = stretch.start;
        let mut size = PIECE;
        while at < stretch.end {
            let end = stretch.end.min(at + size);
            let bytes = window.read(at..end);
            let whole = match memchr::memrchr(b'\n', &bytes) {
                Some(feed) if end < stretch.end => feed + 1,
                // A line larger than a piece is looked for in a larger one, up to a limit.
                None if end < stretch.end && size < 16 * PIECE => {
                    size *= 4;
                    continue;
                }
                _ => bytes.len(),
            };
            if whole == 0 {
                break;
            }
            size = PIECE;
            for line in fold_runs(&bytes[..whole], at, folding, Runs::Apart) {
                if let Err(cursor) = search.line(line, &mut view.text) {
                    stopped = Some(cursor);
                    break 'search;
                }
            }
            at += whole as u64;
        }
    }
    if let Some(at) = stopped {
        view.next = at;
        if Width::for_budget(budget) != Width::Silent {
            view.text.push_str(&more(at));
        }
    }
    view.gaps = gaps(window, search.shown);
    view.truncated = truncation(window, &view.gaps, Strategy::Grep);
    view
}

struct Search<'a> {
    pattern: &'a Regex,
    room: usize,
    line_limit: usize,
    shown: Vec<Line>,
}

impl Search<'_> {
    /// The cursor to go on at, where there is no more room.
    fn line(&mut self, mut line: Line, text: &mut String) -> Result<(), u64> {
        if !self.pattern.is_match(&line.text) {
            return Ok(());
        }
        let cursor = line.source.start;
        line.shorten(self.line_limit);
        let label = format!("{cursor}: ");
        let cost = label.len() + line.cost();
        if cost > self.room {
            return Err(cursor);
        }
        self.room -= cost;
        text.push_str(&label);
        text.push_str(&line.text);
        text.push('\n');
        line.text = String::new();
        self.shown.push(line);
        Ok(())
    }
}

/// What lies between the shown lines.
fn gaps<S: Source + ?Sized>(window: &Window<'_, S>, shown: Vec<Line>) -> Vec<Gap> {
    let mut gaps = Vec::new();
    let mut at = window.range.start;
    let between = |from: u64, to: u64, gaps: &mut Vec<Gap>| {
        for (range, readable) in window.stretches(from..to) {
            let absence = if readable { Absence::Elided } else { Absence::Dropped };
            gaps.push(Gap {
                start: range.start,
                end: range.end,
                bytes: range.end - range.start,
                lines: None,
                absence,
            });
        }
    };
    for line in shown {
        between(at, line.source.start, &mut gaps);
        if line.cut > 0 {
            let (start, end) = (line.source.start, line.source.end);
            gaps.push(Gap {
                start,
                end,
                bytes: line.cut.min(end - start),
                lines: Some(0),
                absence: Absence::Elided,
            });
        }
        at = line.source.end;
    }
    between(at, window.range.end, &mut gaps);
    gaps
}

#[cfg(test)]
mod tests {
    use crate::{Budget, Part, Request, Strategy};

    #[test]
    fn a_search_goes_on_where_it_stopped() {
        let output: String = (0..9000).map(|n| format!("line {n}\n")).collect();
        let request = Request::new().budget(Budget::Bytes(512)).grep("7$").unwrap();
        let (mut at, mut found) = (0, 0);
        while at < output.len() as u64 {
            let view = request.clone().part(Part::From(at)).of(output.as_bytes()).unwrap();
            assert!(view.text.len() <= 512 && view.next > at);
            for line in view.text.lines().filter(|line| !line.starts_with('[')) {
                let (cursor, text) = line.split_once(": ").unwrap();
                let cursor: usize = cursor.parse().unwrap();
                assert!(output[cursor..].starts_with(text));
                found += 1;
            }
            assert_eq!(view.truncated.unwrap().strategy, Strategy::Grep);
            at = view.next;
        }
        assert_eq!(found, 900);
    }

    #[test]
    fn a_bad_pattern_is_refused() {
        let error = Request::new().grep("(").unwrap_err();
        assert!(error.to_string().starts_with("\"(\" is not a regular expression"));
    }
}
