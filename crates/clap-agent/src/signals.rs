//! Ctrl-C and SIGTERM: the program ends with 9 and says `cancelled`, in the reader's form.
//!
//! A thread that waits for signals would cost every start of every program. So the handler writes
//! an error that was rendered beforehand and ends the process, which needs nothing but `write` and
//! `_exit`. Only once a log entry is held back (it must not be lost) a thread is started that can
//! take locks; from then on the handler wakes that thread instead.
//!
//! The locks may be held by a thread that waits for a reader who does not read. So that thread gets
//! a moment to say everything; after it, the words rendered beforehand must do. A second signal
//! waits for nothing.
//!
//! A signal that whoever started the program set to be ignored (`nohup`) stays ignored.

use std::io::Read;
use std::os::fd::OwnedFd;
use std::sync::mpsc;
use std::time::Duration;

use crate::error::AgentError;
use crate::exit::Exit;
use crate::sys;
use crate::writer::Writer;

/// Both signals, with their names.
const SIGNALS: [(i32, &str); 2] = [(libc::SIGINT, "SIGINT"), (libc::SIGTERM, "SIGTERM")];

/// How long the log entry that is held back may take to be written.
const MOMENT: Duration = Duration::from_millis(300);

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
        let number = i32::from(signal[0]);
        let name =
            SIGNALS.iter().find(|(known, _)| *known == number).map_or("a signal", |(_, name)| name);
        let (done, is_done) = mpsc::channel();
        let say = move || {
            if let Some(writer) = writer.upgrade() {
                writer.last_error(&cancelled(name));
            }
            let _ = done.send(());
        };
        if std::thread::Builder::new().name("last words".into()).spawn(say).is_ok() {
            let _ = is_done.recv_timeout(MOMENT);
        }
        sys::end_now(number);
    };
    let started = std::thread::Builder::new().name("signals".into()).spawn(watch);
    if started.is_ok() {
        sys::wake_instead(OwnedFd::from(waker));
    }
}
