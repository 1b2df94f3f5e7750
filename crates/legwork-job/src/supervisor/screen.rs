//! The screen of a job with a terminal: what a person would see there now.

use crate::id::JobId;
use crate::place::Screen;
use crate::report::State;
use crate::secrets::Mask;
use crate::spec::Size;

/// Sees what is told beside the characters.
#[derive(Debug, Default)]
struct Title(Option<String>);

impl vt100::Callbacks for Title {
    fn set_window_title(&mut self, _: &mut vt100::Screen, title: &[u8]) {
        self.0 = Some(String::from_utf8_lossy(title).into_owned());
    }
}

pub(super) struct Display {
    parser: vt100::Parser<Title>,
}

impl Display {
    pub(super) fn new(size: Size) -> Display {
        let (rows, cols) = (size.rows.max(1), size.cols.max(1));
        Display { parser: vt100::Parser::new_with_callbacks(rows, cols, 0, Title::default()) }
    }

    pub(super) fn show(&mut self, bytes: &[u8]) {
        self.parser.process(bytes);
    }

    pub(super) fn resize(&mut self, size: Size) {
        self.parser.screen_mut().set_size(size.rows.max(1), size.cols.max(1));
    }

    /// What brings a terminal to show the same.
    pub(super) fn redrawn(&self) -> Vec<u8> {
        self.parser.screen().state_formatted()
    }

    /// As text. Masked once more: colours within a secret are gone here.
    pub(super) fn screen(&self, id: JobId, state: State, mask: &Mask) -> Screen {
        let screen = self.parser.screen();
        let (rows, cols) = screen.size();
        let (cursor_row, cursor_col) = screen.cursor_position();
        Screen {
            id,
            rows: screen.rows(0, cols).map(|row| mask.text(row.trim_end())).collect(),
            cursor_row,
            cursor_col,
            cursor_hidden: screen.hide_cursor(),
            title: self.parser.callbacks().0.clone(),
            size: Size { rows, cols },
            state,
            blocked_on: None,
        }
    }
}
