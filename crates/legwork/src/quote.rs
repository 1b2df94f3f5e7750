//! Commands as a person would type them: quoted, so that a line can be pasted into a shell.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// One argument, quoted where a POSIX shell needs it.
fn word(arg: &OsStr) -> Cow<'_, [u8]> {
    // Quoting fails for NUL alone, which no command can carry; such a one is shown as it is.
    shlex::bytes::try_quote(arg.as_bytes()).unwrap_or(Cow::Borrowed(arg.as_bytes()))
}

/// A whole argv on one line. Bytes that are not UTF-8 are shown as `�`.
pub(crate) fn line(argv: &[OsString]) -> String {
    let mut bytes = Vec::new();
    for arg in argv {
        if !bytes.is_empty() {
            bytes.push(b' ');
        }
        bytes.extend_from_slice(&word(arg));
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A path in a message.
pub(crate) fn path(path: &Path) -> String {
    format!("{:?}", path.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_can_be_pasted() {
        let argv: Vec<OsString> = ["echo", "$HOME", "it's", "", "a b"].map(Into::into).to_vec();
        let line = line(&argv);
        let back = shlex::split(&line).unwrap();
        assert_eq!(back, ["echo", "$HOME", "it's", "", "a b"]);
    }
}
