//! One annotation, every door: the other documents.

use serde_json::Value;

use crate::seen::{call, scratch};

fn described(format: &str) -> String {
    let seen = call(scratch().path(), &format!("describe --format {format}")).pipe();
    assert_eq!((seen.code, seen.stderr.as_str()), (Some(0), ""), "{format}");
    seen.stdout
}

#[test]
fn a_reference_in_markdown() {
    let text = described("markdown");
    assert!(text.starts_with("# tasks\n\nKeeps a list of tasks in a file\n"), "{text}");
    assert!(text.contains("## `tasks task delete`\n"));
    assert!(text.contains("Effect: **destructive**; safe to run again."));
    assert!(text.contains("| `--status` | `open` \\| `done` \\| `all` | `\"all\"` |"), "{text}");
    assert!(text.contains("| 9 | cancelled |"));
    assert!(!text.contains("--schema"), "infrastructure flags are left out");
}

#[test]
fn a_text_for_agents() {
    let text = described("agents");
    assert!(text.contains("| `tasks task delete ID` |"), "{text}");
    assert!(text.contains("`confirmation_required`"));
    let skill = described("skill");
    assert!(skill.starts_with("---\nname: tasks\ndescription: \"Keeps a list"), "{skill}");
}

#[test]
fn an_opencli_description() {
    let document: Value = serde_json::from_str(&described("opencli")).unwrap();
    assert_eq!(document["opencli"], "0.1");
    assert_eq!(document["info"]["version"], "1.4.0");
    let names: Vec<_> =
        document["commands"].as_array().unwrap().iter().map(|c| &c["name"]).collect();
    assert_eq!(names, ["exec", "import", "label", "task", "watch"]);
    let task = &document["commands"][3]["commands"];
    assert_eq!(task[3]["options"][2]["arguments"][0]["acceptedValues"][0], "open", "{task:#}");
}

#[test]
#[cfg(feature = "completions")]
fn completions_that_the_shell_accepts() {
    let dir = scratch();
    let script = described("bash");
    let path = dir.path().join("tasks.bash");
    std::fs::write(&path, &script).unwrap();
    let words =
        "COMP_WORDS=(tasks task de); COMP_CWORD=2; _tasks tasks de task; echo ${COMPREPLY[@]}";
    let line = format!(". {}; {words}", path.display());
    let out = std::process::Command::new("bash").args(["-c", &line]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&out.stdout).trim(), "delete", "{out:?}");
    // Our flags are completed as well, on commands this call did not reach.
    assert!(script.contains("--jq") || !cfg!(feature = "jq"));
    assert!(script.contains("--dry-run"));
    for shell in ["zsh", "fish", "elvish", "powershell"] {
        assert!(described(shell).contains("delete"), "{shell}");
    }
}

#[test]
#[cfg(feature = "man")]
fn manual_pages() {
    let pages = described("man");
    assert!(pages.contains(".TH tasks 1"), "{pages}");
    assert!(pages.contains(".TH tasks-task-delete 1"), "{pages}");
}

/// `describe` is stable and sorted, and its own infrastructure is left out.
#[test]
fn describe_is_stable_and_sorted() {
    let document: Value = serde_json::from_str(&described("json")).unwrap();
    assert_eq!(described("json"), described("json"));
    fn check(commands: &Value) {
        let names: Vec<_> = commands
            .as_array()
            .into_iter()
            .flatten()
            .map(|command| command["name"].as_str().unwrap())
            .collect();
        assert!(names.is_sorted(), "{names:?}");
        assert!(!names.iter().any(|name| ["describe", "mcp", "help"].contains(name)));
        for command in commands.as_array().into_iter().flatten() {
            let flags = command["flags"].as_array().cloned().unwrap_or_default();
            let names: Vec<_> = flags.iter().map(|flag| flag["name"].as_str().unwrap()).collect();
            assert!(names.is_sorted(), "{names:?}");
            for own in ["output", "schema", "agent", "yes", "force", "dry-run", "help", "version"] {
                assert!(!names.contains(&own), "{own}");
            }
            check(&command["subcommands"]);
        }
    }
    check(&document["commands"]);
    assert_eq!(document["capabilities"]["streaming"], true);
    assert_eq!(document["capabilities"]["dry_run"], true);
}

#[test]
fn help_and_version_are_texts_and_end_with_0() {
    let dir = scratch();
    let help = call(dir.path(), "task delete --help").pipe();
    assert_eq!(help.code, Some(0));
    assert!(help.stdout.contains("Usage: tasks task delete [OPTIONS] <ID>"), "{help:?}");
    assert!(help.stdout.contains("--dry-run") && help.stdout.contains("Options for agents"));
    let version = call(dir.path(), "--version").pipe();
    assert_eq!((version.code, version.stdout.as_str()), (Some(0), "tasks 1.4.0\n"));
}
