//! What a view left out, as data and as a line in the text.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::budget::Budget;
use crate::source::{Source, Window};

/// Whether bytes that a view leaves out can still be had.
///
/// ```
/// assert_eq!(serde_json::to_string(&legwork_view::Absence::Elided).unwrap(), r#""elided""#);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Absence {
    /// Left out by the view: read at the cursor to see them.
    Elided,
    /// Gone: the log did not keep them.
    Dropped,
}

/// A stretch of output that a view does not show.
///
/// ```
/// use legwork_view::{Absence, Budget, Request};
///
/// let output = "all is well here\n".repeat(10) + &"now is different\n".repeat(10) + &"x".repeat(600);
/// let view = Request::new().budget(Budget::Bytes(300)).of(output.as_bytes())?;
/// assert!(view.gaps.iter().all(|gap| gap.absence == Absence::Elided));
/// # Ok::<(), legwork_view::ViewError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// The cursor of its first byte.
    pub start: u64,
    /// The cursor after its last byte.
    pub end: u64,
    /// How many bytes of that range are not shown: all of it, or the cut middle of a long line.
    pub bytes: u64,
    /// How many line feeds it has, where that is known. Zero for the middle of a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<u64>,
    /// Whether it can still be read.
    pub absence: Absence,
}

/// How much a marker says: the narrow one does without cursors, the silent one is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Width {
    Full,
    Narrow,
    Silent,
}

impl Width {
    pub(crate) fn for_budget(budget: usize) -> Width {
        match budget {
            0..Budget::SMALLEST => Width::Silent,
            Budget::SMALLEST..1024 => Width::Narrow,
            _ => Width::Full,
        }
    }

    /// The longest marker for cursors up to `total`.
    pub(crate) fn longest_marker(self, total: u64) -> usize {
        let digits = total.checked_ilog10().unwrap_or(0) as usize + 1;
        match self {
            // Bytes, lines, up to three ranges, and the words around them.
            Width::Full => 8 * digits + 64,
            Width::Narrow => 2 * digits + 36,
            Width::Silent => 0,
        }
    }
}

/// One place in the text where something is missing: a stretch, or several that touch.
pub(crate) struct Hole {
    pub(crate) range: Range<u64>,
    pub(crate) lines: Option<u64>,
    /// The stretches and whether they can be read.
    stretches: Vec<(Range<u64>, bool)>,
}

impl Hole {
    pub(crate) fn new<S: Source + ?Sized>(
        window: &Window<'_, S>,
        range: Range<u64>,
        lines: Option<u64>,
    ) -> Hole {
        Hole { stretches: window.stretches(range.clone()), range, lines }
    }

    /// The line that stands in the text for it, line feed included.
    pub(crate) fn marker(&self, width: Width) -> String {
        if width == Width::Silent {
            return String::new();
        }
        let bytes = self.range.end - self.range.start;
        let lines = match self.lines {
            Some(1) => ", 1 line".to_owned(),
            Some(lines) => format!(", {lines} lines"),
            None => String::new(),
        };
        let has = |kept| self.stretches.iter().any(|(_, readable)| *readable == kept);
        let what = match (has(true), has(false)) {
            (true, true) => "elided+dropped",
            (false, true) => "dropped",
            _ => "elided",
        };
        if width == Width::Narrow {
            return format!("[… {bytes} bytes{lines} {what}]\n");
        }
        let (start, end) = (self.range.start, self.range.end);
        if !(2..=3).contains(&self.stretches.len()) {
            return format!("[… {bytes} bytes{lines} {what}, cursor {start}..{end} …]\n");
        }
        let ranges = |kept| {
            let of_kind = self.stretches.iter().filter(move |(_, readable)| *readable == kept);
            let ranges: Vec<String> =
                of_kind.map(|(range, _)| format!("{}..{}", range.start, range.end)).collect();
            ranges.join(" and ")
        };
        format!("[… {bytes} bytes{lines}: elided {}, dropped {} …]\n", ranges(true), ranges(false))
    }

    pub(crate) fn into_gaps(self) -> impl Iterator<Item = Gap> {
        let one = self.stretches.len() == 1;
        let lines = self.lines.filter(|_| one);
        self.stretches.into_iter().map(move |(range, readable)| Gap {
            bytes: range.end - range.start,
            start: range.start,
            end: range.end,
            lines,
            absence: if readable { Absence::Elided } else { Absence::Dropped },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Pieces;

    #[test]
    fn a_marker_says_how_much_and_whether_it_can_be_read() {
        let pieces = Pieces::new(1000).piece(0, &[0; 200]).piece(800, &[0; 200]);
        let window = Window::new(&pieces, 0..1000, 0);
        let marker = |range, lines| Hole::new(&window, range, lines).marker(Width::Full);
        assert_eq!(marker(10..60, Some(3)), "[… 50 bytes, 3 lines elided, cursor 10..60 …]\n");
        assert_eq!(marker(200..800, Some(1)), "[… 600 bytes, 1 line dropped, cursor 200..800 …]\n");
        assert_eq!(
            marker(100..900, Some(40)),
            "[… 800 bytes, 40 lines: elided 100..200 and 800..900, dropped 200..800 …]\n"
        );
    }

    #[test]
    fn the_longest_marker_is_no_shorter_than_any() {
        for total in [1, 9, 1000, u64::MAX] {
            let pieces = Pieces::new(total);
            let window = Window::new(&pieces, 0..total, 0);
            for width in [Width::Full, Width::Narrow] {
                let mut hole = Hole::new(&window, 0..total, Some(total));
                assert!(hole.marker(width).len() <= width.longest_marker(total));
                hole.stretches =
                    vec![(total..total, true), (total..total, false), (total..total, true)];
                assert!(
                    hole.marker(width).len() <= width.longest_marker(total),
                    "{}",
                    hole.marker(width)
                );
            }
        }
    }
}
