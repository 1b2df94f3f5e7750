//! Which command was called, with which of the crate's flags, and what follows from it.

use std::io::Write;

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};

use crate::effect::Effect;
use crate::error::AgentError;
use crate::exit::Exit;
use crate::flags::{Given, InfraFlag};
use crate::format::OutputFormat;
use crate::gate::{self, Case, Verdict};
use crate::invocation::Stdin;
use crate::lineage::Lineage;
use crate::mode::{Mode, Surroundings};
use crate::notes::Notes;
use crate::program::Settings;
use crate::select::Selection;
use crate::usage;
use crate::writer::Writer;

/// The called command.
pub(crate) struct Called<'a> {
    pub(crate) root: &'a Command,
    pub(crate) settings: &'a Settings,
    /// Canonical names, without the program's.
    pub(crate) path: Vec<String>,
    pub(crate) node: &'a Command,
    pub(crate) notes: Option<&'a Notes>,
    lineage: Lineage<'a>,
    pub(crate) given: Given,
    /// The command's effect, raised by the flags that were given.
    effect: Effect,
}

impl<'a> Called<'a> {
    /// Reads the matches. In a plain call none of the crate's flags can be among them.
    #[inline]
    pub(crate) fn read(
        root: &'a Command,
        matches: &ArgMatches,
        settings: &'a Settings,
        plain: bool,
    ) -> Self {
        let (mut node, mut matches) = (root, matches);
        let mut path = Vec::new();
        let mut given = Given::default();
        let mut raised = Effect::Read;
        let mut lineage = Lineage::default();
        loop {
            if !plain {
                given.read(matches);
            }
            lineage = lineage.below(settings.notes(&path, node));
            raised = raised.max(read_noted_flags(node, &lineage, matches, &mut given));
            let Some((name, below)) = matches.subcommand() else {
                break;
            };
            // An external subcommand has no node: its words are its own.
            let Some(child) = node.get_subcommands().find(|child| child.get_name() == name) else {
                break;
            };
            path.push(name.to_owned());
            (node, matches) = (child, below);
        }
        Called {
            root,
            settings,
            path,
            node,
            notes: lineage.own(),
            given,
            effect: raised.max(lineage.effect()),
            lineage,
        }
    }

    /// The command as it is typed: `tasks task delete`.
    pub(crate) fn title(&self) -> String {
        title(self.root, &self.path)
    }

    #[inline]
    pub(crate) fn passthrough(&self) -> bool {
        self.notes.is_some_and(|notes| notes.passthrough)
    }

    /// An error of the crate's own on this command, with the number the command chose for them.
    pub(crate) fn own(&self, error: AgentError) -> AgentError {
        own(error, self.notes)
    }

    /// A refusal of clap's that came after parsing.
    pub(crate) fn explain(&self, error: &clap::Error) -> AgentError {
        let is_sensitive = |arg: &clap::Arg| self.lineage.is_sensitive(arg);
        usage::explain(error, self.node, &self.title(), &self.settings.infra, is_sensitive)
    }

    /// The writer for this call, and whether `--fields` and `--jq` make sense. With an error the
    /// writer is good for printing it.
    #[inline]
    pub(crate) fn writer(
        &self,
        stdout: Box<dyn Write + Send>,
        stderr: Box<dyn Write + Send>,
        around: &Surroundings,
    ) -> (Writer, Result<(), AgentError>) {
        let given = &self.given;
        let selects = given.fields.is_some() || given.jq.is_some();
        let asked = given.output;
        // Whoever selects from the structured answer wants to see it.
        let mode = Mode::decide(asked, given.agent || selects, self.passthrough(), around);
        let mut builder = Writer::builder(stdout, stderr)
            .mode(mode)
            .protocol(given.protocol.unwrap_or_default())
            .tool_version(self.root.get_version().unwrap_or_default())
            .terminals(around.stdout_terminal, around.stderr_terminal, around.colour)
            .forced(given.confirmed)
            .dry_run(given.dry_run);
        if let Some(format) = asked {
            builder = builder.format(format);
        }
        if !selects {
            return (builder.build(), Ok(()));
        }
        match self.selection() {
            Ok(selection) => (builder.selection(selection).build(), Ok(())),
            // Selecting does not change who is reading a complaint about it.
            Err(error) => {
                let mode = Mode::decide(asked, given.agent, self.passthrough(), around);
                (builder.mode(mode).build(), Err(error))
            }
        }
    }

    fn selection(&self) -> Result<Selection, AgentError> {
        let given = &self.given;
        if given.output == Some(OutputFormat::Text) {
            let field = if given.jq.is_some() { "jq" } else { "fields" };
            let message = format!("--{field} selects from structured output, not from text");
            return Err(AgentError::new(Exit::UserError, "flag_error", message)
                .with_suggestion(format!("use --output json, or leave out --{field}"))
                .with_field(field));
        }
        let mut selection = Selection::new(given.fields.as_deref(), given.jq.as_deref())?;
        let declared = self.notes.and_then(|notes| notes.returns.as_ref()?.schema);
        if let Some(schema) = declared
            && !given.dry_run
        {
            selection.check_against(&schema())?;
        }
        Ok(selection)
    }

    /// Lets the call through, asks, or refuses.
    #[inline]
    pub(crate) fn pass_gate(
        &self,
        writer: &Writer,
        around: &Surroundings,
        stdin: Stdin,
    ) -> Result<(), AgentError> {
        let nobody_there = self.given.agent || around.agent.is_some();
        let case = Case {
            effect: self.effect,
            confirm: self.lineage.confirm(),
            gate: self.settings.gate,
            confirmed: self.given.confirmed,
            dry_run: self.given.dry_run,
            can_ask: around.stdin_terminal && around.stderr_terminal && !nobody_there,
        };
        match case.verdict() {
            Verdict::Pass => Ok(()),
            Verdict::Ask => gate::ask(&self.title(), self.effect, writer, stdin),
            Verdict::Refuse => Err(gate::refusal(&self.title(), self.effect, &self.confirming())),
        }
    }
}

impl Called<'_> {
    /// The flags that confirm on this command: ours where the program has none of the name, and
    /// those of its own that are meant so.
    fn confirming(&self) -> Vec<String> {
        let args = || self.node.get_arguments().filter(|arg| !crate::flags::is_infra(arg));
        let is_taken = |name: &str| args().any(|arg| arg.get_long() == Some(name));
        let ours = [InfraFlag::Force, InfraFlag::Yes]
            .into_iter()
            .filter_map(|flag| self.settings.infra.name(flag))
            .filter(|name| !is_taken(name));
        let own = args()
            .filter(|arg| self.lineage.flag(arg).is_some_and(|own| own.confirms))
            .filter_map(clap::Arg::get_long);
        own.chain(ours).map(|name| format!("--{name}")).collect()
    }
}

/// What the program's own flags mean to the gate: the effect they raise the command to, whether
/// one of them confirms or plans.
#[inline]
fn read_noted_flags<'a>(
    node: &'a Command,
    lineage: &Lineage<'a>,
    matches: &ArgMatches,
    given: &mut Given,
) -> Effect {
    let mut raised = Effect::Read;
    for arg in node.get_arguments() {
        let own_dry_run = lineage.own().is_some_and(|notes| notes.dry_run)
            && arg.get_long() == Some("dry-run")
            && !crate::flags::is_infra(arg);
        let noted = lineage.flag(arg);
        if noted.is_none() && !own_dry_run {
            continue;
        }
        let source = matches.value_source(arg.get_id().as_str());
        let is_given = matches!(source, Some(ValueSource::CommandLine | ValueSource::EnvVariable));
        let is_on = match arg.get_action() {
            clap::ArgAction::SetTrue => matches.get_flag(arg.get_id().as_str()),
            _ => true,
        };
        if !is_given || !is_on {
            continue;
        }
        if let Some(noted) = noted {
            raised = raised.max(noted.effect);
            given.confirmed |= noted.confirms;
        }
        given.dry_run |= own_dry_run;
    }
    raised
}

/// The command as it is typed.
pub(crate) fn title(root: &Command, path: &[String]) -> String {
    let mut title = root.get_bin_name().unwrap_or(root.get_name()).to_owned();
    for name in path {
        title.push(' ');
        title.push_str(name);
    }
    title
}

pub(crate) fn own(error: AgentError, notes: Option<&Notes>) -> AgentError {
    match notes.and_then(|notes| notes.error_exit) {
        Some(exit) => error.with_exit(exit),
        None => error,
    }
}

/// Whether an argument's value must not be shown, where it is declared.
pub(crate) fn is_sensitive(arg: &clap::Arg, notes: Option<&Notes>) -> bool {
    crate::tree::flag_notes(arg, notes).is_some_and(|own| own.sensitive)
}
