//! A job's own bytes on their way to stdout, as they are.

use std::io::{self, ErrorKind, Write};

use clap_agent::{AgentError, Exit};

/// Whether somebody still reads what we print.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    /// Somebody does.
    There,
    /// `legwork output web | head -1` has seen enough.
    Gone,
}

/// The end of a program whose reader has gone: the number of SIGPIPE, and no words.
pub(crate) const READER_GONE: Exit = Exit::Other(141);

/// Writes bytes to stdout at once.
pub(crate) fn pass_on(bytes: &[u8]) -> Result<Reader, AgentError> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(Reader::There),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(Reader::Gone),
        Err(error) => Err(AgentError::tool(format!("cannot write to stdout: {error}"))),
    }
}
