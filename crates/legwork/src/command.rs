//! The command value: what to run, with its environment, place, input, outputs and limits.
//!
//! A plain value: building one touches nothing, cloning one is cheap, and running one does not
//! use it up. What cannot be right is remembered and told when it is run, so that a chain of
//! options needs no error handling of its own.

mod data;
mod exec;
mod pipeline;
mod shared;

use std::ffi::OsString;
use std::path::PathBuf;

pub(crate) use exec::{Exec, RunOptions, Sink, Supervised};
pub use pipeline::Pipeline;

use crate::env::{EnvMode, Environment, Toolchain};
use crate::error::{InvalidInput, Result};
use crate::options::{Limits, Output, Stdin};
use exec::What;

/// A command: argv or a shell line, with everything that belongs to it.
///
/// ```
/// use legwork::prelude::*;
/// use std::time::Duration;
///
/// let outcome = cmd(["git", "--version"])
///     .env("LC_ALL", "C")
///     .workdir("/")
///     .timeout(Duration::from_secs(10))
///     .capture()?;
/// assert!(outcome.stdout_text().starts_with("git version"));
/// # Ok::<(), legwork::CommandError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Command {
    pub(crate) exec: Exec,
    pub(crate) options: RunOptions,
}

impl Command {
    /// A program and its arguments. No shell, no expansion: `$HOME` is five characters.
    ///
    /// ```
    /// let command = legwork::Command::new(["echo", "$HOME"]);
    /// assert_eq!(command.capture()?.stdout_text(), "$HOME\n");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    pub fn new(argv: impl IntoIterator<Item = impl Into<OsString>>) -> Command {
        Command::of(What::Argv(argv.into_iter().map(Into::into).collect()))
    }

    /// A line for a shell: `bash` where it exists, else `sh`.
    ///
    /// ```
    /// let outcome = legwork::Command::shell("echo a b | tr ' ' '\n' | wc -l").capture()?;
    /// assert_eq!(outcome.stdout_text().trim(), "2");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    pub fn shell(line: impl Into<OsString>) -> Command {
        Command::of(What::Shell { line: line.into(), shell: None })
    }

    /// A command as data, as tools receive it: an object with `command` and, optionally, `argv`,
    /// `env`, `cwd` (or `workdir`), `timeout` (milliseconds) and `clear_env`.
    ///
    /// `argv` is a JSON array whose elements that are no strings are taken as their JSON text; a
    /// string that holds a JSON array is that array; any other string is one argument. `env` is
    /// an object, or a string that holds one.
    ///
    /// # Errors
    /// Whatever is malformed is named by its field; nothing is ignored.
    ///
    /// ```
    /// use legwork::Command;
    /// use serde_json::json;
    ///
    /// let command = Command::from_json(&json!({
    ///     "command": "echo", "argv": ["a b", 5], "timeout": 10_000, "clear_env": true,
    /// }))?;
    /// assert_eq!(command.capture()?.stdout_text(), "a b 5\n");
    ///
    /// let error = Command::from_json(&json!({"command": "env", "env": "{oops"})).unwrap_err();
    /// assert_eq!(error.field(), "env");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_json(fields: &serde_json::Value) -> Result<Command, InvalidInput> {
        data::command(fields)
    }

    fn of(what: What) -> Command {
        Command {
            exec: Exec {
                what,
                args: Vec::new(),
                env: Environment::default(),
                workdir: None,
                stdin: Stdin::Null,
                stdout: None,
                stderr: None,
                merged: false,
                pty: None,
                limits: Limits::default(),
                nice: None,
                oom_score_adj: None,
                needs_gemfile: false,
                problem: None,
            },
            options: RunOptions::default(),
        }
    }

    /// Adds an argument.
    ///
    /// ```
    /// assert_eq!(legwork::cmd(["echo"]).arg("hi").capture()?.stdout_text(), "hi\n");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    #[must_use]
    pub fn arg(self, arg: impl Into<OsString>) -> Command {
        self.args([arg])
    }

    /// Adds arguments. For a shell line they become its positional parameters `$1`, `$2`, …: the
    /// safe way to hand it values.
    ///
    /// ```
    /// let files = ["a b", "$(c)"];
    /// let outcome = legwork::shell(r#"printf '%s\n' "$@""#).args(files).capture()?;
    /// assert_eq!(outcome.stdout_text(), "a b\n$(c)\n");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<OsString>>) -> Command {
        self.exec.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Names the shell for a shell line; it has to understand `-c`.
    ///
    /// ```
    /// let outcome = legwork::shell("echo $0").shell_program("sh").capture()?;
    /// assert!(outcome.stdout_text().starts_with("sh"));
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    #[must_use]
    pub fn shell_program(mut self, program: impl Into<OsString>) -> Command {
        if let What::Shell { shell, .. } = &mut self.exec.what {
            *shell = Some(program.into());
        } else {
            self.complain("shell", "this command is no shell line", "make it with `shell(line)`");
        }
        self
    }

    /// Sets a variable.
    ///
    /// ```
    /// let outcome = legwork::shell("echo $X").env("X", "1").capture()?;
    /// assert_eq!(outcome.stdout_text(), "1\n");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Command {
        self.exec.env.set(name.into(), value.into());
        self
    }

    /// Sets several.
    ///
    /// ```
    /// let outcome = legwork::shell("echo $X$Y").envs([("X", "1"), ("Y", "2")]).capture()?;
    /// assert_eq!(outcome.stdout_text(), "12\n");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    #[must_use]
    pub fn envs(
        self,
        vars: impl IntoIterator<Item = (impl Into<OsString>, impl Into<OsString>)>,
    ) -> Command {
        vars.into_iter().fold(self, |command, (name, value)| command.env(name, value))
    }

    /// Takes a variable away.
    ///
    /// ```
    /// let outcome = legwork::shell("echo [$HOME]").env_remove("HOME").capture()?;
    /// assert_eq!(outcome.stdout_text(), "[]\n");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    #[must_use]
    pub fn env_remove(mut self, name: impl Into<OsString>) -> Command {
        self.exec.env.remove(name.into());
        self
    }

    /// Chooses where the environment starts from; `env` and `env_remove` come on top.
    ///
    /// ```
    /// use legwork::EnvMode;
    /// let outcome = legwork::shell("echo [$HOME]").env_mode(EnvMode::Empty).capture()?;
    /// assert_eq!(outcome.stdout_text(), "[]\n");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    #[must_use]
    pub fn env_mode(mut self, mode: EnvMode) -> Command {
        self.exec.env.set_mode(mode);
        self
    }

    /// Takes away what one tool-chain sets.
    ///
    /// ```
    /// use legwork::Toolchain;
    /// let command = legwork::cmd(["env"]).without(Toolchain::Python);
    /// # let _ = command;
    /// ```
    #[must_use]
    pub fn without(mut self, toolchain: Toolchain) -> Command {
        self.exec.env.without(toolchain);
        self
    }

    /// The directory it runs in. A relative one is taken from the scope's, else from the caller's
    /// current directory.
    ///
    /// ```
    /// assert_eq!(legwork::cmd(["pwd"]).workdir("/").capture()?.stdout_text(), "/\n");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    #[must_use]
    pub fn workdir(mut self, directory: impl Into<PathBuf>) -> Command {
        let directory = directory.into();
        self.exec.workdir = Some(match &self.exec.workdir {
            Some(base) => base.join(directory),
            None => directory,
        });
        self
    }

    /// What it reads; nothing, unless said.
    ///
    /// ```
    /// let outcome = legwork::cmd(["cat"]).stdin("text").capture()?;
    /// assert_eq!(outcome.stdout_text(), "text");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    #[must_use]
    pub fn stdin(mut self, stdin: impl Into<Stdin>) -> Command {
        self.exec.stdin = stdin.into();
        self
    }

    /// Where its stdout goes; by default as the verb says.
    ///
    /// ```
    /// use legwork::Output;
    /// let outcome = legwork::cmd(["echo", "x"]).stdout(Output::Null).capture()?;
    /// assert!(outcome.stdout.is_none());
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    #[must_use]
    pub fn stdout(mut self, output: Output) -> Command {
        self.exec.stdout = Some(output);
        self
    }

    /// Where its stderr goes; by default as the verb says.
    ///
    /// ```
    /// use legwork::Output;
    /// let outcome = legwork::shell("echo x >&2").stderr(Output::Capture).run()?;
    /// assert_eq!(outcome.stderr_text(), "x\n");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    #[must_use]
    pub fn stderr(mut self, output: Output) -> Command {
        self.exec.stderr = Some(output);
        self
    }

    /// Where both go.
    ///
    /// ```
    /// use legwork::Output;
    /// let outcome = legwork::shell("echo x; echo y >&2").output(Output::Capture).run()?;
    /// assert_eq!(outcome.stdout_text(), "x\n");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    #[must_use]
    pub fn output(self, output: Output) -> Command {
        self.stdout(output.clone()).stderr(output)
    }

    /// Puts stderr on the pipe of stdout: the exact order, without telling the two apart.
    ///
    /// ```
    /// let outcome = legwork::shell("echo a; echo b >&2; echo c").merged().capture()?;
    /// assert_eq!(outcome.stdout_text(), "a\nb\nc\n");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    #[must_use]
    pub fn merged(mut self) -> Command {
        self.exec.merged = true;
        self
    }

    /// Gives it a pseudo-terminal of this size. Its output is one stream, as on a screen; its
    /// input, if any, is typed.
    ///
    /// ```
    /// let outcome = legwork::shell("test -t 1 && stty size").pty(24, 80).capture()?;
    /// assert_eq!(outcome.stdout_text().trim(), "24 80");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    #[must_use]
    pub fn pty(mut self, rows: u16, cols: u16) -> Command {
        if rows == 0 || cols == 0 {
            self.complain(
                "pty",
                &format!("{rows}x{cols} is no size"),
                "use 24 rows, 80 columns, say",
            );
        }
        self.exec.pty = Some((rows, cols));
        self
    }

    /// Resource limits.
    ///
    /// ```
    /// use legwork::Limits;
    /// let limits = Limits { core: Some(0), ..Limits::default() };
    /// assert!(legwork::cmd(["true"]).limits(limits).capture()?.success());
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Command {
        self.exec.limits = limits;
        self
    }

    /// Its nice value, from -20 (first) to 19 (last).
    ///
    /// ```
    /// assert_eq!(legwork::cmd(["nice"]).nice(7).capture()?.stdout_text(), "7\n");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    #[must_use]
    pub fn nice(mut self, nice: i32) -> Command {
        if !(-20..=19).contains(&nice) {
            self.complain("nice", &format!("{nice} is out of range"), "use -20 to 19");
        }
        self.exec.nice = Some(nice);
        self
    }

    /// How willingly the kernel ends it for want of memory, from -1000 (never) to 1000 (first).
    ///
    /// ```
    /// let outcome = legwork::cmd(["cat", "/proc/self/oom_score_adj"]).oom_score_adj(500).capture()?;
    /// assert_eq!(outcome.stdout_text(), "500\n");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    #[must_use]
    pub fn oom_score_adj(mut self, score: i32) -> Command {
        if !(-1000..=1000).contains(&score) {
            self.complain(
                "oom_score_adj",
                &format!("{score} is out of range"),
                "use -1000 to 1000",
            );
        }
        self.exec.oom_score_adj = Some(score);
        self
    }

    /// Feeds what this prints to another command.
    ///
    /// ```
    /// use legwork::cmd;
    /// let outcome = cmd(["printf", "b\\na\\n"]).pipe(cmd(["sort"])).capture()?;
    /// assert_eq!(outcome.stdout_text(), "a\nb\n");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    #[must_use]
    pub fn pipe(self, next: Command) -> Pipeline {
        let options = RunOptions { scope: self.options.scope.clone(), ..RunOptions::default() };
        Pipeline::new(self.into_stage(), options).pipe(next)
    }

    fn into_stage(mut self) -> Exec {
        if let Some(name) = self.options.misplaced() {
            self.complain(name, "set on one stage of a pipeline", "set it on the pipeline itself");
        }
        if self.exec.pty.is_some() {
            self.complain("pty", "a stage of a pipeline has no terminal", "run the command alone");
        }
        self.exec
    }

    /// Remembers the first thing that cannot be right.
    fn complain(&mut self, field: &str, problem: &str, hint: &str) {
        self.exec.problem.get_or_insert_with(|| InvalidInput::new(field, problem, hint));
    }

    fn stages(&self) -> &[Exec] {
        std::slice::from_ref(&self.exec)
    }
}
