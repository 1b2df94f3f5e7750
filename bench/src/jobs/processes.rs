//! What the kernel tells of supervisors: who they are, what they weigh, how long they ran.

use std::fs;
use std::path::Path;

use crate::Failure;

/// The supervisors of a state directory's jobs: each lives in its job's folder.
pub(super) fn supervisors(state: &Path) -> Result<Vec<u32>, Failure> {
    let state = state.canonicalize()?;
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let Ok(pid) = entry?.file_name().to_string_lossy().parse::<u32>() else {
            continue;
        };
        // A process that ends meanwhile is none of them.
        let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let asked = command.split(|byte| *byte == 0).nth(1);
        if asked != Some(legwork::engine::SUPERVISOR.as_bytes()) {
            continue;
        }
        if fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|folder| folder.starts_with(&state))
        {
            found.push(pid);
        }
    }
    Ok(found)
}

/// Its proportional share of memory, in bytes.
pub(super) fn pss(pid: u32) -> Result<f64, Failure> {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    let kib = number(&rollup, "Pss:").ok_or("no Pss in smaps_rollup")?;
    Ok(kib * 1024.0)
}

/// What a process has done so far.
#[derive(Debug, Clone, Copy)]
pub(super) struct Activity {
    pub(super) cpu_seconds: f64,
    /// How often it has gone to sleep.
    pub(super) sleeps: f64,
}

pub(super) fn activity(pid: u32) -> Result<Activity, Failure> {
    // In nanoseconds, where `stat` counts in ticks of ten milliseconds.
    let schedule = fs::read_to_string(format!("/proc/{pid}/schedstat"))?;
    let nanoseconds: f64 = schedule.split(' ').next().unwrap_or_default().parse()?;
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let sleeps = number(&status, "voluntary_ctxt_switches:").ok_or("no count of switches")?;
    Ok(Activity { cpu_seconds: nanoseconds / 1e9, sleeps })
}

/// The number that a line beginning so has.
fn number(text: &str, label: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(label))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_a_weight_and_has_run() {
        let own = std::process::id();
        assert!(pss(own).unwrap() > 0.0);
        assert!(activity(own).unwrap().cpu_seconds > 0.0);
        assert_eq!(number("Rss: 12 kB\nPss:   7 kB\n", "Pss:"), Some(7.0));
    }
}
