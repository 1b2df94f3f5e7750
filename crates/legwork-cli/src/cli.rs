//! The command line as a whole: which commands there are, and who is asked before they act.

use std::ffi::OsStr;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use clap_agent::{AgentError, Effect, Exit, Invocation, Program, Surroundings, Writer};

use crate::commands::{
    attach, completions, doctor, ensure, input, list, output, prune, run, screen, signal, start,
    stop, wait,
};
use crate::place::place;

/// Runs commands in front or behind: learn exactly how they ended, read what matters, lose nothing
#[derive(Debug, Parser)]
#[command(
    name = "legwork",
    version,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "\
Examples:
  legwork run --deadline 5m -- make test        streams; ends the whole tree after five minutes
  legwork run --output json -- cargo test       a report, after at most ten seconds
  legwork start --name web -- python3 -m http.server 8000
  legwork wait web --for port                   until it listens
  legwork output web --since 4096               what it printed since
  legwork stop web                              politely, then surely

A job is named by its name, its id, or the beginning of its id."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a command in front
    #[command(add = run::notes(), after_help = run::EXAMPLES)]
    Run(run::Run),
    /// Start a job that outlives its caller
    #[command(add = start::notes(), after_help = start::EXAMPLES)]
    Start(start::Start),
    /// Show what a job printed
    #[command(add = output::notes(), after_help = output::EXAMPLES)]
    Output(output::Output),
    /// Wait until something happens with jobs
    #[command(add = wait::notes(), after_help = wait::EXAMPLES)]
    Wait(wait::Wait),
    /// List jobs
    #[command(add = list::notes(), after_help = list::EXAMPLES)]
    List(list::List),
    /// Send a signal to a job
    #[command(add = signal::notes(), after_help = signal::EXAMPLES)]
    Signal(signal::Signal),
    /// End jobs with all their processes: politely, then surely
    #[command(add = stop::notes(), after_help = stop::EXAMPLES)]
    Stop(stop::Stop),
    /// Write to a job's input
    #[command(add = input::notes(), after_help = input::EXAMPLES)]
    Input(input::Input),
    /// Show the screen of a job with a terminal
    #[command(add = screen::notes(), after_help = screen::EXAMPLES)]
    Screen(screen::Screen),
    /// Sit down at a job's terminal
    #[command(add = attach::notes(), after_help = attach::EXAMPLES)]
    Attach(attach::Attach),
    /// See to it that a named job runs this command
    #[command(add = ensure::notes(), after_help = ensure::EXAMPLES)]
    Ensure(ensure::Ensure),
    /// Remove old jobs with their logs
    #[command(add = prune::notes(), after_help = prune::EXAMPLES)]
    Prune(prune::Prune),
    /// Show what this machine allows
    #[command(add = doctor::notes(), after_help = doctor::EXAMPLES)]
    Doctor(doctor::Doctor),
    /// Print completions for a shell
    #[command(add = completions::notes(), after_help = completions::EXAMPLES)]
    Completions(completions::Completions),
}

/// The program as clap-agent knows it. What may be lost for good is asked about, nothing else.
pub(crate) fn program() -> Program {
    Program::of::<Cli>().gate(Effect::Destructive).mcp_as(None)
}

pub(crate) fn main() -> ExitCode {
    let mut call = Invocation::real();
    if reads_stdout(std::env::args_os().skip(1)) {
        call = call.within(Surroundings { agent: None, ..Surroundings::detect() });
    }
    program().call::<Cli>(call, execute).into()
}

/// Whether a script reads the stdout of this command as it is: a variable by which an agent made
/// itself known is inherited by every Makefile below it, and must not change what `run` prints, or
/// what `id=$(legwork start …)` holds.
fn reads_stdout(arguments: impl Iterator<Item = impl AsRef<OsStr>>) -> bool {
    let mut arguments = arguments;
    while let Some(word) = arguments.next() {
        match word.as_ref().to_str() {
            Some("run" | "start" | "completions") => return true,
            Some("--output" | "--protocol-version" | "--fields" | "--jq") => {
                arguments.next();
            }
            Some(flag) if flag.starts_with('-') => {}
            Some(_) | None => return false,
        }
    }
    false
}

fn execute(cli: Cli, out: &Writer) -> Result<Exit, AgentError> {
    match cli.command {
        Command::Run(args) => run::execute(args, out),
        Command::Start(args) => start::execute(&args.asked()?, &*place()?, out),
        Command::Output(args) => output::execute(&args, &*place()?, out),
        Command::Wait(args) => wait::execute(args, &*place()?, out),
        Command::List(args) => list::execute(&args, &*place()?, out),
        Command::Signal(args) => signal::execute(&args, &*place()?, out),
        Command::Stop(args) => stop::execute(&args, &*place()?, out),
        Command::Input(args) => input::execute(args, &*place()?, out),
        Command::Screen(args) => screen::execute(&args, &*place()?, out),
        Command::Attach(args) => attach::execute(&args, &*place()?, out),
        Command::Ensure(args) => ensure::execute(&args.asked()?, &*place()?, out),
        Command::Prune(args) => prune::execute(&args, &*place()?, out),
        Command::Doctor(_) => doctor::execute(out),
        Command::Completions(args) => completions::execute(&args),
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
        let reads = |line: &str| reads_stdout(line.split(' '));
        assert!(reads("run -- x"));
        assert!(reads("--output json start x"));
        assert!(reads("--agent run x"));
        assert!(!reads("list"));
        assert!(!reads("output run"));
        assert!(!reads("--output run list"));
    }
}
