//! What `run`, `start` and `ensure` have in common: from flags and files to a job's spec.
//!
//! Flags beat files, files beat defaults. What cannot be right together is said here, before
//! anything is started.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use clap_agent::AgentError;
use legwork::{EnvMode, Limits, Survivors};
use legwork_job::{Input, JobSpec, OnLogLimit, OnTimeout, Reading, Size};
use legwork_view::Budget;

use crate::config::Config;
use crate::units;

/// How long a caller waits for a command, unless said.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

const TIME: &str = "Time";
const SURROUNDINGS: &str = "Surroundings";
const JOB: &str = "The job";

/// The command itself.
#[derive(Debug, Args)]
pub(crate) struct Program {
    /// A line for the shell, instead of PROGRAM
    #[arg(short = 'c', long = "shell", value_name = "LINE", conflicts_with = "argv")]
    pub(crate) line: Option<OsString>,
    /// The program and its arguments; nothing after it is taken as legwork's own
    #[arg(value_name = "PROGRAM", trailing_var_arg = true, required_unless_present = "line")]
    pub(crate) argv: Vec<OsString>,
}

impl Program {
    fn into_spec(self) -> JobSpec {
        match self.line {
            Some(line) => JobSpec::shell(line),
            None => JobSpec::argv(self.argv),
        }
    }
}

/// Whose jobs are meant.
#[derive(Debug, Default, Args)]
pub(crate) struct Session {
    /// The session, a path like `team/task`: only its jobs and those below it are seen
    #[arg(long, value_name = "PATH", env = "LEGWORK_SESSION", help_heading = JOB)]
    session: Option<String>,
}

impl Session {
    /// The session; an empty one is none.
    pub(crate) fn get(&self) -> Option<&str> {
        self.session.as_deref().filter(|session| !session.is_empty())
    }
}

/// The options of a job.
#[derive(Debug, Default, Args)]
pub(crate) struct JobOptions {
    /// How long to wait for an answer; the command then runs on [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = units::duration, help_heading = TIME)]
    pub(crate) timeout: Option<Duration>,
    /// What happens to the command when the wait is over [default: background]
    #[arg(long, value_name = "WHAT", value_enum, help_heading = TIME)]
    pub(crate) on_timeout: Option<Patience>,
    /// The end of the command's life: its whole tree is ended [default: none]
    #[arg(long, value_name = "TIME", value_parser = units::duration, help_heading = TIME)]
    pub(crate) deadline: Option<Duration>,
    /// The longest silence, then its whole tree is ended [default: none]
    #[arg(long, value_name = "TIME", value_parser = units::duration, help_heading = TIME)]
    idle_timeout: Option<Duration>,
    /// Between asking the tree to end and killing it [default: 5s]
    #[arg(long, value_name = "TIME", value_parser = units::duration, help_heading = TIME)]
    kill_grace: Option<Duration>,
    /// What happens to descendants that outlive the command [default: keep]
    #[arg(long, value_name = "WHAT", value_enum, help_heading = TIME)]
    survivors: Option<Outliving>,

    /// The directory it runs in [default: the current one]
    #[arg(long, value_name = "DIR", help_heading = SURROUNDINGS)]
    pub(crate) workdir: Option<PathBuf>,
    /// A variable to set, NAME=VALUE; may be given several times
    #[arg(long, value_name = "NAME=VALUE", help_heading = SURROUNDINGS)]
    env: Vec<OsString>,
    /// Where its environment starts from [default: inherit]
    #[arg(long, value_name = "MODE", value_enum, help_heading = SURROUNDINGS)]
    env_mode: Option<Environment>,
    /// A variable whose value is masked wherever it would be written; may be given several times
    #[arg(long, value_name = "NAME", help_heading = SURROUNDINGS)]
    secret: Vec<String>,
    /// What it reads: null, open (for `legwork input`), a file, - (all of legwork's own stdin), or
    /// inherit (only in a `run` that streams) [default: null, open with --pty, inherit in a `run`
    /// that streams]
    #[arg(long, value_name = "WHAT", help_heading = SURROUNDINGS)]
    pub(crate) stdin: Option<OsString>,
    /// A terminal of its own, COLUMNSxROWS [default: none, 80x24 without a value]
    #[arg(long, value_name = "SIZE", value_parser = units::terminal, num_args = 0..=1,
          require_equals = true, default_missing_value = "80x24", help_heading = SURROUNDINGS)]
    pub(crate) pty: Option<Size>,
    /// Limits by the kernel: mem=1GiB,cpu=30s,files=256,core=0,fsize=1GB
    #[arg(long, value_name = "WHAT=MOST", value_parser = limit, value_delimiter = ',',
          help_heading = SURROUNDINGS)]
    limit: Vec<Limit>,
    /// Its nice value, -20 to 19
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(i32).range(-20..=19),
          allow_negative_numbers = true, help_heading = SURROUNDINGS)]
    nice: Option<i32>,

    /// A label, KEY=VALUE; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = label, help_heading = JOB)]
    label: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) session: Session,
    /// What it is for, in a short phrase; shown to people
    #[arg(long, value_name = "PHRASE", help_heading = JOB)]
    intent: Option<String>,
    /// Starting again with the same id starts nothing and gives the same job
    #[arg(long, value_name = "ID", help_heading = JOB)]
    request_id: Option<String>,
    /// How much of its output is kept [default: 64MiB]
    #[arg(long, value_name = "SIZE", value_parser = units::size, help_heading = JOB)]
    log_limit: Option<u64>,
    /// What happens when there is more [default: drop, the oldest of the middle]
    #[arg(long, value_name = "WHAT", value_enum, help_heading = JOB)]
    on_log_limit: Option<LogLimit>,
    /// How much of its output is shown: bytes, or like 4000tokens [default: 32KiB]
    #[arg(long, value_name = "SIZE", value_parser = units::budget, help_heading = JOB)]
    budget: Option<Budget>,
}

/// What happens when patience is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Patience {
    /// It runs on
    Background,
    /// Its tree is ended
    Terminate,
}

/// What happens to descendants that outlive a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Outliving {
    /// They live on, and are listed
    Keep,
    /// They are ended
    End,
}

/// What happens when the log is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LogLimit {
    /// The oldest of the middle goes
    Drop,
    /// The job is ended
    Terminate,
}

/// Where an environment starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Environment {
    /// The caller's own
    Inherit,
    /// Without Bundler's changes
    Unbundled,
    /// Without any language tool-chain's variables
    Clean,
    /// As before a tool-chain manager changed it
    Original,
    /// What the login shell exports
    Login,
    /// Nothing
    Empty,
}

impl From<Environment> for EnvMode {
    fn from(mode: Environment) -> EnvMode {
        match mode {
            Environment::Inherit => EnvMode::Inherit,
            Environment::Unbundled => EnvMode::Unbundled,
            Environment::Clean => EnvMode::Clean,
            Environment::Original => EnvMode::Original,
            Environment::Login => EnvMode::Login,
            Environment::Empty => EnvMode::Empty,
        }
    }
}

/// One limit of `--limit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Limit {
    Memory(u64),
    Cpu(u64),
    Files(u64),
    Core(u64),
    FileSize(u64),
}

fn limit(text: &str) -> Result<Limit, String> {
    const KEYS: &str = "use mem, cpu, files, core or fsize, like mem=1GiB,cpu=30s,files=256";
    let (key, value) = text.split_once('=').ok_or_else(|| format!("no `=`; {KEYS}"))?;
    match key {
        "mem" => units::size(value).map(Limit::Memory),
        "cpu" => {
            // The kernel counts whole seconds, and takes none as no limit at all.
            let seconds = units::duration(value)?.as_secs_f64().ceil() as u64;
            Ok(Limit::Cpu(seconds.max(1)))
        }
        "files" => {
            let count = value.parse().map_err(|_| "write a number, like files=256".to_owned());
            count.map(Limit::Files)
        }
        "core" => units::size(value).map(Limit::Core),
        "fsize" => units::size(value).map(Limit::FileSize),
        unknown => Err(format!("unknown limit {unknown:?}; {KEYS}")),
    }
}

/// A label of `--label`.
pub(crate) fn label(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("write KEY=VALUE, like team=web".to_owned()),
    }
}

/// Where a command's input comes from: what a job can have, or the caller's own.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// As a job has it.
    Job(Input),
    /// The caller's own stdin.
    Inherit,
}

/// A job that was asked for.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) spec: JobSpec,
    pub(crate) reading: Reading,
}

impl JobOptions {
    /// What the files say for where this command runs.
    pub(crate) fn config(&self) -> Result<Config, AgentError> {
        Config::for_workdir(self.workdir.as_deref())
    }

    /// What `--stdin` asks for; `None` where it was not given.
    pub(crate) fn source(&self) -> Result<Option<Source>, AgentError> {
        let Some(word) = &self.stdin else { return Ok(None) };
        Ok(Some(match word.as_bytes() {
            b"inherit" => Source::Inherit,
            b"null" => Source::Job(Input::Null),
            b"open" => Source::Job(Input::Open),
            b"-" => {
                let mut bytes = Vec::new();
                std::io::stdin().lock().read_to_end(&mut bytes).map_err(|error| {
                    AgentError::tool(format!("cannot read stdin: {error}")).with_field("stdin")
                })?;
                Source::Job(Input::Bytes(bytes))
            }
            _ => Source::Job(Input::File(std::path::absolute(word)?)),
        }))
    }

    /// What a job reads.
    pub(crate) fn job_input(&self) -> Result<Input, AgentError> {
        match self.source()? {
            Some(Source::Job(input)) => Ok(input),
            Some(Source::Inherit) => Err(AgentError::user(
                "a job outlives its caller and cannot have the caller's stdin",
                "use --stdin - for all that stdin has now, or --stdin open and `legwork input`",
            )
            .with_field("stdin")),
            None if self.pty.is_some() => Ok(Input::Open),
            None => Ok(Input::Null),
        }
    }

    /// The job's spec; its input and its name are the caller's to set.
    pub(crate) fn spec(&self, program: Program, config: &Config) -> Result<JobSpec, AgentError> {
        let mut spec = program.into_spec();
        spec.workdir = self.workdir.as_ref().map(std::path::absolute).transpose()?;
        spec.env = self.env.iter().map(|pair| variable(pair)).collect::<Result<_, _>>()?;
        spec.env_mode = self.env_mode.map(EnvMode::from).or(config.env_mode).unwrap_or_default();
        spec.secrets.clone_from(&self.secret);
        spec.terminal = self.pty;
        spec.deadline = self.deadline.or(config.deadline);
        spec.idle_timeout = self.idle_timeout;
        spec.kill_grace = self.kill_grace.or(config.kill_grace);
        spec.survivors = match self.survivors {
            Some(Outliving::Keep) => Survivors::Keep,
            Some(Outliving::End) => Survivors::End,
            None => config.survivors.unwrap_or_default(),
        };
        spec.limits = self.limits();
        spec.nice = self.nice;
        spec.log_limit = self.log_limit.or(config.log_limit).unwrap_or(spec.log_limit);
        spec.on_log_limit = match self.on_log_limit {
            Some(LogLimit::Terminate) => OnLogLimit::Terminate,
            Some(LogLimit::Drop) | None => OnLogLimit::Drop,
        };
        spec.labels = self.label.iter().cloned().collect();
        let session = self.session.get().or(config.session.as_deref());
        spec.session = session.map(str::to_owned);
        spec.intent.clone_from(&self.intent);
        spec.request_id.clone_from(&self.request_id);
        Ok(spec)
    }

    /// A job that nobody waits for: its spec, and how its output is shown.
    pub(crate) fn asked(
        &self,
        program: Program,
        name: Option<String>,
        instead: &str,
    ) -> Result<Asked, AgentError> {
        let config = self.config()?;
        let mut spec = self.spec(program, &config)?;
        self.without_patience(&mut spec, instead)?;
        spec.stdin = self.job_input()?;
        spec.name = name;
        Ok(Asked { spec, reading: self.reading(&config) })
    }

    /// For a command that nobody waits for, patience means nothing: `--timeout` is the end of its
    /// life where that was said, and a misunderstanding where it was not.
    pub(crate) fn without_patience(
        &self,
        spec: &mut JobSpec,
        instead: &str,
    ) -> Result<(), AgentError> {
        let Some(timeout) = self.timeout else { return Ok(()) };
        if self.on_timeout != Some(Patience::Terminate) {
            return Err(AgentError::user(
                "--timeout is how long a caller waits, and nobody waits here",
                instead,
            )
            .with_field("timeout"));
        }
        spec.deadline = Some(spec.deadline.map_or(timeout, |deadline| deadline.min(timeout)));
        Ok(())
    }

    /// Refuses what only a job can have, for a run that leaves no record.
    pub(crate) fn without_job(&self, name: Option<&str>) -> Result<(), AgentError> {
        let given = [
            ("name", name.is_some()),
            ("label", !self.label.is_empty()),
            ("request-id", self.request_id.is_some()),
            ("log-limit", self.log_limit.is_some()),
            ("on-log-limit", self.on_log_limit.is_some()),
            ("budget", self.budget.is_some()),
        ];
        match given.into_iter().find(|(_, given)| *given) {
            Some((option, _)) => Err(AgentError::user(
                format!("--{option} is for jobs, and a run that streams leaves none"),
                "leave it out, use --output json for a report, or `legwork start`",
            )
            .with_field(option)),
            None => Ok(()),
        }
    }

    /// How long the caller waits, and what happens then.
    pub(crate) fn patience(&self, config: &Config) -> (Duration, OnTimeout) {
        let on_timeout = match self.on_timeout {
            Some(Patience::Terminate) => OnTimeout::Terminate,
            Some(Patience::Background) | None => OnTimeout::Background,
        };
        (self.timeout.or(config.timeout).unwrap_or(PATIENCE), on_timeout)
    }

    /// How the output is shown in the report.
    pub(crate) fn reading(&self, config: &Config) -> Reading {
        Reading {
            budget: self.budget.or(config.budget).unwrap_or_default(),
            look: true,
            ..Reading::default()
        }
    }

    fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        for limit in &self.limit {
            match *limit {
                Limit::Memory(bytes) => limits.address_space = Some(bytes),
                Limit::Cpu(seconds) => limits.cpu_seconds = Some(seconds),
                Limit::Files(count) => limits.open_files = Some(count),
                Limit::Core(bytes) => limits.core = Some(bytes),
                Limit::FileSize(bytes) => limits.file_size = Some(bytes),
            }
        }
        limits
    }
}

/// A variable of `--env`, whose bytes need not be text.
fn variable(pair: &OsStr) -> Result<(OsString, Option<OsString>), AgentError> {
    let bytes = pair.as_bytes();
    let Some(at) = bytes.iter().position(|byte| *byte == b'=').filter(|at| *at > 0) else {
        let name = pair.to_string_lossy();
        return Err(AgentError::user(
            format!("--env {name:?} has no value"),
            format!("write --env {name}=VALUE; what the caller has is passed on anyway"),
        )
        .with_field("env"));
    };
    let part = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
    Ok((part(&bytes[..at]), Some(part(&bytes[at + 1..]))))
}

#[cfg(test)]
mod tests;
