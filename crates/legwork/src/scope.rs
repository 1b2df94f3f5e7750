//! A place and an environment to run commands in, as a value.
//!
//! Scopes replace the process-global `cd` and `export`: two threads with two directories do not
//! disturb each other, and the process's own directory and environment are never changed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::command::Command;
use crate::context::Context;
use crate::env::{EnvMode, Environment, Toolchain};
use crate::error::{InvalidInput, Result};
use crate::outcome::Outcome;
use crate::project::Project;

/// Where and in which environment its commands run.
///
/// ```
/// use legwork::prelude::*;
///
/// let scope = Scope::new().in_dir("/").with_env([("RAILS_ENV", "test")]);
/// assert_eq!(scope.capture(["pwd"])?.stdout_text(), "/\n");
/// assert_eq!(scope.in_dir("usr").capture(["pwd"])?.stdout_text(), "/usr\n");
/// assert!(scope.succeeds(["sh", "-c", "test $RAILS_ENV = test"]));
/// # Ok::<(), legwork::CommandError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Scope {
    workdir: Option<PathBuf>,
    env: Environment,
    context: Option<Context>,
    external_denied: bool,
}

impl Scope {
    /// The plain scope: the caller's own directory and environment.
    ///
    /// ```
    /// assert!(legwork::Scope::new().succeeds(["true"]));
    /// ```
    pub fn new() -> Scope {
        Scope::default()
    }

    /// The same scope in another directory; a relative one is taken from this scope's.
    ///
    /// ```
    /// use legwork::Scope;
    /// let usr = Scope::new().in_dir("/usr");
    /// assert_eq!(usr.capture(["pwd"])?.stdout_text(), "/usr\n");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    #[must_use]
    pub fn in_dir(&self, directory: impl AsRef<Path>) -> Scope {
        let workdir = match &self.workdir {
            Some(base) => base.join(directory),
            None => directory.as_ref().to_owned(),
        };
        Scope { workdir: Some(workdir), ..self.clone() }
    }

    /// The same scope with more variables.
    ///
    /// ```
    /// use legwork::Scope;
    /// let scope = Scope::new().with_env([("A", "1"), ("B", "2")]);
    /// assert_eq!(scope.shell("echo $A$B").capture()?.stdout_text(), "12\n");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    #[must_use]
    pub fn with_env(
        &self,
        vars: impl IntoIterator<Item = (impl Into<OsString>, impl Into<OsString>)>,
    ) -> Scope {
        let mut scope = self.clone();
        for (name, value) in vars {
            scope.env.set(name.into(), value.into());
        }
        scope
    }

    /// The same scope with an environment that starts elsewhere.
    ///
    /// ```
    /// use legwork::{EnvMode, Scope};
    /// let empty = Scope::new().env_mode(EnvMode::Empty);
    /// assert_eq!(empty.shell("echo [$HOME]").capture()?.stdout_text(), "[]\n");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    #[must_use]
    pub fn env_mode(&self, mode: EnvMode) -> Scope {
        let mut scope = self.clone();
        scope.env.set_mode(mode);
        scope
    }

    /// The same scope without Bundler, by Bundler's own rule.
    ///
    /// ```
    /// let scope = legwork::Scope::new().unbundled();
    /// assert!(scope.succeeds(["sh", "-c", "test -z $BUNDLE_GEMFILE"]));
    /// ```
    #[must_use]
    pub fn unbundled(&self) -> Scope {
        self.env_mode(EnvMode::Unbundled)
    }

    /// The same scope without any variable of a language tool-chain.
    ///
    /// ```
    /// let scope = legwork::Scope::new().clean();
    /// assert!(scope.succeeds(["sh", "-c", "test -z $CARGO_MANIFEST_DIR"]));
    /// ```
    #[must_use]
    pub fn clean(&self) -> Scope {
        self.env_mode(EnvMode::Clean)
    }

    /// The same scope with the environment from before a tool-chain manager changed it.
    ///
    /// ```
    /// let scope = legwork::Scope::new().original();
    /// assert!(scope.succeeds(["true"]));
    /// ```
    #[must_use]
    pub fn original(&self) -> Scope {
        self.env_mode(EnvMode::Original)
    }

    /// The same scope without what one tool-chain sets.
    ///
    /// ```
    /// use legwork::{Scope, Toolchain};
    /// let scope = Scope::new().without(Toolchain::Cargo);
    /// assert!(scope.succeeds(["sh", "-c", "test -z $CARGO_PKG_NAME"]));
    /// ```
    #[must_use]
    pub fn without(&self, toolchain: Toolchain) -> Scope {
        let mut scope = self.clone();
        scope.env.without(toolchain);
        scope
    }

    /// The same scope with this context instead of the detected one.
    ///
    /// ```
    /// use legwork::{Context, Scope};
    /// let scope = Scope::new().context(Context::plain().enter("deploy"));
    /// let out = scope.shell("echo $LEGWORK_CALL_TREE").capture()?;
    /// assert_eq!(out.stdout_text(), "deploy\n");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    #[must_use]
    pub fn context(&self, context: Context) -> Scope {
        Scope { context: Some(context), ..self.clone() }
    }

    /// The same scope, with external commands switched on or off. Where they are off nothing is
    /// started: each verb answers with the ending `denied`.
    ///
    /// ```
    /// use legwork::{Cause, Scope};
    /// let error = Scope::new().allow_external(false).sh(["true"]).unwrap_err();
    /// assert!(matches!(error.ending().cause(), Cause::Denied { .. }));
    /// assert_eq!(error.ending().number(), 126);
    /// ```
    #[must_use]
    pub fn allow_external(&self, allow: bool) -> Scope {
        Scope { external_denied: !allow, ..self.clone() }
    }

    /// Its directory, where it has one.
    ///
    /// ```
    /// assert_eq!(legwork::Scope::new().workdir(), None);
    /// ```
    pub fn workdir(&self) -> Option<&Path> {
        self.workdir.as_deref()
    }

    /// A command in this scope, to be given options and run.
    ///
    /// ```
    /// let outcome = legwork::Scope::new().in_dir("/").command(["pwd"]).capture()?;
    /// assert_eq!(outcome.stdout_text(), "/\n");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    pub fn command(&self, argv: impl IntoIterator<Item = impl Into<OsString>>) -> Command {
        self.around(Command::new(argv))
    }

    /// A shell line in this scope.
    ///
    /// ```
    /// let outcome = legwork::Scope::new().shell("echo a | tr a b").capture()?;
    /// assert_eq!(outcome.stdout_text(), "b\n");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    pub fn shell(&self, line: impl Into<OsString>) -> Command {
        self.around(Command::shell(line))
    }

    /// A command of the project's own bundle: `bundle exec …`, without the traces of a Bundler
    /// that may run the calling tool. Where there is no Gemfile in the workdir or above it,
    /// running it is an error that says where it looked.
    ///
    /// ```
    /// let scope = legwork::Scope::new().in_dir("/");
    /// let error = scope.bundle_exec(["rake", "test"]).run().unwrap_err();
    /// assert_eq!(error.invalid_input().unwrap().field(), "workdir");
    /// ```
    pub fn bundle_exec(&self, argv: impl IntoIterator<Item = impl Into<OsString>>) -> Command {
        let mut command = self.command(["bundle", "exec"]).args(argv);
        command.exec.env.unbundle();
        command.exec.needs_gemfile = true;
        command
    }

    /// Runs a command, its output flowing through; a failure is an error.
    ///
    /// # Errors
    /// Where it cannot be started or fails.
    ///
    /// ```
    /// legwork::Scope::new().sh(["true"])?;
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    pub fn sh(&self, argv: impl IntoIterator<Item = impl Into<OsString>>) -> Result<Outcome> {
        self.command(argv).run()
    }

    /// Runs a command and keeps its output; a failure is a result.
    ///
    /// # Errors
    /// Where it cannot be started.
    ///
    /// ```
    /// assert_eq!(legwork::Scope::new().capture(["echo", "x"])?.stdout_text(), "x\n");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    pub fn capture(&self, argv: impl IntoIterator<Item = impl Into<OsString>>) -> Result<Outcome> {
        self.command(argv).capture()
    }

    /// Runs a command silently: whether it succeeded.
    ///
    /// ```
    /// assert!(!legwork::Scope::new().succeeds(["false"]));
    /// ```
    pub fn succeeds(&self, argv: impl IntoIterator<Item = impl Into<OsString>>) -> bool {
        self.command(argv).succeeds()
    }

    /// The same three verbs as futures, on tokio.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let scope = legwork::Scope::new().in_dir("/");
    /// assert_eq!(scope.tokio().capture(["pwd"]).await?.stdout_text(), "/\n");
    /// # Ok::<(), legwork::CommandError>(()) }).unwrap();
    /// ```
    #[cfg(feature = "tokio")]
    pub fn tokio(&self) -> crate::tokio::AsyncScope {
        crate::tokio::AsyncScope::new(self)
    }

    /// An assertion for tools that only work there: this scope is at the root of a project.
    ///
    /// # Errors
    /// Where it is outside every project, or below a project's root.
    ///
    /// ```
    /// assert!(legwork::Scope::new().in_dir("/usr").ensure_project_root().is_err());
    /// ```
    pub fn ensure_project_root(&self) -> Result<Project, InvalidInput> {
        let here = self.workdir.as_deref().unwrap_or(Path::new("."));
        let project = Project::find_from(here)?;
        let absolute = std::path::absolute(here).unwrap_or_else(|_| here.to_owned());
        if same_directory(&absolute, project.root()) {
            return Ok(project);
        }
        Err(InvalidInput::new(
            "workdir",
            format!("{} is not the project's root", crate::quote::path(&absolute)),
            format!("go to {}", crate::quote::path(project.root())),
        ))
    }

    fn around(&self, mut command: Command) -> Command {
        command.exec.env = self.env.clone();
        command.exec.workdir.clone_from(&self.workdir);
        command.options.scope.context.clone_from(&self.context);
        command.options.scope.external_denied = self.external_denied;
        command
    }
}

fn same_directory(a: &Path, b: &Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => a == b,
    }
}
