//! Row 4: 1 GiB of text into the log, its secrets masked and its diagnostics kept, against the same
//! command with its stdout in a file. That file is the page cache's affair alone, without a pipe and
//! without a look at the text; so what a pipe through `cat` costs stands beside it.

use std::ffi::OsString;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use legwork_job::{JobId, JobSpec, Local, Place as _, Reading};

use super::build_log::{BLOCK, DIAGNOSTIC, SECRETS};
use super::ground::{Ground, Supervisor};
use super::library::{for_exit, succeeded};
use super::{Contender, compare, timed};
use crate::Failure;
use crate::report::{Bar, Line};
use crate::rounds::Options;

const GIB: u64 = 1 << 30;

/// The program that prints so many bytes.
pub(super) fn printer(bytes: u64) -> Result<Vec<OsString>, Failure> {
    let program = std::env::current_exe()?.into_os_string();
    Ok(vec![program, "print".into(), bytes.to_string().into()])
}

/// A job that prints so many bytes, with secrets among them.
pub(super) fn printing(bytes: u64) -> Result<JobSpec, Failure> {
    let mut spec = JobSpec::argv(printer(bytes)?);
    spec.env = SECRETS.map(|(name, value)| (name.into(), Some(value.into()))).into();
    Ok(spec)
}

pub(super) fn row(ground: &Ground, options: Options) -> Result<Vec<Line>, Failure> {
    let folder = ground.folder("volume")?;
    let place = ground.place("volume/state", Supervisor::Legwork)?;
    let spec = printing(GIB)?;
    let argv = printer(GIB)?;
    let path = folder.join("stdout");
    let filled = |mut command: Command| {
        command.envs(SECRETS).stdin(Stdio::null()).stdout(File::create(&path)?);
        let (seconds, status) = timed(|| command.status())?;
        if !status.success() || path.metadata()?.len() != GIB {
            return Err(format!("{command:?}: {status}").into());
        }
        // Every round begins without a file, as every job does, and with no GiB to be written out.
        std::fs::remove_file(&path)?;
        Ok(seconds)
    };
    let to_file = || {
        let mut command = Command::new(&argv[0]);
        command.args(&argv[1..]);
        filled(command)
    };
    // What a pipe costs, whoever reads it and whatever for.
    let through_cat = || {
        let mut command = Command::new("sh");
        command.args(["-c", r#""$@" | cat"#, "sh"]).args(&argv);
        filled(command)
    };
    let to_log = || {
        let (seconds, id) = timed(|| {
            let id = place.start(&spec)?.id;
            place.wait(&for_exit(id)).map(|_| id)
        })?;
        check(&place, id)?;
        forget(place.state_dir().path(), id)?;
        Ok(seconds)
    };
    let contenders = [
        Contender::new("stdout to a file", &to_file),
        Contender::new("a pipe, cat, a file", &through_cat),
        Contender::new("legwork-job", &to_log).bar(Bar::RatioAtMost(1.3)),
    ];
    compare("4 1 GiB of text", options.rounds(9), &contenders)
}

/// All was counted, secrets were masked, diagnostics kept.
fn check(place: &Local, id: JobId) -> Result<(), Failure> {
    let report = place.read(id, &Reading::default())?;
    succeeded(&report)?;
    if report.bytes != Some(GIB) {
        return Err(format!("{:?} bytes came", report.bytes).into());
    }
    let view = report.output.unwrap_or_default();
    if !view.contains(DIAGNOSTIC) {
        return Err("the view has no diagnostics of the middle".into());
    }
    let piece = place.bytes(id, GIB - BLOCK as u64, BLOCK)?.bytes;
    let text = String::from_utf8(piece)?;
    let (_, secret) = SECRETS[0];
    let masked = format!("with token {} to", "*".repeat(secret.len()));
    if text.contains(secret) || !text.contains(&masked) {
        return Err("the secret was not masked".into());
    }
    Ok(())
}

/// Empties the log: many of them are much, and emptying is not deleting.
fn forget(state: &Path, id: JobId) -> Result<(), Failure> {
    let log = state.join("jobs").join(id.as_str()).join("log");
    Ok(File::options().write(true).open(log)?.set_len(0)?)
}
