//! Nothing is changed unasked.
//!
//! A command whose effect reaches the gate runs only if its caller confirmed beforehand, or a
//! person confirms now. How the answer is to be printed plays no part: no output option opens the
//! gate.

use crate::effect::{Confirm, Effect};
use crate::error::AgentError;
use crate::exit::Exit;
use crate::invocation::Stdin;
use crate::writer::Writer;

/// Everything the decision depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) effect: Effect,
    pub(crate) confirm: Confirm,
    /// Where the program set its gate.
    pub(crate) gate: Effect,
    pub(crate) confirmed: bool,
    pub(crate) dry_run: bool,
    /// Somebody is there to be asked: stdin and stderr are terminals, and no agent sits at them.
    pub(crate) can_ask: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Pass,
    Ask,
    Refuse,
}

impl Case {
    #[inline]
    pub(crate) fn verdict(self) -> Verdict {
        let guarded = match self.confirm {
            Confirm::Never => false,
            Confirm::Always => true,
            Confirm::ByEffect => self.effect.is_mutating() && self.effect >= self.gate,
        };
        if !guarded || self.confirmed || self.dry_run {
            Verdict::Pass
        } else if self.can_ask {
            Verdict::Ask
        } else {
            Verdict::Refuse
        }
    }
}

/// The refusal, with the way around it: the flags that confirm.
pub(crate) fn refusal(command: &str, effect: Effect, flags: &[String]) -> AgentError {
    let suggestion = if flags.is_empty() {
        "run it in a terminal to be asked".to_owned()
    } else {
        format!("pass {} to confirm, or run it in a terminal to be asked", flags.join(" or "))
    };
    AgentError::new(
        Exit::UserError,
        "confirmation_required",
        format!("`{command}` {} and needs confirmation", does(effect)),
    )
    .with_suggestion(suggestion)
}

/// What an effect does, in words that end a sentence.
pub(crate) fn does(effect: Effect) -> &'static str {
    match effect {
        Effect::Read => "asks to be confirmed",
        Effect::Write => "changes state",
        Effect::Destructive => "may destroy something for good",
    }
}

/// Asks on stderr, reads one line.
pub(crate) fn ask(
    command: &str,
    effect: Effect,
    writer: &Writer,
    stdin: Stdin,
) -> Result<(), AgentError> {
    writer.ask(&format!("`{command}` {}. Go on? [y/N] ", does(effect)));
    let line = stdin.line();
    if !line.ends_with('\n') {
        // Ctrl-D ends no line.
        writer.ask("\n");
    }
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(AgentError::cancelled("not confirmed; nothing was changed")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CASE: Case = Case {
        effect: Effect::Write,
        confirm: Confirm::ByEffect,
        gate: Effect::Write,
        confirmed: false,
        dry_run: false,
        can_ask: false,
    };

    #[test]
    fn the_gate_stands_where_the_program_put_it() {
        let at = |effect, gate| Case { effect, gate, ..CASE }.verdict();
        assert_eq!(at(Effect::Read, Effect::Write), Verdict::Pass);
        assert_eq!(at(Effect::Write, Effect::Write), Verdict::Refuse);
        assert_eq!(at(Effect::Write, Effect::Destructive), Verdict::Pass);
        assert_eq!(at(Effect::Destructive, Effect::Destructive), Verdict::Refuse);
        // A gate set at `read` does not make reading ask; `Confirm::Always` does.
        assert_eq!(at(Effect::Read, Effect::Read), Verdict::Pass);
    }

    #[test]
    fn confirm_overrides_the_effect() {
        let never = Case { confirm: Confirm::Never, effect: Effect::Destructive, ..CASE };
        assert_eq!(never.verdict(), Verdict::Pass);
        let always = Case { confirm: Confirm::Always, effect: Effect::Read, ..CASE };
        assert_eq!(always.verdict(), Verdict::Refuse);
        assert_eq!(Case { can_ask: true, ..always }.verdict(), Verdict::Ask);
    }

    #[test]
    fn a_confirmation_or_a_plan_passes() {
        assert_eq!(Case { confirmed: true, ..CASE }.verdict(), Verdict::Pass);
        assert_eq!(Case { dry_run: true, ..CASE }.verdict(), Verdict::Pass);
        assert_eq!(Case { can_ask: true, ..CASE }.verdict(), Verdict::Ask);
    }
}
