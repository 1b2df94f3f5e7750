//! How a run ended, from what the kernel said and what legwork did. Pure.

use crate::ending::{Cause, Ending, WaitStatus};
use crate::options::Pipefail;
use crate::signal::Signal;

use super::life::Reason;

/// What is known beside the wait statuses.
#[derive(Debug)]
pub(super) struct Evidence<'a> {
    /// Why legwork ended it, if it did.
    pub(super) reason: Option<Reason>,
    /// Signals that the caller sent through its handle.
    pub(super) requested: &'a [Signal],
    /// Whether the kernel counted a kill for want of memory in the run's own cgroup.
    pub(super) out_of_memory: bool,
    /// Why a status is missing.
    pub(super) why_unknown: &'a str,
    pub(super) pipefail: Pipefail,
}

impl Evidence<'_> {
    /// How one stage ended.
    pub(super) fn stage(&self, status: Option<WaitStatus>) -> Ending {
        let ended_by_itself = matches!(self.reason, None | Some(Reason::Survivors));
        match status {
            Some(WaitStatus::Signaled { signal: Signal::KILL, .. })
                if self.out_of_memory && ended_by_itself =>
            {
                Ending::new(Cause::OutOfMemory, status)
            }
            Some(WaitStatus::Signaled { signal, .. }) => {
                let killed = self.reason == Some(Reason::Killed) && signal == Signal::KILL;
                let by_request = killed || self.requested.contains(&signal);
                Ending::new(Cause::Signaled { signal, by_request }, status)
            }
            Some(status) => Ending::of_status(status),
            None => Ending::new(Cause::Unknown { reason: self.why_unknown.to_owned() }, None),
        }
    }

    /// How the whole run ended, given its stages.
    pub(super) fn whole(&self, stages: &[Ending]) -> Ending {
        let Some((last, earlier)) = stages.split_last() else {
            return Ending::new(Cause::Unknown { reason: "nothing was run".into() }, None);
        };
        let cause = match self.reason {
            Some(Reason::Deadline) => Some(Cause::Deadline),
            Some(Reason::Idle) => Some(Cause::Idle),
            Some(Reason::OutputLimit) => Some(Cause::OutputLimit),
            Some(Reason::Cancelled) => Some(Cause::Cancelled),
            Some(Reason::Killed | Reason::Survivors) | None => None,
        };
        if let Some(cause) = cause {
            return Ending::new(cause, last.status());
        }
        let by_sigpipe = |ending: &Ending| {
            matches!(ending.cause(), Cause::Signaled { signal: Signal::PIPE, .. })
        };
        let failed = match self.pipefail {
            _ if !last.success() => None,
            Pipefail::LastOnly => None,
            Pipefail::All => earlier.iter().rev().find(|ending| !ending.success()),
            Pipefail::AllButSigpipe => {
                earlier.iter().rev().find(|ending| !ending.success() && !by_sigpipe(ending))
            }
        };
        failed.unwrap_or(last).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXITED: WaitStatus = WaitStatus::Exited { code: 0 };
    const KILLED: WaitStatus = WaitStatus::Signaled { signal: Signal::KILL, core_dumped: false };
    const PIPED: WaitStatus = WaitStatus::Signaled { signal: Signal::PIPE, core_dumped: false };

    fn evidence(reason: Option<Reason>, out_of_memory: bool) -> Evidence<'static> {
        let pipefail = Pipefail::All;
        Evidence { reason, requested: &[], out_of_memory, why_unknown: "who knows", pipefail }
    }

    #[test]
    fn nothing_that_legwork_ended_is_a_success() {
        for reason in [Reason::Deadline, Reason::Idle, Reason::OutputLimit, Reason::Cancelled] {
            let evidence = evidence(Some(reason), false);
            let ending = evidence.whole(&[evidence.stage(Some(EXITED))]);
            assert!(!ending.success(), "{reason:?}");
            assert_eq!(ending.status(), Some(EXITED));
        }
    }

    #[test]
    fn want_of_memory_is_claimed_only_for_a_kill_that_nobody_here_sent() {
        let told = |reason, out_of_memory, status| {
            evidence(reason, out_of_memory).stage(Some(status)).cause().clone()
        };
        assert_eq!(told(None, true, KILLED), Cause::OutOfMemory);
        assert_eq!(told(Some(Reason::Survivors), true, KILLED), Cause::OutOfMemory);
        assert_eq!(told(None, true, EXITED), Cause::Exited { code: 0 });
        let killed = |by_request| Cause::Signaled { signal: Signal::KILL, by_request };
        assert_eq!(told(None, false, KILLED), killed(false));
        assert_eq!(told(Some(Reason::Killed), true, KILLED), killed(true));
    }

    #[test]
    fn the_last_stage_that_failed_decides_unless_told_otherwise() {
        let stages = [PIPED, WaitStatus::Exited { code: 3 }, EXITED].map(Ending::of_status);
        let decide =
            |pipefail| Evidence { pipefail, ..evidence(None, false) }.whole(&stages).number();
        assert_eq!(decide(Pipefail::All), 3);
        assert_eq!(decide(Pipefail::LastOnly), 0);
        let stages = [PIPED, EXITED].map(Ending::of_status);
        let decide =
            |pipefail| Evidence { pipefail, ..evidence(None, false) }.whole(&stages).number();
        assert_eq!(decide(Pipefail::All), 141);
        assert_eq!(decide(Pipefail::AllButSigpipe), 0);
    }

    #[test]
    fn a_missing_status_is_said_to_be_missing() {
        let ending = evidence(None, false).stage(None);
        assert_eq!(ending.cause(), &Cause::Unknown { reason: "who knows".into() });
        assert_eq!(ending.number(), 125);
    }
}
