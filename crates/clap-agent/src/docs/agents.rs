//! A text to put before an agent: into `AGENTS.md`, or as a skill with its front matter.
//!
//! It says what an agent cannot guess, in few words, and leaves the rest to `--schema`.

use std::fmt::Write;

use crate::effect::Effect;
use crate::flags::InfraFlag;
use crate::program::Settings;
use crate::schema::DescribeOutput;

/// A section for `AGENTS.md`.
pub(crate) fn agents(described: &DescribeOutput, settings: &Settings) -> String {
    let mut text = format!("## {}\n\n{}\n\n", described.name, described.summary);
    body(&mut text, described, settings);
    text
}

/// A `SKILL.md`.
pub(crate) fn skill(described: &DescribeOutput, settings: &Settings) -> String {
    let mut uses = Vec::new();
    super::each(described, &mut |_, schema| {
        if !schema.when_to_use.is_empty() && uses.len() < 3 {
            uses.push(schema.when_to_use.clone());
        }
    });
    let mut about = described.summary.trim_end_matches('.').to_owned();
    if !uses.is_empty() {
        let _ = write!(about, ". Use it: {}", uses.join("; "));
    }
    // A JSON string is a YAML string.
    let about = serde_json::Value::from(about);
    let mut text = format!(
        "---\nname: {}\ndescription: {about}\n---\n\n# {}\n\n",
        described.name, described.name
    );
    body(&mut text, described, settings);
    text
}

fn body(text: &mut String, described: &DescribeOutput, settings: &Settings) {
    let tool = &described.name;
    text.push_str(
        "Through a pipe every answer is one JSON envelope on stdout, \
         `{\"result\": …, \"status\": \"ok\"}`;\nerrors are JSON on stderr with `code` (the exit \
         code), `error`, `message`, `suggestion`,\n`recoverable`, `field`, `valid_values`.\n\n",
    );
    if let Some(schema) = settings.infra.name(InfraFlag::Schema) {
        let _ =
            writeln!(text, "- `{tool} COMMAND --{schema}` says what a command takes and returns.");
    }
    if let Some(fields) = settings.infra.name(InfraFlag::Fields) {
        let _ = writeln!(text, "- `--{fields} a,b.c` keeps only these fields of the result.");
    }
    if let Some(jq) = settings.infra.name(InfraFlag::Jq) {
        let _ = writeln!(text, "- `--{jq} FILTER` sends the result through a jq filter.");
    }
    if let Some(yes) = settings.infra.name(InfraFlag::Yes) {
        let gate = settings.gate.name();
        let _ = writeln!(
            text,
            "- Commands marked **{gate}** or worse are refused with `confirmation_required` \
             until you pass `--{yes}`. Pass it only if it was asked for."
        );
    }
    if described.capabilities.dry_run
        && let Some(dry_run) = settings.infra.name(InfraFlag::DryRun)
    {
        let _ = writeln!(text, "- `--{dry_run}`, where there is one, prints the plan only.");
    }
    text.push_str("\n| command | what | effect | when |\n|---|---|---|---|\n");
    super::each(described, &mut |path, schema| {
        if !super::is_leaf(schema) {
            return;
        }
        let mut call = path.to_owned();
        for argument in &schema.arguments {
            let name = argument.name.to_uppercase();
            let _ =
                if argument.required { write!(call, " {name}") } else { write!(call, " [{name}]") };
        }
        let effect = match schema.effect {
            Effect::Read => "read".to_owned(),
            other => format!("**{}**", other.name()),
        };
        let _ = writeln!(
            text,
            "| `{call}` | {} | {effect} | {} |",
            schema.summary.replace('|', "\\|"),
            schema.when_to_use.replace('|', "\\|")
        );
    });
    let mut examples = String::new();
    super::each(described, &mut |_, schema| {
        for example in &schema.examples {
            let _ = write!(examples, "{}", example.command);
            if !example.description.is_empty() {
                let _ = write!(examples, "   # {}", example.description);
            }
            examples.push('\n');
        }
    });
    if !examples.is_empty() {
        let _ = write!(text, "\n```sh\n{examples}```\n");
    }
    text.push_str(
        "\nExit codes: 0 ok, 1 user error, 2 tool error, 3 partial, 4 timeout, 5 not found, \
         6 permission, 7 conflict, 8 rate limited, 9 cancelled.\n",
    );
}
