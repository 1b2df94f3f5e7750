//! The documents `--schema` and `describe` print: murli's keys, in murli's order, left out where
//! murli leaves them out.
//!
//! One key is added on commands and flags: `effect`, of which `mutating` is derived. `--schema`
//! and `describe` share one type; `--schema` lists its subcommands by name and summary only.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::effect::Effect;

/// One command.
///
/// ```
/// use clap_agent::Program;
///
/// let command = clap::Command::new("greet").about("Says hello");
/// let schema = Program::new(command).schema(&[]).unwrap();
/// assert_eq!(schema.name, "greet");
/// assert_eq!(schema.summary, "Says hello");
/// ```
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct CommandSchema {
    /// The command's own name (the last word of its path).
    pub name: String,
    /// Its help in one line.
    pub summary: String,
    /// When to choose it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub when_to_use: String,
    /// Its scope in more words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub agent_description: String,
    /// Safe to run again after a failure.
    pub idempotent: bool,
    /// Changes the world: effect `write` and above.
    #[serde(skip_serializing_if = "is_false")]
    pub mutating: bool,
    /// What it does to the world (an addition to murli's keys).
    pub effect: Effect,
    /// Its stdout belongs to another program, which it passes through (an addition to murli's
    /// keys).
    #[serde(skip_serializing_if = "is_false")]
    pub passthrough: bool,
    /// Positional arguments, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<ArgumentSchema>,
    /// Flags, sorted by name, without those every program has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<FlagSchema>,
    /// What a successful run returns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub returns: Option<ReturnSchema>,
    /// Invocations to copy.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<ExampleSchema>,
    /// Commands below this one, sorted by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub subcommands: Vec<Subcommand>,
}

/// A command below another: in full in `describe`, by name and summary in `--schema`.
///
/// ```
/// use clap_agent::{Program, Subcommand};
///
/// let command = clap::Command::new("tasks").subcommand(clap::Command::new("list"));
/// let schema = Program::new(command).schema(&[]).unwrap();
/// assert!(matches!(&schema.subcommands[0], Subcommand::Brief { name, .. } if name == "list"));
/// ```
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Subcommand {
    /// As in `describe`.
    Full(Box<CommandSchema>),
    /// As in `--schema`.
    Brief {
        /// Its name.
        name: String,
        /// Its help in one line.
        summary: String,
    },
}

/// One positional argument.
///
/// ```
/// # use clap_agent::Program;
/// let command = clap::Command::new("greet").arg(clap::Arg::new("name").required(true));
/// let schema = Program::new(command).schema(&[]).unwrap();
/// assert!(schema.arguments[0].required);
/// ```
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ArgumentSchema {
    /// Its name.
    pub name: String,
    /// `string`, `int`, `uint`, `float64`, `bool`, `path`, or one of them with `Slice`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Whether it must be given.
    pub required: bool,
    /// Its help in one line.
    pub description: String,
    /// The values it takes, where they are listed (an addition to murli's keys).
    #[serde(rename = "enum", skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
    /// A regular expression for it (an addition to murli's keys).
    #[serde(skip_serializing_if = "String::is_empty")]
    pub pattern: String,
}

/// One flag.
///
/// ```
/// # use clap_agent::Program;
/// let command = clap::Command::new("greet").arg(clap::Arg::new("name").long("name"));
/// let schema = Program::new(command).schema(&[]).unwrap();
/// assert_eq!(schema.flags[0].kind, "string");
/// ```
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct FlagSchema {
    /// Its long name, without dashes.
    pub name: String,
    /// `string`, `int`, `uint`, `float64`, `bool`, `count`, `path`, or one of them with `Slice`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its default, in its own type; `null` where there is none or it is a secret.
    pub default: Value,
    /// Its help in one line.
    pub description: String,
    /// Must be given (an addition to murli's keys).
    #[serde(skip_serializing_if = "is_false")]
    pub required: bool,
    /// The environment variable it is read from; never its value.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub env: String,
    /// Its value is a secret.
    #[serde(skip_serializing_if = "is_false")]
    pub sensitive: bool,
    /// Every command below takes it too.
    #[serde(skip_serializing_if = "is_false")]
    pub persistent: bool,
    /// Flags and arguments it cannot stand beside.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mutually_exclusive_with: Vec<String>,
    /// The values it takes, where they are listed.
    #[serde(rename = "enum", skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
    /// A regular expression for its value.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub pattern: String,
    /// What giving it does to the world, where that is more than reading (an addition to murli's
    /// keys).
    #[serde(skip_serializing_if = "is_read")]
    pub effect: Effect,
}

/// What a successful run returns.
///
/// ```
/// # use clap_agent::{Notes, Program, Returns};
/// let program = Program::new(clap::Command::new("greet"))
///     .at("", Notes::read().returns(Returns::new("string", "the greeting")));
/// assert_eq!(program.schema(&[]).unwrap().returns.unwrap().kind, "string");
/// ```
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ReturnSchema {
    /// `object`, `array`, `string` …
    #[serde(rename = "type")]
    pub kind: String,
    /// In words.
    pub description: String,
    /// A rough shape.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub shape: BTreeMap<String, String>,
    /// A JSON Schema (draft 2020-12).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
}

/// An invocation to copy.
///
/// ```
/// # use clap_agent::{Example, Notes, Program};
/// let program = Program::new(clap::Command::new("greet"))
///     .at("", Notes::read().example(Example::new("greet")));
/// assert_eq!(program.schema(&[]).unwrap().examples[0].command, "greet");
/// ```
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ExampleSchema {
    /// The shell line.
    pub command: String,
    /// What it shows.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// How it ends; left out for 0.
    #[serde(skip_serializing_if = "is_zero")]
    pub expected_exit_code: u8,
}

/// The whole program.
///
/// ```
/// # use clap_agent::Program;
/// let described = Program::new(clap::Command::new("greet").version("1.0")).describe();
/// assert_eq!(described.tool_version, "1.0");
/// assert_eq!(described.capabilities.output_formats, ["json", "ndjson", "yaml", "text"]);
/// ```
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct DescribeOutput {
    /// The program's name.
    pub name: String,
    /// Its help in one line.
    pub summary: String,
    /// The version of the envelope.
    pub schema_version: String,
    /// The program's own version.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub tool_version: String,
    /// What it can do.
    pub capabilities: Capabilities,
    /// The vocabulary it is encouraged to use.
    pub conventions: Conventions,
    /// A program that is one command describes it here (an addition to murli's keys).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Box<CommandSchema>>,
    /// What stands before a command's name only: the program's own flags that are not global (an
    /// addition to murli's keys).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<FlagSchema>,
    /// Its commands, sorted by name, each with those below it in full.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandSchema>,
}

/// What a program can do.
///
/// ```
/// # use clap_agent::Program;
/// let described = Program::new(clap::Command::new("greet")).describe();
/// assert!(!described.capabilities.dry_run);
/// ```
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Capabilities {
    /// Some command emits events.
    pub streaming: bool,
    /// Some command has `--dry-run`.
    pub dry_run: bool,
    /// What `--output` takes.
    pub output_formats: Vec<String>,
    /// The version of the envelope.
    pub schema_version: String,
    /// The program's own version.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub tool_version: String,
    /// The protocol this answer was asked in.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub protocol_version: String,
}

/// The recommended vocabulary.
///
/// ```
/// assert!(clap_agent::Conventions::default().vocabulary.contains_key("delete"));
/// ```
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Conventions {
    /// Word and what it is preferred over.
    pub vocabulary: BTreeMap<String, String>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
fn is_false(value: &bool) -> bool {
    !*value
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
fn is_zero(value: &u8) -> bool {
    *value == 0
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
fn is_read(effect: &Effect) -> bool {
    *effect == Effect::Read
}
