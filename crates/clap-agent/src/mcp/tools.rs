//! Commands as tools: input schema, output schema, annotations. All of it from the same facts as
//! `--schema`.

use std::sync::Arc;

use clap::Command;
use rmcp::model::{CallToolResult, JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use super::answer::{self, Form};
use super::call::Ended;
use super::inputs::{self, Input};
use super::line::{Given, Line, Place, Word};
use crate::docs;
use crate::effect::{Confirm, Effect};
use crate::flags::InfraFlag;
use crate::lineage::Lineage;
use crate::notes::Notes;
use crate::program::Settings;
use crate::schema::{CommandSchema, DescribeOutput};
use crate::{scan, tree};

/// Every tool there is.
pub(super) struct Catalogue {
    entries: Vec<Entry>,
}

/// One command as a tool.
pub(super) struct Entry {
    tool: Tool,
    title: String,
    line: Line,
    form: Form,
}

impl Catalogue {
    pub(super) fn new(
        root: &Command,
        described: &DescribeOutput,
        settings: &Settings,
        given: &[Given],
    ) -> Self {
        let mut catalogue = Catalogue { entries: Vec::new() };
        let mut add = |title: &str, path: Vec<String>, schema: &CommandSchema| {
            let Some(node) = scan::at(root, &path) else {
                return;
            };
            let notes = settings.notes(&path, node);
            let hidden = notes.is_some_and(|notes| notes.hide_from_mcp);
            let runs = docs::is_leaf(schema) || runs_itself(node, notes, path.is_empty());
            if runs && !hidden {
                let entry = Entry::new(title, path, schema, root, settings, given);
                catalogue.add(entry);
            }
        };
        docs::each(described, &mut |title, schema| {
            let path: Vec<String> = match &described.command {
                Some(_) => Vec::new(),
                None => title.split(' ').skip(1).map(str::to_owned).collect(),
            };
            add(title, path, schema);
        });
        // A program with commands that does something without one, too.
        if described.command.is_none()
            && let Some(schema) = tree::command_schema(root, &[], settings)
        {
            add(&described.name, Vec::new(), &schema);
        }
        catalogue
    }

    fn add(&mut self, mut entry: Entry) {
        let taken: Vec<String> =
            self.entries.iter().map(|entry| entry.tool.name.to_string()).collect();
        entry.tool.name = inputs::free(&entry.tool.name, &taken).into();
        self.entries.push(entry);
    }

    pub(super) fn tools(&self) -> Vec<Tool> {
        self.entries.iter().map(|entry| entry.tool.clone()).collect()
    }

    pub(super) fn find(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.tool.name == name)
    }
}

/// Whether a command with commands below it does something without one.
///
/// clap knows only that it may: a mere group that was built by hand looks the same. So something
/// must speak for it: arguments of its own, or notes. (Notes on the program itself may be about
/// nothing but its global flags.)
fn runs_itself(node: &Command, notes: Option<&Notes>, is_root: bool) -> bool {
    let may = !node.is_subcommand_required_set() && !node.is_arg_required_else_help_set();
    let own = |arg: &clap::Arg| !arg.is_global_set() && !crate::flags::is_infra(arg);
    may && (node.get_arguments().any(own) || (notes.is_some() && !is_root))
}

impl Entry {
    fn new(
        title: &str,
        path: Vec<String>,
        schema: &CommandSchema,
        root: &Command,
        settings: &Settings,
        given: &[Given],
    ) -> Self {
        let node = scan::at(root, &path).unwrap_or(root);
        let notes = settings.notes(&path, node);
        let mut inputs = inputs::of(root, &path, settings);
        for given in given {
            inputs.iter_mut().filter(|input| input.id == given.id).for_each(|input| {
                input.required = false;
                preset(&mut input.schema, given);
            });
        }
        let worst = inputs.iter().map(|input| input.effect).fold(schema.effect, Effect::max);
        let plans = notes.is_some_and(|notes| notes.dry_run);
        if plans {
            let about = "Only say what would be done";
            inputs.extend(
                infra(InfraFlag::DryRun, settings, &inputs, about)
                    .map(|(flag, input)| Input { place: Place::Switch(flag), ..input }),
            );
        }
        let mut confirm_flag = None;
        let confirm = Lineage::of(settings, root, &path).confirm();
        if may_ask(confirm, worst, settings.gate) {
            let about = "Confirm beforehand; without it a person may be asked";
            if let Some(own) = inputs.iter_mut().find(|input| input.confirms) {
                if let Place::Switch(flag) = std::mem::replace(&mut own.place, Place::Confirm) {
                    confirm_flag = Some(flag);
                }
            } else if let Some((flag, input)) = infra(InfraFlag::Yes, settings, &inputs, about)
                .or_else(|| infra(InfraFlag::Force, settings, &inputs, about))
            {
                confirm_flag = Some(flag);
                inputs.push(Input { place: Place::Confirm, ..input });
            }
        }
        let (output, wrapped) = output_schema(schema, plans);
        let form = Form { wrapped, declared: output.is_some() };
        let mut tool = Tool::default();
        let name = if path.is_empty() { schema.name.clone() } else { path.join("_") };
        tool.name = name.into();
        tool.title = Some(title.to_owned());
        tool.description = Some(description(schema).into());
        tool.input_schema = Arc::new(input_schema(&inputs));
        tool.output_schema = output.map(Arc::new);
        tool.annotations = Some(
            ToolAnnotations::with_title(title)
                .read_only(!worst.is_mutating())
                .destructive(worst == Effect::Destructive)
                .idempotent(schema.idempotent),
        );
        let line = Line {
            marker_moves: node.is_allow_missing_positional_set()
                || node.get_positionals().any(clap::Arg::is_last_set),
            commands: node
                .get_subcommands()
                .flat_map(|child| std::iter::once(child.get_name()).chain(child.get_all_aliases()))
                .map(str::to_owned)
                .collect(),
            path,
            inputs,
            given: given.to_vec(),
            confirm_flag,
        };
        Entry { tool, title: title.to_owned(), line, form }
    }

    /// Whether a confirmation can be handed to the command.
    pub(super) fn can_confirm(&self) -> bool {
        self.line.confirm_flag.is_some()
    }

    /// The command line for these arguments, without the program's name.
    pub(super) fn words(
        &self,
        arguments: &JsonObject,
        confirmed: bool,
    ) -> Result<Vec<Word>, String> {
        self.line.words(arguments, confirmed)
    }

    /// The command line as a person may see it, secrets masked.
    pub(super) fn shown(&self, words: &[Word]) -> String {
        let program = self.title.split(' ').next().unwrap_or_default();
        let words = words.iter().map(|word| word.shown.as_str());
        std::iter::once(program).chain(words).collect::<Vec<_>>().join(" ")
    }

    /// The tool's answer.
    pub(super) fn answer(&self, ended: Ended) -> CallToolResult {
        answer::of(ended, self.form)
    }
}

/// One of the crate's own switches, unless the author has one of its name that counts here.
fn infra(
    flag: InfraFlag,
    settings: &Settings,
    inputs: &[Input],
    about: &str,
) -> Option<(String, Input)> {
    let name = settings.infra.name(flag)?;
    if inputs.iter().any(|input| input.names.iter().any(|taken| taken == name)) {
        return None;
    }
    let taken: Vec<String> = inputs.iter().map(|input| input.property.clone()).collect();
    let input = Input {
        property: inputs::free(&inputs::property_name(name), &taken),
        id: String::new(),
        depth: usize::MAX,
        place: Place::Confirm,
        schema: json!({"type": "boolean", "default": false, "description": about}),
        required: false,
        sensitive: false,
        effect: Effect::Read,
        confirms: false,
        names: Vec::new(),
    };
    Some((format!("--{name}"), input))
}

/// Whether a call can need a confirmation, whatever flags it gives.
fn may_ask(confirm: Confirm, worst: Effect, gate: Effect) -> bool {
    match confirm {
        Confirm::Never => false,
        Confirm::Always => true,
        Confirm::ByEffect => worst.is_mutating() && worst >= gate,
    }
}

/// What the server was started with is the default of its calls.
fn preset(schema: &mut Value, given: &Given) {
    let Some(schema) = schema.as_object_mut() else {
        return;
    };
    let of_type = |kind: Option<&Value>, text: &String| match kind.and_then(Value::as_str) {
        Some("string") | None => json!(text),
        _ => text.parse::<Value>().unwrap_or_else(|_| json!(text)),
    };
    schema.remove("default");
    if schema.get("type").is_some_and(|kind| kind == "array") {
        let kind = schema.get("items").and_then(|items| items.get("type"));
        let values: Vec<Value> = given.values.iter().map(|text| of_type(kind, text)).collect();
        if !values.is_empty() {
            schema.insert("default".into(), Value::Array(values));
        }
    } else if let [value] = given.values.as_slice() {
        let value = of_type(schema.get("type"), value);
        schema.insert("default".into(), value);
    }
}

fn input_schema(inputs: &[Input]) -> JsonObject {
    let mut properties = JsonObject::new();
    for input in inputs {
        properties.insert(input.property.clone(), input.schema.clone());
    }
    let required: Vec<&str> =
        inputs.iter().filter(|input| input.required).map(|input| input.property.as_str()).collect();
    answer::object(json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    }))
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
    (Some(answer::object(output)), !is_object)
}
