//! Who belongs to a run, and how all of them are ended.
//!
//! What works, measured: signal the group, then everyone else one by one through pidfds, look
//! again, until two looks in a row find nobody. What does not: stopping everyone first (slow),
//! or trusting a pid that was read a moment ago (it may be another's by now).

use std::collections::HashSet;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::options::Containment;
use crate::signal::Signal;
use crate::sys::cgroup::Cgroup;
use crate::sys::proc::{self, Seen, Stat};
use crate::sys::process::{self, Leader};

/// The variable that carries the ids of the runs a process belongs to, outermost first.
pub(crate) const MARKER: &str = "LEGWORK_RUN";

/// Makes orphans of this process's descendants come back to it instead of to init, so that
/// [`Containment::Subreaper`] can find them, whatever they have done to hide.
///
/// This is process-wide, and so for a program to decide, never for a library: after it, a child of
/// this process that lives in a process group of its own and that legwork did not start is taken
/// for an orphan, collected when it ends, and ended with the run it can only belong to. A program
/// that starts such children by other means must not call this.
///
/// # Errors
/// Where the kernel refuses.
///
/// ```no_run
/// use legwork::prelude::*;
/// legwork::adopt_orphans()?;
/// let outcome = cmd(["./build"]).containment(Containment::Subreaper).run()?;
/// assert_eq!(outcome.containment, Containment::Subreaper);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn adopt_orphans() -> io::Result<()> {
    process::adopt_orphans()?;
    ADOPTING.store(true, Ordering::Release);
    Ok(())
}

/// Whether [`adopt_orphans`] was called. The kernel's flag alone is not enough: a supervisor that
/// set it for itself has not given us leave to collect its children.
static ADOPTING: AtomicBool = AtomicBool::new(false);

/// The runs that are under way while orphans are adopted, so that an orphan can be attributed and
/// a leader is not taken for one.
static LIVE: Mutex<Vec<LiveRun>> = Mutex::new(Vec::new());

#[derive(Debug)]
struct LiveRun {
    id: String,
    leaders: Vec<i32>,
    /// When its first leader started, in ticks.
    since: u64,
}

fn live() -> std::sync::MutexGuard<'static, Vec<LiveRun>> {
    LIVE.lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The containment of one run.
#[derive(Debug)]
pub(crate) struct Tree {
    id: String,
    level: Containment,
    cgroup: Option<Cgroup>,
    /// Whether the first leader leads a process group of this run alone.
    own_group: bool,
    registered: bool,
}

impl Tree {
    /// The best containment up to `wanted` that can be had, and why it is not more.
    pub(crate) fn prepare(wanted: Containment, id: String) -> (Tree, Option<String>) {
        let mut tree = Tree {
            id,
            level: wanted,
            cgroup: None,
            own_group: false,
            registered: false,
        };
        let mut note = None;
        if wanted == Containment::Cgroup {
            match Cgroup::create(&tree.id) {
                Ok(cgroup) => tree.cgroup = Some(cgroup),
                Err(error) => {
                    note = Some(format!("no cgroup: {error}"));
                    tree.level = if adopting() {
                        Containment::Subreaper
                    } else {
                        Containment::Marker
                    };
                }
            }
        } else if wanted == Containment::Subreaper && !adopting() {
            note = Some("no subreaper: this process has not called legwork::adopt_orphans".into());
            tree.level = Containment::Marker;
        }
        (tree, note)
    }

    pub(crate) fn level(&self) -> Containment {
        self.level
    }

    pub(crate) fn cgroup(&self) -> Option<&Cgroup> {
        self.cgroup.as_ref()
    }

    /// For whoever keeps it until its survivors are gone.
    pub(crate) fn take_cgroup(&mut self) -> Option<Cgroup> {
        self.cgroup.take()
    }

    /// The value of [`MARKER`] for its processes, given the one that this process has itself;
    /// `None` where the level leaves the variable alone.
    pub(crate) fn marker(&self, inherited: Option<&std::ffi::OsStr>) -> Option<std::ffi::OsString> {
        if self.level == Containment::Group {
            return None;
        }
        let mut value = inherited.unwrap_or_default().to_owned();
        if !value.is_empty() {
            value.push(":");
        }
        value.push(&self.id);
        Some(value)
    }

    /// The first leader has started.
    pub(crate) fn started(&mut self, leaders: &[Leader], own_group: bool) {
        self.own_group = own_group;
        if !adopting() {
            return;
        }
        let pids: Vec<i32> = leaders.iter().map(raw).collect();
        let mut live = live();
        match live.iter_mut().find(|run| run.id == self.id) {
            Some(run) => run.leaders = pids,
            None => {
                let since = pids.first().and_then(|pid| proc::stat(*pid));
                let since = since.map_or(0, |stat| stat.start_ticks);
                live.push(LiveRun {
                    id: self.id.clone(),
                    leaders: pids,
                    since,
                });
            }
        }
        self.registered = true;
    }

    /// Whether it is worth looking for survivors after an ordinary end: what can be told with a
    /// system call or two. The leaders have been collected.
    pub(crate) fn may_have_survivors(&self, first: i32) -> bool {
        match (&self.cgroup, self.level) {
            (Some(cgroup), _) => !cgroup.members().is_empty(),
            (None, Containment::Subreaper) if !proc::children_of_this_process().is_empty() => true,
            (None, _) => self.own_group && process::group_exists(first),
        }
    }

    /// Those who live on after the leaders have been collected. The group's number cannot have
    /// been given to others while it has members.
    pub(crate) fn survivors(&self, first: i32) -> Vec<Seen> {
        match &self.cgroup {
            Some(cgroup) => cgroup.members(),
            None => self.seek(&[], first),
        }
    }

    /// Everyone of the run who lives, leaders included.
    pub(crate) fn members(&self, leaders: &[Leader]) -> Vec<Seen> {
        if let Some(cgroup) = &self.cgroup {
            return cgroup.members();
        }
        let held: Vec<i32> = leaders.iter().filter(|l| l.is_held()).map(raw).collect();
        self.seek(&held, leaders.first().map_or(0, raw))
    }

    /// Looks through all processes for those of the run: the held leaders, the first leader's
    /// group, and whoever the level adds.
    fn seek(&self, held: &[i32], first: i32) -> Vec<Seen> {
        let all = proc::all();
        let own_pid = std::process::id() as i32;
        let host = all.iter().find(|stat| stat.pid == own_pid).copied();
        // Nobody of the run is older than its first leader.
        let since = all
            .iter()
            .filter(|stat| held.contains(&stat.pid))
            .map(|stat| stat.start_ticks);
        let since = since.min().unwrap_or(0);

        let candidates: Vec<Stat> = all
            .into_iter()
            .filter(|s| s.start_ticks >= since && s.pid != own_pid)
            .collect();
        let mut member: Vec<bool> = candidates
            .iter()
            .map(|s| held.contains(&s.pid) || (self.own_group && s.group == first))
            .collect();
        close(&candidates, &mut member, host.map(|host| host.session));
        if self.level >= Containment::Marker {
            for (candidate, member) in candidates.iter().zip(&mut member) {
                *member |= !candidate.is_zombie()
                    && !*member
                    && proc::has_token(candidate.pid, MARKER, &self.id);
            }
            if let (Containment::Subreaper, Some(host)) = (self.level, host) {
                self.claim_orphans(&candidates, &mut member, host);
            }
            close(&candidates, &mut member, host.map(|host| host.session));
        }
        candidates
            .iter()
            .zip(&member)
            .filter(|(stat, member)| **member && !stat.is_zombie())
            .map(|(stat, _)| stat.seen())
            .collect()
    }

    /// Orphans that came back to this process and can only be this run's.
    fn claim_orphans(&self, candidates: &[Stat], member: &mut [bool], host: Stat) {
        let live = live();
        for (candidate, member) in candidates.iter().zip(member) {
            if *member || candidate.is_zombie() || !is_foster_child(candidate, host, &live) {
                continue;
            }
            let other = |run: &&LiveRun| run.id != self.id && run.since <= candidate.start_ticks;
            *member = !live.iter().any(|run| other(&run));
        }
    }

    /// Asks everyone to end. A stopped process is continued, so that it can.
    pub(crate) fn ask(&self, leaders: &[Leader], signal: Signal) {
        let Some(first) = leaders.first() else {
            return;
        };
        let by_group = self.own_group && first.is_held();
        if by_group {
            first.signal_group(signal);
        } else {
            for leader in leaders {
                leader.signal(signal);
            }
        }
        for seen in self.others(leaders) {
            process::signal_seen(&seen, signal);
        }
        if by_group && signal != Signal::KILL {
            first.signal_group(Signal::CONT);
        }
    }

    /// Kills everyone that can be seen now. To be repeated until nobody is seen.
    pub(crate) fn kill(&self, leaders: &[Leader]) {
        if let Some(cgroup) = &self.cgroup {
            cgroup.kill();
        }
        self.ask(leaders, Signal::KILL);
    }

    /// Those whom signalling the group or the leaders does not reach.
    fn others(&self, leaders: &[Leader]) -> Vec<Seen> {
        let first = leaders.first().map(raw);
        let reached = |seen: &Seen| {
            let by_group = self.own_group
                && leaders.first().is_some_and(Leader::is_held)
                && proc::stat(seen.pid).is_none_or(|stat| Some(stat.group) == first);
            by_group || leaders.iter().any(|leader| raw(leader) == seen.pid)
        };
        self.members(leaders)
            .into_iter()
            .filter(|seen| !reached(seen))
            .collect()
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        if self.registered {
            live().retain(|run| run.id != self.id);
            collect_orphans();
        }
    }
}

fn adopting() -> bool {
    ADOPTING.load(Ordering::Acquire) && process::adopts_orphans()
}

fn raw(leader: &Leader) -> i32 {
    leader.pid().as_raw_nonzero().get()
}

/// Collects ended foster children of this process.
pub(crate) fn collect_orphans() {
    if !adopting() {
        return;
    }
    let Some(host) = proc::stat(std::process::id() as i32) else {
        return;
    };
    let live = live();
    for orphan in proc::children_of_this_process() {
        if orphan.is_zombie() && is_foster_child(&orphan, host, &live) {
            process::reap_foster_child(orphan.pid);
        }
    }
}

/// A child of this process that nobody here started.
fn is_foster_child(stat: &Stat, host: Stat, live: &[LiveRun]) -> bool {
    stat.parent == host.pid
        && stat.group != host.group
        && !live.iter().any(|run| run.leaders.contains(&stat.pid))
}

/// Widens a set of members to their descendants and to everyone in a session of theirs. A session
/// can only be entered by being born in it, so unless it is the host's own, all of it is theirs.
fn close(all: &[Stat], member: &mut [bool], host_session: Option<i32>) {
    let mut pids = HashSet::new();
    let mut sessions = HashSet::new();
    loop {
        for (stat, _) in all.iter().zip(member.iter()).filter(|(_, member)| **member) {
            pids.insert(stat.pid);
            if Some(stat.session) != host_session && stat.session > 0 {
                sessions.insert(stat.session);
            }
        }
        let mut grown = false;
        for (stat, member) in all.iter().zip(member.iter_mut()) {
            if !*member && (pids.contains(&stat.parent) || sessions.contains(&stat.session)) {
                *member = true;
                grown = true;
            }
        }
        if !grown {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(pid: i32, parent: i32, group: i32, session: i32) -> Stat {
        Stat {
            pid,
            state: b'S',
            parent,
            group,
            session,
            start_ticks: 0,
        }
    }

    #[test]
    fn descendants_and_their_sessions_belong_but_not_the_hosts() {
        let all = [
            stat(10, 1, 10, 10),  // the host
            stat(11, 10, 10, 10), // the host's other child
            stat(20, 10, 20, 10), // the leader
            stat(21, 20, 20, 10), // its child
            stat(22, 21, 22, 22), // a grandchild with a session of its own
            stat(23, 1, 22, 22),  // an orphan born in that session
            stat(24, 23, 24, 22), // and its child
            stat(30, 1, 30, 30),  // a stranger
        ];
        let mut member = vec![false, false, true, false, false, false, false, false];
        close(&all, &mut member, Some(10));
        assert_eq!(member, [false, false, true, true, true, true, true, false]);
    }

    #[test]
    fn markers_of_nested_runs_add_up() {
        let (tree, _) = Tree::prepare(Containment::Marker, "b2".into());
        assert_eq!(tree.marker(Some("a1".as_ref())).unwrap(), "a1:b2");
        assert_eq!(tree.marker(None).unwrap(), "b2");
        let (tree, _) = Tree::prepare(Containment::Group, "c3".into());
        assert_eq!(tree.marker(None), None);
    }
}
