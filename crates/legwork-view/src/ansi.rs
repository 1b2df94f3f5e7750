//! Where an escape sequence ends, so that it can be taken out.
//!
//! A full terminal parser (`vte`) keeps its state from byte to byte: a stray `ESC P` or `ESC ]` in
//! binary output then swallows all that follows, up to the end of the log. Here a sequence never
//! reaches over the end of its line; one that is not terminated there loses its introducer and
//! nothing else. For well-formed sequences the tests hold this against `vte`.

use std::borrow::Cow;

pub(crate) const ESC: u8 = 0x1b;

/// The length of the escape sequence that `bytes` starts with; `bytes[0]` is `ESC` and `bytes`
/// ends where the line ends. At least 1, at most `bytes.len()`.
pub(crate) fn sequence_len(bytes: &[u8]) -> usize {
    let Some(&kind) = bytes.get(1) else { return bytes.len() };
    match kind {
        // A control sequence: parameters, intermediates, one final byte.
        b'[' => {
            let body = &bytes[2..];
            let len = body.iter().take_while(|b| matches!(b, 0x20..=0x3f)).count();
            2 + len + usize::from(matches!(body.get(len), Some(0x40..=0x7e)))
        }
        // Strings: titles, hyperlinks, device control. They end with BEL or `ESC \`.
        b']' | b'P' | b'X' | b'^' | b'_' => {
            let mut from = 2;
            while let Some(at) = memchr::memchr2(ESC, 0x07, &bytes[from..]).map(|at| at + from) {
                if bytes[at] == 0x07 {
                    return at + 1;
                }
                if bytes.get(at + 1) == Some(&b'\\') {
                    return at + 2;
                }
                if bytes.get(at + 1).is_some() {
                    break;
                }
                from = at + 1;
            }
            2
        }
        // Character sets and the like: intermediates, one final byte.
        0x20..=0x2f => {
            let len = bytes[1..].iter().take_while(|b| matches!(b, 0x20..=0x2f)).count();
            1 + len + usize::from(matches!(bytes.get(1 + len), Some(0x30..=0x7e)))
        }
        0x30..=0x7e => 2,
        _ => 1,
    }
}

/// A line as a reader sees it: without its escape sequences, and with backspaces carried out.
///
/// ```
/// assert_eq!(&*legwork_view::plain(b"\x1b[32mok\x1b[0m 1x\x082"), b"ok 12");
/// ```
pub fn plain(line: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr2(ESC, 0x08, line).is_none() {
        return Cow::Borrowed(line);
    }
    let mut kept = Vec::with_capacity(line.len());
    let mut at = 0;
    while let Some(found) = memchr::memchr2(ESC, 0x08, &line[at..]) {
        kept.extend_from_slice(&line[at..at + found]);
        at += found;
        if line[at] == ESC {
            at += sequence_len(&line[at..]);
        } else {
            // One character back, not one byte.
            while kept.pop().is_some_and(|b| b & 0xc0 == 0x80) {}
            at += 1;
        }
    }
    kept.extend_from_slice(&line[at..]);
    Cow::Owned(kept)
}

/// What a terminal line shows once its carriage returns were carried out: its last state.
/// `line` has no line feed.
pub(crate) fn last_state(line: &[u8]) -> Cow<'_, [u8]> {
    for state in line.rsplit(|&b| b == b'\r') {
        let shown = plain(state);
        if !shown.is_empty() || erases(state) {
            return shown;
        }
    }
    Cow::Borrowed(&[])
}

/// Whether the line is wiped by `ESC [ K` or a relative of it, which progress bars end with.
fn erases(state: &[u8]) -> bool {
    let mut at = 0;
    while let Some(found) = memchr::memchr(ESC, &state[at..]) {
        at += found;
        let len = sequence_len(&state[at..]);
        if matches!(
            &state[at..at + len],
            b"\x1b[K" | b"\x1b[0K" | b"\x1b[2K" | b"\x1b[J" | b"\x1b[0J"
        ) {
            return true;
        }
        at += len;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    struct Printed(String);
    impl vte::Perform for Printed {
        fn print(&mut self, c: char) {
            self.0.push(c);
        }
        fn execute(&mut self, byte: u8) {
            self.0.push(char::from(byte));
        }
    }

    fn by_vte(bytes: &[u8]) -> String {
        let mut printed = Printed(String::new());
        vte::Parser::new().advance(&mut printed, bytes);
        printed.0
    }

    fn piece() -> impl Strategy<Value = String> {
        prop_oneof![
            "[ -~äß日✓]{0,12}",
            "\x1b\\[[0-9;]{0,8}[A-Za-z]",
            "\x1b\\[\\?[0-9]{1,4}[hl]",
            "\x1b\\][0-9];[a-z:/.]{0,10}\x07",
            "\x1b\\]8;;[a-z:/.]{0,10}\x1b\\\\",
            "\x1b[()][AB0]",
            "\x1b[78cDEHM=>]",
        ]
    }

    proptest! {
        #[test]
        fn well_formed_sequences_go_as_a_terminal_would_have_it(
            pieces in prop::collection::vec(piece(), 0..12)
        ) {
            let line = pieces.concat();
            let ours = String::from_utf8(plain(line.as_bytes()).into_owned()).unwrap();
            prop_assert_eq!(ours, by_vte(line.as_bytes()));
        }

        #[test]
        fn no_input_panics_or_grows(line in prop::collection::vec(any::<u8>(), 0..60)) {
            prop_assert!(plain(&line).len() <= line.len());
            prop_assert!(last_state(&line).len() <= line.len());
        }
    }

    #[test]
    fn an_unterminated_string_does_not_swallow_the_line() {
        assert_eq!(&*plain(b"\x1b]the end"), b"the end");
        assert_eq!(&*plain(b"\x1bPthe end"), b"the end");
        assert_eq!(&*plain(b"\x1b[31\xffred"), b"\xffred");
    }

    #[test]
    fn a_progress_bar_is_its_last_state() {
        assert_eq!(&*last_state(b"10%\r50%\r100%"), b"100%");
        assert_eq!(&*last_state(b"10%\r50%\r100%\r"), b"100%");
        assert_eq!(&*last_state(b"Building 1/3\r\x1b[K   Compiling a"), b"   Compiling a");
        assert_eq!(&*last_state(b"Building 1/3\r\x1b[K"), b"");
        assert_eq!(&*last_state(b"|\x08/\x08-\x08done"), b"done");
        assert_eq!(&*plain("ä\u{8}b".as_bytes()), b"b");
    }
}
