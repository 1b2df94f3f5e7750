//! `legwork wait`: until something happens with jobs.
//!
//! A job that ends always ends the wait for it. Exit 0 means that what was waited for has come; 1
//! that a job ended before; 75 that the time was over and the jobs run on.

use std::time::Duration;

use clap::Args;
use clap_agent::{AgentError, Example, Exit, Notes, Returns, Writer};
use legwork_job::{Condition, Gather, Met, Place, Reading, Waited, Waiting};
use legwork_view::Budget;

use crate::errors::{STILL_RUNNING, told};
use crate::options::Session;
use crate::place::find;
use crate::{units, words};

pub(crate) const EXAMPLES: &str = "\
Examples:
  legwork wait build                            until it has ended
  legwork wait web --for port=8000 --timeout 30s
  legwork wait web --for 'pattern=listening on' --for input
  legwork wait a b c --any                      the first that ends

Exit code: 0 when it has come; 1 when a job ended before; 75 when the time was over.";

pub(crate) fn notes() -> Notes {
    Notes::read()
        .idempotent()
        .when_to_use("instead of asking again and again whether a job has ended or is ready")
        .agent_description(
            "Costs nothing while it waits. Exit code 75 means that the time was over and the jobs \
             run on; 1 that a job ended before what was waited for.",
        )
        .returns(Returns::of::<Vec<legwork_job::Waited>>(
            "for each job why the wait for it was over, and its report",
        ))
        .example(Example::new("legwork wait no-such-job").exits(Exit::NotFound))
}

#[derive(Debug, Args)]
pub(crate) struct Wait {
    /// The jobs: names, ids, or beginnings of ids
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// exit, output, pattern=RE, port[=N], quiet=TIME or input; may be given several times, the
    /// first that happens counts [default: exit]
    #[arg(long = "for", value_name = "WHAT", value_parser = condition)]
    conditions: Vec<Condition>,
    /// One of the jobs is enough
    #[arg(long, conflicts_with = "all")]
    any: bool,
    /// All of the jobs have to; that is the default
    #[arg(long)]
    all: bool,
    /// How long at most [default: for ever]
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    timeout: Option<Duration>,
    /// The cursor from which on output counts [default: the beginning for a pattern, else now]
    #[arg(long, value_name = "CURSOR")]
    since: Option<u64>,
    /// How much of the output is shown in the reports [default: 32KiB]
    #[arg(long, value_name = "SIZE", value_parser = units::budget)]
    budget: Option<Budget>,
    #[command(flatten)]
    session: Session,
}

fn condition(text: &str) -> Result<Condition, String> {
    let (word, value) = match text.split_once('=') {
        Some((word, value)) => (word, Some(value)),
        None => (text, None),
    };
    match (word, value) {
        ("exit", None) => Ok(Condition::Exit),
        ("output", None) => Ok(Condition::Output),
        ("input", None) => Ok(Condition::Input),
        ("pattern", Some(pattern)) if !pattern.is_empty() => {
            Ok(Condition::Pattern(pattern.to_owned()))
        }
        ("pattern", _) => Err("write what to look for, like pattern=listening".to_owned()),
        ("port", None) => Ok(Condition::Port(None)),
        ("port", Some(port)) => match port.parse::<u16>() {
            Ok(port) if port > 0 => Ok(Condition::Port(Some(port))),
            _ => Err("write a port from 1 to 65535, like port=8000".to_owned()),
        },
        ("quiet", Some(time)) => units::duration(time).map(Condition::Quiet),
        ("quiet", None) => Err("write for how long, like quiet=5s".to_owned()),
        _ => Err("use exit, output, pattern=RE, port, port=8000, quiet=5s or input".to_owned()),
    }
}

impl Wait {
    /// A pattern may have come before anyone waited for it: whoever starts a server and then waits
    /// for its greeting must not hang. Output in general is only news when it is new.
    fn since(&self) -> Option<u64> {
        let has = |wanted: fn(&Condition) -> bool| self.conditions.iter().any(wanted);
        let from_the_start =
            has(|c| matches!(c, Condition::Pattern(_))) && !has(|c| matches!(c, Condition::Output));
        self.since.or(from_the_start.then_some(0))
    }
}

pub(crate) fn execute(args: Wait, place: &dyn Place, out: &Writer) -> Result<Exit, AgentError> {
    let since = args.since();
    let find = |reference: &String| find(place, reference, &args.session);
    let jobs = args.ids.iter().map(find).collect::<Result<Vec<_>, _>>()?;
    let mut conditions = args.conditions;
    if conditions.is_empty() {
        conditions.push(Condition::Exit);
    }
    let for_exit = conditions.contains(&Condition::Exit);
    let gather = if args.any { Gather::Any } else { Gather::All };
    let reading =
        Reading { budget: args.budget.unwrap_or_default(), look: true, ..Reading::default() };
    let waiting =
        Waiting { jobs, conditions, gather, limit: args.timeout, since, reading, cancel: None };
    let waited = place.wait(&waiting).map_err(told)?;
    let lines: Vec<String> = waited.iter().map(|waited| line(waited, for_exit)).collect();
    out.success(lines.join("\n"), &waited)?;
    Ok(exit(&waited, for_exit, gather))
}

fn line(waited: &Waited, for_exit: bool) -> String {
    let line = words::met(waited);
    let too_early = waited.met == Met::Exit && !for_exit;
    if too_early { format!("{line}, before what was waited for") } else { line }
}

fn exit(waited: &[Waited], for_exit: bool, gather: Gather) -> Exit {
    let has = |wanted: &dyn Fn(&Met) -> bool| waited.iter().any(|waited| wanted(&waited.met));
    let timed_out = has(&|met| *met == Met::Nothing);
    let too_early = has(&|met| *met == Met::Exit && !for_exit);
    let come = has(&|met| *met != Met::Nothing && (*met != Met::Exit || for_exit));
    match gather {
        Gather::Any if come => Exit::Ok,
        Gather::Any if too_early => Exit::UserError,
        Gather::Any => STILL_RUNNING,
        Gather::All if timed_out => STILL_RUNNING,
        Gather::All if too_early => Exit::UserError,
        Gather::All => Exit::Ok,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::tests::ended;

    #[test]
    fn conditions_are_words() {
        assert_eq!(condition("exit"), Ok(Condition::Exit));
        assert_eq!(condition("output"), Ok(Condition::Output));
        assert_eq!(condition("input"), Ok(Condition::Input));
        assert_eq!(condition("pattern=a=b"), Ok(Condition::Pattern("a=b".into())));
        assert_eq!(condition("port"), Ok(Condition::Port(None)));
        assert_eq!(condition("port=8000"), Ok(Condition::Port(Some(8000))));
        assert_eq!(condition("quiet=5s"), Ok(Condition::Quiet(Duration::from_secs(5))));
    }

    #[test]
    fn a_bad_condition_shows_a_good_one() {
        for (text, good) in [
            ("", "port=8000"),
            ("exot", "exit"),
            ("pattern", "pattern="),
            ("pattern=", "pattern="),
            ("port=http", "port=8000"),
            ("port=0", "port=8000"),
            ("quiet", "quiet=5s"),
            ("quiet=5", "30s"),
            ("exit=3", "exit"),
        ] {
            let error = condition(text).unwrap_err();
            assert!(error.contains(good), "{text:?}: {error}");
        }
    }

    #[test]
    fn the_exit_tells_what_came() {
        let of = |met: Met| Waited { met, report: ended("k3vq8m2a", 0) };
        let port = || of(Met::Port { port: 80 });
        let code = |waited: &[Waited], for_exit, gather| exit(waited, for_exit, gather).code();
        assert_eq!(code(&[of(Met::Exit)], true, Gather::All), 0);
        assert_eq!(code(&[of(Met::Exit)], false, Gather::All), 1);
        assert_eq!(code(&[of(Met::Nothing)], true, Gather::All), 75);
        assert_eq!(code(&[port(), of(Met::Nothing)], false, Gather::All), 75);
        assert_eq!(code(&[port(), of(Met::Exit)], false, Gather::All), 1);
        assert_eq!(code(&[port(), of(Met::Nothing)], false, Gather::Any), 0);
        assert_eq!(code(&[of(Met::Exit), of(Met::Nothing)], false, Gather::Any), 1);
        assert_eq!(code(&[of(Met::Nothing)], false, Gather::Any), 75);
    }

    #[test]
    fn an_early_end_is_said() {
        let waited = Waited { met: Met::Exit, report: ended("k3vq8m2a", 1) };
        assert_eq!(line(&waited, false), "k3vq8m2a: exit 1 after 5s, before what was waited for");
        assert_eq!(line(&waited, true), "k3vq8m2a: exit 1 after 5s");
    }
}
