//! The signal handler: the only place that speaks to the kernel by hand.
//!
//! What runs inside a handler may only use async-signal-safe calls: here `write` and `_exit`, on
//! data that was made before the handler was installed and is never freed.

#![allow(unsafe_code, reason = "installing a signal handler has no safe form")]

use std::os::fd::{IntoRawFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering};

struct Plan {
    last_words: [(i32, Vec<u8>); 2],
    exit: u8,
}

static PLAN: OnceLock<Plan> = OnceLock::new();
/// The pipe to wake a thread by, or -1.
static WAKER: AtomicI32 = AtomicI32::new(-1);

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
    if waker >= 0 {
        let number = [u8::try_from(signal).unwrap_or(0)];
        // SAFETY: `write` is async-signal-safe; the buffer is a live local of one byte.
        unsafe { libc::write(waker, number.as_ptr().cast(), 1) };
        return;
    }
    // `get` on a set cell is one atomic load.
    let Some(plan) = PLAN.get() else { return };
    for (number, words) in &plan.last_words {
        if *number == signal {
            // SAFETY: `write` is async-signal-safe; the buffer belongs to a static that is never
            // changed or freed.
            unsafe { libc::write(2, words.as_ptr().cast(), words.len()) };
        }
    }
    // SAFETY: `_exit` is async-signal-safe and does not return.
    unsafe { libc::_exit(i32::from(plan.exit)) }
}
