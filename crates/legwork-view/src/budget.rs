//! How much a reader can take.

use serde::{Deserialize, Serialize};

/// How many bytes one token of a log stands for. Prose has about four; paths, hex and digits,
/// which logs are full of, fewer.
const BYTES_PER_TOKEN: usize = 3;

/// How much a view may hold, markers included.
///
/// ```
/// use legwork_view::Budget;
///
/// assert_eq!(Budget::default(), Budget::Bytes(32_768));
/// assert_eq!(Budget::Tokens(1000).bytes(), 3000);
/// assert_eq!(serde_json::to_string(&Budget::Bytes(256)).unwrap(), r#"{"bytes":256}"#);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Budget {
    /// UTF-8 bytes, before any escaping for JSON.
    Bytes(usize),
    /// Tokens of a language model, estimated: three bytes each.
    Tokens(usize),
}

impl Budget {
    /// From here on a view has a head, a tail and the markers between them; below it there is
    /// only the end of the output.
    ///
    /// ```
    /// assert_eq!(legwork_view::Budget::SMALLEST, 256);
    /// ```
    pub const SMALLEST: usize = 256;

    /// The budget in bytes.
    ///
    /// ```
    /// assert_eq!(legwork_view::Budget::Bytes(512).bytes(), 512);
    /// ```
    pub fn bytes(self) -> usize {
        match self {
            Budget::Bytes(bytes) => bytes,
            Budget::Tokens(tokens) => tokens.saturating_mul(BYTES_PER_TOKEN),
        }
    }
}

impl Default for Budget {
    fn default() -> Budget {
        Budget::Bytes(32_768)
    }
}

/// About how many tokens a text costs, by the same estimate as [`Budget::Tokens`].
///
/// ```
/// assert_eq!(legwork_view::estimated_tokens("error: no"), 3);
/// ```
pub fn estimated_tokens(text: &str) -> usize {
    text.len().div_ceil(BYTES_PER_TOKEN)
}
