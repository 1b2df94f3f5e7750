//! Who descends from a process.
//!
//! The kernel can list the children of a thread; where it was built without that, everybody in
//! `/proc` is looked at once. Either way the picture is not of one instant: who is born or ends
//! meanwhile may be missed. A storm of forks must not keep anyone looking for ever, so both the
//! processes that are told and the files that are read have a limit.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fs;
use std::io;
use std::path::Path;

use super::proc::{Process, Scratch, Stat, unless_short};
use super::report::{ProcessFacts, ProcessTree};

/// The processes that are told at most.
const MOST: usize = 4096;

/// The threads and zombies that are looked at for each of them, on average, at most.
const LOOKS: usize = 16;

/// The bytes of one list of children that are read at most: a full house of seven-digit pids.
const LIST: usize = 8 * MOST * LOOKS;

/// All live descendants of `root`, which is not among them.
///
/// # Errors
/// Where `root` does not exist, or the system is short of descriptors or memory; then nothing is
/// known.
pub(crate) fn tree(root: i32) -> io::Result<ProcessTree> {
    let way = if Path::new("/proc/thread-self/children").exists() { Way::Lists } else { Way::Scan };
    walk(root, way, MOST)
}

/// How children are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// The kernel lists those of each thread.
    Lists,
    /// Everybody is asked for their parent.
    Scan,
}

fn walk(root: i32, way: Way, most: usize) -> io::Result<ProcessTree> {
    let mut scratch = Scratch::default();
    Process::open(root, &mut scratch)?.stat(&mut scratch)?;
    let by_parent = match way {
        Way::Lists => HashMap::new(),
        Way::Scan => scan(&mut scratch)?,
    };
    let units = Units::of_this_machine();
    let mut tree = ProcessTree { processes: Vec::new(), capped: false };
    let mut looks = most.saturating_mul(LOOKS);
    let mut known = HashSet::from([root]);
    let mut queue = VecDeque::from([root]);
    while let Some(pid) = queue.pop_front() {
        if looks == 0 {
            break;
        }
        looks -= 1;
        let Some(process) = unless_short(Process::open(pid, &mut scratch))? else { continue };
        if pid != root {
            let Some(stat) = unless_short(process.stat(&mut scratch))? else { continue };
            // Another process may have got its pid since it was listed.
            if !stat.is_live() || !known.contains(&stat.parent) {
                continue;
            }
            if tree.processes.len() == most {
                tree.capped = true;
                break;
            }
            tree.processes.push(units.facts(&process, &stat, &mut scratch));
        }
        let mut meet = |child| {
            if known.insert(child) {
                queue.push_back(child);
            }
        };
        match way {
            Way::Scan => by_parent.get(&pid).into_iter().flatten().copied().for_each(&mut meet),
            Way::Lists => each_child(&process, &mut looks, &mut scratch, &mut meet)?,
        }
    }
    tree.capped |= looks == 0;
    Ok(tree)
}

/// The children that the kernel lists for the threads of a process, each thread a look.
fn each_child(
    process: &Process,
    looks: &mut usize,
    scratch: &mut Scratch,
    meet: &mut impl FnMut(i32),
) -> io::Result<()> {
    for thread in unless_short(process.threads(*looks))?.unwrap_or_default() {
        *looks = looks.saturating_sub(1);
        let path = format_args!("task/{thread}/children");
        let Some(list) = unless_short(process.read(path, LIST, scratch))? else { continue };
        let pids = list.split(u8::is_ascii_whitespace);
        pids.filter_map(|pid| std::str::from_utf8(pid).ok()?.parse().ok()).for_each(&mut *meet);
    }
    Ok(())
}

/// Everybody's children, the oldest first.
fn scan(scratch: &mut Scratch) -> io::Result<HashMap<i32, Vec<i32>>> {
    let mut births = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let Some(pid) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let Some(process) = unless_short(Process::open(pid, scratch))? else { continue };
        if let Some(stat) = unless_short(process.stat(scratch))? {
            births.push((stat.start_ticks, pid, stat.parent));
        }
    }
    births.sort_unstable();
    let mut by_parent: HashMap<i32, Vec<i32>> = HashMap::new();
    for (_, pid, parent) in births {
        by_parent.entry(parent).or_default().push(pid);
    }
    Ok(by_parent)
}

/// What the kernel's figures are counted in.
#[derive(Debug, Clone, Copy)]
struct Units {
    ticks_per_second: u64,
    page: u64,
}

impl Units {
    fn of_this_machine() -> Units {
        Units {
            ticks_per_second: rustix::param::clock_ticks_per_second().max(1),
            page: rustix::param::page_size() as u64,
        }
    }

    fn facts(self, process: &Process, stat: &Stat, scratch: &mut Scratch) -> ProcessFacts {
        ProcessFacts {
            pid: process.pid,
            parent: stat.parent,
            start_ticks: stat.start_ticks,
            state: char::from(stat.state),
            command: process.command(scratch),
            cpu_ms: stat.cpu_ticks.saturating_mul(1000) / self.ticks_per_second,
            rss_bytes: stat.rss_pages.saturating_mul(self.page),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use rustix::process::{Pid, Signal, kill_process};
    use testkit::wait_for;

    use super::super::stage::{Actor, commands};
    use super::*;

    const WAYS: [Way; 2] = [Way::Lists, Way::Scan];

    #[test]
    fn nested_shells_are_told_parents_first_and_the_root_is_not() {
        let actor = Actor::new(["bash", "-c", "bash -c 'sleep 300 & sleep 301; :'; :"]);
        for way in WAYS {
            let tree = wait_for("three descendants", || {
                let tree = walk(actor.pid(), way, MOST).unwrap();
                let are_there = ["sleep 300", "sleep 301"]
                    .iter()
                    .all(|sleep| tree.processes.iter().any(|p| p.command.join(" ") == *sleep));
                are_there.then_some(tree)
            });
            assert!(!tree.capped);
            assert_eq!(tree.processes.len(), 3, "{way:?}: {tree:?}");
            let shell = &tree.processes[0];
            assert_eq!((shell.command[0].as_str(), shell.parent), ("bash", actor.pid()));
            for sleep in &tree.processes[1..] {
                assert_eq!(sleep.parent, shell.pid);
                assert!(sleep.start_ticks >= shell.start_ticks);
            }
        }
    }

    #[test]
    fn a_zombie_is_not_told() {
        // The shell becomes a program that never collects its child.
        let actor = Actor::new(["bash", "-c", "sleep 300 & exec sleep 301"]);
        let line = format!("/proc/{}/cmdline", actor.pid());
        wait_for("the program", || (fs::read(&line).ok()? == b"sleep\x00301\x00").then_some(()));
        for way in WAYS {
            wait_for("the child", || {
                let tree = walk(actor.pid(), way, MOST).unwrap();
                (commands(&tree) == ["sleep 300"]).then_some(())
            });
        }
        let child = tree(actor.pid()).unwrap().processes[0].pid;
        kill_process(Pid::from_raw(child).unwrap(), Signal::KILL).unwrap();
        wait_for("its end", || (testkit::state(child as u32) == Some('Z')).then_some(()));
        for way in WAYS {
            assert_eq!(walk(actor.pid(), way, MOST).unwrap().processes, [], "{way:?}");
        }
    }

    #[test]
    fn a_child_of_a_second_thread_and_one_whose_main_thread_ended_are_told() {
        let script = "import ctypes, subprocess, threading, time
def second():
    subprocess.Popen(['sleep', '300'])
    time.sleep(300)
threading.Thread(target=second).start()
ctypes.CDLL(None).pthread_exit(None)";
        let actor = Actor::new(["bash", "-c", "python3 -c \"$0\"; :", script]);
        for way in WAYS {
            wait_for("the child of a thread", || {
                let tree = walk(actor.pid(), way, MOST).unwrap();
                let sleep = tree.processes.iter().find(|p| p.command[0] == "sleep")?;
                let parent = tree.processes.iter().find(|p| p.pid == sleep.parent)?;
                (parent.state == 'Z').then_some(())
            });
        }
    }

    #[test]
    fn more_than_the_cap_is_said_and_exactly_the_cap_is_not() {
        let actor = Actor::new(["bash", "-c", "for i in 1 2 3 4; do sleep 300 & done; wait"]);
        for way in WAYS {
            wait_for("four", || {
                (commands(&walk(actor.pid(), way, MOST).unwrap()) == ["sleep 300"; 4]).then_some(())
            });
            let cut = walk(actor.pid(), way, 3).unwrap();
            assert_eq!((cut.processes.len(), cut.capped), (3, true), "{way:?}");
            let whole = walk(actor.pid(), way, 4).unwrap();
            assert_eq!((whole.processes.len(), whole.capped), (4, false), "{way:?}");
        }
    }

    #[test]
    fn time_spent_computing_is_counted() {
        let actor = Actor::new(["bash", "-c", "bash -c 'while :; do :; done'; :"]);
        wait_for("a tenth of a second of it", || {
            tree(actor.pid()).unwrap().processes.first().filter(|p| p.cpu_ms >= 100).map(drop)
        });
    }

    #[test]
    fn what_is_looked_at_is_bounded_too() {
        let script = "import threading, time
for _ in range(64): threading.Thread(target=time.sleep, args=(300,)).start()";
        let actor = Actor::new(["python3", "-c", script]);
        let threads = format!("/proc/{}/task", actor.pid());
        wait_for("the threads", || (fs::read_dir(&threads).ok()?.count() > 64).then_some(()));
        let cut = walk(actor.pid(), Way::Lists, 1).unwrap();
        assert_eq!((cut.processes.len(), cut.capped), (0, true));
        let whole = walk(actor.pid(), Way::Lists, MOST).unwrap();
        assert_eq!((whole.processes.len(), whole.capped), (0, false));
    }

    #[test]
    fn memory_in_use_is_counted() {
        let script = "import time; memory = b'x' * (64 << 20); time.sleep(300)";
        let actor = Actor::new(["bash", "-c", "python3 -c \"$0\"; :", script]);
        wait_for("64 MiB of it", || {
            let processes = tree(actor.pid()).unwrap().processes;
            processes.into_iter().find(|p| p.rss_bytes >= 64 << 20).map(drop)
        });
    }

    #[test]
    fn a_root_that_is_not_there_is_an_error() {
        let mut ended = std::process::Command::new("true").stdin(Stdio::null()).spawn().unwrap();
        ended.wait().unwrap();
        assert!(tree(ended.id() as i32).is_err());
    }
}
