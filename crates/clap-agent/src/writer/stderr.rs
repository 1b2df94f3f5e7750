//! stderr: log lines, progress and errors share it, and for people a bar that must be gone before
//! anything else is written.

use std::io::Write;
use std::time::{Duration, Instant, SystemTime};

use crate::log::Collapser;
use crate::progress::Progress;

/// Redrawing more often than the eye sees only costs.
const REDRAW: Duration = Duration::from_millis(50);

/// The sink and what is known about its last line.
pub(super) struct Stderr {
    sink: Box<dyn Write + Send>,
    log: Collapser,
    /// The sink is a terminal.
    live: bool,
    /// A line is on the screen that is not finished.
    drawn: bool,
    last_draw: Option<Instant>,
    last: Option<Progress>,
}

// A sink that fails has nowhere to say so: what goes wrong here is dropped.
impl Stderr {
    pub(super) fn new(sink: Box<dyn Write + Send>, live: bool) -> Self {
        Stderr { sink, log: Collapser::default(), live, drawn: false, last_draw: None, last: None }
    }

    /// Writes text as it is, on a line of its own.
    pub(super) fn write(&mut self, text: &str) {
        self.clear_bar();
        let _ = self.sink.write_all(text.as_bytes());
    }

    /// Takes a log entry of an agent's.
    pub(super) fn log(&mut self, level: &'static str, message: &str) {
        if let Some(line) = self.log.push(SystemTime::now(), level, message) {
            let _ = self.sink.write_all(line.as_bytes());
        }
    }

    /// Writes the log entry that is held back.
    #[inline]
    pub(super) fn finish_log(&mut self) {
        if let Some(line) = self.log.finish() {
            let _ = self.sink.write_all(line.as_bytes());
        }
    }

    /// A progress line for an agent.
    pub(super) fn progress_line(&mut self, progress: &Progress) {
        let mut line = serde_json::to_string(progress).expect("strings and numbers serialise");
        line.push('\n');
        self.finish_log();
        let _ = self.sink.write_all(line.as_bytes());
    }

    /// A bar for a person; where nothing can be redrawn, a line when there is news.
    pub(super) fn bar(&mut self, progress: &Progress) {
        if !self.can_redraw() {
            if progress.is_news_after(self.last.as_ref()) {
                let _ = writeln!(self.sink, "{}", progress.line(usize::MAX));
            }
            self.last = Some(progress.clone());
            return;
        }
        let finished = progress.total > 0 && progress.current >= progress.total;
        let now = Instant::now();
        if !finished && self.last_draw.is_some_and(|last| now - last < REDRAW) {
            return;
        }
        self.draw(&progress.line(terminal_width()));
        self.last_draw = Some(now);
    }

    /// Words for a person that are drawn over.
    pub(super) fn passing(&mut self, message: &str) {
        if self.can_redraw() {
            let room = terminal_width().saturating_sub(1);
            let line: String = message.chars().take(room).collect();
            self.draw(&line);
        } else {
            let _ = writeln!(self.sink, "{message}");
        }
    }

    fn can_redraw(&self) -> bool {
        self.live && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
    }

    fn draw(&mut self, line: &str) {
        let _ = write!(self.sink, "\r\x1b[K{line}");
        let _ = self.sink.flush();
        self.drawn = true;
    }

    /// Takes the bar off the screen.
    #[inline]
    pub(super) fn clear_bar(&mut self) {
        if self.drawn {
            let _ = self.sink.write_all(b"\r\x1b[K");
            let _ = self.sink.flush();
            self.drawn = false;
            self.last_draw = None;
        }
    }

    /// Nothing is held back any more.
    #[inline]
    pub(super) fn flush(&mut self) {
        self.finish_log();
        self.clear_bar();
        let _ = self.sink.flush();
    }
}

fn terminal_width() -> usize {
    rustix::termios::tcgetwinsize(rustix::stdio::stderr())
        .map(|size| usize::from(size.ws_col))
        .ok()
        .filter(|columns| *columns > 0)
        .unwrap_or(80)
}
