//! The program both halves of the comparison share.

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "tasks", version = "1.4.0", about = "Keeps a list of tasks")]
pub struct Cli {
    /// Where the tasks are kept
    #[arg(long, global = true, env = "TASKS_FILE", default_value = "tasks.json")]
    pub file: String,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Work with tasks
    #[command(subcommand)]
    Task(Task),
    /// Create one task for each line of a text file
    Import {
        /// The text file
        list: String,
        /// Throw away all tasks there are
        #[arg(long)]
        replace: bool,
    },
    /// Report tasks as they are added
    Watch {
        /// End after so many tasks
        #[arg(long)]
        count: Option<usize>,
    },
}

#[derive(Subcommand)]
pub enum Task {
    /// List tasks
    List {
        /// Only tasks of this status
        #[arg(long, value_parser = ["open", "done", "all"], default_value = "all")]
        status: String,
        /// Only tasks with this label
        #[arg(long)]
        label: Option<String>,
    },
    /// Show one task
    Get {
        /// The task's id
        id: u32,
    },
    /// Create a task
    Create {
        /// What is to be done
        title: String,
        /// A label
        #[arg(long)]
        label: Vec<String>,
    },
    /// Delete a task for good
    Delete {
        /// The task's id
        id: u32,
    },
}

#[derive(serde::Serialize)]
pub struct Item {
    pub id: u32,
    pub title: &'static str,
}

pub fn items(cli: &Cli) -> Vec<Item> {
    match &cli.command {
        Command::Task(Task::Get { id }) => vec![Item { id: *id, title: "buy milk" }],
        _ => vec![Item { id: 1, title: "buy milk" }, Item { id: 2, title: "file taxes" }],
    }
}
