//! Row 5: what idle supervisors weigh, alone and in a crowd, and a thousand live jobs at once.
//!
//! The weight is the proportional share: what supervisors have in common counts once.

use std::path::Path;
use std::time::Duration;

use legwork_job::{JobSpec, Local, Place as _};

use super::ground::{self, Ground, Supervisor};
use super::{processes, timed};
use crate::Failure;
use crate::report::{Bar, Line, Unit};
use crate::rounds::Options;

const KIB: f64 = 1024.0;

/// Should this suite be killed, its jobs end by themselves.
const LONGEST: Duration = Duration::from_secs(300);

/// The live jobs of a state directory, ended at the latest when this is dropped.
struct Sleepers<'a> {
    ground: &'a Ground,
    state: &'a Path,
}

impl Sleepers<'_> {
    fn end(&self) -> Result<(), Failure> {
        ground::run(&mut self.ground.legwork(self.state, ["stop", "--all", "--yes"]))
    }
}

impl Drop for Sleepers<'_> {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// Starts jobs until there are so many; how long one start took.
fn fill(place: &Local, started: &mut usize, count: usize) -> Result<f64, Failure> {
    let mut spec = JobSpec::argv(["/bin/sleep", "1000"]);
    spec.deadline = Some(LONGEST);
    let new = count - *started;
    let (seconds, ()) = timed(|| (0..new).try_for_each(|_| place.start(&spec).map(drop)))?;
    *started = count;
    Ok(seconds / new as f64)
}

/// The weight of each supervisor, of which there have to be so many.
fn weights(place: &Local, count: usize) -> Result<Vec<f64>, Failure> {
    let supervisors = processes::supervisors(place.state_dir().path())?;
    if supervisors.len() != count {
        return Err(format!("{} of {count} jobs live", supervisors.len()).into());
    }
    supervisors.into_iter().map(processes::pss).collect()
}

pub(super) fn row(ground: &Ground, options: Options) -> Result<Vec<Line>, Failure> {
    let place = ground.place("memory", Supervisor::Legwork)?;
    let state = place.state_dir().path();
    let sleepers = Sleepers { ground, state };
    let weight = "5 memory of an idle supervisor";
    let crowd = "5 a thousand live jobs";
    eprintln!("{weight}: 1, 100 and 1,000 live jobs");

    let mut started = 0;
    fill(&place, &mut started, 1)?;
    let alone = weights(&place, started)?;
    fill(&place, &mut started, 100)?;
    let hundred = weights(&place, started)?;
    let each = fill(&place, &mut started, 1_000)?;
    let thousand = weights(&place, started)?;

    let rounds = options.rounds(15);
    let list = |args: &[&str]| -> Result<Vec<f64>, Failure> {
        let args = [&["list"], args].concat();
        let sample =
            |_| Ok(timed(|| ground::run(&mut ground.legwork(state, args.iter().copied())))?.0);
        (0..rounds).map(sample).collect()
    };
    let page = list(&[])?;
    let all = list(&["--all", "--output", "json"])?;
    let filter = legwork_job::Filter::default();
    let mut library = Vec::new();
    for _ in 0..rounds {
        let (seconds, listed) = timed(|| place.list(&filter))?;
        if listed.jobs.iter().filter(|job| job.running).count() != started {
            return Err("the list lacks jobs".into());
        }
        library.push(seconds);
    }
    let (stopping, ()) = timed(|| sleepers.end())?;
    let left = processes::supervisors(state)?.len();
    if left > 0 {
        return Err(format!("{left} supervisors are left").into());
    }

    let bytes = |name, samples| Line::new(weight, name, Unit::Bytes, samples);
    let seconds = |name, samples| Line::new(crowd, name, Unit::Seconds, samples);
    let fast = Bar::AtMost(0.1);
    Ok(vec![
        bytes("alone", alone).bar(Bar::AtMost(2048.0 * KIB)),
        bytes("each of 100", hundred).bar(Bar::AtMost(256.0 * KIB)),
        bytes("each of 1,000", thousand),
        seconds("library, one start", vec![each]),
        seconds("legwork list", page).bar(fast),
        seconds("library, all listed", library).bar(fast),
        seconds("legwork list --all --output json", all),
        seconds("legwork stop --all", vec![stopping]),
    ])
}
