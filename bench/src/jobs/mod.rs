//! The suite for jobs: the bars of their supervisor, its log and its waiters, one row each.
//!
//! Everything is measured from this one small process, with the `legwork` that was built beside
//! it. A job leaves files behind, and a file system that has just deleted thousands of them is slow
//! at making new ones: so every row has a fresh folder, on the same file system for all peers, and
//! nothing is removed while measuring.

mod build_log;
mod cursor;
mod ground;
mod library;
mod many;
mod memory;
mod processes;
mod pueue;
mod volume;
mod waiter;
mod whole;

use std::time::Instant;

pub(crate) use self::build_log::main as print_build_log;
pub(crate) use self::waiter::tell_time;

use self::ground::Ground;
use crate::report::{self, Bar, Line, Unit};
use crate::rounds::{Options, interleave, median};
use crate::{Failure, environment};

pub(crate) fn suite(options: Options) -> Result<(), Failure> {
    environment::shed()?;
    let ground = Ground::new()?;
    let rows =
        [whole::row, library::row, many::row, volume::row, memory::row, cursor::row, waiter::row];
    let mut lines = Vec::new();
    for (row, measure) in (1..).zip(rows) {
        if options.wants(row) {
            lines.extend(measure(&ground, options)?);
        }
    }
    report::publish("jobs", &lines)?;
    ground.farewell();
    Ok(())
}

/// Someone who is measured.
#[derive(Clone, Copy)]
struct Contender<'a> {
    name: &'a str,
    bar: Option<Bar>,
    /// One sample, in seconds.
    sample: &'a dyn Fn() -> Result<f64, Failure>,
}

impl<'a> Contender<'a> {
    fn new(name: &'a str, sample: &'a dyn Fn() -> Result<f64, Failure>) -> Contender<'a> {
        Contender { name, bar: None, sample }
    }

    fn bar(mut self, bar: Bar) -> Contender<'a> {
        self.bar = Some(bar);
        self
    }
}

/// Measures them in interleaved rounds; the first is the one that the others are compared with.
fn compare(row: &str, rounds: usize, all: &[Contender<'_>]) -> Result<Vec<Line>, Failure> {
    let first = all.first().ok_or("nobody to measure")?;
    // What is set up once is not what it costs.
    for contender in all {
        (contender.sample)()?;
    }
    let samples = interleave(row, rounds, all, |contender| (contender.sample)())?;
    let reference = median(samples[0].iter().copied());
    let line = |(contender, samples): (&Contender<'_>, Vec<f64>)| {
        let line = Line::new(row, contender.name, Unit::Seconds, samples);
        let line = line.against(first.name, reference);
        match contender.bar {
            Some(bar) => line.bar(bar),
            None => line,
        }
    };
    Ok(all.iter().zip(samples).map(line).collect())
}

/// How long it takes, in seconds, with what came of it.
fn timed<T, E: Into<Failure>>(work: impl FnOnce() -> Result<T, E>) -> Result<(f64, T), Failure> {
    let start = Instant::now();
    let done = work().map_err(Into::into)?;
    Ok((start.elapsed().as_secs_f64(), done))
}
