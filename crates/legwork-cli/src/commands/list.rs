//! `legwork list`: the jobs there are.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::time::{Duration, SystemTime};

use clap::{Args, ValueEnum};
use clap_agent::{AgentError, Example, Exit, Mode, Notes, Returns, Writer};
use legwork::Signal;
use legwork_job::{Filter, Page, Place, State};

use crate::errors::{number, told};
use crate::options::{Session, label};
use crate::sys::{Arrivals, readable};
use crate::table::{Look, table};
use crate::terminal;

pub(crate) const EXAMPLES: &str = "\
Examples:
  legwork list                       what runs, and what ended within a day
  legwork list --all                 all there is
  legwork list --watch               redrawn every second; q ends it
  legwork list --state running --label team=web";

pub(crate) fn notes() -> Notes {
    Notes::read()
        .idempotent()
        .when_to_use("to see what runs, before starting it again, or to find an id")
        .returns(Returns::of::<Page>("a page of reports"))
        .example(Example::new("legwork list"))
        .example(Example::new("legwork list --state running --fields jobs.id,jobs.name"))
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Also those that ended more than a day ago
    #[arg(long)]
    all: bool,
    /// Only those in this state; may be given several times
    #[arg(long, value_name = "STATE", value_enum, help_heading = "Which jobs")]
    state: Vec<OneState>,
    /// Only those of this name
    #[arg(long, value_name = "NAME", help_heading = "Which jobs")]
    name: Option<String>,
    /// Only those with this label, KEY=VALUE; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = label, help_heading = "Which jobs")]
    label: Vec<(String, String)>,
    /// Rows of a page [default: 20 for people, 100 for agents; all with --all]
    #[arg(long, value_name = "ROWS", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// Which page
    #[arg(long, value_name = "NUMBER", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..))]
    page: u32,
    /// Redraw every second, until q or Ctrl-C
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    session: Session,
}

/// Where a job is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OneState {
    Starting,
    Running,
    Stopping,
    Ended,
    Lost,
    Elsewhere,
}

/// What ended longer ago is shown when asked for.
const RECENT: Duration = Duration::from_secs(24 * 60 * 60);

impl From<OneState> for State {
    fn from(state: OneState) -> State {
        match state {
            OneState::Starting => State::Starting,
            OneState::Running => State::Running,
            OneState::Stopping => State::Stopping,
            OneState::Ended => State::Ended,
            OneState::Lost => State::Lost,
            OneState::Elsewhere => State::Elsewhere,
        }
    }
}

impl List {
    fn filter(&self, mode: Mode) -> Filter {
        let by_default = match mode {
            Mode::Person => 20,
            Mode::Agent => 100,
        };
        let limit = self.limit.map(|limit| limit as usize);
        Filter {
            states: self.state.iter().map(|state| State::from(*state)).collect(),
            ended_within: (!self.all && self.state.is_empty()).then_some(RECENT),
            name: self.name.clone(),
            labels: self.label.iter().cloned().collect::<BTreeMap<_, _>>(),
            session: self.session.get().map(str::to_owned),
            limit: limit.or((!self.all).then_some(by_default)),
            page: self.page as usize - 1,
            look: true,
        }
    }
}

pub(crate) fn execute(args: &List, place: &dyn Place, out: &Writer) -> Result<Exit, AgentError> {
    let filter = args.filter(out.mode());
    if args.watch {
        return watch(&filter, place, out);
    }
    let page = place.list(&filter).map_err(told)?;
    out.success(text(&page, &filter, Look::of_stdout()), &page)?;
    Ok(Exit::Ok)
}

/// The table, and what it leaves out.
fn text(page: &Page, filter: &Filter, look: Look) -> String {
    let mut text = if page.jobs.is_empty() {
        "no jobs".to_owned()
    } else {
        table(&page.jobs, look, SystemTime::now())
    };
    let seen = filter.limit.unwrap_or(0) * filter.page + page.jobs.len();
    if page.total > seen && !page.jobs.is_empty() {
        text.push_str(&format!("\n… and {} more, --all", page.total - seen));
    }
    for unreadable in &page.unreadable {
        text.push_str(&format!("\nnot readable: {unreadable}"));
    }
    text
}

/// Between two looks.
const PERIOD: Duration = Duration::from_secs(1);

/// The alternate screen, without a cursor; and back.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[?25l";
const LEAVE: &[u8] = b"\x1b[?25h\x1b[?1049l";

fn watch(filter: &Filter, place: &dyn Place, out: &Writer) -> Result<Exit, AgentError> {
    if !terminal::is_interactive() || out.mode() == Mode::Agent {
        return Err(AgentError::user(
            "--watch draws on a terminal, and there is none",
            "call `legwork list` again and again, or `legwork wait ID` to be told",
        )
        .with_field("watch"));
    }
    let arrivals = Arrivals::of(&[Signal::INT, Signal::TERM, Signal::HUP, Signal::WINCH])?;
    let mut raw = terminal::Raw::enter()?;
    raw.at_end(LEAVE);
    io::stdout().write_all(ENTER)?;
    loop {
        draw(filter, place)?;
        let [typed, signalled] = readable([io::stdin().as_fd(), arrivals.as_fd()], Some(PERIOD))?;
        if signalled
            && let Some(arrival) = arrivals.wait()
            && arrival.signal != Signal::WINCH
        {
            drop(raw);
            return Ok(number(128 + arrival.signal.number()));
        }
        if typed && is_end(&read_keys()?) {
            return Ok(Exit::Ok);
        }
    }
}

fn read_keys() -> io::Result<Vec<u8>> {
    let mut keys = [0_u8; 64];
    // Not through the buffer of `Stdin`: what lies in there would not be polled for.
    let count = rustix::io::read(io::stdin(), &mut keys)?;
    Ok(keys[..count].to_vec())
}

/// Whether these keys end the watch: q, Ctrl-C, Ctrl-D, or a terminal that is gone.
fn is_end(keys: &[u8]) -> bool {
    keys.is_empty() || keys.iter().any(|key| matches!(key, b'q' | b'Q' | 0x03 | 0x04))
}

fn draw(filter: &Filter, place: &dyn Place) -> Result<(), AgentError> {
    let rows = terminal::size().map_or(24, |size| usize::from(size.rows));
    // A row for the titles, one for what is left out, one for the keys.
    let fitting = rows.saturating_sub(3).max(1);
    let limit = filter.limit.map_or(fitting, |limit| limit.min(fitting));
    let filter = Filter { limit: Some(limit), ..filter.clone() };
    let page = place.list(&filter).map_err(told)?;
    let text = text(&page, &filter, Look::of_stdout());
    let mut screen = String::from("\x1b[H");
    for line in text.lines().chain(["q ends"]).take(rows) {
        screen.push_str(line);
        screen.push_str("\x1b[K\r\n");
    }
    // The last newline would scroll a screen that is full.
    screen.truncate(screen.len() - 2);
    screen.push_str("\x1b[J");
    let mut stdout = io::stdout();
    Ok(stdout.write_all(screen.as_bytes()).and_then(|()| stdout.flush())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Colour;
    use crate::words::tests::report;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        list: List,
    }

    fn filter(words: &[&str], mode: Mode) -> Filter {
        let line = std::iter::once("x").chain(words.iter().copied());
        Line::try_parse_from(line).unwrap().list.filter(mode)
    }

    #[test]
    fn what_is_asked_for_reaches_the_place() {
        let plain = filter(&[], Mode::Person);
        assert!(plain.states.is_empty());
        assert_eq!((plain.limit, plain.page), (Some(20), 0));
        assert_eq!(filter(&[], Mode::Agent).limit, Some(100));
        assert_eq!(filter(&["--all"], Mode::Person).limit, None);
        let some = filter(
            &[
                "--state=lost",
                "--state=ended",
                "--name=web",
                "--label=a=b",
                "--limit=5",
                "--page=3",
            ],
            Mode::Person,
        );
        assert_eq!(some.states, [State::Lost, State::Ended]);
        assert_eq!((some.name.as_deref(), some.limit, some.page), (Some("web"), Some(5), 2));
        assert_eq!(some.labels["a"], "b");
    }

    #[test]
    fn what_is_left_out_is_counted() {
        let look = Look { width: None, colour: Colour::Off };
        let page = Page {
            jobs: vec![report("k3vq8m2a"), report("p7tn2x9c")],
            total: 9,
            unreadable: vec!["abc: torn".into()],
        };
        let filter = Filter { limit: Some(2), page: 1, ..Filter::default() };
        let text = super::text(&page, &filter, look);
        assert!(text.ends_with("\n… and 5 more, --all\nnot readable: abc: torn"), "{text}");
        let none = Page { jobs: Vec::new(), total: 0, unreadable: Vec::new() };
        assert_eq!(super::text(&none, &filter, look), "no jobs");
    }

    #[test]
    fn q_and_control_c_end_the_watch() {
        assert!(is_end(b"q") && is_end(b"\x03") && is_end(b""));
        assert!(!is_end(b"x\x1b[A"));
    }
}
