//! The table of jobs for people: as wide as the terminal, what matters first.
//!
//! Only the command gives way: ids, names and states are what a person types next. Columns that
//! nobody fills are left out.

use std::time::{Duration, SystemTime};

use anstyle::{AnsiColor, Style};
use legwork_job::{Report, State};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::clock;
use crate::units;
use crate::words::one_line;

/// How a table looks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    /// Columns of the terminal; `None`: nothing is cut.
    pub(crate) width: Option<usize>,
    /// Whether it may have colours.
    pub(crate) colour: Colour,
}

/// Whether text may have colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colour {
    /// It may.
    On,
    /// It must not.
    Off,
}

impl Look {
    /// As the terminal that stdout is, and the environment, ask for it.
    pub(crate) fn of_stdout() -> Look {
        let choice = anstream::AutoStream::choice(&std::io::stdout());
        Look {
            width: crate::terminal::size().map(|size| usize::from(size.cols)),
            colour: match choice {
                anstream::ColorChoice::Never => Colour::Off,
                _ => Colour::On,
            },
        }
    }
}

/// The least that is left of a command, also in a terminal that is too narrow for it.
const LEAST_COMMAND: usize = 8;

/// One row, cell by cell.
struct Row {
    cells: [String; 6],
    style: Style,
    command: String,
}

const TITLES: [&str; 6] = ["ID", "NAME", "STATE", "AGE", "EXIT", "PORTS"];

/// Which cell is coloured by the state.
const STATE: usize = 2;

/// The table, without a newline at its end.
pub(crate) fn table(jobs: &[Report], look: Look, now: SystemTime) -> String {
    let rows: Vec<Row> = jobs.iter().map(|job| row(job, now)).collect();
    let widths: [usize; 6] = std::array::from_fn(|column| {
        let widest = rows.iter().map(|row| row.cells[column].width()).max().unwrap_or(0);
        // A column that nobody fills is left out.
        if widest == 0 { 0 } else { widest.max(TITLES[column].len()) }
    });
    let used: usize = widths.iter().filter(|width| **width > 0).map(|width| width + 2).sum();
    let room = look.width.map(|width| width.saturating_sub(used).max(LEAST_COMMAND));
    let paint = |style: Style, text: &str| match look.colour {
        Colour::On if !style.is_plain() => format!("{style}{text}{style:#}"),
        Colour::On | Colour::Off => text.to_owned(),
    };
    let line = |cells: [&str; 6], style: Style, command: &str, whole: Style| {
        let mut line = String::new();
        for (column, cell) in cells.iter().enumerate().filter(|(column, _)| widths[*column] > 0) {
            let padding = " ".repeat(widths[column] - cell.width() + 2);
            let style = if column == STATE { style } else { whole };
            line.push_str(&paint(style, cell));
            line.push_str(&padding);
        }
        let command = room.map_or_else(|| command.to_owned(), |room| cut(command, room));
        line.push_str(&paint(whole, &command));
        line.trim_end().to_owned()
    };
    let bold = Style::new().bold();
    let header = line(TITLES, bold, "COMMAND", bold);
    let body = rows.iter().map(|row| {
        let cells = std::array::from_fn(|column| row.cells[column].as_str());
        line(cells, row.style, &row.command, Style::new())
    });
    std::iter::once(header).chain(body).collect::<Vec<_>>().join("\n")
}

fn row(job: &Report, now: SystemTime) -> Row {
    let started = job.started_at.as_deref().and_then(|at| clock::age(at, now));
    let age = started.or(job.wall_duration_ms.map(Duration::from_millis));
    let mut ports: Vec<u16> = job.listening.iter().map(|socket| socket.port).collect();
    ports.sort_unstable();
    ports.dedup();
    let ports: Vec<String> = ports.iter().map(ToString::to_string).collect();
    let what = job.intent.as_ref().unwrap_or(&job.command);
    Row {
        cells: [
            job.id.map(|id| id.to_string()).unwrap_or_default(),
            job.name.as_deref().map(one_line).unwrap_or_default(),
            job.state.map_or("", State::word).to_owned(),
            age.map(units::shown).unwrap_or_default(),
            exit(job),
            ports.join(","),
        ],
        style: style(job),
        command: one_line(what),
    }
}

/// The code, or in a word why there is none.
fn exit(job: &Report) -> String {
    use legwork::Cause;
    match (&job.ending, job.exit_code) {
        (_, Some(code)) => code.to_string(),
        (Some(ending), None) => match ending.cause() {
            Cause::Signaled { signal, .. } => signal.to_string(),
            cause => cause.word().to_owned(),
        },
        (None, None) => String::new(),
    }
}

fn style(job: &Report) -> Style {
    let of = |colour: AnsiColor| Style::new().fg_color(Some(colour.into()));
    match job.state {
        Some(State::Running) => of(AnsiColor::Green),
        Some(State::Starting | State::Stopping) => of(AnsiColor::Yellow),
        Some(State::Ended) if job.success == Some(true) || job.exit_code == Some(0) => {
            Style::new().dimmed()
        }
        Some(State::Ended | State::Lost) => of(AnsiColor::Red),
        Some(State::Elsewhere) => of(AnsiColor::Blue),
        None => Style::new(),
    }
}

/// A text that takes no more than so many columns, its end marked where it was cut.
fn cut(text: &str, room: usize) -> String {
    if text.width() <= room {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut left = room.saturating_sub(1);
    for c in text.chars() {
        let width = c.width().unwrap_or(0);
        if width > left {
            break;
        }
        left -= width;
        kept.push(c);
    }
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::tests::{ended, report};

    fn now() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(3700)
    }

    fn shown(jobs: &[Report], width: Option<usize>) -> String {
        table(jobs, Look { width, colour: Colour::Off }, now())
    }

    fn three() -> Vec<Report> {
        let mut web = report("k3vq8m2a");
        web.name = Some("web".into());
        web.intent = Some("Serving the docs".into());
        let socket = |port: u16| -> legwork_job::Listening {
            let value = serde_json::json!({
                "protocol": "tcp", "address": "127.0.0.1", "port": port, "pid": 7,
            });
            serde_json::from_value(value).unwrap()
        };
        web.listening = vec![socket(8000), socket(443), socket(8000)];
        let mut failed = ended("p7tn2x9c", 101);
        failed.command = "cargo test --workspace --all-features 2>&1 | tail -50".into();
        vec![web, failed, ended("zzzz2222", 0)]
    }

    #[test]
    fn columns_line_up_and_the_intent_stands_for_the_command() {
        assert_eq!(
            shown(&three(), None),
            "ID        NAME  STATE    AGE    EXIT  PORTS     COMMAND\n\
             k3vq8m2a  web   running  1h01m        443,8000  Serving the docs\n\
             p7tn2x9c        ended    1h01m  101             cargo test --workspace --all-features 2>&1 | tail -50\n\
             zzzz2222        ended    1h01m  0               sleep 60"
        );
    }

    #[test]
    fn only_the_command_gives_way_to_a_narrow_terminal() {
        for width in [70, 80, 100] {
            let table = shown(&three(), Some(width));
            assert!(table.lines().all(|line| line.width() <= width), "{width}:\n{table}");
        }
        assert!(shown(&three(), Some(70)).contains("cargo test --workspac…"));
        assert!(shown(&three(), Some(10)).contains("k3vq8m2a"));
    }

    #[test]
    fn empty_columns_are_left_out() {
        assert_eq!(
            shown(&[report("k3vq8m2a")], None),
            "ID        STATE    AGE    COMMAND\nk3vq8m2a  running  1h01m  sleep 60"
        );
    }

    #[test]
    fn wide_characters_count_twice_and_controls_not_at_all() {
        let mut job = report("k3vq8m2a");
        job.command = "日本語日本語日本語\u{1b}[31m".into();
        let table = shown(&[job], Some(40));
        assert!(table.lines().all(|line| line.width() <= 40), "{table}");
        assert!(!table.contains('\u{1b}'));
    }

    #[test]
    fn an_ending_without_a_code_is_a_word() {
        let mut job = ended("k3vq8m2a", 0);
        job.exit_code = None;
        job.ending = Some(legwork::Ending::new(legwork::Cause::Deadline, None));
        assert!(shown(&[job.clone()], None).contains("deadline"));
        let cause = legwork::Cause::Signaled { signal: legwork::Signal::KILL, by_request: false };
        job.ending = Some(legwork::Ending::new(cause, None));
        assert!(shown(&[job], None).contains("SIGKILL"));
    }

    #[test]
    fn colours_only_where_they_may_be() {
        let coloured = table(&three(), Look { width: None, colour: Colour::On }, now());
        assert!(coloured.contains("\u{1b}[32mrunning\u{1b}[0m"), "{coloured:?}");
        assert!(coloured.contains("\u{1b}[31mended\u{1b}[0m"), "{coloured:?}");
        assert!(!shown(&three(), None).contains('\u{1b}'));
    }
}
