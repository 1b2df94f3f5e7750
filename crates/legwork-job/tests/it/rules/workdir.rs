//! Where a job runs.

use std::path::{Path, PathBuf};

use legwork_job::JobSpec;

use crate::support::Jobs;

fn runs_in(workdir: Option<PathBuf>) -> (String, Option<String>) {
    let jobs = Jobs::new();
    let report = jobs.finish(&JobSpec { workdir, ..JobSpec::argv(["/bin/pwd"]) });
    (report.output.unwrap(), report.workdir)
}

#[test]
fn where_the_caller_is_unless_said() {
    let here = std::env::current_dir().unwrap().display().to_string();
    assert_eq!(runs_in(None), (format!("{here}\n"), Some(here)));
}

#[test]
fn a_relative_one_is_the_callers() {
    let there = std::env::current_dir().unwrap().join("src").display().to_string();
    assert_eq!(runs_in(Some("src".into())), (format!("{there}\n"), Some(there)));
}

#[test]
fn a_whole_one_is_as_it_is() {
    let (printed, reported) = runs_in(Some("/".into()));
    assert_eq!((printed.as_str(), reported.as_deref()), ("/\n", Some("/")));
}

#[test]
fn a_relative_program_is_the_workdirs() {
    let jobs = Jobs::new();
    let folder = jobs.state();
    std::os::unix::fs::symlink("/bin/pwd", Path::new(&folder).join("here")).unwrap();
    let report =
        jobs.finish(&JobSpec { workdir: Some(folder.clone()), ..JobSpec::argv(["./here"]) });
    assert_eq!(report.output, Some(format!("{}\n", folder.display())), "{report:?}");
}
