//! An OpenCLI description (opencli.org, draft 0.1), for tools that read that.
//!
//! What OpenCLI has no word for (effects, output schemas) goes into its `metadata`.

use clap::Command;
use serde_json::{Map, Value, json};

use crate::exit::Exit;
use crate::schema::{ArgumentSchema, CommandSchema, DescribeOutput, FlagSchema, Subcommand};

/// The document.
pub(crate) fn document(root: &Command, described: &DescribeOutput) -> Value {
    let mut document = Map::new();
    document.insert("opencli".to_owned(), json!("0.1"));
    document.insert(
        "info".to_owned(),
        json!({
            "title": described.name,
            "version": if described.tool_version.is_empty() { "0.0.0" } else { &described.tool_version },
            "summary": described.summary,
        }),
    );
    document.insert(
        "conventions".to_owned(),
        json!({"groupOptions": true, "optionArgumentSeparator": " "}),
    );
    if let Some(alone) = &described.command {
        fill(&mut document, alone, Some(root));
    }
    if !described.flags.is_empty() {
        let flags = described.flags.iter().map(|flag| option(flag, Some(root)));
        document.insert("options".to_owned(), flags.collect());
    }
    if !described.commands.is_empty() {
        let commands = described.commands.iter().map(|child| {
            let node = root.find_subcommand(&child.name);
            command(child, node)
        });
        document.insert("commands".to_owned(), commands.collect());
    }
    let exits =
        Exit::ALL.iter().map(|exit| json!({"code": exit.code(), "description": exit.meaning()}));
    document.insert("exitCodes".to_owned(), exits.collect());
    Value::Object(document)
}

fn command(schema: &CommandSchema, node: Option<&Command>) -> Value {
    let mut command = Map::new();
    command.insert("name".to_owned(), json!(schema.name));
    if let Some(node) = node {
        let aliases: Vec<&str> = node.get_visible_aliases().collect();
        if !aliases.is_empty() {
            command.insert("aliases".to_owned(), json!(aliases));
        }
    }
    command.insert("description".to_owned(), json!(schema.summary));
    fill(&mut command, schema, node);
    let below: Vec<Value> = schema
        .subcommands
        .iter()
        .filter_map(|child| match child {
            Subcommand::Full(child) => {
                let node = node.and_then(|node| node.find_subcommand(&child.name));
                Some(self::command(child, node))
            }
            Subcommand::Brief { .. } => None,
        })
        .collect();
    if !below.is_empty() {
        command.insert("commands".to_owned(), Value::Array(below));
    }
    Value::Object(command)
}

fn fill(command: &mut Map<String, Value>, schema: &CommandSchema, node: Option<&Command>) {
    if !schema.arguments.is_empty() {
        let arguments = schema.arguments.iter().map(argument);
        command.insert("arguments".to_owned(), arguments.collect());
    }
    if !schema.flags.is_empty() {
        let flags = schema.flags.iter().map(|flag| option(flag, node));
        command.insert("options".to_owned(), flags.collect());
    }
    if !schema.examples.is_empty() {
        let examples = schema.examples.iter().map(|example| json!(example.command));
        command.insert("examples".to_owned(), examples.collect());
    }
    let mut metadata = vec![
        json!({"name": "effect", "value": schema.effect}),
        json!({"name": "idempotent", "value": schema.idempotent}),
    ];
    if let Some(schema) = schema.returns.as_ref().and_then(|returns| returns.output_schema.as_ref())
    {
        metadata.push(json!({"name": "outputSchema", "value": schema}));
    }
    command.insert("metadata".to_owned(), Value::Array(metadata));
}

fn arity(kind: &str, required: bool) -> Value {
    let minimum = u8::from(required);
    if kind.ends_with("Slice") {
        json!({"minimum": minimum})
    } else {
        json!({"minimum": minimum, "maximum": 1})
    }
}

fn argument(own: &ArgumentSchema) -> Value {
    let mut argument = Map::new();
    argument.insert("name".to_owned(), json!(own.name));
    argument.insert("required".to_owned(), json!(own.required));
    argument.insert("arity".to_owned(), arity(&own.kind, own.required));
    if !own.values.is_empty() {
        argument.insert("acceptedValues".to_owned(), json!(own.values));
    }
    argument.insert("description".to_owned(), json!(own.description));
    argument.insert("metadata".to_owned(), json!([{"name": "type", "value": own.kind}]));
    Value::Object(argument)
}

fn option(flag: &FlagSchema, node: Option<&Command>) -> Value {
    let mut option = Map::new();
    let dashes = if flag.name.chars().count() == 1 { "-" } else { "--" };
    option.insert("name".to_owned(), json!(format!("{dashes}{}", flag.name)));
    let short = node.and_then(|node| {
        let own = node.get_arguments().find(|arg| arg.get_long() == Some(&flag.name))?;
        own.get_short()
    });
    if let Some(short) = short {
        option.insert("aliases".to_owned(), json!([format!("-{short}")]));
    }
    option.insert("required".to_owned(), json!(flag.required));
    option.insert("description".to_owned(), json!(flag.description));
    option.insert("recursive".to_owned(), json!(flag.persistent));
    if !matches!(flag.kind.as_str(), "bool" | "count") {
        let mut value = Map::new();
        value.insert("name".to_owned(), json!(flag.name.to_uppercase().replace('-', "_")));
        value.insert("required".to_owned(), json!(true));
        value.insert("arity".to_owned(), arity(&flag.kind, true));
        if !flag.values.is_empty() {
            value.insert("acceptedValues".to_owned(), json!(flag.values));
        }
        option.insert("arguments".to_owned(), json!([value]));
    }
    option.insert(
        "metadata".to_owned(),
        json!([{"name": "type", "value": flag.kind}, {"name": "effect", "value": flag.effect}]),
    );
    Value::Object(option)
}
