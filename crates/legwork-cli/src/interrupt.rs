//! What happens when a caller is interrupted while it waits for a report.
//!
//! The command is a job: it runs on, and whoever interrupted must be told under which id, or it
//! would be lost to them. Saying so is more than a signal handler may do, so a thread waits for
//! the signal.

use clap_agent::{AgentError, Exit, Writer};
use legwork::Signal;
use legwork_job::JobId;

use crate::sys::Arrivals;

/// Tells under which id the job runs on, and ends this process with 128 + the signal, when one
/// comes. Where that cannot be arranged the signal ends the process as it always does.
pub(crate) fn watch(id: JobId, out: &Writer) {
    let Ok(arrivals) = Arrivals::of(&[Signal::INT, Signal::TERM]) else { return };
    let out = out.clone();
    let tell = move || {
        let Some(arrival) = arrivals.wait() else { return };
        let exit = out.error(&interrupted(arrival.signal, id));
        std::process::exit(i32::from(exit.code()));
    };
    // Without a thread nobody reads the pipe, but then nothing else works either.
    let _ = std::thread::Builder::new().name("interrupts".into()).spawn(tell);
}

fn interrupted(signal: Signal, id: JobId) -> AgentError {
    let exit = Exit::from_code(u8::try_from(128 + signal.number()).unwrap_or(u8::MAX));
    let message = format!("interrupted by {signal}; the command runs on as job {id}");
    AgentError::new(exit, "cancelled", message).with_suggestion(format!(
        "`legwork output {id} --wait 10s` waits on, `legwork stop {id}` ends it"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_the_signals_and_the_job_is_named() {
        let id = "k3vq8m2a".parse().unwrap();
        let error = interrupted(Signal::INT, id);
        assert_eq!(error.exit().code(), 130);
        assert!(error.to_string().contains("k3vq8m2a"), "{error}");
        assert!(error.suggestion().contains("legwork stop k3vq8m2a"));
        assert_eq!(interrupted(Signal::TERM, id).exit().code(), 143);
    }
}
