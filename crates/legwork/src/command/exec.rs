//! What a command value is made of: the part that concerns its process, and the part that concerns
//! the run as a whole.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::cancel::CancelToken;
use crate::capture::Stream;
use crate::context::Context;
use crate::env::Environment;
use crate::error::InvalidInput;
use crate::lines::Line;
use crate::options::{Containment, Limits, Output, Pipefail, Stdin, Survivors, Terminal};
use crate::signal::Signal;

/// What to execute.
#[derive(Debug, Clone)]
pub(crate) enum What {
    Argv(Vec<OsString>),
    Shell { line: OsString, shell: Option<OsString> },
}

/// The part of a command that concerns its process.
#[derive(Debug, Clone)]
pub(crate) struct Exec {
    pub(crate) what: What,
    /// Arguments added after it was made.
    pub(crate) args: Vec<OsString>,
    pub(crate) env: Environment,
    pub(crate) workdir: Option<PathBuf>,
    pub(crate) stdin: Stdin,
    pub(crate) stdout: Option<Output>,
    pub(crate) stderr: Option<Output>,
    pub(crate) merged: bool,
    pub(crate) pty: Option<(u16, u16)>,
    pub(crate) limits: Limits,
    pub(crate) nice: Option<i32>,
    pub(crate) oom_score_adj: Option<i32>,
    /// Only inside a Bundler project.
    pub(crate) needs_gemfile: bool,
    pub(crate) problem: Option<InvalidInput>,
}

/// The part that concerns the run as a whole. What is `None` has its default.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunOptions {
    pub(crate) timeout: Option<Duration>,
    pub(crate) idle_timeout: Option<Duration>,
    pub(crate) kill_signal: Option<Signal>,
    pub(crate) kill_grace: Option<Duration>,
    pub(crate) survivors: Option<Survivors>,
    pub(crate) capture_limit: Option<usize>,
    pub(crate) containment: Option<Containment>,
    pub(crate) require_containment: Option<Containment>,
    pub(crate) check: Option<bool>,
    pub(crate) on_line: Option<LineCallback>,
    pub(crate) cancel: Option<CancelToken>,
    pub(crate) terminal: Option<Terminal>,
    pub(crate) pipefail: Option<Pipefail>,
    pub(crate) propagate_context: Option<bool>,
    /// Set by the scope, not by the caller.
    pub(crate) scope: Scoped,
    /// Set by a supervisor.
    pub(crate) supervised: Option<Supervised>,
}

/// What a supervisor wants of the one command it is there for.
#[derive(Debug, Clone)]
pub(crate) struct Supervised {
    /// The id that its processes carry.
    pub(crate) marker: String,
    pub(crate) sink: Sink,
}

/// Takes what is printed, as it comes.
#[derive(Clone)]
pub(crate) struct Sink(Arc<Mutex<Taker>>);

type Taker = dyn FnMut(Stream, &[u8]) + Send;

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sink")
    }
}

impl Sink {
    pub(crate) fn new(taker: impl FnMut(Stream, &[u8]) + Send + 'static) -> Sink {
        Sink(Arc::new(Mutex::new(taker)))
    }

    pub(crate) fn take(&self, stream: Stream, bytes: &[u8]) {
        let mut taker = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        taker(stream, bytes);
    }
}

/// What a scope hands to its commands.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scoped {
    pub(crate) context: Option<Context>,
    pub(crate) external_denied: bool,
}

impl RunOptions {
    /// The name of an option that was set here though it belongs to the pipeline.
    pub(super) fn misplaced(&self) -> Option<&'static str> {
        [
            ("timeout", self.timeout.is_some()),
            ("idle_timeout", self.idle_timeout.is_some()),
            ("kill_signal", self.kill_signal.is_some()),
            ("kill_grace", self.kill_grace.is_some()),
            ("survivors", self.survivors.is_some()),
            ("capture_limit", self.capture_limit.is_some()),
            ("containment", self.containment.is_some() || self.require_containment.is_some()),
            ("check", self.check.is_some()),
            ("on_line", self.on_line.is_some()),
            ("cancel_token", self.cancel.is_some()),
            ("terminal", self.terminal.is_some()),
            ("pipefail", self.pipefail.is_some()),
            ("propagate_context", self.propagate_context.is_some()),
        ]
        .into_iter()
        .find_map(|(name, set)| set.then_some(name))
    }
}

/// A callback for each line of output.
#[derive(Clone)]
pub(crate) struct LineCallback(Arc<Mutex<Callback>>);

type Callback = dyn FnMut(&Line) + Send;

impl fmt::Debug for LineCallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LineCallback")
    }
}

impl LineCallback {
    pub(super) fn new(callback: impl FnMut(&Line) + Send + 'static) -> LineCallback {
        LineCallback(Arc::new(Mutex::new(callback)))
    }

    pub(crate) fn call(&self, line: &Line) {
        // A callback that panicked has unwound its run; another run may still use it.
        let mut callback = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        callback(line);
    }
}

impl Exec {
    /// The argv that will be executed; for a shell line, that of the shell.
    pub(crate) fn argv(&self, path: Option<&OsStr>) -> Vec<OsString> {
        match &self.what {
            What::Argv(argv) => argv.iter().chain(&self.args).cloned().collect(),
            What::Shell { line, shell } => {
                let shell = shell.clone().unwrap_or_else(|| {
                    let bash = crate::find::program("bash".as_ref(), path, None).is_ok();
                    OsString::from(if bash { "bash" } else { "sh" })
                });
                let mut argv = vec![shell.clone(), "-c".into(), line.clone()];
                if !self.args.is_empty() {
                    // What the shell calls itself; the parameters follow.
                    argv.push(shell);
                    argv.extend(self.args.iter().cloned());
                }
                argv
            }
        }
    }
}
