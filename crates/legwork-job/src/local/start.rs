//! Starting a job: a supervisor of its own, told what to do through a pipe.

use std::ffi::OsStr;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Instant;

use legwork::{CancelToken, engine};

use super::Local;
use super::line::Line;
use crate::error::{JobError, NotStarted};
use crate::place::{OnTimeout, Patience, Reading, Started};
use crate::protocol::{self, Answer, Ask, Birth, Born, Wanted, Why};
use crate::report::Report;
use crate::spec::{Input, JobSpec};
use crate::state::{self, Session};

/// What a socket takes before anyone reads, whatever its system's settings.
const AT_ONCE: usize = 4096;

impl Local {
    /// Starts a job, and keeps the line to its supervisor.
    pub(super) fn bring_up(&self, spec: &JobSpec) -> Result<(Started, Option<Line>), JobError> {
        let spec = whole(spec)?;
        check(&spec)?;
        let fingerprint = self.fingerprint(&spec)?;
        let no_supervisor = |why: String| JobError::NoSupervisor { why };
        let (mut ours, theirs) =
            UnixStream::pair().map_err(|error| no_supervisor(error.to_string()))?;
        let birth = Birth {
            v: protocol::VERSION,
            state_dir: self.state.path().to_owned(),
            spec,
            fingerprint,
        };
        let mut message = Vec::new();
        protocol::message(&birth, &mut message);
        // What fits into the socket lies there when the supervisor comes to read it; more has to
        // wait for the one who reads.
        let at_once = message.len().min(AT_ONCE);
        let (first, rest) = message.split_at(at_once);
        let sent = ours.write_all(first);
        let argument = OsStr::new(engine::SUPERVISOR);
        engine::detach(&self.supervisor, OsStr::new("legwork"), &[argument], theirs.as_fd())
            .map_err(|error| no_supervisor(format!("{:?}: {error}", self.supervisor)))?;
        drop(theirs);
        let born = sent
            .and_then(|()| ours.write_all(rest))
            .and_then(|()| protocol::receive_message::<Born>(&mut ours));
        let born = born.map_err(|error| {
            no_supervisor(format!(
                "it ended before the job began ({error}); a program that embeds legwork-job must \
                 call `supervise_if_asked` first in its `main`"
            ))
        })?;
        match born {
            Born::Started { id } => {
                self.prune_gently(id);
                Ok((Started { id, existing: false }, Some(Line::new(id, ours, self.patience))))
            }
            Born::Existing { id } => Ok((Started { id, existing: true }, None)),
            Born::NameTaken { name, id } => Err(JobError::NameTaken { name, id }),
            Born::RequestReused { request, id } => Err(JobError::RequestReused { request, id }),
            Born::NotStarted { message, ending } => {
                Err(JobError::NotStarted(Box::new(NotStarted { message, ending })))
            }
            Born::Failed { why } => Err(no_supervisor(why)),
        }
    }

    pub(super) fn execute_job(
        &self,
        spec: &JobSpec,
        patience: &Patience<'_>,
        reading: &Reading,
    ) -> Result<Report, JobError> {
        let until = Instant::now().checked_add(patience.limit);
        let (Started { id, .. }, line) = self.bring_up(spec)?;
        if let Some(on_start) = patience.on_start {
            on_start(id);
        }
        let line = match line {
            Some(line) => Some(line),
            // The request was made before: this waits for the same job.
            None => self.line(id)?,
        };
        let Some(mut line) = line else {
            return self.read_job(id, reading);
        };
        let ended = match line.send(&Ask::Wait(Wanted::default())) {
            Ok(()) if line.speaks(until, patience.cancel.as_ref()) => match line.receive(None) {
                Ok(Answer::Met { .. }) => true,
                Err(error) => super::line::is_gone(&error),
                Ok(_) => false,
            },
            Ok(()) => false,
            Err(error) => super::line::is_gone(&error),
        };
        let cancelled = patience.cancel.as_ref().is_some_and(CancelToken::is_cancelled);
        if !ended && !cancelled && patience.on_timeout == OnTimeout::Terminate {
            self.end(id, Why::Deadline, None)?;
        }
        let mut reading = reading.clone();
        reading.look = reading.look || !ended;
        self.read_job(id, &reading)
    }

    /// The command, its workdir and its environment as far as the caller sets it, as a salted hash.
    pub(super) fn fingerprint(&self, spec: &JobSpec) -> Result<String, JobError> {
        let salt = self.state.salt()?;
        // What only says how it is kept or called is no part of what is run.
        let mut run = spec.clone();
        run.request_id = None;
        run.intent = None;
        run.labels.clear();
        let text = serde_json::to_vec(&run).unwrap_or_default();
        Ok(state::fingerprint(&salt, &[&text]))
    }
}

/// The spec with whole paths: its supervisor lives elsewhere.
pub(super) fn whole(spec: &JobSpec) -> Result<JobSpec, JobError> {
    let mut spec = spec.clone();
    let here = || {
        std::env::current_dir().map_err(|source| JobError::Io {
            what: "find the current directory for",
            path: PathBuf::from("."),
            source,
        })
    };
    spec.workdir = Some(match &spec.workdir {
        None => here()?,
        Some(workdir) if workdir.is_absolute() => workdir.clone(),
        Some(workdir) => here()?.join(workdir),
    });
    if let Input::File(path) = &mut spec.stdin
        && path.is_relative()
    {
        *path = here()?.join(&path);
    }
    Ok(spec)
}

/// What can be said of a spec before anything is started.
fn check(spec: &JobSpec) -> Result<(), JobError> {
    let invalid = |field, problem: String, hint: &str| {
        Err(JobError::Invalid { field, problem, hint: hint.to_owned() })
    };
    if let Some(name) = &spec.name
        && let Err(error) = state::check_name(name)
    {
        return invalid("name", error.to_string(), "for example `web`");
    }
    if let Some(session) = &spec.session
        && let Err(error) = session.parse::<Session>()
    {
        return invalid("session", error.to_string(), "for example `ci/build-7`");
    }
    for (key, value) in &spec.labels {
        if let Err(error) = format!("{key}={value}").parse::<state::Label>() {
            return invalid("label", error.to_string(), "for example `part=backend`");
        }
    }
    if let Some(request) = &spec.request_id
        && (request.is_empty() || request.len() > 256)
    {
        let problem = format!("{} bytes", request.len());
        return invalid("request_id", problem, "it has 1 to 256 bytes");
    }
    if let Input::Bytes(bytes) = &spec.stdin
        && bytes.len() > protocol::LONGEST / 2
    {
        let problem = format!("{} bytes of input", bytes.len());
        return invalid("stdin", problem, "more than 8 MiB are handed over as a file");
    }
    if let Some(nul) = spec.env.iter().find(|(name, _)| name.as_bytes().contains(&b'=')) {
        let problem = format!("a variable cannot be called {:?}", nul.0);
        return invalid("env", problem, "write it as NAME=VALUE");
    }
    Ok(())
}
