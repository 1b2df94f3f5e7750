//! `tool describe`: the whole program as one document, for every kind of reader.

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Command};

use crate::called::Called;
use crate::docs;
use crate::error::AgentError;
use crate::exit::Exit;
use crate::flags::is_infra_command;
use crate::writer::Writer;

const FORMAT: &str = "clap-agent.format";

/// What `--format` takes, with the features this build has.
const FORMATS: &[&str] = &[
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

/// The command to mount; with its own flags only where it may be called.
pub(crate) fn command(called: bool) -> Command {
    let command = Command::new("describe").about("Print the whole program as one document");
    if !called {
        return command;
    }
    command.arg(
        Arg::new(FORMAT)
            .long("format")
            .value_name("FORMAT")
            .value_parser(PossibleValuesParser::new(FORMATS))
            .default_value("json")
            .help("For whom: programs (json, opencli), agents, people, shells"),
    )
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
        print(called, writer, format)
    } else if called.settings.mcp == Some(name) {
        serve_mcp(called, real)
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

fn print(called: &Called<'_>, writer: &Writer, format: &str) -> Result<(), AgentError> {
    let protocol = called.given.protocol.unwrap_or_default();
    let described = called.settings.describe(called.root, protocol);
    match format {
        "json" => writer.document(&described),
        "opencli" => writer.document(&docs::opencli::document(called.root, &described)),
        "markdown" => writer.raw(&docs::markdown::reference(&described)),
        "agents" => writer.raw(&docs::agents::agents(&described, called.settings)),
        "skill" => writer.raw(&docs::agents::skill(&described, called.settings)),
        #[cfg(feature = "man")]
        "man" => writer.raw(&docs::man::page(called.root)?),
        #[cfg(feature = "completions")]
        shell => writer.raw(&docs::completions::script(called.root, called.settings, shell)?),
        #[cfg(not(feature = "completions"))]
        other => Err(AgentError::tool(format!("no format '{other}' in this build"))),
    }
}

#[cfg(feature = "mcp")]
fn serve_mcp(called: &Called<'_>, real: bool) -> Result<(), AgentError> {
    if !real {
        return Err(AgentError::tool("MCP is served by a process of its own"));
    }
    crate::mcp::serve(called.root, called.settings)
}

#[cfg(not(feature = "mcp"))]
fn serve_mcp(_: &Called<'_>, _: bool) -> Result<(), AgentError> {
    Err(AgentError::tool("this build has no MCP"))
}
