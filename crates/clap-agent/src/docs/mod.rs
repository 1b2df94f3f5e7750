//! The same facts for every other reader: people, agents, shells, tools.

pub(crate) mod agents;
#[cfg(feature = "completions")]
pub(crate) mod completions;
#[cfg(feature = "man")]
pub(crate) mod man;
pub(crate) mod markdown;
pub(crate) mod opencli;

use crate::schema::{CommandSchema, DescribeOutput, Subcommand};

/// Visits every command with its full path, parents first.
pub(crate) fn each<'a>(
    described: &'a DescribeOutput,
    visit: &mut dyn FnMut(&str, &'a CommandSchema),
) {
    if let Some(alone) = &described.command {
        visit(&described.name, alone);
    }
    for command in &described.commands {
        walk(&format!("{} {}", described.name, command.name), command, visit);
    }
}

fn walk<'a>(
    path: &str,
    command: &'a CommandSchema,
    visit: &mut dyn FnMut(&str, &'a CommandSchema),
) {
    visit(path, command);
    for below in &command.subcommands {
        if let Subcommand::Full(below) = below {
            walk(&format!("{path} {}", below.name), below, visit);
        }
    }
}

/// A command that does something itself.
pub(crate) fn is_leaf(command: &CommandSchema) -> bool {
    command.subcommands.is_empty()
}
