//! The letter groups that no diagnostic is without, and one search for all of them.
//!
//! Most output has none, so the speed of the scanner is the speed of this search: packed
//! comparison of many patterns at once, some gigabytes a second. Where one is found, its family
//! tells which of the closer looks are worth taking; without that a line of compiler options
//! with `-Werror` in it costs ten times as much.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, Span, packed};

/// A set of families.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Families(u16);

impl Families {
    pub(crate) const NONE: Families = Families(0);
    pub(crate) const ALL: Families = Families(u16::MAX);
    pub(crate) const ERROR: Families = Families(1);
    pub(crate) const FAILURE: Families = Families(1 << 1);
    pub(crate) const CRASH: Families = Families(1 << 2);
    pub(crate) const FATAL: Families = Families(1 << 3);
    pub(crate) const ASSERTION: Families = Families(1 << 4);
    pub(crate) const STACK: Families = Families(1 << 5);
    pub(crate) const PREFIX: Families = Families(1 << 6);
    pub(crate) const TOOL: Families = Families(1 << 7);

    pub(crate) fn has(self, any_of: Families) -> bool {
        self.0 & any_of.0 != 0
    }

    pub(crate) const fn or(self, other: Families) -> Families {
        Families(self.0 | other.0)
    }
}

const TRIGGERS: &[(&str, Families)] = &[
    ("rror", Families::ERROR),
    ("RROR", Families::ERROR),
    ("ERR!", Families::ERROR),
    ("FAIL", Families::FAILURE),
    ("fail", Families::FAILURE),
    ("Fail", Families::FAILURE),
    ("anicked", Families::CRASH),
    ("anic:", Families::CRASH),
    ("Kernel p", Families::CRASH),
    ("atal", Families::FATAL),
    ("FATAL", Families::FATAL),
    ("ssertion", Families::ASSERTION),
    ("SSERTION", Families::ASSERTION),
    ("xception", Families::STACK),
    ("raceback", Families::STACK),
    ("aused by:", Families::STACK),
    ("stack ba", Families::STACK),
    ("nhandled ", Families::STACK),
    ("egmentation f", Families::CRASH),
    ("core dumped", Families::CRASH),
    ("Killed", Families::CRASH),
    ("Aborted", Families::CRASH),
    ("stack smashing", Families::CRASH),
    ("not ok ", Families::PREFIX),
    ("*** ", Families::PREFIX),
    ("E   ", Families::PREFIX),
    ("E: ", Families::PREFIX),
    ("\u{25cf} ", Families::PREFIX),
    ("\u{2715} ", Families::PREFIX),
    ("\u{2717} ", Families::PREFIX),
    ("\u{2718} ", Families::PREFIX),
    ("\u{d7} ", Families::PREFIX),
    ("build stopped", Families::PREFIX),
    (".go:", Families::TOOL),
    ("ld: ", Families::TOOL),
    ("ndefined ", Families::TOOL),
    (" not found", Families::TOOL),
    ("o such file or", Families::TOOL),
    ("ermission denied", Families::TOOL),
];

/// A trigger, and what it makes worth looking for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hit {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) family: Families,
}

/// The next trigger from an index on.
pub(crate) fn next(bytes: &[u8], from: usize) -> Option<Hit> {
    SEARCH.next(bytes, from)
}

/// Which families a line has.
pub(crate) fn families(line: &[u8]) -> Families {
    let mut families = Families::NONE;
    let mut at = 0;
    while let Some(hit) = SEARCH.next(line, at) {
        families = families.or(hit.family);
        at = hit.end;
    }
    families
}

/// Packed SIMD comparison where the processor has it.
enum Search {
    Packed(packed::Searcher),
    Automaton(AhoCorasick),
    /// Neither could be built, which no processor is known for: every line is looked at.
    Everything,
}

static SEARCH: LazyLock<Search> = LazyLock::new(|| {
    let words = || TRIGGERS.iter().map(|(word, _)| word);
    let mut config = packed::Config::new();
    match config.heuristic_pattern_limits(false).builder().extend(words()).build() {
        Some(searcher) => Search::Packed(searcher),
        None => AhoCorasick::new(words()).map_or(Search::Everything, Search::Automaton),
    }
});

impl Search {
    fn next(&self, bytes: &[u8], from: usize) -> Option<Hit> {
        let span = Span::from(from..bytes.len());
        let found = match self {
            Search::Packed(searcher) => searcher.find_in(bytes, span)?,
            Search::Automaton(automaton) => {
                automaton.find(aho_corasick::Input::new(bytes).span(span))?
            }
            Search::Everything => {
                let all = Hit { start: from, end: from + 1, family: Families::ALL };
                return (from < bytes.len()).then_some(all);
            }
        };
        let trigger = TRIGGERS.get(found.pattern().as_usize());
        let family = trigger.map_or(Families::NONE, |(_, family)| *family);
        Some(Hit { start: found.start(), end: found.end(), family })
    }
}
