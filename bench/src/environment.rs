//! The environment in which everyone is measured.
//!
//! `cargo run` adds some thirty variables, one of which makes every dynamic program search more
//! directories. With them all contenders look more alike than they are.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use crate::Failure;

/// Whether Cargo, or a legwork that this was started under, has set it.
fn is_foreign(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let prefixes = ["CARGO", "RUST", "LEGWORK"];
    name == "LD_LIBRARY_PATH" || prefixes.iter().any(|prefix| name.starts_with(prefix))
}

fn foreign() -> Vec<OsString> {
    std::env::vars_os().map(|(name, _)| name).filter(|name| is_foreign(name)).collect()
}

/// Takes from a command what Cargo has added.
pub(crate) fn without_cargo(command: &mut Command) {
    for name in foreign() {
        command.env_remove(name);
    }
}

/// Executes this very program anew where Cargo has added anything: a suite that measures in its
/// own process needs an environment of its own.
pub(crate) fn shed() -> Result<(), Failure> {
    if foreign().is_empty() {
        return Ok(());
    }
    let mut again = Command::new(std::env::current_exe()?);
    again.args(std::env::args_os().skip(1));
    without_cargo(&mut again);
    Err(again.exec().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cargo_adds_is_known() {
        for name in ["CARGO_MANIFEST_DIR", "RUSTUP_TOOLCHAIN", "LD_LIBRARY_PATH", "LEGWORK_SESSION"]
        {
            assert!(is_foreign(name.as_ref()), "{name}");
        }
        for name in ["PATH", "HOME", "LD_PRELOAD"] {
            assert!(!is_foreign(name.as_ref()), "{name}");
        }
    }
}
