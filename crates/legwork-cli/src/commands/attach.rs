//! `legwork attach`: a person's terminal on a job's terminal.
//!
//! Keys go to the job as bytes, all but the one that detaches; what it draws comes back as bytes.
//! Whatever ends this, a key, the job, a signal or a panic, the person's terminal is given back as
//! it was. A job without a terminal is followed like a log.

use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use clap_agent::{AgentError, Exit, Mode, Notes, Writer};
use legwork::Signal;
use legwork_job::{Attached, Attachment, JobError, JobId, Place, Reading};
use legwork_view::{Budget, Part};

use super::output::{self, Following};
use crate::errors::{number, told};
use crate::options::Session;
use crate::place::find;
use crate::sys::{Arrivals, readable};
use crate::{terminal, words};

pub(crate) const EXAMPLES: &str = "\
Examples:
  legwork attach vim        Ctrl-\\ detaches; the job runs on";

/// Ctrl-\: what no program uses for anything else.
const DETACH: u8 = 0x1c;

pub(crate) fn notes() -> Notes {
    Notes::read()
        .passthrough()
        .hide_from_mcp()
        .when_to_use("for people only; agents use `screen`, `input` and `output`")
}

#[derive(Debug, Args)]
pub(crate) struct Attach {
    /// The job: its name, its id, or the beginning of its id
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    session: Session,
}

pub(crate) fn execute(args: &Attach, place: &dyn Place, out: &Writer) -> Result<Exit, AgentError> {
    let id = find(place, &args.id, &args.session)?;
    if !terminal::is_interactive() || out.mode() == Mode::Agent {
        return Err(AgentError::user(
            "attaching needs a person's terminal, and there is none",
            "use `legwork output ID --follow`, `legwork screen ID` and `legwork input ID`",
        ));
    }
    let who = who(place, id)?;
    match place.attach(id, terminal::size()) {
        Ok(attachment) => {
            let end = sit_down(&*attachment, &who)?;
            let (words, exit) = match end {
                End::Detached => ("detached; it runs on", Exit::Ok),
                End::Over => ("the end of its terminal", Exit::Ok),
                End::Signal(signal) => ("interrupted; it runs on", number(128 + signal.number())),
            };
            eprintln!("{who}: {words}");
            Ok(exit)
        }
        Err(JobError::NotPossible { .. }) => {
            eprintln!("{who} has no terminal; following its log, Ctrl-C ends that");
            output::follow(&Following::from_the_end(), id, place, out)
        }
        Err(error) => Err(told(error)),
    }
}

fn who(place: &dyn Place, id: JobId) -> Result<String, AgentError> {
    let reading =
        Reading { part: Part::Tail, budget: Budget::Bytes(Budget::SMALLEST), ..Reading::default() };
    Ok(words::who_exactly(&place.read(id, &reading).map_err(told)?))
}

/// How it was over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Detached,
    Over,
    Signal(Signal),
}

/// What puts a screen back that a program has left in the middle of its work: colours, the cursor,
/// the mouse, bracketed paste.
const CALM: &[u8] = b"\x1b[0m\x1b[?25h\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\
    \x1b[?1l\x1b>";

/// Leaves the alternate screen.
const MAIN_SCREEN: &[u8] = b"\x1b[?1049l";

fn sit_down(attachment: &dyn Attachment, who: &str) -> Result<End, AgentError> {
    let arrivals = Arrivals::of(&[Signal::WINCH, Signal::TERM, Signal::HUP, Signal::INT])?;
    let (over, tell) =
        rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(io::Error::from)?;
    let mut raw = terminal::Raw::enter()?;
    raw.at_end(CALM);
    // Whoever reads this may type: every key is the job's by now.
    eprint!("attached to {who}; Ctrl-\\ detaches\r\n");
    let alternate = AtomicBool::new(false);
    let end = std::thread::scope(|scope| {
        let shows = scope.spawn(|| show(attachment, tell, &alternate));
        let end = type_on(attachment, &arrivals, over.as_fd());
        attachment.detach();
        match (end, shows.join()) {
            (Ok(end), Ok(Ok(()))) => Ok(end),
            (Err(error), _) | (Ok(_), Ok(Err(error))) => Err(error),
            (Ok(_), Err(panic)) => std::panic::resume_unwind(panic),
        }
    });
    if alternate.load(Ordering::Acquire) {
        raw.at_end(MAIN_SCREEN);
    }
    raw.at_end(b"\r\n");
    drop(raw);
    Ok(end?)
}

/// What the job draws, to the screen; hanging up the pipe tells that it is over.
fn show(attachment: &dyn Attachment, tell: OwnedFd, alternate: &AtomicBool) -> io::Result<()> {
    let _tell = tell;
    let mut stdout = io::stdout();
    loop {
        match attachment.next()? {
            Attached::Output(bytes) => {
                if let Some(on) = switches(&bytes) {
                    alternate.store(on, Ordering::Release);
                }
                stdout.write_all(&bytes)?;
                stdout.flush()?;
            }
            Attached::End => return Ok(()),
        }
    }
}

/// Whether these bytes end on the alternate screen or on the main one; `None`: they do not say.
fn switches(bytes: &[u8]) -> Option<bool> {
    let last = |wanted: &[u8]| bytes.windows(wanted.len()).rposition(|window| window == wanted);
    match (last(b"\x1b[?1049h"), last(MAIN_SCREEN)) {
        (None, None) => None,
        (on, off) => Some(on > off),
    }
}

/// What the person types, to the job.
fn type_on(
    attachment: &dyn Attachment,
    arrivals: &Arrivals,
    over: std::os::fd::BorrowedFd<'_>,
) -> io::Result<End> {
    let mut keys = [0_u8; 4096];
    loop {
        let ready = readable([io::stdin().as_fd(), arrivals.as_fd(), over], None)?;
        let [typed, signalled, is_over] = ready;
        if is_over {
            return Ok(End::Over);
        }
        if signalled && let Some(arrival) = arrivals.wait() {
            match (arrival.signal, terminal::size()) {
                (Signal::WINCH, Some(size)) => attachment.resize(size)?,
                (Signal::WINCH, None) => {}
                (signal, _) => return Ok(End::Signal(signal)),
            }
        }
        if typed {
            // Not through the buffer of `Stdin`: what lies in there would not be polled for.
            let count = rustix::io::read(io::stdin(), &mut keys)?;
            let (sent, detach) = until_detach(&keys[..count]);
            if !sent.is_empty() {
                attachment.send(sent)?;
            }
            if detach || count == 0 {
                return Ok(End::Detached);
            }
        }
    }
}

/// What comes before the key that detaches, and whether it was there.
fn until_detach(keys: &[u8]) -> (&[u8], bool) {
    match keys.iter().position(|key| *key == DETACH) {
        Some(at) => (&keys[..at], true),
        None => (keys, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_typed_before_the_key_is_sent() {
        assert_eq!(until_detach(b"abc"), (&b"abc"[..], false));
        assert_eq!(until_detach(b"ab\x1cc"), (&b"ab"[..], true));
        assert_eq!(until_detach(b"\x1c"), (&b""[..], true));
    }

    #[test]
    fn the_last_switch_of_screens_counts() {
        assert_eq!(switches(b"text"), None);
        assert_eq!(switches(b"\x1b[?1049hx"), Some(true));
        assert_eq!(switches(b"\x1b[?1049hx\x1b[?1049l"), Some(false));
        assert_eq!(switches(b"\x1b[?1049l\x1b[?1049h"), Some(true));
    }
}
