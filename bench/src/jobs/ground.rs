//! Where the rows take place: a fresh folder under the target directory, and the `legwork` that was
//! built beside this program.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use legwork_job::{Local, StateDir};

use crate::{Failure, report};

pub(super) struct Ground {
    folder: PathBuf,
    legwork: PathBuf,
}

/// Which program becomes the supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Supervisor {
    /// The binary `legwork`.
    Legwork,
    /// This program, which embeds the library.
    Embedded,
}

impl Ground {
    pub(super) fn new() -> Result<Ground, Failure> {
        // As it is meant to be installed, where xtask has built it so.
        let legwork = match std::env::var_os("LEGWORK_BENCH_BINARY") {
            Some(path) => std::path::absolute(path)?,
            None => std::env::current_exe()?.with_file_name("legwork"),
        };
        if !legwork.exists() {
            return Err("there is no legwork beside this program; \
                        build it: cargo build --release --package legwork-cli"
                .into());
        }
        // The time and not the pid: a pid comes again, and its folder would not be fresh.
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        let folder = report::target_directory()?.join("bench-state").join(now.to_string());
        std::fs::create_dir_all(&folder)?;
        Ok(Ground { folder, legwork })
    }

    /// A new folder of this name.
    pub(super) fn folder(&self, name: &str) -> Result<PathBuf, Failure> {
        let folder = self.folder.join(name);
        std::fs::create_dir(&folder)?;
        Ok(folder)
    }

    /// Jobs in a new state directory of this name.
    pub(super) fn place(&self, name: &str, supervisor: Supervisor) -> Result<Local, Failure> {
        let place = Local::with(StateDir::at(self.folder.join(name))?);
        Ok(match supervisor {
            Supervisor::Legwork => place.supervisor(&self.legwork),
            Supervisor::Embedded => place,
        })
    }

    /// The command legwork with a state directory.
    pub(super) fn legwork<A: AsRef<OsStr>>(
        &self,
        state: &Path,
        args: impl IntoIterator<Item = A>,
    ) -> Command {
        let mut command = Command::new(&self.legwork);
        command.args(args).env("LEGWORK_STATE_DIR", state);
        command
    }

    /// Says what stays, and why.
    pub(super) fn farewell(self) {
        println!(
            "{} stays: a file system that has just deleted thousands of files is slow for a while",
            self.folder.display()
        );
    }
}

/// Runs it without input or output; it has to succeed.
pub(super) fn run(command: &mut Command) -> Result<(), Failure> {
    let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let status = command.status()?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}").into()) }
}

/// What it prints, without the last end of line; it has to succeed.
pub(super) fn printed(command: &mut Command) -> Result<String, Failure> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}", output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
}
