//! Commands as tools: the input schema and the way back to a command line, the output schema, the
//! annotations. All of it from the same facts as `--schema`.

use std::ffi::OsString;
use std::sync::Arc;

use clap::{Arg, ArgAction, Command};
use rmcp::model::{CallToolResult, JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use super::answer::{self, Form, object};
use super::call::Ended;
use crate::docs;
use crate::effect::Effect;
use crate::flags::InfraFlag;
use crate::program::Settings;
use crate::schema::{CommandSchema, DescribeOutput};

/// Every tool there is.
pub(super) struct Catalogue {
    entries: Vec<Entry>,
}

/// One command as a tool.
pub(super) struct Entry {
    tool: Tool,
    path: Vec<String>,
    inputs: Vec<Input>,
    confirm_flag: Option<String>,
    /// The result is no object by itself and is wrapped as `{"result": …}`.
    wrapped: bool,
}

/// One property of the input, and where it goes on the command line.
struct Input {
    property: String,
    target: Target,
}

enum Target {
    Switch(String),
    Count(String),
    /// `--name=value`, once for each value.
    Option(String),
    /// `--name a b`: all values after one name.
    Options(String),
    Positional,
    /// A positional that comes after `--` only.
    Last,
    /// The confirmation itself.
    Confirm,
}

impl Catalogue {
    pub(super) fn new(root: &Command, described: &DescribeOutput, settings: &Settings) -> Self {
        let mut entries = Vec::new();
        docs::each(described, &mut |title, schema| {
            let path: Vec<String> = match &described.command {
                Some(_) => Vec::new(),
                None => title.split(' ').skip(1).map(str::to_owned).collect(),
            };
            let Some(node) = crate::scan::at(root, &path) else {
                return;
            };
            let notes = settings.notes(&path, node);
            let hidden = notes.is_some_and(|notes| notes.hide_from_mcp);
            if docs::is_leaf(schema) && !hidden {
                let ancestors =
                    (0..path.len()).filter_map(|depth| crate::scan::at(root, &path[..depth]));
                let above: Vec<&Command> = ancestors.collect();
                let dry_run = notes.is_some_and(|notes| notes.dry_run);
                let asks = settings.may_ask(notes, node);
                let flag = |flag, wanted: bool| {
                    settings.infra.name(flag).filter(|_| wanted).map(str::to_owned)
                };
                let confirm = flag(InfraFlag::Yes, asks).or_else(|| flag(InfraFlag::Force, asks));
                let plan = flag(InfraFlag::DryRun, dry_run);
                entries.push(Entry::new(
                    title,
                    path,
                    schema,
                    node,
                    &above,
                    confirm,
                    plan.as_deref(),
                ));
            }
        });
        Catalogue { entries }
    }

    pub(super) fn tools(&self) -> Vec<Tool> {
        self.entries.iter().map(|entry| entry.tool.clone()).collect()
    }

    pub(super) fn find(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.tool.name == name)
    }
}

impl Entry {
    fn new(
        title: &str,
        path: Vec<String>,
        schema: &CommandSchema,
        node: &Command,
        above: &[&Command],
        confirm: Option<String>,
        plan: Option<&str>,
    ) -> Self {
        let mut inputs = Vec::new();
        let mut properties = JsonObject::new();
        let mut required = Vec::new();
        let mut add = |name: &str, target: Target, schema: Value, needed: bool| {
            let property = name.replace('-', "_");
            if needed {
                required.push(property.clone());
            }
            properties.insert(property.clone(), schema);
            inputs.push(Input { property, target });
        };
        for argument in &schema.arguments {
            let arg = node.get_positionals().find(|arg| arg.get_id() == argument.name.as_str());
            let last = arg.is_some_and(Arg::is_last_set);
            let target = if last { Target::Last } else { Target::Positional };
            let mut own = property(&argument.kind, &argument.description, &argument.values);
            set(&mut own, "pattern", &argument.pattern);
            add(&argument.name, target, own, argument.required);
        }
        for flag in &schema.flags {
            let mut own = property(&flag.kind, &flag.description, &flag.values);
            set(&mut own, "pattern", &flag.pattern);
            if !flag.default.is_null() {
                own["default"] = flag.default.clone();
            }
            let from_above = above.iter().rev().flat_map(|node| node.get_arguments());
            let arg = node
                .get_arguments()
                .chain(from_above)
                .find(|arg| crate::usage::name(arg) == flag.name);
            add(&flag.name, target(&flag.name, arg), own, flag.required);
        }
        if let Some(plan) = plan {
            let about = json!({"type": "boolean", "default": false, "description": "Only say what would be done"});
            add(plan, Target::Switch(format!("--{plan}")), about, false);
        }
        if let Some(confirm) = &confirm {
            let about = json!({"type": "boolean", "default": false, "description": "Confirm beforehand; without it a person may be asked"});
            add(confirm, Target::Confirm, about, false);
        }
        let input = json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        });
        let (output, wrapped) = output_schema(schema, plan.is_some());
        let worst = schema.flags.iter().map(|flag| flag.effect).fold(schema.effect, Effect::max);
        let annotations = ToolAnnotations::with_title(title)
            .read_only(!worst.is_mutating())
            .destructive(worst == Effect::Destructive)
            .idempotent(schema.idempotent);
        let name = if path.is_empty() { schema.name.clone() } else { path.join("_") };
        let mut tool = Tool::default();
        tool.name = name.into();
        tool.title = Some(title.to_owned());
        tool.description = Some(description(schema).into());
        tool.input_schema = Arc::new(object(input));
        tool.output_schema = output.map(Arc::new);
        tool.annotations = Some(annotations);
        Entry { tool, path, inputs, confirm_flag: confirm.map(|name| format!("--{name}")), wrapped }
    }

    /// Whether a confirmation can be handed to the command.
    pub(super) fn can_confirm(&self) -> bool {
        self.confirm_flag.is_some()
    }

    /// The command line for these arguments, without the program's name.
    pub(super) fn argv(
        &self,
        arguments: &JsonObject,
        confirmed: bool,
    ) -> Result<Vec<OsString>, String> {
        for name in arguments.keys() {
            if !self.inputs.iter().any(|input| input.property == *name) {
                let known: Vec<_> =
                    self.inputs.iter().map(|input| input.property.as_str()).collect();
                return Err(format!(
                    "there is no argument '{name}'; there are {}",
                    known.join(", ")
                ));
            }
        }
        let mut argv: Vec<OsString> = self.path.iter().map(OsString::from).collect();
        let mut positionals = Vec::new();
        let mut last = Vec::new();
        let mut confirmed = confirmed;
        let mut skipped: Option<&str> = None;
        for input in &self.inputs {
            let value = arguments.get(&input.property).filter(|value| !value.is_null());
            let Some(value) = value else {
                if matches!(input.target, Target::Positional) {
                    skipped = skipped.or(Some(&input.property));
                }
                continue;
            };
            let wrong = |expected: &str| format!("'{}' must be {expected}", input.property);
            match &input.target {
                Target::Switch(flag) => {
                    if value.as_bool().ok_or_else(|| wrong("true or false"))? {
                        argv.push(flag.into());
                    }
                }
                Target::Confirm => {
                    confirmed |= value.as_bool().ok_or_else(|| wrong("true or false"))?;
                }
                Target::Count(flag) => {
                    let times = value.as_u64().ok_or_else(|| wrong("a count"))?;
                    argv.extend((0..times.min(255)).map(|_| OsString::from(flag)));
                }
                Target::Option(flag) => {
                    for text in texts(value).ok_or_else(|| wrong("a plain value"))? {
                        argv.push(format!("{flag}={text}").into());
                    }
                }
                Target::Options(flag) => {
                    argv.push(flag.into());
                    let values = texts(value).ok_or_else(|| wrong("a list of plain values"))?;
                    argv.extend(values.into_iter().map(OsString::from));
                }
                Target::Positional => {
                    if let Some(skipped) = skipped {
                        return Err(format!("'{}' needs '{skipped}' before it", input.property));
                    }
                    positionals.extend(texts(value).ok_or_else(|| wrong("a plain value"))?);
                }
                Target::Last => last.extend(texts(value).ok_or_else(|| wrong("a list"))?),
            }
        }
        if let Some(flag) = self.confirm_flag.as_ref().filter(|_| confirmed) {
            argv.push(flag.into());
        }
        // After `--` nothing a model makes up can be taken for a flag. Where the command keeps
        // `--` for its last argument, such a value is refused by clap instead.
        let marker = !positionals.is_empty() || !last.is_empty();
        if last.is_empty() {
            if marker {
                argv.push("--".into());
            }
            argv.extend(positionals.into_iter().map(OsString::from));
        } else {
            argv.extend(positionals.into_iter().map(OsString::from));
            argv.push("--".into());
            argv.extend(last.into_iter().map(OsString::from));
        }
        Ok(argv)
    }

    /// The tool's answer.
    pub(super) fn answer(&self, ended: Ended) -> CallToolResult {
        let declared = self.tool.output_schema.is_some();
        answer::of(ended, Form { wrapped: self.wrapped, declared })
    }
}

/// Where a flag's value goes.
fn target(name: &str, arg: Option<&Arg>) -> Target {
    let dashes = if arg.is_some_and(|arg| arg.get_long().is_none()) { "-" } else { "--" };
    let flag = format!("{dashes}{name}");
    match arg.map(Arg::get_action) {
        Some(ArgAction::SetTrue | ArgAction::SetFalse) => Target::Switch(flag),
        Some(ArgAction::Count) => Target::Count(flag),
        Some(ArgAction::Set)
            if arg.and_then(Arg::get_num_args).is_some_and(|range| range.max_values() > 1) =>
        {
            Target::Options(flag)
        }
        _ => Target::Option(flag),
    }
}

fn description(schema: &CommandSchema) -> String {
    let mut text = schema.summary.clone();
    if !schema.agent_description.is_empty() {
        text.push_str(&format!(". {}", schema.agent_description));
    }
    if !schema.when_to_use.is_empty() {
        text.push_str(&format!("\nWhen to use: {}", schema.when_to_use));
    }
    if let Some(returns) = &schema.returns {
        text.push_str(&format!("\nReturns: {}", returns.description));
    }
    text
}

/// A JSON Schema for a value of one of our types.
fn property(kind: &str, description: &str, values: &[String]) -> Value {
    let (base, list) = match kind.strip_suffix("Slice") {
        Some(base) => (base, true),
        None => (kind, false),
    };
    let mut one = match base {
        "bool" => json!({"type": "boolean"}),
        "int" => json!({"type": "integer"}),
        "uint" | "count" => json!({"type": "integer", "minimum": 0}),
        "float64" => json!({"type": "number"}),
        _ => json!({"type": "string"}),
    };
    if !values.is_empty() {
        one["enum"] = json!(values);
    }
    let mut property = if list { json!({"type": "array", "items": one}) } else { one };
    set(&mut property, "description", description);
    property
}

fn set(schema: &mut Value, key: &str, text: &str) {
    if !text.is_empty() {
        // A pattern is about each value of a list.
        let target = match schema.get_mut("items") {
            Some(items) if key == "pattern" => items,
            _ => schema,
        };
        target[key] = json!(text);
    }
}

/// The tool's output schema, which must describe an object, and whether the result is wrapped.
fn output_schema(schema: &CommandSchema, plans: bool) -> (Option<JsonObject>, bool) {
    let declared = schema.returns.as_ref().and_then(|returns| returns.output_schema.clone());
    let Some(mut declared) = declared else {
        return (None, false);
    };
    let definitions = declared.as_object_mut().and_then(|own| own.remove("$defs"));
    let is_object = declared["type"] == "object";
    let result = if is_object {
        declared
    } else {
        json!({"type": "object", "properties": {"result": declared}, "required": ["result"]})
    };
    let mut output = if plans {
        let plan = json!({"type": "object", "properties": {"plan": {}}, "required": ["plan"]});
        json!({"type": "object", "anyOf": [result, plan]})
    } else {
        result
    };
    if let Some(definitions) = definitions {
        output["$defs"] = definitions;
    }
    (Some(object(output)), !is_object)
}

/// A plain value, or a list of them, as words.
fn texts(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Number(number) => Some(vec![number.to_string()]),
        Value::Bool(value) => Some(vec![value.to_string()]),
        Value::Array(items) => {
            let each: Option<Vec<Vec<String>>> = items.iter().map(texts).collect();
            Some(each?.concat())
        }
        Value::Null | Value::Object(_) => None,
    }
}
