//! An xtask-like tool in thirty lines: `cargo run --example devtool -- check`.

use std::time::Duration;

use legwork::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let task = std::env::args().nth(1).unwrap_or_else(|| "check".into());
    // Commands run in the project's root, without the traces of the Cargo that runs this tool,
    // and know which task they belong to.
    let context = Context::detect_as("DEVTOOL").enter(&task);
    let project = Project::find()?.scope().without(Toolchain::Cargo).context(context);

    match task.as_str() {
        "check" => {
            if !project.succeeds(["git", "diff", "--quiet"]) {
                println!("note: there are uncommitted changes");
            }
            let head = project.capture(["git", "log", "-1", "--format=%h %s"])?;
            println!("checking {}", head.stdout_text().trim());
            project
                .command(["cargo", "metadata", "--no-deps", "--format-version=1"])
                .stdout(Output::Null)
                .timeout(Duration::from_secs(60))
                .run()?;
            println!("all good");
        }
        other => return Err(format!("no task {other:?}; there is \"check\"").into()),
    }
    Ok(())
}
