//! The only place that speaks to the kernel by hand: the signal handler, and a child to run in
//! what cannot be trusted.
//!
//! What runs inside a handler may only use async-signal-safe calls: here `write` and `_exit`, on
//! data that was made before the handler was installed and is never freed.

#![allow(unsafe_code, reason = "a signal handler and a fork have no safe form")]

use std::os::fd::{IntoRawFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

struct Plan {
    last_words: [(i32, Vec<u8>); 2],
    exit: u8,
}

static PLAN: OnceLock<Plan> = OnceLock::new();
/// The pipe to wake a thread by, or -1.
static WAKER: AtomicI32 = AtomicI32::new(-1);
/// A signal has come: the next one waits for nothing.
static CANCELLED: AtomicBool = AtomicBool::new(false);
/// The last words are said.
static SAID: AtomicBool = AtomicBool::new(false);

/// How long stderr may take to have room for the last words, in milliseconds.
const ROOM: libc::c_int = 200;

/// Whether handlers are installed in this process.
pub(crate) fn is_installed() -> bool {
    PLAN.get().is_some()
}

/// From now on a signal writes its number into this pipe, which is never closed.
pub(crate) fn wake_instead(waker: OwnedFd) {
    WAKER.store(waker.into_raw_fd(), Ordering::SeqCst);
}

/// On either signal: write its last words to stderr and end with `exit`. The first call counts.
#[inline]
pub(crate) fn on_signals(last_words: [(i32, Vec<u8>); 2], exit: u8) {
    if PLAN.set(Plan { last_words, exit }).is_err() {
        return;
    }
    for (signal, _) in &PLAN.get().expect("just set").last_words {
        install(*signal);
    }
}

#[inline]
fn install(signal: i32) {
    // SAFETY: `sigaction` is a plain C struct for which all zeroes is a valid value (no flags, an
    // empty mask, the default action); both pointers are to live locals of that type, and the
    // handler keeps to async-signal-safe calls.
    unsafe {
        let mut old: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(signal, std::ptr::null(), &raw mut old) != 0
            || old.sa_sigaction != libc::SIG_DFL
        {
            // Ignored by whoever started the program, or the author's own.
            return;
        }
        let mut new: libc::sigaction = std::mem::zeroed();
        new.sa_sigaction = on_signal as extern "C" fn(libc::c_int) as libc::sighandler_t;
        libc::sigaction(signal, &raw const new, std::ptr::null_mut());
    }
}

extern "C" fn on_signal(signal: libc::c_int) {
    let waker = WAKER.load(Ordering::SeqCst);
    if waker >= 0 && !CANCELLED.swap(true, Ordering::SeqCst) {
        let number = [u8::try_from(signal).unwrap_or(0)];
        // SAFETY: `write` is async-signal-safe; the buffer is a live local of one byte.
        unsafe { libc::write(waker, number.as_ptr().cast(), 1) };
        return;
    }
    end_now(signal);
}

/// The last words were said in another way.
pub(crate) fn said_last_words() {
    SAID.store(true, Ordering::SeqCst);
}

/// Says the last words for this signal, unless they are said or nobody takes them, and ends the
/// process. Keeps to async-signal-safe calls; never waits for a reader that does not read.
pub(crate) fn end_now(signal: i32) {
    // `get` on a set cell is one atomic load.
    let Some(plan) = PLAN.get() else { return };
    let words = plan.last_words.iter().find(|(number, _)| *number == signal);
    if let Some((_, words)) = words
        && !SAID.swap(true, Ordering::SeqCst)
    {
        let mut poll = libc::pollfd { fd: 2, events: libc::POLLOUT, revents: 0 };
        // SAFETY: `poll` and `write` are async-signal-safe; the `pollfd` is a live local, and the
        // buffer belongs to a static that is never changed or freed. A pipe that polls as
        // writable has room for a page, which is more than these words.
        unsafe {
            if libc::poll(&raw mut poll, 1, ROOM) > 0 {
                libc::write(2, words.as_ptr().cast(), words.len());
            }
        }
    }
    // SAFETY: `_exit` is async-signal-safe and does not return.
    unsafe { libc::_exit(i32::from(plan.exit)) }
}

/// How the answer of a child was lost.
#[cfg(feature = "jq")]
#[derive(Debug)]
pub(crate) enum Lost {
    /// It took too long and was ended.
    Late,
    /// It ended without an answer: out of stack, out of memory, a panic.
    Died,
    /// There was no child.
    NoChild(std::io::Error),
}

/// Runs `work` in a forked child of its own, with so much time and so much memory beyond what the
/// process has, and returns its answer.
///
/// The child has only the thread that forked. That is enough for work that computes and allocates;
/// should the allocator's locks not have survived the fork, the child comes late, which is handled.
#[cfg(feature = "jq")]
pub(crate) fn in_child(
    patience: std::time::Duration,
    memory: u64,
    work: impl FnOnce() -> Vec<u8>,
) -> Result<Vec<u8>, Lost> {
    use std::os::fd::AsRawFd;

    let (reader, writer) = std::io::pipe().map_err(Lost::NoChild)?;
    let limit = data_size().saturating_add(memory);
    // SAFETY: the child uses nothing but memory it owns and the pipe, never returns from here,
    // and ends by `_exit`, so neither destructors nor exit handlers of the parent run twice.
    let child = unsafe { libc::fork() };
    if child < 0 {
        return Err(Lost::NoChild(std::io::Error::last_os_error()));
    }
    if child == 0 {
        confine(patience, limit);
        let answer = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        let answer = answer.unwrap_or_default();
        let mut rest = answer.as_slice();
        while !rest.is_empty() {
            // SAFETY: the buffer is alive and as long as said; the pipe is open.
            let written =
                unsafe { libc::write(writer.as_raw_fd(), rest.as_ptr().cast(), rest.len()) };
            let Ok(written @ 1..) = usize::try_from(written) else { break };
            rest = &rest[written..];
        }
        // SAFETY: `_exit` does not return.
        unsafe { libc::_exit(0) }
    }
    drop(writer);
    let answer = read_until(&reader, std::time::Instant::now() + patience);
    // SAFETY: `child` is a child of this process that nobody else waits for; killing one that has
    // ended but was not waited for does nothing.
    unsafe {
        libc::kill(child, libc::SIGKILL);
        while libc::waitpid(child, std::ptr::null_mut(), 0) < 0
            && std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted
        {}
    }
    match answer {
        Some(answer) if answer.is_empty() => Err(Lost::Died),
        Some(answer) => Ok(answer),
        None => Err(Lost::Late),
    }
}

/// In the child: no words, no core, no more than its share, and no life beyond the parent's.
#[cfg(feature = "jq")]
fn confine(patience: std::time::Duration, memory: u64) {
    let seconds = patience.as_secs() + 1;
    let limits = [(libc::RLIMIT_DATA, memory), (libc::RLIMIT_CORE, 0), (libc::RLIMIT_CPU, seconds)];
    // SAFETY: all are plain calls on numbers, constants and live locals. The default action for
    // these signals ends the child: the parent's handlers would speak in its name, and Rust's own
    // would print words about the stack.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        for signal in
            [libc::SIGINT, libc::SIGTERM, libc::SIGSEGV, libc::SIGBUS, libc::SIGABRT, libc::SIGPIPE]
        {
            libc::signal(signal, libc::SIG_DFL);
        }
        for (which, most) in limits {
            let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
            libc::setrlimit(which, &raw const limit);
        }
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_WRONLY);
        if null >= 0 {
            libc::dup2(null, 2);
        }
    }
}

/// What counts against `RLIMIT_DATA` now, in bytes.
#[cfg(feature = "jq")]
fn data_size() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.as_deref().and_then(|text| text.split(' ').nth(5)?.parse().ok());
    pages.unwrap_or(0_u64) * 4096
}

/// Everything up to the end, or `None` if that does not come in time.
#[cfg(feature = "jq")]
fn read_until(reader: &std::io::PipeReader, deadline: std::time::Instant) -> Option<Vec<u8>> {
    use std::io::Read;
    use std::os::fd::AsRawFd;

    let mut reader = reader;
    let mut answer = Vec::new();
    let mut bytes = [0; 64 * 1024];
    loop {
        let left = deadline.saturating_duration_since(std::time::Instant::now());
        let millis = i32::try_from(left.as_millis()).unwrap_or(i32::MAX);
        let mut poll = libc::pollfd { fd: reader.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one live `pollfd`.
        let ready = unsafe { libc::poll(&raw mut poll, 1, millis) };
        if ready == 0 {
            return None;
        }
        if ready > 0 {
            match reader.read(&mut bytes) {
                Ok(0) | Err(_) => return Some(answer),
                Ok(read) => answer.extend_from_slice(&bytes[..read]),
            }
        }
    }
}
