//! `legwork screen`: what a person would see on a job's terminal.

use clap::Args;
use clap_agent::{AgentError, Example, Exit, Notes, Returns, Writer};
use legwork_job::Place;

use crate::errors::told;
use crate::options::Session;
use crate::place::find;

pub(crate) const EXAMPLES: &str = "\
Examples:
  legwork screen vim
  legwork screen vim --cursor       and on stderr where the cursor is";

pub(crate) fn notes() -> Notes {
    Notes::read()
        .idempotent()
        .when_to_use("to see what a full-screen program shows; type with `input`")
        .returns(Returns::of::<legwork_job::Screen>("the rows, and where the cursor is"))
        .example(Example::new("legwork screen no-such-job").exits(Exit::NotFound))
}

#[derive(Debug, Args)]
pub(crate) struct Screen {
    /// The job: its name, its id, or the beginning of its id
    #[arg(value_name = "ID")]
    id: String,
    /// Say on stderr where the cursor is
    #[arg(long)]
    cursor: bool,
    #[command(flatten)]
    session: Session,
}

pub(crate) fn execute(args: &Screen, place: &dyn Place, out: &Writer) -> Result<Exit, AgentError> {
    let id = find(place, &args.id, &args.session)?;
    let screen = place.screen(id).map_err(told)?;
    if args.cursor {
        let hidden = if screen.cursor_hidden { ", hidden" } else { "" };
        out.log(format!(
            "cursor in row {}, column {}{hidden}",
            screen.cursor_row, screen.cursor_col
        ));
    }
    out.success(text(&screen.rows), &screen)?;
    Ok(Exit::Ok)
}

/// The rows down to the last one with something on it.
fn text(rows: &[String]) -> String {
    let last = rows.iter().rposition(|row| !row.is_empty());
    rows[..last.map_or(0, |last| last + 1)].join("\n")
}

#[cfg(test)]
mod tests {
    #[test]
    fn empty_rows_at_the_end_are_not_shown() {
        let rows = ["a", "", "b", "", ""].map(str::to_owned);
        assert_eq!(super::text(&rows), "a\n\nb");
        assert_eq!(super::text(&rows[3..]), "");
    }
}
