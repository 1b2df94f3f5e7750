//! What was measured, as a table for people and as JSON for programs.

use std::fmt::{self, Write as _};
use std::path::PathBuf;

use serde::Serialize;

use crate::Failure;
use crate::rounds::median;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Unit {
    Seconds,
    Bytes,
    Count,
}

impl Unit {
    fn show(self, value: f64) -> String {
        match self {
            Unit::Seconds if value < 0.01 => format!("{:.0} µs", value * 1e6),
            Unit::Seconds => format!("{:.1} ms", value * 1e3),
            Unit::Bytes if value < f64::from(1 << 20) => format!("{:.0} KiB", value / 1024.0),
            Unit::Bytes => format!("{:.1} MiB", value / f64::from(1 << 20)),
            Unit::Count => format!("{value:.0}"),
        }
    }
}

/// What has to hold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Bar {
    RatioAtMost(f64),
    /// So many times as fast as who it is compared with.
    TimesFaster(f64),
    /// In the line's own unit.
    AtMost(f64),
}

/// One contender in one row.
#[derive(Debug, Serialize)]
pub(crate) struct Line {
    row: String,
    contender: String,
    unit: Unit,
    median: f64,
    /// The median that this one is compared with, and whose it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<(String, f64)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bar: Option<Bar>,
    #[serde(skip_serializing_if = "Option::is_none")]
    met: Option<bool>,
    samples: Vec<f64>,
}

impl Line {
    pub(crate) fn new(
        row: &str,
        contender: impl fmt::Display,
        unit: Unit,
        samples: Vec<f64>,
    ) -> Line {
        Line {
            row: row.to_owned(),
            contender: contender.to_string(),
            unit,
            median: median(samples.iter().copied()),
            reference: None,
            ratio: None,
            bar: None,
            met: None,
            samples,
        }
    }

    pub(crate) fn against(mut self, whose: &str, reference: f64) -> Line {
        self.ratio = Some(self.median / reference);
        self.reference = Some((whose.to_owned(), reference));
        self
    }

    pub(crate) fn bar(mut self, bar: Bar) -> Line {
        self.bar = Some(bar);
        self.met = Some(match bar {
            Bar::RatioAtMost(limit) => self.ratio.is_some_and(|ratio| ratio <= limit),
            Bar::TimesFaster(limit) => self.ratio.is_some_and(|ratio| 1.0 / ratio >= limit),
            Bar::AtMost(limit) => self.median <= limit,
        });
        self
    }

    fn cells(&self) -> [String; 7] {
        let bar = match self.bar {
            Some(Bar::RatioAtMost(limit)) => format!("≤ {limit:.2} ×"),
            Some(Bar::TimesFaster(limit)) => format!("≥ {limit:.0} × faster"),
            Some(Bar::AtMost(limit)) => format!("≤ {}", self.unit.show(limit)),
            None => String::new(),
        };
        let ratio = match (self.ratio, self.bar) {
            (Some(ratio), Some(Bar::TimesFaster(_))) => format!("{:.1} × faster", 1.0 / ratio),
            (Some(ratio), _) => format!("{ratio:.3} ×"),
            (None, _) => String::new(),
        };
        let met = match self.met {
            Some(true) => "met",
            Some(false) => "missed",
            None => "",
        };
        let against = self.reference.as_ref().map(|(whose, _)| whose.clone());
        [
            self.row.clone(),
            self.contender.clone(),
            self.unit.show(self.median),
            ratio,
            against.unwrap_or_default(),
            bar,
            met.to_owned(),
        ]
    }
}

const HEADER: [&str; 7] = ["row", "contender", "median", "ratio", "to", "bar", "met"];

/// Columns that hold numbers.
const RIGHT: [bool; 7] = [false, false, true, true, false, false, false];

/// The table, its columns aligned; a row's name stands only where it begins.
pub(crate) fn table(lines: &[Line]) -> String {
    let mut cells = vec![HEADER.map(str::to_owned)];
    cells.extend(lines.iter().map(Line::cells));
    let width = |column: usize| cells.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..HEADER.len()).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    let mut row_before = String::new();
    for mut row in cells {
        if row[0] == row_before {
            row[0].clear();
        } else {
            if !row_before.is_empty() {
                text.push('\n');
            }
            row_before.clone_from(&row[0]);
        }
        let mut line = String::new();
        for ((cell, width), right) in row.iter().zip(&widths).zip(RIGHT) {
            let _ = if right {
                write!(line, "{cell:>width$}  ")
            } else {
                write!(line, "{cell:<width$}  ")
            };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// How many bars there are, how many of them are met, and which are not.
fn summary(lines: &[Line]) -> String {
    let barred: Vec<&Line> = lines.iter().filter(|line| line.met.is_some()).collect();
    let missed: Vec<&&Line> = barred.iter().filter(|line| line.met == Some(false)).collect();
    let mut text = format!("bars: {} of {} met\n", barred.len() - missed.len(), barred.len());
    for line in missed {
        let [row, contender, median, ratio, _, bar, _] = line.cells();
        let value = if matches!(line.bar, Some(Bar::AtMost(_))) { median } else { ratio };
        let _ = writeln!(text, "missed: {row}, {contender}: {value}, the bar is {bar}");
    }
    text
}

/// Prints the table and what it comes to, writes the JSON, says where.
pub(crate) fn publish(suite: &str, lines: &[Line]) -> Result<(), Failure> {
    print!("{}\n{}", table(lines), summary(lines));
    let json = serde_json::json!({
        "version": 1,
        "suite": suite,
        "cores": std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        "lines": lines,
    });
    let path = target_directory()?.join("bench").join(format!("{suite}.json"));
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory)?;
    }
    std::fs::write(&path, serde_json::to_string_pretty(&json)? + "\n")?;
    println!("\n{}", path.display());
    Ok(())
}

/// The workspace's target directory, which this binary was built into: cargo marks it.
pub(crate) fn target_directory() -> Result<PathBuf, Failure> {
    let binary = std::env::current_exe()?;
    let marked = binary.ancestors().find(|ancestor| ancestor.join("CACHEDIR.TAG").exists());
    Ok(marked.map_or_else(|| "target".into(), PathBuf::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_met_or_missed_and_the_table_says_so() {
        let line = |median: f64| Line::new("1 row", "legwork", Unit::Seconds, vec![median]);
        let bar = Bar::RatioAtMost(1.1);
        let lines = [
            line(0.0011).against("std", 0.001).bar(bar),
            line(0.0012).against("std", 0.001).bar(bar),
        ];
        let expected = "\
row    contender   median    ratio  to   bar       met

1 row  legwork    1100 µs  1.100 ×  std  ≤ 1.10 ×  met
       legwork    1200 µs  1.200 ×  std  ≤ 1.10 ×  missed
";
        assert_eq!(table(&lines), expected);
        let expected = "\
bars: 1 of 2 met
missed: 1 row, legwork: 1.200 ×, the bar is ≤ 1.10 ×
";
        assert_eq!(summary(&lines), expected);
    }

    #[test]
    fn a_bar_may_be_in_the_lines_own_unit() {
        let line = |unit, value| Line::new("3", "legwork", unit, vec![value]);
        let bar = Bar::AtMost(80e6);
        assert_eq!(line(Unit::Bytes, f64::from(1 << 26)).bar(bar).met, Some(true));
        assert_eq!(line(Unit::Bytes, f64::from(1 << 27)).bar(bar).met, Some(false));
        let bar = Bar::AtMost(0.002);
        assert_eq!(line(Unit::Seconds, 0.0021).bar(bar).met, Some(false));
    }

    #[test]
    fn times_faster_is_the_other_way_round() {
        let line = |median: f64| Line::new("3", "legwork", Unit::Seconds, vec![median]);
        let bar = Bar::TimesFaster(10.0);
        assert_eq!(line(0.09).against("pueue", 1.0).bar(bar).met, Some(true));
        let missed = line(0.25).against("pueue", 1.0).bar(bar);
        assert_eq!(missed.met, Some(false));
        assert_eq!(missed.cells()[3], "4.0 × faster");
    }
}
