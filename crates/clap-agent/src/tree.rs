//! clap's command tree as documents.
//!
//! The tree is read as the author declared it, not built: building expands help commands and
//! copies global flags everywhere, which costs more than everything else here. What building would
//! have added is worked out on the way down.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Arg, ArgAction, Command};
use serde_json::Value;

use crate::effect::Effect;
use crate::flags::{is_infra, is_infra_command};
use crate::lineage::{self, Lineage};
use crate::notes::{FlagNotes, Notes, Returns};
use crate::program::Settings;
use crate::schema::{
    ArgumentSchema, CommandSchema, ExampleSchema, FlagSchema, ReturnSchema, Subcommand,
};
use crate::usage::name;

/// A global flag on its way down, with what it excludes where it was declared.
#[derive(Clone)]
struct Inherited<'a> {
    arg: &'a Arg,
    excludes: Vec<String>,
}

/// Which form the commands below take.
#[derive(Clone, Copy, PartialEq)]
enum Below {
    Brief,
    Full,
}

/// One command, with those below it by name and summary.
pub(crate) fn command_schema(
    root: &Command,
    path: &[String],
    settings: &Settings,
) -> Option<CommandSchema> {
    let mut node = root;
    let mut inherited = Vec::new();
    let mut lineage = Lineage::default().below(settings.notes(&[], root));
    for (depth, name) in path.iter().enumerate() {
        inherited = pass_down(node, inherited);
        node = crate::scan::at(root, &path[..=depth])?;
        lineage = lineage.below(settings.notes(&path[..=depth], node));
        debug_assert_eq!(node.get_name(), name);
    }
    let mut path = path.to_vec();
    Some(schema(node, &mut path, &inherited, &lineage, settings, Below::Brief))
}

/// Every command below the root, in full, sorted by name.
pub(crate) fn commands(root: &Command, settings: &Settings) -> Vec<CommandSchema> {
    let inherited = pass_down(root, Vec::new());
    let above = Lineage::default().below(settings.notes(&[], root));
    children(root)
        .into_iter()
        .map(|child| {
            let mut path = vec![child.get_name().to_owned()];
            let lineage = above.clone().below(settings.notes(&path, child));
            schema(child, &mut path, &inherited, &lineage, settings, Below::Full)
        })
        .collect()
}

/// The root's flags that are not passed down.
pub(crate) fn root_flags(root: &Command, settings: &Settings) -> Vec<FlagSchema> {
    let lineage = Lineage::default().below(settings.notes(&[], root));
    let mut flags = flags(root, &[], &lineage);
    flags.retain(|flag| !flag.persistent);
    flags
}

fn children(node: &Command) -> Vec<&Command> {
    let mut children: Vec<_> = node
        .get_subcommands()
        .filter(|child| !child.is_hide_set() && !is_infra_command(child))
        .collect();
    children.sort_by_key(|child| child.get_name());
    children
}

fn pass_down<'a>(node: &'a Command, mut inherited: Vec<Inherited<'a>>) -> Vec<Inherited<'a>> {
    for arg in node.get_arguments() {
        if arg.is_global_set() && !is_infra(arg) && !holds(&inherited, arg) {
            let excludes = node.get_arg_conflicts_with(arg).into_iter().map(name).collect();
            inherited.push(Inherited { arg, excludes });
        }
    }
    inherited
}

fn holds(inherited: &[Inherited<'_>], arg: &Arg) -> bool {
    inherited.iter().any(|known| known.arg.get_id() == arg.get_id())
}

fn schema<'a>(
    node: &'a Command,
    path: &mut Vec<String>,
    inherited: &[Inherited<'a>],
    lineage: &Lineage<'a>,
    settings: &'a Settings,
    below: Below,
) -> CommandSchema {
    let empty = Notes::default();
    let notes = lineage.own().unwrap_or(&empty);
    let effect = lineage.effect();
    let passed = pass_down(node, inherited.to_vec());
    let subcommands = children(node).into_iter().map(|child| match below {
        Below::Brief => {
            Subcommand::Brief { name: child.get_name().to_owned(), summary: summary(child) }
        }
        Below::Full => {
            path.push(child.get_name().to_owned());
            let lineage = lineage.clone().below(settings.notes(path, child));
            let full = schema(child, path, &passed, &lineage, settings, below);
            path.pop();
            Subcommand::Full(Box::new(full))
        }
    });
    let subcommands = subcommands.collect();
    CommandSchema {
        name: node.get_name().to_owned(),
        summary: summary(node),
        when_to_use: notes.when_to_use.to_string(),
        agent_description: notes.agent_description.to_string(),
        idempotent: notes.idempotent,
        mutating: effect.is_mutating(),
        effect,
        passthrough: notes.passthrough,
        arguments: arguments(node, lineage),
        flags: flags(node, inherited, lineage),
        returns: notes.returns.as_ref().map(returns),
        examples: notes
            .examples
            .iter()
            .map(|example| ExampleSchema {
                command: example.command.to_string(),
                description: example.description.to_string(),
                expected_exit_code: example.exit.code(),
            })
            .collect(),
        subcommands,
    }
}

pub(crate) fn summary(node: &Command) -> String {
    node.get_about().map(|about| first_line(&about.to_string())).unwrap_or_default()
}

fn description(arg: &Arg) -> String {
    arg.get_help().map(ToString::to_string).unwrap_or_default()
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().trim().to_owned()
}

/// The notes on an argument where it is declared: from the command's notes or from its attribute.
#[inline]
pub(crate) fn flag_notes<'a>(arg: &'a Arg, notes: Option<&'a Notes>) -> Option<&'a FlagNotes> {
    notes.and_then(|notes| lineage::keyed(arg, notes)).or_else(|| lineage::attribute(arg))
}

fn arguments<'a>(node: &'a Command, lineage: &Lineage<'a>) -> Vec<ArgumentSchema> {
    let shown = node.get_positionals().filter(|arg| !arg.is_hide_set() && !is_infra(arg));
    shown
        .map(|arg| ArgumentSchema {
            name: name(arg),
            kind: kind(arg),
            required: arg.is_required_set(),
            description: description(arg),
            values: values(arg),
            pattern: lineage.flag(arg).map(|own| own.pattern.to_string()).unwrap_or_default(),
        })
        .collect()
}

fn flags<'a>(
    node: &'a Command,
    inherited: &[Inherited<'a>],
    lineage: &Lineage<'a>,
) -> Vec<FlagSchema> {
    let excluded = exclusions(node, inherited);
    let from_above = inherited
        .iter()
        .map(|known| known.arg)
        .filter(|arg| !node.get_arguments().any(|own| own.get_id() == arg.get_id()));
    let own = node.get_arguments().filter(|arg| !arg.is_positional());
    let mut flags: Vec<FlagSchema> = own
        .chain(from_above)
        .filter(|arg| !arg.is_hide_set() && !is_infra(arg))
        .map(|arg| flag(arg, lineage, excluded.get(arg.get_id().as_str())))
        .collect();
    flags.sort_by(|a, b| a.name.cmp(&b.name));
    flags
}

fn flag<'a>(arg: &'a Arg, lineage: &Lineage<'a>, excludes: Option<&Vec<String>>) -> FlagSchema {
    let own = lineage.flag(arg);
    let sensitive = own.is_some_and(|own| own.sensitive);
    FlagSchema {
        name: name(arg),
        kind: kind(arg),
        default: if sensitive { Value::Null } else { default(arg) },
        description: description(arg),
        required: arg.is_required_set(),
        env: arg.get_env().map(|env| env.to_string_lossy().into_owned()).unwrap_or_default(),
        sensitive,
        persistent: arg.is_global_set(),
        mutually_exclusive_with: excludes.cloned().unwrap_or_default(),
        values: values(arg),
        pattern: own.map(|own| own.pattern.to_string()).unwrap_or_default(),
        effect: own.map_or(Effect::Read, |own| own.effect),
    }
}

/// For each argument's id, the names it cannot stand beside: in both directions, from conflicts
/// and from groups of which only one member may be given.
fn exclusions(node: &Command, inherited: &[Inherited<'_>]) -> BTreeMap<String, Vec<String>> {
    let mut pairs: Vec<(&Arg, &Arg)> = Vec::new();
    // clap looks up a conflict among the command's own arguments and panics if it is with a
    // global one from above; such a command is looked at with those added.
    let expanded;
    let complete = if inherited.is_empty() {
        node
    } else {
        let missing = inherited
            .iter()
            .filter(|known| !node.get_arguments().any(|own| own.get_id() == known.arg.get_id()))
            .map(|known| known.arg.clone());
        expanded = node.clone().args(missing);
        &expanded
    };
    for arg in complete.get_arguments() {
        if arg.is_global_set() {
            continue;
        }
        for other in complete.get_arg_conflicts_with(arg) {
            pairs.push((arg, other));
        }
    }
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut add = |one: String, other: String| {
        let names = found.entry(one).or_default();
        if !names.contains(&other) {
            names.push(other);
        }
    };
    for (one, other) in pairs {
        add(one.get_id().to_string(), name(other));
        add(other.get_id().to_string(), name(one));
    }
    for known in inherited {
        for other in &known.excludes {
            add(known.arg.get_id().to_string(), other.clone());
        }
    }
    for arg in node.get_arguments().filter(|arg| arg.is_global_set() && !is_infra(arg)) {
        if holds(inherited, arg) {
            continue;
        }
        for other in node.get_arg_conflicts_with(arg) {
            add(arg.get_id().to_string(), name(other));
            add(other.get_id().to_string(), name(arg));
        }
    }
    for group in node.get_groups() {
        if group.clone().is_multiple() {
            continue;
        }
        let members: Vec<&Arg> = group
            .get_args()
            .filter_map(|id| node.get_arguments().find(|arg| arg.get_id() == id))
            .collect();
        for one in &members {
            for other in members.iter().filter(|other| other.get_id() != one.get_id()) {
                add(one.get_id().to_string(), name(other));
            }
        }
    }
    for names in found.values_mut() {
        names.sort();
    }
    found
}

/// The type, in the words murli's flags have.
pub(crate) fn kind(arg: &Arg) -> String {
    let base = base_kind(arg);
    if is_list(arg) { format!("{base}Slice") } else { base.to_owned() }
}

pub(crate) fn base_kind(arg: &Arg) -> &'static str {
    match arg.get_action() {
        ArgAction::SetTrue | ArgAction::SetFalse => return "bool",
        ArgAction::Count => return "count",
        _ => {}
    }
    let id = arg.get_value_parser().type_id();
    let is_one_of = |types: &[TypeId]| types.iter().any(|known| id == *known);
    if is_one_of(&[TypeId::of::<bool>()]) {
        "bool"
    } else if is_one_of(&[
        TypeId::of::<u8>(),
        TypeId::of::<u16>(),
        TypeId::of::<u32>(),
        TypeId::of::<u64>(),
        TypeId::of::<usize>(),
    ]) {
        "uint"
    } else if is_one_of(&[
        TypeId::of::<i8>(),
        TypeId::of::<i16>(),
        TypeId::of::<i32>(),
        TypeId::of::<i64>(),
        TypeId::of::<isize>(),
    ]) {
        "int"
    } else if is_one_of(&[TypeId::of::<f32>(), TypeId::of::<f64>()]) {
        "float64"
    } else if is_one_of(&[TypeId::of::<PathBuf>()]) {
        "path"
    } else {
        "string"
    }
}

/// Whether it takes several values.
pub(crate) fn is_list(arg: &Arg) -> bool {
    let takes_values = matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
    takes_values
        && (matches!(arg.get_action(), ArgAction::Append)
            || arg.get_num_args().is_some_and(|range| range.max_values() > 1))
}

fn values(arg: &Arg) -> Vec<String> {
    if base_kind(arg) == "bool" {
        return Vec::new();
    }
    let possible = arg.get_possible_values();
    possible
        .iter()
        .filter(|value| !value.is_hide_set())
        .map(|value| value.get_name().to_owned())
        .collect()
}

/// The default in the flag's own type.
fn default(arg: &Arg) -> Value {
    match arg.get_action() {
        ArgAction::SetTrue => return Value::Bool(false),
        ArgAction::SetFalse => return Value::Bool(true),
        ArgAction::Count => return Value::from(0),
        _ => {}
    }
    let base = base_kind(arg);
    let mut typed = arg.get_default_values().iter().map(|text| {
        let text = text.to_string_lossy();
        match base {
            "bool" => text.parse().map(Value::Bool).ok(),
            "int" => text.parse::<i64>().map(Value::from).ok(),
            "uint" => text.parse::<u64>().map(Value::from).ok(),
            "float64" => text.parse::<f64>().map(Value::from).ok(),
            _ => None,
        }
        .unwrap_or_else(|| Value::from(text.into_owned()))
    });
    if is_list(arg) && arg.get_default_values().len() > 1 {
        Value::Array(typed.collect())
    } else {
        typed.next().unwrap_or(Value::Null)
    }
}

pub(crate) fn returns(returns: &Returns) -> ReturnSchema {
    let output_schema = returns.schema.map(|schema| schema());
    let from_schema = output_schema.as_ref().and_then(|schema| schema.get("type")).cloned();
    let kind = match (&returns.kind, from_schema) {
        (Some(kind), _) => kind.to_string(),
        (None, Some(Value::String(kind))) => kind,
        (None, _) => "any".to_owned(),
    };
    ReturnSchema {
        kind,
        description: returns.description.to_string(),
        shape: returns
            .shape
            .iter()
            .map(|(field, kind)| (field.to_string(), kind.to_string()))
            .collect(),
        output_schema,
    }
}
