//! `legwork ensure`: a named job that runs this command, whatever was before.

use clap::Args;
use clap_agent::{AgentError, Example, Exit, Notes, Returns, Writer};
use legwork_job::{Ensured, Place, Report};
use schemars::JsonSchema;
use serde::Serialize;

use crate::errors::told;
use crate::options::{Asked, JobOptions, Program};

pub(crate) const EXAMPLES: &str = "\
Examples:
  legwork ensure web -- python3 -m http.server 8000
  legwork ensure db --workdir services/db -c 'exec ./run-postgres'";

pub(crate) fn notes() -> Notes {
    Notes::write()
        .idempotent()
        .when_to_use(
            "for a service that has to run: the one that runs this command already, a new one, or \
             a new one in place of one that runs another command",
        )
        .returns(Returns::of::<Answer>("the report of the job, and what was done in `ensured`"))
        .example(Example::new("legwork ensure nap -- sleep 0").says("started"))
}

#[derive(Debug, Args)]
#[command(override_usage = "legwork ensure NAME [OPTIONS] [--] PROGRAM [ARGUMENTS]...\n       \
                            legwork ensure NAME [OPTIONS] -c LINE")]
pub(crate) struct Ensure {
    /// The name of the job
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    options: JobOptions,
    #[command(flatten)]
    program: Program,
}

/// The report, and what was done.
#[derive(Debug, Serialize, JsonSchema)]
struct Answer {
    ensured: Ensured,
    #[serde(flatten)]
    report: Report,
}

impl Ensure {
    /// What is asked for; mistakes are told before the place is looked at.
    pub(crate) fn asked(self) -> Result<Asked, AgentError> {
        self.options.asked(
            self.program,
            Some(self.name),
            "use --deadline to end the job, or `legwork wait NAME --timeout` to wait for it",
        )
    }
}

pub(crate) fn execute(asked: &Asked, place: &dyn Place, out: &Writer) -> Result<Exit, AgentError> {
    let (id, ensured) = place.ensure(&asked.spec).map_err(told)?;
    let report = place.read(id, &asked.reading).map_err(told)?;
    let done = match ensured {
        Ensured::Running => "runs already",
        Ensured::Replaced => "replaced: it ran another command",
        Ensured::Started => "started",
    };
    out.success(format!("{id} {done}"), &Answer { ensured, report })?;
    Ok(Exit::Ok)
}
