//! Sessions: whose jobs a caller sees.
//!
//! A session is a path of the caller's own making, as `ci/build-7/tests`. It is handed down to
//! every job, and a caller sees the jobs of its session and of those below. It keeps callers from
//! mixing up each other's jobs and is no wall between them: that is the state directory's.

use std::fmt;
use std::str::FromStr;

use super::labels::is_plain;

const MOST_SEGMENTS: usize = 8;

/// A path that a caller goes by.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
pub(crate) struct Session(String);

/// A text that is no session.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is no session: {problem}; a session is up to 8 segments of letters, digits, \".\", \
     \"_\" and \"-\", at most 64 each, with \"/\" between them, as in \"ci/build-7\""
)]
pub(crate) struct BadSession {
    text: String,
    problem: &'static str,
}

impl Session {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether who goes by this session sees the other one's jobs: its own, and those below it.
    pub(crate) fn contains(&self, other: &Session) -> bool {
        match other.0.strip_prefix(&self.0) {
            Some(rest) => rest.is_empty() || rest.starts_with('/'),
            None => false,
        }
    }
}

impl FromStr for Session {
    type Err = BadSession;

    fn from_str(text: &str) -> Result<Session, BadSession> {
        let problem = if text.is_empty() {
            "it is empty"
        } else if text.split('/').any(str::is_empty) {
            "a slash stands at an end or beside another"
        } else if text.split('/').count() > MOST_SEGMENTS {
            "it has too many segments"
        } else if text.split('/').any(|segment| matches!(segment, "." | "..")) {
            "\".\" and \"..\" mean nothing in it"
        } else if !text.split('/').all(is_plain) {
            "a segment is too long or has other characters"
        } else {
            return Ok(Session(text.to_owned()));
        };
        Err(BadSession { text: text.to_owned(), problem })
    }
}

impl fmt::Display for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> serde::Deserialize<'de> for Session {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Session, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(text: &str) -> Session {
        text.parse().unwrap()
    }

    #[test]
    fn well_formed_ones_survive_text() {
        let long = "x".repeat(64);
        for text in ["a", "ci/build-7", "A.b_c-9/..x/-", &long, "1/2/3/4/5/6/7/8"] {
            assert_eq!(session(text).to_string(), text);
            let json = serde_json::to_string(&session(text)).unwrap();
            assert_eq!(json, format!("{text:?}"));
            assert_eq!(serde_json::from_str::<Session>(&json).unwrap(), session(text));
        }
    }

    #[test]
    fn malformed_ones_are_refused_with_an_example() {
        let long = "x".repeat(65);
        let malformed = [
            "",
            "/",
            "/a",
            "a/",
            "a//b",
            ".",
            "..",
            "a/../b",
            "a/.",
            "a b",
            "ä",
            "a\n",
            "a\\b",
            &long,
            "1/2/3/4/5/6/7/8/9",
        ];
        for text in malformed {
            let error = text.parse::<Session>().unwrap_err().to_string();
            assert!(error.contains("as in \"ci/build-7\""), "{error}");
            assert!(serde_json::from_value::<Session>(text.into()).is_err(), "{text:?}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, problem) in [
            ("", "empty"),
            ("a//b", "a slash"),
            ("a/", "a slash"),
            ("1/2/3/4/5/6/7/8/9", "too many"),
            ("a/..", "mean nothing"),
            ("a/b c", "other characters"),
        ] {
            let error = text.parse::<Session>().unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
    }

    #[test]
    fn a_session_contains_itself_and_those_below() {
        for (outer, inner, contains) in [
            ("a", "a", true),
            ("a", "a/b", true),
            ("a", "a/b/c", true),
            ("a/b", "a", false),
            ("a", "ab", false),
            ("a/b", "a/bc", false),
            ("a", "b", false),
            ("a", "b/a", false),
        ] {
            assert_eq!(session(outer).contains(&session(inner)), contains, "{outer} {inner}");
        }
    }
}
