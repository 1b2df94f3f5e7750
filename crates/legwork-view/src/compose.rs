//! Chosen lines as one text, with a marker wherever something is missing between them.

use crate::fold::Line;
use crate::gap::{Absence, Gap, Hole, Width};
use crate::source::{Source, Window};
use crate::view::{Strategy, Truncation, View};

/// A line that will be shown.
#[derive(Debug, Clone)]
pub(crate) struct Shown {
    pub(crate) line: Line,
    /// How many line feeds came before it, where that is known.
    pub(crate) number: Option<u64>,
}

/// `shown` is in order and does not overlap. `numbers`: the line feeds before the start and
/// before the end of the window, where known.
pub(crate) fn compose<S: Source + ?Sized>(
    window: &Window<'_, S>,
    shown: impl IntoIterator<Item = Shown>,
    numbers: (Option<u64>, Option<u64>),
    width: Width,
    strategy: Strategy,
) -> View {
    let mut view =
        View { text: String::new(), truncated: None, next: window.range.end, gaps: Vec::new() };
    let mut at = window.range.start;
    let mut number = numbers.0;
    for Shown { line, number: line_number } in shown {
        if line.source.start > at {
            let lines = line_number.zip(number).and_then(|(to, from)| to.checked_sub(from));
            add_hole(&mut view, Hole::new(window, at..line.source.start, lines), width);
        }
        number = line_number.map(|number| number + line.feeds);
        at = line.source.end;
        line.render(&mut view.text);
        if line.cut > 0 {
            view.gaps.push(cut_gap(window, &line));
        }
    }
    if at < window.range.end {
        let lines = numbers.1.zip(number).and_then(|(to, from)| to.checked_sub(from));
        add_hole(&mut view, Hole::new(window, at..window.range.end, lines), width);
    }
    view.truncated = truncation(window, &view.gaps, strategy);
    view
}

fn add_hole(view: &mut View, hole: Hole, width: Width) {
    if !view.text.is_empty() && !view.text.ends_with('\n') {
        view.text.push('\n');
    }
    view.text.push_str(&hole.marker(width));
    view.gaps.extend(hole.into_gaps());
}

/// The middle of a line: its range is that of the line, since folding has moved its bytes.
fn cut_gap<S: Source + ?Sized>(window: &Window<'_, S>, line: &Line) -> Gap {
    let readable = window.kept_at(line.source.start).is_some();
    Gap {
        start: line.source.start,
        end: line.source.end,
        bytes: line.cut.min(line.source.end - line.source.start),
        lines: Some(0),
        absence: if readable { Absence::Elided } else { Absence::Dropped },
    }
}

pub(crate) fn truncation<S: Source + ?Sized>(
    window: &Window<'_, S>,
    gaps: &[Gap],
    strategy: Strategy,
) -> Option<Truncation> {
    let original_bytes = window.range.end - window.range.start;
    let omitted_bytes: u64 = gaps.iter().map(|gap| gap.bytes).sum();
    (omitted_bytes > 0).then_some(Truncation {
        original_bytes,
        retained_bytes: original_bytes - omitted_bytes,
        omitted_bytes,
        strategy,
    })
}
