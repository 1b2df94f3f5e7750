//! Quiet mode: stdout is held back, and shown only when the command failed.

use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};

use super::forward::Forward;
use crate::outcome::Outcome;
use crate::sys::io as sysio;

/// How long our own stdout may take nothing before the rest is given up.
const PATIENCE: Duration = Duration::from_secs(2);

/// Shows what was held back of a command that failed; it is not part of the outcome either way.
/// Waits for stdout, but not for ever.
pub(crate) fn show(mut outcome: Outcome) -> Outcome {
    outcome.order.clear();
    let Some(held) = outcome.stdout.take().filter(|_| outcome.failed()) else {
        return outcome;
    };
    let mut forward = match sysio::inherited(1).and_then(Forward::new) {
        Ok(forward) => forward,
        Err(error) => {
            outcome.notes.push(format!("the output held back could not be shown: {error}"));
            return outcome;
        }
    };
    forward.take(held.head());
    if held.omitted() > 0 {
        forward.take(format!("\n[… {} bytes left out …]\n", held.omitted()).as_bytes());
    }
    forward.take(held.tail());
    while forward.is_pending() {
        let fd = forward.fd.as_fd();
        let mut fds = [PollFd::new(&fd, PollFlags::OUT)];
        let waited = sysio::poll(&mut fds, Some(PATIENCE));
        if waited.is_err() || fds[0].revents().is_empty() {
            forward.give_up();
            break;
        }
        forward.push();
    }
    outcome.notes.extend(forward.complaint());
    outcome
}
