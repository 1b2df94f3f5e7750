//! What a reader asks for, and what it gets.

use std::ops::Range;

use regex::Regex;
use serde::{Deserialize, Serialize};

use crate::budget::Budget;
use crate::diagnostics::{Diagnostics, Found};
use crate::fold::Folding;
use crate::gap::Gap;
use crate::source::{Source, Window};
use crate::{grep, page, summary};

/// Which part of the output a view is about.
///
/// ```
/// use legwork_view::{Budget, Part, Request};
///
/// let output: String = (0..10_000).map(|n| format!("line {n}\n")).collect();
/// let request = Request::new().budget(Budget::Bytes(1024));
/// // Page by page, every line comes by once:
/// let (mut cursor, mut lines) = (0, 0);
/// while cursor < output.len() as u64 {
///     let view = request.clone().part(Part::From(cursor)).of(output.as_bytes())?;
///     lines += view.text.lines().filter(|line| line.starts_with("line ")).count();
///     cursor = view.next;
/// }
/// assert_eq!(lines, 10_000);
/// # Ok::<(), legwork_view::ViewError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Part {
    /// All of it: head, diagnostics, tail.
    #[default]
    Whole,
    /// All from a cursor on: head, diagnostics, tail. For who waits and wants the news.
    Since(u64),
    /// A page: what fits from a cursor on, nothing skipped; go on at [`View::next`].
    From(u64),
    /// A page that ends at a second cursor at the latest.
    Between(u64, u64),
    /// The first page.
    Head,
    /// What fits of the end.
    Tail,
}

/// How a view chose what to show.
///
/// ```
/// let strategy = legwork_view::Strategy::HeadDiagnosticsTail;
/// assert_eq!(serde_json::to_string(&strategy).unwrap(), r#""head_diagnostics_tail""#);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Strategy {
    /// Everything there is; what is missing was dropped before.
    None,
    /// The beginning, diagnostics with their context, the end.
    HeadDiagnosticsTail,
    /// The beginning and the end; no diagnostics between.
    HeadTail,
    /// From a cursor on.
    Head,
    /// The end.
    Tail,
    /// Lines that match a pattern.
    Grep,
}

/// How much a view leaves out. Counted in bytes of the output, not of the text: a folded
/// progress bar is retained, since its last state is shown.
///
/// ```
/// let view = legwork_view::Request::new().of(&b"0123456789\n".repeat(10))?;
/// assert_eq!(view.truncated, None);
/// # Ok::<(), legwork_view::ViewError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Truncation {
    /// Of what was asked for; always retained and omitted together.
    pub original_bytes: u64,
    /// Shown, as they are or folded.
    pub retained_bytes: u64,
    /// Elided or dropped.
    pub omitted_bytes: u64,
    /// How it was chosen what to show.
    pub strategy: Strategy,
}

/// A bounded, readable extract.
///
/// ```
/// use legwork_view::{Request, Strategy};
///
/// let mut output = "   Compiling something or other\n".repeat(4000).into_bytes();
/// for n in 0..20_000 {
///     output.extend(format!("   Compiling crate-{n} v1.0.{n}\n").bytes());
///     if n == 9000 {
///         output.extend(b"error[E0308]: mismatched types\n --> src/main.rs:2:18\n");
///     }
/// }
/// let view = Request::new().of(&output)?;
/// assert!(view.text.len() <= 32_768);
/// assert!(view.text.contains("error[E0308]: mismatched types\n --> src/main.rs:2:18\n"));
/// assert!(view.text.ends_with("crate-19999 v1.0.19999\n"));
/// assert_eq!(view.truncated.unwrap().strategy, Strategy::HeadDiagnosticsTail);
/// assert_eq!(view.next, output.len() as u64);
/// # Ok::<(), legwork_view::ViewError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// What to read. Never more bytes than the budget.
    pub text: String,
    /// What was left out; absent where nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<Truncation>,
    /// The cursor to read on at.
    pub next: u64,
    /// What was left out, stretch by stretch, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<Gap>,
}

/// What a view cannot be made of.
///
/// ```
/// use legwork_view::{Part, Request};
///
/// let error = Request::new().part(Part::From(9)).of(b"short").unwrap_err();
/// assert_eq!(error.to_string(), "cursor 9 is beyond the end of the output, which is at 5");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// Nothing has been written there yet.
    #[error("cursor {cursor} is beyond the end of the output, which is at {end}")]
    BeyondEnd {
        /// What was asked for.
        cursor: u64,
        /// Where the output ends.
        end: u64,
    },
    /// The pattern is no regular expression, or one too large.
    #[error("{pattern:?} is not a regular expression that can be searched for: {reason}")]
    BadPattern {
        /// What was given.
        pattern: String,
        /// What the parser said.
        reason: String,
    },
}

/// Whether more output may come.
///
/// ```
/// use legwork_view::{Request, Writing};
///
/// // The writer is in the middle of an `ä`: it is left for the next read.
/// let view = Request::new().writing(Writing::GoesOn).of(b"\xc3")?;
/// assert_eq!((&*view.text, view.next), ("", 0));
/// let view = Request::new().of(b"\xc3")?;
/// assert_eq!((&*view.text, view.next), ("�", 1));
/// # Ok::<(), legwork_view::ViewError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Writing {
    /// This is all.
    #[default]
    Ended,
    /// The last character may be half written.
    GoesOn,
}

/// What a reader wants to see. A plain value.
///
/// ```
/// use legwork_view::{Budget, Part, Request};
///
/// let view = Request::new()
///     .budget(Budget::Tokens(2000))
///     .part(Part::Since(5))
///     .of(b"old\nnew\n");
/// assert_eq!(view?.text, "ew\n");
/// # Ok::<(), legwork_view::ViewError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Request {
    budget: Budget,
    part: Part,
    folding: Folding,
    writing: Writing,
    grep: Option<Regex>,
}

impl Request {
    /// The whole output, folded, in 32,768 bytes.
    ///
    /// ```
    /// assert_eq!(legwork_view::Request::new().of(b"hello\n")?.text, "hello\n");
    /// # Ok::<(), legwork_view::ViewError>(())
    /// ```
    pub fn new() -> Request {
        Request::default()
    }

    /// How much the view may hold.
    ///
    /// ```
    /// use legwork_view::{Budget, Request};
    /// let view = Request::new().budget(Budget::Bytes(256)).of(&b"x\ny\n".repeat(999))?;
    /// assert!(view.text.len() <= 256);
    /// # Ok::<(), legwork_view::ViewError>(())
    /// ```
    #[must_use]
    pub fn budget(mut self, budget: Budget) -> Request {
        self.budget = budget;
        self
    }

    /// What the view is about.
    ///
    /// ```
    /// use legwork_view::{Part, Request};
    /// assert_eq!(Request::new().part(Part::Between(2, 4)).of(b"abcdef")?.text, "cd");
    /// # Ok::<(), legwork_view::ViewError>(())
    /// ```
    #[must_use]
    pub fn part(mut self, part: Part) -> Request {
        self.part = part;
        self
    }

    /// Folded or raw.
    ///
    /// ```
    /// use legwork_view::{Folding, Request};
    /// let view = Request::new().folding(Folding::Raw).of(b"\x1b[1mbold\x1b[0m")?;
    /// assert_eq!(view.text, "\x1b[1mbold\x1b[0m");
    /// # Ok::<(), legwork_view::ViewError>(())
    /// ```
    #[must_use]
    pub fn folding(mut self, folding: Folding) -> Request {
        self.folding = folding;
        self
    }

    /// Whether more may come.
    ///
    /// ```
    /// use legwork_view::{Request, Writing};
    /// assert_eq!(Request::new().writing(Writing::GoesOn).of(b"ok \xe2\x9c")?.text, "ok ");
    /// # Ok::<(), legwork_view::ViewError>(())
    /// ```
    #[must_use]
    pub fn writing(mut self, writing: Writing) -> Request {
        self.writing = writing;
        self
    }

    /// Only lines that match, each with its cursor. The one kind of view that looks at all of
    /// the part it is asked for, until its budget is full.
    ///
    /// ```
    /// use legwork_view::Request;
    ///
    /// let view = Request::new().grep("o$")?.of(b"one\ntwo\nzero\n")?;
    /// assert_eq!(view.text, "4: two\n8: zero\n");
    /// # Ok::<(), legwork_view::ViewError>(())
    /// ```
    pub fn grep(mut self, pattern: &str) -> Result<Request, ViewError> {
        let built = regex::RegexBuilder::new(pattern).size_limit(1 << 20).build();
        let bad = |error: regex::Error| ViewError::BadPattern {
            pattern: pattern.to_owned(),
            reason: error.to_string(),
        };
        self.grep = Some(built.map_err(bad)?);
        Ok(self)
    }

    /// The view of output that is in memory as a whole; its diagnostics are searched for.
    ///
    /// ```
    /// let view = legwork_view::Request::new().of(b"hello\n")?;
    /// assert_eq!(view.next, 6);
    /// # Ok::<(), legwork_view::ViewError>(())
    /// ```
    pub fn of(&self, output: &[u8]) -> Result<View, ViewError> {
        let fits = output.len() <= self.budget.bytes();
        let found = if fits { None } else { Some(Diagnostics::scan(output)) };
        self.view(output, found.as_ref())
    }

    /// The view of a log: looks at no more than four budgets of it, wherever it stands, and
    /// takes the diagnostics from those that were found as it was written.
    ///
    /// ```
    /// use legwork_view::{Diagnostics, Pieces, Request};
    ///
    /// // A log that has lost its middle, and a scanner that saw it go by.
    /// let mut diagnostics = Diagnostics::new();
    /// diagnostics.push(0, b"start\nerror: lost\nmore\nmore\nend\n");
    /// let log = Pieces::head_and_tail(b"start\n", 22, b"end\n");
    /// let view = Request::new().view(&log, Some(&diagnostics.found()))?;
    /// assert_eq!(view.text, "start\nerror: lost\nmore\nmore\nend\n");
    /// # Ok::<(), legwork_view::ViewError>(())
    /// ```
    pub fn view<S: Source + ?Sized>(
        &self,
        source: &S,
        found: Option<&Found>,
    ) -> Result<View, ViewError> {
        let budget = self.budget.bytes();
        let range = self.range(source)?;
        let window = Window::new(source, range, look_limit(budget));
        if let Some(pattern) = &self.grep {
            return Ok(grep::matching(&window, pattern, budget, self.folding));
        }
        Ok(match self.part {
            Part::Whole | Part::Since(_) => {
                summary::summary(&window, found, budget, self.folding, summary::Ends::Both)
            }
            Part::Tail => {
                summary::summary(&window, found, budget, self.folding, summary::Ends::Tail)
            }
            Part::Head | Part::From(_) | Part::Between(..) => {
                page::page(&window, found, budget, self.folding)
            }
        })
    }

    fn range<S: Source + ?Sized>(&self, source: &S) -> Result<Range<u64>, ViewError> {
        let total = source.total();
        let end = match self.writing {
            Writing::Ended => total,
            Writing::GoesOn => total - half_written(source, total),
        };
        let (from, to) = match self.part {
            Part::Whole | Part::Head | Part::Tail => (0, end),
            Part::Since(cursor) | Part::From(cursor) => (cursor, end),
            Part::Between(from, to) => (from, to.min(end)),
        };
        if from > total {
            return Err(ViewError::BeyondEnd { cursor: from, end: total });
        }
        Ok(from..to.max(from))
    }
}

/// Four budgets: a page of folded output may need more bytes than it shows, but not without end.
pub(crate) fn look_limit(budget: usize) -> u64 {
    (budget as u64).saturating_mul(4).saturating_sub(HALF_WRITTEN)
}

/// How many bytes at the end are the beginning of a character.
fn half_written<S: Source + ?Sized>(source: &S, total: u64) -> u64 {
    match source.kept().last() {
        Some(last) if last.end == total && last.start < total => {
            let from = last.start.max(total.saturating_sub(HALF_WRITTEN));
            incomplete_at_end(&source.read(from..total)) as u64
        }
        _ => 0,
    }
}

/// No character has more bytes than these and one.
const HALF_WRITTEN: u64 = 3;

/// How many bytes at the end of `bytes` are the beginning of a character that is cut off there.
pub(crate) fn incomplete_at_end(bytes: &[u8]) -> usize {
    let last = &bytes[bytes.len().saturating_sub(3)..];
    match std::str::from_utf8(last) {
        Err(error) if error.error_len().is_none() => Some(last.len() - error.valid_up_to()),
        // The three bytes may begin in the middle of a character.
        Err(_) => (1..last.len()).find_map(|skip| {
            let error = std::str::from_utf8(&last[skip..]).err()?;
            error.error_len().is_none().then(|| last.len() - skip - error.valid_up_to())
        }),
        Ok(_) => None,
    }
    .unwrap_or(0)
}
