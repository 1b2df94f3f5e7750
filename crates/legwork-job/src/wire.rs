//! Bytes in JSON: text where they are UTF-8, else `{"b64": "…"}`, so that arguments, paths and
//! environments survive as they are.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One text that may be any bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Text {
    Plain(String),
    Raw { b64: String },
}

impl Text {
    pub(crate) fn of(bytes: &[u8]) -> Text {
        match std::str::from_utf8(bytes) {
            Ok(text) => Text::Plain(text.to_owned()),
            Err(_) => Text::Raw { b64: STANDARD.encode(bytes) },
        }
    }

    pub(crate) fn into_bytes(self) -> Result<Vec<u8>, base64::DecodeError> {
        match self {
            Text::Plain(text) => Ok(text.into_bytes()),
            Text::Raw { b64 } => STANDARD.decode(b64),
        }
    }

    fn into_os<'de, D: Deserializer<'de>>(self) -> Result<OsString, D::Error> {
        self.into_bytes().map(OsString::from_vec).map_err(serde::de::Error::custom)
    }
}

fn os(text: &OsStr) -> Text {
    Text::of(text.as_bytes())
}

pub(crate) mod bytes {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        // Escaped, a byte takes up to six; base 64 takes a third more, whatever the bytes are.
        let escaped = bytes.iter().filter(|byte| matches!(byte, ..0x20 | b'"' | b'\\')).count();
        if escaped > bytes.len() / 16 {
            return Text::Raw { b64: STANDARD.encode(bytes) }.serialize(to);
        }
        Text::of(bytes).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        Text::deserialize(from)?.into_bytes().map_err(serde::de::Error::custom)
    }
}

pub(crate) mod text {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(text: &OsStr, to: S) -> Result<S::Ok, S::Error> {
        os(text).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<OsString, D::Error> {
        Text::deserialize(from)?.into_os::<D>()
    }
}

pub(crate) mod texts {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(texts: &[OsString], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(texts.iter().map(|text| os(text)))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<OsString>, D::Error> {
        Vec::<Text>::deserialize(from)?.into_iter().map(Text::into_os::<D>).collect()
    }
}

pub(crate) mod path {
    use super::*;
    use std::path::{Path, PathBuf};

    pub(crate) fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        os(path.as_os_str()).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        Text::deserialize(from)?.into_os::<D>().map(PathBuf::from)
    }
}

pub(crate) mod maybe_path {
    use super::*;
    use std::path::PathBuf;

    pub(crate) fn serialize<S: Serializer>(
        path: &Option<PathBuf>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        path.as_ref().map(|path| os(path.as_os_str())).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<PathBuf>, D::Error> {
        let text = Option::<Text>::deserialize(from)?;
        text.map(|text| text.into_os::<D>().map(PathBuf::from)).transpose()
    }
}

/// Variables to set, or to remove.
pub(crate) mod changes {
    use super::*;

    type Changes = Vec<(OsString, Option<OsString>)>;

    pub(crate) fn serialize<S: Serializer>(
        changes: &[(OsString, Option<OsString>)],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_seq(changes.iter().map(|(name, value)| (os(name), value.as_deref().map(os))))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Changes, D::Error> {
        let changes = Vec::<(Text, Option<Text>)>::deserialize(from)?;
        let change = |(name, value): (Text, Option<Text>)| {
            Ok((name.into_os::<D>()?, value.map(Text::into_os::<D>).transpose()?))
        };
        changes.into_iter().map(change).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_text_survive() {
        for bytes in [&b"plain"[..], b"", b"\xff\xfe", "täxt".as_bytes()] {
            let json = serde_json::to_string(&Text::of(bytes)).unwrap();
            let back: Text = serde_json::from_str(&json).unwrap();
            assert_eq!(back.into_bytes().unwrap(), bytes);
        }
        assert_eq!(serde_json::to_string(&Text::of(b"\xff")).unwrap(), r#"{"b64":"/w=="}"#);
    }
}
