//! Installs what the tests need and the machine lacks, saying what; or says what to install.

use legwork::prelude::*;

/// What the tests need: a shell line that succeeds where it is there, and the Debian package that
/// brings it.
const NEEDED: [(&str, &str); 15] = [
    ("command -v bash", "bash"),
    ("command -v bundle", "ruby-bundler"),
    ("command -v dash", "dash"),
    ("command -v find", "findutils"),
    ("command -v git", "git"),
    ("command -v less", "less"),
    ("command -v make", "make"),
    ("command -v mount", "mount"),
    ("command -v ps", "procps"),
    ("command -v python3", "python3"),
    ("python3 -c 'import ensurepip'", "python3-venv"),
    ("command -v ruby", "ruby"),
    ("command -v su", "util-linux"),
    ("command -v unshare", "util-linux"),
    ("command -v vi", "vim-tiny"),
];

/// Makes sure that everything needed is there.
pub(crate) fn missing_packages() -> Result<(), String> {
    let lacks = |probe: &str| !shell(probe).succeeds();
    let packages: Vec<&str> =
        NEEDED.iter().filter(|(probe, _)| lacks(probe)).map(|(_, package)| *package).collect();
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
    if lacks("command -v apt-get") {
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
