//! Manual pages: the program's and each command's, one after another, by `clap_mangen`.

use clap::Command;

use crate::error::AgentError;
use crate::flags::{is_infra, is_infra_command};

/// All pages as one stream; `man -l -` shows it, and each begins with its own `.TH`.
pub(crate) fn page(root: &Command) -> Result<String, AgentError> {
    let mut text = Vec::new();
    write(&clean(root, root.get_name()), &mut text)?;
    String::from_utf8(text).map_err(|error| AgentError::tool(error.to_string()))
}

fn write(command: &Command, text: &mut Vec<u8>) -> Result<(), AgentError> {
    clap_mangen::Man::new(command.clone()).render(text)?;
    for child in command.get_subcommands().filter(|child| !child.is_hide_set()) {
        let title = format!("{}-{}", command.get_name(), child.get_name());
        write(&clean(child, &title), text)?;
    }
    Ok(())
}

/// The command without what the crate mounted or added for this one call.
fn clean(command: &Command, title: &str) -> Command {
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
    let args = command.get_arguments().filter(|arg| !is_infra(arg)).cloned();
    let children = command.get_subcommands().filter(|child| !is_infra_command(child)).cloned();
    clean.args(args).subcommands(children)
}
