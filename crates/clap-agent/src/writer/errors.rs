//! The last thing a program says: an error in the reader's form, or the words a signal leaves it.

use super::Writer;
use crate::envelope::{self, ErrorEnvelope};
use crate::error::AgentError;
use crate::exit::Exit;
use crate::format::{OutputFormat, Protocol};
use crate::mode::Mode;

impl Writer {
    /// Writes an error, in the reader's form, and says how to end. Does not end the program.
    ///
    /// ```
    /// # use clap_agent::{AgentError, Buffer, Exit, OutputFormat, Writer};
    /// let stderr = Buffer::new();
    /// let out = Writer::builder(Buffer::new(), stderr.clone()).format(OutputFormat::Text).build();
    /// let exit = out.error(&AgentError::not_found("no task 7").with_suggestion("list them"));
    /// assert_eq!(exit, Exit::NotFound);
    /// assert_eq!(stderr.text(), "Error: no task 7\nHint:  list them\n");
    /// ```
    pub fn error(&self, error: &AgentError) -> Exit {
        self.flush();
        if !error.is_reader_gone() {
            self.write_stderr(&self.render_error(error));
        }
        error.exit()
    }

    /// Writes the error a signal ends the program with: stderr first, where it is waited for.
    pub(crate) fn last_error(&self, error: &AgentError) {
        let text = self.render_error(error);
        let mut stderr = self.stderr();
        stderr.flush();
        crate::sys::said_last_words();
        stderr.write(&text);
        stderr.flush();
        drop(stderr);
        let _ = self.lock_stdout().flush();
    }

    /// Writes an error and ends the program through the exit hook, for code that cannot return.
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    /// use clap_agent::{AgentError, Buffer, Exit, Writer};
    ///
    /// let seen = Arc::new(Mutex::new(None));
    /// let hook = { let seen = seen.clone(); move |exit| *seen.lock().unwrap() = Some(exit) };
    /// let out = Writer::builder(Buffer::new(), Buffer::new()).on_exit(hook).build();
    /// out.fail(&AgentError::timeout("no answer"));
    /// assert_eq!(*seen.lock().unwrap(), Some(Exit::Timeout));
    /// ```
    pub fn fail(&self, error: &AgentError) {
        let exit = self.error(error);
        (self.inner.on_exit)(exit);
    }

    pub(crate) fn render_error(&self, error: &AgentError) -> String {
        let inner = &*self.inner;
        if inner.mode == Mode::Person {
            return crate::person::error(error, inner.colour);
        }
        // JSON also under `--output yaml`, as murli has it: JSON is YAML, and whoever reads
        // stderr need not know what stdout was asked for.
        let format = match inner.format {
            OutputFormat::Ndjson => OutputFormat::Ndjson,
            OutputFormat::Json | OutputFormat::Yaml | OutputFormat::Text => OutputFormat::Json,
        };
        let envelope =
            ErrorEnvelope { error, protocol: inner.protocol, tool_version: &inner.tool_version };
        envelope::render(&envelope, format).expect("strings and numbers serialise")
    }

    /// The last words of a program that a signal ends, put together without the machinery of
    /// [`Writer::render_error`]: every start pays for them, hardly one prints them.
    #[inline]
    pub(crate) fn last_words(&self, signal: &str) -> Vec<u8> {
        let inner = &*self.inner;
        let pretty = inner.format != OutputFormat::Ndjson;
        let plain = |c: char| c.is_ascii_graphic() && c != '"' && c != '\\';
        if inner.mode == Mode::Person || !inner.tool_version.chars().all(plain) {
            let error = crate::signals::cancelled(signal);
            return self.render_error(&error).into_bytes();
        }
        let (open, between, colon, close) =
            if pretty { ("{\n  ", ",\n  ", ": ", "\n}\n") } else { ("{", ",", ":", "}\n") };
        let mut words = String::with_capacity(192);
        let mut add = |before: &str, key: &str, parts: [&str; 3]| {
            for part in [before, "\"", key, "\"", colon].into_iter().chain(parts) {
                words.push_str(part);
            }
        };
        add(open, "code", ["9", "", ""]);
        add(between, "error", ["\"cancelled\"", "", ""]);
        add(between, "message", ["\"cancelled by ", signal, "\""]);
        add(between, "recoverable", ["false", "", ""]);
        if inner.protocol == Protocol::V0_2 {
            add(between, "schema_version", ["\"0.2\"", "", ""]);
            if !inner.tool_version.is_empty() {
                add(between, "tool_version", ["\"", &inner.tool_version, "\""]);
            }
        }
        words.push_str(close);
        words.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn last_words_are_the_error_a_signal_would_give() {
        for format in
            [OutputFormat::Json, OutputFormat::Ndjson, OutputFormat::Yaml, OutputFormat::Text]
        {
            for protocol in [Protocol::V0_1, Protocol::V0_2] {
                for version in ["", "1.2.3", "1.2 \"beta\""] {
                    let writer = Writer::builder(io::sink(), io::sink())
                        .format(format)
                        .protocol(protocol)
                        .tool_version(version)
                        .build();
                    let error = crate::signals::cancelled("SIGINT");
                    let words = String::from_utf8(writer.last_words("SIGINT")).unwrap();
                    assert_eq!(words, writer.render_error(&error), "{format} {protocol} {version}");
                }
            }
        }
    }
}
