//! A home with jobs in it. Nobody is left behind when a test is over, however it ends.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::seen::{self, Call, Seen};

/// A home of its own, with its own state directory.
pub(crate) struct House {
    home: tempfile::TempDir,
}

impl House {
    pub(crate) fn new() -> House {
        House { home: tempfile::tempdir().expect("a home") }
    }

    pub(crate) fn path(&self) -> &Path {
        self.home.path()
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.path().join("state")
    }

    /// A call in this house.
    pub(crate) fn call<'a>(&self, words: impl IntoIterator<Item = &'a str>) -> Call {
        let mut call = seen::legwork(words);
        call.command.env("HOME", self.path()).current_dir(self.path());
        call.command.env("LEGWORK_STATE_DIR", self.state());
        call
    }

    /// What a person sees.
    pub(crate) fn person<'a>(&self, words: impl IntoIterator<Item = &'a str>) -> Seen {
        let mut words: Vec<&str> = words.into_iter().collect();
        // Behind the command, before anything that belongs to another program.
        words.splice(1..1, ["--output", "text"]);
        self.call(words).seen()
    }

    /// What an agent gets, and the exit code.
    pub(crate) fn agent<'a>(
        &self,
        words: impl IntoIterator<Item = &'a str>,
    ) -> (Value, Option<i32>) {
        let mut words: Vec<&str> = words.into_iter().collect();
        words.splice(1..1, ["--output", "json"]);
        let seen = self.call(words).seen();
        let answer =
            if seen.stdout.is_empty() { seen.error() } else { seen.json()["result"].clone() };
        (answer, seen.code)
    }

    /// Starts a job; its id.
    pub(crate) fn start<'a>(&self, words: impl IntoIterator<Item = &'a str>) -> String {
        let seen = self.call(std::iter::once("start").chain(words)).seen();
        assert_eq!((seen.code, seen.stderr.as_str()), (Some(0), ""), "{seen:?}");
        seen.stdout.trim().to_owned()
    }
}

impl Drop for House {
    fn drop(&mut self) {
        let mut stop = Command::new(seen::LEGWORK);
        stop.args(["stop", "--all", "--yes", "--grace", "100ms"]);
        stop.env("LEGWORK_STATE_DIR", self.state()).env_remove("LEGWORK_SESSION");
        let _ = stop.output();
    }
}
