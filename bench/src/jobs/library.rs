//! Row 2: start, wait and read through the library, from a process that is there already.

use std::process::Command;
use std::time::Duration;

use legwork_job::{
    Condition, Gather, JobId, JobSpec, Local, Patience, Place as _, Reading, Report, Waiting,
};

use super::ground::{self, Ground, Supervisor};
use super::{Contender, compare, timed};
use crate::Failure;
use crate::report::{Bar, Line};
use crate::rounds::Options;

/// A wait for the end of one job.
pub(super) fn for_exit(id: JobId) -> Waiting {
    Waiting {
        jobs: vec![id],
        conditions: vec![Condition::Exit],
        gather: Gather::All,
        limit: None,
        since: Some(0),
        reading: Reading::default(),
        cancel: None,
    }
}

pub(super) fn succeeded(report: &Report) -> Result<(), Failure> {
    match report.success {
        Some(true) => Ok(()),
        _ => Err(format!("{}: {:?}", report.command, report.ending).into()),
    }
}

pub(super) fn row(ground: &Ground, options: Options) -> Result<Vec<Line>, Failure> {
    let legwork = ground.place("library-legwork", Supervisor::Legwork)?;
    let embedded = ground.place("library-embedded", Supervisor::Embedded)?;
    let spec = JobSpec::argv(["/bin/true"]);

    let three = |place: &Local| {
        let (seconds, report) = timed(|| {
            let id = place.start(&spec)?.id;
            place.wait(&for_exit(id))?;
            place.read(id, &Reading::default())
        })?;
        succeeded(&report)?;
        Ok(seconds)
    };
    let bare = || Ok(timed(|| ground::run(&mut Command::new("/bin/true")))?.0);
    let by_legwork = || three(&legwork);
    let by_itself = || three(&embedded);
    let execute = || {
        let patience = Patience::of(Duration::from_secs(60));
        let (seconds, report) = timed(|| legwork.execute(&spec, &patience, &Reading::default()))?;
        succeeded(&report)?;
        Ok(seconds)
    };
    let bar = Bar::RatioAtMost(4.0);
    let contenders = [
        Contender::new("std, spawn and wait", &bare),
        Contender::new("legwork-job, supervisor legwork", &by_legwork).bar(bar),
        Contender::new("legwork-job, supervisor embedded", &by_itself).bar(bar),
        Contender::new("legwork-job, execute", &execute),
    ];
    compare("2 start, wait, read in the library", options.rounds(400), &contenders)
}
