//! Front ends and supervisors killed at random, under load; then one look.
//!
//! `LEGWORK_KILLS` says how many; a thousand, unless said.

use std::collections::HashMap;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use legwork_job::{Filter, JobId, Place};

use super::seen::{Dice, everyone, folders, front_end, supervisors, zombies};
use crate::support::Jobs;

/// Each starts front ends and kills them.
const STARTERS: usize = 3;

/// More live jobs than that are not started: the machine has other things to do.
const AT_ONCE: usize = 32;

/// What was given out under a cursor.
type Given = HashMap<JobId, Vec<(u64, Vec<u8>)>>;

struct Riot<'a> {
    jobs: &'a Jobs,
    program: String,
    wanted: usize,
    front_ends: AtomicUsize,
    supervisors: AtomicUsize,
    alive: AtomicUsize,
    given: Mutex<Given>,
}

impl Riot<'_> {
    fn is_over(&self) -> bool {
        self.front_ends.load(Ordering::Relaxed) + self.supervisors.load(Ordering::Relaxed)
            >= self.wanted
    }

    /// Starts front ends, and kills them somewhere on their way.
    fn start(&self, mut dice: Dice) {
        let state = self.jobs.state();
        while !self.is_over() {
            if self.alive.load(Ordering::Relaxed) > AT_ONCE {
                std::thread::sleep(Duration::from_millis(1));
                continue;
            }
            // Some leave a daemon behind that has got away from them.
            let line = match dice.below(4) {
                0 => format!("setsid sleep 300 & exec {} numbers", self.program),
                _ => format!("exec {} numbers", self.program),
            };
            let mut front_end = front_end(&state)
                .args(["jobs", "start-for-ever"])
                .arg(&state)
                .arg(line)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            std::thread::sleep(Duration::from_micros(dice.below(40_000)));
            front_end.kill().unwrap();
            front_end.wait().unwrap();
            self.front_ends.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn kill_supervisors(&self, mut dice: Dice) {
        let state = self.jobs.state();
        while !self.is_over() {
            let there = supervisors(&state);
            self.alive.store(there.len(), Ordering::Relaxed);
            for _ in 0..there.len().div_ceil(8) {
                let one = there[dice.below(there.len() as u64) as usize];
                if testkit::is_alive(one) {
                    drop(testkit::Victim(one));
                    self.supervisors.fetch_add(1, Ordering::Relaxed);
                }
            }
            std::thread::sleep(Duration::from_micros(dice.below(4_000)));
        }
    }

    /// Reads on where it was, as a caller does that follows a job, and remembers what it got.
    fn read(&self, mut dice: Dice) {
        let place = self.jobs.again();
        let mut cursors: HashMap<JobId, u64> = HashMap::new();
        while !self.is_over() {
            let ids: Vec<JobId> =
                folders(&self.jobs.state()).iter().filter_map(|id| id.parse().ok()).collect();
            for _ in 0..16.min(ids.len()) {
                let id = ids[dice.below(ids.len() as u64) as usize];
                let cursor = cursors.entry(id).or_default();
                // One that is being born has no log yet.
                let Ok(piece) = place.bytes(id, *cursor, 16 * 1024) else { continue };
                if !piece.bytes.is_empty() {
                    *cursor = piece.next;
                    let mut given = self.given.lock().unwrap();
                    given.entry(id).or_default().push((piece.cursor, piece.bytes));
                }
            }
        }
    }
}

/// How many bytes read differently now, and how many were compared. Those that were dropped since
/// are not lost: that is said.
fn compare(jobs: &Jobs, given: &Given) -> (usize, usize) {
    let (mut lost, mut compared) = (0, 0);
    for (id, pieces) in given {
        for (cursor, bytes) in pieces {
            let now = jobs.place.bytes(*id, *cursor, bytes.len()).unwrap();
            let gone = (now.dropped as usize).min(bytes.len());
            let same = &bytes[gone..];
            let length = same.len().min(now.bytes.len());
            lost += same.len() - length;
            lost += same.iter().zip(&now.bytes).filter(|(one, other)| one != other).count();
            compared += length;
        }
    }
    (lost, compared)
}

/// The numbered lines of each job, as they were given out, follow one another.
fn assert_in_order(given: &Given) {
    for pieces in given.values() {
        for (_, bytes) in pieces {
            let text = String::from_utf8_lossy(bytes);
            let numbers: Vec<u64> = text
                .split_inclusive('\n')
                .filter(|line| line.len() == 16 && line.starts_with("line "))
                .filter_map(|line| line[5..15].parse().ok())
                .collect();
            assert!(numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{text}");
        }
    }
}

#[test]
fn after_a_thousand_kills_one_look_finds_everything_in_order() {
    let jobs = Jobs::new();
    let wanted = std::env::var("LEGWORK_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(1000);
    let riot = Riot {
        jobs: &jobs,
        program: testkit::misbehave().display().to_string(),
        wanted,
        front_ends: AtomicUsize::new(0),
        supervisors: AtomicUsize::new(0),
        alive: AtomicUsize::new(0),
        given: Mutex::default(),
    };
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let riot = &riot;
        for _ in 0..STARTERS {
            scope.spawn(move || riot.start(Dice::new()));
        }
        scope.spawn(move || riot.kill_supervisors(Dice::new()));
        scope.spawn(move || riot.read(Dice::new()));
        scope.spawn(move || riot.read(Dice::new()));
    });
    let state = jobs.state();
    // The last ones are killed too, and those that were just being born have ended by themselves.
    testkit::wait_until("the last supervisors", || {
        let left = supervisors(&state);
        left.iter().for_each(|pid| drop(testkit::Victim(*pid)));
        left.is_empty()
    });
    let rioted = begun.elapsed();
    let page = jobs.place.list(&Filter::default()).unwrap();
    let looked = begun.elapsed() - rioted;
    let running = page.jobs.iter().filter(|job| job.running).count();
    let given = riot.given.into_inner().unwrap();
    let (lost, compared) = compare(&jobs, &given);
    let (zombies, unowned, unreadable) = (zombies(), everyone(&state).len(), page.unreadable.len());
    println!(
        "{} kills of front ends and {} of supervisors in {rioted:?}, {} jobs, looked in {looked:?}, \
         {compared} bytes compared",
        riot.front_ends.into_inner(),
        riot.supervisors.into_inner(),
        page.total,
    );
    println!(
        "{wanted} kills: {zombies} zombies, {unowned} unowned, {unreadable} unreadable, {lost} lost bytes"
    );
    assert_eq!((zombies, unowned, unreadable, lost, running), (0, 0, 0, 0, 0));
    assert_eq!(page.total, folders(&state).len(), "no folder without a record");
    assert!(compared > 0 && page.total > 0);
    assert_in_order(&given);
}
