//! How a command can end: one closed enum, from the lowest layer to every door.
//!
//! An ending is a *cause* and, where the kernel told it, the raw *wait status*. The two are kept
//! apart because they can disagree: a program that obeys SIGTERM at its deadline and exits 0 has
//! the cause [`Cause::Deadline`] and the status exit 0, and it is no success. What was not seen
//! is said as unknown; nothing here turns a killed command into exit 0.

use std::fmt;

use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};

use crate::signal::Signal;

/// What the kernel said of a process that is gone.
///
/// ```
/// use legwork::{Signal, WaitStatus};
///
/// let outcome = legwork::capture(["sh", "-c", "kill -9 $$"])?;
/// let status = outcome.ending.status().unwrap();
/// assert!(matches!(status, WaitStatus::Signaled { signal: Signal::KILL, .. }));
/// # Ok::<(), legwork::CommandError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitStatus {
    /// It called `exit` with this code.
    Exited {
        /// 0 to 255.
        code: i32,
    },
    /// A signal ended it.
    Signaled {
        /// Which one.
        signal: Signal,
        /// Whether the kernel wrote a core.
        core_dumped: bool,
    },
}

impl WaitStatus {
    /// The number a shell gives it: the code, or 128 + the signal.
    ///
    /// ```
    /// assert_eq!(legwork::WaitStatus::Exited { code: 3 }.number(), 3);
    /// ```
    pub fn number(self) -> i32 {
        match self {
            WaitStatus::Exited { code } => code,
            WaitStatus::Signaled { signal, .. } => 128 + signal.number(),
        }
    }
}

/// Why a command never ran.
///
/// ```
/// use legwork::{Cause, NotStarted};
/// let error = legwork::cmd(["true"]).workdir("/no/such/place").run().unwrap_err();
/// assert_eq!(error.ending().cause(), &Cause::NotStarted(NotStarted::BadDirectory));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotStarted {
    /// No such program.
    NotFound {
        /// Programs that can be found and have a similar name.
        near: Vec<String>,
    },
    /// It is there, but cannot be executed: no permission, or no format the kernel knows.
    NotExecutable,
    /// A script whose interpreter (the `#!` line) does not exist.
    BadInterpreter,
    /// The workdir is missing, no directory, or closed to this user.
    BadDirectory,
    /// Arguments and environment are more than the kernel takes.
    ArgumentsTooLong,
    /// The request itself cannot be right.
    Invalid {
        /// The field that is wrong.
        field: String,
    },
    /// The system refused for another reason.
    System {
        /// In the system's words, with the step that was refused.
        reason: String,
    },
}

impl NotStarted {
    fn word(&self) -> &'static str {
        match self {
            NotStarted::NotFound { .. } => "not_found",
            NotStarted::NotExecutable => "not_executable",
            NotStarted::BadInterpreter => "bad_interpreter",
            NotStarted::BadDirectory => "bad_directory",
            NotStarted::ArgumentsTooLong => "arguments_too_long",
            NotStarted::Invalid { .. } => "invalid_input",
            NotStarted::System { .. } => "system",
        }
    }

    fn number(&self) -> i32 {
        match self {
            NotStarted::NotFound { .. } => 127,
            NotStarted::NotExecutable | NotStarted::BadInterpreter => 126,
            NotStarted::BadDirectory
            | NotStarted::ArgumentsTooLong
            | NotStarted::Invalid { .. }
            | NotStarted::System { .. } => 125,
        }
    }
}

impl fmt::Display for NotStarted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotStarted::NotFound { near } if near.is_empty() => f.write_str("not found"),
            NotStarted::NotFound { near } => {
                write!(f, "not found; did you mean {}?", near.join(", "))
            }
            NotStarted::NotExecutable => f.write_str("not executable"),
            NotStarted::BadInterpreter => f.write_str("its interpreter does not exist"),
            NotStarted::BadDirectory => f.write_str("bad directory"),
            NotStarted::ArgumentsTooLong => f.write_str("argument list too long"),
            NotStarted::Invalid { field } => write!(f, "invalid {field}"),
            NotStarted::System { reason } => f.write_str(reason),
        }
    }
}

/// Why it ended. Closed: every reader matches all of them.
///
/// ```
/// use legwork::prelude::*;
/// use legwork::Cause;
///
/// let outcome = cmd(["sleep", "60"]).timeout(std::time::Duration::from_millis(20)).capture()?;
/// assert_eq!(outcome.ending.cause(), &Cause::Deadline);
/// # Ok::<(), legwork::CommandError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// It ended by itself with this code.
    Exited {
        /// 0 to 255.
        code: i32,
    },
    /// A signal ended it.
    Signaled {
        /// Which one.
        signal: Signal,
        /// Whether it came through legwork, asked for by the caller.
        by_request: bool,
    },
    /// Its time was over and its tree was ended.
    Deadline,
    /// It printed nothing for longer than allowed and its tree was ended.
    Idle,
    /// It printed more than allowed and its tree was ended.
    OutputLimit,
    /// The kernel ended it for want of memory, by the counters of its own cgroup.
    OutOfMemory,
    /// The caller cancelled it.
    Cancelled,
    /// A policy forbade it; nothing was started.
    Denied {
        /// The rule that did.
        rule: String,
    },
    /// It never ran.
    NotStarted(NotStarted),
    /// Whoever watched it is gone, and the ending with it.
    SupervisorLost,
    /// The machine was restarted while it ran.
    MachineRestarted,
    /// It is over, and how cannot be told.
    Unknown {
        /// Why not.
        reason: String,
    },
}

impl Cause {
    /// Its word in reports.
    ///
    /// ```
    /// assert_eq!(legwork::Cause::Deadline.word(), "deadline");
    /// ```
    pub fn word(&self) -> &'static str {
        match self {
            Cause::Exited { .. } => "exited",
            Cause::Signaled { .. } => "signaled",
            Cause::Deadline => "deadline",
            Cause::Idle => "idle",
            Cause::OutputLimit => "output_limit",
            Cause::OutOfMemory => "out_of_memory",
            Cause::Cancelled => "cancelled",
            Cause::Denied { .. } => "denied",
            Cause::NotStarted(_) => "not_started",
            Cause::SupervisorLost => "supervisor_lost",
            Cause::MachineRestarted => "machine_restarted",
            Cause::Unknown { .. } => "unknown",
        }
    }
}

/// How a command ended: the cause, and the wait status where the kernel told one.
///
/// Serialises flat: `{"cause": "exited", "code": 0}`,
/// `{"cause": "deadline", "signal": 15, "signal_name": "SIGTERM"}`.
///
/// ```
/// let outcome = legwork::capture(["false"])?;
/// assert_eq!(outcome.ending.exit_code(), Some(1));
/// assert_eq!(outcome.ending.number(), 1);
/// assert_eq!(outcome.ending.to_string(), "exit 1");
/// # Ok::<(), legwork::CommandError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    cause: Cause,
    status: Option<WaitStatus>,
}

impl Ending {
    /// An ending of this cause; the status where it is known.
    ///
    /// ```
    /// use legwork::{Cause, Ending};
    /// assert_eq!(Ending::new(Cause::SupervisorLost, None).number(), 125);
    /// ```
    pub fn new(cause: Cause, status: Option<WaitStatus>) -> Ending {
        Ending { cause, status }
    }

    /// The ending of a command that the kernel told of and that legwork did not end.
    ///
    /// ```
    /// use legwork::{Ending, WaitStatus};
    /// assert!(Ending::of_status(WaitStatus::Exited { code: 0 }).success());
    /// ```
    pub fn of_status(status: WaitStatus) -> Ending {
        let cause = match status {
            WaitStatus::Exited { code } => Cause::Exited { code },
            WaitStatus::Signaled { signal, .. } => Cause::Signaled { signal, by_request: false },
        };
        Ending { cause, status: Some(status) }
    }

    pub(crate) fn not_started(why: NotStarted) -> Ending {
        Ending { cause: Cause::NotStarted(why), status: None }
    }

    /// Why it ended.
    ///
    /// ```
    /// use legwork::Cause;
    /// assert_eq!(legwork::capture(["true"])?.ending.cause(), &Cause::Exited { code: 0 });
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    pub fn cause(&self) -> &Cause {
        &self.cause
    }

    /// What the kernel said, where it did.
    ///
    /// ```
    /// use legwork::WaitStatus;
    /// assert_eq!(legwork::capture(["true"])?.ending.status(), Some(WaitStatus::Exited { code: 0 }));
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    pub fn status(&self) -> Option<WaitStatus> {
        self.status
    }

    /// Whether it exited 0 by itself. Everything else is no success.
    ///
    /// ```
    /// assert!(legwork::capture(["true"])?.ending.success());
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    pub fn success(&self) -> bool {
        self.cause == Cause::Exited { code: 0 }
    }

    /// The exit code of a command that ended by itself; `None` for everything else.
    ///
    /// ```
    /// assert_eq!(legwork::capture(["sh", "-c", "kill $$"])?.ending.exit_code(), None);
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    pub fn exit_code(&self) -> Option<i32> {
        match self.cause {
            Cause::Exited { code } => Some(code),
            _ => None,
        }
    }

    /// One number for those who can only take a number: 0 exactly for success.
    ///
    /// ```
    /// assert_eq!(legwork::capture(["sh", "-c", "kill $$"])?.ending.number(), 128 + 15);
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    pub fn number(&self) -> i32 {
        match &self.cause {
            Cause::Exited { code } => *code,
            Cause::Signaled { signal, .. } => 128 + signal.number(),
            Cause::Deadline | Cause::Idle => 124,
            Cause::OutputLimit | Cause::OutOfMemory | Cause::Cancelled => match self.status {
                Some(WaitStatus::Signaled { signal, .. }) => 128 + signal.number(),
                // It obeyed the polite signal and exited by itself; that signal ended it.
                Some(WaitStatus::Exited { .. }) => 128 + Signal::TERM.number(),
                None => 128 + Signal::KILL.number(),
            },
            Cause::NotStarted(why) => why.number(),
            Cause::Denied { .. } => 126,
            Cause::SupervisorLost | Cause::MachineRestarted | Cause::Unknown { .. } => 125,
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            Cause::Exited { code } => write!(f, "exit {code}"),
            Cause::Signaled { signal, by_request } => {
                write!(f, "{signal}")?;
                if *by_request {
                    f.write_str(", as requested")?;
                }
                if let Some(WaitStatus::Signaled { core_dumped: true, .. }) = self.status {
                    f.write_str(", core dumped")?;
                }
                Ok(())
            }
            Cause::Deadline => f.write_str("timed out"),
            Cause::Idle => f.write_str("no output for too long"),
            Cause::OutputLimit => f.write_str("too much output"),
            Cause::OutOfMemory => f.write_str("out of memory"),
            Cause::Cancelled => f.write_str("cancelled"),
            Cause::Denied { rule } => f.write_str(rule),
            Cause::NotStarted(why) => write!(f, "{why}"),
            Cause::SupervisorLost => f.write_str("its supervisor is gone"),
            Cause::MachineRestarted => f.write_str("the machine was restarted"),
            Cause::Unknown { reason } => write!(f, "unknown: {reason}"),
        }
    }
}

/// The flat form of an ending in JSON.
#[derive(Default, serde::Serialize, serde::Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "Ending"))]
struct Wire {
    /// One of a closed list of words; one that is not known is a failure.
    cause: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signal_name: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    core_dumped: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    by_request: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    near: Vec<String>,
}

#[cfg(feature = "schemars")]
impl schemars::JsonSchema for Ending {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        Wire::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Wire::json_schema(generator)
    }
}

impl Serialize for Ending {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut wire = Wire { cause: self.cause.word().to_owned(), ..Wire::default() };
        match self.status {
            Some(WaitStatus::Exited { code }) => wire.code = Some(code),
            Some(WaitStatus::Signaled { signal, core_dumped }) => {
                wire.signal = Some(signal.number());
                wire.signal_name = Some(signal.to_string());
                wire.core_dumped = core_dumped;
            }
            None => {}
        }
        match &self.cause {
            Cause::Signaled { by_request, .. } => wire.by_request = *by_request,
            Cause::Denied { rule } => wire.rule = Some(rule.clone()),
            Cause::Unknown { reason } => wire.reason = Some(reason.clone()),
            Cause::NotStarted(why) => {
                wire.reason = Some(why.word().to_owned());
                match why {
                    NotStarted::NotFound { near } => wire.near.clone_from(near),
                    NotStarted::Invalid { field } => wire.detail = Some(field.clone()),
                    NotStarted::System { reason } => wire.detail = Some(reason.clone()),
                    NotStarted::NotExecutable
                    | NotStarted::BadInterpreter
                    | NotStarted::BadDirectory
                    | NotStarted::ArgumentsTooLong => {}
                }
            }
            Cause::Exited { .. }
            | Cause::Deadline
            | Cause::Idle
            | Cause::OutputLimit
            | Cause::OutOfMemory
            | Cause::Cancelled
            | Cause::SupervisorLost
            | Cause::MachineRestarted => {}
        }
        wire.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Ending {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Ending, D::Error> {
        let wire = Wire::deserialize(deserializer)?;
        let signal = wire.signal.and_then(Signal::from_number);
        let status = match (wire.code, signal) {
            (_, Some(signal)) => {
                Some(WaitStatus::Signaled { signal, core_dumped: wire.core_dumped })
            }
            (Some(code), None) => Some(WaitStatus::Exited { code }),
            (None, None) => None,
        };
        // A cause from a newer version is a failure of unknown kind, never a success.
        let strange = |what: &str| Cause::Unknown { reason: what.to_owned() };
        let reason = wire.reason.unwrap_or_default();
        let detail = wire.detail.unwrap_or_default();
        let cause = match (wire.cause.as_str(), status) {
            ("exited", Some(WaitStatus::Exited { code })) => Cause::Exited { code },
            ("signaled", Some(WaitStatus::Signaled { signal, .. })) => {
                Cause::Signaled { signal, by_request: wire.by_request }
            }
            ("exited" | "signaled", _) => strange("the record names no wait status"),
            ("deadline", _) => Cause::Deadline,
            ("idle", _) => Cause::Idle,
            ("output_limit", _) => Cause::OutputLimit,
            ("out_of_memory", _) => Cause::OutOfMemory,
            ("cancelled", _) => Cause::Cancelled,
            ("denied", _) => Cause::Denied { rule: wire.rule.unwrap_or_default() },
            ("supervisor_lost", _) => Cause::SupervisorLost,
            ("machine_restarted", _) => Cause::MachineRestarted,
            ("unknown", _) => Cause::Unknown { reason },
            ("not_started", _) => Cause::NotStarted(match reason.as_str() {
                "not_found" => NotStarted::NotFound { near: wire.near },
                "not_executable" => NotStarted::NotExecutable,
                "bad_interpreter" => NotStarted::BadInterpreter,
                "bad_directory" => NotStarted::BadDirectory,
                "arguments_too_long" => NotStarted::ArgumentsTooLong,
                "invalid_input" => NotStarted::Invalid { field: detail },
                "system" => NotStarted::System { reason: detail },
                other => NotStarted::System { reason: other.to_owned() },
            }),
            (other, _) => strange(&format!("cause {other:?} is not known here")),
        };
        Ok(Ending { cause, status })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Ending> {
        let exited = WaitStatus::Exited { code: 0 };
        let killed = WaitStatus::Signaled { signal: Signal::KILL, core_dumped: false };
        let dumped = WaitStatus::Signaled { signal: Signal::SEGV, core_dumped: true };
        let by_request = Cause::Signaled { signal: Signal::KILL, by_request: true };
        let mut all = vec![
            Ending::of_status(exited),
            Ending::of_status(WaitStatus::Exited { code: 255 }),
            Ending::of_status(dumped),
            Ending::new(by_request, Some(killed)),
        ];
        for cause in [
            Cause::Deadline,
            Cause::Idle,
            Cause::OutputLimit,
            Cause::OutOfMemory,
            Cause::Cancelled,
            Cause::Denied { rule: "no".into() },
            Cause::SupervisorLost,
            Cause::MachineRestarted,
            Cause::Unknown { reason: "why".into() },
        ] {
            all.push(Ending::new(cause.clone(), None));
            all.push(Ending::new(cause.clone(), Some(exited)));
            all.push(Ending::new(cause, Some(killed)));
        }
        for why in [
            NotStarted::NotFound { near: vec!["git".into()] },
            NotStarted::NotExecutable,
            NotStarted::BadInterpreter,
            NotStarted::BadDirectory,
            NotStarted::ArgumentsTooLong,
            NotStarted::Invalid { field: "env".into() },
            NotStarted::System { reason: "no memory".into() },
        ] {
            all.push(Ending::not_started(why));
        }
        all
    }

    #[test]
    fn every_ending_survives_json() {
        for ending in all() {
            let json = serde_json::to_string(&ending).unwrap();
            assert_eq!(serde_json::from_str::<Ending>(&json).unwrap(), ending, "{json}");
        }
    }

    #[test]
    fn only_an_exit_of_zero_is_success_and_only_success_is_zero() {
        for ending in all() {
            assert_eq!(ending.success(), ending.number() == 0, "{ending:?}");
            assert_eq!(ending.success(), *ending.cause() == Cause::Exited { code: 0 });
        }
    }

    #[test]
    fn the_numbers_of_the_table() {
        let killed = Some(WaitStatus::Signaled { signal: Signal::KILL, core_dumped: false });
        let exited = Some(WaitStatus::Exited { code: 0 });
        assert_eq!(Ending::new(Cause::Deadline, exited).number(), 124);
        assert_eq!(Ending::new(Cause::Idle, killed).number(), 124);
        assert_eq!(Ending::new(Cause::Cancelled, killed).number(), 137);
        assert_eq!(Ending::new(Cause::Cancelled, exited).number(), 143);
        assert_eq!(Ending::new(Cause::OutOfMemory, killed).number(), 137);
        assert_eq!(Ending::new(Cause::Denied { rule: String::new() }, None).number(), 126);
        assert_eq!(Ending::not_started(NotStarted::NotFound { near: vec![] }).number(), 127);
        assert_eq!(Ending::not_started(NotStarted::NotExecutable).number(), 126);
        assert_eq!(Ending::not_started(NotStarted::BadDirectory).number(), 125);
    }

    #[test]
    fn a_cause_from_the_future_is_a_failure() {
        let ending: Ending = serde_json::from_str(r#"{"cause":"teleported","code":0}"#).unwrap();
        assert!(!ending.success());
        assert_eq!(ending.number(), 125);
        let ending: Ending = serde_json::from_str(r#"{"cause":"exited"}"#).unwrap();
        assert!(!ending.success(), "an exit without a code is not known to be 0");
    }
}
