//! `legwork completions`: for a shell to read, and so the script itself in a pipe, too.

use clap::{Args, ValueEnum};
use clap_agent::{AgentError, Example, Exit, Invocation, Notes};

use crate::cli::program;
use crate::passing::{READER_GONE, Reader, pass_on};

pub(crate) const EXAMPLES: &str = "\
Examples:
  legwork completions bash > ~/.local/share/bash-completion/completions/legwork
  legwork completions fish > ~/.config/fish/completions/legwork.fish";

pub(crate) fn notes() -> Notes {
    Notes::read()
        .passthrough()
        .hide_from_mcp()
        .when_to_use("once, to set up a person's shell")
        .example(Example::new("legwork completions bash"))
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// For which shell
    #[arg(value_name = "SHELL", value_enum)]
    shell: Shell,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Shell {
    Bash,
    Elvish,
    Fish,
    Powershell,
    Zsh,
}

pub(crate) fn execute(args: &Completions) -> Result<Exit, AgentError> {
    let shell = args.shell.to_possible_value();
    let shell = shell.as_ref().map_or("bash", |value| value.get_name());
    // The crate's flags belong into the script, and only its own `describe` knows them.
    let mut call = Invocation::of(["legwork", "describe", "--format", shell]);
    let (script, complaint) = (call.capture_stdout(), call.capture_stderr());
    match program().call_matches(call, |_, _| ()) {
        Exit::Ok => match pass_on(script.text().as_bytes())? {
            Reader::There => Ok(Exit::Ok),
            Reader::Gone => Ok(READER_GONE),
        },
        exit => Err(AgentError::new(exit, "tool_error", complaint.text())),
    }
}
