//! Hashes that are written down: the file of a name, the fingerprint of a command.
//!
//! They must be the same in every version of legwork and on every machine, so the function is
//! SHA-256 and not the standard library's. Each part goes in behind its length, so that `a`, `bc`
//! and `ab`, `c` differ, and behind a word for its use, so that no two uses agree by accident.

use sha2::{Digest, Sha256};

/// Random bytes that make fingerprints meaningless outside of their state directory.
pub(crate) type Salt = [u8; 32];

/// A command and its environment, so that they can be compared later without being kept: what is
/// secret in them cannot be guessed from it without the salt.
pub(crate) fn fingerprint(salt: &Salt, parts: &[&[u8]]) -> String {
    let mut hash = begun("fingerprint");
    feed(&mut hash, salt);
    for part in parts {
        feed(&mut hash, part);
    }
    hex(&hash.finalize())
}

/// The name of the file for something of a session: 128 bits, which nobody meets twice.
pub(super) fn file_name(purpose: &str, session: &str, what: &str) -> String {
    let mut hash = begun(purpose);
    feed(&mut hash, session.as_bytes());
    feed(&mut hash, what.as_bytes());
    hex(&hash.finalize()[..16])
}

fn begun(purpose: &str) -> Sha256 {
    let mut hash = Sha256::new();
    feed(&mut hash, b"legwork");
    feed(&mut hash, purpose.as_bytes());
    hash
}

fn feed(hash: &mut Sha256, part: &[u8]) {
    hash.update((part.len() as u64).to_le_bytes());
    hash.update(part);
}

fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from(b"0123456789abcdef"[usize::from(half)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Computed by another program. A change here loses every name that is in use.
    #[test]
    fn what_is_on_disk_is_found_by_every_version() {
        assert_eq!(file_name("name", "team/a", "web"), "b8b49ced99951b16cd3280c7dcfefdaf");
        assert_eq!(
            fingerprint(&[7; 32], &[b"cargo", b"test"]),
            "1ba00d6af70be87b7372d424003bd5861852f2207766b2e10c4e351ccd504e7a"
        );
    }

    #[test]
    fn parts_do_not_run_into_one_another() {
        let parts: [&[&[u8]]; 6] =
            [&[b"ab", b"c"], &[b"a", b"bc"], &[b"abc"], &[b"abc", b""], &[b"", b"abc"], &[]];
        let prints: HashSet<String> =
            parts.iter().map(|parts| fingerprint(&[0; 32], parts)).collect();
        assert_eq!(prints.len(), parts.len());
        assert_ne!(file_name("name", "a", "b"), file_name("request", "a", "b"));
        assert_ne!(file_name("name", "a", "bc"), file_name("name", "ab", "c"));
    }

    #[test]
    fn a_fingerprint_is_worth_nothing_under_another_salt() {
        assert_ne!(fingerprint(&[0; 32], &[b"a"]), fingerprint(&[1; 32], &[b"a"]));
    }
}
