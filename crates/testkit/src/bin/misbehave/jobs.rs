//! Front ends of jobs: to be killed, to be many at once, or to be somebody else.

use std::io::Write;
use std::time::Duration;

use legwork_job::{Filter, JobSpec, Local, Place, StateDir};

use crate::sys;

pub(crate) fn run(words: &[&str]) {
    match words {
        ["start-for-ever", state, line] => start_for_ever(state, line),
        ["start", state, which, key, line] => start(state, which, key, line),
        ["list", state] => list(state),
        _ => panic!("no such front end: {words:?}"),
    }
}

fn place(state: &str) -> Result<Local, String> {
    let state = StateDir::at(state).map_err(|error| error.to_string())?;
    Ok(Local::with(state))
}

/// One job after another, with the smallest log there is, until it is killed. Each id is printed
/// when the job is known.
fn start_for_ever(state: &str, line: &str) {
    let place = place(state).expect("a state directory");
    let mut stdout = std::io::stdout();
    let mut spec = JobSpec::shell(line);
    spec.log_limit = 0;
    loop {
        let id = place.start(&spec).expect("it starts").id;
        writeln!(stdout, "{id}").expect("somebody listens");
    }
}

/// One job, with a name or a request id; prints its id, or why there is none. It begins when a line
/// comes from its stdin, so that many begin at once.
fn start(state: &str, which: &str, key: &str, line: &str) {
    let mut spec = JobSpec::shell(line);
    match which {
        "name" => spec.name = Some(key.to_owned()),
        "request" => spec.request_id = Some(key.to_owned()),
        _ => panic!("neither a name nor a request: {which}"),
    }
    let place = place(state).expect("a state directory");
    println!("ready");
    std::io::stdin().read_line(&mut String::new()).expect("a beginning");
    match place.start(&spec) {
        Ok(started) => println!("{}", started.id),
        Err(error) => println!("{error}"),
    }
}

/// How many jobs this user sees, or why none.
fn list(state: &str) {
    let listed = place(state)
        .and_then(|place| place.list(&Filter::default()).map_err(|error| error.to_string()));
    match listed {
        Ok(page) => println!("{} jobs", page.total),
        Err(error) => println!("{error}"),
    }
}

/// Prints numbered lines: many at once, then some now and then, whether somebody reads or not.
pub(crate) fn numbers() {
    let mut stdout = std::io::stdout();
    let mut number = 0u64;
    loop {
        let burst: String = (number..number + 200).map(|n| format!("line {n:010}\n")).collect();
        number += 200;
        let _ = stdout.write_all(burst.as_bytes());
        let _ = stdout.flush();
        if number > 20_000 {
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

/// Forks without end, deaf to SIGTERM: whoever is killed has left a child already.
pub(crate) fn fork_storm() {
    println!("up");
    sys::ignore(libc::SIGTERM);
    sys::ignore(libc::SIGCHLD);
    sys::storm();
}
