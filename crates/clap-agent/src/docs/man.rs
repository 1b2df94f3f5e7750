//! Manual pages: the program's and each command's, one after another, by `clap_mangen`.

use clap::Command;

use crate::error::AgentError;
use crate::flags::{is_infra, is_infra_command};
use crate::program::{Settings, secrets};

/// All pages as one stream; `man -l -` shows it, and each begins with its own `.TH`.
pub(crate) fn page(root: &Command, settings: &Settings) -> Result<String, AgentError> {
    let mut text = Vec::new();
    write(root, root.get_name(), &mut Vec::new(), settings, &mut text)?;
    String::from_utf8(text).map_err(|error| AgentError::tool(error.to_string()))
}

fn write(
    command: &Command,
    title: &str,
    path: &mut Vec<String>,
    settings: &Settings,
    text: &mut Vec<u8>,
) -> Result<(), AgentError> {
    clap_mangen::Man::new(clean(command, title, path, settings)).render(text)?;
    let shown = |child: &&Command| !child.is_hide_set() && !is_infra_command(child);
    for child in command.get_subcommands().filter(shown) {
        path.push(child.get_name().to_owned());
        write(child, &format!("{title}-{}", child.get_name()), path, settings, text)?;
        path.pop();
    }
    Ok(())
}

/// The command without what the crate mounted or added for this one call, and without secrets.
fn clean(command: &Command, title: &str, path: &[String], settings: &Settings) -> Command {
    let mut clean = Command::new(title.to_owned());
    if let Some(about) = command.get_about() {
        clean = clean.about(about.clone());
    }
    if let Some(about) = command.get_long_about() {
        clean = clean.long_about(about.clone());
    }
    if let Some(version) = command.get_version() {
        clean = clean.version(version.to_owned());
    }
    let secrets = secrets(command, settings.notes(path, command));
    let args = command.get_arguments().filter(|arg| !is_infra(arg)).cloned().map(|arg| {
        let secret = secrets.contains(arg.get_id());
        if secret { arg.hide_env_values(true).hide_default_value(true) } else { arg }
    });
    let children = command.get_subcommands().filter(|child| !is_infra_command(child)).cloned();
    clean.args(args).subcommands(children)
}
