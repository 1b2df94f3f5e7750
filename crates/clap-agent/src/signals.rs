//! Ctrl-C and SIGTERM: the program ends with 9 and says `cancelled`, in the reader's form.
//!
//! A thread that waits for signals would cost every start of every program. So the handler writes
//! an error that was rendered beforehand and ends the process, which needs nothing but `write` and
//! `_exit`. Only once a log entry is held back (it must not be lost) a thread is started that can
//! take locks; from then on the handler wakes that thread instead.
//!
//! A signal that whoever started the program set to be ignored (`nohup`) stays ignored.

use std::io::Read;
use std::os::fd::OwnedFd;

use crate::error::AgentError;
use crate::exit::Exit;
use crate::sys;
use crate::writer::Writer;

/// Both signals, with their names.
const SIGNALS: [(i32, &str); 2] = [(libc::SIGINT, "SIGINT"), (libc::SIGTERM, "SIGTERM")];

pub(crate) fn cancelled(name: &str) -> AgentError {
    AgentError::cancelled(format!("cancelled by {name}"))
}

/// Installs the handlers. Once a process: the first writer wins.
#[inline]
pub(crate) fn install(writer: &Writer, stderr_terminal: bool) {
    let last_words = SIGNALS.map(|(signal, name)| {
        let mut words = writer.last_words(name);
        if stderr_terminal {
            words.splice(0..0, *b"\r\x1b[K");
        }
        (signal, words)
    });
    sys::on_signals(last_words, Exit::Cancelled.code());
}

/// From now on a log entry may be held back: hand signals to a thread that can write it first.
pub(crate) fn hold_back(writer: &Writer) {
    if !sys::is_installed() {
        return;
    }
    let Ok((reader, waker)) = std::io::pipe() else {
        return;
    };
    let mut reader = reader;
    // A handle of its own would keep the writer, and what it holds back, alive beyond the end.
    let writer = writer.downgrade();
    let watch = move || {
        let mut signal = [0_u8];
        if reader.read_exact(&mut signal).is_err() {
            return;
        }
        let name = SIGNALS
            .iter()
            .find(|(number, _)| *number == i32::from(signal[0]))
            .map_or("a signal", |(_, name)| name);
        let error = cancelled(name);
        if let Some(writer) = writer.upgrade() {
            writer.error(&error);
        }
        std::process::exit(i32::from(error.exit().code()));
    };
    let started = std::thread::Builder::new().name("signals".into()).spawn(watch);
    if started.is_ok() {
        sys::wake_instead(OwnedFd::from(waker));
    }
}
