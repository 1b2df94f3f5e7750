//! What a caller may call a job: names and labels.
//!
//! They stand in commands, file listings and messages, so they are made of characters that mean
//! nothing to a shell, and a name is never taken for an option or a hidden file. A name may look
//! like an id: an exact name is looked for before a part of an id.

use std::str::FromStr;

/// The most characters of a name, of a segment of a session, of a label's key.
const LONGEST: usize = 64;

/// The most bytes of a label's value.
const LONGEST_VALUE: usize = 256;

/// A text that no job may be called.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is no name for a job; a name has 1 to 64 letters, digits, \".\", \"_\" and \"-\", \
     and begins with none of \"-\" and \".\", as in \"web-2\""
)]
pub(crate) struct BadName {
    text: String,
}

/// Whether a job may be called so.
pub(crate) fn check_name(text: &str) -> Result<(), BadName> {
    if is_plain(text) && !text.starts_with(['-', '.']) {
        Ok(())
    } else {
        Err(BadName { text: text.to_owned() })
    }
}

/// 1 to 64 characters, each of which means nothing to anybody.
pub(super) fn is_plain(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    (1..=LONGEST).contains(&text.len()) && text.bytes().all(plain)
}

/// A word about a job and what it is, as `team=core`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Label {
    pub(crate) key: String,
    pub(crate) value: String,
}

/// A text that is no label.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is no label: {problem}; a label is a key like a name, \"=\" and up to 256 bytes \
     without control characters, as in \"team=core\""
)]
pub(crate) struct BadLabel {
    text: String,
    problem: &'static str,
}

impl FromStr for Label {
    type Err = BadLabel;

    fn from_str(text: &str) -> Result<Label, BadLabel> {
        let bad = |problem| BadLabel { text: text.to_owned(), problem };
        let (key, value) = text.split_once('=').ok_or_else(|| bad("it has no \"=\""))?;
        check_name(key).map_err(|_| bad("its key is no name"))?;
        if value.len() > LONGEST_VALUE {
            return Err(bad("its value is too long"));
        }
        if value.contains(char::is_control) {
            return Err(bad("its value has a control character"));
        }
        Ok(Label { key: key.to_owned(), value: value.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_and_no_options() {
        let (longest, too_long) = ("x".repeat(64), "x".repeat(65));
        for name in ["w", "web-2", "A.b_c", "_", "k3vq8m2a", "9", "a..", &longest] {
            assert_eq!(check_name(name), Ok(()), "{name:?}");
        }
        let bad = ["", "-web", ".web", "..", "a/b", "a b", "ä", "a\n", "$x", "a\0", &too_long];
        for name in bad {
            let error = check_name(name).unwrap_err().to_string();
            assert!(error.contains(&format!("{name:?}")) && error.contains("web-2"), "{error}");
        }
    }

    #[test]
    fn labels_have_a_key_and_a_value() {
        let label = |text: &str| text.parse::<Label>().map(|label| (label.key, label.value));
        assert_eq!(label("team=core"), Ok(("team".into(), "core".into())));
        assert_eq!(label("a=b=c d"), Ok(("a".into(), "b=c d".into())));
        assert_eq!(label("a="), Ok(("a".into(), String::new())));
        assert!(label(&format!("a={}", "x".repeat(256))).is_ok());
        for text in ["", "team", "=core", "-a=b", "a b=c", "a=\n", "a=\u{1b}[0m"] {
            let error = label(text).unwrap_err().to_string();
            assert!(error.contains("as in \"team=core\""), "{error}");
        }
        assert!(label(&format!("a={}", "x".repeat(257))).is_err());
    }
}
