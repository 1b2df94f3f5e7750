//! Real programs that wait for input, each in its own way, and real ones that do not.

use rustix::process::{Signal, getuid};
use testkit::{state, wait_for, wait_until};

use super::super::stage::{Actor, commands};
use super::super::{listening, tree};
use super::*;

/// Waits until an actor is seen waiting.
fn caught(actor: &Actor) -> BlockedOn {
    wait_for("a program that waits for input", || actor.look())
}

/// Waits until an actor is seen waiting with this evidence: a program may pass through another
/// wait on its way.
fn caught_with(actor: &Actor, evidence: Evidence) -> BlockedOn {
    wait_for("the evidence", || actor.look().filter(|blocked| blocked.evidence == evidence))
}

/// Many looks, and no hit.
fn never_caught(actor: &Actor) {
    for _ in 0..100 {
        assert_eq!(actor.look(), None);
    }
}

fn name(blocked: &BlockedOn) -> &str {
    blocked.command[0].rsplit('/').next().unwrap()
}

const LINE: &str = "import sys; sys.stdin.readline(); import time; time.sleep(300)";

#[test]
fn a_read_of_the_pipe_is_strong() {
    let programs: [&[&str]; 5] = [
        &["bash", "-c", "read answer"],
        &["dash", "-c", "read answer"],
        &["cat"],
        &["perl", "-e", "my $answer = <STDIN>"],
        &["python3", "-c", "input()"],
    ];
    for program in programs {
        let actor = Actor::on_pipe(program.iter().copied());
        let blocked = caught(&actor);
        assert_eq!(blocked.evidence, Evidence::Strong, "{program:?}");
        assert_eq!((blocked.what, blocked.echo), (WaitsFor::Input, None), "{program:?}");
        assert!(actor.pids().contains(&blocked.pid));
        assert!(name(&blocked).starts_with(program[0]), "{blocked:?}");
    }
}

#[test]
fn a_read_of_the_terminal_is_strong_and_its_echo_is_told() {
    let programs: [&[&str]; 4] = [
        &["cat"],
        &["bash", "-c", "read answer"],
        &["bash", "-c", "read -p 'Name? ' answer"],
        &["dash", "-c", "read answer < /dev/tty"],
    ];
    for program in programs {
        let actor = Actor::on_terminal(program.iter().copied());
        let blocked = caught_with(&actor, Evidence::Strong);
        assert_eq!(blocked.echo, Some(true), "{program:?}");
        assert_eq!(name(&blocked), program[0]);
    }
    let actor = Actor::on_terminal(["python3", "-c", "input('Name? ')"]);
    assert!(name(&caught(&actor)).starts_with("python3"));
}

#[test]
fn a_password_is_told_by_the_echo() {
    let actor = Actor::on_terminal(["python3", "-c", "import getpass; getpass.getpass()"]);
    let blocked = caught_with(&actor, Evidence::Strong);
    assert_eq!(blocked.echo, Some(false));
    actor.feed("hunter2\n");
    wait_until("its end", || state(actor.pid() as u32) == Some('Z'));
    assert_eq!(actor.look(), None);
}

#[test]
fn polls_and_selects_and_epolls_are_weak() {
    let programs = [
        "import select; select.select([0], [], [])",
        "import select; select.select([0], [], [], 300)",
        "import select; p = select.poll(); p.register(0, select.POLLIN); p.poll()",
        "import selectors; s = selectors.EpollSelector(); \
         s.register(0, selectors.EVENT_READ); s.select()",
        "import asyncio, sys
async def main():
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    await reader.readline()
asyncio.run(main())",
    ];
    for program in programs {
        let actor = Actor::on_pipe(["/usr/bin/env", "python3", "-c", program]);
        let blocked = wait_for("python", || {
            actor.look().filter(|blocked| name(blocked).starts_with("python3"))
        });
        assert_eq!((blocked.evidence, blocked.echo), (Evidence::Weak, None), "{program}");
    }
}

#[test]
fn prompts_of_shells_and_interpreters_are_seen() {
    let programs: [&[&str]; 4] = [
        &["bash", "-c", "read -t 300 answer"],
        &["bash", "--norc", "--noprofile", "-i"],
        &["bash", "-c", "read -e answer"],
        &["python3", "-q"],
    ];
    for program in programs {
        let actor = Actor::on_terminal(program.iter().copied());
        let blocked = wait_for("the prompt", || {
            actor.look().filter(|blocked| name(blocked).starts_with(program[0]))
        });
        // A program that takes keys one by one has the echo off, and no password in mind.
        assert_ne!(blocked.echo, Some(false), "{program:?}");
    }
}

#[test]
fn a_poll_for_something_else_than_reading_is_not() {
    let script = "import select
p = select.poll(); p.register(0, select.POLLPRI); p.poll()";
    let actor = Actor::on_pipe(["python3", "-c", script]);
    let is_polling = || {
        let path = format!("/proc/{}/wchan", actor.pid());
        std::fs::read_to_string(path).is_ok_and(|place| place.contains("poll"))
    };
    wait_until("the poll", is_polling);
    never_caught(&actor);
}

#[test]
fn a_poll_that_goes_on_after_a_stop_is_seen() {
    let script = "import select; p = select.poll(); p.register(0, select.POLLIN); p.poll()";
    let actor = Actor::on_pipe(["python3", "-c", script]);
    let pid = caught_with(&actor, Evidence::Weak).pid;
    actor.signal(Signal::STOP);
    wait_until("the stop", || state(pid as u32) == Some('T'));
    assert_eq!(actor.look(), None, "who is stopped waits for nothing");
    actor.signal(Signal::CONT);
    caught_with(&actor, Evidence::Weak);
    #[cfg(target_arch = "x86_64")]
    {
        let line = std::fs::read_to_string(format!("/proc/{pid}/syscall")).unwrap();
        assert!(line.starts_with(&format!("{} ", libc::SYS_restart_syscall)), "{line}");
    }
}

#[test]
fn a_lock_and_a_sleep_that_go_on_after_a_stop_are_not() {
    // The word of the lock reads as a descriptor that is polled.
    let script = "import ctypes, struct, threading, time
threading.Thread(target=lambda: time.sleep(300), daemon=True).start()
words = ctypes.create_string_buffer(struct.pack('ihh', 0, 1, 0) * 512)
class T(ctypes.Structure): _fields_ = [('s', ctypes.c_long), ('n', ctypes.c_long)]
libc = ctypes.CDLL(None)
libc.syscall(FUTEX, words, 128, 0, ctypes.byref(T(300, 0)))";
    let number = libc::SYS_futex.to_string();
    let actor = Actor::on_pipe(["python3", "-c", &script.replace("FUTEX", &number)]);
    let call = || {
        let path = format!("/proc/{}/syscall", actor.pid());
        let line = std::fs::read_to_string(path).unwrap_or_default();
        let mut fields = line.split(' ').map(str::to_owned);
        Some((fields.next()?, fields.nth(1)?))
    };
    wait_until("the lock", || call() == Some((number.clone(), "0x80".into())));
    actor.signal(Signal::STOP);
    wait_until("the stop", || state(actor.pid() as u32) == Some('T'));
    actor.signal(Signal::CONT);
    let restarted = libc::SYS_restart_syscall.to_string();
    wait_until("the lock again", || call() == Some((restarted.clone(), "0x80".into())));
    never_caught(&actor);
}

#[test]
fn who_sleeps_or_computes_waits_for_nothing() {
    let asleep = Actor::on_pipe(["sleep", "300"]);
    wait_until("the sleep", || {
        let line = std::fs::read_to_string(format!("/proc/{}/wchan", asleep.pid()));
        line.is_ok_and(|place| place.contains("nanosleep"))
    });
    never_caught(&asleep);

    let busy = Actor::on_pipe(["bash", "-c", "while :; do :; done"]);
    wait_until("the loop", || state(busy.pid() as u32) == Some('R'));
    never_caught(&busy);
}

#[test]
fn only_our_own_pipe_counts() {
    let actor = Actor::on_pipe(["bash", "-c", "cat | wc -l; :"]);
    let readers = |actor: &Actor, first: &str| {
        let commands = commands(&tree(actor.pid()).unwrap());
        commands.len() == 2 && commands[0].starts_with(first) && commands[1] == "wc -l"
    };
    wait_until("both", || readers(&actor, "cat"));
    assert_eq!(name(&caught(&actor)), "cat");
    for _ in 0..100 {
        assert!(actor.look().is_none_or(|blocked| name(&blocked) == "cat"));
    }

    let actor = Actor::on_pipe(["bash", "-c", "sleep 300 | wc -l; :"]);
    wait_until("both", || {
        let asleep = |p: &i32| state(*p as u32) == Some('S');
        readers(&actor, "sleep") && actor.pids().iter().all(asleep)
    });
    never_caught(&actor);
}

#[test]
fn another_terminal_is_not_ours() {
    let reader = Actor::on_terminal(["cat"]);
    let stranger = Actor::on_terminal(["sleep", "300"]);
    caught(&reader);
    assert_eq!(blocked_on(&reader.pids(), &stranger.input()), None);
    let reader = Actor::on_terminal(["dash", "-c", "read answer < /dev/tty"]);
    caught(&reader);
    assert_eq!(blocked_on(&reader.pids(), &stranger.input()), None);
}

#[test]
fn a_grandchild_in_a_session_of_its_own_is_seen() {
    // A shell gives what it puts into the background an empty input, unless it is named.
    let line = "exec 3<&0; setsid bash -c 'read answer <&3; :' & wait";
    let actor = Actor::on_pipe(["bash", "-c", line]);
    let blocked = caught_with(&actor, Evidence::Strong);
    assert_ne!(blocked.pid, actor.pid());
    assert_eq!(name(&blocked), "bash");
}

#[test]
fn a_thread_that_is_not_the_main_one_is_seen() {
    let script = "import sys, threading, time
threading.Thread(target=sys.stdin.readline).start()
time.sleep(300)";
    let actor = Actor::on_pipe(["python3", "-c", script]);
    assert_eq!(caught(&actor).evidence, Evidence::Strong);

    let script = "import ctypes, sys, threading
threading.Thread(target=sys.stdin.readline).start()
ctypes.CDLL(None).pthread_exit(None)";
    let actor = Actor::on_pipe(["python3", "-c", script]);
    wait_until("the end of the main thread", || state(actor.pid() as u32) == Some('Z'));
    assert_eq!(caught(&actor).evidence, Evidence::Strong);
}

#[test]
fn strong_goes_before_weak_and_new_before_old() {
    // The elder reads, the younger polls.
    let poll = "import select; select.select([3], [], [])";
    let line = format!("exec 3<&0; cat <&3 & python3 -c '{poll}' & wait");
    let actor = Actor::on_pipe(["bash", "-c", &line]);
    wait_until("both", || {
        let everyone = actor.pids();
        let alone = |pid: i32| blocked_on(&[pid], &actor.input()).map(|b| b.evidence);
        let seen: Vec<_> = everyone.into_iter().filter_map(alone).collect();
        seen.contains(&Evidence::Weak) && seen.contains(&Evidence::Strong)
    });
    assert_eq!(name(&actor.look().unwrap()), "cat");

    // Both read: the child is named.
    let actor = Actor::on_pipe(["python3", "-c", "import os; os.fork(); os.read(0, 1)"]);
    wait_until("both", || {
        let alone = |pid: &i32| blocked_on(&[*pid], &actor.input()).is_some();
        actor.pids().len() == 2 && actor.pids().iter().all(alone)
    });
    let parent = actor.pid();
    let mut backwards = actor.pids();
    backwards.reverse();
    for pids in [actor.pids(), backwards] {
        assert_ne!(blocked_on(&pids, &actor.input()).unwrap().pid, parent);
    }
}

#[test]
fn what_is_answered_is_no_longer_waited_for() {
    let actor = Actor::on_pipe(["python3", "-c", LINE]);
    caught(&actor);
    actor.feed("yes\n");
    wait_until("the sleep", || actor.look().is_none());
    never_caught(&actor);
}

#[test]
fn programs_that_come_and_go_are_looked_at_without_harm() {
    let line = "while :; do (true | cat; : & /bin/true); done";
    let actor = Actor::on_pipe(["bash", "-c", line]);
    let mut most = 0;
    for _ in 0..1000 {
        let pids = actor.pids();
        most = most.max(pids.len());
        assert_eq!(blocked_on(&pids, &actor.input()), None);
        listening(&pids).unwrap();
    }
    assert!(most > 1, "nobody was ever seen");
}

#[test]
fn a_password_of_a_program_that_cannot_be_looked_at_is_told_by_the_terminal() {
    // The superuser may look at everyone, so the test runs once more as somebody else.
    if getuid().is_root() {
        let this = std::env::current_exe().unwrap();
        let path = module_path!().split_once("::").unwrap().1;
        let test = "a_password_of_a_program_that_cannot_be_looked_at_is_told_by_the_terminal";
        let run = std::process::Command::new("setpriv")
            .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"])
            .arg(this)
            .args(["--exact", &format!("{path}::{test}"), "--nocapture"])
            .current_dir("/")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&run.stdout);
        assert!(run.status.success() && said.contains("1 passed"), "{run:?}");
        return;
    }
    let actor = Actor::on_terminal(["su", "root", "-c", "true"]);
    let blocked = caught(&actor);
    assert_eq!((blocked.evidence, blocked.echo), (Evidence::Weak, Some(false)));
    assert_eq!(name(&blocked), "su");
    // A pipe tells nothing of the sort.
    let pipe = Actor::on_pipe(["sleep", "300"]);
    assert_eq!(blocked_on(&actor.pids(), &pipe.input()), None);
}

#[test]
fn a_path_of_a_device_is_known_below_any_root() {
    for path in ["/dev/tty", "/dev/pts/7", "/dev/console", "/srv/jail/dev/pts/0"] {
        assert!(is_device_path(path.as_bytes()), "{path}");
    }
    for path in ["/home/dev/notes/file", "/dev", "pipe:[12]", "socket:[3]", ""] {
        assert!(!is_device_path(path.as_bytes()), "{path}");
    }
}
