//! The two forms of the library behind one interface, so that one list of tests meets both.

use std::io;
use std::sync::OnceLock;
use std::time::Duration;

use legwork::prelude::*;
use legwork::{Pipeline, Result};
use tokio::runtime::Runtime;

/// Makes two tests of each function that takes a [`Form`].
macro_rules! in_both_forms {
    ($($name:ident),* $(,)?) => {
        mod blocking {
            $(#[test] fn $name() { super::$name(crate::forms::Form::Blocking) })*
        }
        mod on_tokio {
            $(#[test] fn $name() { super::$name(crate::forms::Form::Tokio) })*
        }
    };
}
pub(crate) use in_both_forms;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Blocking,
    Tokio,
}

/// What both a command and a pipeline can do.
pub(crate) trait Verbs {
    fn blocking_run(&self) -> Result<Outcome>;
    fn blocking_capture(&self) -> Result<Outcome>;
    fn blocking_succeeds(&self) -> bool;
    fn blocking_spawn(&self) -> Result<Running>;
    fn on_tokio(&self) -> legwork::tokio::Async;
}

macro_rules! verbs {
    ($($type:ty),*) => {$(
        impl Verbs for $type {
            fn blocking_run(&self) -> Result<Outcome> { self.run() }
            fn blocking_capture(&self) -> Result<Outcome> { self.capture() }
            fn blocking_succeeds(&self) -> bool { self.succeeds() }
            fn blocking_spawn(&self) -> Result<Running> { self.spawn() }
            fn on_tokio(&self) -> legwork::tokio::Async { self.tokio() }
        }
    )*};
}
verbs!(Command, Pipeline);

pub(crate) fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(2).enable_all().build().unwrap()
    })
}

impl Form {
    pub(crate) fn run(self, what: &impl Verbs) -> Result<Outcome> {
        match self {
            Form::Blocking => what.blocking_run(),
            Form::Tokio => runtime().block_on(what.on_tokio().run()),
        }
    }

    pub(crate) fn capture(self, what: &impl Verbs) -> Result<Outcome> {
        match self {
            Form::Blocking => what.blocking_capture(),
            Form::Tokio => runtime().block_on(what.on_tokio().capture()),
        }
    }

    pub(crate) fn succeeds(self, what: &impl Verbs) -> bool {
        match self {
            Form::Blocking => what.blocking_succeeds(),
            Form::Tokio => runtime().block_on(what.on_tokio().succeeds()),
        }
    }

    pub(crate) fn spawn(self, what: &impl Verbs) -> Result<Handle> {
        match self {
            Form::Blocking => what.blocking_spawn().map(Handle::Blocking),
            Form::Tokio => {
                let _guard = runtime().enter();
                what.on_tokio().spawn().map(Handle::Tokio)
            }
        }
    }

    /// The word by which `misbehave host` knows it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Form::Blocking => "blocking",
            Form::Tokio => "tokio",
        }
    }
}

/// A handle of either form.
pub(crate) enum Handle {
    Blocking(Running),
    Tokio(legwork::tokio::Running),
}

impl Handle {
    pub(crate) fn pid(&self) -> u32 {
        match self {
            Handle::Blocking(run) => run.pid(),
            Handle::Tokio(run) => run.pid(),
        }
    }

    pub(crate) fn wait(self) -> Result<Outcome> {
        match self {
            Handle::Blocking(run) => run.wait(),
            Handle::Tokio(run) => runtime().block_on(run.wait()),
        }
    }

    pub(crate) fn wait_timeout(&mut self, limit: Duration) -> Option<&Outcome> {
        match self {
            Handle::Blocking(run) => run.wait_timeout(limit),
            Handle::Tokio(run) => runtime().block_on(run.wait_timeout(limit)),
        }
    }

    pub(crate) fn try_wait(&mut self) -> Option<&Outcome> {
        match self {
            Handle::Blocking(run) => run.try_wait(),
            Handle::Tokio(run) => run.try_wait(),
        }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Handle::Blocking(run) => run.write(bytes),
            Handle::Tokio(run) => runtime().block_on(run.write(bytes)),
        }
    }

    pub(crate) fn close_stdin(&mut self) {
        match self {
            Handle::Blocking(run) => run.close_stdin(),
            Handle::Tokio(run) => runtime().block_on(run.close_stdin()),
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        match self {
            Handle::Blocking(run) => run.signal(signal),
            Handle::Tokio(run) => run.signal(signal),
        }
    }

    pub(crate) fn signal_leader(&self, signal: Signal) {
        match self {
            Handle::Blocking(run) => run.signal_leader(signal),
            Handle::Tokio(run) => run.signal_leader(signal),
        }
    }

    pub(crate) fn kill(&self) {
        match self {
            Handle::Blocking(run) => run.kill(),
            Handle::Tokio(run) => run.kill(),
        }
    }

    pub(crate) fn cancel(&self) {
        match self {
            Handle::Blocking(run) => run.cancel(),
            Handle::Tokio(run) => run.cancel(),
        }
    }

    pub(crate) fn detach(self) {
        match self {
            Handle::Blocking(run) => run.detach(),
            Handle::Tokio(run) => run.detach(),
        }
    }

    /// Reads lines while `f` wants more; the count of those that were skipped.
    pub(crate) fn each_line(&mut self, mut f: impl FnMut(Line) -> bool) -> u64 {
        match self {
            Handle::Blocking(run) => {
                let mut lines = run.lines();
                while lines.next().is_some_and(&mut f) {}
                lines.skipped()
            }
            Handle::Tokio(run) => runtime().block_on(async {
                let mut lines = run.lines();
                while lines.next().await.is_some_and(&mut f) {}
                lines.skipped()
            }),
        }
    }
}

/// A program of the test kit.
pub(crate) fn misbehave<const N: usize>(args: [&str; N]) -> Command {
    cmd([testkit::misbehave()]).args(args)
}

/// A host of the test kit, and the JSON it prints.
pub(crate) fn host<const N: usize>(form: Form, name: &str, args: [&str; N]) -> serde_json::Value {
    let command = misbehave(["host", name, form.word()]).args(args).survivors(Survivors::End);
    let outcome = command.timeout(Duration::from_secs(240)).capture().unwrap();
    let printed = outcome.stdout_text();
    let last = printed.lines().last().unwrap_or_default();
    serde_json::from_str(last).unwrap_or_else(|error| {
        panic!("host {name}: {error}: {printed:?} {} {}", outcome.stderr_text(), outcome.ending)
    })
}

/// A directory that goes with the test, and a path in it.
pub(crate) fn place(name: &str) -> (tempfile::TempDir, std::path::PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    (directory, path)
}

pub(crate) const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}
