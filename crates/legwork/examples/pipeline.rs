//! A pipeline without a shell, and the status of every stage. `cargo run --example pipeline`

use legwork::prelude::*;

fn main() -> legwork::Result<()> {
    let words = cmd(["cat", "/etc/services"])
        .pipe(cmd(["tr", "-cs", "a-z", "\n"]))
        .pipe(cmd(["sort"]))
        .pipe(cmd(["uniq", "-c"]))
        .pipe(cmd(["sort", "-rn"]))
        .pipe(cmd(["head", "-3"]));
    // `head` ends early, so that an earlier stage may die of SIGPIPE, which is no failure here.
    let outcome = words.pipefail(Pipefail::AllButSigpipe).capture()?;
    print!("{}", outcome.stdout_text());

    let broken = cmd(["false"]).pipe(cmd(["cat"]));
    let outcome = broken.capture()?;
    let stages: Vec<String> = outcome.pipeline.iter().map(ToString::to_string).collect();
    println!(
        "a failure in front is not hidden: {} (stages: {})",
        outcome.ending,
        stages.join(", ")
    );
    Ok(())
}
