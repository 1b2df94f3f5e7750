//! Reading `/proc` for evidence: everything through one reused buffer.
//!
//! A process is opened once, by its directory: whatever is read through that is of this process,
//! even if it ends and another gets its pid. It then simply is not there any more.

use std::fmt::{self, Write as _};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::buffer::spare_capacity;
use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, Stat as FileStat};
use rustix::io::{Errno, retry_on_intr};

/// What a command shows at most, in bytes: argument lists run to megabytes.
const COMMAND: usize = 4096;

/// More than any line of numbers has.
const LINE: usize = 16 * 1024;

/// The memory that looking takes, used again for every file.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    path: String,
    bytes: Vec<u8>,
    link: Vec<u8>,
}

impl Scratch {
    fn read(
        &mut self,
        directory: impl AsFd,
        path: fmt::Arguments<'_>,
        limit: usize,
    ) -> Result<&[u8], Errno> {
        set(&mut self.path, path);
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file =
            retry_on_intr(|| rustix::fs::openat(&directory, &*self.path, flags, Mode::empty()))?;
        self.bytes.clear();
        while self.bytes.len() < limit {
            self.bytes.reserve(4096);
            let read = retry_on_intr(|| rustix::io::read(&file, spare_capacity(&mut self.bytes)))?;
            if read == 0 {
                break;
            }
        }
        self.bytes.truncate(limit);
        Ok(&self.bytes)
    }
}

fn set(path: &mut String, to: fmt::Arguments<'_>) {
    path.clear();
    // Writing to a string does not fail.
    let _ = path.write_fmt(to);
}

/// Out of descriptors or memory: it says nothing about the process.
pub(super) fn is_shortage(error: Errno) -> bool {
    matches!(error, Errno::MFILE | Errno::NFILE | Errno::NOMEM)
}

/// A process of another user, one that is setuid, or one that a security module guards.
pub(super) fn is_denied(error: Errno) -> bool {
    matches!(error, Errno::ACCESS | Errno::PERM)
}

/// Everything of a process that vanished meanwhile, or cannot be looked at, is nothing; a shortage
/// is an error.
pub(super) fn unless_short<T>(result: Result<T, Errno>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if is_shortage(error) => Err(error.into()),
        Err(_) => Ok(None),
    }
}

/// The facts of a `stat` file that are of use here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) state: u8,
    pub(super) parent: i32,
    pub(super) group: i32,
    /// The controlling terminal as a device number, zero without one.
    pub(super) terminal: u64,
    /// The group in the foreground of that terminal.
    pub(super) foreground: i32,
    pub(super) cpu_ticks: u64,
    pub(super) threads: u64,
    pub(super) start_ticks: u64,
    pub(super) rss_pages: u64,
}

impl Stat {
    /// A main thread that has ended while others go on reads as a zombie, too; the process is none.
    pub(super) fn is_live(&self) -> bool {
        !matches!(self.state, b'Z' | b'X') || self.threads > 1
    }

    pub(super) fn is_asleep(&self) -> bool {
        matches!(self.state, b'S' | b'D')
    }

    /// The command name stands in parentheses and may hold anything, parentheses included: the
    /// fields are counted from the last one.
    fn parse(line: &[u8]) -> Option<Stat> {
        let close = line.iter().rposition(|b| *b == b')')?;
        let mut fields = std::str::from_utf8(&line[close + 1..]).ok()?.split_ascii_whitespace();
        let state = *fields.next()?.as_bytes().first()?;
        let parent = fields.next()?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        let terminal: i32 = fields.nth(1)?.parse().ok()?;
        let foreground = fields.next()?.parse().ok()?;
        let user: u64 = fields.nth(5)?.parse().ok()?;
        let system: u64 = fields.next()?.parse().ok()?;
        let threads = fields.nth(4)?.parse().ok()?;
        let start_ticks = fields.nth(1)?.parse().ok()?;
        let rss_pages: i64 = fields.nth(1)?.parse().ok()?;
        Some(Stat {
            state,
            parent,
            group,
            terminal: device(terminal.cast_unsigned()),
            foreground,
            cpu_ticks: user.saturating_add(system),
            threads,
            start_ticks,
            rss_pages: u64::try_from(rss_pages).unwrap_or(0),
        })
    }
}

/// The kernel shows a device in 32 bits; everything else has it in 64.
fn device(short: u32) -> u64 {
    rustix::fs::makedev((short >> 8) & 0xfff, (short & 0xff) | ((short >> 12) & 0xf_ff00))
}

/// A system call that a thread sleeps in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) number: i64,
    pub(super) arguments: [u64; 6],
    /// With the stack pointer the same call is told from the next one of its kind.
    stack: u64,
}

impl Call {
    /// `None` where the thread runs, or sleeps outside of any call.
    fn parse(line: &[u8]) -> Option<Call> {
        let mut fields = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
        let number = fields.next()?.parse().ok()?;
        let mut next = || u64::from_str_radix(fields.next()?.strip_prefix("0x")?, 16).ok();
        let arguments = [next()?, next()?, next()?, next()?, next()?, next()?];
        Some(Call { number, arguments, stack: next()? })
    }
}

/// The directory of one process.
#[derive(Debug)]
pub(super) struct Process {
    directory: OwnedFd,
    pub(super) pid: i32,
}

impl Process {
    pub(super) fn open(pid: i32, scratch: &mut Scratch) -> Result<Process, Errno> {
        set(&mut scratch.path, format_args!("/proc/{pid}"));
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory =
            retry_on_intr(|| rustix::fs::openat(CWD, &*scratch.path, flags, Mode::empty()))?;
        Ok(Process { directory, pid })
    }

    pub(super) fn read<'s>(
        &self,
        path: fmt::Arguments<'_>,
        limit: usize,
        scratch: &'s mut Scratch,
    ) -> Result<&'s [u8], Errno> {
        scratch.read(&self.directory, path, limit)
    }

    pub(super) fn stat(&self, scratch: &mut Scratch) -> Result<Stat, Errno> {
        Stat::parse(self.read(format_args!("stat"), LINE, scratch)?).ok_or(Errno::SRCH)
    }

    pub(super) fn thread_stat(&self, thread: i32, scratch: &mut Scratch) -> Result<Stat, Errno> {
        let line = self.read(format_args!("task/{thread}/stat"), LINE, scratch)?;
        Stat::parse(line).ok_or(Errno::SRCH)
    }

    /// What a thread sleeps in; `None` where it does not.
    pub(super) fn call(&self, thread: i32, scratch: &mut Scratch) -> Result<Option<Call>, Errno> {
        Ok(Call::parse(self.read(format_args!("task/{thread}/syscall"), LINE, scratch)?))
    }

    /// The numbers that name the entries of one of its directories: threads, descriptors.
    pub(super) fn numbers(
        &self,
        directory: &str,
        mut each: impl FnMut(i32) -> Next,
    ) -> Result<(), Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = || rustix::fs::openat(&self.directory, directory, flags, Mode::empty());
        for entry in Dir::new(retry_on_intr(open)?)? {
            let number = entry?.file_name().to_str().ok().and_then(|name| name.parse().ok());
            if number.map(&mut each) == Some(Next::Stop) {
                break;
            }
        }
        Ok(())
    }

    /// Up to `most` of its threads.
    pub(super) fn threads(&self, most: usize) -> Result<Vec<i32>, Errno> {
        let mut threads = Vec::new();
        self.numbers("task", |thread| {
            threads.push(thread);
            if threads.len() < most { Next::Go } else { Next::Stop }
        })?;
        Ok(threads)
    }

    /// What a link says. It is the kernel's text: the file behind it is not touched, which may lie
    /// on a network that does not answer.
    pub(super) fn link<'s>(
        &self,
        path: fmt::Arguments<'_>,
        scratch: &'s mut Scratch,
    ) -> Result<&'s [u8], Errno> {
        set(&mut scratch.path, path);
        let reuse = std::mem::take(&mut scratch.link);
        let link = rustix::fs::readlinkat(&self.directory, &*scratch.path, reuse)?;
        scratch.link = link.into_bytes();
        Ok(&scratch.link)
    }

    /// The file behind a link.
    pub(super) fn file(
        &self,
        path: fmt::Arguments<'_>,
        scratch: &mut Scratch,
    ) -> Result<FileStat, Errno> {
        set(&mut scratch.path, path);
        rustix::fs::statat(&self.directory, &*scratch.path, AtFlags::empty())
    }

    /// Its argv as text; its name in brackets where it has none to show.
    pub(super) fn command(&self, scratch: &mut Scratch) -> Vec<String> {
        let line = self.read(format_args!("cmdline"), COMMAND + 1, scratch).unwrap_or_default();
        if !line.is_empty() {
            return arguments(line);
        }
        match self.read(format_args!("comm"), LINE, scratch) {
            Ok(name) => vec![format!("[{}]", String::from_utf8_lossy(name).trim_end())],
            Err(_) => Vec::new(),
        }
    }
}

/// Whether to go on through a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    Go,
    Stop,
}

fn arguments(line: &[u8]) -> Vec<String> {
    let shown = &line[..line.len().min(COMMAND)];
    let shown = shown.strip_suffix(b"\0").unwrap_or(shown);
    let mut arguments: Vec<String> =
        shown.split(|b| *b == 0).map(|arg| String::from_utf8_lossy(arg).into_owned()).collect();
    if line.len() > COMMAND
        && let Some(last) = arguments.last_mut()
    {
        last.push('…');
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_of_stat_are_counted_from_the_last_parenthesis() {
        let line =
            b"42 (a) R 7 (b)) S 1 40 39 34821 41 4194560 1 2 3 4 50 60 7 8 20 0 3 0 777 9 10 1";
        let expected = Stat {
            state: b'S',
            parent: 1,
            group: 40,
            terminal: rustix::fs::makedev(136, 5),
            foreground: 41,
            cpu_ticks: 110,
            threads: 3,
            start_ticks: 777,
            rss_pages: 10,
        };
        assert_eq!(Stat::parse(line), Some(expected));
        assert_eq!(Stat::parse(b"1 (x) S 2"), None);
        assert_eq!(Stat::parse(b""), None);
    }

    #[test]
    fn terminals_past_the_256th_are_told_apart() {
        assert_eq!(device(0x0010_8805), rustix::fs::makedev(136, 0x105));
    }

    #[test]
    fn a_thread_that_runs_is_in_no_call() {
        assert_eq!(Call::parse(b"running\n"), None);
        assert_eq!(Call::parse(b"-1 0x7ffc 0x7f49\n"), None);
        let call = Call::parse(b"0 0x3 0x7f1e 0x20000 0x0 0xffffffff 0x0 0x7ffd 0x7f1e\n").unwrap();
        assert_eq!(
            (call.number, call.arguments, call.stack),
            (0, [3, 0x7f1e, 0x20000, 0, 0xffff_ffff, 0], 0x7ffd)
        );
    }

    #[test]
    fn a_long_command_is_cut() {
        assert_eq!(arguments(b"sh\0-c\0\0"), ["sh", "-c", ""]);
        let mut line = vec![b'x'; COMMAND - 1];
        line.push(0);
        assert_eq!(arguments(&line)[0].len(), COMMAND - 1);
        line.push(b'y');
        assert_eq!(arguments(&line), [format!("{}…", "x".repeat(COMMAND - 1))]);
    }
}
