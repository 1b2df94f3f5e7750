//! `legwork output`: what a job printed.
//!
//! For a person the view itself, byte for byte, in a pipe too: it is another program's output that
//! passes through here. For agents a report. Following reads the log and waits in turns; nothing
//! is lost between the two, since a wait counts from the cursor that was read last.

use std::time::Duration;

use clap::{Args, ValueEnum};
use clap_agent::{AgentError, Example, Exit, Mode, Notes, Returns, Writer};
use legwork::Stream;
use legwork_job::{Condition, Gather, JobId, Place, Reading, Report, Waiting};
use legwork_view::{Budget, Folding, Part};
use serde_json::json;

use crate::config::Config;
use crate::errors::told;
use crate::options::Session;
use crate::passing::{READER_GONE, Reader, pass_on};
use crate::place::find;
use crate::units;

pub(crate) const EXAMPLES: &str = "\
Examples:
  legwork output web                       head, diagnostics, tail
  legwork output web --since 48213         what came after a cursor
  legwork output web --follow              as it comes, until the job ends
  legwork output tests --wait 30s          wait for the end first
  legwork output tests --grep 'FAIL|panic' --budget 4000tokens
  legwork output tests --raw > tests.log   all that was kept, byte for byte";

pub(crate) fn notes() -> Notes {
    Notes::read()
        .passthrough()
        .streaming()
        .idempotent()
        .when_to_use(
            "to read a job's output, or to come back to a command that ran on; give the `cursor` \
             of the last answer to --since for the news alone",
        )
        .agent_description(
            "With --follow: one event a line, {\"type\":\"output\",\"cursor\":…,\"text\":…}, then \
             the report. Without: the report, its `output` within the budget.",
        )
        .returns(Returns::of::<Report>("the report of the job"))
        .example(
            Example::new("legwork output no-such-job").exits(Exit::NotFound).says("no such job"),
        )
}

#[derive(Debug, Args)]
pub(crate) struct Output {
    /// The job: its name, its id, or the beginning of its id
    #[arg(value_name = "ID")]
    id: String,
    /// Everything after this cursor: head, diagnostics, tail
    #[arg(long, value_name = "CURSOR", group = "part", help_heading = "Which part")]
    since: Option<u64>,
    /// A page from this cursor on, nothing skipped
    #[arg(long, value_name = "CURSOR", group = "part", help_heading = "Which part")]
    from: Option<u64>,
    /// The first page
    #[arg(long, group = "part", help_heading = "Which part")]
    head: bool,
    /// What fits of the end
    #[arg(long, group = "part", help_heading = "Which part")]
    tail: bool,
    /// Only what went to this stream
    #[arg(long, value_name = "STREAM", value_enum, help_heading = "Which part")]
    stream: Option<OneStream>,
    /// Only lines that match this regular expression
    #[arg(long, value_name = "RE", help_heading = "Which part")]
    grep: Option<String>,
    /// How much fits: bytes, or like 4000tokens [default: 32KiB]
    #[arg(long, value_name = "SIZE", value_parser = units::budget, help_heading = "How")]
    budget: Option<Budget>,
    /// As it came, colours and progress bars included; for a person all of it, unless a part or a
    /// budget is given
    #[arg(long, help_heading = "How")]
    raw: bool,
    /// Go on as it comes, until the job has ended
    #[arg(long, short = 'f', conflicts_with = "wait", help_heading = "When")]
    follow: bool,
    /// First wait until the job has ended, at most so long
    #[arg(long, value_name = "TIME", value_parser = units::duration, help_heading = "When")]
    wait: Option<Duration>,
    #[command(flatten)]
    session: Session,
}

/// One of a job's two streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OneStream {
    /// What it printed as its result
    Stdout,
    /// What it printed beside it
    Stderr,
}

impl Output {
    fn part(&self) -> Part {
        match (self.since, self.from) {
            (Some(cursor), _) => Part::Since(cursor),
            (None, Some(cursor)) => Part::From(cursor),
            (None, None) if self.head => Part::Head,
            (None, None) if self.tail => Part::Tail,
            (None, None) => Part::Whole,
        }
    }

    fn reading(&self) -> Result<Reading, AgentError> {
        let budget = match self.budget {
            Some(budget) => budget,
            None => Config::for_workdir(None)?.budget.unwrap_or_default(),
        };
        Ok(Reading {
            part: self.part(),
            budget,
            folding: if self.raw { Folding::Raw } else { Folding::Folded },
            stream: self.stream.map(|stream| match stream {
                OneStream::Stdout => Stream::Stdout,
                OneStream::Stderr => Stream::Stderr,
            }),
            grep: self.grep.clone(),
            look: true,
        })
    }

    /// Whether the log itself is wanted, and no view of it.
    fn is_whole_log(&self, mode: Mode) -> bool {
        let selects = self.stream.is_some() || self.grep.is_some() || self.head || self.tail;
        mode == Mode::Person && self.raw && self.budget.is_none() && !selects
    }
}

pub(crate) fn execute(args: &Output, place: &dyn Place, out: &Writer) -> Result<Exit, AgentError> {
    let id = find(place, &args.id, &args.session)?;
    if args.follow {
        return follow(&Following::of(args)?, id, place, out);
    }
    if let Some(limit) = args.wait {
        until_ended(place, id, Some(limit))?;
    }
    if args.is_whole_log(out.mode()) {
        return whole_log(place, id, args.since.or(args.from).unwrap_or(0));
    }
    let report = place.read(id, &args.reading()?).map_err(told)?;
    shown(&report, out)
}

fn shown(report: &Report, out: &Writer) -> Result<Exit, AgentError> {
    match out.mode() {
        Mode::Agent => out.success("", report)?,
        Mode::Person => {
            let text = report.output.as_deref().unwrap_or_default();
            if pass_on(text.as_bytes())? == Reader::Gone {
                return Ok(READER_GONE);
            }
        }
    }
    Ok(Exit::Ok)
}

/// How much of the log is passed on at once.
const PIECE: usize = 64 * 1024;

fn whole_log(place: &dyn Place, id: JobId, mut cursor: u64) -> Result<Exit, AgentError> {
    loop {
        let piece = place.bytes(id, cursor, PIECE).map_err(told)?;
        if piece.bytes.is_empty() && piece.next <= cursor {
            return Ok(Exit::Ok);
        }
        cursor = piece.next;
        if pass_on(&piece.bytes)? == Reader::Gone {
            return Ok(READER_GONE);
        }
    }
}

/// What is followed: the log as it is, or a view of what came.
#[derive(Debug)]
pub(super) struct Following {
    from: u64,
    /// What comes before: the end of what there is.
    tail: Option<Reading>,
    /// Set where only a part of the log is wanted.
    view: Option<Reading>,
}

impl Following {
    /// Everything from now on, and what fits of what was before.
    pub(super) fn from_the_end() -> Following {
        let tail = Reading { part: Part::Tail, folding: Folding::Raw, ..Reading::default() };
        Following { from: 0, tail: Some(tail), view: None }
    }

    fn of(args: &Output) -> Result<Following, AgentError> {
        let reading = Reading { folding: Folding::Raw, ..args.reading()? };
        let selects = reading.stream.is_some() || reading.grep.is_some();
        Ok(Following {
            from: args.since.or(args.from).unwrap_or(0),
            tail: args.tail.then(|| reading.clone()),
            view: selects.then_some(reading),
        })
    }

    /// What came after a cursor, and where to go on; nothing at the end.
    fn next(
        &self,
        place: &dyn Place,
        id: JobId,
        cursor: u64,
    ) -> Result<(Vec<u8>, u64), AgentError> {
        let Some(view) = &self.view else {
            let piece = place.bytes(id, cursor, PIECE).map_err(told)?;
            let mut bytes = piece.bytes;
            if piece.dropped > 0 {
                let gone = format!("[… {} bytes dropped …]\n", piece.dropped);
                bytes.splice(0..0, gone.into_bytes());
            }
            return Ok((bytes, piece.next));
        };
        let reading = Reading { part: Part::From(cursor), look: false, ..view.clone() };
        let report = place.read(id, &reading).map_err(told)?;
        let text = report.output.unwrap_or_default().into_bytes();
        Ok((text, report.cursor.unwrap_or(cursor)))
    }
}

/// Passes a job's output on until it has ended.
pub(super) fn follow(
    following: &Following,
    id: JobId,
    place: &dyn Place,
    out: &Writer,
) -> Result<Exit, AgentError> {
    let mut cursor = following.from;
    let mut stream = Followed::new(out);
    if let Some(tail) = &following.tail {
        let report = place.read(id, tail).map_err(told)?;
        let text = report.output.unwrap_or_default().into_bytes();
        if stream.pass(&text, cursor)? == Reader::Gone {
            return Ok(READER_GONE);
        }
        cursor = report.cursor.unwrap_or(cursor);
    }
    let mut ended = false;
    loop {
        let (bytes, next) = following.next(place, id, cursor)?;
        if stream.pass(&bytes, cursor)? == Reader::Gone {
            return Ok(READER_GONE);
        }
        let at_the_end = next <= cursor;
        cursor = next.max(cursor);
        if !at_the_end {
            continue;
        }
        if ended {
            break;
        }
        ended = news(place, id, cursor)?;
    }
    stream.finish(cursor)?;
    if out.mode() == Mode::Agent {
        let nothing = Reading { part: Part::Since(cursor), ..Reading::default() };
        let report = place.read(id, &nothing).map_err(told)?;
        out.success("", &report)?;
    }
    Ok(Exit::Ok)
}

/// Waits for output beyond the cursor, or for the end; whether it has ended.
fn news(place: &dyn Place, id: JobId, cursor: u64) -> Result<bool, AgentError> {
    let waited = place.wait(&Waiting {
        jobs: vec![id],
        conditions: vec![Condition::Output, Condition::Exit],
        gather: Gather::Any,
        limit: None,
        since: Some(cursor),
        reading: Reading { budget: Budget::Bytes(Budget::SMALLEST), ..Reading::default() },
        cancel: None,
    });
    Ok(waited.map_err(told)?.iter().all(|waited| !waited.report.running))
}

/// Waits for the end, for so long.
fn until_ended(place: &dyn Place, id: JobId, limit: Option<Duration>) -> Result<(), AgentError> {
    let waiting = Waiting {
        jobs: vec![id],
        conditions: vec![Condition::Exit],
        gather: Gather::All,
        limit,
        since: None,
        reading: Reading { budget: Budget::Bytes(Budget::SMALLEST), ..Reading::default() },
        cancel: None,
    };
    place.wait(&waiting).map_err(told).map(drop)
}

/// Where followed bytes go: to a person as they are, to an agent as events of whole characters.
struct Followed<'a> {
    out: &'a Writer,
    /// The beginning of a character whose rest is yet to come.
    held: Vec<u8>,
}

impl<'a> Followed<'a> {
    fn new(out: &'a Writer) -> Followed<'a> {
        Followed { out, held: Vec::new() }
    }

    fn pass(&mut self, bytes: &[u8], cursor: u64) -> Result<Reader, AgentError> {
        if bytes.is_empty() {
            return Ok(Reader::There);
        }
        if self.out.mode() == Mode::Person {
            return pass_on(bytes);
        }
        let cursor = cursor.saturating_sub(self.held.len() as u64);
        self.held.extend_from_slice(bytes);
        let whole = self.held.len() - unfinished(&self.held);
        let rest = self.held.split_off(whole);
        let bytes = std::mem::replace(&mut self.held, rest);
        self.event(&bytes, cursor)?;
        Ok(Reader::There)
    }

    /// What is held back will not become whole any more.
    fn finish(&mut self, cursor: u64) -> Result<(), AgentError> {
        let bytes = std::mem::take(&mut self.held);
        self.event(&bytes, cursor.saturating_sub(bytes.len() as u64))
    }

    fn event(&self, bytes: &[u8], cursor: u64) -> Result<(), AgentError> {
        if bytes.is_empty() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(bytes);
        self.out.event(&json!({"type": "output", "cursor": cursor, "text": text}))
    }
}

/// How many bytes at the end are the beginning of a character.
fn unfinished(bytes: &[u8]) -> usize {
    let last = bytes.len().min(3);
    (1..=last)
        .find(|back| {
            let byte = bytes[bytes.len() - back];
            let length = match byte {
                0xC0..=0xDF => 2,
                0xE0..=0xEF => 3,
                0xF0..=0xF7 => 4,
                _ => return false,
            };
            length > *back
        })
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap_agent::{Buffer, OutputFormat};

    #[test]
    fn characters_are_never_cut_between_events() {
        let stdout = Buffer::new();
        let out =
            Writer::builder(stdout.clone(), Buffer::new()).format(OutputFormat::Ndjson).build();
        let mut followed = Followed::new(&out);
        let text = "aé日\u{1f600}z".as_bytes();
        for (cursor, byte) in text.iter().enumerate() {
            followed.pass(std::slice::from_ref(byte), cursor as u64).unwrap();
        }
        let lines: Vec<serde_json::Value> =
            stdout.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let joined: String = lines.iter().map(|line| line["text"].as_str().unwrap()).collect();
        assert_eq!(joined, "aé日\u{1f600}z");
        let cursors: Vec<u64> = lines.iter().map(|line| line["cursor"].as_u64().unwrap()).collect();
        assert_eq!(cursors, [0, 1, 3, 6, 10]);
        followed.pass(b"\xe6\x97", 11).unwrap();
        followed.finish(13).unwrap();
        let last: serde_json::Value =
            serde_json::from_str(stdout.text().lines().last().unwrap()).unwrap();
        assert_eq!((last["cursor"].as_u64(), last["text"].as_str()), (Some(11), Some("\u{fffd}")));
    }

    #[test]
    fn what_is_no_text_does_not_hold_up_the_rest() {
        assert_eq!(unfinished(b"abc"), 0);
        assert_eq!(unfinished(b"ab\xe6\x97"), 2);
        assert_eq!(unfinished(b"\xff\xff"), 0);
        assert_eq!(unfinished(b"\x80\x80\x80\x80"), 0);
        assert_eq!(unfinished(b""), 0);
    }
}
