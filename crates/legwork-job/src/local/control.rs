//! What is done to a job: writing, signals, stopping, its terminal.

use std::io::{self, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use legwork::Signal;

use super::line;
use super::{Local, compose};
use crate::error::JobError;
use crate::id::JobId;
use crate::place::{Attached, Attachment, Reach, Screen, Signalled, Writing, Written};
use crate::protocol::{self, Answer, Ask, Kind, Why};
use crate::report::Report;
use crate::spec::Size;

/// What to do with a job that has ended.
const READ_IT: &str = "`legwork output` shows what it printed";

impl Local {
    /// Asks a job's supervisor; a job that nobody looks after has nothing left.
    fn ask(&self, id: JobId, ask: &Ask) -> Result<Answer, JobError> {
        let nothing_left = JobError::NothingLeft { id, hint: READ_IT };
        if !self.observe(id)?.attended {
            return Err(nothing_left);
        }
        let Some(mut line) = self.line(id)? else {
            return Err(nothing_left);
        };
        match line.ask(ask)? {
            None | Some(Answer::NothingLeft) => Err(nothing_left),
            Some(Answer::NotPossible { why, hint }) => Err(JobError::NotPossible { id, why, hint }),
            Some(answer) => Ok(answer),
        }
    }

    pub(super) fn write_to(&self, id: JobId, writing: &Writing) -> Result<Written, JobError> {
        if writing.bytes.len() > protocol::LONGEST / 2 {
            return Err(JobError::Invalid {
                field: "bytes",
                problem: format!("{} bytes at once", writing.bytes.len()),
                hint: "write at most 8 MiB at a time".into(),
            });
        }
        let answer = self.ask(
            id,
            &Ask::Write {
                bytes: writing.bytes.clone(),
                close: writing.close,
                request_id: writing.request_id.clone(),
            },
        )?;
        match answer {
            Answer::Written { bytes, queued, repeated } => Ok(Written { bytes, queued, repeated }),
            other => Err(unexpected(id, &other)),
        }
    }

    pub(super) fn signal_job(
        &self,
        id: JobId,
        signal: Signal,
        reach: Reach,
    ) -> Result<Signalled, JobError> {
        match self.ask(id, &Ask::Signal { signal: signal.number(), reach })? {
            Answer::Signalled { processes } => {
                Ok(Signalled { signal: signal.to_string(), processes })
            }
            other => Err(unexpected(id, &other)),
        }
    }

    /// Ends a job, and waits until nothing of it is left.
    pub(super) fn end(&self, id: JobId, why: Why, grace: Option<Duration>) -> Result<(), JobError> {
        let grace_ms = grace.map(|grace| grace.as_millis() as u64);
        let Some(mut line) = self.line(id)? else {
            return Ok(());
        };
        // The supervisor itself sees to it that this comes to an end, however long the grace: as
        // long as it answers others, it is at it.
        let mut answer = line
            .send(&Ask::Stop { why, grace_ms })
            .and_then(|()| line.receive(Some(self.patience)));
        while let Err(error) = &answer
            && line::is_timeout(error)
        {
            self.facts(id, false)?;
            answer = line.receive(Some(self.patience));
        }
        line.heard(answer).map(drop)
    }

    pub(super) fn stop_job(&self, id: JobId, grace: Option<Duration>) -> Result<Report, JobError> {
        if !self.observe(id)?.attended {
            return Err(JobError::NothingLeft { id, hint: READ_IT });
        }
        self.end(id, Why::Request, grace)?;
        let observed = self.observe(id)?;
        let log = self.log(id).ok().and_then(|log| log.facts().ok());
        Ok(compose::report(&observed, log, None))
    }

    pub(super) fn screen_of(&self, id: JobId) -> Result<Screen, JobError> {
        let mut observed = self.observe(id)?;
        if observed.attended {
            match self.ask(id, &Ask::Screen) {
                Ok(Answer::Screen(screen)) => return Ok(screen),
                Ok(other) => return Err(unexpected(id, &other)),
                Err(JobError::NothingLeft { .. }) => observed = self.observe(id)?,
                Err(error) => return Err(error),
            }
        }
        let last = observed.record.end.and_then(|end| end.screen);
        last.ok_or_else(|| JobError::NotPossible {
            id,
            why: "has no terminal".into(),
            hint: "start it with `--pty`; `legwork output` shows what it printed".into(),
        })
    }

    pub(super) fn attach_to(
        &self,
        id: JobId,
        size: Option<Size>,
    ) -> Result<Box<dyn Attachment>, JobError> {
        let nothing_left = JobError::NothingLeft { id, hint: READ_IT };
        if !self.observe(id)?.attended {
            return Err(nothing_left);
        }
        let Some(mut line) = self.line(id)? else {
            return Err(nothing_left);
        };
        match line.ask(&Ask::Attach { size })? {
            Some(Answer::Attached) => {}
            Some(Answer::NotPossible { why, hint }) => {
                return Err(JobError::NotPossible { id, why, hint });
            }
            Some(Answer::NothingLeft) | None => return Err(nothing_left),
            Some(other) => return Err(unexpected(id, &other)),
        }
        let broken = |error: io::Error| JobError::Unreachable {
            id,
            why: error.to_string(),
            hint: "try again",
        };
        let stream = line.into_stream();
        stream.set_read_timeout(None).map_err(broken)?;
        let writer = stream.try_clone().map_err(broken)?;
        Ok(Box::new(Wire { reader: stream, writer: Mutex::new(writer) }))
    }
}

fn unexpected(id: JobId, answer: &Answer) -> JobError {
    JobError::Unreachable {
        id,
        why: format!("an answer that fits no question: {answer:?}"),
        hint: "use the legwork that started it",
    }
}

/// A person's terminal on the job's, through the supervisor's socket.
struct Wire {
    reader: UnixStream,
    writer: Mutex<UnixStream>,
}

impl Wire {
    fn put(&self, kind: Kind, payload: &[u8]) -> io::Result<()> {
        let mut frame = Vec::with_capacity(payload.len() + 5);
        protocol::frame(kind, payload, &mut frame);
        self.writer.lock().unwrap_or_else(PoisonError::into_inner).write_all(&frame)
    }
}

impl Attachment for Wire {
    fn next(&self) -> io::Result<Attached> {
        match protocol::receive(&mut &self.reader) {
            Ok((_, bytes)) => Ok(Attached::Output(bytes)),
            Err(error) if line::is_gone(&error) => Ok(Attached::End),
            Err(error) => Err(error),
        }
    }

    fn send(&self, bytes: &[u8]) -> io::Result<()> {
        self.put(Kind::Bytes, bytes)
    }

    fn resize(&self, size: Size) -> io::Result<()> {
        self.put(Kind::Json, &serde_json::to_vec(&size).unwrap_or_default())
    }

    fn detach(&self) {
        // It may have ended by itself.
        let _ = self.reader.shutdown(Shutdown::Both);
    }
}
