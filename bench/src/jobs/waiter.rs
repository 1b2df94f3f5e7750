//! Row 7: who waits for a job costs nothing meanwhile, and learns of its end at once.

use std::io::Write as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use legwork_job::{JobSpec, Place as _};
use rustix::time::{ClockId, clock_gettime};

use super::ground::{Ground, Supervisor};
use super::library::{for_exit, succeeded};
use super::processes::{self, Activity};
use super::{Contender, compare};
use crate::Failure;
use crate::report::{Bar, Line, Unit};
use crate::rounds::Options;

/// How long a job lives, so that somebody waits for it when it ends.
const LIFE_MS: &str = "25";

/// Before a waiter counts as waiting.
const SETTLED: Duration = Duration::from_millis(500);

/// How long it is watched.
const WATCHED: Duration = Duration::from_secs(2);

/// How many are watched at once.
const WAITERS: usize = 8;

fn nanoseconds() -> i128 {
    let now = clock_gettime(ClockId::Monotonic);
    i128::from(now.tv_sec) * 1_000_000_000 + i128::from(now.tv_nsec)
}

/// The job: lives for a while, and says when it ends as the last thing that it does.
pub(crate) fn tell_time(milliseconds: &str) -> Result<(), Failure> {
    std::thread::sleep(Duration::from_millis(milliseconds.parse()?));
    let mut stdout = std::io::stdout();
    writeln!(stdout, "{}", nanoseconds())?;
    Ok(())
}

pub(super) fn row(ground: &Ground, options: Options) -> Result<Vec<Line>, Failure> {
    let mut lines = wake_ups(ground, options)?;
    lines.extend(idleness(ground)?);
    Ok(lines)
}

fn wake_ups(ground: &Ground, options: Options) -> Result<Vec<Line>, Failure> {
    let place = ground.place("wake-ups", Supervisor::Legwork)?;
    let program = std::env::current_exe()?;
    let since = |told: &str| -> Result<f64, Failure> {
        let now = nanoseconds();
        Ok((now - told.trim().parse::<i128>()?) as f64 / 1e9)
    };
    let bare = || {
        let mut command = Command::new(&program);
        let output = command.args(["tell-time", LIFE_MS]).stdin(Stdio::null()).output()?;
        since(&String::from_utf8(output.stdout)?)
    };
    let spec = JobSpec::argv([program.as_os_str(), "tell-time".as_ref(), LIFE_MS.as_ref()]);
    let job = || {
        let id = place.start(&spec)?.id;
        let waited = place.wait(&for_exit(id))?;
        let report = &waited.first().ok_or("nothing was waited for")?.report;
        let seconds = since(report.output.as_deref().unwrap_or_default())?;
        succeeded(report)?;
        Ok(seconds)
    };
    let contenders = [
        Contender::new("std, output", &bare),
        Contender::new("legwork-job, wait", &job).bar(Bar::AtMost(0.002)),
    ];
    compare("7 from the end to who waits", options.rounds(200), &contenders)
}

/// Waiters, ended at the latest when they are dropped.
struct Waiters(Vec<Child>);

impl Drop for Waiters {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// What waiters and supervisors do while nothing happens.
fn idleness(ground: &Ground) -> Result<Vec<Line>, Failure> {
    let place = ground.place("idleness", Supervisor::Legwork)?;
    let state = place.state_dir().path();
    let row = "7 while it waits, two seconds";
    eprintln!("{row}");
    let life = SETTLED + WATCHED + Duration::from_secs(60);
    let mut spec = JobSpec::argv(["/bin/sleep", "1000"]);
    spec.deadline = Some(life);
    let mut jobs = Vec::new();
    let mut waiters = Waiters(Vec::new());
    for _ in 0..WAITERS {
        let id = place.start(&spec)?.id;
        let mut command = ground.legwork(state, ["wait", id.as_str()]);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        waiters.0.push(command.spawn()?);
        jobs.push(id);
    }
    std::thread::sleep(SETTLED);
    let waiting: Vec<u32> = waiters.0.iter().map(Child::id).collect();
    let supervising = processes::supervisors(state)?;
    let look = |pids: &[u32]| -> Result<Vec<Activity>, Failure> {
        pids.iter().map(|pid| processes::activity(*pid)).collect()
    };
    let before = [look(&waiting)?, look(&supervising)?];
    std::thread::sleep(WATCHED);
    let after = [look(&waiting)?, look(&supervising)?];
    for id in jobs {
        place.stop(id, None)?;
    }
    for child in &mut waiters.0 {
        child.wait()?;
    }

    let mut lines = Vec::new();
    let names = ["legwork wait", "its supervisor"];
    for ((name, before), after) in names.into_iter().zip(&before).zip(&after) {
        let pairs = || before.iter().zip(after);
        let cpu = pairs().map(|(before, after)| after.cpu_seconds - before.cpu_seconds);
        let woken = pairs().map(|(before, after)| after.sleeps - before.sleeps);
        // One tick, by which the kernel counts elsewhere.
        let line = Line::new(row, format!("{name}, CPU"), Unit::Seconds, cpu.collect());
        lines.push(line.bar(Bar::AtMost(0.01)));
        let line = Line::new(row, format!("{name}, times woken"), Unit::Count, woken.collect());
        lines.push(line.bar(Bar::AtMost(0.0)));
    }
    Ok(lines)
}
