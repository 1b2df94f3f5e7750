//! Composes a report from what is known.

use std::time::{Duration, UNIX_EPOCH};

use legwork::Cause;

use super::observe::Observed;
use crate::log::Facts as LogFacts;
use crate::protocol::Facts;
use crate::record::now_ms;
use crate::report::{REPORT_SCHEMA, Report, State};
use crate::spec::What;

/// The report of a job, without its output.
pub(super) fn report(observed: &Observed, log: Option<LogFacts>, live: Option<Facts>) -> Report {
    let record = &observed.record;
    // The supervisor knows best, and it may have gone on since.
    let state = match &live {
        Some(facts) if observed.state().is_live() => facts.state,
        _ => observed.state(),
    };
    let running = state.is_live();
    let end = record.end.as_ref().filter(|_| !running);
    let argv = match &record.what {
        What::Argv(argv) => {
            Some(argv.iter().map(|arg| arg.to_string_lossy().into_owned()).collect())
        }
        What::Shell(_) => None,
    };
    let wall_duration_ms = match end {
        Some(end) => Some(end.wall_ms),
        None if state == State::Elsewhere => None,
        None => Some(now_ms().saturating_sub(record.started_at_ms)),
    };
    let notes: Vec<&str> =
        end.map(|end| end.notes.iter().map(String::as_str).collect()).unwrap_or_default();
    let (blocked_on, listening, processes) = match live {
        Some(facts) => (facts.blocked_on, facts.listening, facts.processes),
        None => (None, Vec::new(), Vec::new()),
    };
    let advice = advice(running, blocked_on.is_some(), record.terminal.is_some());
    let note = notes.into_iter().chain(advice).collect::<Vec<_>>().join("; ");
    Report {
        schema: REPORT_SCHEMA,
        id: Some(record.id),
        name: record.name.clone(),
        place: "local".into(),
        command: record.what.shown(),
        argv,
        workdir: record.workdir.as_ref().map(|path| path.to_string_lossy().into_owned()),
        intent: record.intent.clone(),
        labels: record.labels.clone(),
        session: record.session.clone(),
        state: Some(state),
        running,
        ending: end.map(|end| end.ending.clone()),
        exit_code: end.and_then(|end| end.ending.exit_code()),
        shell_code: end.map(|end| end.ending.number()),
        success: end.map(|end| end.ending.success()),
        output: None,
        cursor: None,
        truncated: None,
        bytes: log.map(|log| log.total),
        lost_bytes: log.map(|log| log.lost).filter(|lost| *lost > 0),
        started_at: Some(time(record.started_at_ms)),
        ended_at: end.map(|end| time(end.ended_at_ms)),
        wall_duration_ms,
        usage: end.and_then(|end| end.usage),
        containment: end.and_then(|end| end.containment),
        survivors: end.map(|end| end.survivors.clone()).unwrap_or_default(),
        processes,
        blocked_on,
        listening,
        background_process_id: running.then_some(record.id),
        error: end.and_then(|end| lost(end.ending.cause())),
        note: Some(note).filter(|note| !note.is_empty()),
    }
}

fn lost(cause: &Cause) -> Option<String> {
    match cause {
        Cause::SupervisorLost => Some(
            "its supervisor was killed, so how it ended is not known; its output up to there can \
             be read; start it again if it is still wanted"
                .to_owned(),
        ),
        Cause::MachineRestarted => Some(
            "the machine was restarted while it ran; start it again if it is still wanted"
                .to_owned(),
        ),
        _ => None,
    }
}

fn advice(running: bool, blocked: bool, terminal: bool) -> Option<&'static str> {
    match (running, blocked, terminal) {
        (true, true, false) => Some("it waits for input: answer with `legwork input`"),
        (true, true, true) => {
            Some("it waits for input: see `legwork screen`, answer with `legwork input`")
        }
        _ => None,
    }
}

/// A moment in RFC 3339.
fn time(ms: u64) -> String {
    humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_millis(ms)).to_string()
}
