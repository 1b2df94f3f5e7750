//! Waiting for jobs. Their supervisors tell when something happens; nothing is asked twice.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use legwork::CancelToken;
use legwork_view::Part;
use regex::bytes::Regex;

use super::Local;
use super::line::{Line, readable};
use crate::error::JobError;
use crate::id::JobId;
use crate::log::LogReader;
use crate::place::{Condition, Gather, Met, Waited, Waiting};
use crate::protocol::{Answer, Ask, Wanted, WhatMet};

/// What is searched at a time; a longer line is searched in such pieces.
const CHUNK: usize = 1 << 20;

/// The conditions, sorted out.
#[derive(Debug, Default)]
struct Conditions {
    output: bool,
    patterns: Vec<Regex>,
    port: Option<u16>,
    quiet: Option<Duration>,
    input: bool,
}

impl Conditions {
    fn new(conditions: &[Condition]) -> Result<Conditions, JobError> {
        let mut sorted = Conditions::default();
        for condition in conditions {
            match condition {
                Condition::Exit => {}
                Condition::Output => sorted.output = true,
                Condition::Pattern(pattern) => {
                    let compiled = Regex::new(pattern).map_err(|error| JobError::Invalid {
                        field: "pattern",
                        problem: error.to_string(),
                        hint: r"for example `listening on port \d+`".into(),
                    })?;
                    sorted.patterns.push(compiled);
                }
                Condition::Port(port) => sorted.port = Some(port.unwrap_or(0)),
                Condition::Quiet(quiet) => sorted.quiet = Some(*quiet),
                Condition::Input => sorted.input = true,
            }
        }
        Ok(sorted)
    }
}

/// One of the jobs that are waited for.
struct Watch<'a> {
    conditions: &'a Conditions,
    log: LogReader,
    line: Option<Line>,
    /// From where on output counts.
    since: u64,
    /// The beginning of the line that is being searched.
    searched: u64,
    /// What was there when it was last searched: what comes after it has to be told of.
    seen: u64,
    met: Option<Met>,
}

impl Watch<'_> {
    fn ask(&mut self) -> std::io::Result<()> {
        let output = if self.conditions.output {
            Some(self.since)
        } else if self.conditions.patterns.is_empty() {
            None
        } else {
            Some(self.seen)
        };
        let wanted = Wanted {
            output,
            port: self.conditions.port,
            quiet_ms: self.conditions.quiet.map(|quiet| quiet.as_millis() as u64),
            input: self.conditions.input,
        };
        match &mut self.line {
            Some(line) => line.send(&Ask::Wait(wanted)),
            None => Ok(()),
        }
    }

    /// The first line beyond what was searched that matches. A line that is not finished counts:
    /// a prompt has no end of line.
    fn search(&mut self) -> Result<Option<Met>, JobError> {
        if self.conditions.patterns.is_empty() {
            return Ok(None);
        }
        loop {
            let piece = self.log.read(self.searched, CHUNK)?;
            self.seen = piece.next;
            if piece.bytes.is_empty() {
                return Ok(None);
            }
            let mut at = 0;
            while at < piece.bytes.len() {
                let rest = &piece.bytes[at..];
                let end = rest.iter().position(|byte| *byte == b'\n');
                let line = &rest[..end.unwrap_or(rest.len())];
                // As it came, or as a reader sees it: a terminal puts colours before a word.
                let plain = legwork_view::plain(line);
                let matches = |pattern: &Regex| pattern.is_match(line) || pattern.is_match(&plain);
                if self.conditions.patterns.iter().any(matches) {
                    let cursor = piece.cursor + at as u64;
                    let line = String::from_utf8_lossy(&plain).trim_end().to_owned();
                    return Ok(Some(Met::Pattern { cursor, line }));
                }
                match end {
                    Some(end) => at += end + 1,
                    None => break,
                }
            }
            // An unfinished line is searched again when more of it is there.
            let whole_lines = if at == 0 && piece.bytes.len() == CHUNK { CHUNK } else { at };
            self.searched = piece.cursor + whole_lines as u64;
            if piece.bytes.len() < CHUNK {
                return Ok(None);
            }
        }
    }

    /// The supervisor has said something, or has gone.
    fn hear(&mut self) -> Result<(), JobError> {
        let Some(line) = &mut self.line else {
            return Ok(());
        };
        let answer = line.receive(None);
        let answer = line.heard(answer)?;
        let what = match answer {
            Some(Answer::Met { met }) => met,
            Some(_) => return Ok(()),
            None => WhatMet::Exit,
        };
        let met = match what {
            WhatMet::Exit => Some(self.search()?.unwrap_or(Met::Exit)),
            WhatMet::Output => match self.search()? {
                Some(met) => Some(met),
                None => self.conditions.output.then_some(Met::Output),
            },
            WhatMet::Port(port) => Some(Met::Port { port }),
            WhatMet::Quiet => Some(Met::Quiet),
            WhatMet::Input(blocked_on) => Some(Met::Input { blocked_on }),
        };
        match met {
            Some(met) => {
                self.line = None;
                self.met = Some(met);
            }
            None => {
                if self.ask().is_err() {
                    self.line = None;
                    self.met = Some(self.search()?.unwrap_or(Met::Exit));
                }
            }
        }
        Ok(())
    }
}

impl Local {
    fn watch<'a>(
        &self,
        id: JobId,
        since: Option<u64>,
        conditions: &'a Conditions,
    ) -> Result<Watch<'a>, JobError> {
        let observed = self.observe(id)?;
        let line =
            if observed.attended && observed.state().is_live() { self.line(id)? } else { None };
        let log = self.log(id)?;
        let total = log.facts()?.total;
        if let Some(since) = since.filter(|since| *since > total) {
            return Err(crate::log::LogError::BeyondTheEnd { cursor: since, total }.into());
        }
        let mut watch = Watch {
            conditions,
            log,
            line,
            since: since.unwrap_or(total),
            // A pattern that has been printed already has been printed.
            searched: since.unwrap_or(0),
            seen: 0,
            met: None,
        };
        watch.met = match watch.search()? {
            Some(met) => Some(met),
            None if conditions.output && total > watch.since => Some(Met::Output),
            None if watch.line.is_none() || watch.ask().is_err() => Some(Met::Exit),
            None => None,
        };
        Ok(watch)
    }

    pub(super) fn wait_for(&self, waiting: &Waiting) -> Result<Vec<Waited>, JobError> {
        let until = waiting.limit.and_then(|limit| Instant::now().checked_add(limit));
        let conditions = Conditions::new(&waiting.conditions)?;
        let mut watches = Vec::with_capacity(waiting.jobs.len());
        for id in &waiting.jobs {
            watches.push(self.watch(*id, waiting.since, &conditions)?);
        }
        loop {
            let met = watches.iter().filter(|watch| watch.met.is_some()).count();
            let enough = match waiting.gather {
                Gather::Any => met > 0 || watches.is_empty(),
                Gather::All => met == watches.len(),
            };
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if enough || left == Some(Duration::ZERO) {
                break;
            }
            if waiting.cancel.as_ref().is_some_and(CancelToken::is_cancelled) {
                break;
            }
            for index in ready(&watches, until, waiting.cancel.as_ref()) {
                watches[index].hear()?;
            }
        }
        let mut waited = Vec::with_capacity(watches.len());
        for (watch, id) in watches.into_iter().zip(&waiting.jobs) {
            let mut reading = waiting.reading.clone();
            if reading.part == Part::Whole {
                reading.part = Part::Since(watch.since);
            }
            let report = self.read_job(*id, &reading)?;
            waited.push(Waited { met: watch.met.unwrap_or(Met::Nothing), report });
        }
        Ok(waited)
    }
}

/// Waits until a supervisor has said something; whose watches these are.
fn ready(
    watches: &[Watch<'_>],
    until: Option<Instant>,
    cancel: Option<&CancelToken>,
) -> Vec<usize> {
    let open: Vec<(usize, &Line)> = watches
        .iter()
        .enumerate()
        .filter(|(_, watch)| watch.met.is_none())
        .filter_map(|(index, watch)| Some((index, watch.line.as_ref()?)))
        .collect();
    let lines: Vec<BorrowedFd<'_>> = open.iter().map(|(_, line)| line.fd()).collect();
    let ready = readable(&lines, until, cancel);
    ready.into_iter().filter_map(|index| open.get(index).map(|(watch, _)| *watch)).collect()
}
