//! A Ruby project's own bundle, from a tool that may itself be run by another Bundler.
//! `cargo run --example bundler -- path/to/project`

use legwork::prelude::*;

fn main() -> legwork::Result<()> {
    let project = std::env::args_os().nth(1).unwrap_or_else(|| ".".into());
    let scope = Scope::new().in_dir(project);

    // Outside a Bundler project this is an error that says where it looked.
    scope.bundle_exec(["ruby", "-e", "puts Bundler.default_gemfile"]).run()?;
    // The system's own Ruby, whatever Bundler or version manager is active here.
    scope.clean().sh(["ruby", "-e", "puts Gem.path.first"])?;
    Ok(())
}
