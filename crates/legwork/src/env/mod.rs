//! The environment a command gets: a mode that chooses where it starts from, then edits.
//!
//! A tool that is itself run by Bundler, Cargo, npm or inside a virtual environment inherits
//! variables that were meant for it alone, and hands them to everything it runs. The modes undo
//! that, each by the rule of the tool-chain that set them. Nothing is cleaned unless asked.
//!
//! Everything here but [`login`] is pure: variables in, variables out.

pub(crate) mod bundler;
pub(crate) mod login;
mod toolchain;

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::str::FromStr;

pub use login::LoginEnv;
pub use toolchain::Toolchain;

use crate::error::InvalidInput;

/// Where a command's environment starts from.
///
/// ```
/// use legwork::prelude::*;
///
/// let outcome = cmd(["env"]).env_mode(EnvMode::Empty).env("A", "1").propagate_context(false).capture()?;
/// assert!(outcome.stdout_text().lines().any(|line| line == "A=1"));
/// assert_eq!("unbundled".parse::<EnvMode>().unwrap(), EnvMode::Unbundled);
/// # Ok::<(), legwork::CommandError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EnvMode {
    /// The caller's own, as it is.
    #[default]
    Inherit,
    /// Bundler's changes undone, by Bundler's own rule (`Bundler.unbundled_env`).
    Unbundled,
    /// Every variable of a language tool-chain removed: Ruby, Cargo and rustup, Python's virtual
    /// environments, npm. The system's own tools are seen.
    Clean,
    /// The environment before a tool-chain manager changed it: Bundler's backup restored
    /// (`Bundler.original_env`), the additions of `cargo run`, rustup, npm scripts and virtual
    /// environments taken away.
    Original,
    /// What the user's login shell would export. The first command that asks waits for that
    /// shell; on an async runtime, call [`LoginEnv::get`] on a blocking thread first.
    Login,
    /// Nothing at all.
    Empty,
}

impl EnvMode {
    const ALL: [(&'static str, EnvMode); 6] = [
        ("inherit", EnvMode::Inherit),
        ("unbundled", EnvMode::Unbundled),
        ("clean", EnvMode::Clean),
        ("original", EnvMode::Original),
        ("login", EnvMode::Login),
        ("empty", EnvMode::Empty),
    ];
}

impl FromStr for EnvMode {
    type Err = InvalidInput;

    fn from_str(text: &str) -> Result<EnvMode, InvalidInput> {
        let found = EnvMode::ALL.iter().find(|(name, _)| *name == text);
        found.map(|(_, mode)| *mode).ok_or_else(|| {
            let names = EnvMode::ALL.map(|(name, _)| name).join(", ");
            InvalidInput::new(
                "env_mode",
                format!("unknown mode {text:?}"),
                format!("use one of {names}"),
            )
        })
    }
}

impl fmt::Display for EnvMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = EnvMode::ALL.iter().find(|(_, mode)| mode == self);
        f.write_str(found.map_or("inherit", |(name, _)| name))
    }
}

/// A set of variables. Few enough that a list beats a map.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Vars(Vec<(OsString, OsString)>);

impl Vars {
    pub(crate) fn of_this_process() -> Vars {
        Vars(std::env::vars_os().collect())
    }

    pub(crate) fn get(&self, name: impl AsRef<OsStr>) -> Option<&OsStr> {
        let name = name.as_ref();
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_os_str())
    }

    pub(crate) fn set(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) {
        let (name, value) = (name.into(), value.into());
        match self.0.iter().position(|(key, _)| *key == name) {
            Some(at) => {
                self.0[at].1 = value;
                // An environment can hold a name twice; programs differ in which one they see.
                let mut index = 0;
                self.0.retain(|(key, _)| {
                    index += 1;
                    index <= at + 1 || *key != name
                });
            }
            None => self.0.push((name, value)),
        }
    }

    pub(crate) fn remove(&mut self, name: impl AsRef<OsStr>) {
        let name = name.as_ref();
        self.0.retain(|(key, _)| key != name);
    }

    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&OsStr) -> bool) {
        self.0.retain(|(key, _)| keep(key));
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.0.iter().map(|(key, value)| (key.as_os_str(), value.as_os_str()))
    }
}

impl FromIterator<(OsString, OsString)> for Vars {
    fn from_iter<T: IntoIterator<Item = (OsString, OsString)>>(iter: T) -> Vars {
        let mut vars = Vars::default();
        for (key, value) in iter {
            vars.set(key, value);
        }
        vars
    }
}

/// One change to the environment, in the order in which they were asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Edit {
    Set(OsString, OsString),
    Remove(OsString),
    Without(Toolchain),
}

/// A mode and edits: a plain value that resolves to variables when a command starts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Environment {
    mode: EnvMode,
    edits: Vec<Edit>,
}

impl Environment {
    pub(crate) fn set_mode(&mut self, mode: EnvMode) {
        self.mode = mode;
    }

    /// Sheds Bundler, where the mode has not done so already.
    pub(crate) fn unbundle(&mut self) {
        if self.mode == EnvMode::Inherit {
            self.mode = EnvMode::Unbundled;
        }
    }

    pub(crate) fn set(&mut self, name: OsString, value: OsString) {
        self.edits.push(Edit::Set(name, value));
    }

    pub(crate) fn remove(&mut self, name: OsString) {
        self.edits.push(Edit::Remove(name));
    }

    pub(crate) fn without(&mut self, toolchain: Toolchain) {
        self.edits.push(Edit::Without(toolchain));
    }

    /// The first name or value that no environment can hold, as a complaint.
    pub(crate) fn problem(&self) -> Option<InvalidInput> {
        use std::os::unix::ffi::OsStrExt;
        let bad = |name: &OsStr| {
            let bytes = name.as_bytes();
            bytes.is_empty() || bytes.contains(&b'=') || bytes.contains(&0)
        };
        self.edits.iter().find_map(|edit| {
            let (name, value) = match edit {
                Edit::Set(name, value) => (name, Some(value)),
                Edit::Remove(name) => (name, None),
                Edit::Without(_) => return None,
            };
            if bad(name) {
                let hint = "a name is not empty and holds neither '=' nor NUL";
                Some(InvalidInput::new("env", format!("bad variable name {name:?}"), hint))
            } else if value.is_some_and(|value| value.as_bytes().contains(&0)) {
                let problem = format!("the value of {} holds a NUL byte", name.to_string_lossy());
                Some(InvalidInput::new("env", problem, "the kernel ends values at NUL; remove it"))
            } else {
                None
            }
        })
    }

    /// Whether the caller has said something about this variable, which is the last word.
    pub(crate) fn decides(&self, name: &OsStr) -> bool {
        self.edits.iter().any(|edit| match edit {
            Edit::Set(edited, _) | Edit::Remove(edited) => edited == name,
            Edit::Without(_) => false,
        })
    }

    /// The variables, starting from `own`, those of the calling process. They are copied only
    /// where they differ.
    pub(crate) fn resolve<'a>(&self, own: &'a Vars) -> Result<Cow<'a, Vars>, InvalidInput> {
        let mut vars = match self.mode {
            EnvMode::Inherit if self.edits.is_empty() => return Ok(Cow::Borrowed(own)),
            EnvMode::Inherit => own.clone(),
            EnvMode::Empty => Vars::default(),
            EnvMode::Unbundled => bundler::unbundled(own.clone()),
            EnvMode::Original => {
                let mut vars = bundler::original(own.clone());
                for toolchain in [Toolchain::Cargo, Toolchain::Python, Toolchain::Node] {
                    toolchain.remove_from(&mut vars);
                }
                vars
            }
            EnvMode::Clean => {
                let mut vars = bundler::unbundled(own.clone());
                for toolchain in Toolchain::ALL {
                    toolchain.remove_from(&mut vars);
                }
                vars
            }
            EnvMode::Login => login::cached()?.vars.clone(),
        };
        for edit in &self.edits {
            match edit {
                Edit::Set(name, value) => vars.set(name, value),
                Edit::Remove(name) => vars.remove(name),
                Edit::Without(toolchain) => toolchain.remove_from(&mut vars),
            }
        }
        Ok(Cow::Owned(vars))
    }
}

#[cfg(test)]
pub(crate) fn vars(pairs: &[(&str, &str)]) -> Vars {
    pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_apply_in_order_on_top_of_the_mode() {
        let mut environment = Environment::default();
        environment.set("A".into(), "2".into());
        environment.remove("B".into());
        environment.set("C".into(), "3".into());
        environment.remove("C".into());
        let own = vars(&[("A", "1"), ("B", "1")]);
        let resolved = environment.resolve(&own).unwrap().into_owned();
        assert_eq!(resolved, vars(&[("A", "2")]));
        environment.set_mode(EnvMode::Empty);
        let own = vars(&[("X", "1")]);
        assert_eq!(environment.resolve(&own).unwrap().into_owned(), vars(&[("A", "2")]));
        assert!(environment.decides("B".as_ref()) && !environment.decides("X".as_ref()));
    }

    #[test]
    fn what_no_environment_can_hold_is_named() {
        for (name, value) in [("", "x"), ("A=B", "x"), ("A\0", "x"), ("A", "x\0y")] {
            let mut environment = Environment::default();
            environment.set(name.into(), value.into());
            assert_eq!(environment.problem().unwrap().field(), "env", "{name:?}={value:?}");
        }
    }

    #[test]
    fn modes_have_names() {
        for (name, mode) in EnvMode::ALL {
            assert_eq!(name.parse::<EnvMode>().unwrap(), mode);
            assert_eq!(mode.to_string(), name);
        }
        let error = "dirty".parse::<EnvMode>().unwrap_err();
        assert!(error.to_string().contains("unbundled"), "{error}");
    }
}
