//! `legwork start`: a job that outlives its caller.
//!
//! Its stdout is the id and nothing else, in a pipe too, so that `id=$(legwork start …)` works.

use clap::Args;
use clap_agent::{AgentError, Example, Exit, Mode, Notes, Returns, Writer};
use legwork_job::{Place, Report};
use schemars::JsonSchema;
use serde::Serialize;

use crate::errors::told;
use crate::options::{Asked, JobOptions, Program};

pub(crate) const EXAMPLES: &str = "\
Examples:
  id=$(legwork start -- cargo build)
  legwork start --name web -- python3 -m http.server 8000
  legwork start --pty --name editor -- vim notes.txt";

pub(crate) fn notes() -> Notes {
    Notes::write()
        .passthrough()
        .when_to_use(
            "for servers, watchers and long builds; `wait` tells when something happens, `output` \
             reads. For a command whose end you need now use `run`",
        )
        .returns(Returns::of::<Answer>("the report of the new job; `existing` where it was there"))
        .example(Example::new("legwork start -- sleep 0").says("prints the id"))
        .example(Example::new("legwork start --output json --name tests -c 'exit 1'"))
}

#[derive(Debug, Args)]
#[command(override_usage = "legwork start [OPTIONS] [--] PROGRAM [ARGUMENTS]...\n       \
                            legwork start [OPTIONS] -c LINE")]
pub(crate) struct Start {
    #[command(flatten)]
    options: JobOptions,
    /// A name for the job, unique among the running ones of its session
    #[arg(long, value_name = "NAME", help_heading = "The job", display_order = 0)]
    name: Option<String>,
    #[command(flatten)]
    program: Program,
}

/// The report, and whether the job was there already.
#[derive(Debug, Serialize, JsonSchema)]
struct Answer {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    existing: bool,
    #[serde(flatten)]
    report: Report,
}

impl Start {
    /// What is asked for; mistakes are told before the place is looked at.
    pub(crate) fn asked(self) -> Result<Asked, AgentError> {
        self.options.asked(
            self.program,
            self.name,
            "use --deadline to end the job, or `legwork wait ID --timeout` to wait for it",
        )
    }
}

pub(crate) fn execute(asked: &Asked, place: &dyn Place, out: &Writer) -> Result<Exit, AgentError> {
    let started = place.start(&asked.spec).map_err(told)?;
    match out.mode() {
        Mode::Person => out.success(started.id, &())?,
        Mode::Agent => {
            let report = place.read(started.id, &asked.reading).map_err(told)?;
            out.success(started.id, &Answer { existing: started.existing, report })?;
        }
    }
    Ok(Exit::Ok)
}
