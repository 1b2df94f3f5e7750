//! legwork and its peers, measured side by side on the machine at hand.
//!
//! Times do not carry over from one machine to another, ratios do: so every bar is a ratio, and
//! every contender runs in the same interleaved rounds as the one it is compared with. A bar that
//! is missed is printed as missed; the exit code tells only whether the measuring itself worked.
//!
//! One binary plays every part: the suites, the worker process in which a contender is measured,
//! the program whose output is captured, and the supervisor of jobs.

mod contender;
mod environment;
mod jobs;
mod produce;
mod report;
mod rounds;
mod run;
mod worker;

use std::error::Error;
use std::process::ExitCode;

/// Whatever keeps a measurement from being made.
type Failure = Box<dyn Error + Send + Sync>;

const USAGE: &str = "\
usage: bench <suite> [--quick] [--rounds <n>] [--row <n>]

suites:
  run    capturing: one small command, from a large parent, 1 GiB, 64 at once
  jobs   jobs: the whole command, the library, 200 at once, 1 GiB of log, memory of 1,000,
         reading at a cursor, waiting

options:
  --quick        a few rounds, for a first look
  --rounds <n>   this many rounds of every row
  --row <n>      this row alone
";

fn main() -> ExitCode {
    // This program embeds the library for jobs, so it is their supervisor, too.
    legwork_job::supervise_if_asked();
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let result = match args[..] {
        // Parts that the suites start; not for people.
        ["produce", bytes] => produce::main(bytes),
        ["worker", heap] => worker::main(heap),
        ["print", bytes] => jobs::print_build_log(bytes),
        ["tell-time", milliseconds] => jobs::tell_time(milliseconds),
        ["run", ref words @ ..] => rounds::Options::parse(words).and_then(run::suite),
        ["jobs", ref words @ ..] => rounds::Options::parse(words).and_then(jobs::suite),
        _ => Err(USAGE.into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
