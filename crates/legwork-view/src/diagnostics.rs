//! Diagnostic lines, kept while the output goes by.
//!
//! A log drops its middle when it is full, and a view may not search what is left: whoever sees
//! the bytes first has to remember what matters. The scanner must cost next to nothing against
//! writing the bytes to disk, so it looks at lines only where one of a few letter groups occurs
//! (one vectorised pass for all of them), counts line feeds with another, and holds no more than
//! the beginning of the line that is still open.
//!
//! What is kept is bounded: half of the limit for the first diagnostics, which name the cause,
//! half for the newest, which name the result. Some lines after each are kept with it, since the
//! log may no longer have them: a panic's message and a compiler's location stand there.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::ansi;
use crate::recognise::{Kind, LOOKED_AT, recognise, recognise_among};
use crate::trigger::{self, Families, Hit};

/// How much of an open line is held; escape sequences need room beside the text.
const OPEN_LINE: usize = 4 * LOOKED_AT;
/// How much of a diagnostic's text is kept.
const KEPT_TEXT: usize = 400;
/// A traceback longer than this has no end worth waiting for.
const LONGEST_TRACE: u32 = 400;
/// How many frames below a traceback's head are kept.
const KEPT_FRAMES: u32 = 8;

/// One diagnostic line, or a line kept with it.
///
/// ```
/// let found = legwork_view::Diagnostics::scan(b"make all\nerror: no such target\n");
/// let diagnostic = &found.diagnostics[0];
/// assert_eq!((diagnostic.cursor, diagnostic.end, diagnostic.line), (9, 31, 1));
/// assert_eq!(diagnostic.text, "error: no such target");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// Where its line starts.
    pub cursor: u64,
    /// Where the next line starts.
    pub end: u64,
    /// How many lines came before it.
    pub line: u64,
    /// What it is.
    pub kind: Kind,
    /// How many diagnostics with the very same text followed before another one came.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub repeats: u64,
    /// Folded; at most 400 bytes and `…`.
    pub text: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl Diagnostic {
    /// Whether its text is only the beginning of the line.
    pub(crate) fn is_cut(&self) -> bool {
        self.text.len() > KEPT_TEXT
    }

    fn weight(&self) -> usize {
        size_of::<Diagnostic>() + self.text.len()
    }
}

/// What a scanner has found, as a value: for readers in other processes, and for
/// [`Request::view`](crate::Request::view).
///
/// ```
/// use legwork_view::{Diagnostics, Found};
///
/// let found = Diagnostics::scan(b"ok\nFAILED tests/a.py::b\n");
/// let json = serde_json::to_string(&found)?;
/// assert_eq!(serde_json::from_str::<Found>(&json)?, found);
/// assert_eq!((found.lines, found.scanned), (2, 24));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Found {
    /// In order of their cursors.
    pub diagnostics: Vec<Diagnostic>,
    /// How many line feeds came by.
    pub lines: u64,
    /// The cursor up to which the output was seen.
    pub scanned: u64,
    /// How many diagnostics were forgotten for want of room.
    pub forgotten: u64,
}

/// The scanner. Push every byte, in order; it may be cut anywhere.
///
/// ```
/// use legwork_view::Diagnostics;
///
/// let mut diagnostics = Diagnostics::new();
/// diagnostics.push(0, b"compiling\nsrc/a.c:3:1: err");
/// diagnostics.push(26, b"or: expected ';'\n");
/// let found = diagnostics.found();
/// assert_eq!(found.diagnostics[0].text, "src/a.c:3:1: error: expected ';'");
/// assert_eq!(found.diagnostics[0].cursor, 10);
/// ```
#[derive(Debug, Clone)]
pub struct Diagnostics {
    kept: Store,
    seen: u64,
    feeds: u64,
    /// The beginning of the line that is still open, or of its last state.
    open: Vec<u8>,
    open_at: u64,
    follow: Follow,
}

/// What the next lines are to the last diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Follow {
    Nothing,
    /// So many lines are kept with it, up to an empty one.
    Lines(u32),
    /// A Python traceback: indented frames, then the exception.
    Trace(u32),
}

impl Default for Diagnostics {
    fn default() -> Diagnostics {
        Diagnostics::new()
    }
}

impl Diagnostics {
    /// How many bytes of memory the kept lines take at most: 1 MiB.
    ///
    /// ```
    /// assert_eq!(legwork_view::Diagnostics::LIMIT, 1 << 20);
    /// ```
    pub const LIMIT: usize = 1 << 20;

    /// A scanner with the default limit. It allocates nothing until it is given bytes.
    ///
    /// ```
    /// assert!(legwork_view::Diagnostics::new().found().diagnostics.is_empty());
    /// ```
    pub fn new() -> Diagnostics {
        Diagnostics::with_limit(Diagnostics::LIMIT)
    }

    /// A scanner that keeps up to `limit` bytes.
    ///
    /// ```
    /// let mut few = legwork_view::Diagnostics::with_limit(2000);
    /// for n in 0..1000u64 {
    ///     few.push(n * 12, format!("error: {n:04}\n").as_bytes());
    /// }
    /// let found = few.found();
    /// assert!(found.diagnostics.len() < 40 && found.forgotten > 900);
    /// assert_eq!(found.diagnostics[0].text, "error: 0000");
    /// assert_eq!(found.diagnostics.last().unwrap().text, "error: 0999");
    /// ```
    pub fn with_limit(limit: usize) -> Diagnostics {
        Diagnostics {
            kept: Store::new(limit),
            seen: 0,
            feeds: 0,
            open: Vec::new(),
            open_at: 0,
            follow: Follow::Nothing,
        }
    }

    /// What is found in output that is in memory as a whole.
    ///
    /// ```
    /// let found = legwork_view::Diagnostics::scan(b"0 errors\n");
    /// assert!(found.diagnostics.is_empty());
    /// ```
    pub fn scan(output: &[u8]) -> Found {
        let mut diagnostics = Diagnostics::new();
        diagnostics.push(0, output);
        diagnostics.found()
    }

    /// The next bytes, and the cursor of the first of them. A cursor past the last byte pushed
    /// means that bytes were lost in between; one before it, that they are pushed again: what
    /// was seen already is skipped.
    ///
    /// ```
    /// let mut diagnostics = legwork_view::Diagnostics::new();
    /// diagnostics.push(0, b"fatal: not a git repository\n");
    /// assert_eq!(diagnostics.found().scanned, 28);
    /// ```
    pub fn push(&mut self, cursor: u64, bytes: &[u8]) {
        let again = usize::try_from(self.seen.saturating_sub(cursor)).unwrap_or(usize::MAX);
        let Some(bytes) = bytes.get(again..).filter(|bytes| !bytes.is_empty()) else { return };
        if cursor > self.seen {
            self.open.clear();
            self.open_at = cursor;
            self.follow = Follow::Nothing;
            self.seen = cursor;
        }
        let whole_lines = memchr::memrchr(b'\n', bytes).map_or(0, |feed| feed + 1);
        self.whole_lines(&bytes[..whole_lines]);
        self.keep_open(&bytes[whole_lines..]);
        self.seen += (bytes.len() - whole_lines) as u64;
    }

    /// What was found so far, a diagnostic in the line that is still open included.
    ///
    /// ```
    /// let mut diagnostics = legwork_view::Diagnostics::new();
    /// diagnostics.push(0, b"panic: out of range");
    /// assert_eq!(diagnostics.found().diagnostics.len(), 1);
    /// ```
    pub fn found(&self) -> Found {
        let mut kept = self.kept.clone();
        let text = ansi::last_state(&self.open);
        if let Some(kind) = recognise(&text) {
            kept.add(kind, self.open_at, self.seen, self.feeds, &text);
        }
        Found {
            diagnostics: kept.first.into_iter().chain(kept.newest).collect(),
            lines: self.feeds,
            scanned: self.seen,
            forgotten: kept.forgotten,
        }
    }

    /// How many lines were found so far, repeats and lines of context included. While it stays
    /// the same, a saved [`Found`] is out of date in its counts only.
    ///
    /// ```
    /// let mut diagnostics = legwork_view::Diagnostics::new();
    /// let before = diagnostics.count();
    /// diagnostics.push(0, b"all is well\n");
    /// assert_eq!(diagnostics.count(), before);
    /// ```
    pub fn count(&self) -> u64 {
        self.kept.added
    }

    /// Lines with their line feeds; the first may continue the open one.
    fn whole_lines(&mut self, bytes: &[u8]) {
        let mut at = 0;
        let mut hit = None;
        while at < bytes.len() {
            if self.open_at < self.seen || self.follow != Follow::Nothing {
                at = self.next_line(bytes, at);
                continue;
            }
            // The hit that ended the last line is good for this one, unless lines were followed.
            let first = match hit.take() {
                Some(hit @ Hit { start, .. }) if start >= at => Some(hit),
                _ => trigger::next(bytes, at),
            };
            let Some(first) = first else {
                let rest = &bytes[at..];
                self.pass_to(self.seen + rest.len() as u64, feeds(rest));
                return;
            };
            let before = &bytes[at..first.start];
            let start = memchr::memrchr(b'\n', before).map_or(at, |feed| at + feed + 1);
            let end = line_end(bytes, first.start);
            let mut families = first.family;
            let mut next = trigger::next(bytes, first.end);
            while let Some(more) = next.filter(|next| next.start < end) {
                families = families.or(more.family);
                next = trigger::next(bytes, more.end);
            }
            hit = next;
            self.pass_to(self.seen + (start - at) as u64, feeds(&bytes[at..start]));
            let next_line = self.seen + (end - start) as u64;
            self.judge(&bytes[start..end - 1], self.seen, next_line, families);
            self.pass_to(next_line, 1);
            at = end;
        }
    }

    /// Judges one line, whatever it has: the open one, or one that follows a diagnostic.
    fn next_line(&mut self, bytes: &[u8], at: usize) -> usize {
        let end = line_end(bytes, at);
        let (content, next) = (&bytes[at..end - 1], self.seen + (end - at) as u64);
        if self.open_at < self.seen {
            self.keep_open(content);
            let open = std::mem::take(&mut self.open);
            self.judge(&open, self.open_at, next, trigger::families(&open));
            self.open = open;
            self.open.clear();
        } else {
            let looked_at = &content[..content.len().min(OPEN_LINE)];
            let families = if looked_at.len() < content.len() {
                Families::ALL
            } else {
                trigger::families(looked_at)
            };
            self.judge(content, self.seen, next, families);
        }
        self.pass_to(next, 1);
        end
    }

    fn pass_to(&mut self, cursor: u64, feeds: u64) {
        self.seen = cursor;
        self.open_at = cursor;
        self.feeds += feeds;
    }

    /// Adds to the open line. When there is more than is held, its last state counts, and of
    /// that the beginning.
    fn keep_open(&mut self, more: &[u8]) {
        if self.open.len() + more.len() <= OPEN_LINE {
            self.open.extend_from_slice(more);
            return;
        }
        let last = last_state_of_long(more);
        if last.len() < more.len() {
            self.open.clear();
        }
        let room = OPEN_LINE.saturating_sub(self.open.len());
        self.open.extend_from_slice(&last[..last.len().min(room)]);
    }

    /// Decides about a line from `start` to `end`, which is at hand without its line feed.
    /// `families`: all that it has, or more.
    fn judge(&mut self, content: &[u8], start: u64, end: u64, families: Families) {
        let content = if content.len() > OPEN_LINE {
            let last = last_state_of_long(content);
            &last[..last.len().min(OPEN_LINE)]
        } else {
            content
        };
        let text = ansi::last_state(content);
        let kind = recognise_among(&text, families);
        let indented = text.first().is_some_and(|b| matches!(b, b' ' | b'\t'));
        let (kind, follow) = match (kind, self.follow) {
            (Some(kind), _) if is_trace_head(&text) => (kind, Follow::Trace(0)),
            (_, Follow::Trace(lines)) if (indented || text.is_empty()) && lines < LONGEST_TRACE => {
                self.follow = Follow::Trace(lines + 1);
                if lines < KEPT_FRAMES && indented {
                    self.kept.add(Kind::Context, start, end, self.feeds, &text);
                }
                return;
            }
            // Whatever its name is, what ends a traceback is the exception.
            (None, Follow::Trace(_)) => (Kind::Stack, Follow::Nothing),
            (Some(kind), _) => (kind, Follow::Lines(lines_kept_after(kind))),
            (None, Follow::Lines(left)) if left > 0 && !text.trim_ascii().is_empty() => {
                (Kind::Context, Follow::Lines(left - 1))
            }
            (None, _) => {
                self.follow = Follow::Nothing;
                return;
            }
        };
        let new = self.kept.add(kind, start, end, self.feeds, &text);
        self.follow = match follow {
            Follow::Lines(0) => Follow::Nothing,
            // What follows a repeated line was kept with the first of them.
            Follow::Lines(_) if !new => Follow::Nothing,
            follow => follow,
        };
    }
}

fn line_end(bytes: &[u8], from: usize) -> usize {
    memchr::memchr(b'\n', &bytes[from..]).map_or(bytes.len(), |feed| from + feed + 1)
}

fn feeds(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// What follows the last carriage return that has anything after it.
fn last_state_of_long(content: &[u8]) -> &[u8] {
    let content = content.strip_suffix(b"\r").unwrap_or(content);
    memchr::memrchr(b'\r', content).map_or(content, |at| &content[at + 1..])
}

fn is_trace_head(text: &[u8]) -> bool {
    text.trim_ascii_start().starts_with(b"Traceback (most recent call last)")
}

/// A failed test is followed by the next test, an error by what it is about.
fn lines_kept_after(kind: Kind) -> u32 {
    match kind {
        Kind::Failure => 2,
        _ => 6,
    }
}

/// The diagnostics, within a limit.
#[derive(Debug, Clone)]
struct Store {
    limit: usize,
    first: Vec<Diagnostic>,
    first_weight: usize,
    newest: VecDeque<Diagnostic>,
    newest_weight: usize,
    forgotten: u64,
    added: u64,
}

impl Store {
    fn new(limit: usize) -> Store {
        Store {
            limit,
            first: Vec::new(),
            first_weight: 0,
            newest: VecDeque::new(),
            newest_weight: 0,
            forgotten: 0,
            added: 0,
        }
    }

    /// Whether it was new; otherwise it was counted with the one before it.
    fn add(&mut self, kind: Kind, cursor: u64, end: u64, line: u64, text: &[u8]) -> bool {
        let text = shortened(text);
        self.added += 1;
        if kind != Kind::Context {
            let mut all = self.first.iter_mut().chain(self.newest.iter_mut());
            let last = all.rfind(|diagnostic| diagnostic.kind != Kind::Context);
            if let Some(last) = last.filter(|last| last.text == text) {
                last.repeats += 1;
                return false;
            }
        }
        let new = Diagnostic { cursor, end, line, kind, repeats: 0, text };
        let weight = new.weight();
        if self.newest.is_empty() && self.first_weight + weight <= self.limit / 2 {
            self.first_weight += weight;
            self.first.push(new);
            return true;
        }
        self.newest_weight += weight;
        self.newest.push_back(new);
        while self.newest_weight > self.limit / 2
            && let Some(oldest) = self.newest.pop_front()
        {
            self.newest_weight -= oldest.weight();
            self.forgotten += 1;
        }
        true
    }
}

fn shortened(text: &[u8]) -> String {
    let mut kept = String::from_utf8_lossy(&text[..text.len().min(KEPT_TEXT + 3)]).into_owned();
    if kept.len() > KEPT_TEXT {
        // With the ellipsis it is longer than the limit again, which tells it apart.
        kept.truncate(kept.floor_char_boundary(KEPT_TEXT));
        kept.push('…');
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(found: &Found) -> Vec<&str> {
        found.diagnostics.iter().map(|diagnostic| &*diagnostic.text).collect()
    }

    fn piece() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            Just(b"error: it broke\n".to_vec()),
            Just(b"\x1b[1merror\x1b[0m: colourful\n".to_vec()),
            Just(b"50%\r\x1b[Kerror: after a bar\r\n".to_vec()),
            Just(b"Traceback (most recent call last):\n  File \"a\"\n  x()\nOops\n".to_vec()),
            Just(b"Compiling thiserror\n".to_vec()),
            Just(b"\n".to_vec()),
            "[a-z ]{0,30}\n".prop_map(String::into_bytes),
            prop::collection::vec(any::<u8>(), 0..20),
        ]
    }

    proptest! {
        #[test]
        fn it_does_not_matter_where_the_bytes_are_cut(
            pieces in prop::collection::vec(piece(), 0..12),
            cuts in prop::collection::vec(0usize..200, 0..12),
        ) {
            let output = pieces.concat();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|at| at.min(output.len())).collect();
            cuts.push(output.len());
            cuts.sort_unstable();
            let mut diagnostics = Diagnostics::new();
            let mut at = 0;
            for cut in cuts {
                diagnostics.push(at as u64, &output[at..cut]);
                at = cut;
            }
            let found = diagnostics.found();
            prop_assert_eq!(&found, &Diagnostics::scan(&output));
            prop_assert_eq!(found.lines, output.iter().filter(|b| **b == b'\n').count() as u64);
            for diagnostic in &found.diagnostics {
                let before = &output[..diagnostic.cursor as usize];
                prop_assert!(before.is_empty() || before.ends_with(b"\n"));
                prop_assert_eq!(diagnostic.line, feeds(before));
            }
        }

        #[test]
        fn memory_stays_within_the_limit(
            lines in prop::collection::vec("(error: |panic: |x)[a-z]{0,600}", 0..25),
            limit in 0usize..9000,
        ) {
            let mut diagnostics = Diagnostics::with_limit(limit);
            let output = lines.join("\n") + "\n";
            diagnostics.push(0, output.as_bytes());
            let weight: usize = diagnostics.found().diagnostics.iter().map(Diagnostic::weight).sum();
            prop_assert!(weight <= limit);
        }
    }

    #[test]
    fn what_a_panic_says_is_kept_with_it() {
        let found = Diagnostics::scan(
            b"running\nthread 'main' panicked at src/main.rs:2:5:\nindex out of bounds\n\nbye\n",
        );
        assert_eq!(
            texts(&found),
            ["thread 'main' panicked at src/main.rs:2:5:", "index out of bounds"]
        );
        assert_eq!(found.diagnostics[1].kind, Kind::Context);
    }

    #[test]
    fn a_traceback_ends_with_its_exception_whatever_its_name() {
        let found = Diagnostics::scan(
            b"Traceback (most recent call last):\n  File \"a.py\", line 1\n    x()\nsubprocess.TimeoutExpired: 5 s\ndone\n",
        );
        assert_eq!(found.diagnostics.last().unwrap().text, "subprocess.TimeoutExpired: 5 s");
        assert_eq!(found.diagnostics.last().unwrap().kind, Kind::Stack);
    }

    #[test]
    fn the_same_line_a_million_times_is_one() {
        let mut diagnostics = Diagnostics::new();
        let chunk = b"error: connection refused\n".repeat(1000);
        for n in 0..100 {
            diagnostics.push(n * chunk.len() as u64, &chunk);
        }
        let found = diagnostics.found();
        assert_eq!(found.diagnostics.len(), 1);
        assert_eq!(found.diagnostics[0].repeats, 99_999);
    }

    #[test]
    fn a_line_without_end_costs_no_memory() {
        let mut diagnostics = Diagnostics::new();
        let bar = b"downloading 10%\r".repeat(4096);
        for n in 0..100 {
            diagnostics.push(n * bar.len() as u64, &bar);
        }
        assert!(diagnostics.open.capacity() <= 4 * OPEN_LINE);
        diagnostics.push(100 * bar.len() as u64, b"\rerror: cut off\n");
        let found = diagnostics.found();
        assert_eq!(texts(&found), ["error: cut off"]);
        assert_eq!((found.diagnostics[0].cursor, found.lines), (0, 1));
    }

    #[test]
    fn lost_bytes_do_not_join_lines() {
        let mut diagnostics = Diagnostics::new();
        diagnostics.push(0, b"err");
        diagnostics.push(100, b"or: x\nerror: y\n");
        diagnostics.push(100, b"or: x\nerror: y\n");
        assert_eq!(texts(&diagnostics.found()), ["error: y"]);
    }
}
