//! Secrets do not reach the disk.

use std::path::Path;

use legwork_job::{JobSpec, Place};

use super::asking::{log_of, on_terminal, open, write};
use crate::support::Jobs;

const SECRET: &str = "correct-horse-battery";
const NAMED: &str = "staple-and-a-half";

/// The files below a folder that hold these bytes.
fn holding(folder: &Path, bytes: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if path.to_string_lossy().as_bytes().windows(bytes.len()).any(|window| window == bytes) {
            found.push(format!("the name {path:?}"));
        }
        if kind.is_dir() {
            found.extend(holding(&path, bytes));
        } else if kind.is_file() {
            let content = std::fs::read(&path).unwrap();
            if content.windows(bytes.len()).any(|window| window == bytes) {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

fn assert_not_on_disk(jobs: &Jobs) {
    for secret in [SECRET, NAMED] {
        assert_eq!(holding(&jobs.state(), secret.as_bytes()), Vec::<String>::new());
    }
}

/// A spec with both kinds of secrets in its environment.
fn with_secrets(mut spec: JobSpec) -> JobSpec {
    spec.env.push(("MY_TOKEN".into(), Some(SECRET.into())));
    spec.env.push(("PLAIN".into(), Some(NAMED.into())));
    spec.secrets.push("PLAIN".into());
    spec
}

#[test]
fn in_the_output_in_the_command_and_in_what_is_told() {
    let jobs = Jobs::new();
    let line = format!(
        "echo $MY_TOKEN and $PLAIN; echo \"error: $MY_TOKEN\" >&2; : {SECRET}; sh -c 'sleep 300' {NAMED}"
    );
    let mut spec = with_secrets(JobSpec::shell(line));
    spec.intent = Some(format!("with {SECRET}"));
    let id = jobs.start(&spec);
    let report = jobs.printed(id, "error: ");
    let stars = "*".repeat(SECRET.len());
    assert!(report.output.as_ref().unwrap().contains(&stars), "{report:?}");
    for secret in [SECRET, NAMED] {
        let told = serde_json::to_string(&report).unwrap();
        assert!(!told.contains(secret), "{told}");
    }
    assert_not_on_disk(&jobs);
    jobs.place.stop(id, None).unwrap();
    assert_not_on_disk(&jobs);
}

#[test]
fn of_the_environment_only_names_are_kept() {
    let jobs = Jobs::new();
    let mut spec = JobSpec::shell("true");
    spec.env.push(("HARMLESS".into(), Some("but-nobodys-business".into())));
    jobs.finish(&spec);
    assert_eq!(holding(&jobs.state(), b"but-nobodys-business"), Vec::<String>::new());
    assert_eq!(holding(&jobs.state(), b"HARMLESS").len(), 1);
}

#[test]
fn split_between_two_writes() {
    let jobs = Jobs::new();
    let line = "read a; printf '%s' \"$a\"; read b; printf '%s' \"$b\"; read c; echo end";
    let id = jobs.start(&with_secrets(open(line)));
    let (front, back) = SECRET.split_at(9);
    write(&jobs, id, format!("<{front}\n"));
    jobs.printed(id, "<");
    write(&jobs, id, format!("{back}>\n"));
    jobs.printed(id, ">");
    write(&jobs, id, "\n");
    let report = jobs.ended(id);
    let expected = format!("<{}>end\n", "*".repeat(SECRET.len()));
    assert_eq!(report.output.as_deref(), Some(expected.as_str()));
    assert_eq!(log_of(&jobs, id), expected.as_bytes(), "cursors stay what they are");
    assert_not_on_disk(&jobs);
}

#[test]
fn in_an_argument() {
    let jobs = Jobs::new();
    let report = jobs.finish(&with_secrets(JobSpec::argv(["echo", &format!("key={SECRET}")])));
    let masked = format!("key={}", "*".repeat(SECRET.len()));
    assert_eq!(report.argv.as_ref().unwrap()[1], masked);
    assert_eq!(report.output, Some(format!("{masked}\n")));
    assert_not_on_disk(&jobs);
}

#[test]
fn on_the_screen() {
    let jobs = Jobs::new();
    let spec = with_secrets(on_terminal(&["sh", "-c", "echo $MY_TOKEN; read a; echo end"]));
    let id = jobs.start(&spec);
    let screen = testkit::wait_for("the screen", || {
        Some(jobs.place.screen(id).unwrap()).filter(|screen| screen.rows[0].contains('*'))
    });
    assert_eq!(screen.rows[0], "*".repeat(SECRET.len()));
    // Typed, it comes back by echo.
    write(&jobs, id, format!("{NAMED}\r"));
    jobs.ended(id);
    let last = serde_json::to_string(&jobs.place.screen(id).unwrap()).unwrap();
    assert!(!last.contains(NAMED) && !last.contains(SECRET), "{last}");
    assert_not_on_disk(&jobs);
}

#[test]
fn in_the_survivors_and_where_the_job_cannot_start() {
    let jobs = Jobs::new();
    let line = format!("sh -c 'sleep 300; :' {SECRET} >/dev/null 2>&1 &");
    let report = jobs.finish(&with_secrets(JobSpec::shell(line)));
    assert!(!report.survivors.is_empty(), "{report:?}");
    assert_not_on_disk(&jobs);
    let spec = with_secrets(JobSpec::argv(["no-such-program-at-all", SECRET]));
    jobs.place.start(&spec).unwrap_err();
    assert_not_on_disk(&jobs);
}

#[test]
fn in_what_is_given_to_read() {
    let jobs = Jobs::new();
    let mut spec = with_secrets(JobSpec::argv(["cat"]));
    spec.stdin = legwork_job::Input::Bytes(format!("{SECRET}\n").into_bytes());
    jobs.finish(&spec);
    assert_not_on_disk(&jobs);
}

#[test]
fn one_split_by_the_end_of_a_read_is_held_back_only_for_a_while() {
    let jobs = Jobs::new();
    // It looks like the beginning of a secret, and is a prompt.
    let id = jobs.start(&with_secrets(open(&format!("printf '{}'; read a", &SECRET[..7]))));
    jobs.printed(id, &SECRET[..7]);
}

#[test]
fn lines_of_a_secret_are_hidden_on_a_terminal_and_colours_do_not_show_it_on_the_screen() {
    let jobs = Jobs::new();
    let mut spec = JobSpec::shell(r#"echo "$A_TOKEN"; printf 'zedzed\033[1mzedzed\n'"#);
    spec.env = vec![
        ("A_TOKEN".into(), Some("line1secret\nline2secret".into())),
        ("B_TOKEN".into(), Some("zedzedzedzed".into())),
    ];
    spec.terminal = Some(legwork_job::Size::default());
    let report = jobs.finish(&spec);
    let text = report.output.unwrap();
    assert!(!text.contains("line1secret") && !text.contains("line2secret"), "{text}");
    let screen = jobs.place.screen(report.id.unwrap()).unwrap();
    assert!(screen.rows.iter().all(|row| !row.contains("zedzedzedzed")), "{screen:?}");
}
