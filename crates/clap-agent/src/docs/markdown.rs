//! A reference in Markdown, for people and for repositories.

use std::fmt::Write;

use crate::effect::Effect;
use crate::exit::Exit;
use crate::schema::{CommandSchema, DescribeOutput, FlagSchema};

/// The whole reference.
pub(crate) fn reference(described: &DescribeOutput) -> String {
    let mut text = format!("# {}\n", described.name);
    if !described.summary.is_empty() {
        let _ = write!(text, "\n{}\n", described.summary);
    }
    if !described.tool_version.is_empty() {
        let _ = write!(text, "\nVersion {}.\n", described.tool_version);
    }
    flags(&mut text, &described.flags);
    super::each(described, &mut |path, schema| {
        command(&mut text, path, schema);
    });
    text.push_str("\n## Exit codes\n\n| code | meaning |\n|---|---|\n");
    for exit in Exit::ALL {
        let _ = writeln!(text, "| {} | {} |", exit.code(), exit.meaning());
    }
    text
}

fn command(text: &mut String, path: &str, schema: &CommandSchema) {
    let _ = write!(text, "\n## `{path}`\n\n{}\n", schema.summary);
    for extra in [&schema.agent_description, &schema.when_to_use] {
        if !extra.is_empty() {
            let _ = write!(text, "\n{extra}\n");
        }
    }
    if schema.effect != Effect::Read {
        let again = if schema.idempotent { "; safe to run again" } else { "" };
        let _ = write!(text, "\nEffect: **{}**{again}.\n", schema.effect.name());
    }
    if !schema.arguments.is_empty() {
        text.push_str("\n| argument | type | required | |\n|---|---|---|---|\n");
        for argument in &schema.arguments {
            let required = if argument.required { "yes" } else { "no" };
            let _ = writeln!(
                text,
                "| `{}` | {} | {required} | {} |",
                argument.name,
                kind(&argument.kind, &argument.values),
                cell(&argument.description),
            );
        }
    }
    flags(text, &schema.flags);
    if let Some(returns) = &schema.returns {
        let _ = write!(text, "\nReturns {}: {}\n", returns.kind, returns.description);
    }
    for example in &schema.examples {
        let about = if example.description.is_empty() {
            String::new()
        } else {
            format!("# {}\n", example.description)
        };
        let ends = match example.expected_exit_code {
            0 => String::new(),
            code => format!("  # exits {code}"),
        };
        let _ = write!(text, "\n```sh\n{about}{}{ends}\n```\n", example.command);
    }
}

fn flags(text: &mut String, flags: &[FlagSchema]) {
    if !flags.is_empty() {
        text.push_str("\n| flag | type | default | |\n|---|---|---|---|\n");
        for flag in flags {
            let default = match &flag.default {
                serde_json::Value::Null => String::new(),
                value => format!("`{value}`"),
            };
            let mut about = cell(&flag.description);
            if !flag.env.is_empty() {
                let _ = write!(about, " (env `{}`)", flag.env);
            }
            if flag.effect != Effect::Read {
                let _ = write!(about, " (**{}**)", flag.effect.name());
            }
            let _ = writeln!(
                text,
                "| `--{}` | {} | {default} | {about} |",
                flag.name,
                kind(&flag.kind, &flag.values),
            );
        }
    }
}

fn kind(kind: &str, values: &[String]) -> String {
    if values.is_empty() {
        kind.to_owned()
    } else {
        let quoted: Vec<_> = values.iter().map(|value| format!("`{value}`")).collect();
        quoted.join(" \\| ")
    }
}

/// Text that cannot break a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
