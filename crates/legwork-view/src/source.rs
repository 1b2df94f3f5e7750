//! Where a view gets its bytes.
//!
//! A log can be ten gibibytes and have lost its middle. A view asks for the few ranges it needs,
//! by cursor; it never sees the rest. The crate itself does no I/O: whoever implements
//! [`Source`] decides what stands behind it.

use std::borrow::Cow;
use std::ops::Range;

/// Output addressed by cursor, of which some ranges may be gone.
///
/// ```
/// use legwork_view::{Request, Source};
/// use std::{borrow::Cow, ops::Range};
///
/// /// The numbers from zero, as many as anybody asks for.
/// struct Numbers(u64);
///
/// impl Source for Numbers {
///     fn total(&self) -> u64 {
///         self.0 * 8
///     }
///     fn kept(&self) -> Vec<Range<u64>> {
///         vec![0..self.total()]
///     }
///     fn read(&self, range: Range<u64>) -> Cow<'_, [u8]> {
///         let lines = range.start / 8..range.end.div_ceil(8);
///         let text: String = lines.map(|n| format!("{n:7}\n")).collect();
///         let from = (range.start % 8) as usize;
///         text.into_bytes()[from..from + (range.end - range.start) as usize].to_vec().into()
///     }
/// }
///
/// let view = Request::new().view(&Numbers(1 << 40), None)?;
/// assert!(view.text.starts_with("      0\n      1\n"));
/// assert!(view.text.len() <= 32_768);
/// # Ok::<(), legwork_view::ViewError>(())
/// ```
pub trait Source {
    /// How many bytes were ever written: the cursor after the last one.
    fn total(&self) -> u64;

    /// The ranges that can be read, in order, not overlapping. All else below
    /// [`total`](Self::total) was dropped.
    fn kept(&self) -> Vec<Range<u64>>;

    /// The bytes of a range that lies within one of the kept ones. Fewer than asked for are
    /// taken as all there is: the rest of the range counts as elided.
    fn read(&self, range: Range<u64>) -> Cow<'_, [u8]>;
}

impl Source for [u8] {
    fn total(&self) -> u64 {
        self.len() as u64
    }
    fn kept(&self) -> Vec<Range<u64>> {
        Vec::from([Range { start: 0, end: self.len() as u64 }])
    }
    fn read(&self, range: Range<u64>) -> Cow<'_, [u8]> {
        within(self, 0, range).into()
    }
}

/// The part of `bytes`, which start at cursor `at`, that lies in `range`.
fn within(bytes: &[u8], at: u64, range: Range<u64>) -> &[u8] {
    let index = |cursor: u64| {
        usize::try_from(cursor.saturating_sub(at)).map_or(bytes.len(), |i| i.min(bytes.len()))
    };
    bytes.get(index(range.start)..index(range.end)).unwrap_or_default()
}

/// Output in memory of which only some pieces were kept.
///
/// ```
/// use legwork_view::{Pieces, Request};
///
/// let output = Pieces::head_and_tail(b"first\n", 1_000_000, b"last\n");
/// let view = Request::new().view(&output, None)?;
/// assert_eq!(view.text, "first\n[… 1000000 bytes dropped, cursor 6..1000006 …]\nlast\n");
/// # Ok::<(), legwork_view::ViewError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Pieces<'a> {
    total: u64,
    pieces: Vec<(u64, &'a [u8])>,
}

impl<'a> Pieces<'a> {
    /// Output of `total` bytes, all of them dropped so far.
    ///
    /// ```
    /// use legwork_view::{Pieces, Source};
    /// assert_eq!(Pieces::new(9).total(), 9);
    /// ```
    pub fn new(total: u64) -> Pieces<'a> {
        Pieces { total, pieces: Vec::new() }
    }

    /// A beginning and an end, and how many bytes lay between.
    ///
    /// ```
    /// use legwork_view::{Pieces, Source};
    /// assert_eq!(Pieces::head_and_tail(b"ab", 6, b"yz").kept(), [0..2, 8..10]);
    /// ```
    pub fn head_and_tail(head: &'a [u8], omitted: u64, tail: &'a [u8]) -> Pieces<'a> {
        let tail_at = head.len() as u64 + omitted;
        Pieces::new(tail_at + tail.len() as u64).piece(0, head).piece(tail_at, tail)
    }

    /// Adds the bytes at a cursor. What overlaps an earlier piece is ignored; what reaches over
    /// the total extends it.
    ///
    /// ```
    /// use legwork_view::{Pieces, Source};
    /// assert_eq!(Pieces::new(9).piece(3, b"abc").kept(), [3..6]);
    /// ```
    pub fn piece(mut self, cursor: u64, bytes: &'a [u8]) -> Pieces<'a> {
        let place = self.pieces.partition_point(|(at, _)| *at <= cursor);
        let floor = place.checked_sub(1).map_or(0, |i| {
            let (at, before) = self.pieces[i];
            at + before.len() as u64
        });
        let ceiling = self.pieces.get(place).map_or(u64::MAX, |(at, _)| *at);
        let start = cursor.max(floor).min(ceiling);
        let bytes = within(bytes, cursor, start..ceiling);
        if !bytes.is_empty() {
            self.pieces.insert(place, (start, bytes));
            self.total = self.total.max(start + bytes.len() as u64);
        }
        self
    }
}

impl Source for Pieces<'_> {
    fn total(&self) -> u64 {
        self.total
    }
    fn kept(&self) -> Vec<Range<u64>> {
        self.pieces.iter().map(|(at, bytes)| *at..at + bytes.len() as u64).collect()
    }
    fn read(&self, range: Range<u64>) -> Cow<'_, [u8]> {
        let after = self.pieces.partition_point(|(at, _)| *at <= range.start);
        let piece = after.checked_sub(1).map(|i| self.pieces[i]);
        piece.map_or(&[][..], |(at, bytes)| within(bytes, at, range)).into()
    }
}

/// A source as one view sees it: its kept ranges within a window, and how much of them has been
/// looked at. Small windows are read once and served from memory.
pub(crate) struct Window<'a, S: Source + ?Sized> {
    source: &'a S,
    /// The cursors the view is about.
    pub(crate) range: Range<u64>,
    /// Kept ranges within the window, neighbours joined.
    pub(crate) kept: Vec<Range<u64>>,
    /// The same as the source has them, neighbours apart: it is read one at a time.
    pieces: Vec<Range<u64>>,
    cache: Vec<(u64, Cow<'a, [u8]>)>,
}

impl<'a, S: Source + ?Sized> Window<'a, S> {
    /// `small`: up to how many bytes are read at once and remembered.
    pub(crate) fn new(source: &'a S, range: Range<u64>, small: u64) -> Window<'a, S> {
        let mut kept: Vec<Range<u64>> = Vec::new();
        let mut pieces: Vec<Range<u64>> = Vec::new();
        for piece in source.kept() {
            let piece = piece.start.max(range.start)..piece.end.min(range.end);
            // A source that breaks its promise of order is heard only as far as it kept it.
            if piece.is_empty() || kept.last().is_some_and(|last| piece.start < last.end) {
                continue;
            }
            pieces.push(piece.clone());
            match kept.last_mut() {
                Some(last) if piece.start == last.end => last.end = piece.end,
                _ => kept.push(piece),
            }
        }
        let mut window = Window { source, range, kept, pieces, cache: Vec::new() };
        if window.kept.iter().map(|piece| piece.end - piece.start).sum::<u64>() <= small {
            let ranges = window.kept.iter();
            window.cache = ranges.map(|kept| (kept.start, window.fetch(kept.clone()))).collect();
        }
        window
    }

    /// Asks the source for a range, which may lie across neighbouring pieces of its.
    fn fetch(&self, range: Range<u64>) -> Cow<'a, [u8]> {
        let within_one = |piece: &&Range<u64>| piece.start <= range.start && range.end <= piece.end;
        if self.pieces.iter().any(|piece| within_one(&piece)) {
            return self.source.read(range);
        }
        let mut bytes = Vec::new();
        for piece in &self.pieces {
            let part = piece.start.max(range.start)..piece.end.min(range.end);
            if !part.is_empty() {
                bytes.extend_from_slice(&self.source.read(part));
            }
        }
        bytes.into()
    }

    /// Whether all kept bytes are in memory already, so that looking again costs nothing.
    pub(crate) fn is_cached(&self) -> bool {
        self.cache.len() == self.kept.len()
    }

    /// The kept range that holds a cursor.
    pub(crate) fn kept_at(&self, cursor: u64) -> Option<&Range<u64>> {
        self.kept.iter().find(|piece| piece.contains(&cursor))
    }

    /// The bytes of a range within one kept range.
    pub(crate) fn read(&self, range: Range<u64>) -> Cow<'_, [u8]> {
        let cached = self.cache.iter().rev().find(|(at, _)| *at <= range.start);
        match cached {
            Some((at, bytes)) if self.is_cached() => within(bytes, *at, range).into(),
            _ => {
                let most = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
                let mut bytes = self.fetch(range);
                if bytes.len() > most {
                    match &mut bytes {
                        Cow::Borrowed(slice) => *slice = &slice[..most],
                        Cow::Owned(vec) => vec.truncate(most),
                    }
                }
                bytes
            }
        }
    }

    /// The stretches of `range` in order, and whether each can still be read.
    pub(crate) fn stretches(&self, range: Range<u64>) -> Vec<(Range<u64>, bool)> {
        let mut stretches = Vec::new();
        let mut at = range.start;
        for piece in &self.kept {
            let (start, end) = (piece.start.max(at), piece.end.min(range.end));
            if start >= end {
                continue;
            }
            if at < start {
                stretches.push((at..start, false));
            }
            stretches.push((start..end, true));
            at = end;
        }
        if at < range.end {
            stretches.push((at..range.end, false));
        }
        stretches
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_never_overlap() {
        let pieces =
            Pieces::new(0).piece(10, b"0123456789").piece(5, b"abcdefgh").piece(15, b"yyyyyyyy");
        assert_eq!(pieces.kept(), [5..10, 10..20, 20..23]);
        assert_eq!(&*pieces.read(5..10), b"abcde");
        assert_eq!(&*pieces.read(20..23), b"yyy");
        assert_eq!(pieces.total(), 23);
    }

    #[test]
    fn neighbouring_pieces_are_read_as_one() {
        let pieces = Pieces::new(0).piece(0, b"01234").piece(5, b"56789");
        for small in [0, 100] {
            let window = Window::new(&pieces, 0..10, small);
            assert_eq!(window.kept.first(), Some(&(0..10)));
            assert_eq!(&*window.read(3..8), b"34567");
        }
    }

    #[test]
    fn stretches_tell_what_can_be_read() {
        let pieces = Pieces::new(100).piece(10, &[0; 10]).piece(40, &[0; 10]);
        let window = Window::new(&pieces, 0..100, 0);
        assert_eq!(
            window.stretches(5..45),
            [(5..10, false), (10..20, true), (20..40, false), (40..45, true)]
        );
        assert_eq!(window.stretches(50..100), [(50..100, false)]);
    }
}
