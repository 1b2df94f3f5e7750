//! Commands that feed each other.

use super::Command;
use super::exec::{Exec, RunOptions};

/// Several commands, each reading what the one before it prints. No shell is involved.
///
/// ```
/// use legwork::prelude::*;
///
/// let outcome = cmd(["seq", "100"]).pipe(cmd(["grep", "9"])).pipe(cmd(["wc", "-l"])).capture()?;
/// assert_eq!(outcome.stdout_text().trim(), "19");
/// assert_eq!(outcome.pipeline.len(), 3);
/// # Ok::<(), legwork::CommandError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Pipeline {
    pub(crate) stages: Vec<Exec>,
    pub(crate) options: RunOptions,
}

impl Pipeline {
    pub(super) fn new(first: Exec, options: RunOptions) -> Pipeline {
        Pipeline { stages: vec![first], options }
    }

    /// Adds a stage.
    ///
    /// ```
    /// use legwork::cmd;
    /// let pipeline = cmd(["seq", "3"]).pipe(cmd(["cat"])).pipe(cmd(["wc", "-l"]));
    /// assert_eq!(pipeline.capture()?.stdout_text().trim(), "3");
    /// # Ok::<(), legwork::CommandError>(())
    /// ```
    #[must_use]
    pub fn pipe(mut self, next: Command) -> Pipeline {
        self.options.scope.external_denied |= next.options.scope.external_denied;
        self.stages.push(next.into_stage());
        self
    }

    pub(super) fn stages(&self) -> &[Exec] {
        &self.stages
    }
}
