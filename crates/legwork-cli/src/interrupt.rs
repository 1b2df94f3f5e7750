//! What happens when a caller is interrupted while it waits for a report.
//!
//! The command is a job: it runs on, and whoever interrupted must be told under which id, or it
//! would be lost to them. Looking it up is more than a signal handler may do, so a thread waits
//! for the signal.

use std::time::SystemTime;

use clap_agent::{AgentError, Exit, Writer};
use legwork::Signal;
use legwork_job::{Filter, JobId, JobSpec, Report};

use crate::clock;
use crate::place::place;
use crate::sys::Arrivals;

/// Tells under which id the job runs on, and ends this process with 128 + the signal, when one
/// comes. Where that cannot be arranged the signal ends the process as it always does.
pub(crate) fn watch(spec: &JobSpec, out: &Writer) {
    let Ok(arrivals) = Arrivals::of(&[Signal::INT, Signal::TERM]) else { return };
    let wanted = Wanted::of(spec);
    let out = out.clone();
    let tell = move || {
        let Some(arrival) = arrivals.wait() else { return };
        let error = interrupted(arrival.signal, wanted.job());
        let exit = out.error(&error);
        std::process::exit(i32::from(exit.code()));
    };
    // Without a thread nobody reads the pipe, but then nothing else works either.
    let _ = std::thread::Builder::new().name("interrupts".into()).spawn(tell);
}

/// How the job that was just started can be told from others.
#[derive(Debug)]
struct Wanted {
    name: Option<String>,
    session: Option<String>,
    command: String,
    since: SystemTime,
}

impl Wanted {
    fn of(spec: &JobSpec) -> Wanted {
        Wanted {
            name: spec.name.clone(),
            session: spec.session.clone(),
            command: spec.what.shown(),
            since: SystemTime::now(),
        }
    }

    /// The job, where it can be told which it is.
    fn job(&self) -> Option<JobId> {
        let filter =
            Filter { name: self.name.clone(), session: self.session.clone(), ..Filter::default() };
        let page = place().ok()?.list(&filter).ok()?;
        let waited = self.since.elapsed().ok()?;
        let mut ours = page.jobs.iter().filter(|job| self.is(job, waited));
        let only = ours.next()?;
        if ours.next().is_some() { None } else { only.id }
    }

    fn is(&self, job: &Report, waited: std::time::Duration) -> bool {
        let age = job.started_at.as_deref().and_then(|at| clock::age(at, SystemTime::now()));
        let young = age.is_none_or(|age| age <= waited + std::time::Duration::from_millis(1));
        job.running && young && (self.name.is_some() || job.command == self.command)
    }
}

fn interrupted(signal: Signal, job: Option<JobId>) -> AgentError {
    let exit = Exit::from_code(u8::try_from(128 + signal.number()).unwrap_or(u8::MAX));
    let (message, suggestion) = match job {
        Some(id) => (
            format!("interrupted by {signal}; the command runs on as job {id}"),
            format!("`legwork output {id} --wait 10s` waits on, `legwork stop {id}` ends it"),
        ),
        None => (
            format!("interrupted by {signal}; what had been started runs on as a job"),
            "`legwork list` shows it".to_owned(),
        ),
    };
    AgentError::new(exit, "cancelled", message).with_suggestion(suggestion)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_the_signals_and_the_job_is_named() {
        let id = "k3vq8m2a".parse().unwrap();
        let error = interrupted(Signal::INT, Some(id));
        assert_eq!(error.exit().code(), 130);
        assert!(error.to_string().contains("k3vq8m2a"), "{error}");
        assert!(error.suggestion().contains("legwork stop k3vq8m2a"));
        assert_eq!(interrupted(Signal::TERM, None).exit().code(), 143);
    }

    #[test]
    fn a_job_is_ours_when_it_is_young_and_runs_our_command() {
        let mut spec = JobSpec::argv(["sleep", "60"]);
        let mut job = crate::words::tests::report("k3vq8m2a");
        let second = std::time::Duration::from_secs(1);
        assert!(!Wanted::of(&spec).is(&job, second), "it is as old as 1970");
        job.started_at = None;
        assert!(Wanted::of(&spec).is(&job, second));
        job.command = "sleep 61".into();
        assert!(!Wanted::of(&spec).is(&job, second));
        spec.name = Some("web".into());
        assert!(Wanted::of(&spec).is(&job, second), "the filter has looked at the name");
        job.running = false;
        assert!(!Wanted::of(&spec).is(&job, second));
    }
}
