//! Ids: short enough to be cheap in a prompt, without letters that are taken for one another.

use std::fmt;
use std::str::FromStr;

/// No `0 o 1 l i u`, so that an id survives being read aloud and typed again.
const LETTERS: &[u8; 30] = b"23456789abcdefghjkmnpqrstvwxyz";

/// How many of them an id has: 30⁸, about 6.6 × 10¹¹.
const LENGTH: usize = 8;

/// The id of a job.
///
/// ```
/// use legwork_job::JobId;
///
/// let id = JobId::random();
/// assert_eq!(id.as_str().len(), 8);
/// assert_eq!(id.to_string().parse::<JobId>()?, id);
/// assert!("not an id".parse::<JobId>().is_err());
/// # Ok::<(), legwork_job::BadId>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobId([u8; LENGTH]);

/// A text that is no id.
///
/// ```
/// let error = "K3VQ8M2A".parse::<legwork_job::JobId>().unwrap_err();
/// assert!(error.to_string().contains("8 characters"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no job id; an id has 8 characters of 2-9 and a-z, as in \"k3vq8m2a\"")]
pub struct BadId {
    text: String,
}

impl JobId {
    /// A new id; whoever makes a folder of its name finds out whether it is taken.
    ///
    /// ```
    /// use legwork_job::JobId;
    /// assert_ne!(JobId::random(), JobId::random());
    /// ```
    pub fn random() -> JobId {
        let mut random = [0u8; 8];
        // It cannot fail for so few bytes once the system is up; a taken id is tried again anyway.
        let _ = rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty());
        let mut left = u64::from_ne_bytes(random);
        JobId([(); LENGTH].map(|()| {
            let letter = LETTERS[(left % LETTERS.len() as u64) as usize];
            left /= LETTERS.len() as u64;
            letter
        }))
    }

    /// Its characters.
    ///
    /// ```
    /// assert!(legwork_job::JobId::random().as_str().is_ascii());
    /// ```
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for JobId {
    type Err = BadId;

    fn from_str(text: &str) -> Result<JobId, BadId> {
        let bad = || BadId { text: text.to_owned() };
        let letters: [u8; LENGTH] = text.as_bytes().try_into().map_err(|_| bad())?;
        if letters.iter().all(|letter| LETTERS.contains(letter)) {
            Ok(JobId(letters))
        } else {
            Err(bad())
        }
    }
}

impl serde::Serialize for JobId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> serde::Deserialize<'de> for JobId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<JobId, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(feature = "schemars")]
impl schemars::JsonSchema for JobId {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "JobId".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "pattern": "^[2-9a-hjkmnp-tv-z]{8}$"})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_spread_and_survive_text() {
        let ids: std::collections::HashSet<JobId> = (0..10_000).map(|_| JobId::random()).collect();
        assert_eq!(ids.len(), 10_000);
        for id in ids {
            assert_eq!(id.to_string().parse::<JobId>(), Ok(id));
        }
    }

    #[test]
    fn letters_that_are_taken_for_one_another_are_none() {
        for text in
            ["", "k3vq8m2", "k3vq8m2aa", "k3vq8m20", "K3VQ8M2A", "k3vq8mil", "../../..", "k3vq8m2é"]
        {
            assert!(text.parse::<JobId>().is_err(), "{text:?}");
        }
    }
}
