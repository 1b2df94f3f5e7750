//! A task list in a file: a small real tool, and what clap-agent makes of it.
//!
//! `cargo run --example tasks --all-features -- task create "buy milk" --yes`

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};
use clap_agent::{AgentError, Effect, Example, Exit, FlagNotes, Notes, Progress, Returns, Writer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Keeps a list of tasks in a file
#[derive(Parser)]
#[command(name = "tasks", version = "1.4.0")]
struct Cli {
    /// Where the tasks are kept
    #[arg(long, global = true, env = "TASKS_FILE", default_value = "tasks.json")]
    file: PathBuf,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Work with tasks
    #[command(subcommand)]
    Task(Task),
    /// Work with labels
    #[command(subcommand)]
    Label(Label),
    /// Create one task for each line of a text file
    #[command(add = Notes::write()
        .when_to_use("many tasks at once; for a single one use `task create`")
        .flag("replace", FlagNotes::new().raises(Effect::Destructive))
        .returns(Returns::of::<Imported>("how many tasks were created"))
        .example(Example::new("tasks import list.txt --yes").says("one task for each line")))]
    Import {
        /// The text file
        list: PathBuf,
        /// Throw away all tasks there are
        #[arg(long)]
        replace: bool,
        /// Wait so long after each line
        #[arg(long, default_value_t = 0, value_name = "MS")]
        pace: u64,
    },
    /// Report tasks as they are added
    #[command(add = Notes::read()
        .streaming()
        .when_to_use("to be told about new tasks instead of asking again and again")
        .returns(Returns::of::<Watched>("how many tasks were reported"))
        .example(Example::new("tasks watch --count 2").says("the first two")))]
    Watch {
        /// End after so many tasks
        #[arg(long)]
        count: Option<usize>,
    },
    /// Run another program with TASKS_FILE set; its output and status are passed through
    #[command(add = Notes::read()
        .passthrough()
        .errors_exit(Exit::Other(125))
        .hide_from_mcp()
        .example(Example::new("tasks exec -- sh -c 'exit 7'").exits(Exit::Conflict)))]
    Exec {
        /// The program and its arguments
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        argv: Vec<String>,
    },
}

#[derive(Subcommand)]
enum Task {
    /// List tasks
    #[command(add = Notes::read()
        .idempotent()
        .when_to_use("to see what there is, before creating or deleting")
        .returns(Returns::of::<Vec<Item>>("the tasks, oldest first"))
        .example(Example::new("tasks task list"))
        .example(Example::new("tasks task list --status done --fields id,title")))]
    List {
        /// Only tasks of this status
        #[arg(long, value_enum, default_value_t = Status::All)]
        status: Status,
        /// Only tasks with this label
        #[arg(long)]
        label: Option<String>,
    },
    /// Show one task
    #[command(add = Notes::read()
        .idempotent()
        .returns(Returns::of::<Item>("the task"))
        .example(Example::new("tasks task get 1"))
        .example(Example::new("tasks task get 99").says("no such task").exits(Exit::NotFound)))]
    Get {
        /// The task's id
        id: u32,
    },
    /// Create a task
    #[command(add = Notes::write()
        .when_to_use("after `task list` showed that it is not there yet")
        .returns(Returns::of::<Item>("the new task"))
        .example(Example::new("tasks task create 'water the plants' --priority high --yes")))]
    Create {
        /// What is to be done
        title: String,
        /// How much it matters
        #[arg(long, value_enum, default_value_t = Priority::Normal)]
        priority: Priority,
        /// A label; may be given several times
        #[arg(long, add = FlagNotes::new().pattern("^[a-z-]+$"))]
        label: Vec<String>,
    },
    /// Change a task
    #[command(add = Notes::write()
        .idempotent()
        .returns(Returns::of::<Item>("the task as it is now"))
        .example(Example::new("tasks task update 1 --done --yes").says("finish a task")))]
    Update {
        /// The task's id
        id: u32,
        /// A new title
        #[arg(long)]
        title: Option<String>,
        /// Mark it as done
        #[arg(long, conflicts_with = "open")]
        done: bool,
        /// Mark it as open again
        #[arg(long)]
        open: bool,
    },
    /// Delete a task for good
    #[command(add = Notes::destructive()
        .idempotent()
        .dry_run()
        .when_to_use("it was created by mistake; to finish a task use `task update --done`")
        .returns(Returns::of::<Item>("the task that is gone"))
        .example(Example::new("tasks task delete 1 --dry-run").says("only the plan"))
        .example(Example::new("tasks task delete 1 --yes"))
        .example(Example::new("tasks task delete 1").says("not confirmed").exits(Exit::UserError)))]
    Delete {
        /// The task's id
        id: u32,
    },
}

#[derive(Subcommand)]
enum Label {
    /// List labels
    #[command(add = Notes::read()
        .when_to_use("before filtering tasks by label")
        .returns(Returns::of::<Vec<String>>("the labels in use, sorted"))
        .example(Example::new("tasks label list")))]
    List,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Status {
    Open,
    Done,
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Priority {
    Low,
    Normal,
    High,
}

/// One task.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
struct Item {
    id: u32,
    title: String,
    done: bool,
    priority: Priority,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    labels: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct Imported {
    created: usize,
    skipped: usize,
}

#[derive(Serialize, JsonSchema)]
struct Watched {
    reported: usize,
}

fn main() -> ExitCode {
    clap_agent::run::<Cli>(app)
}

fn app(cli: Cli, out: &Writer) -> Result<Exit, AgentError> {
    let file = &cli.file;
    match cli.command {
        Command::Task(task) => tasks(task, file, out)?,
        Command::Label(Label::List) => labels(file, out)?,
        Command::Import { list, replace, pace } => import(&list, replace, pace, file, out)?,
        Command::Watch { count } => watch(count, file, out)?,
        Command::Exec { argv } => return exec(&argv, file),
    }
    Ok(Exit::Ok)
}

fn tasks(task: Task, file: &Path, out: &Writer) -> Result<(), AgentError> {
    let mut items = load(file)?;
    match task {
        Task::List { status, label } => {
            items.retain(|item| match status {
                Status::All => true,
                Status::Done => item.done,
                Status::Open => !item.done,
            });
            items.retain(|item| label.as_ref().is_none_or(|label| item.labels.contains(label)));
            let lines: Vec<String> = items.iter().map(line).collect();
            let text = if lines.is_empty() { "no tasks".to_owned() } else { lines.join("\n") };
            out.success(text, &items)
        }
        Task::Get { id } => {
            let item = &items[find(&items, id)?];
            out.success(line(item), item)
        }
        Task::Create { title, priority, label } => {
            if title.trim().is_empty() {
                return Err(AgentError::user("the title is empty", "say what is to be done")
                    .with_field("title"));
            }
            if let Some(same) = items.iter().find(|item| item.title == title) {
                let message = format!("task {} has this title already", same.id);
                return Err(AgentError::conflict(message).with_field("title"));
            }
            let item = Item { id: next_id(&items), title, done: false, priority, labels: label };
            items.push(item.clone());
            save(file, &items)?;
            out.success(format!("created task {}", item.id), &item)
        }
        Task::Update { id, title, done, open } => {
            let at = find(&items, id)?;
            let item = &mut items[at];
            item.title = title.unwrap_or(item.title.clone());
            item.done = done || (item.done && !open);
            let item = item.clone();
            save(file, &items)?;
            out.success(line(&item), &item)
        }
        Task::Delete { id } => {
            let at = find(&items, id)?;
            let item = items.remove(at);
            if out.is_dry_run() {
                return out.plan(format!("would delete: {}", line(&item)), &item);
            }
            save(file, &items)?;
            out.success(format!("deleted: {}", line(&item)), &item)
        }
    }
}

fn labels(file: &Path, out: &Writer) -> Result<(), AgentError> {
    let mut labels: Vec<String> = load(file)?.into_iter().flat_map(|item| item.labels).collect();
    labels.sort();
    labels.dedup();
    out.success(labels.join("\n"), &labels)
}

fn import(
    list: &Path,
    replace: bool,
    pace: u64,
    file: &Path,
    out: &Writer,
) -> Result<(), AgentError> {
    let text = fs::read_to_string(list).map_err(|error| {
        AgentError::not_found(format!("cannot read '{}': {error}", list.display()))
            .with_field("list")
    })?;
    let lines: Vec<&str> = text.lines().collect();
    let mut items = if replace { Vec::new() } else { load(file)? };
    let mut skipped = 0;
    for (at, title) in lines.iter().enumerate() {
        if title.trim().is_empty() {
            out.log("skipped an empty line");
            skipped += 1;
            continue;
        }
        items.push(Item {
            id: next_id(&items),
            title: (*title).to_owned(),
            done: false,
            priority: Priority::Normal,
            labels: Vec::new(),
        });
        sleep(Duration::from_millis(pace));
        let (done, all) = (at as u64 + 1, lines.len() as u64);
        out.progress(
            &Progress::of(done, all).stage("import").message(*title).eta_ms((all - done) * pace),
        );
    }
    save(file, &items)?;
    let created = lines.len() - skipped;
    out.success(format!("created {created} tasks"), &Imported { created, skipped })
}

fn watch(count: Option<usize>, file: &Path, out: &Writer) -> Result<(), AgentError> {
    let mut reported = 0;
    let mut last = 0;
    loop {
        // Read once: a task added between two looks would be taken for seen.
        for item in load(file)? {
            if item.id <= last || count == Some(reported) {
                continue;
            }
            last = item.id;
            out.event(&serde_json::json!({"type": "task", "id": item.id, "title": item.title}))?;
            out.log(format!("new: {}", item.title));
            reported += 1;
        }
        if count == Some(reported) {
            return out.success(format!("reported {reported} tasks"), &Watched { reported });
        }
        sleep(Duration::from_millis(20));
    }
}

fn exec(argv: &[String], file: &Path) -> Result<Exit, AgentError> {
    let status = std::process::Command::new(&argv[0])
        .args(&argv[1..])
        .env("TASKS_FILE", file)
        .status()
        .map_err(|error| {
            AgentError::not_found(format!("cannot run '{}': {error}", argv[0]))
                .with_exit(Exit::Other(125))
        })?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(Exit::from_code(code.unwrap_or(125)))
}

fn load(file: &Path) -> Result<Vec<Item>, AgentError> {
    match fs::read_to_string(file) {
        Ok(text) => serde_json::from_str(&text).map_err(|error| {
            AgentError::tool(format!("'{}' is no task file: {error}", file.display()))
                .with_suggestion("give another one with --file")
        }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

fn save(file: &Path, items: &[Item]) -> Result<(), AgentError> {
    let mut beside = file.as_os_str().to_owned();
    beside.push(".new");
    fs::write(&beside, serde_json::to_string_pretty(items)?)?;
    Ok(fs::rename(&beside, file)?)
}

fn find(items: &[Item], id: u32) -> Result<usize, AgentError> {
    items.iter().position(|item| item.id == id).ok_or_else(|| {
        AgentError::not_found(format!("no task has the id {id}"))
            .with_suggestion("run `tasks task list` to see the ids")
            .with_field("id")
            .with_valid_values(items.iter().map(|item| item.id.to_string()))
    })
}

fn next_id(items: &[Item]) -> u32 {
    items.iter().map(|item| item.id).max().unwrap_or(0) + 1
}

fn line(item: &Item) -> String {
    let mark = if item.done { "x" } else { " " };
    let mut line = format!("[{mark}] {:>3}  {}", item.id, item.title);
    if item.priority != Priority::Normal {
        line.push_str(&format!("  ({:?})", item.priority).to_lowercase());
    }
    for label in &item.labels {
        line.push_str(&format!("  #{label}"));
    }
    line
}
