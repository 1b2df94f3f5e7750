//! The one shared thread for what outlives its caller.
//!
//! It drains pipes that survivors hold, so that they do not die of SIGPIPE; it ends the trees of
//! runs whose handle or future was dropped; it collects what could not be collected in time. It
//! exists only while there is something to do.

use std::fs::File;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};

use super::machine::{Machine, Wants};
use crate::containment;
use crate::outcome::Survivor;
use crate::sys::cgroup::Cgroup;
use crate::sys::io::{self as sysio, Got};
use crate::sys::process::{self, Leader};

/// Something that still needs care.
#[derive(Debug)]
enum Charge {
    /// A pipe whose writers live on.
    Pipe(OwnedFd),
    /// A run that nobody waits for any more.
    Run(Box<Machine>),
    /// A leader that could not be ended in time.
    Leader(Leader),
    /// A cgroup that is removed when the last one inside is gone.
    Cgroup { events: File, _cgroup: Cgroup },
    /// A survivor that is this process's foster child and must be collected.
    Foster(OwnedFd),
}

#[derive(Debug)]
struct Office {
    arrived: Vec<Charge>,
    bell: Option<Arc<OwnedFd>>,
    /// The process whose thread listens: a fork of the host has the bell and not the thread.
    pid: u32,
}

static OFFICE: Mutex<Office> = Mutex::new(Office { arrived: Vec::new(), bell: None, pid: 0 });

fn office() -> MutexGuard<'static, Office> {
    OFFICE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Drains a pipe for as long as somebody holds its other end.
pub(super) fn drain(pipe: OwnedFd) {
    hand_over(Charge::Pipe(pipe));
}

/// Brings an abandoned run to its end.
pub(super) fn adopt(machine: Box<Machine>) {
    hand_over(Charge::Run(machine));
}

/// Collects a leader whenever it ends.
pub(super) fn collect(leader: Leader) {
    hand_over(Charge::Leader(leader));
}

/// Keeps what belongs to survivors until they are gone.
pub(super) fn keep(cgroup: Option<Cgroup>, survivors: &[Survivor]) {
    if let Some(cgroup) = cgroup
        && let Ok(events) = cgroup.events()
    {
        hand_over(Charge::Cgroup { events, _cgroup: cgroup });
    }
    for survivor in survivors {
        if let Some(pidfd) = process::foster_child(survivor.pid as i32) {
            hand_over(Charge::Foster(pidfd));
        }
    }
}

fn hand_over(charge: Charge) {
    let mut office = office();
    if office.pid != std::process::id() {
        office.pid = std::process::id();
        office.bell = None;
    }
    if let Some(bell) = &office.bell {
        let bell = Arc::clone(bell);
        office.arrived.push(charge);
        sysio::ring(bell.as_fd());
        return;
    }
    let Ok(bell) = sysio::eventfd() else {
        drop(office);
        return without_thread(charge);
    };
    let bell = Arc::new(bell);
    office.bell = Some(Arc::clone(&bell));
    office.arrived.push(charge);
    let thread = std::thread::Builder::new().name("legwork-janitor".into());
    if thread.spawn(move || work(&bell)).is_err() {
        office.bell = None;
        let charges = std::mem::take(&mut office.arrived);
        drop(office);
        charges.into_iter().for_each(without_thread);
    }
}

/// The machine is out of threads or descriptors: a run is ended here and now; the rest is let go.
fn without_thread(charge: Charge) {
    if let Charge::Run(mut machine) = charge {
        while machine.turn(None).is_none() {
            machine.bury(|_| ());
        }
    }
}

/// Closes the office when the thread goes, whatever makes it go: the next charge opens it anew.
struct Closing;

impl Drop for Closing {
    fn drop(&mut self) {
        office().bell = None;
    }
}

fn work(bell: &OwnedFd) {
    let closing = Closing;
    let mut charges: Vec<Charge> = Vec::new();
    let mut buffer: Vec<u8> = Vec::with_capacity(64 * 1024);
    loop {
        {
            let mut office = office();
            charges.append(&mut office.arrived);
            if charges.is_empty() {
                // Closed under the same lock, so that no charge arrives in between.
                office.bell = None;
                std::mem::forget(closing);
                return;
            }
        }
        wait(bell.as_fd(), &charges);
        sysio::hush(bell.as_fd());
        charges.retain_mut(|charge| {
            let buffer = buffer.spare_capacity_mut();
            // One that goes wrong must not take the others with it.
            let done = catch_unwind(AssertUnwindSafe(|| is_done(charge, buffer)));
            !done.unwrap_or(true)
        });
    }
}

fn wait(bell: BorrowedFd<'_>, charges: &[Charge]) {
    let mut fds = vec![PollFd::from_borrowed_fd(bell, PollFlags::IN)];
    let mut patience: Option<Duration> = None;
    for charge in charges {
        match charge {
            Charge::Pipe(fd) => fds.push(PollFd::new(fd, PollFlags::IN)),
            Charge::Foster(pidfd) => fds.push(PollFd::new(pidfd, PollFlags::IN)),
            Charge::Leader(leader) => {
                fds.push(PollFd::from_borrowed_fd(leader.pidfd(), PollFlags::IN));
            }
            Charge::Cgroup { events, .. } => fds.push(PollFd::new(events, PollFlags::PRI)),
            Charge::Run(machine) => {
                machine.interest(&mut |_, fd, wants| {
                    let flags = match wants {
                        Wants::Read => PollFlags::IN,
                        Wants::Write => PollFlags::OUT,
                    };
                    fds.push(PollFd::from_borrowed_fd(fd, flags));
                });
                patience = patience.into_iter().chain(machine.patience()).min();
            }
        }
    }
    // Where the call itself fails, everything is simply looked at.
    let _ = sysio::poll(&mut fds, patience);
}

/// Looks after one charge, without waiting. Whether it needs no more care.
fn is_done(charge: &mut Charge, buffer: &mut [MaybeUninit<u8>]) -> bool {
    match charge {
        Charge::Pipe(fd) => {
            // Reads on it return instead of wait.
            sysio::read(fd.as_fd(), buffer) == Got::End
        }
        Charge::Run(machine) => {
            let over = machine.turn(Some(Duration::ZERO)).is_some();
            machine.bury(|_| ());
            over
        }
        Charge::Leader(leader) => leader.reap().is_some(),
        Charge::Cgroup { events, .. } => Cgroup::is_empty(events),
        Charge::Foster(pidfd) => {
            let gone = process::reap_foster_child(pidfd.as_fd());
            if gone {
                containment::collect_orphans();
            }
            gone
        }
    }
}
