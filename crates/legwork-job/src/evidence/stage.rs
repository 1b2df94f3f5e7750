//! Real programs for the tests to look at, on a pipe or a terminal of their own. They and all
//! their descendants are gone when the test is.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, Stdio};

use rustix::fs::{Mode, OFlags};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use testkit::Victim;

use super::{BlockedOn, Input, ProcessTree, blocked_on, tree};

/// Our end of an actor's input.
#[derive(Debug)]
enum Ours {
    Nothing,
    Pipe(OwnedFd),
    Terminal { master: OwnedFd, rdev: u64 },
}

/// A running program.
#[derive(Debug)]
pub(super) struct Actor {
    child: Child,
    ours: Ours,
}

impl Actor {
    /// Without input.
    pub(super) fn new<'a>(argv: impl IntoIterator<Item = &'a str>) -> Actor {
        Actor { child: spawn(argv, Stdio::null(), Stdio::null), ours: Ours::Nothing }
    }

    /// With a pipe as its input.
    pub(super) fn on_pipe<'a>(argv: impl IntoIterator<Item = &'a str>) -> Actor {
        let (theirs, ours) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        Actor { child: spawn(argv, theirs.into(), Stdio::null), ours: Ours::Pipe(ours) }
    }

    /// With a terminal of its own, which controls it.
    pub(super) fn on_terminal<'a>(argv: impl IntoIterator<Item = &'a str>) -> Actor {
        let master =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let slave =
            rustix::fs::open(ptsname(&master, Vec::new()).unwrap(), flags, Mode::empty()).unwrap();
        let rdev = rustix::fs::fstat(&slave).unwrap().st_rdev;
        let argv = ["setsid", "--ctty"].into_iter().chain(argv);
        let side = || Stdio::from(slave.try_clone().unwrap());
        let child = spawn(argv, side(), side);
        Actor { child, ours: Ours::Terminal { master, rdev } }
    }

    pub(super) fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// It and its descendants.
    pub(super) fn pids(&self) -> Vec<i32> {
        let below = tree(self.pid()).map_or(Vec::new(), |tree| tree.processes);
        std::iter::once(self.pid()).chain(below.into_iter().map(|process| process.pid)).collect()
    }

    /// The input as whoever asks names it.
    pub(super) fn input(&self) -> Input<'_> {
        match &self.ours {
            Ours::Nothing => panic!("this actor has no input"),
            Ours::Pipe(ours) => {
                let stat = rustix::fs::fstat(ours).unwrap();
                Input::Pipe { device: stat.st_dev, inode: stat.st_ino }
            }
            Ours::Terminal { master, rdev } => {
                Input::Terminal { rdev: *rdev, master: master.as_fd() }
            }
        }
    }

    /// Types something.
    pub(super) fn feed(&self, text: &str) {
        let (Ours::Pipe(ours) | Ours::Terminal { master: ours, .. }) = &self.ours else {
            panic!("this actor has no input");
        };
        File::from(ours.try_clone().unwrap()).write_all(text.as_bytes()).unwrap();
    }

    /// One look.
    pub(super) fn look(&self) -> Option<BlockedOn> {
        blocked_on(&self.pids(), &self.input())
    }

    pub(super) fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(self.pid()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }
}

impl Drop for Actor {
    fn drop(&mut self) {
        // Who forks faster than it is looked at is stopped first.
        let _ = rustix::process::Pid::from_raw(self.pid())
            .map(|pid| rustix::process::kill_process(pid, rustix::process::Signal::STOP));
        let everyone: Vec<Victim> = self.pids().into_iter().map(|pid| Victim(pid as u32)).collect();
        drop(everyone);
        let _ = self.child.wait();
    }
}

fn spawn<'a>(
    argv: impl IntoIterator<Item = &'a str>,
    stdin: Stdio,
    output: impl Fn() -> Stdio,
) -> Child {
    let mut argv = argv.into_iter();
    let mut command = Command::new(argv.next().unwrap());
    command.args(argv).stdin(stdin).stdout(output()).stderr(output());
    command.env("TERM", "dumb").env_remove("PYTHONSTARTUP").spawn().unwrap()
}

/// The command lines of a tree.
pub(super) fn commands(tree: &ProcessTree) -> Vec<String> {
    tree.processes.iter().map(|process| process.command.join(" ")).collect()
}
