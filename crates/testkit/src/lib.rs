//! What the tests need to meet real, small, misbehaving programs.
//!
//! The programs are subcommands of one binary, `misbehave`; this library finds it, and waits for
//! conditions instead of for time.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The path of the binary `misbehave`, built if need be.
pub fn misbehave() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| {
        // Test binaries lie in target/PROFILE/deps, programs one directory above.
        let test = std::env::current_exe().expect("a test knows its own path");
        let profile =
            test.ancestors().find(|dir| dir.file_name().is_some_and(|name| name == "deps"));
        let directory = profile.and_then(Path::parent).expect("test binaries lie in `deps`");
        build(directory);
        directory.join("misbehave")
    })
}

/// Cargo builds the binaries of other packages only when asked. With the build already done this
/// takes some milliseconds, and Cargo's own lock orders those who come at once.
fn build(directory: &Path) {
    if std::env::var_os("TESTKIT_BUILT").is_some() && directory.join("misbehave").is_file() {
        return;
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = std::process::Command::new(cargo);
    build.args(["build", "--quiet", "--package", "testkit", "--bin", "misbehave"]);
    if directory.file_name().is_some_and(|name| name == "release") {
        build.arg("--release");
    }
    build.current_dir(env!("CARGO_MANIFEST_DIR"));
    if let Some(target) = directory.parent() {
        build.arg("--target-dir").arg(target);
    }
    let status = build.status().expect("cargo runs");
    assert!(status.success(), "building testkit failed: {status}");
}

/// The longest that any condition may take to come true: far more than a loaded machine needs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until `condition` gives something.
///
/// # Panics
/// Where it has not after a minute.
pub fn wait_for<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(Instant::now() < until, "waited a minute in vain for {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Waits until `condition` is true.
///
/// # Panics
/// Where it is not after a minute.
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    wait_for(what, || condition().then_some(()));
}

/// The state letter of a process in `/proc`; `None` where there is none.
pub fn state(pid: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit(") ").next()?.chars().next()
}

/// Whether a process runs, or sleeps, or is stopped; one that only waits to be collected does not.
pub fn is_alive(pid: u32) -> bool {
    state(pid).is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

/// The pid that a program writes to a file, once it is there.
pub fn pid_in(file: &Path) -> u32 {
    wait_for("a pid file", || std::fs::read_to_string(file).ok()?.trim().parse().ok())
}

/// Kills a process when a test is done with it, however it ends.
#[derive(Debug)]
pub struct Victim(pub u32);

impl Drop for Victim {
    fn drop(&mut self) {
        if let Some(pid) = rustix::process::Pid::from_raw(self.0 as i32) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
}

/// What a process holds: descriptors, threads, children (zombies included).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holdings {
    /// Open descriptors.
    pub descriptors: usize,
    /// Threads.
    pub threads: usize,
    /// Children, ended ones that nobody collected included.
    pub children: usize,
}

impl Holdings {
    /// Those of this process, now.
    pub fn now() -> Holdings {
        let count = |path: &str| std::fs::read_dir(path).map_or(0, Iterator::count);
        let own = std::process::id().to_string();
        let is_child = |pid: &str| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let parent = stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1));
            parent == Some(own.as_str())
        };
        let children = std::fs::read_dir("/proc").map_or(0, |entries| {
            entries.flatten().filter(|e| e.file_name().to_str().is_some_and(is_child)).count()
        });
        Holdings {
            // Without the one that reads the directory.
            descriptors: count("/proc/self/fd").saturating_sub(1),
            threads: count("/proc/self/task"),
            children,
        }
    }
}
