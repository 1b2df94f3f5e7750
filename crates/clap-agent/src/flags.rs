//! The flags every program gets, and where they are put.
//!
//! They are real clap arguments, so clap decides what is a flag and what is a value, and nothing
//! after `--` or inside a trailing argument is ever taken. They are put on the commands this very
//! call can reach, not declared global: that would copy each of them into every subcommand of the
//! tree at every start.
//!
//! Where a command has a flag of the same name, the command's own wins and ours is left out there;
//! [`Program::check`](crate::Program::check) tells.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::format::{OutputFormat, Protocol};

/// A flag every program gets.
///
/// ```
/// use clap_agent::{InfraFlag, Program};
///
/// // This program has a `--output FILE` of its own.
/// let program = Program::new(clap::Command::new("convert"))
///     .rename(InfraFlag::Output, "emit")
///     .without(InfraFlag::Jq);
/// # let _ = program;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InfraFlag {
    /// `--agent`: answer in the form for agents.
    Agent,
    /// `--output json|ndjson|yaml|text`.
    Output,
    /// `--protocol-version 0.1|0.2`.
    ProtocolVersion,
    /// `--schema`: print what the command takes and returns.
    Schema,
    /// `--fields a,b.c`: only these fields of the result.
    Fields,
    /// `--jq EXPR`: the result through a filter (feature `jq`).
    Jq,
    /// `--force`: confirm beforehand.
    Force,
    /// `--yes`: confirm beforehand.
    Yes,
    /// `--dry-run`: only the plan.
    DryRun,
}

impl InfraFlag {
    pub(crate) const ALL: [InfraFlag; 9] = [
        InfraFlag::Agent,
        InfraFlag::Output,
        InfraFlag::ProtocolVersion,
        InfraFlag::Schema,
        InfraFlag::Fields,
        InfraFlag::Jq,
        InfraFlag::Force,
        InfraFlag::Yes,
        InfraFlag::DryRun,
    ];

    const fn default_name(self) -> &'static str {
        match self {
            InfraFlag::Agent => "agent",
            InfraFlag::Output => "output",
            InfraFlag::ProtocolVersion => "protocol-version",
            InfraFlag::Schema => "schema",
            InfraFlag::Fields => "fields",
            InfraFlag::Jq => "jq",
            InfraFlag::Force => "force",
            InfraFlag::Yes => "yes",
            InfraFlag::DryRun => "dry-run",
        }
    }

    /// The id under which clap knows it. No field of a derived struct can have it.
    const fn id(self) -> &'static str {
        match self {
            InfraFlag::Agent => "clap-agent.agent",
            InfraFlag::Output => "clap-agent.output",
            InfraFlag::ProtocolVersion => "clap-agent.protocol-version",
            InfraFlag::Schema => "clap-agent.schema",
            InfraFlag::Fields => "clap-agent.fields",
            InfraFlag::Jq => "clap-agent.jq",
            InfraFlag::Force => "clap-agent.force",
            InfraFlag::Yes => "clap-agent.yes",
            InfraFlag::DryRun => "clap-agent.dry-run",
        }
    }
}

/// Whether an argument is one of ours or clap's own: such are left out of every document.
pub(crate) fn is_infra(arg: &Arg) -> bool {
    let id = arg.get_id().as_str();
    id.starts_with("clap-agent.")
        || matches!(
            arg.get_action(),
            ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong | ArgAction::Version
        )
}

/// Whether a command is mounted by us or by clap.
pub(crate) fn is_infra_command(command: &Command) -> bool {
    command.get_name() == "help" || command.get_arguments().any(|arg| arg.get_id() == MOUNTED)
}

/// The id of a hidden argument that marks the commands we mount.
pub(crate) const MOUNTED: &str = "clap-agent.mounted";

/// The names in force; `None` is left out.
#[derive(Clone, Debug)]
pub(crate) struct Infra {
    names: [Option<Cow<'static, str>>; 9],
}

impl Default for Infra {
    fn default() -> Self {
        let mut names = InfraFlag::ALL.map(|flag| Some(Cow::Borrowed(flag.default_name())));
        if cfg!(not(feature = "jq")) {
            names[InfraFlag::Jq as usize] = None;
        }
        Infra { names }
    }
}

/// Which of the flags a command gets beyond those that all get.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) confirmation: bool,
    pub(crate) dry_run: bool,
}

/// For each flag, whether an ancestor has a global flag of its name.
pub(crate) type Taken = [bool; 9];

impl Infra {
    pub(crate) fn rename(&mut self, flag: InfraFlag, name: Cow<'static, str>) {
        self.names[flag as usize] = Some(name);
    }

    pub(crate) fn remove(&mut self, flag: InfraFlag) {
        self.names[flag as usize] = None;
    }

    pub(crate) fn name(&self, flag: InfraFlag) -> Option<&str> {
        self.names[flag as usize].as_deref()
    }

    /// Which flag has this long name.
    pub(crate) fn by_name(&self, long: &str) -> Option<InfraFlag> {
        InfraFlag::ALL.into_iter().find(|flag| self.name(*flag) == Some(long))
    }

    /// Adds the flags to one command, except those whose names it, or a global flag above it,
    /// already has; returns the names taken for the commands below.
    pub(crate) fn equip(&self, command: &mut Command, wanted: Wanted, above: Taken) -> Taken {
        let mut here = above;
        let mut below = above;
        for arg in command.get_arguments() {
            let mut take = |long: &str| {
                if let Some(flag) = self.by_name(long) {
                    here[flag as usize] = true;
                    below[flag as usize] |= arg.is_global_set();
                }
            };
            arg.get_long().into_iter().for_each(&mut take);
            for alias in arg.get_all_aliases().unwrap_or_default() {
                take(alias);
            }
        }
        let args = InfraFlag::ALL.into_iter().filter_map(|flag| {
            let wanted = match flag {
                InfraFlag::Force | InfraFlag::Yes => wanted.confirmation,
                InfraFlag::DryRun => wanted.dry_run,
                _ => true,
            };
            let name = self.names[flag as usize].as_ref()?;
            (wanted && !here[flag as usize]).then(|| arg(flag, name.clone()))
        });
        *command = std::mem::take(command).args(args);
        below
    }
}

fn arg(flag: InfraFlag, name: Cow<'static, str>) -> Arg {
    let arg = match name {
        Cow::Borrowed(name) => Arg::new(flag.id()).long(name),
        // clap takes owned names only with a feature that costs every program; a renamed flag is
        // made once a process.
        Cow::Owned(name) => Arg::new(flag.id()).long(&*name.leak()),
    };
    let switch = |arg: Arg| arg.action(ArgAction::SetTrue).overrides_with(flag.id());
    let value = |arg: Arg, name| arg.value_name(name).overrides_with(flag.id());
    match flag {
        InfraFlag::Agent => switch(arg).help("Answer in the form for agents").hide(true),
        InfraFlag::Output => value(arg, "FORMAT")
            .value_parser(PossibleValuesParser::new(OutputFormat::NAMES))
            .help("Form of the answer")
            .help_heading(HEADING),
        InfraFlag::ProtocolVersion => value(arg, "VERSION")
            .value_parser(PossibleValuesParser::new(Protocol::NAMES))
            .help("Version of the envelope")
            .hide(true),
        InfraFlag::Schema => arg
            .action(ArgAction::SetTrue)
            .value_parser(Asked::Schema)
            .help("Print what this command takes and returns, as JSON")
            .help_heading(HEADING),
        InfraFlag::Fields => value(arg, "NAMES")
            .help("Only these fields of the result, like `id,owner.name`")
            .help_heading(HEADING),
        InfraFlag::Jq => {
            value(arg, "FILTER").help("The result through a jq filter").help_heading(HEADING)
        }
        InfraFlag::Force => switch(arg).help("Do it without asking").hide(true),
        InfraFlag::Yes => switch(arg).help("Do it without asking"),
        InfraFlag::DryRun => switch(arg).help("Only say what would be done"),
    }
}

const HEADING: &str = "Options for agents";

/// What ends the parsing where it stands, like `--help`, so that it works without what the program
/// requires. clap has no action for that; a parser of the flag's value does it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Asked {
    Schema,
    Describe,
    Mcp,
}

const ASKED_SCHEMA: &str = "clap-agent.schema";
const ASKED_DESCRIBE: &str = "clap-agent.describe";
const ASKED_MCP: &str = "clap-agent.mcp";

impl TypedValueParser for Asked {
    type Value = bool;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<bool, clap::Error> {
        let word = value.to_str().unwrap_or_default();
        if *self != Asked::Describe && word != "true" {
            return Ok(false);
        }
        let marker = match self {
            Asked::Schema => ASKED_SCHEMA.to_owned(),
            Asked::Mcp => ASKED_MCP.to_owned(),
            Asked::Describe => {
                let formats = PossibleValuesParser::new(crate::describe::FORMATS);
                formats.parse_ref(command, arg, value)?;
                format!("{ASKED_DESCRIBE}.{word}")
            }
        };
        let mut asked = clap::Error::new(ErrorKind::Format);
        asked.insert(ContextKind::Custom, ContextValue::String(marker));
        Err(asked)
    }
}

/// What was asked for instead of a run of the command.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Instead {
    Schema,
    /// The whole program, in this format.
    Describe(String),
    Mcp,
}

impl Instead {
    /// What this "error" asks for, if it is none.
    pub(crate) fn of(error: &clap::Error) -> Option<Self> {
        let Some(ContextValue::String(marker)) = error.get(ContextKind::Custom) else {
            return None;
        };
        match marker.as_str() {
            ASKED_SCHEMA => Some(Instead::Schema),
            ASKED_MCP => Some(Instead::Mcp),
            other => {
                let format = other.strip_prefix(ASKED_DESCRIBE)?.strip_prefix('.')?;
                Some(Instead::Describe(format.to_owned()))
            }
        }
    }
}

/// `--describe` and `--mcp`, for a program whose words are all its own.
pub(crate) fn describe_flag(name: &'static str) -> Arg {
    Arg::new(ASKED_DESCRIBE)
        .long(name)
        .value_name("FORMAT")
        .value_parser(Asked::Describe)
        .num_args(0..=1)
        .require_equals(true)
        .default_missing_value("json")
        .help("Print the whole program as one document")
        .help_heading(HEADING)
}

pub(crate) fn mcp_flag(name: &'static str) -> Arg {
    Arg::new(ASKED_MCP)
        .long(name)
        .action(ArgAction::SetTrue)
        .value_parser(Asked::Mcp)
        .help("Serve the program as an MCP tool over stdio")
        .help_heading(HEADING)
}

/// What was given, read from the matches of every command on the path; the deepest wins.
#[derive(Clone, Debug, Default)]
pub(crate) struct Given {
    pub(crate) agent: bool,
    pub(crate) output: Option<OutputFormat>,
    pub(crate) protocol: Option<Protocol>,
    pub(crate) fields: Option<String>,
    pub(crate) jq: Option<String>,
    pub(crate) confirmed: bool,
    pub(crate) dry_run: bool,
}

impl Given {
    pub(crate) fn read(&mut self, matches: &ArgMatches) {
        let is_set =
            |flag: InfraFlag| matches!(matches.try_get_one::<bool>(flag.id()), Ok(Some(true)));
        let value = |flag: InfraFlag| {
            let value = matches.try_get_one::<String>(flag.id());
            value.ok().flatten().map(String::as_str)
        };
        self.agent |= is_set(InfraFlag::Agent);
        self.confirmed |= is_set(InfraFlag::Force) || is_set(InfraFlag::Yes);
        self.dry_run |= is_set(InfraFlag::DryRun);
        // clap has checked both words.
        let output = value(InfraFlag::Output).and_then(|word| word.parse().ok());
        self.output = output.or(self.output);
        let protocol = value(InfraFlag::ProtocolVersion).and_then(|word| word.parse().ok());
        self.protocol = protocol.or(self.protocol);
        if let Some(fields) = value(InfraFlag::Fields) {
            self.fields = Some(fields.to_owned());
        }
        if let Some(jq) = value(InfraFlag::Jq) {
            self.jq = Some(jq.to_owned());
        }
    }
}

/// The words of a call that can name commands: everything before `--`, without the program.
#[inline]
pub(crate) fn words<'a>(args: &'a [OsString], command: &Command) -> Vec<&'a str> {
    let skip = usize::from(!command.is_multicall_set() && !command.is_no_binary_name_set());
    args.iter()
        .enumerate()
        .skip(skip)
        .map_while(|(index, arg)| {
            let word = arg.to_str().unwrap_or_default();
            // A multicall program is its own first command.
            let word = if index == 0 { word.rsplit('/').next().unwrap_or(word) } else { word };
            (word != "--").then_some(word)
        })
        .collect()
}

/// Whether a call has nothing to do with the crate's flags and commands: every `--flag` is the
/// program's own at its place, no help is asked for, and the words lead to one of the program's
/// own commands.
///
/// Such a call is parsed as it would be without the crate. A doubt makes it another one, which
/// only costs time.
#[inline]
pub(crate) fn is_plain(words: &[&str], root: &Command) -> bool {
    if root.is_multicall_set() || root.is_no_binary_name_set() {
        return false;
    }
    let has = |node: &Command, name: &str, inherited: bool| {
        let is_it = |arg: &Arg| arg.get_long() == Some(name) && (!inherited || arg.is_global_set());
        node.get_arguments().any(is_it)
    };
    if let ["--version" | "-V"] = words {
        return root.get_version().is_some();
    }
    let mut nodes = [root; 8];
    let mut depth = 0;
    for word in words {
        if let Some(flag) = word.strip_prefix("--") {
            let name = flag.split('=').next().unwrap_or(flag);
            let above = &nodes[..depth];
            let own =
                has(nodes[depth], name, false) || above.iter().any(|node| has(node, name, true));
            if name == "help" || !own {
                return false;
            }
        } else if let Some(short) = word.strip_prefix('-') {
            if short.contains(['h', 'V']) {
                return false;
            }
        } else if let Some(child) = nodes[depth].find_subcommand(word) {
            depth += 1;
            if depth == nodes.len() {
                return false;
            }
            nodes[depth] = child;
        } else if *word == "help" && nodes[depth].has_subcommands() {
            return false;
        }
    }
    let leaf = nodes[depth];
    // Whoever may be shown the help must not be shown the secrets in it. The commands above were
    // given a word, and so show none.
    if leaf.is_arg_required_else_help_set() {
        return false;
    }
    !leaf.has_subcommands() && (depth > 0 || leaf.get_positionals().next().is_some())
}

/// Whether a word can name this command. Prefixes count, since clap may be told to infer; a match
/// too many only equips a command that is not reached.
pub(crate) fn names(command: &Command, word: &str) -> bool {
    let infers = |name: &str| name.starts_with(word);
    if let Some(flag) = word.strip_prefix("--") {
        return command.get_long_flag().is_some_and(|long| long.starts_with(flag))
            || command.get_all_long_flag_aliases().any(|long| long.starts_with(flag));
    }
    if let Some(flags) = word.strip_prefix('-') {
        return command.get_short_flag().is_some_and(|short| flags.contains(short))
            || command.get_all_short_flag_aliases().any(|short| flags.contains(short));
    }
    !word.is_empty() && (infers(command.get_name()) || command.get_all_aliases().any(infers))
}
