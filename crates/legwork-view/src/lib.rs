//! What a reader with a budget sees of a command's output.
//!
//! A build prints two hundred megabytes, one line of which matters. A model that reads it can
//! take thirty kilobytes; cut at the front it loses the cause, cut at the end the result. A view
//! keeps the beginning, the end, and between them the lines that say what went wrong, and says
//! of everything else how much it was and where it can be read.
//!
//! ```
//! use legwork_view::{Diagnostics, Pieces, Request};
//!
//! // Whoever sees the output first remembers its diagnostics:
//! let mut diagnostics = Diagnostics::new();
//! let mut log = Vec::new();
//! for n in 0..100_000 {
//!     let line = match n {
//!         50_000 => "src/main.c:7:3: error: expected ';'\n".to_owned(),
//!         _ => format!("cc -Wall -Werror -c part{n}.c\n"),
//!     };
//!     diagnostics.push(log.len() as u64, line.as_bytes());
//!     log.extend_from_slice(line.as_bytes());
//! }
//!
//! // The log itself has lost its middle since:
//! let total = log.len() as u64;
//! let kept = Pieces::new(total).piece(0, &log[..4096]).piece(total - 65_536, &log[log.len() - 65_536..]);
//!
//! let view = Request::new().view(&kept, Some(&diagnostics.found()))?;
//! assert!(view.text.len() <= 32_768);
//! assert!(view.text.contains("src/main.c:7:3: error: expected ';'"));
//! assert!(view.text.starts_with("cc -Wall -Werror -c part0.c\n"));
//! assert!(view.text.ends_with("cc -Wall -Werror -c part99999.c\n"));
//! # Ok::<(), legwork_view::ViewError>(())
//! ```
//!
//! # What is promised
//!
//! - **It fits.** The text has no more bytes than the budget, markers included, and is UTF-8
//!   whatever the output was; no character is cut.
//! - **The end is never cut.** From [`Budget::SMALLEST`] on there are also the beginning and
//!   the markers.
//! - **What fits comes through**: byte for byte, but for [`Folding`].
//! - **What is left out is said**: in the text, one line a hole, and as data, [`View::gaps`] and
//!   [`Truncation`].
//! - **It is cheap.** A view looks at no more than four budgets of bytes, of a log of any size;
//!   only [`Request::grep`] searches. The scanner holds [`Diagnostics::LIMIT`] at most.
//!
//! The crate does no I/O: bytes come through [`Source`], values go out.

mod ansi;
mod budget;
mod compose;
mod diagnostics;
mod fold;
mod gap;
mod grep;
mod page;
mod recognise;
mod source;
mod summary;
mod trigger;
mod view;

pub use ansi::plain;
pub use budget::{Budget, estimated_tokens};
pub use diagnostics::{Diagnostic, Diagnostics, Found};
pub use fold::Folding;
pub use gap::{Absence, Gap};
pub use recognise::Kind;
pub use source::{Pieces, Source};
pub use view::{Part, Request, Strategy, Truncation, View, ViewError, Writing};
