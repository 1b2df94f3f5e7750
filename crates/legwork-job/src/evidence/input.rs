//! Whether a job waits for its input.
//!
//! A thread that sleeps in a read of the input is strong evidence, one that sleeps in a poll,
//! select or epoll that includes it is weak: it may as well wait for the clock. The input is known
//! by what it is, a pipe by its inode and a terminal by its device, never by a descriptor's
//! number: in `cat | wc` both read descriptor 0, and only one of them reads ours.
//!
//! A process changes while it is looked at. So a hit counts only if the thread is still asleep in
//! the very same call after everything about it has been found out.

use std::collections::HashMap;
use std::os::fd::BorrowedFd;

use rustix::fs::FileType;
use rustix::termios::{LocalModes, tcgetattr};

use super::calls::waits_for;
use super::proc::{Process, Scratch, Stat, is_denied};
use super::report::{BlockedOn, Evidence, WaitsFor};

/// The threads that one look takes in at most.
const THREADS: usize = 64 * 1024;

/// The descriptors of one call whose files are looked up at most.
const DESCRIPTORS: usize = 1024;

/// `/dev/tty`: whichever terminal controls the process that opens it.
const ANY_TERMINAL: (u32, u32) = (5, 0);

/// A job's own input.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Input<'fd> {
    /// A pipe, as `stat` of either end tells it.
    Pipe {
        /// The device.
        device: u64,
        /// The inode, which both ends share.
        inode: u64,
    },
    /// A pseudo-terminal.
    Terminal {
        /// The device number of the side that the job has.
        rdev: u64,
        /// The other side.
        master: BorrowedFd<'fd>,
    },
}

/// Whether one of these processes waits for the input, and which: strong evidence goes before
/// weak, then the newest process before its elders, who usually wait for it.
///
/// `None` says that nobody was seen waiting, or that it cannot be known.
pub(crate) fn blocked_on(pids: &[i32], input: &Input<'_>) -> Option<BlockedOn> {
    let mut scratch = Scratch::default();
    let mut crowd: Vec<(i32, Stat)> = Vec::with_capacity(pids.len());
    for pid in pids.iter().copied().filter(|pid| *pid > 0) {
        let stat = Process::open(pid, &mut scratch).and_then(|process| process.stat(&mut scratch));
        crowd.extend(stat.ok().map(|stat| (pid, stat)));
    }
    let parents = crowd.iter().map(|(pid, stat)| (*pid, stat.parent)).collect();
    // The newest first, so that the first strong evidence is the answer.
    crowd.sort_by_cached_key(|(pid, stat)| {
        std::cmp::Reverse((stat.start_ticks, depth(*pid, &parents), *pid))
    });

    let mut looks = THREADS;
    let mut weak = None;
    let mut closed = None;
    for (pid, stat) in crowd {
        let Ok(process) = Process::open(pid, &mut scratch) else { continue };
        let found = match look(&process, &stat, input, &mut looks, &mut scratch) {
            Sight::Waits(evidence) => evidence,
            Sight::Closed if closed.is_none() && stat.may_ask(input) => {
                closed = Some((pid, process.command(&mut scratch)));
                continue;
            }
            Sight::Closed | Sight::Busy => continue,
        };
        if found == Evidence::Weak && weak.is_some() {
            continue;
        }
        let echo = Modes::of(input).and_then(Modes::echo);
        let command = process.command(&mut scratch);
        let blocked = BlockedOn { what: WaitsFor::Input, evidence: found, echo, pid, command };
        if found == Evidence::Strong {
            return Some(blocked);
        }
        weak = Some(blocked);
    }
    weak.or_else(|| {
        let (pid, command) = closed?;
        let echo = Modes::of(input)?.echo();
        (echo == Some(false)).then_some(BlockedOn {
            what: WaitsFor::Input,
            evidence: Evidence::Weak,
            echo,
            pid,
            command,
        })
    })
}

/// How many of the others a process descends from.
fn depth(pid: i32, parents: &HashMap<i32, i32>) -> usize {
    let mut at = pid;
    // Pids that were taken anew meanwhile could form a ring.
    (0..parents.len())
        .take_while(|_| match parents.get(&at) {
            Some(parent) => {
                at = *parent;
                true
            }
            None => false,
        })
        .count()
}

/// What a look at a process shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sight {
    Waits(Evidence),
    /// Nothing, or something else.
    Busy,
    /// It may not be looked at.
    Closed,
}

fn look(
    process: &Process,
    stat: &Stat,
    input: &Input<'_>,
    looks: &mut usize,
    scratch: &mut Scratch,
) -> Sight {
    let mut sight = Sight::Busy;
    for thread in process.threads(*looks).unwrap_or_default() {
        *looks = looks.saturating_sub(1);
        let call = match process.call(thread, scratch) {
            Ok(Some(call)) => call,
            Err(error) if is_denied(error) => return Sight::Closed,
            Ok(None) | Err(_) => continue,
        };
        let Some((evidence, descriptors)) = waits_for(&call, process, thread, scratch) else {
            continue;
        };
        if sight == Sight::Waits(evidence) {
            continue;
        }
        let is_ours = descriptors
            .into_iter()
            .take(DESCRIPTORS)
            .any(|fd| is_input(process, stat, thread, fd, input, scratch));
        // A stopped thread shows the call it was stopped in.
        let still = is_ours
            && process.thread_stat(thread, scratch).is_ok_and(|stat| stat.is_asleep())
            && process.call(thread, scratch) == Ok(Some(call));
        if still {
            sight = Sight::Waits(evidence);
            if evidence == Evidence::Strong {
                break;
            }
        }
    }
    sight
}

/// Whether a descriptor of a thread is the input. Threads need not share their descriptors.
fn is_input(
    process: &Process,
    stat: &Stat,
    thread: i32,
    fd: i32,
    input: &Input<'_>,
    scratch: &mut Scratch,
) -> bool {
    let path = format_args!("task/{thread}/fd/{fd}");
    // Only what can be the input by its name is asked for more: to ask a file on a network that
    // does not answer would be to wait with the job.
    let Ok(link) = process.link(path, scratch) else { return false };
    let is_candidate = match input {
        Input::Pipe { .. } => link.starts_with(b"pipe:["),
        Input::Terminal { .. } => is_device_path(link),
    };
    if !is_candidate {
        return false;
    }
    let Ok(file) = process.file(path, scratch) else { return false };
    let kind = FileType::from_raw_mode(file.st_mode);
    match *input {
        Input::Pipe { device, inode } => {
            kind == FileType::Fifo && (file.st_dev, file.st_ino) == (device, inode)
        }
        Input::Terminal { rdev, .. } => {
            let opened = (rustix::fs::major(file.st_rdev), rustix::fs::minor(file.st_rdev));
            kind == FileType::CharacterDevice
                && (file.st_rdev == rdev || opened == ANY_TERMINAL && stat.terminal == rdev)
        }
    }
}

/// `…/dev/tty`, `…/dev/console`, `…/dev/pts/7`, also below another root.
fn is_device_path(path: &[u8]) -> bool {
    let mut parts = path.rsplit(|b| *b == b'/').skip(1);
    matches!(parts.next(), Some(b"dev" | b"pts"))
}

impl Stat {
    /// Whether a process that cannot be looked at may be the one that reads from the terminal: it
    /// sleeps in its foreground.
    fn may_ask(&self, input: &Input<'_>) -> bool {
        match input {
            Input::Pipe { .. } => false,
            Input::Terminal { rdev, .. } => {
                self.terminal == *rdev && self.group == self.foreground && self.is_asleep()
            }
        }
    }
}

/// How a terminal treats what is typed.
#[derive(Debug, Clone, Copy)]
struct Modes(LocalModes);

impl Modes {
    /// The two sides of a terminal share their modes.
    fn of(input: &Input<'_>) -> Option<Modes> {
        match input {
            Input::Pipe { .. } => None,
            Input::Terminal { master, .. } => {
                tcgetattr(master).ok().map(|termios| Modes(termios.local_modes))
            }
        }
    }

    /// Whether what is typed is shown. A program that takes keys one by one, a shell's prompt say,
    /// shows them itself or not: then it is not known.
    fn echo(self) -> Option<bool> {
        if self.0.contains(LocalModes::ECHO) {
            Some(true)
        } else {
            self.0.contains(LocalModes::ICANON).then_some(false)
        }
    }
}

#[cfg(test)]
#[path = "input_tests.rs"]
mod tests;
