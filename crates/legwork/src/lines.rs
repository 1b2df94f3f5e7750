//! Bytes in, lines out: a splitter that never holds more than one bounded line.

use crate::capture::Stream;

/// One line of output, as it came, without its line end.
///
/// ```
/// use legwork::prelude::*;
///
/// let mut run = shell("echo one; echo two >&2").output(Output::Capture).spawn()?;
/// let lines: Vec<Line> = run.lines().collect();
/// assert!(lines.iter().any(|line| line.stream == Stream::Stderr && line.text() == "two"));
/// # run.wait()?;
/// # Ok::<(), legwork::CommandError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Where it was printed.
    pub stream: Stream,
    /// Its bytes, without `\n` or `\r\n`.
    pub bytes: Vec<u8>,
    /// Whether it is whole; a line of more than 1 MiB is handed out in parts, and only its last
    /// part is whole. So is the last line of an output that does not end in a line end.
    pub whole: bool,
}

impl Line {
    /// Its text; what is not UTF-8 becomes `�`.
    ///
    /// ```
    /// use legwork::{Line, Stream};
    /// let line = Line { stream: Stream::Stdout, bytes: b"caf\xc3\xa9".to_vec(), whole: true };
    /// assert_eq!(line.text(), "café");
    /// ```
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.bytes)
    }
}

/// The longest line that is handed out in one part.
pub(crate) const LONGEST: usize = 1024 * 1024;

/// The line under way of one stream.
#[derive(Debug)]
pub(crate) struct Splitter {
    stream: Stream,
    partial: Vec<u8>,
}

impl Splitter {
    pub(crate) fn new(stream: Stream) -> Splitter {
        Splitter { stream, partial: Vec::new() }
    }

    /// Takes bytes, gives the lines that they complete.
    pub(crate) fn push(&mut self, mut bytes: &[u8], mut each: impl FnMut(Line)) {
        while let Some(end) = bytes.iter().position(|b| *b == b'\n') {
            self.take(&bytes[..end], &mut each);
            let mut line = std::mem::take(&mut self.partial);
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            each(Line { stream: self.stream, bytes: line, whole: true });
            bytes = &bytes[end + 1..];
        }
        self.take(bytes, &mut each);
    }

    fn take(&mut self, mut bytes: &[u8], each: &mut impl FnMut(Line)) {
        while self.partial.len() + bytes.len() > LONGEST {
            let (now, rest) = bytes.split_at(LONGEST - self.partial.len());
            self.partial.extend_from_slice(now);
            let part = std::mem::take(&mut self.partial);
            each(Line { stream: self.stream, bytes: part, whole: false });
            bytes = rest;
        }
        self.partial.extend_from_slice(bytes);
    }

    /// What is left when the stream has ended.
    pub(crate) fn finish(&mut self) -> Option<Line> {
        let bytes = std::mem::take(&mut self.partial);
        (!bytes.is_empty()).then_some(Line { stream: self.stream, bytes, whole: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn split(chunks: &[&[u8]]) -> Vec<(Vec<u8>, bool)> {
        let mut lines = Vec::new();
        let mut splitter = Splitter::new(Stream::Stdout);
        for chunk in chunks {
            splitter.push(chunk, |line| lines.push((line.bytes, line.whole)));
        }
        lines.extend(splitter.finish().map(|line| (line.bytes, line.whole)));
        lines
    }

    #[test]
    fn line_ends_are_taken_off_and_a_last_line_without_one_is_a_line() {
        let lines = split(&[b"a\r", b"\nb", b"c\n\nd"]);
        let text: Vec<&[u8]> = lines.iter().map(|(bytes, _)| &bytes[..]).collect();
        assert_eq!(text, [&b"a"[..], b"bc", b"", b"d"]);
    }

    #[test]
    fn a_long_line_comes_in_parts() {
        let long = vec![b'x'; 2 * LONGEST + 5];
        let lines = split(&[&long, b"\nend\n"]);
        let shape: Vec<(usize, bool)> = lines.iter().map(|(b, whole)| (b.len(), *whole)).collect();
        assert_eq!(shape, [(LONGEST, false), (LONGEST, false), (5, true), (3, true)]);
    }

    proptest! {
        #[test]
        fn chunking_does_not_matter(
            bytes in prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), any::<u8>()], 0..200),
            cut in 0usize..200,
        ) {
            let cut = cut.min(bytes.len());
            prop_assert_eq!(split(&[&bytes]), split(&[&bytes[..cut], &bytes[cut..]]));
        }
    }
}
