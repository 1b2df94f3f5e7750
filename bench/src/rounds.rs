//! Interleaved rounds: each one measures every contender once, in an order that rotates, so that
//! what else the machine does falls on all of them alike. The median of each contender's samples
//! is what is compared.

use std::io::{IsTerminal as _, Write as _};

use crate::Failure;

/// What the caller asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Options {
    effort: Effort,
    /// The number of the one row to measure.
    only: Option<usize>,
}

/// How much time the caller has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Effort {
    #[default]
    Full,
    Quick,
    /// So many rounds of every row.
    Rounds(usize),
}

impl Options {
    pub(crate) fn parse(mut words: &[&str]) -> Result<Options, Failure> {
        let mut options = Options::default();
        let number = |option: &str, word: &str| match word.parse() {
            Ok(number) if number > 0 => Ok(number),
            _ => Err(format!("{option}: `{word}` is no number from 1 up")),
        };
        loop {
            words = match words {
                [] => return Ok(options),
                ["--quick", rest @ ..] => {
                    options.effort = Effort::Quick;
                    rest
                }
                [option @ "--rounds", count, rest @ ..] => {
                    options.effort = Effort::Rounds(number(option, count)?);
                    rest
                }
                [option @ "--row", row, rest @ ..] => {
                    options.only = Some(number(option, row)?);
                    rest
                }
                _ => return Err(crate::USAGE.into()),
            };
        }
    }

    /// How many rounds a row has whose full number is this.
    pub(crate) fn rounds(self, full: usize) -> usize {
        match self.effort {
            Effort::Full => full,
            Effort::Quick => full.div_ceil(8).max(2),
            Effort::Rounds(count) => count,
        }
    }

    pub(crate) fn wants(self, row: usize) -> bool {
        self.only.is_none_or(|only| only == row)
    }
}

/// Measures everyone in `contenders` once a round; the samples of each, in their order.
pub(crate) fn interleave<C: Copy, S>(
    title: &str,
    rounds: usize,
    contenders: &[C],
    mut measure: impl FnMut(C) -> Result<S, Failure>,
) -> Result<Vec<Vec<S>>, Failure> {
    let mut samples: Vec<Vec<S>> = contenders.iter().map(|_| Vec::new()).collect();
    for round in 0..rounds {
        progress(title, round + 1, rounds);
        for turn in 0..contenders.len() {
            let index = (round + turn) % contenders.len();
            samples[index].push(measure(contenders[index])?);
        }
    }
    Ok(samples)
}

/// One line a row; on a terminal it counts.
fn progress(title: &str, round: usize, rounds: usize) {
    let mut stderr = std::io::stderr().lock();
    let is_last = round == rounds;
    let _ = if stderr.is_terminal() {
        let end = if is_last { "\n" } else { "" };
        write!(stderr, "\r{title}: round {round} of {rounds}{end}")
    } else if round == 1 {
        writeln!(stderr, "{title}: {rounds} rounds")
    } else {
        Ok(())
    };
}

/// The middle one, or the mean of the two in the middle.
pub(crate) fn median(samples: impl IntoIterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = samples.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_understood_or_refused() {
        let options = Options::parse(&["--quick", "--row", "4"]).unwrap();
        assert_eq!((options.rounds(80), options.rounds(9)), (10, 2));
        assert!(options.wants(4) && !options.wants(1));
        assert_eq!(Options::parse(&["--rounds", "7"]).unwrap().rounds(80), 7);
        assert_eq!(Options::parse(&[]).unwrap().rounds(80), 80);
        for bad in [&["--rounds"][..], &["--rounds", "0"], &["--row", "x"], &["4"]] {
            assert!(Options::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median([3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median([4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median([]).is_nan());
    }

    #[test]
    fn everyone_has_a_turn_in_every_round_and_nobody_is_always_first() {
        let mut order = Vec::new();
        let samples = interleave("test", 3, &[10, 20, 30], |contender| {
            order.push(contender);
            Ok(contender + 1)
        });
        assert_eq!(samples.unwrap(), [[11; 3], [21; 3], [31; 3]]);
        assert_eq!(order, [10, 20, 30, 20, 30, 10, 30, 10, 20]);
    }
}
