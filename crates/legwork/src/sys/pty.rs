//! A pseudo-terminal for programs that behave differently without one.

use std::io;
use std::os::fd::OwnedFd;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::io::out_of_the_way;

/// Opens a pair: our side, the child's side.
pub(crate) fn open(rows: u16, cols: u16) -> io::Result<(OwnedFd, OwnedFd)> {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    let name = ptsname(&ours, Vec::new())?;
    let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY | rustix::fs::OFlags::CLOEXEC;
    let theirs = rustix::fs::open(name, flags, rustix::fs::Mode::empty())?;
    let size = Winsize { ws_row: rows, ws_col: cols, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&ours, size)?;
    Ok((out_of_the_way(ours)?, out_of_the_way(theirs)?))
}

/// The key that says "end of input" on a terminal in line mode.
pub(crate) const END_OF_INPUT: u8 = 4;
