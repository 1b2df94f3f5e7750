//! What a call meant, as far as it can be told when clap refused it.
//!
//! Used only then: to find the command `--schema` was asked of, and to render an error in the form
//! the caller asked for. It walks the words as clap does, but stops at the first doubt.

use std::ffi::OsString;

use clap::{Arg, ArgAction, Command};

use crate::flags::{Infra, InfraFlag};
use crate::format::{OutputFormat, Protocol};

/// What could be made out.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Scan {
    /// The command's path, by canonical names.
    pub(crate) path: Vec<String>,
    pub(crate) agent: bool,
    pub(crate) output: Option<OutputFormat>,
    pub(crate) protocol: Option<Protocol>,
    pub(crate) fields: Option<String>,
    pub(crate) jq: Option<String>,
}

pub(crate) fn scan(root: &Command, args: &[OsString], infra: &Infra) -> Scan {
    let mut scan = Scan::default();
    let mut nodes = vec![root];
    // What is given after `--` is nobody's flag; the program's own name is no word.
    let words = crate::flags::words(args, root);
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let node = *nodes.last().expect("the root stays");
        if let Some(flag) = word.strip_prefix("--") {
            let (name, inline) = match flag.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (flag, None),
            };
            if let Some(own) = find(&nodes, |arg| has_long(arg, name)) {
                let ours = crate::flags::is_infra(own).then(|| infra.by_name(name)).flatten();
                let value = match inline {
                    None if takes_value(own) => words.next(),
                    given => given,
                };
                match (ours, value) {
                    (Some(InfraFlag::Agent), _) => scan.agent = true,
                    (Some(InfraFlag::Output), Some(value)) => {
                        scan.output = value.parse().ok().or(scan.output);
                    }
                    (Some(InfraFlag::ProtocolVersion), Some(value)) => {
                        scan.protocol = value.parse().ok().or(scan.protocol);
                    }
                    (Some(InfraFlag::Fields), Some(value)) => scan.fields = Some(value.to_owned()),
                    (Some(InfraFlag::Jq), Some(value)) => scan.jq = Some(value.to_owned()),
                    _ => {}
                }
            }
        } else if let Some(short) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) {
            let last = short.chars().next_back();
            let only = short.chars().count() == 1;
            let own = find(&nodes, |arg| arg.get_short() == last);
            if only && own.is_some_and(takes_value) {
                words.next();
            }
        } else if let Some(child) = subcommand(node, word) {
            scan.path.push(child.get_name().to_owned());
            nodes.push(child);
        } else if takes_the_rest(node) {
            break;
        }
    }
    scan
}

/// The command at a path.
pub(crate) fn at<'a, S: AsRef<str>>(root: &'a Command, path: &[S]) -> Option<&'a Command> {
    path.iter().try_fold(root, |node, name| {
        node.get_subcommands().find(|child| child.get_name() == name.as_ref())
    })
}

fn subcommand<'a>(node: &'a Command, word: &str) -> Option<&'a Command> {
    node.find_subcommand(word).or_else(|| {
        let mut near = node.get_subcommands().filter(|child| crate::flags::names(child, word));
        let only = near.next()?;
        near.next().is_none().then_some(only)
    })
}

fn find<'a>(nodes: &[&'a Command], wanted: impl Fn(&Arg) -> bool) -> Option<&'a Arg> {
    let (node, above) = nodes.split_last()?;
    let inherited = above.iter().rev().flat_map(|node| node.get_arguments());
    node.get_arguments().chain(inherited.filter(|arg| arg.is_global_set())).find(|arg| wanted(arg))
}

fn has_long(arg: &Arg, name: &str) -> bool {
    arg.get_long() == Some(name)
        || arg.get_all_aliases().is_some_and(|aliases| aliases.contains(&name))
}

/// Whether the next word belongs to this flag.
fn takes_value(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Set | ArgAction::Append)
        && arg.get_num_args().is_none_or(|range| range.min_values() > 0)
        && !arg.is_require_equals_set()
}

fn takes_the_rest(node: &Command) -> bool {
    node.is_allow_external_subcommands_set()
        || node
            .get_positionals()
            .any(|arg| arg.is_trailing_var_arg_set() || arg.is_allow_hyphen_values_set())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::Wanted;

    fn program() -> Command {
        let trailing = Arg::new("argv").trailing_var_arg(true).num_args(1..);
        let mut root = Command::new("tool")
            .arg(Arg::new("file").long("file").short('f').global(true))
            .subcommand(Command::new("run").arg(trailing.allow_hyphen_values(true)))
            .subcommand(
                Command::new("task")
                    .subcommand(Command::new("list").alias("ls").arg(Arg::new("x"))),
            );
        let infra = Infra::default();
        infra.equip(&mut root, Wanted::default(), [false; 9]);
        for child in root.get_subcommands_mut() {
            infra.equip(child, Wanted::default(), [false; 9]);
            for below in child.get_subcommands_mut() {
                infra.equip(below, Wanted::default(), [false; 9]);
            }
        }
        root
    }

    fn scanned(line: &str) -> (String, Option<OutputFormat>, bool) {
        let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let scan = scan(&program(), &args, &Infra::default());
        (scan.path.join(" "), scan.output, scan.agent)
    }

    #[test]
    fn commands_are_found_past_options_and_their_values() {
        assert_eq!(scanned("tool -f run task ls").0, "task list");
        assert_eq!(scanned("tool --file task --output=yaml task list 3").0, "task list");
        assert_eq!(scanned("tool task --file=x list --bogus").0, "task list");
    }

    #[test]
    fn the_form_asked_for_is_found_before_and_after_the_mistake() {
        let json = Some(OutputFormat::Json);
        assert_eq!(scanned("tool task list --bogus --output json").1, json);
        assert_eq!(scanned("tool --agent task bogus"), ("task".into(), None, true));
    }

    #[test]
    fn what_belongs_to_another_program_is_not_looked_at() {
        assert_eq!(scanned("tool run x --output json").1, None);
        assert_eq!(scanned("tool run -- --output json").1, None);
    }
}
