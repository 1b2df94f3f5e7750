//! Finding the program: which file a name means, before anything is started.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD};

use crate::ending::NotStarted;
use crate::near;

/// The file to execute for `name`.
///
/// A name with a slash is a path, which the child takes from its workdir. Any other is looked up
/// in `path`, whose relative elements are taken from the workdir too and whose empty elements are
/// skipped. The first executable file wins; where only files without permission are found, that
/// is the answer.
pub(crate) fn program(
    name: &OsStr,
    path: Option<&OsStr>,
    workdir: Option<&Path>,
) -> Result<PathBuf, NotStarted> {
    if name.as_bytes().contains(&b'/') {
        return Ok(PathBuf::from(name));
    }
    let mut not_executable = false;
    for directory in directories(path) {
        let candidate = directory.join(name);
        match look(&from_workdir(workdir, &candidate)) {
            Look::Executable => return Ok(candidate),
            Look::NotExecutable => not_executable = true,
            Look::Nothing => {}
        }
    }
    if not_executable {
        return Err(NotStarted::NotExecutable);
    }
    Err(NotStarted::NotFound { near: near_names(name, path, workdir) })
}

/// Why the kernel said "no such file" of a program: the file itself, or its interpreter.
pub(crate) fn missing(program: &Path, workdir: Option<&Path>) -> NotStarted {
    if fs::metadata(from_workdir(workdir, program)).is_ok() {
        return NotStarted::BadInterpreter;
    }
    let near = match (program.parent(), program.file_name()) {
        (Some(directory), Some(name)) => {
            let directory =
                if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
            near_names(name, Some(directory.as_os_str()), workdir)
                .into_iter()
                .map(|near| directory.join(near).to_string_lossy().into_owned())
                .collect()
        }
        _ => Vec::new(),
    };
    NotStarted::NotFound { near }
}

fn directories(path: Option<&OsStr>) -> impl Iterator<Item = &Path> {
    path.unwrap_or_default()
        .as_bytes()
        .split(|b| *b == b':')
        .filter(|element| !element.is_empty())
        .map(|element| Path::new(OsStr::from_bytes(element)))
}

fn from_workdir(workdir: Option<&Path>, path: &Path) -> PathBuf {
    workdir.map_or_else(|| path.to_owned(), |workdir| workdir.join(path))
}

enum Look {
    Executable,
    NotExecutable,
    Nothing,
}

fn look(candidate: &Path) -> Look {
    // Asked for the effective user, as exec will.
    let may = rustix::fs::accessat(CWD, candidate, Access::EXEC_OK, AtFlags::EACCESS).is_ok();
    match fs::metadata(candidate) {
        Ok(facts) if facts.is_file() && may => Look::Executable,
        Ok(facts) if facts.is_file() => Look::NotExecutable,
        Ok(_) | Err(_) => Look::Nothing,
    }
}

fn near_names(name: &OsStr, path: Option<&OsStr>, workdir: Option<&Path>) -> Vec<String> {
    let names: Vec<OsString> = directories(path)
        .filter_map(|directory| fs::read_dir(from_workdir(workdir, directory)).ok())
        .flat_map(|entries| entries.flatten().map(|entry| entry.file_name()))
        .collect();
    near::nearest(&name.to_string_lossy(), names.iter().filter_map(|name| name.to_str()), 3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn place(directory: &Path, name: &str, mode: u32) {
        let path = directory.join(name);
        fs::write(&path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn the_first_executable_wins_and_a_directory_is_no_program() {
        let temp = tempfile::tempdir().unwrap();
        let [a, b, c] = ["a", "b", "c"].map(|name| temp.path().join(name));
        for directory in [&a, &b, &c] {
            fs::create_dir(directory).unwrap();
        }
        fs::create_dir(a.join("tool")).unwrap();
        place(&b, "tool", 0o644);
        place(&c, "tool", 0o755);
        let path = OsString::from(format!("{}::{}:{}", a.display(), b.display(), c.display()));
        assert_eq!(program("tool".as_ref(), Some(&path), None), Ok(c.join("tool")));

        let only_b = b.clone().into_os_string();
        assert_eq!(program("tool".as_ref(), Some(&only_b), None), Err(NotStarted::NotExecutable));

        let near = NotStarted::NotFound { near: vec!["tool".into()] };
        assert_eq!(program("tolo".as_ref(), Some(&path), None), Err(near));
    }

    #[test]
    fn relative_elements_are_taken_from_the_workdir() {
        let temp = tempfile::tempdir().unwrap();
        fs::create_dir(temp.path().join("bin")).unwrap();
        place(&temp.path().join("bin"), "tool", 0o755);
        let found = program("tool".as_ref(), Some("bin".as_ref()), Some(temp.path()));
        assert_eq!(found, Ok(PathBuf::from("bin/tool")));
        assert!(program("tool".as_ref(), Some(":".as_ref()), Some(temp.path())).is_err());
        assert!(program("tool".as_ref(), None, Some(temp.path())).is_err());
    }
}
