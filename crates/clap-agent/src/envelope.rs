//! The structured form of an answer, and its three spellings.

use serde::Serialize;
use serde::ser::SerializeStruct;

use crate::error::AgentError;
use crate::format::{OutputFormat, Protocol, SCHEMA_VERSION};
use crate::ordered::Ordered;

/// Whether something was done or only planned. `plan` is an extension of protocol 0.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Ok,
    Plan,
}

impl Status {
    const fn name(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Plan => "plan",
        }
    }
}

/// `{"result": …, "schema_version": "0.2", "status": "ok", "tool_version"?: …}`: the keys in the
/// order Go's encoder gives them, so that a byte comparison with murli holds as well.
pub(crate) struct Envelope<'a, T: ?Sized> {
    pub(crate) result: &'a T,
    pub(crate) status: Status,
    pub(crate) protocol: Protocol,
    pub(crate) tool_version: &'a str,
}

impl<T: Serialize + ?Sized> Serialize for Envelope<'_, T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let versions = self.protocol == Protocol::V0_2;
        let tool = versions && !self.tool_version.is_empty();
        let fields = 2 + usize::from(versions) + usize::from(tool);
        let mut out = serializer.serialize_struct("Envelope", fields)?;
        out.serialize_field("result", self.result)?;
        if versions {
            out.serialize_field("schema_version", SCHEMA_VERSION)?;
        }
        out.serialize_field("status", self.status.name())?;
        if tool {
            out.serialize_field("tool_version", self.tool_version)?;
        }
        out.end()
    }
}

/// An error in the caller's protocol.
pub(crate) struct ErrorEnvelope<'a> {
    pub(crate) error: &'a AgentError,
    pub(crate) protocol: Protocol,
    pub(crate) tool_version: &'a str,
}

impl Serialize for ErrorEnvelope<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (schema, tool) = match self.protocol {
            Protocol::V0_1 => ("", ""),
            Protocol::V0_2 => (SCHEMA_VERSION, self.tool_version),
        };
        self.error.serialize_with(schema, tool, serializer)
    }
}

/// Writes a document in a format, ending in a newline. Text is JSON: a document has no other.
///
/// A payload that has no JSON form (a map whose keys are no strings, a type that refuses) is a
/// fault of the program and said as such.
pub(crate) fn render(
    document: &(impl Serialize + ?Sized),
    format: OutputFormat,
) -> Result<String, AgentError> {
    let mut text = match format {
        OutputFormat::Json | OutputFormat::Text => {
            serde_json::to_string_pretty(document).map_err(unserialisable)?
        }
        OutputFormat::Ndjson => serde_json::to_string(document).map_err(unserialisable)?,
        OutputFormat::Yaml => {
            // By way of JSON, so that both spellings have the same keys and the same idea of
            // what a value is.
            let value = Ordered::of(document).map_err(unserialisable)?;
            serde_saphyr::to_string(&value)
                .map_err(|error| AgentError::tool(format!("cannot write YAML: {error}")))?
        }
    };
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}

#[allow(clippy::needless_pass_by_value, reason = "used as map_err's function")]
pub(crate) fn unserialisable(error: serde_json::Error) -> AgentError {
    AgentError::tool(format!("the result could not be serialised: {error}"))
        .with_suggestion("this is a fault of the program; report it to its author")
        .with_source(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a reader of YAML 1.1 would take for something else than a string.
    #[test]
    fn yaml_quotes_what_could_be_misread() {
        for text in [
            "no",
            "No",
            "yes",
            "on",
            "off",
            "y",
            "n",
            "true",
            "null",
            "~",
            "",
            "2001-12-14",
            "12:30:45",
            "190:20:30",
            "0o17",
            "017",
            "0x1F",
            "1_000",
            "1e3",
            ".5",
            "+1",
            ".inf",
            ".nan",
            "=",
            "<<",
            "- a",
            "a: b",
            "#x",
            "&a",
            "*a",
            "!t",
            "%a",
            "@a",
            "|",
            " lead",
        ] {
            let yaml = render(&text, OutputFormat::Yaml).unwrap();
            let quoted = yaml.starts_with('"') || yaml.starts_with('\'');
            assert!(quoted, "{text:?} became {yaml:?}");
        }
        assert_eq!(render("plain words", OutputFormat::Yaml).unwrap(), "plain words\n");
    }
}
