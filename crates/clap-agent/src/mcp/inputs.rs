//! What a tool takes: the command's own arguments, and the flags of every command above it.
//!
//! clap reads a flag where its command stands in the line, so an input knows the depth it is given
//! at: a global flag beside the command itself, where it wins over one given further up; any
//! other flag right after the command that declares it. What is noted on a flag counts from where
//! it is declared.

use clap::{Arg, ArgAction, Command};
use serde_json::{Value, json};

use super::line::{Dashes, Place};
use crate::effect::Effect;
use crate::notes::{FlagNotes, Notes};
use crate::program::Settings;
use crate::schema::{ArgumentSchema, FlagSchema};
use crate::{scan, tree, usage};

/// One property of the input, and where it goes on the command line.
#[derive(Debug)]
pub(super) struct Input {
    pub(super) property: String,
    /// The argument's id; empty for a flag of the crate's.
    pub(super) id: String,
    pub(super) depth: usize,
    pub(super) place: Place,
    pub(super) schema: Value,
    pub(super) required: bool,
    pub(super) sensitive: bool,
    pub(super) effect: Effect,
    /// The author's own flag that opens the gate.
    pub(super) confirms: bool,
    /// Other names the flag has on the command line.
    pub(super) names: Vec<String>,
}

/// A flag on its way down.
struct Known<'a> {
    arg: &'a Arg,
    flag: FlagSchema,
    depth: usize,
    confirms: bool,
}

/// Every input of the command at a path: its arguments in their order, then flags.
pub(super) fn of(root: &Command, path: &[String], settings: &Settings) -> Vec<Input> {
    let mut known: Vec<Known<'_>> = Vec::new();
    let mut inputs = Vec::new();
    for depth in 0..=path.len() {
        let here = &path[..depth];
        let leaf = depth == path.len();
        let (Some(node), Some(schema)) =
            (scan::at(root, here), tree::command_schema(root, here, settings))
        else {
            return inputs;
        };
        let notes = settings.notes(here, node);
        if leaf {
            let own = schema.arguments.iter();
            inputs.extend(own.map(|argument| positional(node, notes, argument)));
        }
        for flag in schema.flags {
            let own = node
                .get_arguments()
                .find(|arg| !arg.is_positional() && usage::name(arg) == flag.name);
            let seen = known.iter().position(|known| known.flag.name == flag.name);
            let confirms = |arg: &Arg| noted(arg, notes).is_some_and(|own| own.confirms);
            match (seen, own) {
                (Some(at), _) if known[at].arg.is_global_set() => {
                    let known = &mut known[at];
                    known.depth = depth;
                    known.confirms |= confirms(known.arg);
                    known.flag.effect = known.flag.effect.max(flag.effect);
                    known.flag.sensitive |= flag.sensitive;
                }
                (seen, Some(arg)) => {
                    // A command's own flag stands before one of the same name above it.
                    seen.into_iter().for_each(|at| drop(known.remove(at)));
                    let stands_alone = node.is_args_conflicts_with_subcommands_set();
                    if leaf || arg.is_global_set() || !stands_alone {
                        let required =
                            flag.required && (leaf || !node.is_subcommand_negates_reqs_set());
                        let flag = FlagSchema { required, ..flag };
                        known.push(Known { arg, flag, depth, confirms: confirms(arg) });
                    }
                }
                (_, None) => {}
            }
        }
    }
    inputs.extend(known.into_iter().map(option));
    let mut taken: Vec<String> = Vec::new();
    for input in &mut inputs {
        input.property = free(&input.property, &taken);
        taken.push(input.property.clone());
    }
    inputs
}

/// The notes on an argument where it is declared: the command's, else those in its attribute.
pub(super) fn noted<'a>(arg: &'a Arg, notes: Option<&'a Notes>) -> Option<&'a FlagNotes> {
    let keyed = notes.map_or(&[][..], |notes| &notes.flags);
    let by_name =
        keyed.iter().find(|(key, _)| arg.get_long() == Some(key) || arg.get_id().as_str() == key);
    if let Some((_, notes)) = by_name {
        return Some(notes);
    }
    #[cfg(feature = "attributes")]
    return arg.get::<FlagNotes>();
    #[cfg(not(feature = "attributes"))]
    None
}

/// This name, or the next one that is not taken.
pub(super) fn free(name: &str, taken: &[String]) -> String {
    let mut name = name.to_owned();
    while taken.contains(&name) {
        name.push('_');
    }
    name
}

/// The name a flag or argument has as a property.
pub(super) fn property_name(name: &str) -> String {
    name.replace('-', "_")
}

fn positional(node: &Command, notes: Option<&Notes>, argument: &ArgumentSchema) -> Input {
    let arg = node.get_positionals().find(|arg| usage::name(arg) == argument.name);
    let place = match arg {
        Some(arg) if arg.is_last_set() => Place::Last,
        arg => Place::Positional(arg.map_or(Dashes::Refused, Dashes::of)),
    };
    let mut schema = property(&argument.kind, &argument.description, &argument.values);
    set(&mut schema, "pattern", &argument.pattern);
    let own = arg.and_then(|arg| noted(arg, notes));
    Input {
        property: property_name(&argument.name),
        id: arg.map(|arg| arg.get_id().to_string()).unwrap_or_default(),
        depth: usize::MAX,
        place,
        schema,
        required: argument.required,
        sensitive: own.is_some_and(|own| own.sensitive),
        effect: own.map_or(Effect::Read, |own| own.effect),
        confirms: false,
        names: Vec::new(),
    }
}

fn option(known: Known<'_>) -> Input {
    let Known { arg, flag, depth, confirms } = known;
    let mut schema = property(&flag.kind, &flag.description, &flag.values);
    set(&mut schema, "pattern", &flag.pattern);
    if matches!(arg.get_action(), ArgAction::SetFalse) {
        // What is passed is whether the flag is given, not what the program makes of it.
        schema["default"] = json!(false);
    } else if !flag.default.is_null() && !flag.sensitive {
        schema["default"] = flag.default;
    }
    let aliases = arg.get_all_aliases().unwrap_or_default();
    let switch = matches!(arg.get_action(), ArgAction::SetTrue);
    Input {
        property: property_name(&flag.name),
        id: arg.get_id().to_string(),
        depth,
        place: Place::of(arg),
        schema,
        required: flag.required,
        sensitive: flag.sensitive,
        effect: flag.effect,
        confirms: confirms && switch,
        names: arg.get_long().into_iter().chain(aliases).map(str::to_owned).collect(),
    }
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
