//! What clap cannot know about a command: when to use it, what it does to the world, what it
//! returns, examples.
//!
//! Notes stand beside the clap definition, either as an attribute
//! (`#[command(add = Notes::destructive())]`, feature `attributes`) or in the builder, keyed by the
//! full command path ([`Program::at`](crate::Program::at)), so that `task list` and `label list`
//! never share one. They are made on every start of the program, so they hold borrowed text and
//! functions: a schema is computed only when somebody asks for it.

use std::borrow::Cow;

use serde_json::Value;

use crate::effect::{Confirm, Effect};
use crate::exit::Exit;

type Text = Cow<'static, str>;

/// Notes on one command. On a group, its effect and its `confirm` hold for every command in it: an
/// effect only rises on the way down, a `confirm` holds until another takes its place. Notes on a
/// global flag hold wherever the flag may be given.
///
/// ```
/// use clap_agent::{Example, Exit, Notes};
///
/// let notes = Notes::destructive()
///     .when_to_use("a task was created by mistake; to finish one use `task update --done`")
///     .idempotent()
///     .dry_run()
///     .example(Example::new("tasks task delete 1 --yes").says("delete without being asked"))
///     .example(Example::new("tasks task delete 99 --yes").exits(Exit::NotFound));
/// # let _ = notes;
/// ```
#[derive(Clone, Debug, Default)]
pub struct Notes {
    pub(crate) when_to_use: Text,
    pub(crate) agent_description: Text,
    pub(crate) effect: Effect,
    pub(crate) idempotent: bool,
    pub(crate) confirm: Confirm,
    pub(crate) dry_run: bool,
    pub(crate) streaming: bool,
    pub(crate) passthrough: bool,
    pub(crate) error_exit: Option<Exit>,
    pub(crate) hide_from_mcp: bool,
    pub(crate) returns: Option<Returns>,
    pub(crate) examples: Vec<Example>,
    pub(crate) flags: Vec<(Text, FlagNotes)>,
}

impl Notes {
    /// Notes on a command that changes nothing.
    ///
    /// ```
    /// let notes = clap_agent::Notes::read().when_to_use("to see what there is");
    /// # let _ = notes;
    /// ```
    #[must_use]
    pub fn read() -> Self {
        Self::default()
    }

    /// Notes on a command that adds or changes something.
    ///
    /// ```
    /// let notes = clap_agent::Notes::write().idempotent();
    /// # let _ = notes;
    /// ```
    #[must_use]
    pub fn write() -> Self {
        Notes { effect: Effect::Write, ..Self::default() }
    }

    /// Notes on a command through which something may be lost for good.
    ///
    /// ```
    /// let notes = clap_agent::Notes::destructive().dry_run();
    /// # let _ = notes;
    /// ```
    #[must_use]
    pub fn destructive() -> Self {
        Notes { effect: Effect::Destructive, ..Self::default() }
    }

    /// When an agent should choose this command, and when another.
    ///
    /// ```
    /// let notes = clap_agent::Notes::read().when_to_use("before creating, to avoid duplicates");
    /// # let _ = notes;
    /// ```
    #[must_use]
    pub fn when_to_use(mut self, text: impl Into<Text>) -> Self {
        self.when_to_use = text.into();
        self
    }

    /// The scope of the command in more words than its help.
    ///
    /// ```
    /// let notes = clap_agent::Notes::read().agent_description("Reads the file, never the network.");
    /// # let _ = notes;
    /// ```
    #[must_use]
    pub fn agent_description(mut self, text: impl Into<Text>) -> Self {
        self.agent_description = text.into();
        self
    }

    /// It is safe to run again after a failure.
    ///
    /// ```
    /// let notes = clap_agent::Notes::write().idempotent();
    /// # let _ = notes;
    /// ```
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.idempotent = true;
        self
    }

    /// Overrides the gate for this command without touching its effect.
    ///
    /// ```
    /// use clap_agent::{Confirm, Notes};
    /// let notes = Notes::write().confirm(Confirm::Never);
    /// # let _ = notes;
    /// ```
    #[must_use]
    pub fn confirm(mut self, confirm: Confirm) -> Self {
        self.confirm = confirm;
        self
    }

    /// The command can plan: it gets `--dry-run`, asks [`Writer::is_dry_run`](crate::Writer::is_dry_run)
    /// and answers with [`Writer::plan`](crate::Writer::plan).
    ///
    /// ```
    /// let notes = clap_agent::Notes::destructive().dry_run();
    /// # let _ = notes;
    /// ```
    #[must_use]
    pub fn dry_run(mut self) -> Self {
        self.dry_run = true;
        self
    }

    /// The command emits events while it runs.
    ///
    /// ```
    /// let notes = clap_agent::Notes::read().streaming();
    /// # let _ = notes;
    /// ```
    #[must_use]
    pub fn streaming(mut self) -> Self {
        self.streaming = true;
        self
    }

    /// The command's stdout belongs to another program whose output it passes through: a pipe
    /// alone does not switch it into agent mode, signals are left to the command, and it may end
    /// with [`Exit::Other`].
    ///
    /// ```
    /// use clap_agent::{Exit, Notes};
    /// let run = Notes::read().passthrough().errors_exit(Exit::Other(125));
    /// # let _ = run;
    /// ```
    #[must_use]
    pub fn passthrough(mut self) -> Self {
        self.passthrough = true;
        self
    }

    /// The number of every error the crate itself raises on this command (usage, gate), so that
    /// it cannot be taken for a number of the program that is passed through.
    ///
    /// ```
    /// let run = clap_agent::Notes::read().errors_exit(clap_agent::Exit::Other(125));
    /// # let _ = run;
    /// ```
    #[must_use]
    pub fn errors_exit(mut self, exit: Exit) -> Self {
        self.error_exit = Some(exit);
        self
    }

    /// Not served as an MCP tool: interactive commands, servers.
    ///
    /// ```
    /// let attach = clap_agent::Notes::read().hide_from_mcp();
    /// # let _ = attach;
    /// ```
    #[must_use]
    pub fn hide_from_mcp(mut self) -> Self {
        self.hide_from_mcp = true;
        self
    }

    /// What a successful run returns.
    ///
    /// ```
    /// use clap_agent::{Notes, Returns};
    /// let notes = Notes::read().returns(Returns::new("array", "the tasks, oldest first"));
    /// # let _ = notes;
    /// ```
    #[must_use]
    pub fn returns(mut self, returns: Returns) -> Self {
        self.returns = Some(returns);
        self
    }

    /// Adds an example; the [example runner](crate::testing) executes it.
    ///
    /// ```
    /// use clap_agent::{Example, Notes};
    /// let notes = Notes::read().example(Example::new("tasks task list"));
    /// # let _ = notes;
    /// ```
    #[must_use]
    pub fn example(mut self, example: Example) -> Self {
        self.examples.push(example);
        self
    }

    /// Notes on one of the command's flags or arguments, by the name `--schema` shows.
    ///
    /// ```
    /// use clap_agent::{FlagNotes, Notes};
    /// let notes = Notes::read().flag("token", FlagNotes::sensitive());
    /// # let _ = notes;
    /// ```
    #[must_use]
    pub fn flag(mut self, name: impl Into<Text>, notes: FlagNotes) -> Self {
        self.flags.push((name.into(), notes));
        self
    }
}

#[cfg(feature = "attributes")]
impl clap::builder::CommandExt for Notes {}

/// Notes on one flag or argument.
///
/// ```
/// use clap_agent::{Effect, FlagNotes};
///
/// let token = FlagNotes::sensitive();
/// let purge = FlagNotes::new().raises(Effect::Destructive);
/// let id = FlagNotes::new().pattern("^[0-9]+$");
/// # let _ = (token, purge, id);
/// ```
#[derive(Clone, Debug, Default)]
pub struct FlagNotes {
    pub(crate) sensitive: bool,
    pub(crate) pattern: Text,
    pub(crate) effect: Effect,
    pub(crate) confirms: bool,
}

impl FlagNotes {
    /// Empty notes, to build on.
    ///
    /// ```
    /// let notes = clap_agent::FlagNotes::new();
    /// # let _ = notes;
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The value is a secret: neither its default nor its environment value appears in a schema,
    /// in help or in an error.
    ///
    /// ```
    /// let notes = clap_agent::FlagNotes::sensitive();
    /// # let _ = notes;
    /// ```
    #[must_use]
    pub fn sensitive() -> Self {
        FlagNotes { sensitive: true, ..Self::default() }
    }

    /// A regular expression the value must match. It is documentation: clap's `value_parser`
    /// enforces.
    ///
    /// ```
    /// let notes = clap_agent::FlagNotes::new().pattern("^[a-z-]+$");
    /// # let _ = notes;
    /// ```
    #[must_use]
    pub fn pattern(mut self, pattern: impl Into<Text>) -> Self {
        self.pattern = pattern.into();
        self
    }

    /// Giving this flag raises the command's effect, for example `--purge` on a `write` command.
    ///
    /// ```
    /// use clap_agent::{Effect, FlagNotes};
    /// let purge = FlagNotes::new().raises(Effect::Destructive);
    /// # let _ = purge;
    /// ```
    #[must_use]
    pub fn raises(mut self, effect: Effect) -> Self {
        self.effect = effect;
        self
    }

    /// This flag, the program's own, opens the gate like `--yes`. Without it a program's own
    /// `--force` does what the program says and confirms nothing.
    ///
    /// ```
    /// let force = clap_agent::FlagNotes::new().confirms();
    /// # let _ = force;
    /// ```
    #[must_use]
    pub fn confirms(mut self) -> Self {
        self.confirms = true;
        self
    }
}

#[cfg(feature = "attributes")]
impl clap::builder::ArgExt for FlagNotes {}

/// What a successful run returns.
///
/// ```
/// use clap_agent::Returns;
///
/// let list = Returns::new("array", "the tasks").shape([("id", "integer"), ("title", "string")]);
/// let raw = Returns::new("object", "a report").schema(|| serde_json::json!({"type": "object"}));
/// # let _ = (list, raw);
/// ```
#[derive(Clone, Debug)]
pub struct Returns {
    pub(crate) kind: Option<Text>,
    pub(crate) description: Text,
    pub(crate) shape: Vec<(Text, Text)>,
    pub(crate) schema: Option<fn() -> Value>,
}

impl Returns {
    /// Type and description in words.
    ///
    /// ```
    /// let returns = clap_agent::Returns::new("string", "the new id");
    /// # let _ = returns;
    /// ```
    #[must_use]
    pub fn new(kind: impl Into<Text>, description: impl Into<Text>) -> Self {
        Returns {
            kind: Some(kind.into()),
            description: description.into(),
            shape: Vec::new(),
            schema: None,
        }
    }

    /// Everything from the Rust type, computed when somebody asks.
    ///
    /// ```
    /// #[derive(schemars::JsonSchema)]
    /// struct Task { id: u32, title: String }
    ///
    /// let returns = clap_agent::Returns::of::<Vec<Task>>("the tasks, oldest first");
    /// # let _ = returns;
    /// ```
    #[cfg(feature = "schemars")]
    #[must_use]
    pub fn of<T: schemars::JsonSchema>(description: impl Into<Text>) -> Self {
        Returns {
            kind: None,
            description: description.into(),
            shape: Vec::new(),
            schema: Some(|| {
                schemars::generate::SchemaSettings::draft2020_12()
                    .for_serialize()
                    .into_generator()
                    .into_root_schema_for::<T>()
                    .to_value()
            }),
        }
    }

    /// A rough shape: field and type, in murli's words.
    ///
    /// ```
    /// let returns = clap_agent::Returns::new("object", "a task").shape([("id", "integer")]);
    /// # let _ = returns;
    /// ```
    #[must_use]
    pub fn shape<N: Into<Text>, T: Into<Text>>(
        mut self,
        fields: impl IntoIterator<Item = (N, T)>,
    ) -> Self {
        self.shape = fields.into_iter().map(|(name, kind)| (name.into(), kind.into())).collect();
        self
    }

    /// A raw JSON Schema (draft 2020-12).
    ///
    /// ```
    /// let returns = clap_agent::Returns::new("object", "anything")
    ///     .schema(|| serde_json::json!({"type": "object"}));
    /// # let _ = returns;
    /// ```
    #[must_use]
    pub fn schema(mut self, schema: fn() -> Value) -> Self {
        self.schema = Some(schema);
        self
    }
}

/// A complete invocation that an agent can copy.
///
/// ```
/// use clap_agent::{Example, Exit};
///
/// let example = Example::new("tasks task get 99")
///     .says("an id that does not exist")
///     .exits(Exit::NotFound);
/// # let _ = example;
/// ```
#[derive(Clone, Debug)]
pub struct Example {
    pub(crate) command: Text,
    pub(crate) description: Text,
    pub(crate) exit: Exit,
}

impl Example {
    /// A shell line that starts with the program's name.
    ///
    /// ```
    /// let example = clap_agent::Example::new("tasks task list --output ndjson");
    /// # let _ = example;
    /// ```
    #[must_use]
    pub fn new(command: impl Into<Text>) -> Self {
        Example { command: command.into(), description: Text::default(), exit: Exit::Ok }
    }

    /// What it shows.
    ///
    /// ```
    /// let example = clap_agent::Example::new("tasks task list").says("everything");
    /// # let _ = example;
    /// ```
    #[must_use]
    pub fn says(mut self, description: impl Into<Text>) -> Self {
        self.description = description.into();
        self
    }

    /// How it is expected to end, if not with 0.
    ///
    /// ```
    /// use clap_agent::{Example, Exit};
    /// let example = Example::new("tasks task get 99").exits(Exit::NotFound);
    /// # let _ = example;
    /// ```
    #[must_use]
    pub fn exits(mut self, exit: Exit) -> Self {
        self.exit = exit;
        self
    }
}
