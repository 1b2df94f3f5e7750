//! Commands whose stdout belongs to another program, and words that belong to it.

use crate::seen::{call, scratch};

#[test]
fn a_pipe_alone_does_not_switch_it() {
    let dir = scratch();
    let seen = call(dir.path(), "exec -- sh -c 'echo out; echo err >&2; exit 3'").pipe();
    assert_eq!((seen.stdout.as_str(), seen.stderr.as_str()), ("out\n", "err\n"));
    assert_eq!(seen.code, Some(3));
}

/// Its own errors have a number that cannot be mistaken for the other program's, and are words
/// unless an agent is known to read.
#[test]
fn its_own_errors_have_their_own_number() {
    let dir = scratch();
    let seen = call(dir.path(), "exec").pipe();
    assert_eq!(seen.code, Some(125));
    assert!(seen.stderr.starts_with("Error: the following required"), "{seen:?}");
    let seen = call(dir.path(), "exec --agent").pipe();
    assert_eq!((seen.code, seen.error()["code"].as_i64()), (Some(125), Some(125)));
    let seen = call(dir.path(), "exec").env("CLAUDECODE", "1").pipe();
    assert_eq!(seen.error()["code"], 125);
    let seen = call(dir.path(), "exec -- /does/not/exist").pipe();
    assert_eq!(seen.code, Some(125));
}

/// Nothing after the marker, nor inside a trailing argument, is taken as the crate's own.
#[test]
fn words_of_the_other_program_are_its_own() {
    let dir = scratch();
    for line in [
        "exec -- echo --schema --output nonsense --agent --yes --help",
        "exec echo --schema --output nonsense --agent --yes --help",
    ] {
        let seen = call(dir.path(), line).pipe();
        assert_eq!(seen.code, Some(0), "{line}: {seen:?}");
        assert_eq!(seen.stdout, "--schema --output nonsense --agent --yes --help\n", "{line}");
    }
    // Before it they are.
    assert_eq!(call(dir.path(), "exec --schema -- echo").pipe().json()["passthrough"], true);
    let seen = call(dir.path(), "exec --output json -- /does/not/exist --output text").pipe();
    assert_eq!(seen.error()["code"], 125);
}
