//! Shell completions, by `clap_complete`, with the crate's own flags on every command.

use clap::Command;
use clap_complete::Shell;

use crate::error::AgentError;
use crate::lineage::Above;
use crate::program::Settings;

/// The script for a shell.
pub(crate) fn script(
    root: &Command,
    settings: &Settings,
    shell: &str,
) -> Result<String, AgentError> {
    let shell: Shell = shell.parse().map_err(AgentError::tool)?;
    let name = root.get_name().to_owned();
    let mut complete = root.clone();
    equip_rest(&mut complete, settings, &mut Vec::new(), Above::default());
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut complete, name, &mut script);
    String::from_utf8(script).map_err(|error| AgentError::tool(error.to_string()))
}

/// Commands this call did not reach have none of the flags yet.
fn equip_rest(node: &mut Command, settings: &Settings, path: &mut Vec<String>, above: Above) {
    let equipped = node.get_arguments().any(|arg| {
        arg.get_id().as_str().starts_with("clap-agent.") && arg.get_id() != crate::flags::MOUNTED
    });
    let below = if equipped {
        settings.pass_down(node, path, above)
    } else {
        settings.equip_one(node, path, above)
    };
    for child in node.get_subcommands_mut() {
        if child.get_name() == "help" {
            continue;
        }
        path.push(child.get_name().to_owned());
        equip_rest(child, settings, path, below);
        path.pop();
    }
}
