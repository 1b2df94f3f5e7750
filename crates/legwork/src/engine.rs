//! For supervisors: one command, owned by a process that does nothing else.
//!
//! The verbs of this crate are guests in somebody's program. A supervisor is the opposite: it was
//! started for one command, every process below it belongs to that command, and it stays for as
//! long as one of them lives. [`Engine`] is the same machinery with that one difference; whoever
//! owns it brings the loop that waits.
//!
//! `legwork-job` is built on it. Programs that want to run a command want [`Command`] instead.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use crate::capture::Stream;
use crate::command::{Command, Sink, Supervised};
use crate::containment;
use crate::error::Result;
use crate::options::Stdin;
use crate::outcome::{Outcome, Survivor};
use crate::run::Verb;
use crate::run::life::{Event, Reason};
use crate::run::machine::Machine;
use crate::run::plan;
use crate::signal::Signal;
use crate::sys::proc::{self, Seen};
use crate::sys::process;
use crate::sys::spawn::{self, CStrings, Group, Kinship, Setup, c_string};

pub use crate::run::machine::Wants;

/// The first argument of a process that is a supervisor, by which other trees know to leave it
/// alone: a job outlives whoever started it.
pub const SUPERVISOR: &str = containment::SUPERVISOR;

/// The variable that carries the ids of the runs a process belongs to.
pub const MARKER: &str = containment::MARKER;

/// Why a supervisor ends its command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Somebody asked for it.
    Cancelled,
    /// Its caller's patience was its deadline.
    Deadline,
    /// It printed more than is kept.
    OutputLimit,
}

/// A command under its supervisor.
pub struct Engine {
    machine: Machine,
    input: Option<OwnedFd>,
    terminal: Option<OwnedFd>,
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("pid", &self.machine.pid()).finish_non_exhaustive()
    }
}

impl Engine {
    /// Starts the command, in a session of its own. `marker` is the id that its processes carry,
    /// `sink` takes what it prints.
    ///
    /// From here on orphans of this process's descendants come back to it, and every child of this
    /// process is taken for the command's.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub fn start(
        command: &Command,
        marker: &str,
        sink: impl FnMut(Stream, &[u8]) + Send + 'static,
    ) -> Result<Engine> {
        // Where the kernel refuses, orphans are lost to init, and found by their marker alone.
        let _ = process::adopt_orphans();
        let mut options = command.options.clone();
        options.supervised = Some(Supervised { marker: marker.to_owned(), sink: Sink::new(sink) });
        let plan = plan::plan(std::slice::from_ref(&command.exec), &options, Verb::Spawn)?;
        let has_terminal = command.exec.pty.is_some();
        let typed = command.exec.stdin == Stdin::Piped;
        let (machine, input) = Machine::start(plan, None)?;
        let terminal = if has_terminal { machine.terminal() } else { None };
        Ok(Engine { machine, input: input.filter(|_| typed), terminal })
    }

    /// The pid of its first process.
    pub fn pid(&self) -> u32 {
        self.machine.pid()
    }

    /// Our end of its stdin, where that is a pipe or a terminal; writes to it do not wait.
    pub fn take_input(&mut self) -> Option<OwnedFd> {
        self.input.take()
    }

    /// Our side of its terminal, where it has one.
    pub fn terminal(&self) -> Option<BorrowedFd<'_>> {
        self.terminal.as_ref().map(AsFd::as_fd)
    }

    /// What it waits for, beside time and its children.
    pub fn interest<'a>(&'a self, each: &mut dyn FnMut(BorrowedFd<'a>, Wants)) {
        self.machine.interest(&mut |_, fd, wants| each(fd, wants));
    }

    /// How long it may be left alone.
    pub fn patience(&self) -> Option<Duration> {
        self.machine.patience()
    }

    /// Does what has become possible, without waiting. The outcome, once, when it can be told.
    pub fn turn(&mut self) -> Option<Outcome> {
        let outcome = self.machine.turn(Some(Duration::ZERO));
        self.machine.bury(|_| ());
        outcome
    }

    /// To be called when a child of this process has ended or been stopped.
    pub fn children_changed(&mut self) {
        containment::collect_children(&self.machine.leaders);
        self.machine.act(Event::Orphan);
    }

    /// Whether it is being ended.
    pub fn is_stopping(&self) -> bool {
        self.machine.life.is_stopping()
    }

    /// Whether its outcome was told and nothing of it is left: no process, no open pipe.
    pub fn is_over(&self) -> bool {
        self.machine.is_over()
    }

    /// Asks everyone of it to end; after the grace, everyone left is killed. Of one that has ended,
    /// its survivors.
    pub fn stop(&mut self, why: Stop, grace: Option<Duration>) {
        if let Some(grace) = grace {
            self.machine.life.set_grace(grace);
        }
        self.machine.act(Event::Stop(match why {
            Stop::Cancelled => Reason::Cancelled,
            Stop::Deadline => Reason::Deadline,
            Stop::OutputLimit => Reason::OutputLimit,
        }));
    }

    /// Signals everyone of it, and tells who that was.
    ///
    /// # Errors
    /// Where its processes cannot be looked for.
    pub fn signal(&mut self, signal: Signal) -> io::Result<Vec<Survivor>> {
        self.machine.requested.push(signal);
        let found = self.machine.tree.seek(&self.machine.leaders)?;
        let reached = found.members.into_iter().map(Survivor::new).collect();
        self.machine.tree.signal(&self.machine.leaders, signal)?;
        Ok(reached)
    }

    /// Signals its first process alone; `None` where that has ended.
    pub fn signal_leader(&mut self, signal: Signal) -> Option<Survivor> {
        let leader = self.machine.leaders.first().filter(|leader| !leader.is_gone())?;
        let seen = proc::stat(leader.pid().as_raw_nonzero().get())?.seen();
        let reached = Survivor::new(seen);
        let sent = leader.signal(signal);
        self.machine.requested.push(signal);
        sent.then_some(reached)
    }

    /// Everyone of it who lives.
    ///
    /// # Errors
    /// Where they cannot be looked for.
    pub fn processes(&self) -> io::Result<Vec<Survivor>> {
        let found = self.machine.tree.seek(&self.machine.leaders)?;
        Ok(found.members.into_iter().map(Survivor::new).collect())
    }
}

/// When a process started, in the kernel's ticks since boot: with its pid, its name.
pub fn start_ticks(pid: u32) -> Option<u64> {
    proc::stat(pid as i32).map(|stat| stat.start_ticks)
}

/// Kills what is left of a command whose supervisor is gone: everyone who carries its marker or
/// descends from its first process (pid and start time), if that still is the one that was started.
/// How many that were.
///
/// # Errors
/// Where the processes of this machine cannot be looked at.
pub fn end_remnant(marker: &str, leader: Option<(u32, u64)>) -> io::Result<usize> {
    let leader = leader.map(|(pid, start_ticks)| Seen { pid: pid as i32, start_ticks });
    Ok(containment::Remnant { marker: marker.to_owned(), leader }.end()?.len())
}

/// Starts a program, under this name, that is nobody's child, in a session of its own, with `stdin` as its fd 0,
/// nothing on the others, and none of this process's other files. It has this process's
/// environment but for [`MARKER`]: whatever this process belongs to, that one does not.
///
/// # Errors
/// What the kernel said.
pub fn detach(
    program: &Path,
    name: &OsStr,
    args: &[&OsStr],
    stdin: BorrowedFd<'_>,
) -> io::Result<()> {
    let null = crate::sys::io::null()?;
    let Some(path) = c_string(program.as_os_str()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let argv = std::iter::once(name).chain(args.iter().copied());
    let vars: Vec<(OsString, OsString)> =
        std::env::vars_os().filter(|(name, _)| name != MARKER).collect();
    let equals = OsStr::new("=");
    let setup = Setup {
        program: &path,
        argv: &CStrings::new(argv.map(|arg| [arg])),
        env: &CStrings::new(vars.iter().map(|(name, value)| [name.as_os_str(), equals, value])),
        workdir: None,
        stdio: [stdin, null, null],
        group: Group::Session,
        own_terminal: false,
        foreground: None,
        limits: &[],
        nice: None,
        oom_score_adj: None,
        cgroup: None,
        kinship: Kinship::Orphan,
    };
    spawn::spawn_orphan(&setup).map_err(|refused| refused.error)
}
