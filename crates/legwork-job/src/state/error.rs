//! Why the state directory, or something in it, cannot be used; each with what to do about it.
//!
//! The one who reads these is often a program that will run whatever it is told to, so a command is
//! given only where it repairs: never `chmod 700 /tmp`.

use std::path::{Path, PathBuf};

/// Why the state directory, or something in it, cannot be used.
///
/// ```
/// use legwork_job::{StateDir, StateError};
///
/// let error = StateDir::at("not/absolute").unwrap_err();
/// assert!(matches!(error, StateError::Relative { .. }));
/// ```
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// No variable says where.
    #[error(
        "there is no place for jobs: none of LEGWORK_STATE_DIR, XDG_STATE_HOME and HOME is set; \
         set LEGWORK_STATE_DIR to an absolute path"
    )]
    NoPlace,
    /// A path that means something else in every directory.
    #[error(
        "{what} is {path:?}, which is relative; \
         give an absolute path, as in LEGWORK_STATE_DIR=/home/me/.local/state/legwork"
    )]
    Relative {
        /// The variable, or what else the path was given as.
        what: &'static str,
        /// The path as it was given.
        path: PathBuf,
    },
    /// Whoever can move the link would choose where jobs are looked for.
    #[error(
        "{path:?} is a symbolic link to {target:?}; \
         name the directory itself: `export LEGWORK_STATE_DIR={}`",
        quoted(target)
    )]
    Symlink {
        /// The link.
        path: PathBuf,
        /// Where it leads.
        target: PathBuf,
    },
    /// Something else lies there.
    #[error(
        "{path:?} is not a directory; move it away with `mv {0} {0}.old`, \
         or choose another place with LEGWORK_STATE_DIR",
        quoted(path)
    )]
    NotADirectory {
        /// What is no directory: the path itself or one above it.
        path: PathBuf,
    },
    /// It is legwork's, and another user's.
    #[error(
        "{path:?} belongs to user {owner}, and you are user {user}; \
         make it yours with `chown -R {user} {}`, or choose another with LEGWORK_STATE_DIR",
        quoted(path)
    )]
    OtherOwner {
        /// The directory.
        path: PathBuf,
        /// Its owner.
        owner: u32,
        /// The effective user of this process.
        user: u32,
    },
    /// It is the user's, and others may look or write.
    #[error(
        "{path:?} is open to others (mode {mode:04o}); \
         close it with `chmod 700 {}`, or choose another with LEGWORK_STATE_DIR",
        quoted(path)
    )]
    OpenToOthers {
        /// The directory.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// It holds other things, and is not the user's alone: to change it would harm them.
    #[error(
        "{path:?} is {problem} and holds other things than jobs; \
         choose a directory for jobs alone: `export LEGWORK_STATE_DIR={}`",
        quoted(&path.join("legwork"))
    )]
    InUse {
        /// The directory.
        path: PathBuf,
        /// Why it cannot be used as it is.
        problem: &'static str,
    },
    /// Its owner may not write, read or enter it.
    #[error("{path:?} has mode {mode:04o}; make it usable with `chmod 700 {}`", quoted(path))]
    ClosedToOwner {
        /// The directory.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The system does not let it be used.
    #[error("cannot {what} {path:?}: {source}; choose another place with LEGWORK_STATE_DIR")]
    OutOfReach {
        /// What was tried: to make, open or write it.
        what: &'static str,
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file of legwork's own has lost its meaning.
    #[error("{path:?} is damaged: {problem}; remove it with `rm {}`", quoted(path))]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// Written by a newer legwork.
    #[error("{path:?} has format {found}, this legwork reads up to {known}; use a newer one")]
    FromTheFuture {
        /// Which file.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The newest that is known here.
        known: u32,
    },
    /// The system said no.
    #[error("{what} {path:?}: {source}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

/// The path as a shell takes it.
fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    // Only a NUL cannot be quoted, and no path has one.
    shlex::try_quote(&text).map_or_else(|_| text.to_string(), std::borrow::Cow::into_owned)
}

impl StateError {
    pub(super) fn io(
        what: &'static str,
        path: impl Into<PathBuf>,
        source: impl Into<std::io::Error>,
    ) -> StateError {
        StateError::Io { what, path: path.into(), source: source.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_in_a_command_survives_the_shell() {
        let error = StateError::OpenToOthers { path: "/tmp/it's mine".into(), mode: 0o755 };
        let text = error.to_string();
        let command = text.split('`').nth(1).unwrap();
        assert_eq!(shlex::split(command).unwrap(), ["chmod", "700", "/tmp/it's mine"]);
    }
}
