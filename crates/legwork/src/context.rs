//! What a tool knows of the circumstances it runs in, and hands down to what it runs.

use std::ffi::{OsStr, OsString};

use crate::env::Vars;

/// The circumstances: agent or person, CI or not, which environment, how loud, called by whom.
///
/// Detected from the environment: a tool's own variables first, then the well-known ones of CI
/// systems and coding agents. Every command receives it as `LEGWORK_CALL_TREE`,
/// `LEGWORK_AGENT_MODE`, `LEGWORK_ENV` and `LEGWORK_CI`, unless
/// [`propagate_context(false)`](crate::Command::propagate_context).
///
/// ```
/// use legwork::prelude::*;
///
/// // A tool called `dx` that runs its task `test`.
/// let context = Context::detect_as("DX").environment("test").enter("dx").enter("test");
/// let scope = Scope::new().context(context);
/// let out = scope.command(["sh", "-c", "echo $DX_CALL_TREE $DX_ENV"]).capture()?;
/// assert!(out.stdout_text().ends_with("dx:test test\n"));
/// # Ok::<(), legwork::CommandError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Context {
    prefix: String,
    agent: bool,
    ci: bool,
    environment: Option<String>,
    verbosity: Verbosity,
    call_tree: Vec<String>,
}

/// How much is said beside the output itself.
///
/// ```
/// use legwork::prelude::*;
/// let context = Context::plain().verbosity(Verbosity::Quiet);
/// assert_eq!(context.get_verbosity(), Verbosity::Quiet);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Verbosity {
    /// A streamed command's stdout is held back and shown only when it fails.
    Quiet,
    /// The output alone.
    #[default]
    Normal,
    /// Each command is printed on stderr before it runs, quoted so that it can be pasted.
    Verbose,
}

/// Set by CI systems in everything they run.
const CI: [&str; 15] = [
    "CI",
    "GITHUB_ACTIONS",
    "GITLAB_CI",
    "BUILDKITE",
    "CIRCLECI",
    "TRAVIS",
    "JENKINS_URL",
    "TEAMCITY_VERSION",
    "TF_BUILD",
    "APPVEYOR",
    "CODEBUILD_BUILD_ID",
    "BITBUCKET_BUILD_NUMBER",
    "DRONE",
    "SEMAPHORE",
    "WOODPECKER",
];

/// Set by coding agents in everything they run.
const AGENTS: [&str; 11] = [
    "AI_AGENT",
    "CLAUDECODE",
    "CURSOR_AGENT",
    "GEMINI_CLI",
    "CODEX_SANDBOX",
    "OPENCODE",
    "GOOSE_TERMINAL",
    "CLINE_ACTIVE",
    "AUGMENT_AGENT",
    "COPILOT_CLI",
    "CODER_CHAT_AGENT",
];

/// Where well-known frameworks keep the name of the environment.
const ENVIRONMENTS: [&str; 4] = ["APP_ENV", "RAILS_ENV", "RACK_ENV", "NODE_ENV"];

const PREFIX: &str = "LEGWORK";

impl Context {
    /// No circumstances at all: a person, no CI, normal verbosity, called by nobody.
    ///
    /// ```
    /// assert!(!legwork::Context::plain().is_ci());
    /// ```
    pub fn plain() -> Context {
        Context {
            prefix: PREFIX.to_owned(),
            agent: false,
            ci: false,
            environment: None,
            verbosity: Verbosity::Normal,
            call_tree: Vec::new(),
        }
    }

    /// What this process's environment tells.
    ///
    /// ```
    /// let context = legwork::Context::detect();
    /// assert_eq!(context.prefix(), "LEGWORK");
    /// ```
    pub fn detect() -> Context {
        Context::detect_as(PREFIX)
    }

    /// The same for a tool with variables of its own: prefix `DX` reads and hands down `DX_…`.
    ///
    /// ```
    /// assert_eq!(legwork::Context::detect_as("DX").prefix(), "DX");
    /// ```
    pub fn detect_as(prefix: &str) -> Context {
        Context::detect_from(prefix, &Vars::of_this_process())
    }

    pub(crate) fn detect_from(prefix: &str, vars: &Vars) -> Context {
        let own = |name: &str| vars.get(format!("{prefix}_{name}"));
        let text = |value: &OsStr| value.to_str().filter(|v| !v.is_empty()).map(str::to_owned);
        let seen = |own_name: &str, known: &[&str]| match own(own_name) {
            Some(value) => is_on(value),
            None => known.iter().any(|name| vars.get(name).is_some_and(is_on)),
        };
        let verbosity = if own("QUIET").is_some_and(is_on) {
            Verbosity::Quiet
        } else if own("VERBOSE").is_some_and(is_on) {
            Verbosity::Verbose
        } else {
            Verbosity::Normal
        };
        Context {
            prefix: prefix.to_owned(),
            agent: seen("AGENT_MODE", &AGENTS),
            ci: seen("CI", &CI),
            environment: own("ENV")
                .and_then(text)
                .or_else(|| ENVIRONMENTS.iter().find_map(|name| vars.get(name).and_then(text))),
            verbosity,
            call_tree: own("CALL_TREE")
                .and_then(text)
                .map(|tree| tree.split(':').filter(|t| !t.is_empty()).map(str::to_owned).collect())
                .unwrap_or_default(),
        }
    }

    /// Sets whether a coding agent is the caller.
    ///
    /// ```
    /// assert!(legwork::Context::plain().agent(true).is_agent());
    /// ```
    #[must_use]
    pub fn agent(mut self, agent: bool) -> Context {
        self.agent = agent;
        self
    }

    /// Sets whether this is CI.
    ///
    /// ```
    /// assert!(legwork::Context::plain().ci(true).is_ci());
    /// ```
    #[must_use]
    pub fn ci(mut self, ci: bool) -> Context {
        self.ci = ci;
        self
    }

    /// Sets the name of the environment: `development`, `test`, `production` …
    ///
    /// ```
    /// let context = legwork::Context::plain().environment("test");
    /// assert_eq!(context.get_environment(), Some("test"));
    /// ```
    #[must_use]
    pub fn environment(mut self, name: impl Into<String>) -> Context {
        self.environment = Some(name.into());
        self
    }

    /// Sets how much is said.
    ///
    /// ```
    /// use legwork::{Context, Verbosity};
    /// let context = Context::plain().verbosity(Verbosity::Verbose);
    /// assert_eq!(context.get_verbosity(), Verbosity::Verbose);
    /// ```
    #[must_use]
    pub fn verbosity(mut self, verbosity: Verbosity) -> Context {
        self.verbosity = verbosity;
        self
    }

    /// Adds a task to the call tree. Colons, which separate tasks, become dashes.
    ///
    /// ```
    /// let context = legwork::Context::plain().enter("build").enter("db:migrate");
    /// assert_eq!(context.call_tree(), ["build", "db-migrate"]);
    /// ```
    #[must_use]
    pub fn enter(mut self, task: &str) -> Context {
        self.call_tree.push(task.replace(':', "-"));
        self
    }

    /// The prefix of its variables.
    ///
    /// ```
    /// assert_eq!(legwork::Context::plain().prefix(), "LEGWORK");
    /// ```
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Whether a coding agent is the caller.
    ///
    /// ```
    /// assert!(!legwork::Context::plain().is_agent());
    /// ```
    pub fn is_agent(&self) -> bool {
        self.agent
    }

    /// Whether this is CI.
    ///
    /// ```
    /// assert!(!legwork::Context::plain().is_ci());
    /// ```
    pub fn is_ci(&self) -> bool {
        self.ci
    }

    /// The name of the environment, where one is known.
    ///
    /// ```
    /// assert_eq!(legwork::Context::plain().get_environment(), None);
    /// ```
    pub fn get_environment(&self) -> Option<&str> {
        self.environment.as_deref()
    }

    /// How much is said.
    ///
    /// ```
    /// use legwork::{Context, Verbosity};
    /// assert_eq!(Context::plain().get_verbosity(), Verbosity::Normal);
    /// ```
    pub fn get_verbosity(&self) -> Verbosity {
        self.verbosity
    }

    /// The tasks that led here, outermost first.
    ///
    /// ```
    /// assert!(legwork::Context::plain().call_tree().is_empty());
    /// ```
    pub fn call_tree(&self) -> &[String] {
        &self.call_tree
    }

    /// The variables that hand it down; only those that say something.
    ///
    /// ```
    /// let vars = legwork::Context::plain().ci(true).to_vars();
    /// assert_eq!(vars, [("LEGWORK_CI".into(), "1".into())]);
    /// ```
    pub fn to_vars(&self) -> Vec<(OsString, OsString)> {
        let mut vars = Vec::new();
        let mut hand_down = |name: &str, value: String| {
            vars.push((format!("{}_{name}", self.prefix).into(), value.into()));
        };
        if !self.call_tree.is_empty() {
            hand_down("CALL_TREE", self.call_tree.join(":"));
        }
        if self.agent {
            hand_down("AGENT_MODE", "1".into());
        }
        if let Some(name) = &self.environment {
            hand_down("ENV", name.clone());
        }
        if self.ci {
            hand_down("CI", "1".into());
        }
        vars
    }

    /// The names of all variables that hand a context down, whatever it says.
    pub(crate) fn names(&self) -> [OsString; 4] {
        ["CALL_TREE", "AGENT_MODE", "ENV", "CI"]
            .map(|name| format!("{}_{name}", self.prefix).into())
    }
}

/// A variable that is there and does not say no.
fn is_on(value: &OsStr) -> bool {
    let off = ["", "0", "false", "no", "off"];
    value.to_str().is_none_or(|text| !off.iter().any(|no| text.eq_ignore_ascii_case(no)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::vars;

    #[test]
    fn every_known_variable_is_seen() {
        for name in CI {
            assert!(Context::detect_from("LEGWORK", &vars(&[(name, "true")])).is_ci(), "{name}");
        }
        for name in AGENTS {
            assert!(Context::detect_from("LEGWORK", &vars(&[(name, "1")])).is_agent(), "{name}");
        }
        for name in ENVIRONMENTS {
            let context = Context::detect_from("LEGWORK", &vars(&[(name, "test")]));
            assert_eq!(context.get_environment(), Some("test"), "{name}");
        }
    }

    #[test]
    fn own_variables_win() {
        let all = vars(&[
            ("CI", "true"),
            ("DX_CI", "0"),
            ("CLAUDECODE", "1"),
            ("DX_AGENT_MODE", "false"),
            ("RAILS_ENV", "test"),
            ("DX_ENV", "production"),
            ("DX_CALL_TREE", "a:b"),
            ("DX_VERBOSE", "1"),
        ]);
        let context = Context::detect_from("DX", &all);
        assert!(!context.is_ci() && !context.is_agent());
        assert_eq!(context.get_environment(), Some("production"));
        assert_eq!(context.call_tree(), ["a", "b"]);
        assert_eq!(context.get_verbosity(), Verbosity::Verbose);
    }

    #[test]
    fn ci_that_says_no_is_none() {
        for no in ["", "0", "false", "FALSE", "no"] {
            assert!(!Context::detect_from("LEGWORK", &vars(&[("CI", no)])).is_ci(), "{no:?}");
        }
    }

    #[test]
    fn what_is_handed_down_is_understood_again() {
        let context =
            Context::plain().agent(true).ci(true).environment("test").enter("a").enter("b");
        let handed: Vars = context.to_vars().into_iter().collect();
        assert_eq!(Context::detect_from("LEGWORK", &handed), context);
        assert!(context.to_vars().iter().all(|(name, _)| context.names().contains(name)));
    }
}
