//! pueue, the peer that keeps jobs as well: a daemon with a folder and a socket of its own, so that
//! it meets no other that may run on this machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::ground;
use crate::{Failure, report};

/// How long the daemon may take until it answers.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) struct Daemon {
    child: Child,
    client: PathBuf,
    config: PathBuf,
    /// Its socket: the path of one may not be long.
    _runtime: tempfile::TempDir,
}

impl Daemon {
    /// Starts one that runs so many tasks at once, with its state in this folder.
    pub(super) fn start(folder: &Path, parallel: usize) -> Result<Daemon, Failure> {
        let programs = report::target_directory()?.join("peers/bin");
        let client = programs.join("pueue");
        if !client.exists() {
            return Err("pueue is not there; \
                        install it: cargo install pueue --locked --root target/peers"
                .into());
        }
        let runtime = tempfile::tempdir()?;
        fs::create_dir(folder)?;
        let config = folder.join("pueue.yml");
        let settings = serde_json::json!({
            "shared": {
                "pueue_directory": folder,
                "runtime_directory": runtime.path(),
                "use_unix_socket": true,
                "unix_socket_path": runtime.path().join("socket"),
            },
            "client": {},
            "daemon": {},
        });
        // JSON is YAML.
        fs::write(&config, settings.to_string())?;
        let mut command = Command::new(programs.join("pueued"));
        command.arg("--config").arg(&config).stdin(Stdio::null());
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let daemon = Daemon { child, client, config, _runtime: runtime };
        let until = Instant::now() + PATIENCE;
        while let Err(error) = daemon.run(&["status"]) {
            if Instant::now() > until {
                return Err(format!("pueued does not answer: {error}").into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        daemon.run(&["parallel", &parallel.to_string()])?;
        Ok(daemon)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.client);
        command.arg("--config").arg(&self.config).args(args);
        command
    }

    /// Lets the client do something.
    pub(super) fn run(&self, args: &[&str]) -> Result<(), Failure> {
        ground::run(&mut self.command(args))
    }

    /// So many tasks have succeeded.
    pub(super) fn check(&self, count: usize) -> Result<(), Failure> {
        let status = ground::printed(&mut self.command(&["status", "--json"]))?;
        let done = status.matches(r#""result":"Success""#).count();
        if done == count { Ok(()) } else { Err(format!("{done} of {count} tasks ended").into()) }
    }

    /// Ends it, and waits for that, so that it does not disturb who comes next.
    pub(super) fn stop(mut self) -> Result<(), Failure> {
        self.run(&["shutdown"])?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
