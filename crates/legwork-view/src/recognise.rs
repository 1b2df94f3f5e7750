//! Which lines are diagnostics.
//!
//! The test for a line is written by hand, over bytes: one supervisor per job means one private
//! copy of whatever a compiled regular expression allocates, and a supervisor has 256 KiB in all.
//!
//! Precision matters more than reach. A build prints `error` thousands of times without meaning
//! it (`thiserror`, `-Werror`, `0 errors`, `test parse_error ... ok`), and every wrong hit takes
//! the place of a right one. So a word counts only in the places where tools put it: before a
//! colon, a code or the end of the line, in brackets, as a log level, after a number that is not
//! zero. `tests/fixtures` holds real output of the tools named here, and the lines that must not
//! count.

use serde::{Deserialize, Serialize};

use crate::trigger::{self, Families};

/// What a diagnostic line is.
///
/// ```
/// use legwork_view::Kind;
///
/// assert_eq!(Kind::of("error[E0308]: mismatched types"), Some(Kind::Error));
/// assert_eq!(Kind::of("test parses_error ... FAILED"), Some(Kind::Failure));
/// assert_eq!(Kind::of("thread 'main' panicked at src/main.rs:2:5:"), Some(Kind::Panic));
/// assert_eq!(Kind::of("   Compiling thiserror v2.0.3"), None);
/// assert_eq!(Kind::of("Found 0 errors"), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Kind {
    /// A compiler, linker or other tool says `error`.
    Error,
    /// A test, a target or a step failed.
    Failure,
    /// A program gave up: panic, crash, fatal signal.
    Panic,
    /// An assertion did not hold.
    Assertion,
    /// The head or the end of a stack trace, or a cause within it.
    Stack,
    /// Not a diagnostic by itself: a line that belongs to the one before it.
    Context,
}

impl Kind {
    /// The kind of one line, escape sequences and line feed excluded; `None` for the most of
    /// them. [`Kind::Context`] is never the answer: it takes the lines before to know it.
    ///
    /// ```
    /// use legwork_view::Kind;
    /// assert_eq!(Kind::of("make: *** [Makefile:3: all] Error 2"), Some(Kind::Failure));
    /// ```
    pub fn of(line: &str) -> Option<Kind> {
        recognise(line.as_bytes())
    }
}

/// Only so much of a line is looked at: diagnostics say so early, and a line of a megabyte is data.
pub(crate) const LOOKED_AT: usize = 1024;

/// The kind of a line, without its escape sequences and line end.
pub(crate) fn recognise(line: &[u8]) -> Option<Kind> {
    recognise_among(line, trigger::families(&line[..line.len().min(LOOKED_AT)]))
}

/// The same for a line whose families are known, or that has fewer than said.
pub(crate) fn recognise_among(line: &[u8], has: Families) -> Option<Kind> {
    let line = line[..line.len().min(LOOKED_AT)].trim_ascii_end();
    let text = line.trim_ascii_start();
    if has == Families::NONE || passes(text) {
        return None;
    }
    let look = |families: Families, kind: Kind, found: &dyn Fn() -> bool| {
        (has.has(families) && found()).then_some(kind)
    };
    look(Families::CRASH.or(Families::ERROR), Kind::Panic, &|| crash(text, has))
        .or_else(|| look(Families::PREFIX, Kind::Assertion, &|| pytest(line)))
        .or_else(|| look(Families::ASSERTION, Kind::Assertion, &|| assertion(text)))
        .or_else(|| look(Families::STACK, Kind::Stack, &|| stack(text)))
        .or_else(|| look(Families::ERROR.or(Families::STACK), Kind::Stack, &|| exception(text)))
        .or_else(|| look(Families::ERROR, Kind::Error, &|| error(line, text)))
        .or_else(|| look(Families::FATAL, Kind::Error, &|| fatal(text)))
        .or_else(|| look(Families::PREFIX, Kind::Error, &|| text.starts_with(b"E: ")))
        .or_else(|| look(Families::PREFIX, Kind::Failure, &|| marked(text)))
        .or_else(|| look(Families::FAILURE, Kind::Failure, &|| failure(text)))
        .or_else(|| look(Families::TOOL, Kind::Error, &|| go(text) || linker_or_shell(text)))
}

/// Lines that say that something went well, or only repeat a command, whatever words they use.
fn passes(text: &[u8]) -> bool {
    const GOOD_STARTS: &[&str] =
        &["\u{2713} ", "\u{2714} ", "\u{221a} ", "ok ", "PASS", "--- PASS", "+ ", "$ ", "> "];
    const GOOD_ENDS: &[&str] = &["... ok", " PASSED", "... ignored"];
    code_excerpt(text)
        || starts_with_any(text, GOOD_STARTS)
        || GOOD_ENDS.iter().any(|end| text.ends_with(end.as_bytes()))
}

/// `12 |     let error: Error = …`: a compiler shows source, which may say anything.
fn code_excerpt(text: &[u8]) -> bool {
    number(text).is_some_and(|(_, rest)| rest.trim_ascii_start().starts_with(b"|"))
}

fn crash(text: &[u8], has: Families) -> bool {
    if !has.has(Families::CRASH) {
        return sanitizer(text);
    }
    let by_shell = || {
        let what = ["Killed", "Aborted", "Segmentation fault"];
        contains(text, ": line ") && what.iter().any(|what| phrase(text, what))
    };
    contains(text, "' panicked at ")
        || contains(text, ") panicked at ")
        || text.starts_with(b"panic: ")
        || contains(text, "Kernel panic")
        || contains(text, "(core dumped)")
        || text.starts_with(b"Segmentation fault")
        || phrase(text, "segmentation fault")
        || contains(text, "*** stack smashing detected ***")
        || text == b"Killed"
        || text == b"Aborted"
        || by_shell()
}

/// `==4711==ERROR: AddressSanitizer: …`
fn sanitizer(text: &[u8]) -> bool {
    text.starts_with(b"==") && contains(text, "==ERROR: ")
}

/// What pytest prints below a failed assertion.
fn pytest(line: &[u8]) -> bool {
    line.strip_prefix(b"E   ").is_some_and(|rest| !rest.trim_ascii().is_empty())
}

fn assertion(text: &[u8]) -> bool {
    words(text, "assertion").any(|at| {
        let rest = &text[at + "assertion".len()..];
        words(rest, "failed").next().is_some() || words(rest, "failure").next().is_some()
    })
}

fn stack(text: &[u8]) -> bool {
    let heads = ["Exception in thread ", "Caused by: ", "stack backtrace:"];
    let unhandled = |rest: &[u8]| {
        let what = [" exception", " Exception", " promise rejection", " error", " 'error' event"];
        starts_with_any(rest, &what)
    };
    starts_with_any(text, &heads)
        || contains(text, "Traceback (most recent call last)")
        || words(text, "unhandled").any(|at| unhandled(&text[at + "unhandled".len()..]))
}

/// `ValueError: …`, `java.lang.IllegalStateException: …`, `Uncaught TypeError: …`: a name that
/// ends in Error or Exception, at the start of the line, before a colon or the end.
fn exception(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"Uncaught ").unwrap_or(text);
    let name_len = text
        .iter()
        .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'$'))
        .count();
    let (name, rest) = text.split_at(name_len);
    let named = name.strip_suffix(b"Error").or_else(|| name.strip_suffix(b"Exception"));
    let Some(before) = named else { return false };
    // `Error: …` alone is no name; it is the business of `error`.
    let camel = before.last().is_some_and(u8::is_ascii_alphanumeric) && !before.ends_with(b"_");
    let ends =
        rest.is_empty() || rest.starts_with(b": ") || rest == b":" || rest.starts_with(b" [");
    camel
        && ends
        && (rest.first() == Some(&b':')
            || name.contains(&b'.')
            || !rest.is_empty()
            || name.len() > 9)
}

/// Failures that begin with a mark of their own.
fn marked(text: &[u8]) -> bool {
    let marks = ["\u{2715} ", "\u{2717} ", "\u{2718} ", "\u{d7} ", "ninja: build stopped"];
    let jest = || {
        let rest = text.strip_prefix("\u{25cf} ".as_bytes());
        rest.is_some_and(|rest| !rest.starts_with(b"Console"))
    };
    let tap = || {
        let number = text.strip_prefix(b"not ok ").and_then(<[u8]>::first);
        number.is_some_and(u8::is_ascii_digit)
    };
    let make = || starts_with_any(text, &["make", "gmake"]) && contains(text, ": *** ");
    starts_with_any(text, &marks) || jest() || tap() || make()
}

fn failure(text: &[u8]) -> bool {
    let shouted = exact_words(text, "FAILED")
        .chain(exact_words(text, "FAIL"))
        .chain(exact_words(text, "FAILURE"))
        .chain(exact_words(text, "FAILURES"))
        .any(|(at, end)| !counted_zero(text, at, end));
    let said = words(text, "failed").any(|at| {
        let (before, rest) = (&text[..at], &text[at + "failed".len()..]);
        match count_before(before) {
            Some(count) => count > 0,
            None => {
                let goes_on = starts_with_any(
                    rest,
                    &[": ", " to ", " with ", " at ", " (", " in ", " after ", ", ", " because"],
                );
                let ends = matches!(rest, b"" | b"." | b"!" | b":" | b"...");
                (goes_on || ends || at == 0) && !zero_after(rest) && !negated(before)
            }
        }
    });
    let counted = ["failures", "failure", "failing"].iter().any(|word| {
        words(text, word).any(|at| count_before(&text[..at]).is_some_and(|count| count > 0))
    });
    let heading = matches!(text, b"failures:" | b"Failures:")
        || text.starts_with(b"Failure: ")
        || text.starts_with(b"FAILURE: ");
    shouted || said || counted || heading
}

fn fatal(text: &[u8]) -> bool {
    words(text, "fatal").any(|at| {
        let rest = &text[at + "fatal".len()..];
        starts_with_any(rest, &[": ", " error", "]"]) || exact_at(text, at, "FATAL")
    }) || contains(text, "level=fatal")
}

fn error(line: &[u8], text: &[u8]) -> bool {
    if starts_with_any(text, &["npm ERR!", "npm error ", "CMake Error", "error: ", "Error: "]) {
        return true;
    }
    spelled(text, "error").any(|at| {
        let (before, rest) = (&text[..at], &text[at + "error".len()..]);
        if before.ends_with(b"level=") || before.ends_with(b"\"level\":\"") {
            return true;
        }
        if let Some(rest) = rest.strip_prefix(b"s") {
            return bounded(text, at, text.len() - rest.len())
                && (count_before(before).is_some_and(|count| count > 0)
                    || before.ends_with(b"treated as "));
        }
        bounded(text, at, at + "error".len()) && means_it(line, text, at, before, rest)
    })
}

/// Whether the word `error` at an index, alone as it stands, is where tools put it.
fn means_it(line: &[u8], text: &[u8], at: usize, before: &[u8], rest: &[u8]) -> bool {
    if let Some(count) = count_before(before) {
        return count > 0;
    }
    let said = || {
        rest.starts_with(b":") && !rest.starts_with(b"::") && !zero_after(rest) && !negated(before)
    };
    let shouted = || exact_at(text, at, "ERROR") && !zero_after(rest) && !rest.starts_with(b"=");
    let starts = || {
        let named = |b: u8| b.is_ascii_uppercase() || matches!(b, b'\'' | b'"' | b'`');
        let capital = exact_at(text, 0, "Error") && rest.get(1) != Some(&b'=');
        at == 0
            && rest.first() == Some(&b' ')
            && (capital || rest.get(1).is_some_and(|b| named(*b)))
    };
    tagged(rest)
        || said()
        || (rest.starts_with(b"]") && before.ends_with(b"["))
        || shouted()
        || starts()
        || (rest.starts_with(b"  ") && eslint_place(line))
}

fn linker_or_shell(text: &[u8]) -> bool {
    let first_word = text.split(u8::is_ascii_whitespace).next().unwrap_or_default();
    let from_linker =
        (first_word == b"ld:" || first_word.ends_with(b"/ld:") || first_word.ends_with(b"ld.lld:"))
            && !contains(text, "warning:")
            && !contains(text, "NOTE:");
    let linker = from_linker
        || contains(text, "undefined reference to ")
        || contains(text, "Undefined symbols for architecture")
        || contains(text, "undefined symbol: ");
    let shell = [
        ": command not found",
        ": No such file or directory",
        ": Permission denied",
        ": not found",
    ]
    .iter()
    .any(|end| text.ends_with(end.as_bytes()))
        && !text.starts_with(b"warning")
        && (!text.ends_with(b": not found")
            || starts_with_any(text, &["sh: ", "/bin/sh: ", "bash: "]));
    linker || shell
}

/// `error[E0308]`, `error TS2322`, `error LNK2019`, `error C2065`, `error CS0103`.
fn tagged(rest: &[u8]) -> bool {
    let code = match rest {
        [b'[', code @ ..] | [b' ', code @ ..] => code,
        _ => return false,
    };
    let letters = code.iter().take_while(|b| b.is_ascii_uppercase()).count();
    let digits = code[letters..].iter().take_while(|b| b.is_ascii_digit()).count();
    let end = code.get(letters + digits);
    let closed =
        if rest[0] == b'[' { end == Some(&b']') } else { matches!(end, None | Some(b':' | b' ')) };
    (1..=4).contains(&letters) && digits >= 2 && closed
}

/// `./main.go:5:2: undefined: x`: go build and vet say neither error nor failed.
fn go(text: &[u8]) -> bool {
    let Some(at) = memchr::memmem::find(text, b".go:") else { return false };
    let path = &text[..at];
    let path = path.strip_prefix(b"vet: ").unwrap_or(path);
    if path.is_empty() || path.iter().any(|b| b.is_ascii_whitespace() || *b == b'"' || *b == b'(') {
        return false;
    }
    let Some(rest) = number(&text[at + 4..]).and_then(|(_, rest)| rest.strip_prefix(b":")) else {
        return false;
    };
    number(rest).is_some_and(|(_, rest)| rest.starts_with(b": "))
}

/// `  12:5  error  …`
fn eslint_place(line: &[u8]) -> bool {
    let text = line.trim_ascii_start();
    let column = number(text).and_then(|(_, rest)| rest.strip_prefix(b":")).and_then(number);
    text.len() < line.len()
        && column.is_some_and(|(_, rest)| {
            rest.starts_with(b"  ") && rest.trim_ascii_start().starts_with(b"error")
        })
}

fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    let value = std::str::from_utf8(&text[..digits]).ok()?.parse().ok()?;
    Some((value, &text[digits..]))
}

/// The number that stands before a word: `3 errors`, `no errors`, `0 failed`, `2 tests failed`.
fn count_before(before: &[u8]) -> Option<u64> {
    let mut before = before.strip_suffix(b" ")?;
    for noun in [" tests", " test", " suites", " previous", " examples", " problems"] {
        before = before.strip_suffix(noun.as_bytes()).unwrap_or(before);
    }
    if before.ends_with(b"no")
        || before.ends_with(b"No")
        || before.ends_with(b"without")
        || before.ends_with(b"any")
    {
        return Some(0);
    }
    let start = before.iter().rposition(|b| !b.is_ascii_digit()).map_or(0, |at| at + 1);
    // A number that is part of a name or a version is no count.
    let free =
        start == 0 || matches!(before[start - 1], b' ' | b'(' | b'[' | b',' | b':' | b'=' | b'\t');
    let (count, _) = number(&before[start..])?;
    free.then_some(count)
}

fn counted_zero(text: &[u8], at: usize, end: usize) -> bool {
    count_before(&text[..at]) == Some(0) || zero_after(&text[end..])
}

/// `Failures: 0`, `errors=0`, `ERROR: none`.
fn zero_after(rest: &[u8]) -> bool {
    let rest = rest.strip_prefix(b"s").unwrap_or(rest);
    let rest = rest.trim_ascii_start();
    let Some(rest) = rest.strip_prefix(b":").or_else(|| rest.strip_prefix(b"=")) else {
        return false;
    };
    let rest = rest.trim_ascii_start();
    number(rest).is_some_and(|(count, rest)| count == 0 && !rest.starts_with(b"x"))
        || rest.eq_ignore_ascii_case(b"none")
        || starts_with_any(rest, &["null", "nil", "None", "false"])
}

fn negated(before: &[u8]) -> bool {
    [" no ", " on ", " if ", "without ", " not ", " never "]
        .iter()
        .any(|word| before.ends_with(word.as_bytes()))
        || ["no ", "on ", "if ", "never "].iter().any(|word| before == word.as_bytes())
}

fn starts_with_any(text: &[u8], starts: &[&str]) -> bool {
    starts.iter().any(|start| text.starts_with(start.as_bytes()))
}

fn contains(text: &[u8], part: &str) -> bool {
    memchr::memmem::find(text, part.as_bytes()).is_some()
}

/// `part` as whole words.
fn phrase(text: &[u8], part: &str) -> bool {
    memchr::memmem::find(text, part.as_bytes()).is_some_and(|at| bounded(text, at, at + part.len()))
}

fn exact_at(text: &[u8], at: usize, word: &str) -> bool {
    text[at..].starts_with(word.as_bytes())
}

/// Where `word` stands as a word of its own, in this very spelling.
fn exact_words<'a>(text: &'a [u8], word: &'a str) -> impl Iterator<Item = (usize, usize)> + 'a {
    memchr::memmem::find_iter(text, word.as_bytes())
        .map(|at| (at, at + word.len()))
        .filter(|&(at, end)| bounded(text, at, end))
}

/// Where `word` (in lower case) stands as a word of its own: lower case, upper case or with a
/// capital.
fn words<'a>(text: &'a [u8], word: &'a str) -> impl Iterator<Item = usize> + 'a {
    spelled(text, word).filter(move |&at| bounded(text, at, at + word.len()))
}

/// The same, also within other words.
fn spelled<'a>(text: &'a [u8], word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let bytes = word.as_bytes();
    let (lower, upper) = (bytes[0], bytes[0].to_ascii_uppercase());
    memchr::memchr2_iter(lower, upper, text).filter(move |&at| {
        let Some(found) = text.get(at..at + bytes.len()) else { return false };
        let all_upper = || {
            found[0] == upper && found.iter().zip(bytes).all(|(a, b)| *a == b.to_ascii_uppercase())
        };
        found[1..] == bytes[1..] || all_upper()
    })
}

/// Whether the bytes from `at` to `end` stand alone: not part of a name, a path, an option or a
/// quoted key.
fn bounded(text: &[u8], at: usize, end: usize) -> bool {
    let joins =
        |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'/' | b'$' | b'@' | b'\\');
    let before = at.checked_sub(1).map(|i| text[i]);
    let after = text.get(end).copied();
    let clean_before =
        before.is_none_or(|b| !joins(b) && !matches!(b, b'.' | b'=' | b'"' | b'\'' | b'`'));
    // A full stop ends a sentence; followed by a letter it is a file name or a method.
    let name_goes_on =
        after == Some(b'.') && text.get(end + 1).is_some_and(u8::is_ascii_alphanumeric);
    let clean_after = after.is_none_or(|b| !joins(b) && !matches!(b, b'"' | b'\'' | b'`' | b'('));
    clean_before && clean_after && !name_goes_on
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_line_panics(line in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = recognise(&line);
        }

        #[test]
        fn no_line_of_the_words_panics(
            parts in prop::collection::vec(prop::sample::select(vec![
                "error", "Error", "ERROR", "failed", "fatal", "assertion", " ", ": ", "0", "12", "[", "]", "s",
                "panic", ".", "E", "\t", "no ", "undefined reference to ", "'", "*** ", ".go:", "not ok ", "make",
            ]), 0..9)
        ) {
            let _ = Kind::of(&parts.concat());
        }
    }
}
