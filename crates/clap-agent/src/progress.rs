//! How far a long operation has come: a JSON line for agents, a live bar for people.
//!
//! The bar is drawn by hand on whatever sink the writer has. A bar library draws on a terminal of
//! its own choosing from a thread of its own; here the line must be cleared before every other
//! write to the same terminal, and the crate must start in microseconds.

use serde::Serialize;

/// How far a long operation has come. Every field is optional.
///
/// ```
/// use clap_agent::Progress;
///
/// let progress = Progress::of(3, 12).stage("upload").message("photo.jpg").eta_ms(900);
/// assert_eq!(
///     serde_json::to_string(&progress).unwrap(),
///     r#"{"stage":"upload","current":3,"total":12,"percent":25.0,"eta_ms":900,"message":"photo.jpg"}"#
/// );
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Progress {
    /// Which part of the work.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub stage: String,
    /// Units done.
    #[serde(skip_serializing_if = "is_zero")]
    pub current: u64,
    /// Units in all.
    #[serde(skip_serializing_if = "is_zero")]
    pub total: u64,
    /// Part done, 0 to 100.
    #[serde(skip_serializing_if = "is_nothing")]
    pub percent: f64,
    /// Estimated time left, in milliseconds.
    #[serde(skip_serializing_if = "is_zero")]
    pub eta_ms: u64,
    /// In words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

impl Progress {
    /// So many units of so many; the percentage is computed.
    ///
    /// ```
    /// assert_eq!(clap_agent::Progress::of(1, 4).percent, 25.0);
    /// ```
    #[must_use]
    pub fn of(current: u64, total: u64) -> Self {
        #[allow(clippy::cast_precision_loss, reason = "a percentage for the eye")]
        let percent =
            if total == 0 { 0.0 } else { (current as f64 / total as f64 * 1000.0).round() / 10.0 };
        Progress { current, total, percent, ..Self::default() }
    }

    /// Names the part of the work.
    ///
    /// ```
    /// assert_eq!(clap_agent::Progress::of(1, 4).stage("scan").stage, "scan");
    /// ```
    #[must_use]
    pub fn stage(mut self, stage: impl Into<String>) -> Self {
        self.stage = stage.into();
        self
    }

    /// Says it in words.
    ///
    /// ```
    /// assert_eq!(clap_agent::Progress::default().message("a.txt").message, "a.txt");
    /// ```
    #[must_use]
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }

    /// Estimates the time left.
    ///
    /// ```
    /// assert_eq!(clap_agent::Progress::of(1, 4).eta_ms(500).eta_ms, 500);
    /// ```
    #[must_use]
    pub fn eta_ms(mut self, eta_ms: u64) -> Self {
        self.eta_ms = eta_ms;
        self
    }

    /// One line for people, at most `width` columns wide.
    pub(crate) fn line(&self, width: usize) -> String {
        let mut line = String::new();
        if !self.stage.is_empty() {
            line.push_str(&format!("[{}] ", self.stage));
        }
        const CELLS: u128 = 20;
        let done = u128::from(self.current.min(self.total)) * CELLS;
        if let Some(full) = done.checked_div(u128::from(self.total)) {
            line.push_str(&"━".repeat(full as usize));
            line.push_str(&"╌".repeat((CELLS - full) as usize));
            line.push_str(&format!(" {}/{}", self.current, self.total));
        }
        if self.percent > 0.0 {
            line.push_str(&format!(" {:.0}%", self.percent));
        }
        if self.eta_ms > 0 {
            line.push_str(&format!(" eta {}s", self.eta_ms.div_ceil(1000)));
        }
        if !self.message.is_empty() {
            if !line.is_empty() && !line.ends_with(' ') {
                line.push(' ');
            }
            line.push_str(&self.message);
        }
        // One column stays free: a terminal that wraps would leave the line's beginning behind.
        line.replace(['\n', '\r'], " ").chars().take(width.saturating_sub(1)).collect()
    }

    /// Worth a line of its own where nothing can be redrawn.
    pub(crate) fn is_news_after(&self, last: Option<&Progress>) -> bool {
        last.is_none_or(|last| last.stage != self.stage)
            || (self.total > 0 && self.current >= self.total)
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
fn is_nothing(percent: &f64) -> bool {
    *percent == 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_never_reaches_the_last_column() {
        let progress = Progress::of(1, 2).stage("scan").message("x".repeat(200));
        for width in [0, 1, 10, 80] {
            assert!(progress.line(width).chars().count() < width.max(1));
        }
    }

    #[test]
    fn a_count_past_its_total_draws_a_full_bar() {
        let line = Progress::of(5, 2).line(80);
        assert!(line.starts_with(&"━".repeat(20)), "{line}");
    }
}
