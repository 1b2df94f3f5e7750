//! Who belongs to a run, and how all of them are ended.
//!
//! What works, measured: signal the group, then everyone else one by one through pidfds, look
//! again, until two looks in a row find nobody. What does not: stopping everyone first (slow),
//! or trusting a pid that was read a moment ago (it may be another's by now).

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

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

fn live() -> MutexGuard<'static, Vec<LiveRun>> {
    LIVE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Who was found of a run.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Everyone who certainly belongs to it and lives.
    pub(crate) members: Vec<Seen>,
    /// Orphans that belong to this run or to another one that is under way: which cannot be told,
    /// so they are shown and not touched.
    pub(crate) unclear: Vec<Seen>,
}

/// Whose this process's descendants are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Household {
    /// Of many: this is a guest in somebody's program.
    Shared,
    /// Of this run, all of them: this process is a supervisor and does nothing else.
    Sole,
}

/// The first argument of a process that is the supervisor of a job. A job outlives whoever started
/// it, so it is not ended with a tree that it happens to hang in.
pub(crate) const SUPERVISOR: &str = "__supervise";

/// The containment of one run.
#[derive(Debug)]
pub(crate) struct Tree {
    id: String,
    level: Containment,
    household: Household,
    cgroup: Option<Cgroup>,
    /// The process groups that belong to this run alone, by the pids of their leaders.
    groups: Vec<i32>,
    /// When the first leader started, where that had to be asked.
    since: Option<u64>,
}

impl Tree {
    fn new(id: String, level: Containment, household: Household) -> Tree {
        Tree { id, level, household, cgroup: None, groups: Vec::new(), since: None }
    }

    /// Of the one run that this process is there for. Orphans come back to it, so whoever belongs
    /// to the run hangs below it, whatever they have done to hide.
    pub(crate) fn sole(id: String) -> Tree {
        Tree::new(id, Containment::Subreaper, Household::Sole)
    }

    /// The best containment up to `wanted` that can be had, and why it is not more.
    pub(crate) fn prepare(wanted: Containment, id: String) -> (Tree, Option<String>) {
        let mut tree = Tree::new(id, wanted, Household::Shared);
        let mut note = None;
        if wanted == Containment::Cgroup {
            match Cgroup::create(&tree.id) {
                Ok(cgroup) => tree.cgroup = Some(cgroup),
                Err(error) => {
                    note = Some(format!("no cgroup: {error}"));
                    tree.level =
                        if adopting() { Containment::Subreaper } else { Containment::Marker };
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
    pub(crate) fn marker(&self, inherited: Option<&OsStr>) -> Option<OsString> {
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

    /// Starts a leader. While orphans are adopted, nobody may look at this process's children
    /// between its birth and its registration: it would be taken for an orphan.
    pub(crate) fn birth<E>(
        &mut self,
        leads_group: bool,
        spawn: impl FnOnce(Option<&Cgroup>) -> Result<Leader, E>,
    ) -> Result<Leader, E> {
        let adopting = adopting();
        let lock = adopting.then(live);
        let leader = spawn(self.cgroup.as_ref())?;
        let pid = raw(&leader);
        if leads_group {
            self.groups.push(pid);
        }
        if adopting && self.since.is_none() {
            self.since = proc::stat(pid).map(|stat| stat.start_ticks);
        }
        // Registered in any case: the host may begin to adopt orphans while this runs.
        let mut live = lock.unwrap_or_else(live);
        match live.iter_mut().find(|run| run.id == self.id) {
            Some(run) => run.leaders.push(pid),
            None => {
                let since = self.since.unwrap_or(0);
                live.push(LiveRun { id: self.id.clone(), leaders: vec![pid], since });
            }
        }
        Ok(leader)
    }

    /// Whether it is worth looking for survivors after an ordinary end: what can be told with a
    /// system call or two. The leaders have been collected.
    pub(crate) fn may_have_survivors(&self) -> bool {
        match (&self.cgroup, self.level) {
            _ if self.household == Household::Sole => !proc::children_of_this_process().is_empty(),
            (Some(cgroup), _) => cgroup.members().is_ok_and(|members| !members.is_empty()),
            (None, Containment::Subreaper) if !proc::children_of_this_process().is_empty() => true,
            (None, _) => self.groups.iter().any(|group| process::group_exists(*group)),
        }
    }

    /// Everyone of the run who lives, leaders included.
    ///
    /// # Errors
    /// Where the system did not let us look; then nothing is known.
    pub(crate) fn seek(&self, leaders: &[Leader]) -> io::Result<Found> {
        self.seek_from(None, leaders)
    }

    /// The same, for a run whose first process is known though it is no child of ours.
    fn seek_from(&self, first: Option<Seen>, leaders: &[Leader]) -> io::Result<Found> {
        if let Some(cgroup) = &self.cgroup {
            return Ok(Found { members: cgroup.members()?, unclear: Vec::new() });
        }
        if self.household == Household::Sole {
            return descendants(leaders);
        }
        let all = proc::all()?;
        let held: Vec<i32> = leaders.iter().filter(|leader| leader.is_held()).map(raw).collect();
        let host = Host::this();
        // Nobody of the run is older than its first leader.
        let oldest = all.iter().filter(|s| held.contains(&s.pid)).map(|s| s.start_ticks).min();
        let since = self.since.or(oldest).unwrap_or(0);

        let candidates: Vec<Stat> =
            all.into_iter().filter(|s| s.start_ticks >= since && s.pid != host.pid).collect();
        let mut member: Vec<bool> = candidates
            .iter()
            .map(|s| {
                held.contains(&s.pid) || self.groups.contains(&s.group) || first == Some(s.seen())
            })
            .collect();
        close(&candidates, &mut member, host.session);
        let mut unclear = Vec::new();
        if self.level >= Containment::Marker {
            for (candidate, member) in candidates.iter().zip(&mut member) {
                if !*member && !candidate.is_zombie() {
                    *member = proc::has_token(candidate.pid, MARKER, &self.id)?;
                }
            }
            if self.level == Containment::Subreaper {
                unclear = self.claim_orphans(&candidates, &mut member, host)?;
            }
            close(&candidates, &mut member, host.session);
        }
        let lives = candidates.iter().zip(&member).filter(|(s, member)| **member && !s.is_zombie());
        Ok(Found { members: lives.map(|(stat, _)| stat.seen()).collect(), unclear })
    }

    /// Orphans that came back to this process and can only be this run's become members; the
    /// others are told.
    fn claim_orphans(
        &self,
        candidates: &[Stat],
        member: &mut [bool],
        host: Host,
    ) -> io::Result<Vec<Seen>> {
        let live = live();
        let mut unclear = Vec::new();
        for (candidate, member) in candidates.iter().zip(member) {
            if *member || candidate.is_zombie() || !is_foster_child(candidate, host, &live) {
                continue;
            }
            let mut unclaimed = true;
            let mut rivals = false;
            for run in live.iter().filter(|run| run.id != self.id) {
                unclaimed &= !proc::has_token(candidate.pid, MARKER, &run.id)?;
                rivals |= run.since <= candidate.start_ticks;
            }
            if unclaimed && rivals {
                unclear.push(candidate.seen());
            } else if unclaimed {
                *member = true;
            }
        }
        Ok(unclear)
    }

    /// Sends a signal to everyone who lives, and tells who that was.
    ///
    /// # Errors
    /// Where only the groups and the leaders could be reached, because the system did not let us
    /// look for the others.
    pub(crate) fn signal(&self, leaders: &[Leader], signal: Signal) -> io::Result<Found> {
        let held = || leaders.iter().filter(|leader| leader.is_held());
        for leader in held() {
            if self.groups.contains(&raw(leader)) {
                leader.signal_group(signal);
            } else {
                leader.signal(signal);
            }
        }
        let groups: Vec<i32> = held().map(raw).filter(|pid| self.groups.contains(pid)).collect();
        let found = self.seek(leaders)?;
        for seen in &found.members {
            let reached = held().any(|leader| raw(leader) == seen.pid)
                || proc::stat(seen.pid).is_none_or(|stat| groups.contains(&stat.group));
            if !reached {
                process::signal_seen(seen, signal);
            }
        }
        Ok(found)
    }

    /// Asks everyone to end. A stopped process is continued, so that it can.
    pub(crate) fn ask(&self, leaders: &[Leader], signal: Signal) -> io::Result<()> {
        let asked = self.signal(leaders, signal);
        let continued = self.signal(leaders, Signal::CONT);
        asked.and(continued).map(drop)
    }

    /// Kills everyone that can be seen now, and tells who that was. To be repeated until nobody is
    /// seen.
    pub(crate) fn kill(&self, leaders: &[Leader]) -> io::Result<Found> {
        if let Some(cgroup) = &self.cgroup {
            cgroup.kill();
        }
        if self.household == Household::Sole {
            kill_children(leaders);
        }
        self.signal(leaders, Signal::KILL)
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        live().retain(|run| run.id != self.id);
        collect_orphans();
    }
}

/// What is left of a run whose process was killed: found by the id that its processes carry, and by
/// its first process, where that is still the one that was started.
#[derive(Debug, Clone)]
pub(crate) struct Remnant {
    pub(crate) marker: String,
    /// Pid and start time.
    pub(crate) leader: Option<Seen>,
}

impl Remnant {
    /// Kills everyone of it, until two looks find nobody, or for so many rounds. Who was killed.
    pub(crate) fn end(&self) -> io::Result<Vec<Seen>> {
        const ROUNDS: u32 = 200;
        let mut tree = Tree::new(self.marker.clone(), Containment::Marker, Household::Shared);
        // Nobody of it is older than its first process. Where that is not known, everybody is
        // looked at, which costs by the size of the machine.
        tree.since = self.leader.map(|leader| leader.start_ticks);
        let mut killed: Vec<Seen> = Vec::new();
        let mut empty_looks = 0;
        for _ in 0..ROUNDS {
            let found = tree.seek_from(self.leader, &[])?;
            empty_looks = if found.members.is_empty() { empty_looks + 1 } else { 0 };
            if empty_looks == 2 {
                break;
            }
            for seen in &found.members {
                process::signal_seen(seen, Signal::KILL);
                if !killed.contains(seen) {
                    killed.push(*seen);
                }
            }
            if !found.members.is_empty() {
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
        }
        Ok(killed)
    }
}

/// Kills the children of this process, and what comes back to it as their orphans, as fast as they
/// come: a chain that forks and ends every half millisecond is never caught by looking at it first.
/// Bounded, so that the loop around it goes on.
fn kill_children(leaders: &[Leader]) {
    const ROUNDS: u32 = 200;
    for leader in leaders.iter().filter(|leader| leader.is_held()) {
        leader.signal_group(Signal::KILL);
        leader.signal(Signal::KILL);
    }
    // Leaders are collected elsewhere; supervisors of other jobs are not ours.
    let mut spared: HashSet<i32> = leaders.iter().map(raw).collect();
    for _ in 0..ROUNDS {
        // Without the ended ones the list is short, and read in less time than one of them lives.
        collect_children(leaders);
        let mut children = proc::pids_of_children();
        children.retain(|pid| !spared.contains(pid));
        if children.is_empty() {
            return;
        }
        // The newest first: those before them may have ended since.
        for pid in children.into_iter().rev() {
            if proc::first_argument_is(pid, SUPERVISOR) {
                spared.insert(pid);
            } else {
                process::kill_child(pid);
            }
        }
    }
}

/// Collects every ended child of this process that is no leader. For a process all of whose
/// children are its one run's.
pub(crate) fn collect_children(leaders: &[Leader]) {
    // By number alone: they are ours until we collect them, and a storm leaves ten thousand a second.
    for pid in proc::pids_of_children() {
        if !leaders.iter().any(|leader| raw(leader) == pid) {
            process::reap_child(pid);
        }
    }
}

/// Everyone below this process who lives, but for supervisors of other jobs and their jobs. Ended
/// orphans are collected on the way.
fn descendants(leaders: &[Leader]) -> io::Result<Found> {
    collect_children(leaders);
    let mut members = Vec::new();
    proc::descend(std::process::id() as i32, &mut |stat| {
        // A supervisor leads a session of its own.
        if stat.session == stat.pid && proc::first_argument_is(stat.pid, SUPERVISOR) {
            return false;
        }
        if !stat.is_zombie() {
            members.push(stat.seen());
        }
        true
    })?;
    Ok(Found { members, unclear: Vec::new() })
}

fn adopting() -> bool {
    ADOPTING.load(Ordering::Acquire) && process::adopts_orphans()
}

fn raw(leader: &Leader) -> i32 {
    leader.pid().as_raw_nonzero().get()
}

/// This process, as the others are compared with it.
#[derive(Debug, Clone, Copy)]
struct Host {
    pid: i32,
    group: i32,
    session: i32,
}

impl Host {
    fn this() -> Host {
        let (group, session) = process::own_group_and_session();
        Host { pid: std::process::id() as i32, group, session }
    }
}

/// Collects ended foster children of this process.
pub(crate) fn collect_orphans() {
    if !adopting() {
        return;
    }
    let live = live();
    for orphan in proc::children_of_this_process() {
        if orphan.is_zombie()
            && is_foster_child(&orphan, Host::this(), &live)
            && let Some(pidfd) = process::foster_child(orphan.pid)
        {
            process::reap_foster_child(pidfd.as_fd());
        }
    }
}

/// A child of this process that nobody here started.
fn is_foster_child(stat: &Stat, host: Host, live: &[LiveRun]) -> bool {
    stat.parent == host.pid
        && stat.group != host.group
        && !live.iter().any(|run| run.leaders.contains(&stat.pid))
}

/// Widens a set of members to their descendants and to everyone in a session of theirs. A session
/// can only be entered by being born in it, so unless it is the host's own, all of it is theirs.
fn close(all: &[Stat], member: &mut [bool], host_session: i32) {
    let mut pids = HashSet::new();
    let mut sessions = HashSet::new();
    loop {
        for (stat, _) in all.iter().zip(member.iter()).filter(|(_, member)| **member) {
            pids.insert(stat.pid);
            if stat.session != host_session && stat.session > 0 {
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
        Stat { pid, state: b'S', parent, group, session, start_ticks: 0 }
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
        close(&all, &mut member, 10);
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
