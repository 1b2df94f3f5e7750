//! Bundler's own rules for undoing Bundler.
//!
//! When Bundler loads, it saves each variable that it is about to change as `BUNDLER_ORIG_NAME`,
//! with a marker for "was not set". *Original* restores from that backup. *Unbundled* restores,
//! then removes what a person may have exported for Bundler too: `BUNDLE_*`, and Bundler's part
//! of `RUBYOPT` and `RUBYLIB`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::Vars;

const BACKUP: &str = "BUNDLER_ORIG_";
const WAS_UNSET: &str = "BUNDLER_ENVIRONMENT_PRESERVER_INTENTIONALLY_NIL";

/// The variables that Bundler backs up (`BUNDLER_SETUP` by its newer versions).
const BACKED_UP: [&str; 11] = [
    "BUNDLE_BIN_PATH",
    "BUNDLE_GEMFILE",
    "BUNDLER_SETUP",
    "BUNDLER_VERSION",
    "GEM_HOME",
    "GEM_PATH",
    "MANPATH",
    "PATH",
    "RB_USER_INSTALL",
    "RUBYLIB",
    "RUBYOPT",
];

/// The environment before Bundler was loaded.
pub(crate) fn original(mut vars: Vars) -> Vars {
    for name in BACKED_UP {
        let backup = format!("{BACKUP}{name}");
        let Some(value) = vars.get(&backup).filter(|value| !value.is_empty()) else {
            continue;
        };
        if value == WAS_UNSET {
            vars.remove(name);
        } else {
            let value = value.to_owned();
            vars.set(name, value);
        }
        vars.remove(&backup);
    }
    vars
}

/// The environment without Bundler.
pub(crate) fn unbundled(vars: Vars) -> Vars {
    // Bundler knows where it lives; we learn it from the option with which it loads itself.
    let home = vars.get("RUBYOPT").and_then(bundler_home);
    let mut vars = original(vars);
    if let Some(manpath) = vars.get("BUNDLER_ORIG_MANPATH").map(OsStr::to_owned) {
        vars.set("MANPATH", manpath);
    }
    vars.retain(|name| !name.as_bytes().starts_with(b"BUNDLE_"));
    if let Some(options) = vars.get("RUBYOPT") {
        let kept = without(options, b' ', |option| loads_bundler(option).is_none());
        vars.set("RUBYOPT", kept);
    }
    if let Some(paths) = vars.get("RUBYLIB") {
        let kept = without(paths, b':', |path| home.as_deref().is_none_or(|home| path != home));
        vars.set("RUBYLIB", kept);
    }
    vars
}

/// The part before `bundler/setup` of an option that loads Bundler: empty for the plain form.
fn loads_bundler(option: &[u8]) -> Option<&[u8]> {
    option
        .strip_prefix(b"-r")?
        .strip_suffix(b"bundler/setup")
        .filter(|directory| directory.is_empty() || directory.ends_with(b"/"))
}

fn bundler_home(rubyopt: &OsStr) -> Option<Vec<u8>> {
    let directory = rubyopt.as_bytes().split(|b| *b == b' ').find_map(loads_bundler)?;
    directory.strip_suffix(b"/").map(<[u8]>::to_vec)
}

/// A separated list without the elements that are not to be kept; empty ones go as well.
fn without(list: &OsStr, separator: u8, keep: impl Fn(&[u8]) -> bool) -> OsString {
    let kept: Vec<&[u8]> = list
        .as_bytes()
        .split(|b| *b == separator)
        .filter(|element| !element.is_empty() && keep(element))
        .collect();
    OsString::from_vec(kept.join(&separator))
}

/// The names of a file that makes a directory a Bundler project, in Bundler's order.
pub(crate) const GEMFILES: [&str; 2] = ["gems.rb", "Gemfile"];

/// The Gemfile of the nearest directory that has one, from `start` upwards.
pub(crate) fn find_gemfile(start: &Path) -> Option<PathBuf> {
    start.ancestors().find_map(|directory| {
        GEMFILES.iter().map(|name| directory.join(name)).find(|path| path.is_file())
    })
}

#[cfg(test)]
mod tests {
    use super::super::vars;
    use super::*;

    /// As Debian's Bundler 2.3 leaves it inside `bundle exec`.
    fn inside() -> Vars {
        vars(&[
            ("BUNDLER_ORIG_BUNDLE_BIN_PATH", WAS_UNSET),
            ("BUNDLER_ORIG_BUNDLE_GEMFILE", WAS_UNSET),
            ("BUNDLER_ORIG_BUNDLER_VERSION", WAS_UNSET),
            ("BUNDLER_ORIG_GEM_HOME", "/own/gems"),
            ("BUNDLER_ORIG_PATH", "/usr/bin:/bin"),
            ("BUNDLER_ORIG_RUBYLIB", WAS_UNSET),
            ("BUNDLER_ORIG_RUBYOPT", "-W0"),
            ("BUNDLE_BIN_PATH", "/usr/lib/ruby/vendor_ruby/bundler/exe/bundle"),
            ("BUNDLE_GEMFILE", "/project/Gemfile"),
            ("BUNDLER_VERSION", "2.3.15"),
            ("GEM_HOME", "/project/vendor"),
            ("PATH", "/project/vendor/bin:/usr/bin:/bin"),
            ("RUBYLIB", "/usr/lib/ruby/vendor_ruby"),
            ("RUBYOPT", "-W0 -r/usr/lib/ruby/vendor_ruby/bundler/setup"),
            ("BUNDLE_JOBS", "4"),
            ("HOME", "/home/me"),
        ])
    }

    #[test]
    fn original_restores_the_backup_and_removes_it() {
        let expected = vars(&[
            ("GEM_HOME", "/own/gems"),
            ("PATH", "/usr/bin:/bin"),
            ("RUBYOPT", "-W0"),
            ("BUNDLE_JOBS", "4"),
            ("HOME", "/home/me"),
        ]);
        assert_eq!(original(inside()), expected);
    }

    #[test]
    fn unbundled_removes_what_a_person_set_for_bundler_too() {
        let expected = vars(&[
            ("GEM_HOME", "/own/gems"),
            ("PATH", "/usr/bin:/bin"),
            ("RUBYOPT", "-W0"),
            ("HOME", "/home/me"),
        ]);
        assert_eq!(unbundled(inside()), expected);
    }

    #[test]
    fn without_a_backup_the_options_themselves_are_cleaned() {
        let unbundled = unbundled(vars(&[
            ("RUBYOPT", "-rbundler/setup -W0 -r/opt/b/bundler/setup -rnotbundler/setup"),
            ("RUBYLIB", "/mine:/opt/b:/other"),
        ]));
        assert_eq!(unbundled.get("RUBYOPT").unwrap(), "-W0 -rnotbundler/setup");
        // The plain form stands first and names no home, so nothing of RUBYLIB is known to be its.
        assert_eq!(unbundled.get("RUBYLIB").unwrap(), "/mine:/opt/b:/other");
    }

    #[test]
    fn the_home_of_bundler_leaves_rubylib() {
        let unbundled =
            unbundled(vars(&[("RUBYOPT", "-r/opt/b/bundler/setup"), ("RUBYLIB", "/mine:/opt/b")]));
        assert_eq!(unbundled.get("RUBYLIB").unwrap(), "/mine");
        assert_eq!(unbundled.get("RUBYOPT").unwrap(), "");
    }
}
