//! A clap program with its annotations: everything the rest of the crate works on.

use std::borrow::Cow;
use std::collections::BTreeMap;

use clap::Command;

use crate::called::is_sensitive;
use crate::effect::Effect;
use crate::flags::{Infra, InfraFlag, MOUNTED, Wanted};
use crate::format::{OutputFormat, Protocol, SCHEMA_VERSION};
use crate::lineage::Above;
use crate::notes::Notes;
use crate::schema::{Capabilities, CommandSchema, Conventions, DescribeOutput};
use crate::tree;

/// A clap program with its annotations.
///
/// [`run`](crate::run) makes one and runs it. Make it yourself where something is to be set, or
/// where the program is built without derive:
///
/// ```no_run
/// use std::process::ExitCode;
/// use clap::{Arg, Command};
/// use clap_agent::{AgentError, Notes, Program};
///
/// fn main() -> ExitCode {
///     let command = Command::new("tasks")
///         .subcommand(Command::new("delete").arg(Arg::new("id").required(true)));
///     Program::new(command)
///         .at("delete", Notes::destructive())
///         .run_matches(|matches, out| {
///             let (_, delete) = matches.subcommand().expect("a subcommand");
///             let id: &String = delete.get_one("id").expect("required");
///             out.success(format!("deleted {id}"), &serde_json::json!({"id": id}))
///         })
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) command: Command,
    pub(crate) settings: Settings,
}

/// What the author set.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    notes: BTreeMap<String, Notes>,
    pub(crate) gate: Effect,
    pub(crate) infra: Infra,
    pub(crate) describe: Option<&'static str>,
    pub(crate) mcp: Option<&'static str>,
    pub(crate) signals: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            notes: BTreeMap::new(),
            gate: Effect::Write,
            infra: Infra::default(),
            describe: Some("describe"),
            mcp: cfg!(feature = "mcp").then_some("mcp"),
            signals: true,
        }
    }
}

impl Program {
    /// A program of the builder kind.
    ///
    /// ```
    /// let program = clap_agent::Program::new(clap::Command::new("greet"));
    /// # let _ = program;
    /// ```
    #[must_use]
    pub fn new(command: Command) -> Self {
        Program { command, settings: Settings::default() }
    }

    /// A program of the derive kind.
    ///
    /// ```
    /// #[derive(clap::Parser)]
    /// struct Cli { name: String }
    ///
    /// let program = clap_agent::Program::of::<Cli>();
    /// # let _ = program;
    /// ```
    #[must_use]
    pub fn of<C: clap::CommandFactory>() -> Self {
        Self::new(C::command())
    }

    /// Notes on the command at a path (`"task delete"`; the program itself is `""`). They stand
    /// instead of those in its attribute.
    ///
    /// ```
    /// use clap_agent::{Notes, Program};
    /// let command = clap::Command::new("tasks").subcommand(clap::Command::new("clear"));
    /// let program = Program::new(command).at("clear", Notes::destructive());
    /// assert!(program.schema(&["clear"]).unwrap().mutating);
    /// ```
    #[must_use]
    pub fn at(mut self, path: impl Into<String>, notes: Notes) -> Self {
        let path = path.into();
        let path = path.split_whitespace().collect::<Vec<_>>().join(" ");
        self.settings.notes.insert(path, notes);
        self
    }

    /// Where the gate stands: at [`Effect::Write`] unless set.
    ///
    /// ```
    /// use clap_agent::{Effect, Program};
    /// let program = Program::new(clap::Command::new("x")).gate(Effect::Destructive);
    /// # let _ = program;
    /// ```
    #[must_use]
    pub fn gate(mut self, effect: Effect) -> Self {
        self.settings.gate = effect;
        self
    }

    /// Gives one of the crate's flags another name.
    ///
    /// ```
    /// use clap_agent::{InfraFlag, Program};
    /// let program = Program::new(clap::Command::new("x")).rename(InfraFlag::Output, "emit");
    /// # let _ = program;
    /// ```
    #[must_use]
    pub fn rename(mut self, flag: InfraFlag, name: impl Into<Cow<'static, str>>) -> Self {
        self.settings.infra.rename(flag, name.into());
        self
    }

    /// Leaves out one of the crate's flags.
    ///
    /// ```
    /// use clap_agent::{InfraFlag, Program};
    /// let program = Program::new(clap::Command::new("x")).without(InfraFlag::Force);
    /// # let _ = program;
    /// ```
    #[must_use]
    pub fn without(mut self, flag: InfraFlag) -> Self {
        self.settings.infra.remove(flag);
        self
    }

    /// The name of the `describe` command, or `None` for none. It is mounted unless the program
    /// has a command of that name. A program that is one command with positional arguments gets a
    /// flag instead (`greet describe` must go on greeting; `greet --describe` describes, and
    /// `greet --describe=markdown` in another format). Neither needs what the program requires.
    ///
    /// ```
    /// use clap_agent::Program;
    /// let program = Program::new(clap::Command::new("x")).describe_as(Some("explain"));
    /// # let _ = program;
    /// ```
    #[must_use]
    pub fn describe_as(mut self, name: Option<&'static str>) -> Self {
        self.settings.describe = name;
        self
    }

    /// The name of the `mcp` command, or `None` for none (feature `mcp`). As with `describe`, a
    /// program that is one command with positional arguments gets a flag of that name instead.
    ///
    /// ```
    /// use clap_agent::Program;
    /// let program = Program::new(clap::Command::new("x")).mcp_as(None);
    /// # let _ = program;
    /// ```
    #[must_use]
    pub fn mcp_as(mut self, name: Option<&'static str>) -> Self {
        self.settings.mcp = name.filter(|_| cfg!(feature = "mcp"));
        self
    }

    /// Leaves SIGINT and SIGTERM alone, for a program that handles them itself.
    ///
    /// ```
    /// use clap_agent::Program;
    /// let program = Program::new(clap::Command::new("x")).leave_signals();
    /// # let _ = program;
    /// ```
    #[must_use]
    pub fn leave_signals(mut self) -> Self {
        self.settings.signals = false;
        self
    }

    /// What `--schema` prints for the command at a path.
    ///
    /// ```
    /// use clap_agent::Program;
    /// let command = clap::Command::new("tasks").subcommand(clap::Command::new("list"));
    /// let program = Program::new(command);
    /// assert_eq!(program.schema(&["list"]).unwrap().name, "list");
    /// assert!(program.schema(&["nothing"]).is_none());
    /// ```
    #[must_use]
    pub fn schema(&self, path: &[&str]) -> Option<CommandSchema> {
        let path: Vec<String> = path.iter().map(|name| (*name).to_owned()).collect();
        tree::command_schema(&self.command, &path, &self.settings)
    }

    /// What `describe` prints.
    ///
    /// ```
    /// use clap_agent::Program;
    /// let command = clap::Command::new("tasks").subcommand(clap::Command::new("list"));
    /// assert_eq!(Program::new(command).describe().commands[0].name, "list");
    /// ```
    #[must_use]
    pub fn describe(&self) -> DescribeOutput {
        self.settings.describe(&self.command, Protocol::default())
    }
}

/// Sees a command's path, the command and the notes on it.
type Visit<'v, 'a> = dyn FnMut(&[String], &'a Command, Option<&'a Notes>) + 'v;

impl Settings {
    /// The notes on a command: those keyed by its path, else those in its attribute.
    #[inline]
    pub(crate) fn notes<'a>(&'a self, path: &[String], command: &'a Command) -> Option<&'a Notes> {
        if !self.notes.is_empty()
            && let Some(notes) = self.notes.get(&path.join(" "))
        {
            return Some(notes);
        }
        attribute(command)
    }

    /// The paths the author put notes on.
    pub(crate) fn noted_paths(&self) -> impl Iterator<Item = &str> {
        self.notes.keys().map(String::as_str)
    }

    pub(crate) fn describe(&self, root: &Command, protocol: Protocol) -> DescribeOutput {
        let tool_version = root.get_version().unwrap_or_default().to_owned();
        let mut streaming = false;
        let mut dry_run = false;
        self.each(root, &mut |_, _, notes| {
            streaming |= notes.is_some_and(|notes| notes.streaming);
            dry_run |= notes.is_some_and(|notes| notes.dry_run);
        });
        let commands = tree::commands(root, self);
        // A global one is told with every command that takes it.
        let flags = if commands.is_empty() { Vec::new() } else { tree::root_flags(root, self) };
        let alone = commands.is_empty().then(|| tree::command_schema(root, &[], self));
        DescribeOutput {
            name: root.get_name().to_owned(),
            summary: tree::summary(root),
            schema_version: SCHEMA_VERSION.to_owned(),
            tool_version: tool_version.clone(),
            capabilities: Capabilities {
                streaming,
                dry_run,
                output_formats: OutputFormat::NAMES.map(str::to_owned).to_vec(),
                schema_version: SCHEMA_VERSION.to_owned(),
                tool_version,
                protocol_version: protocol.name().to_owned(),
            },
            conventions: Conventions::default(),
            command: alone.flatten().map(Box::new),
            flags,
            commands,
        }
    }

    /// Visits every command that is not ours, parents first.
    pub(crate) fn each<'a>(&'a self, root: &'a Command, visit: &mut Visit<'_, 'a>) {
        fn walk<'a>(
            settings: &'a Settings,
            node: &'a Command,
            path: &mut Vec<String>,
            visit: &mut Visit<'_, 'a>,
        ) {
            visit(path, node, settings.notes(path, node));
            for child in node.get_subcommands() {
                if crate::flags::is_infra_command(child) {
                    continue;
                }
                path.push(child.get_name().to_owned());
                walk(settings, child, path, visit);
                path.pop();
            }
        }
        walk(self, root, &mut Vec::new(), visit);
    }

    /// Adds the crate's commands, and its flags on every command these words can reach.
    pub(crate) fn furnish(&self, root: Command, words: &[&str]) -> Command {
        let mut root = self.mount(root, words);
        self.equip_below(&mut root, &mut Vec::new(), words, Above::default());
        root
    }

    /// Adds `describe` and `mcp`; their own flags only if the call may mean them.
    fn mount(&self, root: Command, words: &[&str]) -> Command {
        let mut root = root;
        if root.is_multicall_set() {
            // Its first word is the name it was called by; that one is not ours to give.
            return root;
        }
        let taken = |root: &Command, name: &str| root.find_subcommand(name).is_some();
        if is_alone(&root) {
            let has = |root: &Command, name: &str| {
                root.get_arguments().any(|arg| arg.get_long() == Some(name))
            };
            if let Some(name) = self.describe.filter(|name| !has(&root, name)) {
                root = root.arg(crate::flags::describe_flag(name));
            }
            if let Some(name) = self.mcp.filter(|name| !has(&root, name)) {
                root = root.arg(crate::flags::mcp_flag(name));
            }
            return root;
        }
        for (name, make) in [
            (self.describe, crate::describe::command as fn(bool) -> Command),
            (self.mcp, mcp_command),
        ] {
            if let Some(name) = name
                && !taken(&root, name)
            {
                let mounted = make(words.contains(&name));
                let marker = clap::Arg::new(MOUNTED).hide(true).long(MOUNTED);
                root = root.subcommand(mounted.name(name).arg(marker));
            }
        }
        root
    }

    fn equip_below(
        &self,
        node: &mut Command,
        path: &mut Vec<String>,
        words: &[&str],
        above: Above,
    ) {
        let below = self.equip_one(node, path, above);
        for child in node.get_subcommands_mut() {
            let named = words.iter().position(|word| crate::flags::names(child, word));
            if let Some(position) = named {
                path.push(child.get_name().to_owned());
                self.equip_below(child, path, &words[position + 1..], below);
                path.pop();
            }
        }
    }

    /// Puts the crate's flags on one command; returns what holds for those below.
    pub(crate) fn equip_one(&self, node: &mut Command, path: &[String], above: Above) -> Above {
        if node.is_multicall_set() {
            // It takes no arguments of its own.
            return self.pass_down(node, path, above);
        }
        let notes = self.notes(path, node);
        let wanted = Wanted {
            confirmation: above.may_ask(notes, node, self.gate),
            dry_run: notes.is_some_and(|notes| notes.dry_run),
        };
        let mut below = self.pass_down(node, path, above);
        // Once here: clap copies a global flag to the commands below as it is then.
        for id in secrets(node, notes) {
            *node = std::mem::take(node)
                .mut_arg(id, |arg| arg.hide_env_values(true).hide_default_value(true));
        }
        below.taken = self.infra.equip(node, wanted, above.taken);
        below
    }

    /// What holds below a command that has the crate's flags already.
    pub(crate) fn pass_down(&self, node: &Command, path: &[String], above: Above) -> Above {
        above.pass(self.notes(path, node), node)
    }
}

/// Whether a program is one command that takes words: a command of ours would take one of them.
pub(crate) fn is_alone(root: &Command) -> bool {
    root.get_positionals().next().is_some() && root.get_subcommands().next().is_none()
}

/// Arguments whose values must not be shown.
pub(crate) fn secrets(node: &Command, notes: Option<&Notes>) -> Vec<clap::Id> {
    node.get_arguments()
        .filter(|arg| is_sensitive(arg, notes))
        .map(|arg| arg.get_id().clone())
        .collect()
}

#[cfg(feature = "attributes")]
#[inline]
fn attribute(command: &Command) -> Option<&Notes> {
    command.get::<Notes>()
}

#[cfg(not(feature = "attributes"))]
fn attribute(_: &Command) -> Option<&Notes> {
    None
}

fn mcp_command(_: bool) -> Command {
    Command::new("mcp").about("Serve the commands as MCP tools over stdio")
}
