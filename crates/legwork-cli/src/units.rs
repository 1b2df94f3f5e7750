//! Durations, sizes and budgets as people write them.
//!
//! `30s`, `64KiB`, `4000tokens`: a number and its unit. A bare number of seconds or of
//! milliseconds is the classic slip between tools, so a duration without a unit is refused; bytes
//! are the one unit that is understood without being said. Every refusal shows what would have
//! been taken.

use std::time::Duration;

use legwork_job::Size;
use legwork_view::Budget;

/// What a duration looks like, for errors.
const DURATIONS: &str = "write a number and its unit, like 500ms, 30s, 5m, 2h or 1d";

/// What a size looks like, for errors.
const SIZES: &str = "write a number and its unit, like 512, 64KiB, 10MB or 1GiB";

/// A duration: `500ms`, `30s`, `1.5h`, `1m30s`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let mut total = Duration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let (number, unit, after) = first_quantity(rest).ok_or(DURATIONS)?;
        let seconds = match unit.to_ascii_lowercase().as_str() {
            "ms" => 0.001,
            "s" | "sec" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            "d" => 86_400.0,
            "" => return Err(format!("{text:?} has no unit; {DURATIONS}")),
            unknown => return Err(format!("unknown unit {unknown:?}; {DURATIONS}")),
        };
        let part = Duration::try_from_secs_f64(number * seconds);
        total = part.ok().and_then(|part| total.checked_add(part)).ok_or("far too long")?;
        rest = after;
    }
    if text.is_empty() { Err(DURATIONS.to_owned()) } else { Ok(total) }
}

/// A size in bytes: `512`, `64KiB`, `10MB`, `1G` (a power of two, as with `K` and `M`).
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let (number, unit, rest) = first_quantity(text.trim()).ok_or(SIZES)?;
    if !rest.is_empty() {
        return Err(SIZES.to_owned());
    }
    let bytes: f64 = match unit.to_ascii_lowercase().as_str() {
        "" | "b" | "bytes" => 1.0,
        "k" | "kib" => 1024.0,
        "m" | "mib" => 1024.0 * 1024.0,
        "g" | "gib" => 1024.0 * 1024.0 * 1024.0,
        "t" | "tib" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        "tb" => 1e12,
        unknown => return Err(format!("unknown unit {unknown:?}; {SIZES}")),
    };
    let total = (number * bytes).round();
    // Beyond this a float no longer counts single bytes, and no machine has them.
    if total > (1_u64 << 53) as f64 { Err("far too much".to_owned()) } else { Ok(total as u64) }
}

/// A budget: bytes like [`size`], or `4000tokens`.
pub(crate) fn budget(text: &str) -> Result<Budget, String> {
    let word = text.trim().to_ascii_lowercase();
    let tokens = ["tokens", "token", "tok"].into_iter().find_map(|unit| word.strip_suffix(unit));
    if let Some(count) = tokens {
        let count = count.trim().replace('_', "");
        return match count.parse() {
            Ok(count) => Ok(Budget::Tokens(count)),
            Err(_) => Err("write a number of tokens, like 4000tokens".to_owned()),
        };
    }
    let bytes = size(text).map_err(|why| format!("{why}; or tokens, like 4000tokens"))?;
    usize::try_from(bytes).map(Budget::Bytes).map_err(|_| "far too much".to_owned())
}

/// The size of a terminal: `80x24`, columns first.
pub(crate) fn terminal(text: &str) -> Result<Size, String> {
    let good = "write columns and rows, like 80x24";
    let (cols, rows) = text.split_once(['x', 'X']).ok_or(good)?;
    let side = |text: &str| text.parse::<u16>().ok().filter(|side| *side > 0);
    match (side(cols), side(rows)) {
        (Some(cols), Some(rows)) => Ok(Size { cols, rows }),
        _ => Err(good.to_owned()),
    }
}

/// A duration for people, in its two largest units.
pub(crate) fn shown(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (days, hours) = (seconds / 86_400, seconds / 3600 % 24);
    let (minutes, seconds) = (seconds / 60 % 60, seconds % 60);
    match (days, hours, minutes) {
        (0, 0, 0) if seconds == 0 => format!("{}ms", duration.as_millis()),
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, _) => format!("{minutes}m{seconds:02}s"),
        (0, _, _) => format!("{hours}h{minutes:02}m"),
        _ => format!("{days}d{hours:02}h"),
    }
}

/// A size for people.
pub(crate) fn shown_bytes(bytes: u64) -> String {
    let mut value = bytes as f64;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if value < 1024.0 {
            let digits = usize::from(unit != "B" && value < 10.0);
            return format!("{value:.digits$} {unit}");
        }
        value /= 1024.0;
    }
    format!("{value:.1} TiB")
}

/// The number at the beginning of a text, its unit, and what follows them.
fn first_quantity(text: &str) -> Option<(f64, &str, &str)> {
    let is_digit = |c: char| c.is_ascii_digit() || c == '.' || c == '_';
    let number_end = text.find(|c| !is_digit(c)).unwrap_or(text.len());
    let number: f64 = text[..number_end].replace('_', "").parse().ok()?;
    let after = text[number_end..].trim_start();
    let unit_end = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
    let rest = after[unit_end..].trim_start();
    // What neither a number begins nor a unit ends is no quantity.
    (rest.is_empty() || rest.starts_with(is_digit)).then_some((number, &after[..unit_end], rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_people_write_them() {
        let ms = |text: &str| duration(text).unwrap().as_millis();
        assert_eq!(ms("500ms"), 500);
        assert_eq!(ms("30s"), 30_000);
        assert_eq!(ms("5m"), 300_000);
        assert_eq!(ms("2h"), 7_200_000);
        assert_eq!(ms("1d"), 86_400_000);
        assert_eq!(ms("1.5h"), 5_400_000);
        assert_eq!(ms("1m30s"), 90_000);
        assert_eq!(ms(" 10 s "), 10_000);
        assert_eq!(ms("0s"), 0);
    }

    #[test]
    fn a_bad_duration_shows_a_good_one() {
        for text in ["", "30", "s", "-5s", "5 parsecs", "5s!", "1e9d", "..s", "5s,6s"] {
            let error = duration(text).unwrap_err();
            assert!(error.contains("30s"), "{text:?}: {error}");
        }
        assert_eq!(duration("99999999999999999999d").unwrap_err(), "far too long");
    }

    #[test]
    fn sizes_are_powers_of_two_unless_they_are_decimal() {
        assert_eq!(size("512"), Ok(512));
        assert_eq!(size("64KiB"), Ok(65_536));
        assert_eq!(size("64k"), Ok(65_536));
        assert_eq!(size("10MB"), Ok(10_000_000));
        assert_eq!(size("1.5GiB"), Ok(1_610_612_736));
        assert_eq!(size("1_000 B"), Ok(1000));
        for text in ["", "KiB", "-1", "1XB", "1K2K", "1KiB!"] {
            assert!(size(text).unwrap_err().contains("64KiB"), "{text:?}");
        }
        assert_eq!(size("99999999999TB").unwrap_err(), "far too much");
    }

    #[test]
    fn a_budget_is_bytes_or_tokens() {
        assert_eq!(budget("32KiB"), Ok(Budget::Bytes(32_768)));
        assert_eq!(budget("4000tokens"), Ok(Budget::Tokens(4000)));
        assert_eq!(budget("4_000 tokens"), Ok(Budget::Tokens(4000)));
        assert!(budget("many").unwrap_err().contains("4000tokens"));
        assert!(budget("x tokens").unwrap_err().contains("4000tokens"));
    }

    #[test]
    fn a_terminal_has_two_sides() {
        assert_eq!(terminal("120x40"), Ok(Size { cols: 120, rows: 40 }));
        for text in ["", "80", "0x24", "80x", "80x24x3", "99999x1"] {
            assert!(terminal(text).unwrap_err().contains("80x24"), "{text:?}");
        }
    }

    #[test]
    fn what_is_shown_is_short() {
        let of = |ms| shown(Duration::from_millis(ms));
        assert_eq!([of(40), of(9000), of(61_000)], ["40ms", "9s", "1m01s"]);
        assert_eq!([of(3_660_000), of(90_000_000)], ["1h01m", "1d01h"]);
        assert_eq!([shown_bytes(12), shown_bytes(1536)], ["12 B", "1.5 KiB"]);
        assert_eq!(shown_bytes(64 << 20), "64 MiB");
    }
}
