//! The person's own terminal: its size, and raw mode that is taken back whatever happens.

use std::io::{self, IsTerminal, Write};

use legwork_job::Size;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

/// Whether a person sits at both ends.
pub(crate) fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// The size of the terminal that stdout is; `None` where it is none, or does not know.
pub(crate) fn size() -> Option<Size> {
    let size = tcgetwinsize(io::stdout()).ok()?;
    let known = size.ws_col > 0 && size.ws_row > 0;
    known.then_some(Size { cols: size.ws_col, rows: size.ws_row })
}

/// Raw mode: every key comes at once, as bytes, and nothing is echoed. Taken back when dropped,
/// also by a panic that unwinds.
#[derive(Debug)]
pub(crate) struct Raw {
    before: Termios,
    /// What the screen is told at the end.
    farewell: Vec<u8>,
}

impl Raw {
    /// Puts the terminal that stdin is into raw mode.
    pub(crate) fn enter() -> io::Result<Raw> {
        let before = tcgetattr(io::stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        // What was typed ahead is kept.
        tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
        Ok(Raw { before, farewell: Vec::new() })
    }

    /// What to tell the screen when it is over.
    pub(crate) fn at_end(&mut self, sequence: &[u8]) {
        self.farewell.extend_from_slice(sequence);
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        let mut stdout = io::stdout();
        // Nothing can be done about a terminal that is gone.
        let _ = stdout.write_all(&self.farewell).and_then(|()| stdout.flush());
        let _ = tcsetattr(io::stdin(), OptionalActions::Drain, &self.before);
    }
}
