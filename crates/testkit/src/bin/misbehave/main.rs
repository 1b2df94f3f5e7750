//! Small programs that misbehave, and small hosts that run commands in bad circumstances.
//!
//! `misbehave NAME ARGS…`; each is a few lines, and says in its name what it does wrong.

mod hosts;
mod jobs;
mod programs;
mod sys;

fn main() {
    legwork_job::supervise_if_asked();
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["flood", bytes] => programs::flood(bytes.parse().expect("a number of bytes")),
        ["ignore-term", pidfile] => programs::ignore_term(pidfile),
        ["obey-term", pidfile] => programs::obey_term(pidfile),
        ["leave-ignorer", pidfile] => programs::leave_ignorer(pidfile),
        ["daemon", pidfile, options @ ..] => programs::daemon(pidfile, options),
        ["daemon-middle", pidfile, options @ ..] => programs::daemon_middle(pidfile, options),
        ["daemon-last", pidfile, options @ ..] => programs::daemon_last(pidfile, options),
        ["descriptors"] => programs::descriptors(),
        ["signals"] => programs::signals(),
        ["chatter", pidfile] => programs::chatter(pidfile),
        ["wedge"] => programs::wedge(),
        ["start-job", state, line] => programs::start_job(state, line),
        ["numbers"] => jobs::numbers(),
        ["fork-storm"] => jobs::fork_storm(),
        ["jobs", rest @ ..] => jobs::run(rest),
        ["host", name, rest @ ..] => hosts::run(name, rest),
        _ => {
            eprintln!("misbehave: no such program: {words:?}");
            std::process::exit(64);
        }
    }
}
