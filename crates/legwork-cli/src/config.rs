//! Defaults from files: `.legwork.toml` of the project, then the user's own.
//!
//! The project's file is looked for upward from the workdir, to the home directory or the root.
//! It beats the user's, flags beat both. A key that is not known, or a value that cannot be right,
//! is an error with file, line and key: a default that is silently not taken is worse than none.

use std::fmt::Display;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use clap_agent::AgentError;
use legwork::{EnvMode, Survivors};
use legwork_view::Budget;
use serde::Deserialize;
use toml::{Spanned, Value};

use crate::units;

/// The name of a project's file.
const PROJECT_FILE: &str = ".legwork.toml";

/// What the files say; what they do not say is absent.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Config {
    pub(crate) timeout: Option<Duration>,
    pub(crate) deadline: Option<Duration>,
    pub(crate) kill_grace: Option<Duration>,
    pub(crate) budget: Option<Budget>,
    pub(crate) log_limit: Option<u64>,
    pub(crate) session: Option<String>,
    pub(crate) env_mode: Option<EnvMode>,
    pub(crate) survivors: Option<Survivors>,
}

/// The file as it is written: each value with its place, to be named where it is wrong.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    timeout: Option<Spanned<Value>>,
    deadline: Option<Spanned<Value>>,
    kill_grace: Option<Spanned<Value>>,
    budget: Option<Spanned<Value>>,
    log_limit: Option<Spanned<Value>>,
    session: Option<Spanned<Value>>,
    env_mode: Option<Spanned<Value>>,
    survivors: Option<Spanned<Value>>,
}

impl Config {
    /// What holds for a command that runs in this directory.
    pub(crate) fn for_workdir(workdir: Option<&Path>) -> Result<Config, AgentError> {
        let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        let start = std::path::absolute(workdir.unwrap_or(Path::new(".")))?;
        let user = std::env::var_os("XDG_CONFIG_HOME")
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
            .or_else(|| Some(home.as_ref()?.join(".config")))
            .map(|config| config.join("legwork").join("config.toml"));
        Config::found(&start, home.as_deref(), user.as_deref())
    }

    fn found(start: &Path, home: Option<&Path>, user: Option<&Path>) -> Result<Config, AgentError> {
        let mut config = Config::default();
        for directory in start.ancestors() {
            if let Some(project) = Config::read(&directory.join(PROJECT_FILE))? {
                config = project;
                break;
            }
            if Some(directory) == home {
                break;
            }
        }
        let user = user.map(Config::read).transpose()?.flatten().unwrap_or_default();
        Ok(config.or(user))
    }

    /// A file, where there is one.
    fn read(path: &Path) -> Result<Option<Config>, AgentError> {
        match fs::read_to_string(path) {
            Ok(text) => Config::parse(path, &text).map(Some),
            Err(error) => match error.kind() {
                ErrorKind::NotFound | ErrorKind::NotADirectory => Ok(None),
                // A directory above that is closed to this user has no say.
                ErrorKind::PermissionDenied if !path.exists() => Ok(None),
                _ => Err(AgentError::tool(format!("cannot read {}: {error}", path.display()))
                    .with_kind("config")
                    .with_suggestion("make it a readable file, or remove it")),
            },
        }
    }

    fn parse(path: &Path, text: &str) -> Result<Config, AgentError> {
        let file = File { path, text };
        let written: Written = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            file.complaint(at, error.message())
        })?;
        Ok(Config {
            timeout: file.quantity("timeout", written.timeout, units::duration)?,
            deadline: file.quantity("deadline", written.deadline, units::duration)?,
            kill_grace: file.quantity("kill_grace", written.kill_grace, units::duration)?,
            budget: file.quantity("budget", written.budget, units::budget)?,
            log_limit: file.quantity("log_limit", written.log_limit, units::size)?,
            session: file
                .quantity("session", written.session, |text| Ok::<_, String>(text.to_owned()))?,
            env_mode: file.quantity("env_mode", written.env_mode, EnvMode::from_str)?,
            survivors: file.quantity("survivors", written.survivors, survivors)?,
        })
    }

    /// What is absent here comes from `other`.
    fn or(self, other: Config) -> Config {
        Config {
            timeout: self.timeout.or(other.timeout),
            deadline: self.deadline.or(other.deadline),
            kill_grace: self.kill_grace.or(other.kill_grace),
            budget: self.budget.or(other.budget),
            log_limit: self.log_limit.or(other.log_limit),
            session: self.session.or(other.session),
            env_mode: self.env_mode.or(other.env_mode),
            survivors: self.survivors.or(other.survivors),
        }
    }
}

/// What happens to survivors, by its word.
pub(crate) fn survivors(text: &str) -> Result<Survivors, String> {
    match text {
        "keep" => Ok(Survivors::Keep),
        "end" => Ok(Survivors::End),
        _ => Err("write keep or end".to_owned()),
    }
}

/// A file that is being read, to be named in complaints.
struct File<'a> {
    path: &'a Path,
    text: &'a str,
}

impl File<'_> {
    fn quantity<T, E: Display>(
        &self,
        key: &str,
        written: Option<Spanned<Value>>,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Result<Option<T>, AgentError> {
        let Some(written) = written else { return Ok(None) };
        let at = written.span().start;
        let text = match written.into_inner() {
            Value::String(text) => text,
            Value::Integer(number) => number.to_string(),
            other => {
                return Err(self.complaint(
                    at,
                    &format!(
                        "{key} is {}, where text is wanted, like {key} = \"…\"",
                        other.type_str()
                    ),
                ));
            }
        };
        parse(&text)
            .map(Some)
            .map_err(|error| self.complaint(at, &format!("{key} = {text:?}: {error}")))
    }

    fn complaint(&self, at: usize, problem: &str) -> AgentError {
        let before = self.text.get(..at).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        AgentError::user(
            format!("{}:{line}: {problem}", self.path.display()),
            "correct the file; its keys are timeout, deadline, kill_grace, budget, log_limit, \
             session, env_mode and survivors",
        )
        .with_kind("config")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config, String> {
        Config::parse(Path::new("/p/.legwork.toml"), text).map_err(|error| error.to_string())
    }

    #[test]
    fn every_key_is_read() {
        let config = parse(
            "timeout = \"30s\"\ndeadline = \"10m\"\nkill_grace = \"1s\"\nbudget = \"4000tokens\"\n\
             log_limit = 1024\nsession = \"a/b\"\nenv_mode = \"clean\"\nsurvivors = \"end\"\n",
        )
        .unwrap();
        assert_eq!(config.timeout, Some(Duration::from_secs(30)));
        assert_eq!(config.deadline, Some(Duration::from_secs(600)));
        assert_eq!(config.kill_grace, Some(Duration::from_secs(1)));
        assert_eq!(config.budget, Some(Budget::Tokens(4000)));
        assert_eq!(config.log_limit, Some(1024));
        assert_eq!(config.session.as_deref(), Some("a/b"));
        assert_eq!(config.env_mode, Some(EnvMode::Clean));
        assert_eq!(config.survivors, Some(Survivors::End));
    }

    #[test]
    fn a_mistake_is_told_with_file_line_and_key() {
        let unknown = parse("timeout = \"1s\"\ntimeuot = \"1s\"\n").unwrap_err();
        assert!(unknown.starts_with("/p/.legwork.toml:2: "), "{unknown}");
        assert!(unknown.contains("timeuot"), "{unknown}");
        let bad = parse("\n\ntimeout = \"soon\"\n").unwrap_err();
        assert!(bad.starts_with("/p/.legwork.toml:3: timeout = \"soon\": "), "{bad}");
        assert!(bad.contains("30s"), "{bad}");
        let unitless = parse("timeout = 30").unwrap_err();
        assert!(unitless.contains("no unit"), "{unitless}");
        let mode = parse("env_mode = \"tidy\"").unwrap_err();
        assert!(mode.contains("unbundled"), "{mode}");
        let list = parse("session = [1]").unwrap_err();
        assert!(list.contains("session"), "{list}");
        let broken = parse("a = 1\nb = = 2").unwrap_err();
        assert!(broken.starts_with("/p/.legwork.toml:2: "), "{broken}");
    }

    #[test]
    fn the_nearest_project_beats_the_user_and_home_ends_the_search() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path();
        let (home, user) = (root.join("home"), root.join("user.toml"));
        let deep = home.join("project/src/deep");
        fs::create_dir_all(&deep).unwrap();
        fs::write(&user, "timeout = \"1s\"\ndeadline = \"1m\"\n").unwrap();
        fs::write(root.join(PROJECT_FILE), "session = \"above-home\"\n").unwrap();
        let found = || Config::found(&deep, Some(&home), Some(&user)).unwrap();
        assert_eq!(found().timeout, Some(Duration::from_secs(1)));
        assert_eq!(found().session, None);
        fs::write(home.join("project").join(PROJECT_FILE), "timeout = \"2s\"\n").unwrap();
        assert_eq!(found().timeout, Some(Duration::from_secs(2)));
        assert_eq!(found().deadline, Some(Duration::from_secs(60)));
        fs::write(deep.join(PROJECT_FILE), "timeout = \"3s\"\n").unwrap();
        assert_eq!(found().timeout, Some(Duration::from_secs(3)));
    }

    #[test]
    fn no_file_is_no_error() {
        let scratch = tempfile::tempdir().unwrap();
        let nowhere = scratch.path().join("not/there");
        let found = Config::found(&nowhere, Some(scratch.path()), Some(&nowhere)).unwrap();
        assert_eq!(found, Config::default());
    }
}
