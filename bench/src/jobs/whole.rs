//! Row 1: a command with a supervisor, a record, a log and a report, as one whole process.

use std::process::Command;

use super::ground::{self, Ground};
use super::{Contender, compare, timed};
use crate::Failure;
use crate::report::{Bar, Line};
use crate::rounds::Options;

pub(super) fn row(ground: &Ground, options: Options) -> Result<Vec<Line>, Failure> {
    let folder = ground.folder("whole")?;
    let state = folder.join("state");
    let job = || ground.legwork(&state, ["run", "--output", "json", "--", "/bin/true"]);
    let report: serde_json::Value = serde_json::from_str(&ground::printed(&mut job())?)?;
    if !report.to_string().contains(r#""success":true"#) {
        return Err(format!("legwork run reported no success: {report}").into());
    }

    let measure = |mut command: Command| Ok(timed(|| ground::run(&mut command))?.0);
    let timeout = || {
        let mut command = Command::new("timeout");
        command.args(["60", "/bin/true"]);
        measure(command)
    };
    let nohup = || {
        let mut command = Command::new("sh");
        command.args(["-c", "nohup /bin/true >out 2>&1 & wait"]).current_dir(&folder);
        measure(command)
    };
    let streamed = || measure(ground.legwork(&state, ["run", "--", "/bin/true"]));
    let reported = || measure(job());
    let contenders = [
        Contender::new("timeout 60", &timeout),
        Contender::new("sh, nohup, a file", &nohup),
        Contender::new("legwork run, streamed", &streamed),
        Contender::new("legwork run, a job", &reported).bar(Bar::RatioAtMost(2.0)),
    ];
    compare("1 /bin/true as a whole process", options.rounds(400), &contenders)
}
