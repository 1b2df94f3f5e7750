//! The driver without a runtime: the calling thread waits; a spawned run has a thread of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::handle::{Running, Shared, Writer};
use super::machine::{Guarded, Machine};
use super::plan::{self, Verb};
use super::quiet;
use crate::command::{Exec, RunOptions};
use crate::ending::NotStarted;
use crate::error::{CommandError, Result};
use crate::outcome::Outcome;

/// Runs to the end.
pub(crate) fn run(stages: &[Exec], options: &RunOptions, verb: Verb) -> Result<Outcome> {
    let plan = plan::plan(stages, options, verb)?;
    let mut machine = Guarded::new(Machine::start(plan, None)?.0);
    let holds = machine.get().holds_stdout();
    let outcome = drive(machine);
    checked(if holds { quiet::show(outcome) } else { outcome }, options, verb)
}

/// A failure as an error, where the verb or the caller wants that.
pub(crate) fn checked(outcome: Outcome, options: &RunOptions, verb: Verb) -> Result<Outcome> {
    if outcome.failed() && options.check.unwrap_or(verb == Verb::Run) && verb != Verb::Succeeds {
        return Err(CommandError::failed(outcome));
    }
    Ok(outcome)
}

fn drive(mut machine: Guarded) -> Outcome {
    loop {
        if let Some(outcome) = machine.get().turn(None) {
            return outcome;
        }
        machine.get().bury(|_| ());
    }
}

/// Starts, and hands the driving to a thread.
pub(crate) fn spawn(stages: &[Exec], options: &RunOptions) -> Result<Running> {
    let plan = plan::plan(stages, options, Verb::Spawn)?;
    let (command, workdir) = (plan.command(), plan.stages.first().and_then(|s| s.workdir.clone()));
    let refused = |error: std::io::Error| {
        let why = NotStarted::System { reason: format!("cannot start a thread for it: {error}") };
        CommandError::not_started(command.clone(), workdir.clone(), why, Some(error))
    };
    let is_terminal = plan.stages.first().is_some_and(|stage| stage.pty.is_some());
    let shared = Shared::new().map_err(refused)?;
    let (machine, writer) = Machine::start(plan, Some(Arc::clone(&shared)))?;
    let pid = machine.pid();
    let writer = writer.map(|fd| Writer { fd, is_terminal });
    let machine = Guarded::new(machine);
    let to_finish = Arc::clone(&shared);
    let without_outcome = Outcome::unknown(command.clone(), workdir.clone(), pid);
    // Where there is no thread, dropping the machine ends what was started.
    let thread = std::thread::Builder::new()
        .name("legwork-run".into())
        .spawn(move || match catch_unwind(AssertUnwindSafe(|| drive(machine))) {
            Ok(outcome) => to_finish.finish(outcome),
            // A line callback panicked; the message is on stderr, and the tree is being ended.
            Err(_) => to_finish.finish(without_outcome),
        })
        .map_err(refused)?;
    Ok(Running::new(shared, thread, writer, pid, options.check.unwrap_or(false)))
}
