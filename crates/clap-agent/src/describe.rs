//! `tool describe`: the whole program as one document, for every kind of reader.

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Command};

use crate::called::Called;
use crate::docs;
use crate::error::AgentError;
use crate::exit::Exit;
use crate::flags::is_infra_command;
use crate::format::Protocol;
use crate::program::Settings;
use crate::writer::Writer;

const FORMAT: &str = "clap-agent.format";

const COUNT: usize =
    5 + cfg!(feature = "man") as usize + 5 * cfg!(feature = "completions") as usize;

/// What `--format` takes, with the features this build has.
pub(crate) const FORMATS: [&str; COUNT] = [
    "json",
    "markdown",
    "agents",
    "skill",
    "opencli",
    #[cfg(feature = "man")]
    "man",
    #[cfg(feature = "completions")]
    "bash",
    #[cfg(feature = "completions")]
    "elvish",
    #[cfg(feature = "completions")]
    "fish",
    #[cfg(feature = "completions")]
    "powershell",
    #[cfg(feature = "completions")]
    "zsh",
];

const EXAMPLES: &str = "\
Examples:
  describe                     everything, for programs
  describe --format opencli    the same by the OpenCLI specification";

/// The command to mount; with its own flags only where it may be called.
pub(crate) fn command(called: bool) -> Command {
    let command = Command::new("describe").about("Print the whole program as one document");
    if !called {
        return command;
    }
    command
        .arg(
            Arg::new(FORMAT)
                .long("format")
                .value_name("FORMAT")
                .value_parser(PossibleValuesParser::new(FORMATS))
                .default_value("json")
                .help("For whom: programs (json, opencli), agents, people, shells"),
        )
        .after_help(EXAMPLES)
}

/// Serves the commands the crate mounts; `None` if the call is the program's own.
pub(crate) fn serve(
    called: &Called<'_>,
    matches: &ArgMatches,
    writer: &Writer,
    real: bool,
) -> Option<Exit> {
    if called.path.len() != 1 || !is_infra_command(called.node) {
        return None;
    }
    let name = called.path[0].as_str();
    let served = if called.settings.describe == Some(name) {
        let format = matches
            .subcommand_matches(name)
            .and_then(|own| own.get_one::<String>(FORMAT))
            .map_or("json", String::as_str);
        let protocol = called.given.protocol.unwrap_or_default();
        print(called.root, called.settings, protocol, writer, format)
    } else if called.settings.mcp == Some(name) {
        serve_mcp(called.root, called.settings, writer, real)
    } else {
        return None;
    };
    Some(match served {
        Ok(()) => {
            writer.flush();
            Exit::Ok
        }
        Err(error) => writer.error(&error),
    })
}

/// Whether clap missed something although the crate's own command was called, which needs nothing
/// of what the program requires.
pub(crate) fn is_mounted(root: &Command, path: &[String]) -> bool {
    match path {
        [name] => root.find_subcommand(name).is_some_and(is_infra_command),
        _ => false,
    }
}

/// The program in one of the formats.
pub(crate) fn print(
    root: &Command,
    settings: &Settings,
    protocol: Protocol,
    writer: &Writer,
    format: &str,
) -> Result<(), AgentError> {
    let described = settings.describe(root, protocol);
    match format {
        "json" => writer.document(&described),
        "opencli" => writer.document(&docs::opencli::document(root, &described)),
        "markdown" => writer.raw(&docs::markdown::reference(&described)),
        "agents" => writer.raw(&docs::agents::agents(&described, settings)),
        "skill" => writer.raw(&docs::agents::skill(&described, settings)),
        #[cfg(feature = "man")]
        "man" => writer.raw(&docs::man::page(root, settings)?),
        #[cfg(feature = "completions")]
        shell => writer.raw(&docs::completions::script(root, settings, shell)?),
        #[cfg(not(feature = "completions"))]
        other => Err(AgentError::tool(format!("no format '{other}' in this build"))),
    }
}

/// The program as an MCP server.
#[cfg(feature = "mcp")]
pub(crate) fn serve_mcp(
    root: &Command,
    settings: &Settings,
    writer: &Writer,
    real: bool,
) -> Result<(), AgentError> {
    if !real {
        return Err(AgentError::tool("MCP is served by a process of its own"));
    }
    // From here on stdout is the client's.
    writer.flush();
    crate::mcp::serve(root, settings)
}

#[cfg(not(feature = "mcp"))]
pub(crate) fn serve_mcp(_: &Command, _: &Settings, _: &Writer, _: bool) -> Result<(), AgentError> {
    Err(AgentError::tool("this build has no MCP"))
}
