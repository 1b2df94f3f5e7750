//! The program that prints: text that looks like the log of a build, as fast as it can be had.
//!
//! One block, over and over, so that any two places at the same distance from a block's beginning
//! show the same text, whatever the size of the log. Each block has one secret and one diagnostic.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::AsFd as _;

use crate::Failure;

/// After so many bytes the text repeats.
pub(super) const BLOCK: usize = 1024 * 1024;

/// One write; what `cat` uses.
const WRITE: usize = 128 * 1024;

/// The variables that a job gets whose output has to be masked. The first one's value is printed.
pub(super) const SECRETS: [(&str, &str); 3] = [
    ("REGISTRY_TOKEN", "tk_9f3b61c07ad84e52b6d1"),
    ("DATABASE_PASSWORD", "correct horse battery staple"),
    ("SIGNING_PRIVATE_KEY", "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC"),
];

/// The line that has to be kept.
pub(super) const DIAGNOSTIC: &str = "error[E0308]: mismatched types";

fn block() -> String {
    let (_, token) = SECRETS[0];
    let mut text = String::new();
    let mut has_both = false;
    for number in 0.. {
        // Far from the block's ends, so that a view shows the diagnostic only if it was kept.
        if text.len() > BLOCK / 2 && !has_both {
            let _ = writeln!(text, "Uploading with token {token} to the registry\n{DIAGNOSTIC}");
            has_both = true;
        }
        let module = number * 7 % 113;
        let _ = match number % 5 {
            0 => writeln!(text, "   Compiling module_{module} v0.{number}.0 (/build/src/{module})"),
            1 => writeln!(text, "[{:3}%] Building CXX object core/part_{number}.o", number % 101),
            2 => writeln!(text, "test module_{module}::case_{number} ... ok"),
            3 => writeln!(text, "  = note: used in `module_{module}` at line {number}"),
            _ => writeln!(text, "cc -O2 -g -Wall -Iinclude -c part_{number}.c -o part_{number}.o"),
        };
        if text.len() >= BLOCK {
            break;
        }
    }
    text.truncate(BLOCK - 1);
    text.push('\n');
    text
}

pub(crate) fn main(bytes: &str) -> Result<(), Failure> {
    let mut left: usize = bytes.parse()?;
    let block = block();
    // The standard library would look for line ends in every block.
    let mut stdout = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    for piece in block.as_bytes().chunks(WRITE).cycle() {
        let now = left.min(piece.len());
        stdout.write_all(&piece[..now])?;
        left -= now;
        if left == 0 {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_whole_and_has_what_is_looked_for() {
        let block = block();
        assert_eq!(block.len(), BLOCK);
        assert!(block.is_ascii() && block.ends_with('\n'));
        assert_eq!(block.matches(SECRETS[0].1).count(), 1);
        assert_eq!(block.matches(DIAGNOSTIC).count(), 1);
    }
}
