//! The variables that language tool-chains set for the programs they run.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use super::Vars;

/// A language tool-chain whose traces can be removed from an environment.
///
/// ```
/// use legwork::prelude::*;
///
/// // `cargo run` tells its program where the package lives; what that program runs need not know.
/// let outcome = cmd(["env"])
///     .env("CARGO_MANIFEST_DIR", "/somewhere")
///     .without(Toolchain::Cargo)
///     .capture()?;
/// assert!(!outcome.stdout_text().contains("CARGO_MANIFEST_DIR"));
/// # Ok::<(), legwork::CommandError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Toolchain {
    /// Ruby, RubyGems and Bundler: `RUBY*`, `GEM_*`, `BUNDLE*`.
    Ruby,
    /// What `cargo run`, `cargo test` and rustup's proxies add. A `CARGO_HOME` or `CARGO_TARGET_DIR`
    /// of the user's own stays.
    Cargo,
    /// An active virtual environment: `VIRTUAL_ENV`, its `bin` in `PATH`, `PYTHONHOME`, `PYTHONPATH`.
    Python,
    /// What npm, pnpm and yarn set for a script: `npm_*`, `INIT_CWD`, `NODE`, and every
    /// `node_modules/.bin` in `PATH`.
    Node,
}

/// Set by Cargo for the program it runs or builds, one by one; users set others of the prefix.
const CARGO: [&str; 14] = [
    "CARGO",
    "CARGO_BIN_NAME",
    "CARGO_CRATE_NAME",
    "CARGO_MAKEFLAGS",
    "CARGO_MANIFEST_DIR",
    "CARGO_MANIFEST_LINKS",
    "CARGO_MANIFEST_PATH",
    "CARGO_PRIMARY_PACKAGE",
    "CARGO_TARGET_TMPDIR",
    "OUT_DIR",
    "RUSTUP_TOOLCHAIN",
    "RUSTUP_TOOLCHAIN_SOURCE",
    "RUST_RECURSION_COUNT",
    "RUSTC_WORKSPACE_WRAPPER",
];
const CARGO_PREFIXES: [&str; 4] = ["CARGO_PKG_", "CARGO_BIN_EXE_", "CARGO_CFG_", "CARGO_FEATURE_"];

impl Toolchain {
    pub(super) const ALL: [Toolchain; 4] =
        [Toolchain::Ruby, Toolchain::Cargo, Toolchain::Python, Toolchain::Node];

    /// Removes its traces.
    pub(super) fn remove_from(self, vars: &mut Vars) {
        match self {
            Toolchain::Ruby => {
                vars.retain(|name| !starts(name, &["RUBY", "GEM_", "BUNDLE", "RB_USER_INSTALL"]));
            }
            Toolchain::Cargo => {
                // Cargo puts its own library directories in front of the user's.
                edit_path(vars, "LD_LIBRARY_PATH", |element| !is_cargo_library(element));
                vars.retain(|name| {
                    !CARGO.iter().any(|own| name == *own) && !starts(name, &CARGO_PREFIXES)
                });
            }
            Toolchain::Python => {
                if let Some(home) = vars.get("VIRTUAL_ENV").map(OsStr::to_owned) {
                    let bin = [home.as_bytes(), b"/bin"].concat();
                    edit_path(vars, "PATH", |element| element != bin);
                }
                for name in ["VIRTUAL_ENV", "VIRTUAL_ENV_PROMPT", "PYTHONHOME", "PYTHONPATH"] {
                    vars.remove(name);
                }
            }
            Toolchain::Node => {
                edit_path(vars, "PATH", |element| {
                    !element.ends_with(b"/node_modules/.bin")
                        && !element.ends_with(b"/node-gyp-bin")
                });
                vars.retain(|name| {
                    !starts(name, &["npm_"]) && name != "INIT_CWD" && name != "NODE"
                });
            }
        }
    }
}

fn starts(name: &OsStr, prefixes: &[&str]) -> bool {
    prefixes.iter().any(|prefix| name.as_bytes().starts_with(prefix.as_bytes()))
}

fn is_cargo_library(element: &[u8]) -> bool {
    let text = String::from_utf8_lossy(element);
    let target = ["/debug", "/release", "/deps"].iter().any(|end| text.ends_with(end));
    (text.contains("/target/") && target)
        || text.contains("/.rustup/toolchains/")
        || text.contains("/lib/rustlib/")
}

/// Keeps the elements of a search path that pass; an emptied path is removed.
fn edit_path(vars: &mut Vars, name: &str, keep: impl Fn(&[u8]) -> bool) {
    let Some(path) = vars.get(name) else {
        return;
    };
    let elements: Vec<&[u8]> = path.as_bytes().split(|b| *b == b':').collect();
    let kept: Vec<&[u8]> = elements.iter().copied().filter(|element| keep(element)).collect();
    if kept.len() == elements.len() {
        return;
    }
    if kept.is_empty() {
        vars.remove(name);
    } else {
        let path = OsString::from_vec(kept.join(&b':'));
        vars.set(name, path);
    }
}

#[cfg(test)]
mod tests {
    use super::super::vars;
    use super::*;

    fn cleaned(toolchain: Toolchain, pairs: &[(&str, &str)]) -> Vars {
        let mut vars = vars(pairs);
        toolchain.remove_from(&mut vars);
        vars
    }

    #[test]
    fn ruby_leaves_nothing() {
        let left = cleaned(
            Toolchain::Ruby,
            &[
                ("GEM_HOME", "x"),
                ("RUBYOPT", "x"),
                ("BUNDLE_GEMFILE", "x"),
                ("BUNDLER_VERSION", "x"),
                ("GEMINI", "x"),
            ],
        );
        assert_eq!(left, vars(&[("GEMINI", "x")]));
    }

    #[test]
    fn cargo_takes_its_own_and_leaves_the_users() {
        let left = cleaned(
            Toolchain::Cargo,
            &[
                ("CARGO_PKG_NAME", "x"),
                ("CARGO", "x"),
                ("CARGO_HOME", "/mine"),
                ("CARGO_TARGET_DIR", "/mine"),
                ("RUSTFLAGS", "-g"),
                (
                    "LD_LIBRARY_PATH",
                    "/p/target/debug/deps:/p/target/debug:/home/me/.rustup/toolchains/s/lib:/opt/lib",
                ),
            ],
        );
        let expected = vars(&[
            ("CARGO_HOME", "/mine"),
            ("CARGO_TARGET_DIR", "/mine"),
            ("RUSTFLAGS", "-g"),
            ("LD_LIBRARY_PATH", "/opt/lib"),
        ]);
        assert_eq!(left, expected);
    }

    #[test]
    fn python_takes_its_bin_out_of_the_path() {
        let left = cleaned(
            Toolchain::Python,
            &[("VIRTUAL_ENV", "/p/.venv"), ("PATH", "/p/.venv/bin:/usr/bin"), ("PYTHONPATH", "/p")],
        );
        assert_eq!(left, vars(&[("PATH", "/usr/bin")]));
    }

    #[test]
    fn node_takes_every_bin_of_modules_out_of_the_path() {
        let left = cleaned(
            Toolchain::Node,
            &[
                ("npm_config_cache", "x"),
                ("INIT_CWD", "/p"),
                ("NODE", "/usr/bin/node"),
                ("NODE_ENV", "test"),
                ("PATH", "/p/node_modules/.bin:/node_modules/.bin:/usr/bin"),
            ],
        );
        assert_eq!(left, vars(&[("NODE_ENV", "test"), ("PATH", "/usr/bin")]));
    }
}
