//! `legwork doctor`: what this machine allows.
//!
//! Everything is tried rather than assumed: a cgroup is asked for, a terminal opened, a process's
//! children listed. Only a state directory that cannot be used is a failure; the rest is a matter
//! of degree, and each report says which degree was in force.

use std::fs;
use std::io::IsTerminal;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use clap_agent::{AgentError, Example, Exit, Notes, Returns, Writer};
use legwork::{Containment, cmd};
use legwork_job::{Filter, State};
use rustix::process::{Resource, getrlimit};
use serde::Serialize;

use crate::place::place;
use crate::terminal;
use crate::units::shown_bytes;

pub(crate) const EXAMPLES: &str = "\
Examples:
  legwork doctor
  legwork doctor --output json";

pub(crate) fn notes() -> Notes {
    Notes::read()
        .idempotent()
        .when_to_use("jobs cannot be started or ended, or to know how sure ending a tree is here")
        .returns(Returns::new("object", "what was found").shape([
            ("version", "string"),
            ("kernel", "string"),
            ("state_directory", "object"),
            ("jobs", "object"),
            ("containment", "object"),
            ("evidence", "object"),
            ("limits", "object"),
            ("pty", "object"),
            ("terminal", "object"),
        ]))
        .example(Example::new("legwork doctor"))
}

/// What was found.
#[derive(Debug, Serialize)]
struct Findings {
    version: &'static str,
    kernel: String,
    state_directory: StateDirectory,
    jobs: Jobs,
    containment: Levels,
    evidence: Evidence,
    limits: Limits,
    pty: Tried,
    terminal: OwnTerminal,
}

/// Whether something works, and why not.
#[derive(Debug, Serialize)]
struct Tried {
    works: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    why_not: Option<String>,
}

impl Tried {
    fn of<T, E: ToString>(result: Result<T, E>) -> Tried {
        let why_not = result.err().map(|error| error.to_string());
        Tried { works: why_not.is_none(), why_not }
    }
}

#[derive(Debug, Serialize)]
struct StateDirectory {
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<PathBuf>,
    exists: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    free_bytes: Option<u64>,
    #[serde(flatten)]
    usable: Tried,
}

#[derive(Debug, Serialize)]
struct Jobs {
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    running: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why_not: Option<String>,
}

#[derive(Debug, Serialize)]
struct Levels {
    marker: Tried,
    subreaper: Tried,
    cgroup: Tried,
}

#[derive(Debug, Serialize)]
struct Evidence {
    /// `/proc/PID/task/TID/children`, by which a tree is walked at little cost.
    children_list: bool,
    /// 0 to 3; absent where the kernel has no Yama.
    #[serde(skip_serializing_if = "Option::is_none")]
    ptrace_scope: Option<u8>,
    /// Whether the memory of a descendant can be read, to see what it polls.
    reads_descendants: bool,
}

#[derive(Debug, Serialize)]
struct Limits {
    #[serde(skip_serializing_if = "Option::is_none")]
    open_files: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    processes: Option<u64>,
}

#[derive(Debug, Serialize)]
struct OwnTerminal {
    stdin: bool,
    stdout: bool,
    stderr: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    term: Option<String>,
}

pub(crate) fn execute(out: &Writer) -> Result<Exit, AgentError> {
    let (usable, jobs) = jobs();
    let findings = Findings {
        version: env!("CARGO_PKG_VERSION"),
        kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
        state_directory: state_directory(usable),
        jobs,
        containment: levels(),
        evidence: evidence(),
        limits: Limits {
            open_files: getrlimit(Resource::Nofile).current,
            processes: getrlimit(Resource::Nproc).current,
        },
        pty: pty(),
        terminal: own_terminal(),
    };
    out.success(text(&findings), &findings)?;
    let usable = findings.state_directory.usable.works;
    Ok(if usable { Exit::Ok } else { Exit::ToolError })
}

/// Where jobs are kept, by the rule of the crate that keeps them.
fn state_path() -> Option<PathBuf> {
    let variable =
        |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("LEGWORK_STATE_DIR")
        .or_else(|| Some(variable("XDG_STATE_HOME")?.join("legwork")))
        .or_else(|| Some(variable("HOME")?.join(".local/state/legwork")))
}

fn state_directory(usable: Tried) -> StateDirectory {
    let path = state_path();
    let found = path.as_deref().and_then(|path| fs::symlink_metadata(path).ok());
    StateDirectory {
        exists: found.is_some(),
        mode: found.as_ref().map(|found| {
            format!("{:04o}, owner {}", found.permissions().mode() & 0o7777, found.uid())
        }),
        free_bytes: path.as_deref().and_then(free_bytes),
        path,
        usable,
    }
}

/// What is free where a path is, or would be made.
fn free_bytes(path: &Path) -> Option<u64> {
    let stat = path.ancestors().find_map(|path| rustix::fs::statvfs(path).ok())?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// Whether the place can be used, and how many jobs are there.
fn jobs() -> (Tried, Jobs) {
    let place = match place() {
        Ok(place) => place,
        Err(error) => {
            let why = Some(error.to_string());
            let jobs = Jobs { total: None, running: None, why_not: why.clone() };
            return (Tried { works: false, why_not: why }, jobs);
        }
    };
    let all = |states: Vec<State>| Filter { states, limit: Some(1), ..Filter::default() };
    let live = vec![State::Starting, State::Running, State::Stopping];
    let every = [live.clone(), vec![State::Ended, State::Lost, State::Elsewhere]].concat();
    let total = place.list(&all(every));
    let running = place.list(&all(live));
    let why_not = total.as_ref().err().map(ToString::to_string);
    let jobs = Jobs {
        total: total.as_ref().ok().map(|page| page.total),
        running: running.ok().map(|page| page.total),
        why_not,
    };
    (Tried::of(total), jobs)
}

/// Runs `true` under each level and looks at which was in force.
fn levels() -> Levels {
    let adopts = Tried::of(legwork::adopt_orphans());
    let level = |wanted: Containment| {
        let outcome = match cmd(["true"]).containment(wanted).capture() {
            Ok(outcome) => outcome,
            Err(error) => return Tried { works: false, why_not: Some(error.to_string()) },
        };
        let works = outcome.containment >= wanted;
        Tried { works, why_not: (!works).then(|| outcome.notes.join("; ")) }
    };
    Levels {
        marker: level(Containment::Marker),
        subreaper: if adopts.works { level(Containment::Subreaper) } else { adopts },
        cgroup: level(Containment::Cgroup),
    }
}

fn evidence() -> Evidence {
    let own = std::process::id();
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").ok();
    let ptrace_scope = scope.and_then(|text| text.trim().parse().ok());
    Evidence {
        children_list: Path::new(&format!("/proc/{own}/task/{own}/children")).exists(),
        ptrace_scope,
        // With 1 an ancestor may, and the supervisor is one.
        reads_descendants: ptrace_scope.is_none_or(|scope| scope <= 1)
            || rustix::process::geteuid().is_root(),
    }
}

fn pty() -> Tried {
    use rustix::pty::{OpenptFlags, grantpt, openpt, unlockpt};
    let opened = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC);
    let made = opened.and_then(|pty| grantpt(&pty).and_then(|()| unlockpt(&pty)));
    Tried::of(made)
}

fn own_terminal() -> OwnTerminal {
    OwnTerminal {
        stdin: std::io::stdin().is_terminal(),
        stdout: std::io::stdout().is_terminal(),
        stderr: std::io::stderr().is_terminal(),
        size: terminal::size().map(|size| format!("{}x{}", size.cols, size.rows)),
        term: std::env::var("TERM").ok(),
    }
}

fn text(found: &Findings) -> String {
    let tried = |tried: &Tried| match &tried.why_not {
        None => "yes".to_owned(),
        Some(why) => format!("no: {why}"),
    };
    let or = |value: Option<String>, absent: &str| value.unwrap_or_else(|| absent.to_owned());
    let number = |value: Option<u64>| or(value.map(|value| value.to_string()), "no limit");
    let yes = |is: bool| if is { "yes" } else { "no" };
    let state = &found.state_directory;
    let path = state.path.as_ref().map(|path| path.display().to_string());
    let count = |count: Option<usize>| or(count.map(|count| count.to_string()), "?");
    let terminal = &found.terminal;
    let scope = found.evidence.ptrace_scope.map(|scope| scope.to_string());
    let lines = [
        ("legwork", found.version.to_owned()),
        ("kernel", found.kernel.clone()),
        ("state directory", or(path, "none: set HOME or LEGWORK_STATE_DIR")),
        ("  usable", tried(&state.usable)),
        ("  mode", or(state.mode.clone(), "not made yet")),
        ("  free", or(state.free_bytes.map(shown_bytes), "?")),
        (
            "jobs",
            format!("{} running, {} in all", count(found.jobs.running), count(found.jobs.total)),
        ),
        ("containment", String::new()),
        ("  marker", tried(&found.containment.marker)),
        ("  subreaper", tried(&found.containment.subreaper)),
        ("  cgroup", tried(&found.containment.cgroup)),
        ("evidence", String::new()),
        ("  list of children", yes(found.evidence.children_list).to_owned()),
        ("  reads descendants", yes(found.evidence.reads_descendants).to_owned()),
        ("  ptrace scope", or(scope, "no Yama")),
        ("open files", number(found.limits.open_files)),
        ("processes", number(found.limits.processes)),
        ("pty", tried(&found.pty)),
        (
            "terminal",
            format!(
                "stdin {}, stdout {}, stderr {}{}{}",
                yes(terminal.stdin),
                yes(terminal.stdout),
                yes(terminal.stderr),
                terminal.size.as_ref().map(|size| format!(", {size}")).unwrap_or_default(),
                terminal.term.as_ref().map(|term| format!(", TERM={term}")).unwrap_or_default(),
            ),
        ),
    ];
    let line = |(name, value): (&str, String)| format!("{name:<20} {value}").trim_end().to_owned();
    lines.into_iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_that_works_is_in_force_and_one_that_does_not_says_why() {
        let levels = levels();
        assert!(levels.marker.works, "{levels:?}");
        assert_eq!(levels.cgroup.works, levels.cgroup.why_not.is_none());
    }

    #[test]
    fn free_space_is_known_before_the_directory_is_made() {
        let scratch = tempfile::tempdir().unwrap();
        assert!(free_bytes(&scratch.path().join("not/yet")).is_some());
    }

    #[test]
    fn a_terminal_can_be_opened() {
        assert!(pty().works || pty().why_not.is_some());
    }
}
