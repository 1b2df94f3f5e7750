//! What an author wants to be told in a test, before any agent meets it.

use std::fmt;

use clap::Command;

use crate::conventions::{preferred_flag, preferred_verb};
use crate::flags::{InfraFlag, is_infra};
use crate::notes::Notes;
use crate::program::{Program, is_alone};
use crate::scan;
use crate::tree;

/// Something about a program that its author should know.
///
/// ```
/// use clap_agent::{Finding, Program};
///
/// let command = clap::Command::new("convert").arg(clap::Arg::new("to").long("output"));
/// let findings = Program::new(command).check();
/// assert!(matches!(&findings[0], Finding::FlagTaken { flag, .. } if flag == "output"));
/// assert_eq!(
///     findings[0].to_string(),
///     "`convert` has a flag --output of its own, so the one of clap-agent is left out there: \
///      rename it with Program::rename or leave it out with Program::without"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finding {
    /// A command has a flag with the name of one of the crate's, which is left out there.
    FlagTaken {
        /// The command.
        command: String,
        /// The name.
        flag: String,
    },
    /// The program has a command with the name of one the crate would mount.
    CommandTaken {
        /// The name.
        name: String,
    },
    /// The program is one command with positional arguments, so that it is described by a flag
    /// instead of a command.
    DescribedByFlag {
        /// The flag.
        flag: String,
    },
    /// The program is a multicall one: what it is called by is not the crate's to give, so it has
    /// no `describe`.
    NotDescribed,
    /// Notes are keyed by a path that leads to no command.
    NoSuchCommand {
        /// The path.
        path: String,
    },
    /// Notes are on a flag or argument the command does not have.
    NoSuchFlag {
        /// The command.
        command: String,
        /// The name.
        flag: String,
    },
    /// An example does not start with the program's name.
    ForeignExample {
        /// The command.
        command: String,
        /// The example.
        example: String,
    },
    /// A command's name is outside the conventional vocabulary.
    UnusualCommand {
        /// The command.
        command: String,
        /// The word that agents guess first.
        preferred: String,
    },
    /// A flag's name is outside the conventional vocabulary.
    UnusualFlag {
        /// The command.
        command: String,
        /// The flag.
        flag: String,
        /// The word that agents guess first.
        preferred: String,
    },
}

impl Finding {
    /// Whether it is only advice.
    ///
    /// ```
    /// use clap_agent::Program;
    /// let command = clap::Command::new("x").subcommand(clap::Command::new("rm"));
    /// assert!(Program::new(command).check()[0].is_advice());
    /// ```
    #[must_use]
    pub fn is_advice(&self) -> bool {
        matches!(
            self,
            Finding::UnusualCommand { .. }
                | Finding::UnusualFlag { .. }
                | Finding::DescribedByFlag { .. }
                | Finding::NotDescribed
        )
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Finding::FlagTaken { command, flag } => write!(
                f,
                "`{command}` has a flag --{flag} of its own, so the one of clap-agent is left out \
                 there: rename it with Program::rename or leave it out with Program::without"
            ),
            Finding::CommandTaken { name } => write!(
                f,
                "the program has a command '{name}' of its own, so the one of clap-agent is not \
                 mounted: give it another name or leave it out"
            ),
            Finding::DescribedByFlag { flag } => write!(
                f,
                "every word of this program is its own argument, so it is described by --{flag} \
                 instead of a command '{flag}'"
            ),
            Finding::NotDescribed => {
                f.write_str("a multicall program has no describe; its commands have --schema")
            }
            Finding::NoSuchCommand { path } => {
                write!(f, "there are notes on '{path}', but there is no such command")
            }
            Finding::NoSuchFlag { command, flag } => {
                write!(f, "`{command}` has notes on '{flag}', but no such flag or argument")
            }
            Finding::ForeignExample { command, example } => {
                write!(f, "an example of `{command}` does not call the program: '{example}'")
            }
            Finding::UnusualCommand { command, preferred } => {
                write!(f, "`{command}`: agents guess '{preferred}' first")
            }
            Finding::UnusualFlag { command, flag, preferred } => {
                write!(f, "`{command} --{flag}`: agents guess --{preferred} first")
            }
        }
    }
}

impl Program {
    /// Looks for what an author should know: names taken twice, notes on what does not exist,
    /// unusual words. Meant for a test.
    ///
    /// ```
    /// use clap_agent::{Notes, Program};
    /// let program = Program::new(clap::Command::new("x")).at("no such", Notes::read());
    /// assert_eq!(
    ///     program.check()[0].to_string(),
    ///     "there are notes on 'no such', but there is no such command"
    /// );
    /// ```
    #[must_use]
    pub fn check(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for path in self.settings.noted_paths() {
            let names: Vec<&str> = path.split_whitespace().collect();
            if scan::at(&self.command, &names).is_none() {
                findings.push(Finding::NoSuchCommand { path: path.to_owned() });
            }
        }
        for name in [self.settings.describe, self.settings.mcp].into_iter().flatten() {
            if self.command.find_subcommand(name).is_some() {
                findings.push(Finding::CommandTaken { name: name.to_owned() });
            }
        }
        if self.command.is_multicall_set() {
            findings.push(Finding::NotDescribed);
        } else if let Some(flag) = self.settings.describe.filter(|_| is_alone(&self.command)) {
            let taken = self.command.get_arguments().any(|arg| arg.get_long() == Some(flag));
            let flag = flag.to_owned();
            findings.push(if taken {
                Finding::FlagTaken { command: self.command.get_name().to_owned(), flag }
            } else {
                Finding::DescribedByFlag { flag }
            });
        }
        let program = self.command.get_name();
        self.settings.each(&self.command, &mut |path, node, notes| {
            let title = crate::called::title(&self.command, path);
            if let Some(preferred) = path.last().and_then(|name| preferred_verb(name)) {
                findings.push(Finding::UnusualCommand {
                    command: title.clone(),
                    preferred: preferred.to_owned(),
                });
            }
            self.check_flags(node, notes, &title, &mut findings);
            let Some(notes) = notes else { return };
            for (flag, _) in &notes.flags {
                let known = node
                    .get_arguments()
                    .any(|arg| arg.get_long() == Some(flag) || arg.get_id().as_str() == flag);
                if !known {
                    findings.push(Finding::NoSuchFlag {
                        command: title.clone(),
                        flag: flag.to_string(),
                    });
                }
            }
            for example in &notes.examples {
                let first = example.command.split_whitespace().next();
                if first != Some(program) {
                    findings.push(Finding::ForeignExample {
                        command: title.clone(),
                        example: example.command.to_string(),
                    });
                }
            }
        });
        findings
    }

    fn check_flags(
        &self,
        node: &Command,
        notes: Option<&Notes>,
        title: &str,
        findings: &mut Vec<Finding>,
    ) {
        for arg in node.get_arguments().filter(|arg| !is_infra(arg)) {
            let Some(long) = arg.get_long() else { continue };
            if let Some(preferred) = preferred_flag(long) {
                findings.push(Finding::UnusualFlag {
                    command: title.to_owned(),
                    flag: long.to_owned(),
                    preferred: preferred.to_owned(),
                });
            }
            let taken = self.settings.infra.by_name(long);
            // A program's own --force or --yes may be meant to confirm, its own --dry-run to plan.
            let meant = match taken {
                None => true,
                Some(InfraFlag::DryRun) => true,
                Some(InfraFlag::Force | InfraFlag::Yes) => {
                    tree::flag_notes(arg, notes).is_some_and(|own| own.confirms)
                }
                Some(_) => false,
            };
            if !meant {
                findings
                    .push(Finding::FlagTaken { command: title.to_owned(), flag: long.to_owned() });
            }
        }
    }
}
