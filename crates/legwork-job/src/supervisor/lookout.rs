//! Looks at the job's processes, while somebody wants to know.

use std::collections::HashSet;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use legwork::engine::SUPERVISOR;

use crate::evidence::{self, BlockedOn, Input, Listening, ProcessFacts};
use crate::report::Process;

/// The job's own input, as the kernel names it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Source {
    /// There is none that could be waited for.
    None,
    Pipe {
        device: u64,
        inode: u64,
    },
    Terminal {
        rdev: u64,
    },
}

impl Source {
    pub(super) fn of_pipe(fd: BorrowedFd<'_>) -> Source {
        match rustix::fs::fstat(fd) {
            Ok(stat) => Source::Pipe { device: stat.st_dev, inode: stat.st_ino },
            Err(_) => Source::None,
        }
    }

    pub(super) fn of_terminal(master: BorrowedFd<'_>) -> Source {
        let name = rustix::pty::ptsname(master, Vec::new());
        let path = name.ok().and_then(|name| name.into_string().ok()).map(PathBuf::from);
        match path.and_then(|path| std::fs::metadata(path).ok()) {
            Some(facts) => Source::Terminal { rdev: facts.rdev() },
            None => Source::None,
        }
    }
}

/// What is seen.
#[derive(Debug, Default)]
pub(super) struct Sight {
    pub(super) blocked_on: Option<BlockedOn>,
    pub(super) listening: Vec<Listening>,
    pub(super) processes: Vec<Process>,
}

/// Everything below this process: what it waits for, what it listens on, who it is.
pub(super) fn look(source: Source, terminal: Option<BorrowedFd<'_>>) -> Sight {
    let Ok(mut tree) = evidence::tree(std::process::id() as i32) else {
        return Sight::default();
    };
    leave_out_other_jobs(&mut tree.processes);
    let pids: Vec<i32> = tree.processes.iter().map(|process| process.pid).collect();
    Sight {
        blocked_on: blocked(&pids, source, terminal),
        listening: evidence::listening(&pids).unwrap_or_default(),
        processes: tree
            .processes
            .into_iter()
            .map(|process| Process {
                pid: process.pid as u32,
                command: process.command,
                parent: Some(process.parent as u32),
                cpu_ms: Some(process.cpu_ms),
                rss_bytes: Some(process.rss_bytes),
            })
            .collect(),
    }
}

/// A supervisor that was started from inside this job hangs below it, and what hangs below that one
/// is another job's.
fn leave_out_other_jobs(processes: &mut Vec<ProcessFacts>) {
    let mut others = HashSet::new();
    // A parent comes before its children.
    processes.retain(|process| {
        let supervises = process.command.get(1).is_some_and(|word| word == SUPERVISOR);
        let is_other = supervises || others.contains(&process.parent);
        if is_other {
            others.insert(process.pid);
        }
        !is_other
    });
}

fn blocked(pids: &[i32], source: Source, terminal: Option<BorrowedFd<'_>>) -> Option<BlockedOn> {
    match (source, terminal) {
        (Source::Pipe { device, inode }, _) => {
            evidence::blocked_on(pids, &Input::Pipe { device, inode })
        }
        (Source::Terminal { rdev }, Some(master)) => {
            evidence::blocked_on(pids, &Input::Terminal { rdev, master: master.as_fd() })
        }
        (Source::Terminal { .. }, None) | (Source::None, _) => None,
    }
}
