//! Output kept within a limit: the head and the tail, and the count of what lay between.
//!
//! One buffer holds both: its first half fills once, its second half is a ring. A capture of a
//! hundred gigabytes therefore costs no more memory than its limit, and reading it out needs one
//! rotation in place. All of it is pure: bytes in, bytes out.

use std::borrow::Cow;
use std::collections::VecDeque;

use crate::sys::memory;

/// Which of a command's two outputs.
///
/// ```
/// use legwork::prelude::*;
/// let outcome = shell("echo out; echo err >&2").capture()?;
/// assert!(outcome.pieces().any(|(stream, bytes)| stream == Stream::Stderr && bytes == b"err\n"));
/// # Ok::<(), legwork::CommandError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stream {
    /// File descriptor 1.
    Stdout,
    /// File descriptor 2.
    Stderr,
}

/// What was kept of one stream.
///
/// ```
/// use legwork::prelude::*;
///
/// let outcome = cmd(["seq", "1000000"]).capture_limit(1024).capture()?;
/// let stdout = outcome.stdout.unwrap();
/// assert_eq!(stdout.bytes().len(), 1024);
/// assert!(stdout.bytes().starts_with(b"1\n2\n"));
/// assert!(stdout.bytes().ends_with(b"999999\n1000000\n"));
/// assert_eq!(stdout.total(), 6_888_896);
/// assert_eq!(stdout.omitted(), 6_888_896 - 1024);
/// # Ok::<(), legwork::CommandError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Captured {
    bytes: Vec<u8>,
    /// Where in `bytes` the omitted stretch lay.
    gap_at: usize,
    omitted: u64,
}

impl Captured {
    /// The bytes that were kept, exactly as they came: the head, then the tail.
    ///
    /// ```
    /// let outcome = legwork::capture(["printf", "a\\000b"])?;
    /// assert_eq!(outcome.stdout.unwrap().bytes(), b"a\0b");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The kept bytes, owned.
    ///
    /// ```
    /// let outcome = legwork::capture(["echo", "hi"])?;
    /// assert_eq!(outcome.stdout.unwrap().into_bytes(), b"hi\n");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// The kept bytes as text. Lossy: what is not UTF-8 becomes `�`; an omitted stretch is shown
    /// as a line that says how many bytes it had.
    ///
    /// ```
    /// let outcome = legwork::capture(["echo", "hi"])?;
    /// assert_eq!(outcome.stdout.unwrap().text(), "hi\n");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    pub fn text(&self) -> Cow<'_, str> {
        if self.omitted == 0 {
            return String::from_utf8_lossy(&self.bytes);
        }
        let (head, tail) = self.bytes.split_at(self.gap_at);
        Cow::Owned(format!(
            "{}\n[… {} bytes left out …]\n{}",
            String::from_utf8_lossy(head),
            self.omitted,
            String::from_utf8_lossy(tail)
        ))
    }

    /// How many bytes came in all.
    ///
    /// ```
    /// assert_eq!(legwork::capture(["echo", "hi"])?.stdout.unwrap().total(), 3);
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    pub fn total(&self) -> u64 {
        self.bytes.len() as u64 + self.omitted
    }

    /// How many of them were left out between head and tail.
    ///
    /// ```
    /// assert_eq!(legwork::capture(["echo", "hi"])?.stdout.unwrap().omitted(), 0);
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    pub fn omitted(&self) -> u64 {
        self.omitted
    }

    /// The head: all that was kept before an omitted stretch.
    ///
    /// ```
    /// let stdout = legwork::cmd(["seq", "9999"]).capture_limit(8).capture()?.stdout.unwrap();
    /// assert_eq!(stdout.head(), b"1\n2\n");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    pub fn head(&self) -> &[u8] {
        &self.bytes[..self.gap_at]
    }

    /// The tail: all that was kept after an omitted stretch; empty where nothing was omitted.
    ///
    /// ```
    /// let stdout = legwork::cmd(["seq", "9999"]).capture_limit(10).capture()?.stdout.unwrap();
    /// assert_eq!(stdout.tail(), b"9999\n");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    pub fn tail(&self) -> &[u8] {
        &self.bytes[self.gap_at..]
    }

    /// What was kept of the bytes from `from` to `to`, counted over the whole stream.
    fn kept(&self, from: u64, to: u64) -> [&[u8]; 2] {
        let tail_starts = self.gap_at as u64 + self.omitted;
        let in_head = |at: u64| at.min(self.gap_at as u64) as usize;
        let in_tail = |at: u64| (at.clamp(tail_starts, self.total()) - self.omitted) as usize;
        [&self.bytes[in_head(from)..in_head(to)], &self.bytes[in_tail(from)..in_tail(to)]]
    }
}

/// A capture that has grown so large is likely to grow on.
const LARGE: usize = 1024 * 1024;

/// What it then grows by at least. Only what is touched costs memory.
const STEP: usize = 64 * 1024 * 1024;

/// A capture under way.
#[derive(Debug)]
pub(crate) struct HeadTail {
    limit: usize,
    head: usize,
    buffer: Vec<u8>,
    /// Where in the ring the next byte goes, counted from `head`.
    next: usize,
    total: u64,
}

impl HeadTail {
    pub(crate) fn new(limit: usize) -> HeadTail {
        HeadTail { limit, head: limit / 2, buffer: Vec::new(), next: 0, total: 0 }
    }

    pub(crate) fn write(&mut self, mut bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = self.limit - self.buffer.len();
        if room > 0 {
            let (now, rest) = bytes.split_at(bytes.len().min(room));
            self.make_room(now.len());
            self.buffer.extend_from_slice(now);
            bytes = rest;
        }
        let ring = self.limit - self.head;
        if ring == 0 || bytes.is_empty() {
            return;
        }
        // Only the last ring's worth of a large write can stay.
        bytes = &bytes[bytes.len().saturating_sub(ring)..];
        let (first, second) = bytes.split_at(bytes.len().min(ring - self.next));
        self.put(first);
        self.put(second);
    }

    /// Grows a large buffer in few steps and into large pages.
    fn make_room(&mut self, count: usize) {
        let len = self.buffer.len();
        if len < LARGE || self.buffer.capacity() - len >= count {
            return;
        }
        let more = len.max(STEP).min(self.limit - len);
        // Where so much cannot be had it grows as any vector does.
        if self.buffer.try_reserve_exact(more).is_ok() {
            memory::prefer_large_pages(&mut self.buffer);
        }
    }

    fn put(&mut self, bytes: &[u8]) {
        let at = self.head + self.next;
        self.buffer[at..at + bytes.len()].copy_from_slice(bytes);
        self.next = (self.next + bytes.len()) % (self.limit - self.head).max(1);
    }

    pub(crate) fn finish(mut self) -> Captured {
        let omitted = self.total - self.buffer.len() as u64;
        let gap_at = if omitted == 0 { self.buffer.len() } else { self.head };
        if omitted > 0 {
            self.buffer[self.head..].rotate_left(self.next);
        }
        if self.buffer.len() >= LARGE {
            self.buffer.shrink_to_fit();
        }
        Captured { bytes: self.buffer, gap_at, omitted }
    }
}

/// How many stretches of arrival order are remembered at each end.
const ORDER_SPANS: usize = 16 * 1024;

/// The order in which the two streams arrived: stretches of one stream, in turn. Bounded like the
/// bytes themselves: past the limit the middle is remembered only as a sum for each stream.
#[derive(Debug, Default)]
pub(crate) struct Order {
    head: Vec<(Stream, u64)>,
    /// Bytes of stdout and stderr between head and tail, whose mutual order is forgotten.
    blurred: [u64; 2],
    tail: VecDeque<(Stream, u64)>,
}

impl Order {
    pub(crate) fn note(&mut self, stream: Stream, bytes: u64) {
        if let Some((same, len)) = self.tail.back_mut().or(self.head.last_mut())
            && *same == stream
        {
            *len += bytes;
            return;
        }
        if self.head.len() < ORDER_SPANS {
            self.head.push((stream, bytes));
            return;
        }
        self.tail.push_back((stream, bytes));
        if self.tail.len() > ORDER_SPANS
            && let Some((stream, len)) = self.tail.pop_front()
        {
            self.blurred[stream as usize] += len;
        }
    }

    pub(crate) fn finish(self) -> Vec<(Stream, u64)> {
        let mut spans = self.head;
        for stream in [Stream::Stdout, Stream::Stderr] {
            let len = self.blurred[stream as usize];
            if len > 0 {
                spans.push((stream, len));
            }
        }
        spans.extend(self.tail);
        spans
    }
}

/// The kept pieces of both streams in order of arrival.
pub(crate) fn interleave<'a>(
    order: &'a [(Stream, u64)],
    stdout: Option<&'a Captured>,
    stderr: Option<&'a Captured>,
) -> impl Iterator<Item = (Stream, &'a [u8])> {
    let mut seen = [0u64; 2];
    order
        .iter()
        .flat_map(move |&(stream, len)| {
            let from = seen[stream as usize];
            seen[stream as usize] += len;
            let captured = match stream {
                Stream::Stdout => stdout,
                Stream::Stderr => stderr,
            };
            let pieces = captured.map_or([&[][..]; 2], |kept| kept.kept(from, from + len));
            pieces.map(|bytes| (stream, bytes))
        })
        .filter(|(_, bytes)| !bytes.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The same, done the plain way.
    fn expected(all: &[u8], limit: usize) -> (Vec<u8>, u64) {
        if all.len() <= limit {
            return (all.to_vec(), 0);
        }
        let (head, tail) = (limit / 2, limit - limit / 2);
        let kept = [&all[..head], &all[all.len() - tail..]].concat();
        (kept, (all.len() - limit) as u64)
    }

    proptest! {
        #[test]
        fn head_and_tail_are_kept_and_the_rest_counted(
            writes in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..40),
            limit in 0usize..64,
        ) {
            let mut buffer = HeadTail::new(limit);
            for write in &writes {
                buffer.write(write);
            }
            let all = writes.concat();
            let captured = buffer.finish();
            let (bytes, omitted) = expected(&all, limit);
            prop_assert_eq!(captured.bytes(), &bytes[..]);
            prop_assert_eq!(captured.omitted(), omitted);
            prop_assert_eq!(captured.total(), all.len() as u64);
            prop_assert_eq!([captured.head(), captured.tail()].concat(), bytes);
        }

        #[test]
        fn interleaving_keeps_order_and_bytes(
            writes in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 1..20)), 0..40),
            limit in 200usize..800,
        ) {
            let mut buffers = [HeadTail::new(limit), HeadTail::new(limit)];
            let mut order = Order::default();
            let mut all = Vec::new();
            for (err, bytes) in &writes {
                let stream = if *err { Stream::Stderr } else { Stream::Stdout };
                buffers[stream as usize].write(bytes);
                order.note(stream, bytes.len() as u64);
                all.extend_from_slice(bytes);
            }
            let [out, err] = buffers.map(HeadTail::finish);
            let order = order.finish();
            let joined: Vec<u8> = interleave(&order, Some(&out), Some(&err))
                .flat_map(|(_, bytes)| bytes.to_vec())
                .collect();
            if out.omitted() + err.omitted() == 0 {
                prop_assert_eq!(joined, all);
            } else {
                prop_assert_eq!(joined.len(), out.bytes().len() + err.bytes().len());
            }
        }
    }

    #[test]
    fn a_large_capture_is_whole_and_holds_no_more_than_its_bytes() {
        for limit in [3 * LARGE, STEP] {
            let mut buffer = HeadTail::new(limit);
            let all: Vec<u8> = (0..2 * LARGE + 7).map(|at| (at % 251) as u8).collect();
            for piece in all.chunks(64 * 1024) {
                buffer.write(piece);
            }
            let captured = buffer.finish();
            assert!(captured.bytes() == all);
            assert!(captured.bytes.capacity() < all.len() + 4096);
        }
    }

    #[test]
    fn order_is_bounded_and_loses_no_byte() {
        let mut order = Order::default();
        for _ in 0..5 * ORDER_SPANS {
            order.note(Stream::Stdout, 1);
            order.note(Stream::Stderr, 2);
        }
        let spans = order.finish();
        assert!(spans.len() <= 2 * ORDER_SPANS + 2);
        let sum = |of| spans.iter().filter(|(s, _)| *s == of).map(|(_, len)| len).sum::<u64>();
        assert_eq!(sum(Stream::Stdout), 5 * ORDER_SPANS as u64);
        assert_eq!(sum(Stream::Stderr), 10 * ORDER_SPANS as u64);
    }
}
