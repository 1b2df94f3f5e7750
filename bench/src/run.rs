//! The suite for running commands: the four bars of the library, one row each.

use crate::Failure;
use crate::contender::Contender;
use crate::report::{self, Bar, Line, Unit};
use crate::rounds::{Options, interleave, median};
use crate::worker::{Sample, Task, Worker, measure_fresh};

const MIB: usize = 1024 * 1024;
const GIB: usize = 1024 * MIB;

pub(crate) fn suite(options: Options) -> Result<(), Failure> {
    let rows = [starts, large_parent, volume, crowd];
    let mut lines = Vec::new();
    for (row, measure) in (1..).zip(rows) {
        if options.wants(row) {
            lines.extend(measure(options)?);
        }
    }
    report::publish("run", &lines)
}

fn seconds(samples: &[Sample]) -> Vec<f64> {
    samples.iter().map(|sample| sample.seconds).collect()
}

fn median_of(contenders: &[Contender], samples: &[Vec<Sample>], whose: Contender) -> f64 {
    let found = contenders.iter().position(|contender| *contender == whose);
    found.map_or(f64::NAN, |index| median(seconds(&samples[index])))
}

/// What a start costs beside the program's own time: captures of `/bin/true`, one after another.
fn starts(options: Options) -> Result<Vec<Line>, Failure> {
    let contenders = Contender::ALL;
    let task = Task::Starts { count: 40 };
    let samples =
        interleave("1 capture of /bin/true", options.rounds(80), &contenders, |contender| {
            measure_fresh(contender, task)
        })?;
    let row = "1 capture of /bin/true";
    let std = median_of(&contenders, &samples, Contender::Std);
    let mut lines = Vec::new();
    for (contender, samples) in contenders.into_iter().zip(&samples) {
        let line = Line::new(row, contender, Unit::Seconds, seconds(samples)).against("std", std);
        lines.push(match contender {
            Contender::Legwork => line.bar(Bar::RatioAtMost(1.10)),
            _ => line,
        });
    }
    // The same samples, seen from tokio.
    let tokio = median_of(&contenders, &samples, Contender::Tokio);
    for (contender, samples) in contenders.into_iter().zip(&samples) {
        if contender.needs_runtime() {
            let line =
                Line::new("1 the same, on tokio", contender, Unit::Seconds, seconds(samples));
            lines.push(line.against("tokio::process", tokio));
        }
    }
    Ok(lines)
}

/// The same from a parent whose page tables it would take long to copy.
fn large_parent(options: Options) -> Result<Vec<Line>, Failure> {
    let contenders: Vec<Contender> =
        Contender::ALL.into_iter().chain([Contender::StdFork]).collect();
    let mut small = Worker::start(0)?;
    let mut large = Worker::start(4 * GIB)?;
    let samples = interleave(
        "2 the same from a parent of 4 GiB",
        options.rounds(32),
        &contenders,
        |contender| {
            // Who forks takes a hundred times as long, and is clear after fewer.
            let forks = matches!(contender, Contender::StdFork | Contender::Subprocess);
            let task = Task::Starts { count: if forks { 2 } else { 20 } };
            Ok([small.measure(contender, task)?, large.measure(contender, task)?])
        },
    )?;
    small.finish()?;
    large.finish()?;
    let mut lines = Vec::new();
    for (contender, samples) in contenders.into_iter().zip(samples) {
        let of = |heap: usize| samples.iter().map(move |pair| pair[heap].seconds);
        let small = median(of(0));
        let line = Line::new("2 from a parent of 4 GiB", contender, Unit::Seconds, of(1).collect());
        let line = line.against("itself, small", small);
        lines.push(if contender.is_legwork() { line.bar(Bar::RatioAtMost(1.2)) } else { line });
    }
    Ok(lines)
}

/// More output than anyone wants to keep. The peers keep all of it: they know no limit.
fn volume(options: Options) -> Result<Vec<Line>, Failure> {
    let contenders = Contender::ALL;
    let task = Task::Volume { bytes: GIB, limit: 64 * MIB };
    let samples = interleave("3 capture of 1 GiB", options.rounds(9), &contenders, |contender| {
        measure_fresh(contender, task)
    })?;
    let std = median_of(&contenders, &samples, Contender::Std);
    let mut lines = Vec::new();
    for (contender, samples) in contenders.into_iter().zip(&samples) {
        let row = "3 capture of 1 GiB, limit 64 MiB";
        let line = Line::new(row, contender, Unit::Seconds, seconds(samples)).against("std", std);
        lines.push(if contender.is_legwork() { line.bar(Bar::RatioAtMost(1.0)) } else { line });
    }
    for (contender, samples) in contenders.into_iter().zip(&samples) {
        let peaks = samples.iter().map(|sample| sample.peak_bytes as f64);
        let line = Line::new("3 its peak memory", contender, Unit::Bytes, peaks.collect());
        lines.push(if contender.is_legwork() {
            line.bar(Bar::AtMost((80 * MIB) as f64))
        } else {
            line
        });
    }
    Ok(lines)
}

/// Many at once. The bar is for the better of legwork's two forms, against the best of the peers.
fn crowd(options: Options) -> Result<Vec<Line>, Failure> {
    let contenders = Contender::ALL;
    let task = Task::Crowd { count: 64, bytes: 16 * MIB };
    let samples = interleave(
        "4 64 captures of 16 MiB at once",
        options.rounds(15),
        &contenders,
        |contender| measure_fresh(contender, task),
    )?;
    let medians = samples.iter().map(|samples| median(seconds(samples)));
    let medians: Vec<(Contender, f64)> = contenders.into_iter().zip(medians).collect();
    let best = |legwork: bool| {
        medians
            .iter()
            .filter(|(contender, _)| contender.is_legwork() == legwork)
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .copied()
    };
    let (peer, fastest) = best(false).ok_or("no peer was measured")?;
    let mut lines = Vec::new();
    for (contender, samples) in contenders.into_iter().zip(&samples) {
        let row = "4 64 captures of 16 MiB at once";
        let line = Line::new(row, contender, Unit::Seconds, seconds(samples));
        let line = line.against(&peer.to_string(), fastest);
        lines.push(if best(true).is_some_and(|(best, _)| best == contender) {
            line.bar(Bar::RatioAtMost(1.05))
        } else {
            line
        });
    }
    Ok(lines)
}
