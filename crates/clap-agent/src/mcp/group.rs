//! A call's process and everything it started: one process group, ended together.
//!
//! The group's number is the child's, and stays taken as long as the child is not reaped. So it is
//! signalled only before that, and nobody else's processes can be meant.

use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::process::{Child, Command};

/// From being asked to end to being ended.
const GRACE: Duration = Duration::from_secs(1);

/// How often to look whether the child has ended; waiting for it would reap it.
const LOOK: Duration = Duration::from_millis(5);

pub(super) struct Group {
    pub(super) child: Child,
}

impl Group {
    pub(super) fn start(command: &mut Command) -> std::io::Result<Self> {
        Ok(Group { child: command.process_group(0).kill_on_drop(true).spawn()? })
    }

    /// Asks all of it to end, and ends what is left: as soon as the child is gone and `quiet` (its
    /// streams are closed, so most likely nobody is left), at the latest after a short time.
    pub(super) async fn end(&mut self, quiet: impl Future) {
        self.signal(Signal::TERM);
        let gone = async {
            quiet.await;
            while !self.has_ended() {
                tokio::time::sleep(LOOK).await;
            }
        };
        let _ = tokio::time::timeout(GRACE, gone).await;
        self.signal(Signal::KILL);
        let _ = self.child.wait().await;
    }

    /// The group's number, until the child is reaped.
    fn id(&self) -> Option<Pid> {
        let id = i32::try_from(self.child.id()?).ok()?;
        Pid::from_raw(id).filter(|_| id > 1)
    }

    fn signal(&self, signal: Signal) {
        if let Some(id) = self.id() {
            let _ = kill_process_group(id, signal);
        }
    }

    fn has_ended(&self) -> bool {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match self.id() {
            Some(id) => !matches!(waitid(WaitId::Pid(id), look), Ok(None)),
            None => true,
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}
