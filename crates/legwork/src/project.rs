//! Projects: the directory that a tool's commands run in by default.

use std::path::{Path, PathBuf};

use crate::error::InvalidInput;
use crate::quote;
use crate::scope::Scope;

/// What marks a project's root, most telling first.
const MARKERS: [&str; 2] = [".legwork.toml", ".git"];

/// A project: the nearest ancestor directory with a marker.
///
/// ```no_run
/// use legwork::prelude::*;
///
/// let project = Project::find()?;
/// project.scope().sh(["make", "test"])?;
/// project.scope().in_dir("docs").sh(["make"])?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    root: PathBuf,
}

impl Project {
    /// The project of the current directory: the nearest ancestor with `.legwork.toml`, else the
    /// nearest with `.git`.
    ///
    /// # Errors
    /// Where there is none; the error says where it looked and for what.
    ///
    /// ```no_run
    /// println!("{}", legwork::Project::find()?.root().display());
    /// # Ok::<(), legwork::InvalidInput>(())
    /// ```
    pub fn find() -> Result<Project, InvalidInput> {
        Project::find_from(".")
    }

    /// The same from another directory.
    ///
    /// # Errors
    /// As for [`find`](Project::find).
    ///
    /// ```
    /// assert!(legwork::Project::find_from("/usr").is_err());
    /// ```
    pub fn find_from(start: impl AsRef<Path>) -> Result<Project, InvalidInput> {
        Project::find_marked(start, MARKERS)
    }

    /// The same with markers of one's own; an earlier marker beats a later one, however near.
    ///
    /// # Errors
    /// As for [`find`](Project::find).
    ///
    /// ```
    /// let root = legwork::Project::find_marked("/usr/bin", ["proc"])?;
    /// assert_eq!(root.root().to_str(), Some("/"));
    /// # Ok::<(), legwork::InvalidInput>(())
    /// ```
    pub fn find_marked<'m>(
        start: impl AsRef<Path>,
        markers: impl IntoIterator<Item = &'m str>,
    ) -> Result<Project, InvalidInput> {
        let start = std::path::absolute(start.as_ref()).map_err(|error| {
            InvalidInput::new(
                "workdir",
                format!("the current directory: {error}"),
                "go to one that exists",
            )
        })?;
        let markers: Vec<&str> = markers.into_iter().collect();
        let root = markers
            .iter()
            .find_map(|marker| start.ancestors().find(|directory| directory.join(marker).exists()));
        match root {
            Some(root) => Ok(Project { root: root.to_owned() }),
            None => Err(InvalidInput::new(
                "workdir",
                format!("{} is in no project", quote::path(&start)),
                format!("make one of {} in its root", markers.join(", ")),
            )),
        }
    }

    /// Its root.
    ///
    /// ```
    /// # let project = legwork::Project::find_marked("/usr", ["proc"])?;
    /// assert!(project.root().is_absolute());
    /// # Ok::<(), legwork::InvalidInput>(())
    /// ```
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A scope whose commands run in its root.
    ///
    /// ```
    /// # let project = legwork::Project::find_marked("/usr", ["proc"])?;
    /// assert_eq!(project.scope().capture(["pwd"])?.stdout_text(), "/\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn scope(&self) -> Scope {
        Scope::new().in_dir(&self.root)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_own_marker_beats_a_nearer_repository() {
        let temp = tempfile::tempdir().unwrap();
        let inner = temp.path().join("a/b");
        fs::create_dir_all(inner.join(".git")).unwrap();
        assert_eq!(Project::find_from(&inner).unwrap().root(), inner);
        fs::write(temp.path().join(".legwork.toml"), "").unwrap();
        assert_eq!(Project::find_from(&inner).unwrap().root(), temp.path());
    }

    #[test]
    fn no_project_says_where_and_for_what_it_looked() {
        let temp = tempfile::tempdir().unwrap();
        let error = Project::find_marked(temp.path(), [".no-such-marker"]).unwrap_err();
        assert_eq!(error.field(), "workdir");
        assert!(error.to_string().contains(temp.path().to_str().unwrap()), "{error}");
        assert!(error.to_string().contains(".no-such-marker"), "{error}");
    }
}
