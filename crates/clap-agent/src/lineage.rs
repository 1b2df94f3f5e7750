//! The notes that hold for a command: its own, and those of the commands above it.
//!
//! What stands on a group holds for everything in it: an effect only rises on the way down, a
//! `confirm` holds until another takes its place, and what is noted on a global flag is true
//! wherever the flag may be given. Whoever asks about one command alone forgets half of that, and
//! the half that is forgotten is a secret or a confirmation.

use clap::{Arg, Command};

use crate::effect::{Confirm, Effect};
use crate::notes::{FlagNotes, Notes};
use crate::program::Settings;
use crate::tree::flag_notes;

/// The notes on a command and on those above it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lineage<'a> {
    own: Option<&'a Notes>,
    /// Nearest first; commands without notes are left out.
    above: Vec<&'a Notes>,
}

impl<'a> Lineage<'a> {
    /// Of the command at a path.
    pub(crate) fn of(settings: &'a Settings, root: &'a Command, path: &[String]) -> Self {
        let mut lineage = Lineage::default().below(settings.notes(&[], root));
        for depth in 1..=path.len() {
            let node = crate::scan::at(root, &path[..depth]);
            lineage = lineage.below(node.and_then(|node| settings.notes(&path[..depth], node)));
        }
        lineage
    }

    /// One command further down.
    #[inline]
    pub(crate) fn below(mut self, notes: Option<&'a Notes>) -> Self {
        if let Some(own) = self.own {
            self.above.insert(0, own);
        }
        self.own = notes;
        self
    }

    /// The command's own notes.
    #[inline]
    pub(crate) fn own(&self) -> Option<&'a Notes> {
        self.own
    }

    #[inline]
    fn all(&self) -> impl Iterator<Item = &'a Notes> {
        self.own.into_iter().chain(self.above.iter().copied())
    }

    /// The worst effect on the way.
    #[inline]
    pub(crate) fn effect(&self) -> Effect {
        self.all().map(|notes| notes.effect).max().unwrap_or_default()
    }

    /// The nearest word on confirmation.
    #[inline]
    pub(crate) fn confirm(&self) -> Confirm {
        let set = self.all().map(|notes| notes.confirm);
        set.into_iter().find(|confirm| *confirm != Confirm::ByEffect).unwrap_or_default()
    }

    /// The notes on a flag or argument that this command takes: by name from its own notes, by
    /// name from where a global one may have been declared, or from its attribute.
    #[inline]
    pub(crate) fn flag(&self, arg: &'a Arg) -> Option<&'a FlagNotes> {
        let above = if arg.is_global_set() { &self.above[..] } else { &[] };
        let mut notes = self.own.into_iter().chain(above.iter().copied());
        notes.find_map(|notes| keyed(arg, notes)).or_else(|| attribute(arg))
    }

    pub(crate) fn is_sensitive(&self, arg: &Arg) -> bool {
        let above = if arg.is_global_set() { &self.above[..] } else { &[] };
        let mut notes = self.own.into_iter().chain(above.iter().copied());
        let found = notes.find_map(|notes| keyed(arg, notes));
        found.or_else(|| attribute(arg)).is_some_and(|own| own.sensitive)
    }
}

/// What a command's flags get from the commands above it, as far as it can be kept while the tree
/// is being changed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Above {
    /// Names of ours that global flags of the program's have taken.
    pub(crate) taken: crate::flags::Taken,
    effect: Effect,
    confirm: Confirm,
    /// The worst effect a global flag can raise a command to.
    raised: Effect,
}

impl Above {
    /// What the commands below this one get, apart from the names.
    pub(crate) fn pass(self, notes: Option<&Notes>, node: &Command) -> Self {
        let global = node.get_arguments().filter(|arg| arg.is_global_set());
        Above {
            taken: self.taken,
            effect: self.effect.max(notes.map_or(Effect::Read, |notes| notes.effect)),
            confirm: self.confirm_of(notes),
            raised: raised(global, notes).max(self.raised),
        }
    }

    /// Whether a call of this command can need a confirmation.
    pub(crate) fn may_ask(self, notes: Option<&Notes>, node: &Command, gate: Effect) -> bool {
        match self.confirm_of(notes) {
            Confirm::Never => false,
            Confirm::Always => true,
            Confirm::ByEffect => {
                let own = notes.map_or(Effect::Read, |notes| notes.effect);
                let above = self.effect.max(self.raised);
                let worst = raised(node.get_arguments(), notes).max(own).max(above);
                worst.is_mutating() && worst >= gate
            }
        }
    }

    fn confirm_of(self, notes: Option<&Notes>) -> Confirm {
        match notes.map(|notes| notes.confirm) {
            None | Some(Confirm::ByEffect) => self.confirm,
            Some(own) => own,
        }
    }
}

fn raised<'a>(args: impl Iterator<Item = &'a Arg>, notes: Option<&Notes>) -> Effect {
    args.filter_map(|arg| Some(flag_notes(arg, notes)?.effect)).max().unwrap_or_default()
}

/// The notes on an argument by its name.
#[inline]
pub(crate) fn keyed<'a>(arg: &Arg, notes: &'a Notes) -> Option<&'a FlagNotes> {
    let named = |key: &str| arg.get_long() == Some(key) || arg.get_id().as_str() == key;
    notes.flags.iter().find(|(key, _)| named(key)).map(|(_, notes)| notes)
}

/// The notes on an argument in its attribute.
#[cfg(feature = "attributes")]
#[inline]
pub(crate) fn attribute(arg: &Arg) -> Option<&FlagNotes> {
    arg.get::<FlagNotes>()
}

#[cfg(not(feature = "attributes"))]
pub(crate) fn attribute(_: &Arg) -> Option<&FlagNotes> {
    None
}
