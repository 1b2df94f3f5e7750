//! What `/proc` tells of other processes. Reading only; whatever vanishes meanwhile is skipped.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;

/// One process, named so that it cannot be taken for a later one with the same pid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Seen {
    pub(crate) pid: i32,
    /// When it started, in the kernel's ticks since boot.
    pub(crate) start_ticks: u64,
}

/// The facts of `/proc/PID/stat` that tell who belongs to whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) pid: i32,
    pub(crate) state: u8,
    pub(crate) parent: i32,
    pub(crate) group: i32,
    pub(crate) session: i32,
    pub(crate) start_ticks: u64,
}

impl Stat {
    /// Ended, and only waiting to be collected.
    pub(crate) fn is_zombie(&self) -> bool {
        matches!(self.state, b'Z' | b'X')
    }

    pub(crate) fn seen(&self) -> Seen {
        Seen { pid: self.pid, start_ticks: self.start_ticks }
    }
}

/// The facts of one process; `None` where there is none.
pub(crate) fn stat(pid: i32) -> Option<Stat> {
    read_stat(pid).ok()?
}

fn read_stat(pid: i32) -> io::Result<Option<Stat>> {
    let mut buffer = [0; 1024];
    let length = File::open(format!("/proc/{pid}/stat"))?.read(&mut buffer)?;
    Ok(parse_stat(&buffer[..length]))
}

/// The command name stands in parentheses and may hold anything, parentheses included: the
/// fields are counted from the last one.
fn parse_stat(line: &[u8]) -> Option<Stat> {
    let open = line.iter().position(|b| *b == b'(')?;
    let close = line.iter().rposition(|b| *b == b')')?;
    let pid = std::str::from_utf8(&line[..open]).ok()?.trim().parse().ok()?;
    let mut fields = std::str::from_utf8(&line[close + 1..]).ok()?.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let session = fields.next()?.parse().ok()?;
    // Fields 7 to 21 are of no interest here.
    let start_ticks = fields.nth(15)?.parse().ok()?;
    Some(Stat { pid, state, parent, group, session, start_ticks })
}

/// The device of this process's controlling terminal: major and minor number.
pub(crate) fn own_terminal() -> Option<(u32, u32)> {
    let line = fs::read_to_string("/proc/self/stat").ok()?;
    let number: u32 = line.rsplit(") ").next()?.split(' ').nth(4)?.parse().ok()?;
    (number != 0).then_some(((number >> 8) & 0xfff, (number & 0xff) | ((number >> 12) & 0xfff00)))
}

/// Every process there is now. An error is not "nobody": whoever asks has to know.
pub(crate) fn all() -> io::Result<Vec<Stat>> {
    let pids =
        fs::read_dir("/proc")?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let mut all = Vec::new();
    for pid in pids {
        match read_stat(pid) {
            Ok(stat) => all.extend(stat),
            Err(error) if is_shortage(&error) => return Err(error),
            // It has ended meanwhile.
            Err(_) => {}
        }
    }
    Ok(all)
}

/// Out of descriptors or memory: it says nothing about the process.
fn is_shortage(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM))
}

/// More than that is not looked at in one go: whoever has so many has more in a moment.
const CROWD: usize = 1024;

/// Shows everyone below a process, zombies included, parents before children; what `each` says no
/// to is not descended into. Read from the kernel's own lists where it keeps them, which costs by
/// the size of the tree and not of the machine.
pub(crate) fn descend(root: i32, each: &mut dyn FnMut(&Stat) -> bool) -> io::Result<()> {
    let mut pending = vec![root];
    let mut seen = 0;
    let mut everybody: Option<Vec<Stat>> = None;
    while let Some(parent) = pending.pop() {
        let children = match &everybody {
            None => match children_of(parent) {
                Ok(children) => children,
                Err(error) if is_shortage(&error) => return Err(error),
                // No lists here, unless it is only this one process that has ended.
                Err(_) if parent != root => continue,
                Err(_) => {
                    let all = everybody.insert(all()?);
                    all.iter().filter(|stat| stat.parent == parent).copied().collect()
                }
            },
            Some(all) => all.iter().filter(|stat| stat.parent == parent).copied().collect(),
        };
        for child in children {
            if seen == CROWD {
                return Ok(());
            }
            seen += 1;
            if each(&child) {
                pending.push(child.pid);
            }
        }
    }
    Ok(())
}

fn children_of(parent: i32) -> io::Result<Vec<Stat>> {
    let mut children = Vec::new();
    for thread in fs::read_dir(format!("/proc/{parent}/task"))? {
        let list = fs::read_to_string(thread?.path().join("children"))?;
        children.extend(list.split_ascii_whitespace().filter_map(|pid| stat(pid.parse().ok()?)));
    }
    Ok(children)
}

/// The pids of this process's children, those of its main thread: a supervisor has no other.
pub(crate) fn pids_of_children() -> Vec<i32> {
    let own = std::process::id();
    let list = fs::read_to_string(format!("/proc/self/task/{own}/children")).unwrap_or_default();
    list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// Whether a process was started with this first argument.
pub(crate) fn first_argument_is(pid: i32, argument: &str) -> bool {
    command(pid).get(1).is_some_and(|first| first == argument)
}

/// The children of this process. Read from the kernel's own list where it keeps one, which is
/// cheaper than looking at everybody.
pub(crate) fn children_of_this_process() -> Vec<Stat> {
    let own = std::process::id() as i32;
    let seek = || all().unwrap_or_default().into_iter().filter(|stat| stat.parent == own).collect();
    children_of(own).unwrap_or_else(|_| seek())
}

/// Whether the environment that a process was started with holds `name` with `token` among its
/// colon-separated values. A process of another user cannot be looked at and reads as no.
pub(crate) fn has_token(pid: i32, name: &str, token: &str) -> io::Result<bool> {
    let environ = match fs::read(format!("/proc/{pid}/environ")) {
        Ok(environ) => environ,
        Err(error) if is_shortage(&error) => return Err(error),
        Err(_) => return Ok(false),
    };
    Ok(environ.split(|b| *b == 0).any(|entry| {
        entry
            .strip_prefix(name.as_bytes())
            .and_then(|rest| rest.strip_prefix(b"="))
            .is_some_and(|value| value.split(|b| *b == b':').any(|t| t == token.as_bytes()))
    }))
}

/// The argv of a process; its name in brackets where it has none to show.
pub(crate) fn command(pid: i32) -> Vec<OsString> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    if !line.is_empty() {
        let line = line.strip_suffix(b"\0").unwrap_or(&line);
        return line.split(|b| *b == 0).map(|arg| OsString::from_vec(arg.to_vec())).collect();
    }
    match fs::read_to_string(format!("/proc/{pid}/comm")) {
        Ok(name) => vec![format!("[{}]", name.trim_end()).into()],
        Err(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_full_of_parentheses_does_not_shift_the_fields() {
        let line = b"42 (a) R 7 (b c)) S 1 40 39 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 777 9 10";
        let stat = parse_stat(line).unwrap();
        let expected =
            Stat { pid: 42, state: b'S', parent: 1, group: 40, session: 39, start_ticks: 777 };
        assert_eq!(stat, expected);
    }

    #[test]
    fn this_process_is_there_and_nonsense_is_not() {
        let me = stat(std::process::id() as i32).unwrap();
        assert!(!me.is_zombie());
        assert!(all().unwrap().iter().any(|other| other.seen() == me.seen()));
        assert_eq!(stat(-5), None);
        assert!(parse_stat(b"").is_none() && parse_stat(b"1 (x) S 2").is_none());
        assert!(!command(me.pid).is_empty());
    }
}
