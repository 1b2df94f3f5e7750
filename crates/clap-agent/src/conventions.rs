//! The vocabulary that agents guess first, and the synonyms that make them guess again.
//!
//! Advice, never an error: a program may have good reasons for `add`.

use std::collections::BTreeMap;
use std::io::Write;

use crate::schema::Conventions;

/// Synonym and the word preferred over it.
const VERBS: [(&str, &str); 14] = [
    ("fetch", "get"),
    ("info", "get"),
    ("retrieve", "get"),
    ("show-all", "list"),
    ("ls", "list"),
    ("enumerate", "list"),
    ("add", "create"),
    ("new", "create"),
    ("make", "create"),
    ("edit", "update"),
    ("modify", "update"),
    ("set", "update"),
    ("remove", "delete"),
    ("rm", "delete"),
];

const FLAGS: [(&str, &str); 8] = [
    ("skip-confirmations", "force"),
    ("no-confirm", "force"),
    ("silent", "quiet"),
    ("no-output", "quiet"),
    ("preview", "dry-run"),
    ("what-if", "dry-run"),
    ("format", "output"),
    ("output-format", "output"),
];

const VOCABULARY: [(&str, &str); 9] = [
    ("get", "preferred verb for read operations (over fetch, info, retrieve)"),
    ("list", "preferred verb for enumeration (over show-all, ls, enumerate)"),
    ("create", "preferred verb for creation (over add, new, make)"),
    ("update", "preferred verb for modification (over edit, modify, set)"),
    ("delete", "preferred verb for removal (over remove, rm)"),
    (
        "--force",
        "preferred flag for bypassing confirmations (over --skip-confirmations, --no-confirm)",
    ),
    ("--quiet", "preferred flag for suppressing output (over --silent, --no-output)"),
    ("--dry-run", "preferred flag for preview mode (over --preview, --what-if)"),
    ("--output", "preferred flag for format selection (over --format, --output-format)"),
];

impl Default for Conventions {
    fn default() -> Self {
        Conventions {
            vocabulary: VOCABULARY
                .iter()
                .map(|(word, what)| ((*word).to_owned(), (*what).to_owned()))
                .collect::<BTreeMap<_, _>>(),
        }
    }
}

/// The word preferred over this command name, if there is one.
pub(crate) fn preferred_verb(name: &str) -> Option<&'static str> {
    VERBS.iter().find(|(word, _)| *word == name).map(|(_, preferred)| *preferred)
}

/// The word preferred over this flag name, if there is one.
pub(crate) fn preferred_flag(name: &str) -> Option<&'static str> {
    FLAGS.iter().find(|(word, _)| *word == name).map(|(_, preferred)| *preferred)
}

/// Writes one line of advice for every name outside the vocabulary and returns their number.
///
/// A sink that fails does not stop the count.
///
/// ```
/// let mut advice = Vec::new();
/// let count = clap_agent::check_conventions(&["list", "rm"], &["output-format"], &mut advice);
/// assert_eq!(count, 2);
/// assert!(String::from_utf8(advice).unwrap().contains("prefer \"delete\""));
/// ```
pub fn check_conventions<S: AsRef<str>>(
    command_names: &[S],
    flag_names: &[S],
    sink: &mut dyn Write,
) -> usize {
    let mut count = 0;
    for name in command_names {
        if let Some(preferred) = preferred_verb(name.as_ref()) {
            let name = name.as_ref();
            let _ = writeln!(
                sink,
                "[advisory] command \"{name}\": prefer \"{preferred}\" (conventional vocabulary)"
            );
            count += 1;
        }
    }
    for name in flag_names {
        if let Some(preferred) = preferred_flag(name.as_ref()) {
            let name = name.as_ref();
            let _ = writeln!(
                sink,
                "[advisory] flag --{name}: prefer --{preferred} (conventional vocabulary)"
            );
            count += 1;
        }
    }
    count
}
