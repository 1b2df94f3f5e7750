//! `legwork signal`: one signal to a job.

use clap::Args;
use clap_agent::{AgentError, Example, Exit, Notes, Returns, Writer};
use legwork_job::{Place, Reach};

use crate::errors::told;
use crate::options::Session;
use crate::place::find;
use crate::words::one_line;

pub(crate) const EXAMPLES: &str = "\
Examples:
  legwork signal web HUP            to every process of the job
  legwork signal web terminate      politely; `kill` is the other word
  legwork signal web 10 --leader    to its first process alone";

pub(crate) fn notes() -> Notes {
    Notes::write()
        .when_to_use("to make a job reload, pause or go on; to end one use `stop`")
        .returns(
            Returns::new("object", "the signal, and the processes that got it")
                .shape([("signal", "string"), ("processes", "array")]),
        )
        .example(Example::new("legwork signal no-such-job TERM").exits(Exit::NotFound))
}

#[derive(Debug, Args)]
pub(crate) struct Signal {
    /// The job: its name, its id, or the beginning of its id
    #[arg(value_name = "ID")]
    id: String,
    /// TERM, SIGTERM, 15, terminate, kill …
    #[arg(value_name = "SIGNAL", value_parser = signal)]
    signal: legwork::Signal,
    /// Only its first process, instead of all of them
    #[arg(long)]
    leader: bool,
    #[command(flatten)]
    session: Session,
}

fn signal(text: &str) -> Result<legwork::Signal, String> {
    let parsed: Result<legwork::Signal, _> = text.parse();
    // clap says which argument it is.
    parsed.map_err(|error| error.to_string().trim_start_matches("signal: ").to_owned())
}

pub(crate) fn execute(args: &Signal, place: &dyn Place, out: &Writer) -> Result<Exit, AgentError> {
    let id = find(place, &args.id, &args.session)?;
    let reach = if args.leader { Reach::Leader } else { Reach::Tree };
    let signalled = place.signal(id, args.signal, reach).map_err(told)?;
    let mut text = format!("{} sent to {}", signalled.signal, processes(signalled.processes.len()));
    for process in &signalled.processes {
        let command = one_line(&process.command.join(" "));
        text.push_str(&format!("\n{:>8}  {command}", process.pid));
    }
    out.success(text, &signalled)?;
    Ok(Exit::Ok)
}

fn processes(count: usize) -> String {
    if count == 1 { "1 process".to_owned() } else { format!("{count} processes") }
}

#[cfg(test)]
mod tests {
    #[test]
    fn signals_have_many_spellings_and_a_slip_is_corrected() {
        for text in ["TERM", "SIGTERM", "term", "15", "terminate"] {
            assert_eq!(super::signal(text), Ok(legwork::Signal::TERM), "{text}");
        }
        assert!(super::signal("TREM").unwrap_err().contains("did you mean \"TERM\"?"));
    }
}
