//! Who is reading: a person at a terminal, or an agent.
//!
//! The decision is a pure function of what was asked for and of the surroundings; nothing else in
//! the crate looks at the environment or at file descriptors.

use std::ffi::OsString;
use std::io::IsTerminal;

use crate::format::OutputFormat;

/// Who is reading.
///
/// ```
/// use clap_agent::{Mode, Surroundings};
///
/// let piped = Surroundings { stdout_terminal: false, ..Surroundings::terminal() };
/// assert_eq!(Mode::decide(None, false, false, &piped), Mode::Agent);
/// assert_eq!(Mode::decide(None, false, false, &Surroundings::terminal()), Mode::Person);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Somebody at a terminal: text, colours, a live bar, questions.
    Person,
    /// A program: envelopes, typed errors, JSON lines; never a question.
    Agent,
}

impl Mode {
    /// Decides from `--output`, `--agent`, whether the command passes another program's stdout
    /// through, and the surroundings. An explicit `--output` wins over everything.
    ///
    /// ```
    /// use clap_agent::{Mode, OutputFormat, Surroundings};
    ///
    /// let piped = Surroundings { stdout_terminal: false, ..Surroundings::terminal() };
    /// let asked = Some(OutputFormat::Text);
    /// assert_eq!(Mode::decide(asked, true, false, &piped), Mode::Person);
    /// // A pipe alone does not switch a command whose stdout belongs to another program.
    /// assert_eq!(Mode::decide(None, false, true, &piped), Mode::Person);
    /// ```
    #[must_use]
    #[inline]
    pub fn decide(
        output: Option<OutputFormat>,
        agent_flag: bool,
        passthrough: bool,
        surroundings: &Surroundings,
    ) -> Self {
        let agent = match output {
            Some(format) => format.is_structured(),
            None => {
                agent_flag
                    || surroundings.agent.is_some()
                    || !(surroundings.stdout_terminal || passthrough)
            }
        };
        if agent { Mode::Agent } else { Mode::Person }
    }
}

/// Environment variables by which agents make themselves known to the commands they run.
///
/// Those that an editor also sets in a person's own terminal are left out.
const AGENT_VARIABLES: [&str; 14] = [
    "AI_AGENT",
    "AGENT",
    "CLAUDECODE",
    "CODEX_CI",
    "CODEX_SANDBOX",
    "CODEX_THREAD_ID",
    "CURSOR_AGENT",
    "GEMINI_CLI",
    "OPENCODE",
    "ANTIGRAVITY_AGENT",
    "AUGMENT_AGENT",
    "CLINE_ACTIVE",
    "COPILOT_AGENT",
    "GOOSE_TERMINAL",
];

/// What the program finds around it. Tests make their own.
///
/// ```
/// let around = clap_agent::Surroundings::terminal();
/// assert!(around.stdin_terminal && around.stdout_terminal && around.stderr_terminal);
/// assert_eq!(around.agent, None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// stdin is a terminal.
    pub stdin_terminal: bool,
    /// stdout is a terminal.
    pub stdout_terminal: bool,
    /// stderr is a terminal.
    pub stderr_terminal: bool,
    /// The variable by which an agent made itself known.
    pub agent: Option<&'static str>,
    /// stderr takes colours.
    pub colour: bool,
}

impl Surroundings {
    /// The real ones. A terminal is what the kernel says is one; `/dev/null` is none.
    ///
    /// ```
    /// let around = clap_agent::Surroundings::detect();
    /// # let _ = around;
    /// ```
    #[must_use]
    #[inline]
    pub fn detect() -> Self {
        let stderr = std::io::stderr();
        let stderr_terminal = stderr.is_terminal();
        Surroundings {
            stdin_terminal: std::io::stdin().is_terminal(),
            stdout_terminal: std::io::stdout().is_terminal(),
            stderr_terminal,
            agent: known_agent(|name| std::env::var_os(name)),
            // The whole decision reads many variables; mostly there is nothing to decide.
            colour: (stderr_terminal || std::env::var_os("CLICOLOR_FORCE").is_some())
                && anstream::AutoStream::choice(&stderr) != anstream::ColorChoice::Never,
        }
    }

    /// A person's terminal on all three.
    ///
    /// ```
    /// assert!(clap_agent::Surroundings::terminal().stdout_terminal);
    /// ```
    #[must_use]
    pub fn terminal() -> Self {
        Surroundings {
            stdin_terminal: true,
            stdout_terminal: true,
            stderr_terminal: true,
            ..Self::default()
        }
    }
}

/// The first variable that is set, not empty and not switched off.
#[inline]
fn known_agent(read: impl Fn(&str) -> Option<OsString>) -> Option<&'static str> {
    AGENT_VARIABLES.into_iter().find(|name| {
        read(name).is_some_and(|value| !value.is_empty() && value != "0" && value != "false")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_variable_counts_only_when_it_is_on() {
        let with = |value: &str| {
            let value = OsString::from(value);
            known_agent(move |name| (name == "CLAUDECODE").then(|| value.clone()))
        };
        assert_eq!(with("1"), Some("CLAUDECODE"));
        assert_eq!(with(""), None);
        assert_eq!(with("0"), None);
        assert_eq!(known_agent(|_| None), None);
    }

    #[test]
    fn an_explicit_output_wins_over_flag_pipe_and_environment() {
        let agent = Surroundings { agent: Some("CLAUDECODE"), ..Surroundings::default() };
        let decide = |output| Mode::decide(output, true, false, &agent);
        assert_eq!(decide(Some(OutputFormat::Text)), Mode::Person);
        let person = Surroundings::terminal();
        assert_eq!(Mode::decide(Some(OutputFormat::Yaml), false, true, &person), Mode::Agent);
    }
}
