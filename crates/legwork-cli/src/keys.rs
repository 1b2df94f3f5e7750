//! Names of keys, and the bytes that a terminal sends for them.
//!
//! An agent that drives a full-screen program thinks in keys: `enter`, `ctrl-c`, `f5`. Names are
//! taken in the spellings of tmux (`C-c`, `M-x`), of editors (`ctrl+c`) and of plain words; an
//! unknown one names its nearest relative. The bytes are those of xterm in its normal mode.

/// Which terminal the bytes are for: Enter is another byte on a pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keyboard {
    /// A terminal: Enter is a carriage return.
    Terminal,
    /// A pipe: a line ends with a newline.
    Pipe,
}

impl Keyboard {
    /// What Enter sends.
    pub(crate) fn enter(self) -> u8 {
        match self {
            Keyboard::Terminal => b'\r',
            Keyboard::Pipe => b'\n',
        }
    }
}

/// Keys that have a name, and what they send. Enter is not among them: it depends.
const KEYS: [(&str, &[u8]); 35] = [
    ("tab", b"\t"),
    ("escape", b"\x1b"),
    ("esc", b"\x1b"),
    ("space", b" "),
    ("backspace", b"\x7f"),
    ("bspace", b"\x7f"),
    ("delete", b"\x1b[3~"),
    ("del", b"\x1b[3~"),
    ("insert", b"\x1b[2~"),
    ("up", b"\x1b[A"),
    ("down", b"\x1b[B"),
    ("right", b"\x1b[C"),
    ("left", b"\x1b[D"),
    ("home", b"\x1b[H"),
    ("end", b"\x1b[F"),
    ("pageup", b"\x1b[5~"),
    ("pgup", b"\x1b[5~"),
    ("pagedown", b"\x1b[6~"),
    ("pgdn", b"\x1b[6~"),
    ("shift-tab", b"\x1b[Z"),
    ("backtab", b"\x1b[Z"),
    ("btab", b"\x1b[Z"),
    ("f1", b"\x1bOP"),
    ("f2", b"\x1bOQ"),
    ("f3", b"\x1bOR"),
    ("f4", b"\x1bOS"),
    ("f5", b"\x1b[15~"),
    ("f6", b"\x1b[17~"),
    ("f7", b"\x1b[18~"),
    ("f8", b"\x1b[19~"),
    ("f9", b"\x1b[20~"),
    ("f10", b"\x1b[21~"),
    ("f11", b"\x1b[23~"),
    ("f12", b"\x1b[24~"),
    ("null", b"\0"),
];

/// What a key sends, by its name; a single character is itself.
pub(crate) fn bytes(name: &str, keyboard: Keyboard) -> Result<Vec<u8>, String> {
    let mut characters = name.chars();
    if let (Some(_), None) = (characters.next(), characters.next()) {
        return Ok(name.as_bytes().to_vec());
    }
    let word = name.to_ascii_lowercase().replace('+', "-");
    if matches!(word.as_str(), "enter" | "return" | "cr") {
        return Ok(vec![keyboard.enter()]);
    }
    if let Some((_, bytes)) = KEYS.iter().find(|(known, _)| *known == word) {
        return Ok(bytes.to_vec());
    }
    // What is held down with another key stands before it. The rest keeps its case: M-X is not M-x.
    let rest = |prefixes: &[&str]| {
        let prefix = prefixes.iter().find(|prefix| word.starts_with(**prefix))?;
        name.get(prefix.len()..).filter(|rest| !rest.is_empty())
    };
    if let Some(rest) = rest(&["ctrl-", "control-", "c-"])
        && let Some(byte) = control(rest)
    {
        return Ok(vec![byte]);
    }
    if let Some(rest) = rest(&["alt-", "meta-", "m-"])
        && let Ok(inner) = bytes(rest, keyboard)
    {
        return Ok([b"\x1b", inner.as_slice()].concat());
    }
    Err(unknown(name, &word))
}

/// Whether a name is one, whatever it is sent to.
pub(crate) fn known(name: &str) -> Result<String, String> {
    bytes(name, Keyboard::Terminal).map(|_| name.to_owned())
}

/// What Ctrl makes of a character: its lower five bits.
fn control(key: &str) -> Option<u8> {
    match key.to_ascii_lowercase().as_bytes() {
        [letter @ b'a'..=b'z'] => Some(letter - b'a' + 1),
        b"@" | b"space" => Some(0),
        b"[" => Some(0x1b),
        b"\\" => Some(0x1c),
        b"]" => Some(0x1d),
        b"^" => Some(0x1e),
        b"_" | b"/" => Some(0x1f),
        b"?" => Some(0x7f),
        _ => None,
    }
}

fn unknown(name: &str, word: &str) -> String {
    let names = KEYS.iter().map(|(known, _)| *known).chain(["enter", "ctrl-c", "alt-x"]);
    match legwork::nearest(word, names, 1).first() {
        Some(near) => format!("unknown key {name:?}; did you mean {near:?}?"),
        None => format!(
            "unknown key {name:?}; use enter, tab, escape, up, f1, ctrl-c, alt-x or one character"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(name: &str) -> Vec<u8> {
        bytes(name, Keyboard::Terminal).unwrap()
    }

    #[test]
    fn every_named_key_is_known_in_any_case() {
        for (name, bytes) in KEYS {
            assert_eq!(sent(name), bytes, "{name}");
            assert_eq!(sent(&name.to_uppercase()), bytes, "{name}");
        }
    }

    #[test]
    fn enter_depends_on_who_reads() {
        assert_eq!(bytes("Enter", Keyboard::Terminal).unwrap(), b"\r");
        assert_eq!(bytes("enter", Keyboard::Pipe).unwrap(), b"\n");
    }

    #[test]
    fn control_keys_have_many_spellings() {
        for name in ["ctrl-c", "Ctrl-C", "C-c", "ctrl+c", "control-c"] {
            assert_eq!(sent(name), [3], "{name}");
        }
        assert_eq!(sent("ctrl-a"), [1]);
        assert_eq!(sent("ctrl-z"), [26]);
        assert_eq!(sent("ctrl-["), [0x1b]);
        assert_eq!(sent("C-\\"), [0x1c]);
        assert_eq!(sent("ctrl-space"), [0]);
    }

    #[test]
    fn alt_keeps_the_case_and_takes_other_keys() {
        assert_eq!(sent("alt-x"), b"\x1bx");
        assert_eq!(sent("M-X"), b"\x1bX");
        assert_eq!(sent("alt-enter"), b"\x1b\r");
        assert_eq!(sent("alt-ctrl-c"), [0x1b, 3]);
    }

    #[test]
    fn one_character_is_itself() {
        assert_eq!(sent("q"), b"q");
        assert_eq!(sent("+"), b"+");
        assert_eq!(sent("ä"), "ä".as_bytes());
    }

    #[test]
    fn an_unknown_key_names_the_nearest() {
        let error = known("entre").unwrap_err();
        assert!(error.contains("did you mean \"enter\"?"), "{error}");
        assert!(known("ctrl-ctrl").unwrap_err().contains("unknown key"));
        assert!(known("whatever it is").unwrap_err().contains("ctrl-c"));
        assert!(known("").is_err());
        assert!(known("f13").is_err());
        assert!(known("ctrl-é").is_err());
    }
}
