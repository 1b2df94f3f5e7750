//! The same verbs as futures, on tokio.
//!
//! Names and behaviour are those of the blocking form; the same machine runs underneath, and this
//! module only waits for it. All of a run's descriptors sit in one epoll instance, which the
//! runtime watches as a single file.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! use legwork::prelude::*;
//!
//! legwork::tokio::sh(["true"]).await?;
//! let (a, b) = tokio::join!(
//!     legwork::tokio::capture(["echo", "a"]),
//!     cmd(["echo", "b"]).tokio().capture(),
//! );
//! assert_eq!((&*a?.stdout_text(), &*b?.stdout_text()), ("a\n", "b\n"));
//! # Ok::<(), legwork::CommandError>(()) }).unwrap();
//! ```
//!
//! Dropping a future ends the tree of its command; dropping a [`Running`] does, too.

mod drive;
mod handle;

use std::ffi::OsString;

use crate::command::{Exec, RunOptions};
use crate::error::Result;
use crate::outcome::Outcome;
use crate::run::Verb;
use crate::scope::Scope;

pub use handle::{Lines, Running};

/// A command or pipeline whose verbs are futures; see [`Command::tokio`](crate::Command::tokio).
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// assert!(legwork::cmd(["true"]).tokio().succeeds().await);
/// # });
/// ```
#[derive(Debug, Clone)]
pub struct Async {
    stages: Vec<Exec>,
    options: RunOptions,
}

impl Async {
    pub(crate) fn new(stages: &[Exec], options: &RunOptions) -> Async {
        Async { stages: stages.to_vec(), options: options.clone() }
    }

    /// Runs it, its output flowing through; a failure is an error.
    ///
    /// # Errors
    /// Where it cannot be started, or fails and [`check`](crate::Command::check) is on.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// assert!(legwork::cmd(["false"]).tokio().run().await.is_err());
    /// # });
    /// ```
    pub async fn run(self) -> Result<Outcome> {
        drive::run(&self.stages, &self.options, Verb::Run).await
    }

    /// Runs it and keeps its output; a failure is a result.
    ///
    /// # Errors
    /// Where it cannot be started.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// assert_eq!(legwork::shell("echo x").tokio().capture().await?.stdout_text(), "x\n");
    /// # Ok::<(), legwork::CommandError>(()) }).unwrap();
    /// ```
    pub async fn capture(self) -> Result<Outcome> {
        drive::run(&self.stages, &self.options, Verb::Capture).await
    }

    /// Runs it silently: whether it succeeded.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// assert!(!legwork::cmd(["false"]).tokio().succeeds().await);
    /// # });
    /// ```
    pub async fn succeeds(self) -> bool {
        let outcome = drive::run(&self.stages, &self.options, Verb::Succeeds).await;
        outcome.is_ok_and(|outcome| outcome.success())
    }

    /// Starts it on the current runtime and comes back at once with a handle.
    ///
    /// # Errors
    /// Where it cannot be started.
    ///
    /// # Panics
    /// Outside a tokio runtime, as all of tokio does.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let run = legwork::cmd(["true"]).tokio().spawn()?;
    /// assert!(run.wait().await?.success());
    /// # Ok::<(), legwork::CommandError>(()) }).unwrap();
    /// ```
    pub fn spawn(self) -> Result<Running> {
        drive::spawn(&self.stages, &self.options)
    }
}

/// A scope whose verbs are futures; see [`Scope::tokio`].
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let scope = legwork::Scope::new().with_env([("A", "1")]);
/// assert!(scope.tokio().succeeds(["sh", "-c", "test $A = 1"]).await);
/// # });
/// ```
#[derive(Debug, Clone)]
pub struct AsyncScope {
    scope: Scope,
}

impl AsyncScope {
    pub(crate) fn new(scope: &Scope) -> AsyncScope {
        AsyncScope { scope: scope.clone() }
    }

    /// Runs a command, its output flowing through; a failure is an error.
    ///
    /// # Errors
    /// Where it cannot be started or fails.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// legwork::Scope::new().tokio().sh(["true"]).await?;
    /// # Ok::<(), legwork::CommandError>(()) }).unwrap();
    /// ```
    pub async fn sh(&self, argv: impl IntoIterator<Item = impl Into<OsString>>) -> Result<Outcome> {
        self.scope.command(argv).tokio().run().await
    }

    /// Runs a command and keeps its output; a failure is a result.
    ///
    /// # Errors
    /// Where it cannot be started.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let scope = legwork::Scope::new().in_dir("/");
    /// assert_eq!(scope.tokio().capture(["pwd"]).await?.stdout_text(), "/\n");
    /// # Ok::<(), legwork::CommandError>(()) }).unwrap();
    /// ```
    pub async fn capture(
        &self,
        argv: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Result<Outcome> {
        self.scope.command(argv).tokio().capture().await
    }

    /// Runs a command silently: whether it succeeded.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// assert!(legwork::Scope::new().tokio().succeeds(["true"]).await);
    /// # });
    /// ```
    pub async fn succeeds(&self, argv: impl IntoIterator<Item = impl Into<OsString>>) -> bool {
        self.scope.command(argv).tokio().succeeds().await
    }
}

/// Runs a command, its output flowing through; a failure is an error.
///
/// # Errors
/// Where it cannot be started or fails.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// legwork::tokio::sh(["true"]).await?;
/// # Ok::<(), legwork::CommandError>(()) }).unwrap();
/// ```
pub async fn sh(argv: impl IntoIterator<Item = impl Into<OsString>>) -> Result<Outcome> {
    crate::cmd(argv).tokio().run().await
}

/// Runs a command and keeps its output; a failure is a result, not an error.
///
/// # Errors
/// Where it cannot be started.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// assert_eq!(legwork::tokio::capture(["echo", "x"]).await?.stdout_text(), "x\n");
/// # Ok::<(), legwork::CommandError>(()) }).unwrap();
/// ```
pub async fn capture(argv: impl IntoIterator<Item = impl Into<OsString>>) -> Result<Outcome> {
    crate::cmd(argv).tokio().capture().await
}

/// Runs a command silently: whether it succeeded. Never an error.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// assert!(legwork::tokio::succeeds(["true"]).await);
/// # });
/// ```
pub async fn succeeds(argv: impl IntoIterator<Item = impl Into<OsString>>) -> bool {
    crate::cmd(argv).tokio().succeeds().await
}
