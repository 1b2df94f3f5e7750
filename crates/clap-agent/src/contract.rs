//! What a program promised, compared with what it promises now.
//!
//! `describe` is the contract: stable, sorted, committed beside the code. The comparison names
//! what would break a caller that relied on it (a command or flag gone, a type narrowed, an exit
//! code changed) and, apart from that, what merely changed.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

/// One difference between two contracts.
///
/// ```
/// use clap_agent::contract;
/// use serde_json::json;
///
/// let old = json!({"commands": [{"name": "list"}, {"name": "get"}]});
/// let new = json!({"commands": [{"name": "list"}]});
/// let changes = contract::compare(&old, &new);
/// assert!(changes[0].breaking);
/// assert_eq!(changes[0].to_string(), "breaking: `get`: the command is gone");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// A caller that relied on the old contract can fail.
    pub breaking: bool,
    /// Where: the command's path, and the flag or argument.
    pub place: String,
    /// What.
    pub what: String,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let weight = if self.breaking { "breaking" } else { "changed" };
        write!(f, "{weight}: `{}`: {}", self.place, self.what)
    }
}

/// Compares two `describe` documents: breaking changes first.
///
/// ```
/// use clap_agent::{Program, contract};
///
/// let now = serde_json::to_value(Program::new(clap::Command::new("x")).describe()).unwrap();
/// assert!(contract::compare(&now, &now).is_empty());
/// ```
#[must_use]
pub fn compare(old: &Value, new: &Value) -> Vec<Change> {
    let mut changes = Changes(Vec::new());
    if let (Some(old), Some(new)) = (old.get("command"), new.get("command")) {
        changes.command("", old, new);
    }
    changes.flags("", &old["flags"], &new["flags"]);
    changes.commands("", &old["commands"], &new["commands"]);
    let mut changes = changes.0;
    changes.sort_by_key(|change| !change.breaking);
    changes
}

struct Changes(Vec<Change>);

impl Changes {
    fn add(&mut self, breaking: bool, place: &str, what: impl Into<String>) {
        self.0.push(Change { breaking, place: place.to_owned(), what: what.into() });
    }

    fn commands(&mut self, prefix: &str, old: &Value, new: &Value) {
        let (old, new) = (by_name(old), by_name(new));
        for (name, was) in &old {
            let place = format!("{prefix} {name}").trim().to_owned();
            match new.get(name) {
                None => self.add(true, &place, "the command is gone"),
                Some(is) => {
                    self.command(&place, was, is);
                    self.commands(&place, &was["subcommands"], &is["subcommands"]);
                }
            }
        }
        for name in new.keys().filter(|name| !old.contains_key(*name)) {
            self.add(false, format!("{prefix} {name}").trim(), "the command is new");
        }
    }

    fn command(&mut self, place: &str, old: &Value, new: &Value) {
        self.flags(place, &old["flags"], &new["flags"]);
        self.arguments(place, &old["arguments"], &new["arguments"]);
        let (was, is) = (effect(old), effect(new));
        if was != is {
            // A call that went through may now be refused.
            let words = ["read", "write", "destructive"];
            let what = format!("effect {} is now {}", words[was], words[is]);
            self.add(is > was, place, what);
        }
        if old["idempotent"] == true && new["idempotent"] != true {
            self.add(true, place, "it is no longer safe to run again");
        }
        for key in ["summary", "when_to_use", "agent_description", "passthrough"] {
            if old[key] != new[key] {
                self.add(false, place, format!("{key} {} is now {}", old[key], new[key]));
            }
        }
        if old["idempotent"] != true && new["idempotent"] == true {
            self.add(false, place, "it is now safe to run again");
        }
        self.exits(place, &old["examples"], &new["examples"]);
        let (was, is) = (&old["returns"]["output_schema"], &new["returns"]["output_schema"]);
        match (was.is_null(), is.is_null()) {
            (false, true) => self.add(true, place, "the output schema is gone"),
            (false, false) => {
                let roots = (was, is);
                self.output(place, "result", was, is, roots, 0);
            }
            (true, _) => {}
        }
    }

    fn flags(&mut self, place: &str, old: &Value, new: &Value) {
        let (old, new) = (by_name(old), by_name(new));
        for (name, was) in &old {
            let flag = format!("{place} --{name}").trim().to_owned();
            let Some(is) = new.get(name) else {
                self.add(true, &flag, "the flag is gone");
                continue;
            };
            self.input(&flag, was, is);
            if was["default"] != is["default"] {
                let what = format!("default {} is now {}", was["default"], is["default"]);
                self.add(true, &flag, what);
            }
            if was["persistent"] == true && is["persistent"] != true {
                self.add(true, &flag, "the commands below no longer take it");
            }
            for other in texts(&is["mutually_exclusive_with"]) {
                if !texts(&was["mutually_exclusive_with"]).contains(&other) {
                    self.add(true, &flag, format!("it now excludes '{other}'"));
                }
            }
            if effect(is) > effect(was) {
                self.add(true, &flag, "its effect has risen");
            }
        }
        for (name, is) in new.iter().filter(|(name, _)| !old.contains_key(*name)) {
            let flag = format!("{place} --{name}").trim().to_owned();
            let required = is["required"] == true;
            let what = if required { "the flag is new and required" } else { "the flag is new" };
            self.add(required, &flag, what);
        }
    }

    fn arguments(&mut self, place: &str, old: &Value, new: &Value) {
        let empty = Vec::new();
        let old = old.as_array().unwrap_or(&empty);
        let new = new.as_array().unwrap_or(&empty);
        for (position, was) in old.iter().enumerate() {
            let name = was["name"].as_str().unwrap_or_default();
            let argument = format!("{place} {}", name.to_uppercase()).trim().to_owned();
            match new.get(position) {
                None => self.add(true, &argument, "the argument is gone"),
                Some(is) => self.input(&argument, was, is),
            }
        }
        for is in new.iter().skip(old.len()) {
            let name = is["name"].as_str().unwrap_or_default().to_uppercase();
            let required = is["required"] == true;
            let what =
                if required { "the argument is new and required" } else { "the argument is new" };
            self.add(required, format!("{place} {name}").trim(), what);
        }
    }

    /// What is taken in may widen, never narrow.
    fn input(&mut self, place: &str, old: &Value, new: &Value) {
        for key in ["description", "env", "sensitive"] {
            if old[key] != new[key] {
                self.add(false, place, format!("{key} {} is now {}", old[key], new[key]));
            }
        }
        let (was, is) = (&old["type"], &new["type"]);
        if was != is {
            let (was, is) = (was.as_str().unwrap_or_default(), is.as_str().unwrap_or_default());
            let what = format!("type {was} is now {is}");
            self.add(!widens(was, is), place, what);
        }
        if old["required"] != true && new["required"] == true {
            self.add(true, place, "it is now required");
        }
        let (was, is) = (texts(&old["enum"]), texts(&new["enum"]));
        if was.is_empty() && !is.is_empty() {
            self.add(true, place, format!("it now takes only {}", is.join(", ")));
        }
        for value in was.iter().filter(|value| !is.is_empty() && !is.contains(value)) {
            self.add(true, place, format!("it no longer takes '{value}'"));
        }
        let pattern = new["pattern"].as_str().unwrap_or_default();
        if !pattern.is_empty() && old["pattern"] != new["pattern"] {
            self.add(true, place, format!("it must now match '{pattern}'"));
        }
    }

    fn exits(&mut self, place: &str, old: &Value, new: &Value) {
        let by_command = |examples: &Value| -> BTreeMap<String, u64> {
            let examples = examples.as_array().cloned().unwrap_or_default();
            let pairs = examples.into_iter().filter_map(|example| {
                let code = example["expected_exit_code"].as_u64().unwrap_or(0);
                Some((example["command"].as_str()?.to_owned(), code))
            });
            pairs.collect()
        };
        let new = by_command(new);
        for (command, was) in by_command(old) {
            match new.get(&command) {
                Some(is) if *is != was => {
                    let what = format!("exit code {was} of `{command}` is now {is}");
                    self.add(true, place, what);
                }
                Some(_) => {}
                None => self.add(false, place, format!("the example `{command}` is gone")),
            }
        }
    }

    /// What is given out may gain, never lose.
    fn output(
        &mut self,
        place: &str,
        at: &str,
        old: &Value,
        new: &Value,
        roots: (&Value, &Value),
        depth: usize,
    ) {
        if depth > 24 {
            return;
        }
        let (old, new) = (resolve(old, roots.0), resolve(new, roots.1));
        let (was, is) = (types(old), types(new));
        if !was.is_empty() {
            for kind in is.iter().filter(|kind| !was.contains(kind)) {
                self.add(true, place, format!("{at} may now be {kind}"));
            }
            if is.is_empty() {
                self.add(true, place, format!("{at} may now be anything"));
            }
        }
        let (now, before) = (texts(&new["enum"]), texts(&old["enum"]));
        for value in now.iter().filter(|value| !before.is_empty() && !before.contains(value)) {
            self.add(true, place, format!("{at} may now be '{value}'"));
        }
        if let Some(fields) = old["properties"].as_object() {
            let required = texts(&new["required"]);
            for (name, was) in fields {
                let field = format!("{at}.{name}");
                match new["properties"].get(name) {
                    None => self.add(true, place, format!("{field} is gone")),
                    Some(is) => {
                        if texts(&old["required"]).contains(name) && !required.contains(name) {
                            self.add(true, place, format!("{field} may now be missing"));
                        }
                        self.output(place, &field, was, is, roots, depth + 1);
                    }
                }
            }
        }
        if !old["items"].is_null() && !new["items"].is_null() {
            let items = format!("{at}[]");
            self.output(place, &items, &old["items"], &new["items"], roots, depth + 1);
        }
    }
}

fn by_name(list: &Value) -> BTreeMap<String, &Value> {
    let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
    let named = list.iter().filter_map(|item| Some((item["name"].as_str()?.to_owned(), item)));
    named.collect()
}

fn texts(list: &Value) -> Vec<String> {
    let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

fn effect(of: &Value) -> usize {
    match of["effect"].as_str() {
        Some("destructive") => 2,
        Some("write") => 1,
        _ => 0,
    }
}

fn types(schema: &Value) -> Vec<String> {
    match &schema["type"] {
        Value::String(kind) => vec![kind.clone()],
        list => texts(list),
    }
}

fn resolve<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    let target = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
    target.and_then(|pointer| root.pointer(pointer)).unwrap_or(schema)
}

/// Whether everything of the one type is also of the other.
fn widens(old: &str, new: &str) -> bool {
    let single = |kind: &str| kind.trim_end_matches("Slice").to_owned();
    if new.ends_with("Slice") && !old.ends_with("Slice") {
        return single(new) == old || widens(old, &single(new));
    }
    matches!(
        (single(old).as_str(), single(new).as_str()),
        ("uint", "int" | "float64" | "string")
            | ("int", "float64" | "string")
            | ("float64" | "path", "string")
            | ("string", "path")
    ) && old.ends_with("Slice") == new.ends_with("Slice")
}
