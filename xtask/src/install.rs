//! Installs what the tests need and the machine lacks, saying what; or says what to install.

use legwork::prelude::*;

/// A program that the tests run, and the Debian package that brings it.
const NEEDED: [(&str, &str); 7] = [
    ("bash", "bash"),
    ("bundle", "ruby-bundler"),
    ("find", "findutils"),
    ("git", "git"),
    ("make", "make"),
    ("ps", "procps"),
    ("ruby", "ruby"),
];

/// Makes sure that everything needed is there.
pub(crate) fn missing_packages() -> Result<(), String> {
    let lacks = |program: &str| !shell("command -v \"$1\"").arg(program).succeeds();
    let packages: Vec<&str> =
        NEEDED.iter().filter(|(program, _)| lacks(program)).map(|(_, package)| *package).collect();
    if packages.is_empty() {
        return Ok(());
    }
    let list = packages.join(" ");
    let by_hand =
        format!("the tests need Debian's {list}; install them: sudo apt-get install {list}");
    let privileged: &[&str] = if succeeds(["sh", "-c", "test $(id -u) = 0"]) {
        &[]
    } else if succeeds(["sudo", "-n", "true"]) {
        &["sudo", "-n"]
    } else {
        return Err(by_hand);
    };
    if lacks("apt-get") {
        return Err(by_hand);
    }
    eprintln!("installing Debian packages: {list}");
    let apt = |args: &[&str]| {
        let argv = privileged.iter().chain(&["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]);
        cmd(argv.chain(args).copied()).stdout(Output::Capture).stderr(Output::Capture).run()
    };
    let install = [&["install", "--yes", "--no-install-recommends"], &packages[..]].concat();
    apt(&["update"]).and_then(|_| apt(&install)).map_err(|error| {
        format!("{error}\n{}\n{by_hand}", error.stderr_tail().unwrap_or_default())
    })?;
    Ok(())
}
