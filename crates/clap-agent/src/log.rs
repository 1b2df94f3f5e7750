//! What a program says beside its answer, on stderr.
//!
//! For people a plain line. For agents one JSON object a line, with consecutive duplicates
//! collapsed: an entry is held back until another one, a progress line, an error or the end
//! follows, so that it can carry the number of its repetitions. ANSI sequences are removed, since
//! an agent pays for each of them and reads none.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;

/// How much a log line matters.
///
/// ```
/// assert_eq!(clap_agent::Level::Warn.name(), "warn");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Level {
    /// Something failed.
    Error,
    /// Something may fail.
    Warn,
    /// Something happened.
    #[default]
    Info,
    /// For whoever debugs the program.
    Debug,
    /// For whoever debugs it in detail.
    Trace,
}

impl Level {
    /// The word for it.
    ///
    /// ```
    /// assert_eq!(clap_agent::Level::Info.name(), "info");
    /// ```
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Level::Error => "error",
            Level::Warn => "warn",
            Level::Info => "info",
            Level::Debug => "debug",
            Level::Trace => "trace",
        }
    }
}

/// The level word of an untyped progress message.
pub(crate) const PROGRESS: &str = "progress";

#[derive(Serialize)]
struct Entry<'a> {
    ts: String,
    level: &'a str,
    msg: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    repeated: Option<u64>,
}

/// The entry held back until it is known how often it is repeated.
#[derive(Debug)]
struct Held {
    at: SystemTime,
    level: &'static str,
    msg: String,
    extra: u64,
}

/// Collapses consecutive duplicates: entries go in, finished lines come out.
#[derive(Debug, Default)]
pub(crate) struct Collapser {
    held: Option<Held>,
}

impl Collapser {
    /// Takes an entry; gives the line of the one before it, when that is finished by it.
    pub(crate) fn push(
        &mut self,
        at: SystemTime,
        level: &'static str,
        msg: &str,
    ) -> Option<String> {
        let msg = anstream::adapter::strip_str(msg).to_string();
        if let Some(held) = &mut self.held
            && held.level == level
            && held.msg == msg
        {
            held.extra += 1;
            return None;
        }
        let finished = self.finish();
        self.held = Some(Held { at, level, msg, extra: 0 });
        finished
    }

    /// The line of the entry that is still held back.
    pub(crate) fn finish(&mut self) -> Option<String> {
        let held = self.held.take()?;
        let entry = Entry {
            ts: rfc3339(held.at),
            level: held.level,
            msg: &held.msg,
            repeated: (held.extra > 0).then_some(held.extra),
        };
        let mut line = serde_json::to_string(&entry).expect("strings and numbers serialise");
        line.push('\n');
        Some(line)
    }
}

/// `2026-01-02T03:04:05.678Z`, in UTC, with as many decimals as the time has.
fn rfc3339(at: SystemTime) -> String {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let seconds = since.as_secs();
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let mut text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
    let nanos = since.subsec_nanos();
    if nanos > 0 {
        let decimals = format!(".{nanos:09}");
        text.push_str(decimals.trim_end_matches('0'));
    }
    text.push('Z');
    text
}

/// Days since 1970-01-01 as year, month, day in the Gregorian calendar: years begin in March, so
/// that the leap day is the last of its year.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn times_are_written_as_go_writes_them() {
        assert_eq!(rfc3339(at(0)), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(at(951_782_400)), "2000-02-29T00:00:00Z");
        assert_eq!(rfc3339(at(1_767_225_599)), "2025-12-31T23:59:59Z");
        let fine = at(1) + Duration::from_micros(120_300);
        assert_eq!(rfc3339(fine), "1970-01-01T00:00:01.1203Z");
    }

    #[test]
    fn consecutive_duplicates_become_one_entry_with_the_count_of_the_extra_ones() {
        let mut log = Collapser::default();
        assert_eq!(log.push(at(0), "info", "wait"), None);
        assert_eq!(log.push(at(1), "info", "\u{1b}[1mwait\u{1b}[0m"), None);
        assert_eq!(log.push(at(2), "info", "wait"), None);
        let line = log.push(at(3), "info", "go").unwrap();
        assert_eq!(
            line,
            "{\"ts\":\"1970-01-01T00:00:00Z\",\"level\":\"info\",\"msg\":\"wait\",\"repeated\":2}\n"
        );
        // The same words as progress are another entry.
        assert!(log.push(at(4), PROGRESS, "go").is_some());
        let last = log.finish().unwrap();
        assert!(last.contains("\"progress\"") && !last.contains("repeated"));
        assert_eq!(log.finish(), None);
    }
}
