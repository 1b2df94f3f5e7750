//! The command as it is meant to be installed: one static file.
//!
//! `legwork` is started twice for every job, once as the command and once as its supervisor; without
//! the dynamic linker each of them is there a quarter of a millisecond earlier. Static linking needs
//! an explicit target, or it would reach the compiler's own plug-ins, so a plain `cargo build` cannot
//! ask for it.

use std::path::PathBuf;

use legwork::prelude::*;

/// Builds it, and tells where it is. Where the C library has no static form, the ordinary build
/// serves, and that is said.
pub(crate) fn build(scope: &Scope) -> Result<PathBuf, String> {
    let about = scope.capture(["rustc", "-vV"]).map_err(|error| error.to_string())?;
    let about = about.stdout_text();
    let host = about.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.ok_or("rustc does not say which machine this is")?;
    let flags = format!(
        r#"target.{host}.rustflags=["-Ctarget-feature=+crt-static","-Crelocation-model=static"]"#
    );
    let build = ["cargo", "build", "--release", "--quiet", "--package", "legwork-cli"];
    let is_static = scope.command(build).args(["--target", host, "--config", &flags]).run();
    if is_static.is_ok() {
        return Ok(PathBuf::from(format!("target/{host}/release/legwork")));
    }
    eprintln!("no static build here (is the C library's static form installed?); linking as usual");
    scope.command(build).run().map_err(|error| error.to_string())?;
    Ok(PathBuf::from("target/release/legwork"))
}
