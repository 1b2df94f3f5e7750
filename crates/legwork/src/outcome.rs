//! Everything known after the end.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use base64::Engine;
use serde::ser::{Serialize, SerializeStruct, Serializer};

use crate::capture::{self, Captured, Stream};
use crate::ending::{Cause, Ending};
use crate::options::Containment;
use crate::signal::Signal;
use crate::sys;

/// What a command left: how it ended, what it printed, what it took.
///
/// ```
/// let outcome = legwork::capture(["sh", "-c", "echo hello; echo oops >&2; exit 3"])?;
/// assert!(outcome.failed());
/// assert_eq!(outcome.exit_code(), Some(3));
/// assert_eq!(outcome.stdout_text(), "hello\n");
/// assert_eq!(outcome.stderr_text(), "oops\n");
/// println!("{}", serde_json::to_string_pretty(&outcome).unwrap());
/// # Ok::<(), legwork::CommandError>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Outcome {
    /// The command as argv; of a pipeline, its stages with `|` between them.
    pub command: Vec<OsString>,
    /// The workdir, where one was asked for.
    pub workdir: Option<PathBuf>,
    /// How it ended; of a pipeline, the stage that decides (see [`Pipefail`](crate::Pipefail)).
    pub ending: Ending,
    /// What was kept of stdout; absent where it was not captured, empty where nothing came.
    pub stdout: Option<Captured>,
    /// What was kept of stderr; absent where it was not captured or went with stdout.
    pub stderr: Option<Captured>,
    /// The pid it had; of a pipeline, that of its first stage.
    pub pid: Option<u32>,
    /// When it started.
    pub started_at: SystemTime,
    /// How long it took, until the answer was ready.
    pub duration: Duration,
    /// CPU and memory of the command and the descendants it waited for; absent where the kernel
    /// did not tell.
    pub usage: Option<Usage>,
    /// The ending of every stage, in order; one for a plain command.
    pub pipeline: Vec<Ending>,
    /// Descendants that live on.
    pub survivors: Vec<Survivor>,
    /// The containment that was in force.
    pub containment: Containment,
    /// What the caller should know beside that: a containment that could not be had, say.
    pub notes: Vec<String>,
    pub(crate) order: Vec<(Stream, u64)>,
}

impl Outcome {
    /// Of a run whose driver was lost: a line callback panicked, or the runtime was shut down.
    pub(crate) fn unknown(command: Vec<OsString>, workdir: Option<PathBuf>, pid: u32) -> Outcome {
        let reason = "its driver is gone (a line callback panicked, or the runtime ended), \
                      and the tree was ended with it";
        let ending = Ending::new(Cause::Unknown { reason: reason.to_owned() }, None);
        Outcome {
            command,
            workdir,
            pipeline: vec![ending.clone()],
            ending,
            stdout: None,
            stderr: None,
            pid: Some(pid),
            started_at: SystemTime::now(),
            duration: Duration::ZERO,
            usage: None,
            survivors: Vec::new(),
            containment: Containment::Group,
            notes: Vec::new(),
            order: Vec::new(),
        }
    }

    /// Whether it exited 0 by itself; of a pipeline, whether the stages did that have to.
    ///
    /// ```
    /// assert!(legwork::capture(["true"])?.success());
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    pub fn success(&self) -> bool {
        self.ending.success()
    }

    /// The opposite of [`success`](Outcome::success).
    ///
    /// ```
    /// assert!(legwork::capture(["false"])?.failed());
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    pub fn failed(&self) -> bool {
        !self.success()
    }

    /// Whether it was ended because a time limit was over, for the whole run or for silence.
    ///
    /// ```
    /// use std::time::Duration;
    /// let outcome = legwork::cmd(["sleep", "60"]).timeout(Duration::from_millis(10)).capture()?;
    /// assert!(outcome.timed_out());
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    pub fn timed_out(&self) -> bool {
        matches!(self.ending.cause(), Cause::Deadline | Cause::Idle)
    }

    /// The exit code, where it really exited by itself.
    ///
    /// ```
    /// assert_eq!(legwork::capture(["false"])?.exit_code(), Some(1));
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    pub fn exit_code(&self) -> Option<i32> {
        self.ending.exit_code()
    }

    /// Stdout as text; lossy, and empty where it was not captured.
    ///
    /// ```
    /// assert_eq!(legwork::capture(["echo", "hi"])?.stdout_text(), "hi\n");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    pub fn stdout_text(&self) -> Cow<'_, str> {
        self.stdout.as_ref().map_or(Cow::Borrowed(""), Captured::text)
    }

    /// Stderr as text; lossy, and empty where it was not captured.
    ///
    /// ```
    /// assert_eq!(legwork::capture(["sh", "-c", "echo no >&2"])?.stderr_text(), "no\n");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    pub fn stderr_text(&self) -> Cow<'_, str> {
        self.stderr.as_ref().map_or(Cow::Borrowed(""), Captured::text)
    }

    /// Both outputs in order of arrival. Two pipes have no exact mutual order: what was written
    /// to both within one wake-up may come in either; see
    /// [`merged`](crate::Command::merged) for the exact order.
    ///
    /// ```
    /// let outcome = legwork::shell("echo one; sleep 0.05; echo two >&2").capture()?;
    /// assert_eq!(outcome.output(), b"one\ntwo\n");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    pub fn output(&self) -> Vec<u8> {
        self.pieces().flat_map(|(_, bytes)| bytes).copied().collect()
    }

    /// The pieces of [`output`](Outcome::output), each with its stream.
    ///
    /// ```
    /// use legwork::Stream;
    /// let outcome = legwork::capture(["echo", "hi"])?;
    /// assert_eq!(outcome.pieces().collect::<Vec<_>>(), [(Stream::Stdout, &b"hi\n"[..])]);
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    pub fn pieces(&self) -> impl Iterator<Item = (Stream, &[u8])> {
        capture::interleave(&self.order, self.stdout.as_ref(), self.stderr.as_ref())
    }
}

/// What a command took from the machine.
///
/// ```
/// let usage = legwork::capture(["true"])?.usage.unwrap();
/// assert!(usage.max_rss_bytes > 0);
/// # Ok::<(), legwork::CommandError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// CPU time in the program itself.
    pub cpu_user: Duration,
    /// CPU time in the kernel on its behalf.
    pub cpu_system: Duration,
    /// The most memory that one of its processes held at once.
    pub max_rss_bytes: u64,
}

impl Usage {
    pub(crate) fn add(self, other: Usage) -> Usage {
        Usage {
            cpu_user: self.cpu_user + other.cpu_user,
            cpu_system: self.cpu_system + other.cpu_system,
            max_rss_bytes: self.max_rss_bytes.max(other.max_rss_bytes),
        }
    }
}

impl Serialize for Usage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut usage = serializer.serialize_struct("Usage", 3)?;
        usage.serialize_field("cpu_user_ms", &(self.cpu_user.as_millis() as u64))?;
        usage.serialize_field("cpu_system_ms", &(self.cpu_system.as_millis() as u64))?;
        usage.serialize_field("max_rss_bytes", &self.max_rss_bytes)?;
        usage.end()
    }
}

/// A descendant that outlives its command.
///
/// ```
/// use legwork::{Signal, shell};
///
/// let outcome = shell("sleep 300 & echo started").capture()?;
/// let survivor = &outcome.survivors[0];
/// assert_eq!(survivor.command[0], "sleep");
/// assert!(survivor.signal(Signal::KILL));
/// # Ok::<(), legwork::CommandError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Survivor {
    /// Its pid.
    pub pid: u32,
    /// Its argv, as `/proc` showed it.
    pub command: Vec<OsString>,
    seen: sys::proc::Seen,
}

impl Survivor {
    pub(crate) fn new(seen: sys::proc::Seen) -> Survivor {
        Survivor { pid: seen.pid as u32, command: sys::proc::command(seen.pid), seen }
    }

    /// Signals it, if it still is the process that was seen: never another with its pid. Whether
    /// it took the signal.
    ///
    /// ```
    /// # use legwork::{Signal, shell};
    /// let outcome = shell("sleep 300 &").capture()?;
    /// assert!(outcome.survivors.iter().all(|survivor| survivor.signal(Signal::KILL)));
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    pub fn signal(&self, signal: Signal) -> bool {
        sys::process::signal_seen(&self.seen, signal)
    }

    /// Whether it still lives.
    ///
    /// ```
    /// # use legwork::{Signal, shell};
    /// let outcome = shell("sleep 300 &").capture()?;
    /// assert!(outcome.survivors[0].is_alive());
    /// outcome.survivors[0].signal(Signal::KILL);
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    pub fn is_alive(&self) -> bool {
        sys::proc::stat(self.seen.pid)
            .is_some_and(|now| now.start_ticks == self.seen.start_ticks && !now.is_zombie())
    }
}

impl Serialize for Survivor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut survivor = serializer.serialize_struct("Survivor", 2)?;
        survivor.serialize_field("pid", &self.pid)?;
        survivor.serialize_field("command", &texts(&self.command))?;
        survivor.end()
    }
}

/// Bytes in JSON: text where they are UTF-8, else `{"b64": "…"}`, so that nothing is lost.
#[derive(serde::Serialize)]
#[serde(untagged)]
enum Bytes<'a> {
    Text(&'a str),
    Base64 { b64: String },
}

fn bytes(raw: &[u8]) -> Bytes<'_> {
    match std::str::from_utf8(raw) {
        Ok(text) => Bytes::Text(text),
        Err(_) => Bytes::Base64 { b64: base64::engine::general_purpose::STANDARD.encode(raw) },
    }
}

fn texts(args: &[OsString]) -> Vec<Bytes<'_>> {
    args.iter().map(|arg| bytes(OsStr::as_bytes(arg))).collect()
}

impl Serialize for Captured {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut captured = serializer.serialize_struct("Captured", 4)?;
        if self.omitted() == 0 {
            captured.serialize_field("content", &bytes(self.bytes()))?;
        } else {
            captured.serialize_field("head", &bytes(self.head()))?;
            captured.serialize_field("tail", &bytes(self.tail()))?;
        }
        captured.serialize_field("total_bytes", &self.total())?;
        captured.serialize_field("omitted_bytes", &self.omitted())?;
        captured.end()
    }
}

impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let since_epoch = self.started_at.duration_since(SystemTime::UNIX_EPOCH);
        let workdir = self.workdir.as_ref().map(|path| bytes(path.as_os_str().as_bytes()));
        let mut outcome = serializer.serialize_struct("Outcome", 17)?;
        outcome.serialize_field("command", &texts(&self.command))?;
        outcome.serialize_field("workdir", &workdir)?;
        outcome.serialize_field("ending", &self.ending)?;
        outcome.serialize_field("exit_code", &self.exit_code())?;
        outcome.serialize_field("shell_code", &self.ending.number())?;
        outcome.serialize_field("success", &self.success())?;
        outcome.serialize_field("pipeline", &self.pipeline)?;
        outcome.serialize_field("stdout", &self.stdout)?;
        outcome.serialize_field("stderr", &self.stderr)?;
        // Which stream came when: with the two above, the interleaved output.
        outcome.serialize_field("order", &self.order)?;
        outcome.serialize_field("pid", &self.pid)?;
        outcome.serialize_field(
            "started_at_ms",
            &since_epoch.map_or(0, |elapsed| elapsed.as_millis() as u64),
        )?;
        outcome.serialize_field("duration_ms", &(self.duration.as_millis() as u64))?;
        outcome.serialize_field("usage", &self.usage)?;
        outcome.serialize_field("survivors", &self.survivors)?;
        outcome.serialize_field("containment", &self.containment)?;
        outcome.serialize_field("notes", &self.notes)?;
        outcome.end()
    }
}
