//! Times of reports, read back: a table shows ages, and a report carries RFC 3339.

use std::time::{Duration, SystemTime};

/// How long ago a time in RFC 3339 (`2026-11-15T09:30:00.123Z`) was; `None` where it is none.
/// One that lies ahead is now: clocks differ.
pub(crate) fn age(text: &str, now: SystemTime) -> Option<Duration> {
    let at = SystemTime::UNIX_EPOCH.checked_add(since_epoch(text)?)?;
    Some(now.duration_since(at).unwrap_or_default())
}

fn since_epoch(text: &str) -> Option<Duration> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let [year, month, day] = numbers::<3>(date, '-')?;
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let [hour, minute, second] = numbers::<3>(time, ':')?;
    let in_range = (1..=12).contains(&month) && (1..=31).contains(&day) && year >= 1970;
    if !in_range || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let seconds = days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
    let fraction: f64 = format!("0.{fraction}").parse().ok()?;
    Some(Duration::from_secs(seconds) + Duration::try_from_secs_f64(fraction).ok()?)
}

fn numbers<const N: usize>(text: &str, separator: char) -> Option<[u64; N]> {
    let parts: Vec<u64> =
        text.split(separator).map(|part| part.parse().ok()).collect::<Option<_>>()?;
    parts.try_into().ok()
}

/// Days since 1970, by the proleptic Gregorian calendar; a year begins in March, so that the leap
/// day is its last.
fn days(year: u64, month: u64, day: u64) -> u64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year / 400, year % 400);
    let month_of_year = (month + 9) % 12;
    let day_of_year = (153 * month_of_year + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_to_the_millisecond() {
        let seconds = |text: &str| since_epoch(text).map(|at| at.as_secs());
        assert_eq!(seconds("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(seconds("2000-02-29T23:59:59Z"), Some(951_868_799));
        assert_eq!(seconds("2026-11-15T09:30:00.123Z"), Some(1_794_735_000));
        assert_eq!(since_epoch("1970-01-01T00:00:01.250Z"), Some(Duration::from_millis(1250)));
        for text in ["", "now", "2026-11-15", "2026-13-01T00:00:00Z", "2026-11-15T09:30:00+01:00"] {
            assert_eq!(seconds(text), None, "{text:?}");
        }
    }

    #[test]
    fn an_age_is_never_negative() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(100);
        assert_eq!(age("1970-01-01T00:00:40Z", now), Some(Duration::from_secs(60)));
        assert_eq!(age("1971-01-01T00:00:00Z", now), Some(Duration::ZERO));
    }
}
