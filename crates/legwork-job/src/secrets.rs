//! Secrets do not reach the disk.
//!
//! The values of variables that look like secrets, or are named as such, are overwritten with `*`
//! of the same length before anything is written, so that cursors stay what they are. A secret
//! that is split between two reads is found too: what may be the beginning of one is held back
//! until more comes, or until [`Mask::flush`] says that nothing will.

use std::ffi::OsStr;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

/// Shorter values would hide ordinary words.
const SHORTEST: usize = 8;

/// Parts of a name that say "secret".
const TELLING: [&str; 10] = [
    "SECRET",
    "TOKEN",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "API_KEY",
    "APIKEY",
    "ACCESS_KEY",
    "PRIVATE_KEY",
    "CREDENTIAL",
];

/// Whether a variable of this name looks like a secret.
///
/// ```
/// assert!(legwork_job::looks_secret("GITHUB_TOKEN".as_ref()));
/// assert!(legwork_job::looks_secret("db_password".as_ref()));
/// assert!(!legwork_job::looks_secret("PATH".as_ref()));
/// ```
pub fn looks_secret(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    TELLING.iter().any(|word| name.contains(word))
}

/// Overwrites secrets in a stream of bytes.
///
/// ```
/// use legwork_job::Mask;
///
/// let mut mask = Mask::new(["hunter2hunter2"]);
/// let mut written = Vec::new();
/// mask.push(b"login with hunter2hun", |bytes| written.extend_from_slice(bytes));
/// mask.push(b"ter2 done\n", |bytes| written.extend_from_slice(bytes));
/// mask.flush(|bytes| written.extend_from_slice(bytes));
/// assert_eq!(written, b"login with ************** done\n");
/// ```
#[derive(Debug, Clone)]
pub struct Mask {
    secrets: Vec<Vec<u8>>,
    finder: Option<AhoCorasick>,
    held: Vec<u8>,
}

impl Mask {
    /// A mask for these values; those of fewer than eight bytes are left out.
    ///
    /// ```
    /// assert!(legwork_job::Mask::new(["short"]).is_idle());
    /// ```
    pub fn new(values: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Mask {
        let mut secrets: Vec<Vec<u8>> = values
            .into_iter()
            .map(|value| value.as_ref().to_vec())
            .filter(|value| value.len() >= SHORTEST)
            .collect();
        secrets.sort();
        secrets.dedup();
        let finder = if secrets.is_empty() {
            None
        } else {
            // Only leftmost matches have the vector search in front: measured, 1 GiB of a build's
            // log took 1.3 s instead of 3.5. Behind it the smallest automaton will do.
            AhoCorasick::builder()
                .match_kind(MatchKind::LeftmostLongest)
                .kind(Some(AhoCorasickKind::ContiguousNFA))
                .build(&secrets)
                .ok()
        };
        Mask { secrets, finder, held: Vec::new() }
    }

    /// A mask that hides nothing.
    pub(crate) fn none() -> Mask {
        Mask { secrets: Vec::new(), finder: None, held: Vec::new() }
    }

    /// A mask for the variables of an environment: those that look like secrets, and those named.
    ///
    /// ```
    /// use legwork_job::Mask;
    /// let vars = [("API_TOKEN", "0123456789"), ("NOTE", "remember me")];
    /// let mask = Mask::of_environment(vars, &["NOTE"]);
    /// assert_eq!(mask.text("0123456789 / remember me"), "********** / ***********");
    /// ```
    pub fn of_environment<'a, S: AsRef<OsStr> + ?Sized + 'a>(
        vars: impl IntoIterator<Item = (&'a S, &'a S)>,
        named: &[&str],
    ) -> Mask {
        let is_secret =
            |name: &OsStr| looks_secret(name) || named.iter().any(|other| name == *other);
        let values = vars.into_iter().filter(|(name, _)| is_secret(name.as_ref()));
        Mask::new(values.map(|(_, value)| value.as_ref().as_bytes().to_vec()))
    }

    /// The same, and also for values of several lines as a terminal prints them, with a carriage
    /// return before each line feed.
    pub(crate) fn also_as_a_terminal_prints(self) -> Mask {
        let printed = |secret: &Vec<u8>| {
            let lines: Vec<&[u8]> = secret.split(|byte| *byte == b'\n').collect();
            lines.join(&b"\r\n"[..])
        };
        let several = self.secrets.iter().filter(|secret| secret.contains(&b'\n'));
        let printed: Vec<Vec<u8>> = several.map(printed).collect();
        if printed.is_empty() { self } else { Mask::new(self.secrets.into_iter().chain(printed)) }
    }

    /// Whether there is nothing to look for.
    ///
    /// ```
    /// assert!(!legwork_job::Mask::new(["long enough"]).is_idle());
    /// ```
    pub fn is_idle(&self) -> bool {
        self.finder.is_none()
    }

    /// Whether bytes are held back that may be the beginning of a secret.
    ///
    /// ```
    /// let mut mask = legwork_job::Mask::new(["hunter2hunter2"]);
    /// mask.push(b"hunter", |_| ());
    /// assert!(mask.is_holding());
    /// ```
    pub fn is_holding(&self) -> bool {
        !self.held.is_empty()
    }

    /// Takes bytes and gives on, masked, all that can be no part of a secret still to come.
    ///
    /// ```
    /// let mut mask = legwork_job::Mask::new(["hunter2hunter2"]);
    /// mask.push(b"nothing here", |bytes| assert_eq!(bytes, b"nothing here"));
    /// ```
    pub fn push(&mut self, bytes: &[u8], mut write: impl FnMut(&[u8])) {
        let Some(finder) = &self.finder else {
            if !bytes.is_empty() {
                write(bytes);
            }
            return;
        };
        if self.held.is_empty() {
            // By far the most there is: given on as it lies, without a copy.
            let ready = bytes.len() - unfinished(&self.secrets, bytes);
            if ready > 0 && finder.find(bytes).is_none() {
                write(&bytes[..ready]);
                self.held.extend_from_slice(&bytes[ready..]);
                return;
            }
        }
        self.held.extend_from_slice(bytes);
        let found = find(finder, &self.held);
        let open = self.held.len() - unfinished(&self.secrets, &self.held);
        // What is held back stays as it came, to be searched again with what follows; so a secret
        // that reaches into it is held back as a whole.
        let reaching = found.iter().filter(|range| range.start < open && open < range.end);
        let ready = reaching.map(|range| range.start).min().unwrap_or(open);
        let mut rest = self.held.split_off(ready);
        std::mem::swap(&mut self.held, &mut rest);
        cover(&found, &mut rest);
        if !rest.is_empty() {
            write(&rest);
        }
    }

    /// Gives on what was held back: nothing more comes, or too late to matter.
    ///
    /// ```
    /// let mut mask = legwork_job::Mask::new(["hunter2hunter2"]);
    /// mask.push(b"hunter", |_| panic!("held back"));
    /// mask.flush(|bytes| assert_eq!(bytes, b"hunter"));
    /// ```
    pub fn flush(&mut self, mut write: impl FnMut(&[u8])) {
        if let Some(finder) = self.finder.as_ref().filter(|_| !self.held.is_empty()) {
            let found = find(finder, &self.held);
            cover(&found, &mut self.held);
            write(&self.held);
            self.held.clear();
        }
    }

    /// All of these bytes, masked: an argument.
    ///
    /// ```
    /// let mask = legwork_job::Mask::new(["hunter2hunter2"]);
    /// assert_eq!(mask.bytes(b"--password=hunter2hunter2"), b"--password=**************");
    /// ```
    pub fn bytes(&self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        if let Some(finder) = &self.finder {
            let found = find(finder, &bytes);
            cover(&found, &mut bytes);
        }
        bytes
    }

    /// A whole text, masked: a command line, a screen.
    ///
    /// ```
    /// let mask = legwork_job::Mask::new(["hunter2hunter2"]);
    /// assert_eq!(mask.text("curl -u me:hunter2hunter2"), "curl -u me:**************");
    /// ```
    pub fn text(&self, text: &str) -> String {
        let bytes = self.bytes(text.as_bytes());
        // Whole secrets were replaced, so what was UTF-8 is; a value that is no text covers whole
        // characters or none.
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// Where secrets are, in order: the longest that begins at each place. Two secrets may share bytes,
/// so the search goes on right after the beginning of the last one.
fn find(finder: &AhoCorasick, bytes: &[u8]) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut from = 0;
    while let Some(next) = finder.find(&bytes[from..]) {
        found.push(from + next.start()..from + next.end());
        from += next.start() + 1;
    }
    found
}

/// Overwrites what was found, as far as these bytes reach.
fn cover(found: &[Range<usize>], bytes: &mut [u8]) {
    let length = bytes.len();
    for range in found {
        bytes[range.start.min(length)..range.end.min(length)].fill(b'*');
    }
}

/// How many bytes at the end are the beginning of a secret.
fn unfinished(secrets: &[Vec<u8>], bytes: &[u8]) -> usize {
    let begins = |secret: &Vec<u8>| {
        (1..secret.len().min(bytes.len() + 1))
            .rev()
            .find(|length| bytes.ends_with(&secret[..*length]))
    };
    secrets.iter().filter_map(begins).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn masked(secrets: &[&str], chunks: &[&[u8]]) -> Vec<u8> {
        let mut mask = Mask::new(secrets);
        let mut written = Vec::new();
        for chunk in chunks {
            mask.push(chunk, |bytes| written.extend_from_slice(bytes));
        }
        mask.flush(|bytes| written.extend_from_slice(bytes));
        written
    }

    #[test]
    fn a_secret_in_pieces_is_found() {
        let pieces: Vec<&[u8]> = b"a secretsecret b".chunks(1).collect();
        assert_eq!(masked(&["secretsecret"], &pieces), b"a ************ b");
    }

    #[test]
    fn secrets_that_overlap_are_both_covered() {
        assert_eq!(masked(&["abcdefgh", "efghijkl"], &[b"xabcdefghijklx"]), b"x************x");
        assert_eq!(masked(&["aaaaaaaa"], &[b"aaaaaaaaaaab"]), b"***********b");
    }

    #[test]
    fn secrets_that_overlap_are_both_covered_in_pieces() {
        let pieces: [&[u8]; 2] = [b"xabcdefgh", b"ijklx"];
        assert_eq!(masked(&["abcdefgh", "efghijkl"], &pieces), b"x************x");
        let pieces: [&[u8]; 2] = [b"xabcdefgh", b"ix"];
        assert_eq!(masked(&["abcdefgh", "efghijkl"], &pieces), b"x********ix");
    }

    #[test]
    fn what_is_held_back_does_not_grow() {
        let mut mask = Mask::new(["aaaaaaaa", "aaaaaaaaab"]);
        for _ in 0..100 {
            mask.push(&[b'a'; 50], |bytes| assert!(bytes.iter().all(|byte| *byte == b'*')));
            assert!(mask.held.len() < 20);
        }
    }

    #[test]
    fn what_is_no_secret_is_not_held_for_ever() {
        let mut mask = Mask::new(["secretsecret"]);
        mask.push(b"the prompt: sec", |bytes| assert_eq!(bytes, b"the prompt: "));
        assert!(mask.is_holding());
        mask.push(b"ond", |bytes| assert_eq!(bytes, b"second"));
        assert!(!mask.is_holding());
    }

    #[test]
    fn names_that_tell() {
        for name in ["AWS_SECRET_ACCESS_KEY", "npm_token", "PGPASSWORD", "OPENAI_API_KEY"] {
            assert!(looks_secret(name.as_ref()), "{name}");
        }
        for name in ["HOME", "KEYBOARD", "TERM", "EDITOR", "SSH_AUTH_SOCK"] {
            assert!(!looks_secret(name.as_ref()), "{name}");
        }
    }

    proptest! {
        #[test]
        fn chunking_does_not_matter_and_no_secret_is_left(
            parts in prop::collection::vec(prop_oneof![
                Just("abababab".to_owned()), Just("babababa1".to_owned()), "[ab1 ]{0,12}"
            ], 0..12),
            cuts in prop::collection::vec(0usize..120, 0..8),
        ) {
            let secrets = ["abababab", "babababa1"];
            let all = parts.concat().into_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(all.len())).collect();
            cuts.sort_unstable();
            let mut chunks = Vec::new();
            let mut from = 0;
            for cut in cuts {
                chunks.push(&all[from..cut]);
                from = cut;
            }
            chunks.push(&all[from..]);
            let whole = masked(&secrets, &[&all]);
            let pieces = masked(&secrets, &chunks);
            prop_assert_eq!(whole.len(), all.len());
            prop_assert_eq!(&whole, &pieces);
            for secret in secrets {
                for written in [&whole, &pieces] {
                    prop_assert!(!written.windows(secret.len()).any(|w| w == secret.as_bytes()));
                }
            }
        }
    }
}
