//! From the arguments of a tool call to a command line.
//!
//! The invariant: what a model passes as a value reaches the program as that value, or the call is
//! refused. It never becomes a flag, a command or another argument's value. `--flag=value` and
//! what follows `--` are safe whatever they hold; where clap offers neither, a value that looks
//! like a flag is refused.

use std::ffi::{OsStr, OsString};

use clap::{Arg, ArgAction, ArgMatches, Command};
use rmcp::model::JsonObject;
use serde_json::Value;

use super::inputs::Input;

/// Where a value goes.
#[derive(Debug)]
pub(super) enum Place {
    Switch(String),
    Count(String),
    /// `--name=value`, once for each value.
    Option(String),
    /// `--name a b`: several values after one name.
    Options(Options),
    Positional(Dashes),
    /// A positional that comes after `--` only.
    Last,
    /// The confirmation itself.
    Confirm,
}

/// An option that takes several values at once.
#[derive(Debug)]
pub(super) struct Options {
    flag: String,
    delimiter: Option<char>,
    /// How many it can take at once.
    most: usize,
    /// Whether it can be given again.
    repeats: bool,
    dashes: Dashes,
}

/// What clap makes of a value that starts with `-`, where it does not follow `=` or `--`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Dashes {
    Refused,
    Numbers,
    Taken,
}

impl Dashes {
    pub(super) fn of(arg: &Arg) -> Self {
        if arg.is_allow_hyphen_values_set() {
            Dashes::Taken
        } else if arg.is_allow_negative_numbers_set() {
            Dashes::Numbers
        } else {
            Dashes::Refused
        }
    }

    fn allow(self, text: &str) -> bool {
        match self {
            _ if !text.starts_with('-') || text == "-" => true,
            Dashes::Refused => false,
            Dashes::Numbers => text.parse::<f64>().is_ok(),
            Dashes::Taken => true,
        }
    }
}

impl Place {
    pub(super) fn of(arg: &Arg) -> Self {
        let flag = spelling(arg);
        let (least, most) =
            arg.get_num_args().map_or((1, 1), |range| (range.min_values(), range.max_values()));
        match arg.get_action() {
            ArgAction::SetTrue | ArgAction::SetFalse => Place::Switch(flag),
            ArgAction::Count => Place::Count(flag),
            action => {
                let repeats = matches!(action, ArgAction::Append);
                if most > 1 && (!repeats || least > 1) {
                    Place::Options(Options {
                        flag,
                        delimiter: arg.get_value_delimiter(),
                        most,
                        repeats,
                        dashes: Dashes::of(arg),
                    })
                } else {
                    Place::Option(flag)
                }
            }
        }
    }
}

fn spelling(arg: &Arg) -> String {
    match (arg.get_long(), arg.get_short()) {
        (Some(long), _) => format!("--{long}"),
        (None, Some(short)) => format!("-{short}"),
        (None, None) => String::new(),
    }
}

/// A word of the line, and what a person may see of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Word {
    pub(super) text: OsString,
    pub(super) shown: String,
}

impl Word {
    fn plain(text: impl Into<OsString>) -> Self {
        let text = text.into();
        Word { shown: shown(&text), text }
    }

    fn value(text: &OsStr, sensitive: bool) -> Self {
        Word { text: text.to_owned(), shown: if sensitive { MASK.into() } else { shown(text) } }
    }

    /// `--flag=value`.
    fn inline(flag: &str, value: &OsStr, sensitive: bool) -> Self {
        let mut text = OsString::from(format!("{flag}="));
        text.push(value);
        let shown = if sensitive { format!("{flag}={MASK}") } else { shown(&text) };
        Word { text, shown }
    }
}

const MASK: &str = "***";

/// The most a person is shown of one word.
const MOST_SHOWN: usize = 200;

/// A word as a person can read it: what could move the cursor or look like other words is quoted.
fn shown(text: &OsStr) -> String {
    let text = text.to_string_lossy();
    let plain = |c: char| c.is_alphanumeric() || "-_=./:,+@%".contains(c);
    let mut shown: String = text.chars().take(MOST_SHOWN).collect();
    if shown.len() < text.len() {
        shown.push('…');
    } else if !shown.is_empty() && shown.chars().all(plain) {
        return shown;
    }
    format!("{shown:?}")
}

/// An argument of the program itself that the server was started with; every call gets it, unless
/// the call gives it anew.
#[derive(Clone, Debug)]
pub(super) struct Given {
    pub(super) id: String,
    pub(super) words: Vec<Word>,
    /// Its values, for the schema; none for a secret.
    pub(super) values: Vec<String>,
}

/// Reads the server's own command line once more. Forgivingly: what the program requires, a call
/// may bring.
pub(super) fn given(
    root: &Command,
    args: impl IntoIterator<Item = OsString>,
    is_sensitive: impl Fn(&Arg) -> bool,
) -> Vec<Given> {
    let mut forgiving = root.clone().ignore_errors(true);
    let Ok(matches) = forgiving.try_get_matches_from_mut(args) else {
        return Vec::new();
    };
    let own = root.get_arguments().filter(|arg| !crate::flags::is_infra(arg));
    own.filter_map(|arg| one_given(arg, &matches, is_sensitive(arg))).collect()
}

fn one_given(arg: &Arg, matches: &ArgMatches, sensitive: bool) -> Option<Given> {
    let id = arg.get_id().as_str();
    if matches.value_source(id) != Some(clap::parser::ValueSource::CommandLine) {
        return None;
    }
    let mut values: Vec<&OsStr> = Vec::new();
    let words = match Place::of(arg) {
        Place::Switch(flag) => vec![Word::plain(flag)],
        Place::Count(flag) => {
            let times = matches.try_get_one::<u8>(id).ok().flatten().copied().unwrap_or(1);
            vec![Word::plain(flag); usize::from(times)]
        }
        place => {
            let mut words = Vec::new();
            for occurrence in matches.get_raw_occurrences(id)? {
                let each: Vec<&OsStr> = occurrence.collect();
                match &place {
                    _ if arg.is_positional() => {
                        words.extend(each.iter().map(|value| Word::value(value, sensitive)));
                    }
                    Place::Options(options) if each.len() > 1 => {
                        words.push(Word::plain(&options.flag));
                        words.extend(each.iter().map(|value| Word::value(value, sensitive)));
                    }
                    _ => {
                        let flag = spelling(arg);
                        words
                            .extend(each.iter().map(|value| Word::inline(&flag, value, sensitive)));
                    }
                }
                values.extend(each);
            }
            words
        }
    };
    let values = values.iter().map(|value| value.to_string_lossy().into_owned());
    let values = if sensitive { Vec::new() } else { values.collect() };
    Some(Given { id: id.to_owned(), words, values })
}

/// The fixed parts of a tool's line.
pub(super) struct Line {
    pub(super) path: Vec<String>,
    pub(super) inputs: Vec<Input>,
    pub(super) given: Vec<Given>,
    pub(super) confirm_flag: Option<String>,
    /// `--` leads to one certain positional, so that it cannot stand before the others.
    pub(super) marker_moves: bool,
    /// Words that would be taken for a command.
    pub(super) commands: Vec<String>,
}

impl Line {
    /// The line for these arguments, without the program's name.
    pub(super) fn words(
        &self,
        arguments: &JsonObject,
        confirmed: bool,
    ) -> Result<Vec<Word>, String> {
        self.refuse_unknown(arguments)?;
        let mut levels: Vec<Vec<Word>> = vec![Vec::new(); self.path.len() + 1];
        for given in &self.given {
            let anew = self.inputs.iter().any(|input| {
                input.id == given.id && arguments.get(&input.property).is_some_and(is_given)
            });
            if !anew {
                levels[0].extend(given.words.iter().cloned());
            }
        }
        let mut positionals = Vec::new();
        let mut last = Vec::new();
        let mut confirmed = confirmed;
        let mut skipped: Option<&str> = None;
        for input in &self.inputs {
            let Some(value) = arguments.get(&input.property).filter(|value| is_given(value)) else {
                if matches!(input.place, Place::Positional(_)) {
                    skipped = skipped.or(Some(&input.property));
                }
                continue;
            };
            let wrong = |expected: &str| format!("'{}' must be {expected}", input.property);
            let value_word = |text: &String| Word::value(text.as_ref(), input.sensitive);
            let depth = input.depth.min(self.path.len());
            let level = &mut levels[depth];
            match &input.place {
                Place::Switch(flag) => {
                    if value.as_bool().ok_or_else(|| wrong("true or false"))? {
                        level.push(Word::plain(flag));
                    }
                }
                Place::Confirm => {
                    confirmed |= value.as_bool().ok_or_else(|| wrong("true or false"))?;
                }
                Place::Count(flag) => {
                    let times = value.as_u64().ok_or_else(|| wrong("a count"))?;
                    level.extend((0..times.min(255)).map(|_| Word::plain(flag)));
                }
                Place::Option(flag) => {
                    let texts = texts(value).ok_or_else(|| wrong("a plain value"))?;
                    let word = |text: &String| Word::inline(flag, text.as_ref(), input.sensitive);
                    level.extend(texts.iter().map(word));
                }
                Place::Options(options) => {
                    let texts = texts(value).ok_or_else(|| wrong("a list of plain values"))?;
                    let followed = depth < self.path.len();
                    level.extend(options.words(input, &texts, followed)?);
                }
                Place::Positional(dashes) => {
                    if let Some(skipped) = skipped {
                        return Err(format!("'{}' needs '{skipped}' before it", input.property));
                    }
                    let texts = texts(value).ok_or_else(|| wrong("a plain value"))?;
                    if self.marker_moves {
                        for text in &texts {
                            check(input, *dashes, text)?;
                            if self.commands.contains(text) {
                                return Err(format!(
                                    "'{}' cannot be '{text}', which names a command",
                                    input.property
                                ));
                            }
                        }
                    }
                    positionals.extend(texts.iter().map(value_word));
                }
                Place::Last => {
                    let texts = texts(value).ok_or_else(|| wrong("a list"))?;
                    last.extend(texts.iter().map(value_word));
                }
            }
        }
        let own = levels.last_mut().expect("one for the program itself");
        if let Some(flag) = self.confirm_flag.as_ref().filter(|_| confirmed) {
            own.push(Word::plain(flag));
        }
        if self.marker_moves {
            // Before the flags, one of which may take all that follows.
            own.splice(0..0, positionals);
        } else if !positionals.is_empty() {
            own.push(Word::plain("--"));
            own.extend(positionals);
        }
        if !last.is_empty() {
            own.push(Word::plain("--"));
            own.extend(last);
        }
        let mut names = self.path.iter();
        let mut words = Vec::new();
        for level in levels {
            words.extend(level);
            words.extend(names.next().map(Word::plain));
        }
        Ok(words)
    }

    fn refuse_unknown(&self, arguments: &JsonObject) -> Result<(), String> {
        let is_known = |name: &String| self.inputs.iter().any(|input| input.property == *name);
        match arguments.keys().find(|name| !is_known(name)) {
            None => Ok(()),
            Some(name) => {
                let known: Vec<_> =
                    self.inputs.iter().map(|input| input.property.as_str()).collect();
                Err(format!("there is no argument '{name}'; there are {}", known.join(", ")))
            }
        }
    }
}

impl Options {
    /// `followed`: a command's name comes after it.
    fn words(&self, input: &Input, texts: &[String], followed: bool) -> Result<Vec<Word>, String> {
        let flag = self.flag.as_str();
        if let [only] = texts {
            return Ok(vec![Word::inline(flag, only.as_ref(), input.sensitive)]);
        }
        if let Some(delimiter) = self.delimiter
            && !texts.is_empty()
            && !texts.iter().any(|text| text.contains(delimiter))
        {
            let joined = texts.join(&delimiter.to_string());
            return Ok(vec![Word::inline(flag, joined.as_ref(), input.sensitive)]);
        }
        for text in texts {
            check(input, self.dashes, text)?;
        }
        if followed && !texts.len().is_multiple_of(self.most) {
            let most = self.most;
            return Err(format!("'{}' takes one value here, or {most} at once", input.property));
        }
        let at_once = if self.repeats { self.most } else { texts.len().max(1) };
        let mut words = Vec::new();
        for each in texts.chunks(at_once) {
            words.push(Word::plain(flag));
            words.extend(each.iter().map(|text| Word::value(text.as_ref(), input.sensitive)));
        }
        Ok(words)
    }
}

fn check(input: &Input, dashes: Dashes, text: &str) -> Result<(), String> {
    if dashes.allow(text) {
        return Ok(());
    }
    let value = if input.sensitive { MASK } else { text };
    let property = &input.property;
    Err(format!("'{property}' cannot hold '{value}': here a value that starts with '-' is a flag"))
}

fn is_given(value: &Value) -> bool {
    !value.is_null()
}

/// A plain value, or a list of them, as words.
fn texts(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Number(number) => Some(vec![number.to_string()]),
        Value::Bool(value) => Some(vec![value.to_string()]),
        Value::Array(items) => {
            let each: Option<Vec<Vec<String>>> = items.iter().map(texts).collect();
            Some(each?.concat())
        }
        Value::Null | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::inputs;
    use crate::program::Program;
    use serde_json::json;

    /// The line a call of `tool run` becomes.
    fn line(run: Command, arguments: &Value) -> Result<String, String> {
        let root = Command::new("tool").arg(Arg::new("at").long("at").num_args(2));
        let program = Program::new(root.subcommand(run.name("run")));
        let path = vec!["run".to_owned()];
        let node = program.command.find_subcommand("run").unwrap();
        let line = Line {
            inputs: inputs::of(&program.command, &path, &program.settings),
            given: Vec::new(),
            confirm_flag: None,
            marker_moves: node.get_positionals().any(Arg::is_last_set),
            commands: vec!["below".to_owned()],
            path,
        };
        let words = line.words(arguments.as_object().unwrap(), false)?;
        let parsed = program.command.clone().try_get_matches_from(
            std::iter::once(OsString::from("tool")).chain(words.iter().map(|w| w.text.clone())),
        );
        assert!(parsed.is_ok(), "{words:?}: {}", parsed.unwrap_err());
        Ok(words.iter().map(|word| word.shown.as_str()).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn several_values_stay_with_their_option() {
        let items = Arg::new("items").long("items").num_args(1..);
        let listed =
            |arg: Arg, values: Value| line(Command::new("x").arg(arg), &json!({"items": values}));
        let split = items.clone().value_delimiter(',');
        let dashes = items.clone().allow_hyphen_values(true);
        let numbers = items.clone().allow_negative_numbers(true);
        let pairs = items.clone().num_args(2).action(ArgAction::Append);
        let each = items.clone().num_args(1).action(ArgAction::Append);
        assert_eq!(listed(items.clone(), json!(["-x"])).unwrap(), "run --items=-x");
        assert_eq!(listed(items.clone(), json!([])).unwrap(), "run");
        assert!(listed(items, json!(["a", "-x"])).unwrap_err().contains("'-x'"));
        assert_eq!(listed(split, json!(["-a", "--b"])).unwrap(), "run --items=-a,--b");
        assert_eq!(listed(dashes, json!(["a", "--b"])).unwrap(), "run --items a --b");
        assert_eq!(listed(numbers.clone(), json!([1, -2.5])).unwrap(), "run --items 1 -2.5");
        assert!(listed(numbers, json!([1, "-x"])).is_err());
        let four = json!([1, 2, 3, 4]);
        assert_eq!(listed(pairs, four).unwrap(), "run --items 1 2 --items 3 4");
        assert_eq!(listed(each, json!(["--a", "b"])).unwrap(), "run --items=--a --items=b");
    }

    #[test]
    fn an_option_with_a_short_name_alone_is_safe_too() {
        let each = Arg::new("each").short('e').action(ArgAction::Append);
        let given = json!({"e": ["--a", "b"]});
        assert_eq!(line(Command::new("x").arg(each), &given).unwrap(), "run -e=--a -e=b");
    }

    #[test]
    fn a_flag_stands_beside_the_command_that_declares_it() {
        let at = |values: Value| line(Command::new("x"), &json!({"at": values}));
        assert_eq!(at(json!([1, 2])).unwrap(), "--at 1 2 run");
        assert!(at(json!([1, 2, 3])).is_err());
    }

    #[test]
    fn positionals_cannot_be_anything_else() {
        let plain = Command::new("x").arg(Arg::new("a")).arg(Arg::new("b").num_args(0..));
        let both = json!({"a": "--schema", "b": ["-", "--"]});
        assert_eq!(line(plain.clone(), &both).unwrap(), "run -- --schema - --");
        assert!(line(plain, &json!({"b": ["x"]})).unwrap_err().contains("needs 'a'"));
        let items = Arg::new("items").long("items").num_args(1..);
        let last = Arg::new("rest").last(true).num_args(0..);
        let moved = Command::new("x").arg(Arg::new("a")).arg(last).arg(items);
        let given = json!({"a": "x", "items": ["b", "c"], "rest": ["--d"]});
        assert_eq!(line(moved.clone(), &given).unwrap(), "run x --items b c -- --d");
        assert!(line(moved.clone(), &json!({"a": "-x"})).is_err());
        assert!(line(moved, &json!({"a": "below"})).unwrap_err().contains("names a command"));
    }

    #[test]
    fn what_a_person_is_shown_cannot_pretend() {
        let see = |text: &str| shown(OsStr::new(text));
        assert_eq!(see("--file=a/b.json"), "--file=a/b.json");
        assert_eq!(see("a b"), "\"a b\"");
        assert_eq!(see("\u{1b}[2J\n"), "\"\\u{1b}[2J\\n\"");
        assert_eq!(see(""), "\"\"");
        assert!(see(&"x".repeat(5000)).ends_with("…\""));
    }
}
