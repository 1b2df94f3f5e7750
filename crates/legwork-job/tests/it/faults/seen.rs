//! What can be seen of jobs from outside: their processes and folders, without asking legwork.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use legwork_job::{JobId, JobSpec};

/// The variable that everyone of a test carries: the front ends, their supervisors, the jobs.
const TAG: &str = "LEGWORK_FAULTS";

/// `misbehave`, tagged.
pub(super) fn front_end(state: &Path) -> Command {
    let mut command = Command::new(testkit::misbehave());
    command.env(TAG, state).stdin(Stdio::null());
    command
}

fn pids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Everyone alive who belongs to this state directory: by the tag, by a job's marker, or by living
/// in a job's folder.
pub(super) fn everyone(state: &Path) -> Vec<u32> {
    let tag = [TAG.as_bytes(), b"=", state.as_os_str().as_encoded_bytes()].concat();
    let markers: Vec<String> = folders(state).iter().map(|id| format!("job-{id}")).collect();
    let belongs = |pid: u32| {
        if fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(state)) {
            return true;
        }
        let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environ.split(|byte| *byte == 0).any(|entry| {
            let run = entry.strip_prefix(b"LEGWORK_RUN=").unwrap_or_default();
            let mut runs = run.split(|byte| *byte == b':');
            entry == tag || runs.any(|run| markers.iter().any(|marker| marker.as_bytes() == run))
        })
    };
    let own = std::process::id();
    pids().filter(|pid| *pid != own && testkit::is_alive(*pid) && belongs(*pid)).collect()
}

/// Nobody of this state directory is there, now.
pub(super) fn assert_nobody(state: &Path) {
    let left = everyone(state);
    let lines = left.iter().map(|pid| fs::read_to_string(format!("/proc/{pid}/cmdline")));
    assert!(left.is_empty(), "left: {:?}", lines.collect::<Vec<_>>());
}

/// Children of this process that nobody has collected.
pub(super) fn zombies() -> usize {
    let own = std::process::id().to_string();
    let is_ours = |pid: &u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let mut rest = stat.rsplit(") ").next().unwrap_or_default().split(' ');
        rest.next() == Some("Z") && rest.next() == Some(own.as_str())
    };
    pids().filter(is_ours).count()
}

/// The supervisors of the jobs in this state directory.
pub(super) fn supervisors(state: &Path) -> Vec<u32> {
    let jobs = state.join("jobs");
    let lives_there =
        |pid: &u32| fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|c| c.starts_with(&jobs));
    let supervises = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).nth(1) == Some(b"__supervise")
    };
    pids().filter(|pid| lives_there(pid) && supervises(pid)).collect()
}

/// What the folder of jobs holds.
pub(super) fn folders(state: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(state.join("jobs")) else { return Vec::new() };
    entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// All files below a folder, but for the locks and the salt, which stay for ever.
pub(super) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() {
                pending.push(entry.path());
            } else if entry.file_name() != ".lock" && entry.file_name() != "salt" {
                found.push(entry.path());
            }
        }
    }
    found
}

/// A supervisor that is a child of this process, so that it can be killed to the moment. It has
/// been told what to do.
pub(super) fn supervisor_of_our_own(state: &Path, spec: &JobSpec) -> (Child, UnixStream) {
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let child = front_end(state)
        .arg0("legwork")
        .arg("__supervise")
        .stdin(std::os::fd::OwnedFd::from(theirs))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let birth = serde_json::json!({
        "v": 1, "state_dir": state, "spec": spec, "fingerprint": "print",
    });
    ours.write_all(&frame(birth.to_string().as_bytes())).unwrap();
    (child, ours)
}

/// A frame of the protocol.
pub(super) fn frame(payload: &[u8]) -> Vec<u8> {
    [b"J", &(payload.len() as u32).to_le_bytes()[..], payload].concat()
}

/// The next frame, as JSON; `None` at the end.
pub(super) fn answer(from: &mut impl Read) -> Option<serde_json::Value> {
    let mut header = [0; 5];
    from.read_exact(&mut header).ok()?;
    let length = u32::from_le_bytes([header[1], header[2], header[3], header[4]]) as usize;
    let mut payload = vec![0; length];
    from.read_exact(&mut payload).ok()?;
    serde_json::from_slice(&payload).ok()
}

/// A line to a job's supervisor, without legwork.
pub(super) fn connect(folder: &Path) -> UnixStream {
    UnixStream::connect(folder.join("socket")).unwrap()
}

/// Numbers that look random; the same again for the same seed.
pub(super) struct Dice(u64);

impl Dice {
    /// By the clock; the seed is printed, so that a failure can be repeated.
    pub(super) fn new() -> Dice {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let seed = now.as_nanos() as u64 | 1;
        println!("seed {seed}");
        Dice(seed)
    }

    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit.max(1)
    }
}

pub(super) fn id(text: &str) -> JobId {
    text.trim().parse().unwrap_or_else(|error| panic!("{error}"))
}
