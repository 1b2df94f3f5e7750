//! Real output of real tools, and the lines in it that are diagnostics.
//!
//! `fixtures/NAME.txt` is what the tool printed (paths made neutral; go, clang and the assorted
//! lines are written after their format). `fixtures/NAME.found` lists the diagnostics; after a
//! change that is meant, write them anew with `BLESS=1` and read the difference.

use std::fs;
use std::path::{Path, PathBuf};

use legwork_view::{Diagnostics, Kind};

fn fixtures() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut paths: Vec<PathBuf> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ext| ext == "txt"));
    paths.sort();
    paths
}

#[test]
fn diagnostics_of_real_tools_are_found_and_nothing_else() {
    let bless = std::env::var_os("BLESS").is_some();
    let mut wrong = Vec::new();
    for path in fixtures() {
        let output = fs::read(&path).unwrap();
        let found: String = Diagnostics::scan(&output)
            .diagnostics
            .iter()
            .filter(|diagnostic| diagnostic.kind != Kind::Context)
            .map(|diagnostic| format!("{:?}: {}\n", diagnostic.kind, diagnostic.text))
            .collect();
        let expected = path.with_extension("found");
        if bless {
            fs::write(&expected, &found).unwrap();
        }
        if fs::read_to_string(&expected).unwrap_or_default() != found {
            wrong.push(format!("{}:\n{found}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn words_alone_are_no_diagnostics() {
    let lines = include_str!("../fixtures/not-diagnostics.txt");
    let wrong: Vec<_> = lines.lines().filter_map(|line| Some((Kind::of(line)?, line))).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_assorted_line_is_one() {
    let lines = include_str!("../fixtures/assorted.txt");
    let trace = ["  File \"/usr/bin/x\", line 1", "KeyboardInterrupt"];
    let missed: Vec<_> =
        lines.lines().filter(|line| Kind::of(line).is_none() && !trace.contains(line)).collect();
    assert!(missed.is_empty(), "{missed:#?}");
}
