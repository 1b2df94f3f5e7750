//! The process in which a contender is measured, and the suite's end of it.
//!
//! Captures leave traces in the process that makes them: a grown heap, a raised threshold of the
//! allocator, threads, signal handlers. So no contender is measured in the suite's own process;
//! most samples have a fresh worker each, and peak memory is the worker's own.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::runtime::{Builder, Runtime};

use crate::Failure;
use crate::contender::{self, Contender, Job};
use crate::environment;

/// What a worker does for one sample.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) enum Task {
    /// `/bin/true`, so many times in a row.
    Starts { count: u32 },
    /// One command that prints much.
    Volume { bytes: usize, limit: usize },
    /// Many of them at once.
    Crowd { count: usize, bytes: usize },
}

#[derive(Debug, Serialize, Deserialize)]
struct Request {
    contender: Contender,
    task: Task,
}

/// What one sample gave.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Sample {
    /// For one start, one capture, or one crowd.
    pub(crate) seconds: f64,
    /// The most memory that the worker has had.
    pub(crate) peak_bytes: u64,
}

/// A worker, seen from the suite.
#[derive(Debug)]
pub(crate) struct Worker {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Worker {
    /// Starts one with this much touched heap.
    pub(crate) fn start(heap: usize) -> Result<Worker, Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["worker", &heap.to_string()]);
        environment::without_cargo(&mut command);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let requests = child.stdin.take().ok_or("no stdin")?;
        let answers = BufReader::new(child.stdout.take().ok_or("no stdout")?);
        Ok(Worker { child, requests, answers })
    }

    pub(crate) fn measure(&mut self, contender: Contender, task: Task) -> Result<Sample, Failure> {
        let mut line = serde_json::to_string(&Request { contender, task })?;
        line.push('\n');
        self.requests.write_all(line.as_bytes())?;
        line.clear();
        if self.answers.read_line(&mut line)? == 0 {
            return Err(format!("the worker for {contender} ended early").into());
        }
        Ok(serde_json::from_str(&line)?)
    }

    /// Lets it end, and waits for that, so that it does not disturb the next one.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        let Worker { mut child, requests, answers } = self;
        drop((requests, answers));
        child.wait()?;
        Ok(())
    }
}

/// One sample from a worker of its own.
pub(crate) fn measure_fresh(contender: Contender, task: Task) -> Result<Sample, Failure> {
    let mut worker = Worker::start(0)?;
    let sample = worker.measure(contender, task)?;
    worker.finish()?;
    Ok(sample)
}

/// The worker itself: one answer for each request, until there are no more.
pub(crate) fn main(heap: &str) -> Result<(), Failure> {
    let heap = vec![1u8; heap.parse()?];
    for line in std::io::stdin().lines() {
        let Request { contender, task } = serde_json::from_str(&line?)?;
        let seconds = perform(contender, task)?.as_secs_f64();
        let peak_bytes = peak_memory()?;
        let answer = Sample { seconds, peak_bytes };
        println!("{}", serde_json::to_string(&answer)?);
    }
    // Read, so that it was really there all the time.
    std::hint::black_box(&heap);
    Ok(())
}

fn perform(contender: Contender, task: Task) -> Result<Duration, Failure> {
    match task {
        Task::Starts { count } => {
            let job = Job { argv: vec!["/bin/true".into()], bytes: 0, limit: None };
            let runtime = runtime(contender, Builder::new_current_thread())?;
            // What a library sets up once is not what a start costs.
            contender::capture(contender, &job, runtime.as_ref())?;
            let start = Instant::now();
            for _ in 0..count {
                contender::capture(contender, &job, runtime.as_ref())?;
            }
            Ok(start.elapsed() / count)
        }
        Task::Volume { bytes, limit } => {
            let job = producer(bytes, Some(limit))?;
            let runtime = runtime(contender, Builder::new_current_thread())?;
            let start = Instant::now();
            contender::capture(contender, &job, runtime.as_ref())?;
            Ok(start.elapsed())
        }
        Task::Crowd { count, bytes } => {
            let job = producer(bytes, None)?;
            let runtime = runtime(contender, Builder::new_multi_thread())?;
            let start = Instant::now();
            contender::crowd(contender, &job, count, runtime.as_ref())?;
            Ok(start.elapsed())
        }
    }
}

fn producer(bytes: usize, limit: Option<usize>) -> Result<Job, Failure> {
    let program = std::env::current_exe()?.into_os_string();
    let argv = vec![program, "produce".into(), bytes.to_string().into()];
    Ok(Job { argv, bytes, limit })
}

fn runtime(contender: Contender, mut builder: Builder) -> Result<Option<Runtime>, Failure> {
    if !contender.needs_runtime() {
        return Ok(None);
    }
    Ok(Some(builder.enable_all().build()?))
}

fn peak_memory() -> Result<u64, Failure> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
    Ok(kib.ok_or("no VmHWM in /proc/self/status")?.parse::<u64>()? * 1024)
}
