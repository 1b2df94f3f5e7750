//! What happens when clap does not hand over matches: `--help`, `--version`, `--schema`, mistakes.

use clap::Command;
use clap::error::ErrorKind;

use crate::called::{own, title};
use crate::describe;
use crate::exit::Exit;
use crate::flags::Instead;
use crate::invocation::Invocation;
use crate::lineage::Lineage;
use crate::mode::Mode;
use crate::program::Settings;
use crate::scan;
use crate::select::Selection;
use crate::tree;
use crate::usage;
use crate::writer::Writer;

/// Answers instead of the command.
pub(crate) fn answer(
    error: &clap::Error,
    root: &Command,
    settings: &Settings,
    call: Invocation,
) -> Exit {
    let scan = scan::scan(root, &call.args, &settings.infra);
    let node = scan::at(root, &scan.path).unwrap_or(root);
    let lineage = Lineage::of(settings, root, &scan.path);
    let notes = lineage.own();
    let around = &call.surroundings;
    let passthrough = notes.is_some_and(|notes| notes.passthrough);
    let mode = Mode::decide(scan.output, scan.agent, passthrough, around);
    let mut builder = Writer::builder(call.streams.stdout, call.streams.stderr)
        .mode(mode)
        .protocol(scan.protocol.unwrap_or_default())
        .tool_version(root.get_version().unwrap_or_default())
        .terminals(around.stdout_terminal, around.stderr_terminal, around.colour);
    if let Some(format) = scan.output {
        builder = builder.format(format);
    }
    let instead = Instead::of(error);
    let selection = if instead.is_some() {
        match Selection::new(scan.fields.as_deref(), scan.jq.as_deref()) {
            Ok(selection) => selection,
            Err(error) => return builder.build().error(&own(error, notes)),
        }
    } else {
        Selection::default()
    };
    let writer = builder.selection(selection).build();
    let answered = if let Some(instead) = instead {
        match instead {
            Instead::Schema => {
                let schema = tree::command_schema(root, &scan.path, settings);
                writer.document(&schema.expect("the path was found in this tree"))
            }
            Instead::Describe(format) => {
                let protocol = scan.protocol.unwrap_or_default();
                describe::print(root, settings, protocol, &writer, &format)
            }
            Instead::Mcp => describe::serve_mcp(root, settings, &writer, call.real),
        }
    } else {
        match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                let text = help(error, around.stdout_terminal && around.colour);
                writer.raw(&text)
            }
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand if mode == Mode::Person => {
                // A person who typed too little wants the help itself, not a line about it.
                writer.ask(&help(error, around.stderr_terminal && around.colour));
                return own(usage::incomplete(), notes).exit();
            }
            _ => {
                let sensitive = |arg: &clap::Arg| lineage.is_sensitive(arg);
                let title = title(root, &scan.path);
                let told = usage::explain(error, node, &title, &settings.infra, sensitive);
                Err(own(told, notes))
            }
        }
    };
    match answered {
        Ok(()) => {
            writer.flush();
            Exit::Ok
        }
        Err(error) => writer.error(&error),
    }
}

fn help(text: &clap::Error, coloured: bool) -> String {
    let text = text.render();
    if coloured { text.ansi().to_string() } else { text.to_string() }
}
