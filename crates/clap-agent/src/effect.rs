//! What running a command does to the world: one scale instead of one boolean.
//!
//! The gate, murli's `mutating`, the MCP annotations and the documents are all derived from it.
//! Effects only rise: a flag can make its command more dangerous, never less.

use serde::Serialize;

/// What a command, or the use of a single flag, does to the world.
///
/// ```
/// use clap_agent::Effect;
///
/// assert!(Effect::Read < Effect::Write && Effect::Write < Effect::Destructive);
/// assert!(!Effect::Read.is_mutating());
/// assert!(Effect::Write.is_mutating());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// Changes nothing.
    #[default]
    Read,
    /// Adds or changes something; nothing is lost.
    Write,
    /// Something may be lost for good.
    Destructive,
}

impl Effect {
    /// murli's `mutating`: `write` and above.
    ///
    /// ```
    /// assert!(clap_agent::Effect::Destructive.is_mutating());
    /// ```
    #[must_use]
    pub const fn is_mutating(self) -> bool {
        !matches!(self, Effect::Read)
    }

    /// The word for it.
    ///
    /// ```
    /// assert_eq!(clap_agent::Effect::Write.name(), "write");
    /// ```
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Effect::Read => "read",
            Effect::Write => "write",
            Effect::Destructive => "destructive",
        }
    }
}

/// Whether a command must be confirmed.
///
/// ```
/// use clap_agent::{Confirm, Notes};
///
/// // Starting a job changes the world, but asking each time would defeat the tool.
/// let start = Notes::write().confirm(Confirm::Never);
/// # let _ = start;
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Confirm {
    /// When its effect reaches the program's gate.
    #[default]
    ByEffect,
    /// Never, whatever its effect.
    Never,
    /// Always, even if it only reads.
    Always,
}
