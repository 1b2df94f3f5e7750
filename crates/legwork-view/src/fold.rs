//! Bytes as lines that a reader can use.
//!
//! Output is written for terminals: colours, bars that overwrite themselves, the same line ten
//! thousand times. Folded, a line is what the terminal would have been left with, and a run of
//! equal lines is one line and a count. Every line remembers which bytes it stands for, so that
//! gaps can be told in cursors. Bytes that are not UTF-8 become `�`.

use std::ops::Range;

use crate::ansi;

/// Whether output is made readable or left as it is.
///
/// ```
/// use legwork_view::{Folding, Request};
///
/// let bar = b"1%\r50%\r100%\n";
/// let view = Request::new().of(bar)?;
/// assert_eq!(view.text, "100%\n");
/// let view = Request::new().folding(Folding::Raw).of(bar)?;
/// assert_eq!(view.text, "1%\r50%\r100%\n");
/// # Ok::<(), legwork_view::ViewError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Folding {
    /// Escape sequences removed, `\r` and backspace carried out, equal lines counted.
    #[default]
    Folded,
    /// As it came; only bytes that are not UTF-8 are replaced.
    Raw,
}

/// One line of a view, or a run of equal ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    /// Without the line feed.
    pub(crate) text: String,
    /// The bytes it stands for, line feed included.
    pub(crate) source: Range<u64>,
    /// How many line feeds those bytes have.
    pub(crate) feeds: u64,
    /// Whether the (last) line has its line feed.
    pub(crate) ended: bool,
    /// Bytes of the text that were cut from its middle.
    pub(crate) cut: u64,
    /// Whether even two equal lines are shown as one and a count, for want of room.
    pub(crate) tight: bool,
}

impl Line {
    fn repeats(&self) -> u64 {
        let lines = self.feeds + u64::from(!self.ended);
        lines.saturating_sub(1)
    }

    /// How many bytes [`render`](Self::render) adds.
    pub(crate) fn cost(&self) -> usize {
        let once = self.text.len() + 1;
        match self.repeats() {
            0 => once,
            more => match self.verbatim() {
                Some(all) => all,
                None => once + repeat_marker(more).len(),
            },
        }
    }

    /// The size of all its lines written out, where that is to be preferred to a count.
    fn verbatim(&self) -> Option<usize> {
        let more = self.repeats();
        let all = u64::try_from(self.text.len()).ok()?.checked_add(1)?.checked_mul(more + 1)?;
        let counted = self.text.len() + 1 + repeat_marker(more).len();
        let all = usize::try_from(all).ok()?;
        ((more < 2 && !self.tight) || all <= counted).then_some(all)
    }

    /// Appends the line. Always with a line feed, but for an unfinished one.
    pub(crate) fn render(&self, out: &mut String) {
        match self.verbatim() {
            Some(_) => {
                for n in 0..=self.repeats() {
                    out.push_str(&self.text);
                    if n < self.repeats() || self.ended {
                        out.push('\n');
                    }
                }
            }
            None => {
                out.push_str(&self.text);
                out.push('\n');
                out.push_str(&repeat_marker(self.repeats()));
            }
        }
    }

    /// Cuts the middle of the text so that the line costs no more than `limit`.
    pub(crate) fn shorten(&mut self, limit: usize) {
        self.shorten_as(limit, Cut::Early);
    }

    pub(crate) fn shorten_as(&mut self, limit: usize, cut: Cut) {
        if self.cost() <= limit {
            return;
        }
        if self.repeats() > 0 {
            self.tight = true;
            let marker = repeat_marker(self.repeats()).len();
            self.cut_to(limit.saturating_sub(1 + marker), cut);
            return;
        }
        self.cut_to(limit.saturating_sub(1), cut);
    }

    fn cut_to(&mut self, limit: usize, cut: Cut) {
        let len = self.text.len();
        if len <= limit {
            return;
        }
        let marker_room = format!("…[{len} bytes cut]…").len();
        // Too narrow for a count in the line; what was cut is still counted in the data.
        if limit < marker_room + 80 {
            let ellipsis = '…'.len_utf8();
            let (head, tail) = cut.split(limit.saturating_sub(ellipsis));
            let (head, tail) = around(&self.text, head, tail);
            self.cut += (tail - head) as u64;
            let mark = if limit < ellipsis { "" } else { "…" };
            self.text.replace_range(head..tail, mark);
            return;
        }
        let (head, tail) = cut.split(limit - marker_room);
        let (head, tail) = around(&self.text, head, tail);
        let bytes = tail - head;
        self.cut += bytes as u64;
        self.text.replace_range(head..tail, &format!("…[{bytes} bytes cut]…"));
    }
}

/// Where the middle of a line is taken out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Most of the end stays: it says what came of it.
    Early,
    /// Most of the beginning stays: a diagnostic has its place and its message there.
    Late,
}

impl Cut {
    fn split(self, room: usize) -> (usize, usize) {
        match self {
            Cut::Early => (room / 3, room - room / 3),
            Cut::Late => (room - room / 3, room / 3),
        }
    }
}

/// The middle of `text` that leaves at most `head` bytes before it and `tail` after it.
fn around(text: &str, head: usize, tail: usize) -> (usize, usize) {
    let head = text.floor_char_boundary(head.min(text.len()));
    let tail = text.ceil_char_boundary(text.len().saturating_sub(tail)).max(head);
    (head, tail)
}

fn repeat_marker(more: u64) -> String {
    format!("[… repeated {more} more times …]\n")
}

/// Whether equal lines become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Runs {
    Counted,
    Apart,
}

/// `bytes`, which start at cursor `at`, as lines; runs counted where anything is folded.
pub(crate) fn fold(bytes: &[u8], at: u64, folding: Folding) -> Vec<Line> {
    let runs = match folding {
        Folding::Folded => Runs::Counted,
        Folding::Raw => Runs::Apart,
    };
    fold_runs(bytes, at, folding, runs)
}

pub(crate) fn fold_runs(bytes: &[u8], at: u64, folding: Folding, runs: Runs) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let mut start = 0;
    while start < bytes.len() {
        let feed = memchr::memchr(b'\n', &bytes[start..]).map(|found| start + found);
        let (end, next) = feed.map_or((bytes.len(), bytes.len()), |feed| (feed, feed + 1));
        let source = at + start as u64..at + next as u64;
        let content = &bytes[start..end];
        start = next;
        let shown = match folding {
            Folding::Folded => ansi::last_state(content),
            Folding::Raw => content.into(),
        };
        let text = String::from_utf8_lossy(&shown);
        let ended = feed.is_some();
        if let Some(last) = lines.last_mut()
            && ended
            && runs == Runs::Counted
            && last.text == text
        {
            last.source.end = source.end;
            last.feeds += 1;
            continue;
        }
        lines.push(Line {
            text: text.into_owned(),
            source,
            feeds: u64::from(ended),
            ended,
            cut: 0,
            tight: false,
        });
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rendered(bytes: &[u8]) -> String {
        let mut out = String::new();
        for line in fold(bytes, 0, Folding::Folded) {
            line.render(&mut out);
        }
        out
    }

    #[test]
    fn runs_are_counted_where_that_is_shorter() {
        assert_eq!(rendered(b"}\n}\n}\n"), "}\n}\n}\n");
        let run = "the very same line\n".repeat(100);
        assert_eq!(rendered(run.as_bytes()), "the very same line\n[… repeated 99 more times …]\n");
    }

    #[test]
    fn an_unfinished_line_stays_unfinished() {
        assert_eq!(rendered(b"a\nPassword: "), "a\nPassword: ");
        assert_eq!(rendered(b"a\n\n"), "a\n\n");
        assert_eq!(rendered(b"a\r\nb\r\n"), "a\nb\n");
    }

    #[test]
    fn a_long_line_keeps_both_ends() {
        let text = format!("begin {} end", "ä".repeat(5000));
        let mut line = fold(text.as_bytes(), 0, Folding::Folded).remove(0);
        line.shorten(200);
        assert!(
            line.cost() <= 200 && line.text.starts_with("begin") && line.text.ends_with(" end")
        );
        assert!(line.text.contains(&format!("…[{} bytes cut]…", line.cut)), "{}", line.text);
    }

    proptest! {
        #[test]
        fn plain_text_is_untouched(text in "([a-z äß日]{0,9}\n){0,9}[a-z]{0,5}") {
            let mut out = String::new();
            for line in fold(text.as_bytes(), 0, Folding::Raw) {
                line.render(&mut out);
            }
            prop_assert_eq!(&out, &text);
        }

        #[test]
        fn lines_cover_every_byte_once_and_cost_what_they_say(
            bytes in prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), Just(b'a'), any::<u8>()], 0..300),
            limit in 0usize..120,
        ) {
            let mut at = 7;
            for mut line in fold(&bytes, 7, Folding::Folded) {
                prop_assert_eq!(line.source.start, at);
                at = line.source.end;
                let mut out = String::new();
                line.render(&mut out);
                prop_assert_eq!(out.len() + usize::from(!line.ended), line.cost());
                line.shorten(limit);
                if line.repeats() == 0 {
                    prop_assert!(line.cost() <= limit.max(1));
                }
            }
            prop_assert_eq!(at, 7 + bytes.len() as u64);
        }
    }
}
