//! The two things a caller can choose about the form of an answer: the format and the protocol.

use std::fmt;

/// The version of the envelope, as murli counts it.
pub const SCHEMA_VERSION: &str = "0.2";

/// How an answer is written: `--output`.
///
/// ```
/// use clap_agent::OutputFormat;
///
/// assert_eq!("yaml".parse(), Ok(OutputFormat::Yaml));
/// assert!(OutputFormat::Ndjson.is_structured());
/// assert!(!OutputFormat::Text.is_structured());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OutputFormat {
    /// A pretty-printed JSON envelope.
    Json,
    /// The envelope on one line.
    Ndjson,
    /// The same keys as JSON, as YAML that readers of YAML 1.1 and 1.2 read alike.
    Yaml,
    /// Text for people.
    Text,
}

impl OutputFormat {
    /// The words `--output` takes.
    pub const NAMES: [&'static str; 4] = ["json", "ndjson", "yaml", "text"];

    /// The word for this format.
    ///
    /// ```
    /// assert_eq!(clap_agent::OutputFormat::Json.name(), "json");
    /// ```
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            OutputFormat::Json => "json",
            OutputFormat::Ndjson => "ndjson",
            OutputFormat::Yaml => "yaml",
            OutputFormat::Text => "text",
        }
    }

    /// Whether it is for programs.
    ///
    /// ```
    /// assert!(clap_agent::OutputFormat::Yaml.is_structured());
    /// ```
    #[must_use]
    pub const fn is_structured(self) -> bool {
        !matches!(self, OutputFormat::Text)
    }
}

impl fmt::Display for OutputFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for OutputFormat {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "json" => Ok(OutputFormat::Json),
            "ndjson" => Ok(OutputFormat::Ndjson),
            "yaml" => Ok(OutputFormat::Yaml),
            "text" => Ok(OutputFormat::Text),
            _ => Err(UnknownName(name.to_owned())),
        }
    }
}

/// Which version of the envelope is spoken: `--protocol-version`.
///
/// ```
/// use clap_agent::Protocol;
///
/// assert_eq!("0.1".parse(), Ok(Protocol::V0_1));
/// assert_eq!(Protocol::default().name(), "0.2");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// `{"result": …, "status": "ok"}`.
    V0_1,
    /// With `schema_version` and, where the program has one, `tool_version`.
    #[default]
    V0_2,
}

impl Protocol {
    /// The words `--protocol-version` takes.
    pub const NAMES: [&'static str; 2] = ["0.1", "0.2"];

    /// The word for this version.
    ///
    /// ```
    /// assert_eq!(clap_agent::Protocol::V0_1.name(), "0.1");
    /// ```
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Protocol::V0_1 => "0.1",
            Protocol::V0_2 => "0.2",
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for Protocol {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "0.1" => Ok(Protocol::V0_1),
            "0.2" => Ok(Protocol::V0_2),
            _ => Err(UnknownName(name.to_owned())),
        }
    }
}

/// A word that names no format and no protocol.
///
/// ```
/// let error = "xml".parse::<clap_agent::OutputFormat>().unwrap_err();
/// assert_eq!(error.to_string(), "unknown value 'xml'");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName(String);

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown value '{}'", self.0)
    }
}

impl std::error::Error for UnknownName {}
