//! The command line as a whole: which commands there are, and who is asked before they act.

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use clap::{ArgMatches, Args, FromArgMatches};
use clap_agent::{AgentError, Effect, Exit, Invocation, Notes, Program, Surroundings, Writer};

use crate::commands::{
    attach, completions, doctor, ensure, input, list, output, prune, run, screen, signal, start,
    stop, wait,
};
use crate::place::place;

const ABOUT: &str = "Runs commands in front or behind: learn exactly how they ended, read what matters, lose nothing";

const EXAMPLES: &str = "\
Examples:
  legwork run --deadline 5m -- make test        streams; ends the whole tree after five minutes
  legwork run --output json -- cargo test       a report, after at most ten seconds
  legwork start --name web -- python3 -m http.server 8000
  legwork wait web --for port                   until it listens
  legwork output web --since 4096               what it printed since
  legwork stop web                              politely, then surely

A job is named by its name, its id, or the beginning of its id.";

/// A command: its name, what it is for, and who adds the rest.
struct Verb {
    name: &'static str,
    about: &'static str,
    examples: &'static str,
    notes: fn() -> Notes,
    arguments: fn(clap::Command) -> clap::Command,
    execute: fn(&mut ArgMatches, &Writer) -> Result<Exit, AgentError>,
}

/// All of them, in the order of the help.
const VERBS: [Verb; 14] = [
    Verb {
        name: "run",
        about: "Run a command in front",
        examples: run::EXAMPLES,
        notes: run::notes,
        arguments: run::Run::augment_args,
        execute: |given, out| run::execute(read(given)?, out),
    },
    Verb {
        name: "start",
        about: "Start a job that outlives its caller",
        examples: start::EXAMPLES,
        notes: start::notes,
        arguments: start::Start::augment_args,
        execute: |given, out| {
            let asked = read::<start::Start>(given)?.asked()?;
            start::execute(&asked, &*place()?, out)
        },
    },
    Verb {
        name: "output",
        about: "Show what a job printed",
        examples: output::EXAMPLES,
        notes: output::notes,
        arguments: output::Output::augment_args,
        execute: |given, out| output::execute(&read(given)?, &*place()?, out),
    },
    Verb {
        name: "wait",
        about: "Wait until something happens with jobs",
        examples: wait::EXAMPLES,
        notes: wait::notes,
        arguments: wait::Wait::augment_args,
        execute: |given, out| wait::execute(read(given)?, &*place()?, out),
    },
    Verb {
        name: "list",
        about: "List jobs",
        examples: list::EXAMPLES,
        notes: list::notes,
        arguments: list::List::augment_args,
        execute: |given, out| list::execute(&read(given)?, &*place()?, out),
    },
    Verb {
        name: "signal",
        about: "Send a signal to a job",
        examples: signal::EXAMPLES,
        notes: signal::notes,
        arguments: signal::Signal::augment_args,
        execute: |given, out| signal::execute(&read(given)?, &*place()?, out),
    },
    Verb {
        name: "stop",
        about: "End jobs with all their processes: politely, then surely",
        examples: stop::EXAMPLES,
        notes: stop::notes,
        arguments: stop::Stop::augment_args,
        execute: |given, out| stop::execute(&read(given)?, &*place()?, out),
    },
    Verb {
        name: "input",
        about: "Write to a job's input",
        examples: input::EXAMPLES,
        notes: input::notes,
        arguments: input::Input::augment_args,
        execute: |given, out| input::execute(read(given)?, &*place()?, out),
    },
    Verb {
        name: "screen",
        about: "Show the screen of a job with a terminal",
        examples: screen::EXAMPLES,
        notes: screen::notes,
        arguments: screen::Screen::augment_args,
        execute: |given, out| screen::execute(&read(given)?, &*place()?, out),
    },
    Verb {
        name: "attach",
        about: "Sit down at a job's terminal",
        examples: attach::EXAMPLES,
        notes: attach::notes,
        arguments: attach::Attach::augment_args,
        execute: |given, out| attach::execute(&read(given)?, &*place()?, out),
    },
    Verb {
        name: "ensure",
        about: "See to it that a named job runs this command",
        examples: ensure::EXAMPLES,
        notes: ensure::notes,
        arguments: ensure::Ensure::augment_args,
        execute: |given, out| {
            let asked = read::<ensure::Ensure>(given)?.asked()?;
            ensure::execute(&asked, &*place()?, out)
        },
    },
    Verb {
        name: "prune",
        about: "Remove old jobs with their logs",
        examples: prune::EXAMPLES,
        notes: prune::notes,
        arguments: prune::Prune::augment_args,
        execute: |given, out| prune::execute(&read(given)?, &*place()?, out),
    },
    Verb {
        name: "doctor",
        about: "Show what this machine allows",
        examples: doctor::EXAMPLES,
        notes: doctor::notes,
        arguments: |command| command,
        execute: |_, out| doctor::execute(out),
    },
    Verb {
        name: "completions",
        about: "Print completions for a shell",
        examples: completions::EXAMPLES,
        notes: completions::notes,
        arguments: completions::Completions::augment_args,
        execute: |given, _| completions::execute(&read(given)?),
    },
];

/// What clap has understood, as the command's own type.
fn read<T: FromArgMatches>(given: &mut ArgMatches) -> Result<T, AgentError> {
    T::from_arg_matches_mut(given).map_err(|error| AgentError::execution(error.to_string()))
}

/// The program as clap-agent knows it. What may be lost for good is asked about, nothing else.
pub(crate) fn program() -> Program {
    with_verbs(VERBS.iter())
}

fn with_verbs(verbs: impl Iterator<Item = &'static Verb>) -> Program {
    let root = clap::Command::new("legwork")
        .version(env!("CARGO_PKG_VERSION"))
        .about(ABOUT)
        .after_help(EXAMPLES)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(verbs.map(|verb| {
            (verb.arguments)(clap::Command::new(verb.name))
                .about(verb.about)
                .after_help(verb.examples)
                .add((verb.notes)())
        }));
    Program::new(root).gate(Effect::Destructive).mcp_as(None)
}

pub(crate) fn main() -> ExitCode {
    let mut call = Invocation::real();
    let word = command_word(std::env::args_os().skip(1));
    let verb = word.and_then(|word| VERBS.iter().find(|verb| OsStr::new(verb.name) == word));
    if verb.is_some_and(|verb| is_read_by_scripts(verb.name)) {
        call = call.within(Surroundings { agent: None, ..Surroundings::detect() });
    }
    // To build all of them takes longer than everything else before the command's own work.
    let program = match verb {
        Some(verb) => with_verbs(std::iter::once(verb)),
        None => program(),
    };
    program.call_matches(call, execute).into()
}

/// Whether a script reads the stdout of this command as it is: a variable by which an agent made
/// itself known is inherited by every Makefile below it, and must not change what `run` prints, or
/// what `id=$(legwork start …)` holds.
fn is_read_by_scripts(command: &str) -> bool {
    matches!(command, "run" | "start" | "completions")
}

/// The word that names the command.
fn command_word(mut words: impl Iterator<Item = OsString>) -> Option<OsString> {
    while let Some(word) = words.next() {
        match word.to_str() {
            Some("--output" | "--protocol-version" | "--fields" | "--jq") => {
                words.next();
            }
            Some(flag) if flag.starts_with('-') => {}
            Some(_) | None => return Some(word),
        }
    }
    None
}

fn execute(mut given: ArgMatches, out: &Writer) -> Result<Exit, AgentError> {
    let called = given.remove_subcommand();
    let verb = |name: &str| VERBS.iter().find(|verb| verb.name == name);
    match called.and_then(|(name, given)| Some((verb(&name)?, given))) {
        Some((verb, mut given)) => (verb.execute)(&mut given, out),
        // clap has asked for one.
        None => Err(AgentError::user("no command was given", "see `legwork --help`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_has_no_finding_but_words_that_the_conventions_do_not_know() {
        let findings: Vec<String> = program()
            .check()
            .into_iter()
            .filter(|finding| !finding.is_advice())
            .map(|finding| finding.to_string())
            .collect();
        assert_eq!(findings, Vec::<String>::new());
    }

    #[test]
    fn only_prune_and_stop_all_ask() {
        let described = serde_json::to_value(program().describe()).unwrap();
        let destructive: Vec<&str> = described["commands"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|command| command["effect"] == "destructive")
            .map(|command| command["name"].as_str().unwrap())
            .collect();
        assert_eq!(destructive, ["prune"]);
        let stop = program().schema(&["stop"]).unwrap();
        let stop = serde_json::to_value(stop).unwrap();
        let raising: Vec<&str> = stop["flags"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|flag| flag["effect"] == "destructive")
            .map(|flag| flag["name"].as_str().unwrap())
            .collect();
        assert_eq!(raising, ["all"]);
    }

    #[test]
    fn the_command_is_found_behind_the_flags_before_it() {
        let word = |line: &str| {
            let word = command_word(line.split(' ').map(OsString::from));
            word.map(|word| word.into_string().unwrap())
        };
        assert_eq!(word("run -- x").as_deref(), Some("run"));
        assert_eq!(word("--output json start x").as_deref(), Some("start"));
        assert_eq!(word("--agent run x").as_deref(), Some("run"));
        assert_eq!(word("output run").as_deref(), Some("output"));
        assert_eq!(word("--output run list").as_deref(), Some("list"));
        assert_eq!(word("--help"), None);
    }
}
