//! `legwork stop`: the end of jobs, with all their processes.
//!
//! One job that cannot be stopped does not keep the others from being stopped; the exit code then
//! says that only a part was done.

use std::time::Duration;

use clap::Args;
use clap_agent::{AgentError, Effect, Example, Exit, FlagNotes, Notes, Returns, Writer};
use legwork_job::{Filter, JobError, JobId, Place, Report, State};
use schemars::JsonSchema;
use serde::Serialize;

use crate::errors::told;
use crate::options::Session;
use crate::place::find;
use crate::{units, words};

pub(crate) const EXAMPLES: &str = "\
Examples:
  legwork stop web
  legwork stop web db --grace 30s
  legwork stop --all --session ci/42";

pub(crate) fn notes() -> Notes {
    Notes::write()
        .when_to_use("a job is no longer needed; its descendants are ended, too")
        .flag("all", FlagNotes::new().raises(Effect::Destructive))
        .returns(Returns::of::<Stopped>("the reports of the jobs that were stopped"))
        .example(Example::new("legwork stop no-such-job").exits(Exit::NotFound))
        .example(Example::new("legwork stop --all").says("not confirmed").exits(Exit::UserError))
}

#[derive(Debug, Args)]
pub(crate) struct Stop {
    /// The jobs: names, ids, or beginnings of ids
    #[arg(value_name = "ID", required_unless_present = "all", conflicts_with = "all")]
    ids: Vec<String>,
    /// All running jobs, of the session where one is given
    #[arg(long)]
    all: bool,
    /// Between asking and killing [default: the job's own, else 5s]
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    grace: Option<Duration>,
    #[command(flatten)]
    session: Session,
}

/// What came of it.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct Stopped {
    stopped: Vec<Report>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failed: Vec<Failed>,
}

/// A job that was not stopped.
#[derive(Debug, Serialize, JsonSchema)]
struct Failed {
    job: String,
    error: String,
}

pub(crate) fn execute(args: &Stop, place: &dyn Place, out: &Writer) -> Result<Exit, AgentError> {
    let jobs = if args.all {
        running(place, &args.session)?
    } else {
        let found = |reference: &String| find(place, reference, &args.session);
        args.ids.iter().map(found).collect::<Result<Vec<_>, _>>()?
    };
    let mut done = Stopped::default();
    for id in &jobs {
        match place.stop(*id, args.grace) {
            Ok(report) => done.stopped.push(report),
            // It has ended by itself meanwhile, which is what was wanted.
            Err(JobError::NothingLeft { .. }) if args.all => {}
            Err(error) if jobs.len() == 1 => return Err(told(error)),
            Err(error) => {
                done.failed.push(Failed { job: id.to_string(), error: error.to_string() });
            }
        }
    }
    out.success(text(&done), &done)?;
    Ok(if done.failed.is_empty() { Exit::Ok } else { Exit::Partial })
}

/// The jobs of which a process is left, survivors of ended ones included.
fn running(place: &dyn Place, session: &Session) -> Result<Vec<JobId>, AgentError> {
    let filter = Filter {
        states: vec![State::Starting, State::Running, State::Stopping, State::Ended],
        session: session.get().map(str::to_owned),
        ..Filter::default()
    };
    let page = place.list(&filter).map_err(told)?;
    let lives = |job: &&Report| job.running || !job.survivors.is_empty();
    Ok(page.jobs.iter().filter(lives).filter_map(|job| job.id).collect())
}

fn text(done: &Stopped) -> String {
    let stopped = done
        .stopped
        .iter()
        .map(|report| format!("{}: {}", words::who_exactly(report), words::standing(report)));
    let failed = done.failed.iter().map(|failed| format!("{}: {}", failed.job, failed.error));
    let lines: Vec<String> = stopped.chain(failed).collect();
    if lines.is_empty() { "nothing runs".to_owned() } else { lines.join("\n") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::tests::ended;

    #[test]
    fn each_job_has_a_line() {
        let mut web = ended("k3vq8m2a", 0);
        web.name = Some("web".into());
        let failed = Failed { job: "p7tn2x9c".into(), error: "gone".into() };
        let done = Stopped { stopped: vec![web], failed: vec![failed] };
        assert_eq!(text(&done), "web (k3vq8m2a): exit 0 after 5s\np7tn2x9c: gone");
        assert_eq!(text(&Stopped::default()), "nothing runs");
    }
}
