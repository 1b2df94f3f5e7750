//! The supervisor: the one small process that owns a job.
//!
//! It was started with the job's spec on its stdin, holds the job's pipes or terminal, writes its
//! log and record, answers on its socket, and goes when nothing of the job is left. It has no
//! async runtime and no argument parser, and it lives in the job's folder, so that the paths it
//! uses are short, whatever the state directory is called.
//!
//! The order of a birth matters. The lock comes first, so that whoever sees the folder knows that
//! somebody is at it. The record comes before the command, so that no process runs that nobody
//! could find. Where the birth fails, the folder goes.

mod life;
mod lookout;
mod mailbox;
mod reception;
mod screen;
mod scribe;
mod serve;
mod sys;
mod visitor;

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use legwork::engine::{self, Engine, Stop};
use rustix::fs::FlockOperation;

use self::life::{Event, Stage};
use self::mailbox::Mailbox;
use self::scribe::Scribe;
use self::serve::Supervisor;
use self::sys::Signals;
use self::visitor::Visitor;
use crate::error::NotStarted;
use crate::id::JobId;
use crate::local::observe::{self, Birth};
use crate::log::LogWriter;
use crate::protocol::{self, Born};
use crate::record::{self, Holder, LOCK, Record, SOCKET};
use crate::secrets::Mask;
use crate::spec::JobSpec;
use crate::state::{Identity, NameClaim, NameError, Request, Session, StateDir};

/// Becomes a supervisor where this process was started as one, and never returns then. A program
/// that embeds this crate calls it first of all in its `main`; the binary `legwork` does.
///
/// ```
/// legwork_job::supervise_if_asked();
/// // … the program itself.
/// ```
pub fn supervise_if_asked() {
    if std::env::args_os().nth(1).is_some_and(|first| first == engine::SUPERVISOR) {
        supervise();
        std::process::exit(0);
    }
}

fn supervise() {
    let Ok(stdin) = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3) else {
        return;
    };
    let mut caller = UnixStream::from(stdin);
    // The job's input is its own.
    if let Ok(null) = File::open("/dev/null") {
        let _ = rustix::stdio::dup2_stdin(&null);
    }
    // A caller that was killed before it had said everything has started nothing.
    let Ok(birth) = protocol::receive_message::<protocol::Birth>(&mut caller) else {
        return;
    };
    match bring_up(birth) {
        Ok(supervisor) => {
            let mut supervisor = *supervisor;
            let _ = protocol::send(&Born::Started { id: supervisor.record.id }, &mut caller);
            supervisor.visitors.extend(Visitor::new(caller));
            supervisor.serve();
            // Who comes now finds the end on record.
            let _ = fs::remove_file(SOCKET);
        }
        Err(refusal) => {
            let _ = protocol::send(&refusal, &mut caller);
        }
    }
}

/// A job's folder, made and locked, and what was claimed for the job. Dropped before the job runs,
/// the claims are given back and the folder is removed.
struct Nest<'a> {
    id: JobId,
    folder: PathBuf,
    lock: Option<File>,
    fate: Fate,
    state: &'a StateDir,
    name: Option<NameClaim>,
    request: Option<(Option<Session>, &'a str)>,
}

#[derive(PartialEq, Eq)]
enum Fate {
    Undecided,
    Kept,
}

impl<'a> Nest<'a> {
    fn make(state: &'a StateDir, jobs: &Path) -> io::Result<Nest<'a>> {
        let _making = observe::making(jobs)?;
        loop {
            let id = JobId::random();
            let folder = jobs.join(id.as_str());
            match DirBuilder::new().mode(0o700).create(&folder) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            }
            let mut nest = Nest {
                id,
                folder,
                lock: None,
                fate: Fate::Undecided,
                state,
                name: None,
                request: None,
            };
            let options = File::options().read(true).write(true).create(true).mode(0o600).clone();
            let lock = options.open(nest.folder.join(LOCK))?;
            // Somebody who lists jobs may be looking at it this very moment, and may even take it
            // for one whose supervisor was killed and remove it.
            rustix::io::retry_on_intr(|| rustix::fs::flock(&lock, FlockOperation::LockExclusive))?;
            if rustix::fs::fstat(&lock)?.st_nlink == 0 {
                continue;
            }
            nest.lock = Some(lock);
            return Ok(nest);
        }
    }
}

impl Drop for Nest<'_> {
    fn drop(&mut self) {
        if self.fate == Fate::Undecided {
            // A claim without a job is anybody's, so what cannot be given back does no harm.
            if let Some(name) = self.name.take() {
                let _ = name.release(self.state);
            }
            if let Some((session, request)) = self.request.take() {
                let _ = self.state.release_request(session.as_ref(), request, &self.id);
            }
            for file in record::FILES {
                let _ = fs::remove_file(self.folder.join(file));
            }
            let _ = fs::remove_dir(&self.folder);
        }
    }
}

fn failed(what: &str, error: impl std::fmt::Display) -> Born {
    Born::Failed { why: format!("cannot {what}: {error}") }
}

fn bring_up(birth: protocol::Birth) -> Result<Box<Supervisor>, Born> {
    let protocol::Birth { v, state_dir, spec, fingerprint } = birth;
    if v > protocol::VERSION {
        let why = format!(
            "the supervisor speaks version {} and was asked in version {v}; update it",
            protocol::VERSION
        );
        return Err(Born::Failed { why });
    }
    let state =
        StateDir::at(&state_dir).map_err(|error| Born::Failed { why: error.to_string() })?;
    let signals = Signals::take().map_err(|error| failed("take signals", error))?;
    let jobs = state.jobs_dir().map_err(|error| Born::Failed { why: error.to_string() })?;
    let mut nest =
        Nest::make(&state, &jobs).map_err(|error| failed("make the job's folder", error))?;
    claim(&mut nest, &spec, &fingerprint)?;
    // Relative paths of the spec are the caller's; they were made whole before.
    std::env::set_current_dir(&nest.folder)
        .map_err(|error| failed("enter the job's folder", error))?;
    let here = Path::new(".");

    let mask = mask(&spec);
    let log = LogWriter::create(here, spec.log_limit)
        .map_err(|error| Born::Failed { why: error.to_string() })?;
    let listener = UnixListener::bind(SOCKET).map_err(|error| failed("make its socket", error))?;
    listener.set_nonblocking(true).map_err(|error| failed("make its socket", error))?;
    let identity =
        Identity::here().map_err(|error| Born::Failed { why: error.to_string() })?.clone();
    let marker = format!("job-{}", nest.id);
    let mut record = Record::new(nest.id, &spec, &mask, fingerprint, identity, marker.clone());
    record.store(here).map_err(|error| failed("write its record", error))?;

    let scribe = Scribe::new(log, mask.clone(), spec.terminal, spec.log_limit, spec.on_log_limit);
    let scribe = Arc::new(Mutex::new(scribe));
    let sink = Arc::clone(&scribe);
    let command = spec.to_job_command();
    let started = Engine::start(&command, &marker, move |stream, bytes| {
        sink.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take(stream, bytes);
    });
    let mut engine = match started {
        Ok(engine) => engine,
        Err(error) => {
            let NotStarted { message, ending } = NotStarted::from(&error);
            return Err(Born::NotStarted { message, ending });
        }
    };
    let holder = Holder {
        supervisor: std::process::id(),
        leader: engine.pid(),
        leader_start: engine::start_ticks(engine.pid()).unwrap_or(0),
    };
    if let Some(lock) = &mut nest.lock {
        // Without it a lost job is still found by its marker.
        let _ = lock.write_all(&serde_json::to_vec(&holder).unwrap_or_default());
    }
    let terminal = engine.terminal().and_then(serve::typing);
    let is_terminal = terminal.is_some();
    let input = engine.take_input().filter(|_| !is_terminal);
    let mailbox = Mailbox::new(terminal.or(input), is_terminal);
    let source = serve::source(&engine, &mailbox);
    record.state = Stage::Running.state();
    let mut supervisor = Box::new(Supervisor {
        record,
        stage: Stage::Starting,
        engine,
        scribe,
        mailbox,
        source,
        mask,
        listener,
        signals,
        visitors: Vec::new(),
        stop: (Stop::Cancelled, None),
        next_glance: Instant::now(),
        stopping: false,
    });
    supervisor.on(Event::Born);
    // From here on the folder stays, and the lock is held until this process ends.
    nest.fate = Fate::Kept;
    std::mem::forget(nest.lock.take());
    Ok(supervisor)
}

/// Takes the name and the request id, or says whose they are.
fn claim<'a>(nest: &mut Nest<'a>, spec: &'a JobSpec, fingerprint: &str) -> Result<(), Born> {
    let (state, session) = (nest.state, session(spec)?);
    if let Some(request) = &spec.request_id {
        claim_request(state, session.as_ref(), request, nest.id, fingerprint)?;
        nest.request = Some((session.clone(), request));
    }
    if let Some(name) = &spec.name {
        let is_live = |id: &JobId| observe::is_live(state, *id);
        let claimed = state.claim_name(session.as_ref(), name, &nest.id, is_live);
        nest.name = Some(claimed.map_err(|error| match error {
            NameError::Taken { name, id } => Born::NameTaken { name, id },
            NameError::State(error) => Born::Failed { why: error.to_string() },
        })?);
    }
    Ok(())
}

/// Takes the request id. Where another is just being born for the same request, its birth is waited
/// for: whoever is told of a job can count on it, and if it fails, this one is tried.
fn claim_request(
    state: &StateDir,
    session: Option<&Session>,
    request: &str,
    own: JobId,
    fingerprint: &str,
) -> Result<(), Born> {
    /// Far longer than a birth takes: the other one was stopped.
    const PATIENCE: Duration = Duration::from_secs(10);
    let until = Instant::now() + PATIENCE;
    let exists = |id: &JobId| observe::birth(state, *id) != Birth::Never;
    loop {
        let claimed = state.claim_request(session, request, &own, fingerprint, exists);
        let id = match claimed.map_err(|error| Born::Failed { why: error.to_string() })? {
            Request::Yours => return Ok(()),
            Request::Same(id) => id,
            Request::Different(id) => {
                return Err(Born::RequestReused { request: request.to_owned(), id });
            }
        };
        match observe::birth(state, id) {
            Birth::Done => return Err(Born::Existing { id }),
            Birth::UnderWay if Instant::now() > until => return Err(Born::Existing { id }),
            Birth::UnderWay => std::thread::sleep(Duration::from_millis(1)),
            Birth::Never => {}
        }
    }
}

fn session(spec: &JobSpec) -> Result<Option<Session>, Born> {
    let parsed = spec.session.as_ref().map(|session| session.parse::<Session>()).transpose();
    parsed.map_err(|error| Born::Failed { why: error.to_string() })
}

/// The mask for the secrets of the job's environment: the caller's, which this process has, and
/// what the spec sets.
fn mask(spec: &JobSpec) -> Mask {
    let own: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    let set = spec.env.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
    let all = own.iter().map(|(name, value)| (name, value)).chain(set);
    let named: Vec<&str> = spec.secrets.iter().map(String::as_str).collect();
    Mask::of_environment(all.map(|(n, v)| (OsStr::new(n), OsStr::new(v))), &named)
        .also_as_a_terminal_prints()
}
