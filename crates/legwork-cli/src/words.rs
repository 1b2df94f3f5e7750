//! A job in a few words, for people.

use std::time::Duration;

use legwork_job::{Met, Report, State, Waited};

use crate::units;

/// The job as a person calls it: its name, else its id.
pub(crate) fn who(report: &Report) -> String {
    match (&report.name, report.id) {
        (Some(name), _) => one_line(name),
        (None, Some(id)) => id.to_string(),
        (None, None) => "the command".to_owned(),
    }
}

/// The job with both its names.
pub(crate) fn who_exactly(report: &Report) -> String {
    match (&report.name, report.id) {
        (Some(name), Some(id)) => format!("{} ({id})", one_line(name)),
        _ => who(report),
    }
}

/// How it stands with a job: `running for 5s`, `exit 0 after 2m01s`.
pub(crate) fn standing(report: &Report) -> String {
    let time = report.wall_duration_ms.map(|ms| units::shown(Duration::from_millis(ms)));
    let after = |word: &str| match &time {
        Some(time) => format!(" {word} {time}"),
        None => String::new(),
    };
    match (&report.ending, report.state) {
        (Some(ending), _) => {
            let survivors = match report.survivors.len() {
                0 => String::new(),
                1 => ", 1 process lives on".to_owned(),
                many => format!(", {many} processes live on"),
            };
            format!("{ending}{}{survivors}", after("after"))
        }
        (None, Some(state @ (State::Starting | State::Running | State::Stopping))) => {
            format!("{}{}", state.word(), after("for"))
        }
        (None, Some(state)) => state.word().to_owned(),
        (None, None) => "never began".to_owned(),
    }
}

/// What came of a wait, in one line: `web: listens on port 8000`.
pub(crate) fn met(waited: &Waited) -> String {
    let what = match &waited.met {
        Met::Exit => standing(&waited.report),
        Met::Output => "printed something".to_owned(),
        Met::Pattern { line, .. } => format!("printed {:?}", line.trim_end()),
        Met::Port { port } => format!("listens on port {port}"),
        Met::Quiet => "is quiet".to_owned(),
        Met::Input { blocked_on } => match blocked_on.echo {
            Some(false) => "waits for input it does not show, a password perhaps".to_owned(),
            Some(true) | None => "waits for input".to_owned(),
        },
        Met::Nothing => format!("nothing of it yet; {}", standing(&waited.report)),
    };
    format!("{}: {what}", who(&waited.report))
}

/// A text on one line, with nothing in it that a terminal would obey.
pub(crate) fn one_line(text: &str) -> String {
    let clean = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    clean.collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use legwork::{Cause, Ending, Signal, WaitStatus};
    use legwork_job::Process;

    /// A report to be changed.
    pub(crate) fn report(id: &str) -> Report {
        serde_json::from_value(serde_json::json!({
            "schema": 1, "id": id, "place": "local", "command": "sleep 60", "state": "running",
            "running": true, "started_at": "1970-01-01T00:00:00Z", "wall_duration_ms": 5000,
        }))
        .unwrap()
    }

    /// One that has ended.
    pub(crate) fn ended(id: &str, code: i32) -> Report {
        let mut report = report(id);
        report.state = Some(State::Ended);
        report.running = false;
        report.ending = Some(Ending::of_status(WaitStatus::Exited { code }));
        report.exit_code = Some(code);
        report
    }

    #[test]
    fn a_job_stands_as_it_stands() {
        assert_eq!(standing(&report("k3vq8m2a")), "running for 5s");
        assert_eq!(standing(&ended("k3vq8m2a", 3)), "exit 3 after 5s");
        let mut left = ended("k3vq8m2a", 0);
        left.survivors = vec![Process::named(9, vec!["x".into()])];
        assert_eq!(standing(&left), "exit 0 after 5s, 1 process lives on");
        let mut killed = ended("k3vq8m2a", 0);
        let cause = Cause::Signaled { signal: Signal::KILL, by_request: true };
        killed.ending = Some(Ending::new(cause, None));
        assert_eq!(standing(&killed), "SIGKILL, as requested after 5s");
        let mut elsewhere = report("k3vq8m2a");
        elsewhere.state = Some(State::Elsewhere);
        assert_eq!(standing(&elsewhere), "elsewhere");
    }

    #[test]
    fn what_was_met_is_one_line_with_the_name() {
        let mut report = report("k3vq8m2a");
        report.name = Some("web".into());
        let line = |met: Met| super::met(&Waited { met, report: report.clone() });
        assert_eq!(line(Met::Port { port: 8000 }), "web: listens on port 8000");
        let pattern = Met::Pattern { cursor: 4, line: "ready\u{1b}[0m\n".into() };
        assert_eq!(line(pattern), "web: printed \"ready\\u{1b}[0m\"");
        assert_eq!(line(Met::Nothing), "web: nothing of it yet; running for 5s");
    }

    #[test]
    fn what_a_terminal_would_obey_is_taken_out() {
        assert_eq!(one_line("a\u{1b}]0;b\u{7}\n  c\t"), "a ]0;b c");
    }
}
