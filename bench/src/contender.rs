//! Who is measured, and how each of them captures: the plainest call that its own documentation
//! offers for "run this, give me stdout and stderr".
//!
//! Every capture is checked to be whole. A contender that lost bytes would otherwise win.

use std::ffi::OsString;
use std::fmt;

use serde::{Deserialize, Serialize};
use tokio::runtime::Runtime;

use crate::Failure;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Contender {
    Legwork,
    LegworkTokio,
    Std,
    /// The standard library, kept from using `posix_spawn`.
    StdFork,
    Duct,
    Subprocess,
    Tokio,
    Xshell,
}

impl Contender {
    /// Everyone who starts a process in the way they usually do.
    pub(crate) const ALL: [Contender; 7] = [
        Contender::Std,
        Contender::Legwork,
        Contender::LegworkTokio,
        Contender::Duct,
        Contender::Subprocess,
        Contender::Tokio,
        Contender::Xshell,
    ];

    pub(crate) fn is_legwork(self) -> bool {
        matches!(self, Contender::Legwork | Contender::LegworkTokio)
    }

    pub(crate) fn needs_runtime(self) -> bool {
        matches!(self, Contender::LegworkTokio | Contender::Tokio)
    }
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Contender::Legwork => "legwork",
            Contender::LegworkTokio => "legwork on tokio",
            Contender::Std => "std",
            Contender::StdFork => "std, forced fork",
            Contender::Duct => "duct",
            Contender::Subprocess => "subprocess",
            Contender::Tokio => "tokio::process",
            Contender::Xshell => "xshell",
        })
    }
}

/// What to run, and what has to come back.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub(crate) argv: Vec<OsString>,
    /// What it prints.
    pub(crate) bytes: usize,
    /// What may be kept of it, by those who can be told.
    pub(crate) limit: Option<usize>,
}

impl Job {
    fn check(&self, success: bool, total: u64, kept: usize) -> Result<(), Failure> {
        let expected = match self.limit {
            Some(limit) => self.bytes.min(limit),
            None => self.bytes,
        };
        // Who knows no limit keeps all of it.
        let whole = kept == expected || kept == self.bytes;
        if success && whole && total == self.bytes as u64 {
            return Ok(());
        }
        Err(format!("bad capture: success {success}, {total} bytes, {kept} kept").into())
    }

    fn legwork(&self) -> legwork::Command {
        let command = legwork::cmd(&self.argv);
        match self.limit {
            Some(limit) => command.capture_limit(limit),
            None => command,
        }
    }

    fn check_legwork(&self, outcome: &legwork::Outcome) -> Result<(), Failure> {
        let stdout = outcome.stdout.as_ref().ok_or("nothing was captured")?;
        self.check(outcome.success(), stdout.total(), stdout.bytes().len())
    }

    fn check_std(&self, output: &std::process::Output) -> Result<(), Failure> {
        let length = output.stdout.len();
        self.check(output.status.success(), length as u64, length)
    }
}

/// One capture from start to end, on the calling thread.
pub(crate) fn capture(
    contender: Contender,
    job: &Job,
    runtime: Option<&Runtime>,
) -> Result<(), Failure> {
    let (program, args) = job.argv.split_first().ok_or("nothing to run")?;
    match contender {
        Contender::Legwork => job.check_legwork(&job.legwork().capture()?),
        Contender::Std => {
            let mut command = std::process::Command::new(program);
            job.check_std(&command.args(args).output()?)
        }
        Contender::StdFork => {
            // A PATH of its own together with a bare name is one of the cases that the standard
            // library does not leave to `posix_spawn`.
            let path = std::path::Path::new(program);
            let (directory, name) = (path.parent(), path.file_name());
            let mut command = std::process::Command::new(name.ok_or("no program")?);
            command.env("PATH", directory.ok_or("no directory")?);
            job.check_std(&command.args(args).output()?)
        }
        Contender::Duct => job.check_std(&duct(job).run()?),
        Contender::Subprocess => {
            let captured = subprocess::Exec::cmd(program)
                .args(args)
                .stdout(subprocess::Redirection::Pipe)
                .stderr(subprocess::Redirection::Pipe)
                .capture()?;
            let length = captured.stdout.len();
            job.check(captured.success(), length as u64, length)
        }
        Contender::Xshell => {
            let shell = xshell::Shell::new()?;
            let command = shell.cmd(program).args(args).quiet();
            job.check_std(&command.output()?)
        }
        Contender::LegworkTokio | Contender::Tokio => {
            let runtime = runtime.ok_or("no runtime")?;
            runtime.block_on(capture_async(contender, job))
        }
    }
}

/// The same as a future, for those who have one.
pub(crate) async fn capture_async(contender: Contender, job: &Job) -> Result<(), Failure> {
    if contender == Contender::LegworkTokio {
        return job.check_legwork(&job.legwork().tokio().capture().await?);
    }
    let (program, args) = job.argv.split_first().ok_or("nothing to run")?;
    let mut command = tokio::process::Command::new(program);
    job.check_std(&command.args(args).output().await?)
}

fn duct(job: &Job) -> duct::Expression {
    duct::cmd(&job.argv[0], &job.argv[1..])
        .stdin_null()
        .stdout_capture()
        .stderr_capture()
        .unchecked()
}

/// So many captures at once, each contender in the way that is natural to it: futures, handles
/// that run in the background, or a thread for each.
pub(crate) fn crowd(
    contender: Contender,
    job: &Job,
    count: usize,
    runtime: Option<&Runtime>,
) -> Result<(), Failure> {
    match contender {
        Contender::LegworkTokio | Contender::Tokio => {
            runtime.ok_or("no runtime")?.block_on(async {
                let spawn = |_| {
                    let job = job.clone();
                    tokio::spawn(async move { capture_async(contender, &job).await })
                };
                for task in (0..count).map(spawn).collect::<Vec<_>>() {
                    task.await??;
                }
                Ok(())
            })
        }
        Contender::Duct => {
            let handles = (0..count).map(|_| duct(job).start());
            for handle in handles.collect::<Result<Vec<_>, _>>()? {
                job.check_std(handle.wait()?)?;
            }
            Ok(())
        }
        _ => std::thread::scope(|scope| {
            let spawn = |_| scope.spawn(|| capture(contender, job, None));
            for thread in (0..count).map(spawn).collect::<Vec<_>>() {
                thread.join().map_err(|_| "a thread panicked")??;
            }
            Ok(())
        }),
    }
}
