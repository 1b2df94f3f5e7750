//! A sink that can be read back, for tests of programs that use the crate.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// A sink that can be read back; clones share their content.
///
/// ```
/// use std::io::Write;
/// let mut sink = clap_agent::Buffer::new();
/// let reader = sink.clone();
/// sink.write_all(b"hello").unwrap();
/// assert_eq!(reader.text(), "hello");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Buffer {
    /// An empty one.
    ///
    /// ```
    /// assert_eq!(clap_agent::Buffer::new().text(), "");
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What was written so far, as text.
    ///
    /// ```
    /// assert!(clap_agent::Buffer::new().text().is_empty());
    /// ```
    #[must_use]
    pub fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut buffer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        buffer.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
