//! Placeholder for the merge.
/// Why not.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// Gone.
    #[error("nothing")]
    Nothing,
}
