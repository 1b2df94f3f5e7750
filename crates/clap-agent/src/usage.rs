//! clap's complaints as errors an agent can act on: which flag, which values it takes, what was
//! probably meant.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};

use crate::error::AgentError;
use crate::exit::Exit;
use crate::flags::{Infra, InfraFlag, is_infra, is_infra_command};
use crate::format::{OutputFormat, Protocol};

/// Turns a refusal of clap's into an error. `node` is the command that was called, `path` its full
/// name.
pub(crate) fn explain(
    error: &clap::Error,
    node: &Command,
    path: &str,
    infra: &Infra,
    is_sensitive: impl Fn(&Arg) -> bool,
) -> AgentError {
    let said = strings(error, ContextKind::InvalidArg);
    let named = said.first().map(|arg| find(node, arg));
    if let Some(Some(arg)) = named
        && let Some(wrong) = wrong_form(error, arg, infra)
    {
        return wrong;
    }
    let kind = match error.kind() {
        ErrorKind::InvalidSubcommand
        | ErrorKind::MissingSubcommand
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
        | ErrorKind::InvalidUtf8 => "command_error",
        ErrorKind::UnknownArgument => match said.first() {
            Some(arg) if arg.starts_with('-') => "flag_error",
            _ => "command_error",
        },
        _ => match said.first() {
            Some(arg) if !arg.starts_with('-') => "command_error",
            _ => "flag_error",
        },
    };
    let mut message = message(error);
    if let Some(Some(arg)) = named
        && is_sensitive(arg)
        && let Some(value) = string(error, ContextKind::InvalidValue)
        && !value.is_empty()
    {
        message = message.replace(&value, "***");
    }
    let field = match (&named, said.first()) {
        (Some(Some(arg)), _) => name(arg),
        (_, Some(word)) => bare(word, error.kind()),
        _ => string(error, ContextKind::InvalidSubcommand).unwrap_or_default(),
    };
    AgentError::new(Exit::UserError, kind, message)
        .with_field(field)
        .with_suggestion(suggestion(error, node, path))
        .with_valid_values(valid_values(error, node))
}

/// Too little was typed to do anything.
pub(crate) fn incomplete() -> AgentError {
    AgentError::new(
        Exit::UserError,
        "command_error",
        "a subcommand or an argument is required, but none was given",
    )
}

/// `--output nonsense` and `--protocol-version 9` have error types of their own.
fn wrong_form(error: &clap::Error, arg: &Arg, infra: &Infra) -> Option<AgentError> {
    if !is_infra(arg) || error.kind() != ErrorKind::InvalidValue {
        return None;
    }
    let long = arg.get_long()?;
    let value = string(error, ContextKind::InvalidValue).unwrap_or_default();
    let (kind, values): (_, &[&str]) = match infra.by_name(long)? {
        InfraFlag::Output => ("invalid_output_format", &OutputFormat::NAMES),
        InfraFlag::ProtocolVersion => ("invalid_protocol_version", &Protocol::NAMES),
        _ => return None,
    };
    let suggestion = match near_miss(&value, values.iter().copied()) {
        Some(near) => format!("did you mean --{long} {near}?"),
        None => format!("use --{long} {}", values.join(", ")),
    };
    let message = if value.is_empty() {
        format!("--{long} needs a value")
    } else {
        format!("unknown --{long} value '{value}'")
    };
    Some(
        AgentError::new(Exit::UserError, kind, message)
            .with_suggestion(suggestion)
            .with_valid_values(values.iter().copied())
            .with_field(long),
    )
}

/// clap's first paragraph on one line, without its `error: `.
fn message(error: &clap::Error) -> String {
    if matches!(
        error.kind(),
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    ) {
        return incomplete().to_string();
    }
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let paragraph = text.split("\n\n").next().unwrap_or(text);
    // The values stand in `valid_values`.
    let lines = paragraph.lines().map(str::trim);
    lines.filter(|line| !line.starts_with("[possible values:")).collect::<Vec<_>>().join(" ")
}

fn suggestion(error: &clap::Error, node: &Command, path: &str) -> String {
    for near in
        [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue]
    {
        if let Some(word) = strings(error, near).into_iter().next() {
            return format!("did you mean '{word}'?");
        }
    }
    if let (Some(value), valid) =
        (string(error, ContextKind::InvalidValue), strings(error, ContextKind::ValidValue))
        && let Some(near) = near_miss(&value, valid.iter().map(String::as_str))
    {
        return format!("did you mean '{near}'?");
    }
    match error.kind() {
        ErrorKind::ArgumentConflict => {
            let mut both = strings(error, ContextKind::InvalidArg);
            both.extend(strings(error, ContextKind::PriorArg));
            let named: Vec<_> = both.iter().map(|arg| flag_of(arg)).collect();
            format!("give only one of {}", named.join(", "))
        }
        ErrorKind::MissingRequiredArgument
        | ErrorKind::TooFewValues
        | ErrorKind::WrongNumberOfValues => {
            format!("usage: {}", usage(node, path))
        }
        _ => format!("run `{path} --help` to see what it takes"),
    }
}

/// The usage line without its title.
fn usage(node: &Command, path: &str) -> String {
    let mut node = node.clone().bin_name(path.to_owned());
    let usage = node.render_usage().to_string();
    let usage = usage.strip_prefix("Usage: ").unwrap_or(&usage);
    usage.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn valid_values(error: &clap::Error, node: &Command) -> Vec<String> {
    let listed = strings(error, ContextKind::ValidValue);
    if !listed.is_empty() {
        return listed;
    }
    match error.kind() {
        ErrorKind::InvalidSubcommand
        | ErrorKind::MissingSubcommand
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => subcommands(node),
        ErrorKind::UnknownArgument => {
            let flag = strings(error, ContextKind::InvalidArg)
                .first()
                .is_some_and(|word| word.starts_with('-'));
            if flag {
                let mut flags: Vec<String> = node
                    .get_opts()
                    .filter(|arg| !arg.is_hide_set() && !is_infra(arg))
                    .filter_map(|arg| arg.get_long().map(|long| format!("--{long}")))
                    .collect();
                flags.sort();
                flags
            } else {
                subcommands(node)
            }
        }
        _ => Vec::new(),
    }
}

fn subcommands(node: &Command) -> Vec<String> {
    let visible =
        node.get_subcommands().filter(|child| !child.is_hide_set() && !is_infra_command(child));
    let mut names: Vec<_> = visible.map(|child| child.get_name().to_owned()).collect();
    names.sort();
    names
}

/// What a flag or argument is called in documents.
pub(crate) fn name(arg: &Arg) -> String {
    match (arg.get_long(), arg.get_short()) {
        (Some(long), _) => long.to_owned(),
        (None, Some(short)) => short.to_string(),
        (None, None) => arg.get_id().to_string(),
    }
}

/// The name of what clap speaks of and this command does not have: an argument of a command above
/// (`--server <SERVER>`), one of several (`<--one <ONE>|--two <TWO>>`), or a word that was typed.
fn bare(said: &str, kind: ErrorKind) -> String {
    if kind != ErrorKind::MissingRequiredArgument {
        return said.to_owned();
    }
    let inside = said.strip_prefix('<').and_then(|said| said.strip_suffix('>')).unwrap_or(said);
    let names = inside.split('|').map(|one| {
        let flag = flag_of(one).trim_start_matches('-');
        let name = flag.trim_matches(['<', '>', '[', ']', '.']);
        if one.starts_with('-') { name.to_owned() } else { name.to_lowercase() }
    });
    names.collect::<Vec<_>>().join("|")
}

/// `--title <TITLE>` as `--title`.
fn flag_of(said: &str) -> &str {
    said.split([' ', '=']).next().unwrap_or(said)
}

/// The argument clap spells `--title <TITLE>`, `-v`, `<ID>` or `[FILES]...`.
fn find<'a>(node: &'a Command, said: &str) -> Option<&'a Arg> {
    let flag = flag_of(said);
    node.get_arguments().find(|arg| {
        if let Some(long) = flag.strip_prefix("--") {
            arg.get_long() == Some(long)
        } else if let Some(short) = flag.strip_prefix('-') {
            arg.get_short().is_some_and(|own| short == own.to_string())
        } else {
            arg.is_positional() && arg.to_string() == said
        }
    })
}

fn string(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        _ => None,
    }
}

fn strings(error: &clap::Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => Vec::new(),
    }
}

/// The word nearest to what was typed, if one is near: alike on the whole, or one slip away.
pub(crate) fn near_miss<'a>(typed: &str, words: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let typed = typed.to_lowercase();
    words
        .map(|word| {
            let other = word.to_lowercase();
            let slip = typed.len() > 2 && strsim::osa_distance(&typed, &other) == 1;
            let alike = strsim::jaro_winkler(&typed, &other);
            (if slip { alike.max(0.9) } else { alike }, word)
        })
        .filter(|(nearness, _)| *nearness > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, word)| word)
}
