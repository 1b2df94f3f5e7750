//! Row 3: two hundred jobs, started one by one with the command and waited for together.
//!
//! The peer is pueue, whose daemon may run all of them at once. Its daemon is new in every round
//! and started before the clock, because its state file grows with every task. `pueue wait` polls
//! every two seconds, which falls on the whole; what the starts alone take stands beside it.

use super::ground::{self, Ground};
use super::pueue::Daemon;
use super::timed;
use crate::Failure;
use crate::report::{Bar, Line, Unit};
use crate::rounds::{Options, interleave, median};

const JOBS: usize = 200;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    Pueue,
    Legwork,
}

/// One round, in seconds.
struct Sample {
    starts: f64,
    /// The starts, and the wait for all.
    whole: f64,
}

pub(super) fn row(ground: &Ground, options: Options) -> Result<Vec<Line>, Failure> {
    let mut round = 0;
    let folder = ground.folder("many")?;
    let row = "3 200 jobs, started and waited for";
    let contenders = [Who::Pueue, Who::Legwork];
    let samples = interleave(row, options.rounds(5), &contenders, |who| {
        round += 1;
        match who {
            Who::Pueue => {
                let daemon = Daemon::start(&folder.join(format!("pueue-{round}")), JOBS)?;
                let sample = measure(
                    |_| daemon.run(&["add", "--", "/bin/true"]),
                    |_| daemon.run(&["wait", "--quiet"]),
                );
                daemon.check(JOBS)?;
                daemon.stop()?;
                sample
            }
            Who::Legwork => {
                let state = folder.join(format!("legwork-{round}"));
                let start = |ids: &mut Vec<String>| {
                    let mut command = ground.legwork(&state, ["start", "--", "/bin/true"]);
                    ids.push(ground::printed(&mut command)?);
                    Ok(())
                };
                measure(start, |ids| {
                    let wait = ["wait".to_owned()].into_iter().chain(ids.iter().cloned());
                    ground::run(&mut ground.legwork(&state, wait))
                })
            }
        }
    })?;
    let of = |who: usize, what: fn(&Sample) -> f64| samples[who].iter().map(what).collect();
    let whole: [Vec<f64>; 2] = [of(0, |sample| sample.whole), of(1, |sample| sample.whole)];
    let starts: [Vec<f64>; 2] = [of(0, |sample| sample.starts), of(1, |sample| sample.starts)];
    let reference = median(whole[0].iter().copied());
    let starting = median(starts[0].iter().copied());
    let [pueue_whole, legwork_whole] = whole;
    let [pueue_starts, legwork_starts] = starts;
    let alone = "3 of that, the starts alone";
    let line = |row, who, samples| Line::new(row, who, Unit::Seconds, samples);
    Ok(vec![
        line(row, "pueue (its wait polls)", pueue_whole),
        line(row, "legwork", legwork_whole).against("pueue", reference).bar(Bar::TimesFaster(10.0)),
        line(alone, "pueue", pueue_starts),
        line(alone, "legwork", legwork_starts).against("pueue", starting),
    ])
}

fn measure(
    start: impl Fn(&mut Vec<String>) -> Result<(), Failure>,
    wait: impl Fn(&[String]) -> Result<(), Failure>,
) -> Result<Sample, Failure> {
    let mut ids = Vec::new();
    let (starts, ()) = timed(|| (0..JOBS).try_for_each(|_| start(&mut ids)))?;
    let (rest, ()) = timed(|| wait(&ids))?;
    Ok(Sample { starts, whole: starts + rest })
}
