//! The screen of a job with a terminal, driven by what is typed.

use legwork_job::{JobError, JobId, JobSpec, Place, Screen, Size, State};

use super::asking::{on_terminal, write};
use crate::support::Jobs;

fn shows(jobs: &Jobs, id: JobId, text: &str) -> Screen {
    testkit::wait_for(&format!("{text:?} on the screen"), || {
        let screen = jobs.place.screen(id).unwrap();
        screen.rows.iter().any(|row| row.contains(text)).then_some(screen)
    })
}

fn is_there(program: &str) -> bool {
    let there = legwork::cmd(["sh", "-c", &format!("command -v {program}")]).succeeds();
    if !there {
        eprintln!("skipped: there is no {program} here");
    }
    there
}

#[test]
fn a_shell_of_python() {
    let jobs = Jobs::new();
    let id = jobs.start(&on_terminal(&["python3", "-q"]));
    shows(&jobs, id, ">>>");
    write(&jobs, id, "6 * 7\r");
    let screen = shows(&jobs, id, "42");
    assert_eq!((screen.id, screen.state), (id, State::Running));
    assert_eq!(screen.size, Size { cols: 80, rows: 24 });
    assert_eq!(screen.rows.len(), 24);
    testkit::wait_until("it to wait for input", || {
        jobs.place.screen(id).unwrap().blocked_on.is_some()
    });
    write(&jobs, id, "exit()\r");
    jobs.ended(id);
    let last = jobs.place.screen(id).unwrap();
    assert_eq!(last.state, State::Ended);
    assert!(last.rows.iter().any(|row| row == "42"), "{last:?}");
}

#[test]
fn a_pager() {
    if !is_there("less") {
        return;
    }
    let jobs = Jobs::new();
    let file = jobs.state().join("lines");
    let text: String = (1..=500).map(|n| format!("line {n}.\n")).collect();
    std::fs::write(&file, text).unwrap();
    let id = jobs.start(&on_terminal(&["less", file.to_str().unwrap()]));
    let first = shows(&jobs, id, "line 1.");
    assert_eq!(first.rows[0], "line 1.");
    write(&jobs, id, "G");
    shows(&jobs, id, "line 500.");
    write(&jobs, id, "?line 77\\.\r");
    assert_eq!(shows(&jobs, id, "line 77.").rows[0], "line 77.");
    write(&jobs, id, "q");
    assert_eq!(jobs.ended(id).exit_code, Some(0));
}

#[test]
fn an_editor() {
    let Some(editor) = ["vim", "vi", "nano"].into_iter().find(|editor| is_there(editor)) else {
        return;
    };
    let jobs = Jobs::new();
    let file = jobs.state().join("text");
    let path = file.to_str().unwrap();
    let argv: &[&str] = match editor {
        "nano" => &["nano", path],
        _ => &[editor, "-u", "NONE", "-n", path],
    };
    let id = jobs.start(&on_terminal(argv));
    shows(&jobs, id, "text");
    if editor == "nano" {
        write(&jobs, id, "typed here");
        shows(&jobs, id, "typed here");
        write(&jobs, id, "\x0f\r\x18");
    } else {
        write(&jobs, id, "ityped here");
        shows(&jobs, id, "typed here");
        write(&jobs, id, "\x1b:wq\r");
    }
    assert_eq!(jobs.ended(id).exit_code, Some(0));
    assert_eq!(std::fs::read_to_string(file).unwrap(), "typed here\n");
}

#[test]
fn it_has_the_size_that_was_asked_for_and_another_one_by_attaching() {
    let jobs = Jobs::new();
    // Asked again and again: bash forgets a signal that comes while it runs the trap for the last.
    let script = "last=; while sleep 0.01; do now=$(stty size); \
                  [ \"$now\" = \"$last\" ] || echo $now; last=$now; done";
    let mut spec = on_terminal(&["bash", "-c", script]);
    spec.terminal = Some(Size { cols: 100, rows: 30 });
    let id = jobs.start(&spec);
    assert_eq!(shows(&jobs, id, "30 100").rows.len(), 30);
    let attached = jobs.place.attach(id, Some(Size { cols: 70, rows: 20 })).unwrap();
    let screen = shows(&jobs, id, "20 70");
    assert_eq!((screen.size, screen.rows.len()), (Size { cols: 70, rows: 20 }, 20));
    attached.resize(Size { cols: 60, rows: 10 }).unwrap();
    assert_eq!(shows(&jobs, id, "10 60").size, Size { cols: 60, rows: 10 });
}

#[test]
fn the_cursor_and_the_title_are_told() {
    let jobs = Jobs::new();
    let script = r"printf '\033]2;my title\007\033[3;5Hhere\033[?25l'; exec sleep 300";
    let id = jobs.start(&on_terminal(&["sh", "-c", script]));
    let screen = testkit::wait_for("a hidden cursor", || {
        Some(jobs.place.screen(id).unwrap()).filter(|screen| screen.cursor_hidden)
    });
    assert_eq!((screen.cursor_row, screen.cursor_col), (2, 8));
    assert_eq!(screen.rows[2], "    here");
    assert_eq!(screen.title.as_deref(), Some("my title"));
}

#[test]
fn without_a_terminal_there_is_none() {
    let jobs = Jobs::new();
    let live = jobs.shell("sleep 300");
    let ended = jobs.finish(&JobSpec::shell("true")).id.unwrap();
    for id in [live, ended] {
        let error = jobs.place.screen(id).unwrap_err();
        assert!(matches!(error, JobError::NotPossible { .. }), "{error}");
        assert!(error.to_string().contains("--pty"), "{error}");
    }
}
