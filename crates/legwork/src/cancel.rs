//! Ending runs from another thread.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::sys;

/// Cancels every run that was given a clone of it, now and later.
///
/// ```
/// use legwork::prelude::*;
/// use legwork::Cause;
///
/// let token = CancelToken::new()?;
/// let other = token.clone();
/// let thread = std::thread::spawn(move || other.cancel());
/// let outcome = cmd(["sleep", "300"]).cancel_token(&token).capture()?;
/// assert_eq!(outcome.ending.cause(), &Cause::Cancelled);
/// # thread.join().unwrap();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct CancelToken {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// Stays readable once rung: one token ends many runs.
    bell: OwnedFd,
    cancelled: AtomicBool,
}

impl CancelToken {
    /// A token that nobody has cancelled yet.
    ///
    /// # Errors
    /// Where this process has no file descriptor left.
    ///
    /// ```
    /// assert!(!legwork::CancelToken::new()?.is_cancelled());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn new() -> io::Result<CancelToken> {
        let shared = Shared { bell: sys::io::eventfd()?, cancelled: AtomicBool::new(false) };
        Ok(CancelToken { shared: Arc::new(shared) })
    }

    /// Ends the runs: polite signal, grace, kill. Returns at once; each run tells when it is over.
    ///
    /// ```
    /// let token = legwork::CancelToken::new()?;
    /// token.cancel();
    /// assert!(token.is_cancelled());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn cancel(&self) {
        self.shared.cancelled.store(true, Ordering::Release);
        sys::io::ring(self.shared.bell.as_fd());
    }

    /// Whether [`cancel`](CancelToken::cancel) was called.
    ///
    /// ```
    /// assert!(!legwork::CancelToken::new()?.is_cancelled());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn is_cancelled(&self) -> bool {
        self.shared.cancelled.load(Ordering::Acquire)
    }

    pub(crate) fn bell(&self) -> BorrowedFd<'_> {
        self.shared.bell.as_fd()
    }
}

/// A descriptor that is readable once the token was cancelled, for who waits for other things too.
impl AsFd for CancelToken {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell()
    }
}
