//! After the tests, nobody of theirs may be left: they are known by a variable that all of them
//! inherit.

use std::fs;
use std::time::{Duration, Instant};

/// Set for the tests, and so for everything that they start.
pub(crate) const MARK: &str = "LEGWORK_SUITE";

/// How long processes that were killed may take to be collected by init.
const PATIENCE: Duration = Duration::from_secs(10);

/// The processes that carry the mark with this value, zombies included where they can be told.
fn left(suite: &str) -> Vec<String> {
    let mark = format!("{MARK}={suite}");
    let carries = |pid: &str| {
        let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environ.split(|b| *b == 0).any(|entry| entry == mark.as_bytes())
    };
    let own = std::process::id().to_string();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|pid| pid.bytes().all(|b| b.is_ascii_digit()) && *pid != own && carries(pid))
        .map(|pid| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            format!("{pid} {}", String::from_utf8_lossy(&line).replace('\0', " "))
        })
        .collect()
}

/// Fails where a process of the suite is left.
pub(crate) fn check(suite: &str) -> Result<(), String> {
    let until = Instant::now() + PATIENCE;
    loop {
        let left = left(suite);
        if left.is_empty() {
            return Ok(());
        }
        if Instant::now() > until {
            return Err(format!("the tests left processes behind:\n  {}", left.join("\n  ")));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}
