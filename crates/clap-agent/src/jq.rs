//! `--jq EXPR`, by jaq.
//!
//! The filter sees the result and its outputs become the new result: one output is itself, several
//! are a list, none is `null`. It is compiled once before the command runs, so that a mistake in
//! it costs nothing, and again where it is applied.
//!
//! A filter is a program of the caller's. It gets no hold on the process: what jq has for that
//! (`env`, `halt`, `halt_error`, `debug`, `stderr`, `input`, `inputs`) is left out. It may still
//! recurse without end, loop or fill the memory, and none of that can be stopped from inside; so
//! it runs in a forked child with a limit on its time and its memory, and whatever becomes of the
//! child, the command's own answer is safe.

use std::time::Duration;

use jaq_core::load::{Arena, File, Loader, lex, parse};
use jaq_core::{Compiler, Ctx, Vars, compile, data, load, unwrap_valr};
use jaq_json::{Val, read};

use crate::error::AgentError;
use crate::exit::Exit;
use crate::ordered::Ordered;
use crate::sys::{self, Lost};

type Filter = jaq_core::Filter<data::JustLut<Val>>;

/// `repeat(.)` never ends.
const MOST_OUTPUTS: usize = 100_000;

/// How long a filter may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a filter may use beyond what the process has.
const MOST_MEMORY: u64 = 1 << 30;

/// What would reach outside the filter.
fn reaches_out(name: &str) -> bool {
    matches!(
        name,
        "env"
            | "halt"
            | "halt_error"
            | "debug"
            | "debug_empty"
            | "stderr"
            | "stderr_empty"
            | "input"
            | "inputs"
    )
}

/// Whether the filter compiles.
pub(crate) fn check(expression: &str) -> Result<(), AgentError> {
    compile(expression).map(drop)
}

/// The filter's outputs on a value.
pub(crate) fn run(expression: &str, value: &Ordered) -> Result<Ordered, AgentError> {
    run_within(expression, value, PATIENCE)
}

fn run_within(
    expression: &str,
    value: &Ordered,
    patience: Duration,
) -> Result<Ordered, AgentError> {
    let text = serde_json::to_vec(value)?;
    let answer = sys::in_child(patience, MOST_MEMORY, || match outputs(expression, &text) {
        // One byte says which of the two it is.
        Ok(text) => [b"+", text.as_bytes()].concat(),
        Err(error) => [b"-", error.to_string().as_bytes()].concat(),
    });
    let answer = answer.map_err(|lost| {
        wrong(match lost {
            Lost::Late => format!("--jq took longer than {} s", patience.as_secs_f32()),
            Lost::Died => "--jq recursed too deeply or needed too much memory".to_owned(),
            Lost::NoChild(error) => format!("--jq cannot be run: {error}"),
        })
    })?;
    match answer.split_first() {
        Some((b'+', text)) => Ok(serde_json::from_slice(text)
            .map_err(|error| wrong(format!("--jq gave something that is no JSON: {error}")))?),
        Some((_, message)) => Err(wrong(String::from_utf8_lossy(message).into_owned())),
        None => Err(wrong("--jq recursed too deeply or needed too much memory".to_owned())),
    }
}

/// The outputs as JSON text; runs in the child.
fn outputs(expression: &str, input: &[u8]) -> Result<String, AgentError> {
    let filter = compile(expression)?;
    let input = read::parse_single(input).map_err(|error| wrong(error.to_string()))?;
    let context = Ctx::<data::JustLut<Val>>::new(&filter.lut, Vars::new([]));
    let mut outputs = Vec::new();
    for output in filter.id.run((context, input)).map(unwrap_valr) {
        let output = output.map_err(|error| wrong(format!("--jq failed: {error}")))?;
        outputs.push(output.to_string());
        if outputs.len() > MOST_OUTPUTS {
            return Err(wrong(format!("--jq gave more than {MOST_OUTPUTS} outputs")));
        }
    }
    Ok(match outputs.len() {
        0 => "null".to_owned(),
        1 => outputs.remove(0),
        _ => format!("[{}]", outputs.join(",")),
    })
}

fn compile(expression: &str) -> Result<Filter, AgentError> {
    let defs = jaq_core::defs()
        .chain(jaq_std::defs().filter(|def| !reaches_out(def.name)))
        .chain(jaq_json::defs());
    let funs = jaq_core::funs()
        .chain(jaq_std::funs().filter(|(name, ..)| !reaches_out(name)))
        .chain(jaq_json::funs());
    let arena = Arena::default();
    let program = File { code: expression, path: () };
    let modules = Loader::new(defs)
        .load(&arena, program)
        .map_err(|errors| does_not_compile(expression, unreadable(&errors)))?;
    Compiler::default()
        .with_funs(funs)
        .compile(modules)
        .map_err(|errors| does_not_compile(expression, undefined(&errors)))
}

fn does_not_compile(expression: &str, (reason, part): (String, &str)) -> AgentError {
    // `part` is a slice of the expression where the error has a place in it.
    let offset = (part.as_ptr() as usize).wrapping_sub(expression.as_ptr() as usize);
    let place = match expression.get(..offset) {
        Some(before) if !part.is_empty() => {
            format!(" at character {}", before.chars().count() + 1)
        }
        _ => String::new(),
    };
    wrong(format!("--jq '{expression}' does not compile: {reason}{place}"))
        .with_suggestion("a filter looks like `.[] | select(.done) | .id`")
}

fn wrong(message: String) -> AgentError {
    AgentError::new(Exit::UserError, "flag_error", message).with_field("jq")
}

fn unreadable<'a>(errors: &load::Errors<&'a str, ()>) -> (String, &'a str) {
    let Some((_, error)) = errors.first() else {
        return ("it cannot be read".to_owned(), "");
    };
    match error {
        load::Error::Io(errors) => {
            (errors.first().map(|(_, reason)| reason.clone()).unwrap_or_default(), "")
        }
        load::Error::Lex(errors) => errors.first().map_or_else(
            || ("it cannot be read".to_owned(), ""),
            |(expected, rest): &lex::Error<&'a str>| {
                let place = match expected {
                    lex::Expect::Delim(open) => open,
                    _ => rest,
                };
                (format!("expected {}", expected.as_str()), *place)
            },
        ),
        load::Error::Parse(errors) => errors.first().map_or_else(
            || ("it cannot be read".to_owned(), ""),
            |(expected, rest): &parse::Error<&'a str>| {
                let found = if rest.is_empty() { "the end" } else { rest };
                (format!("expected {}, found '{found}'", expected.as_str()), *rest)
            },
        ),
    }
}

fn undefined<'a>(errors: &compile::Errors<&'a str, ()>) -> (String, &'a str) {
    let first = errors.iter().flat_map(|(_, errors)| errors).next();
    first.map_or_else(
        || ("it cannot be compiled".to_owned(), ""),
        |(name, kind)| (format!("undefined {} '{name}'", kind.as_str()), ""),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(expression: &str, json: &str) -> Result<String, AgentError> {
        let value: Ordered = serde_json::from_str(json).unwrap();
        let output = run(expression, &value)?;
        Ok(serde_json::to_string(&output).unwrap())
    }

    #[test]
    fn one_output_is_itself_several_are_a_list_none_is_null() {
        let list = r#"[{"id":1,"done":true},{"id":2,"done":false}]"#;
        assert_eq!(on("length", list).unwrap(), "2");
        assert_eq!(on(".[].id", list).unwrap(), "[1,2]");
        assert_eq!(on("map(select(.done)) | .[0]", list).unwrap(), r#"{"id":1,"done":true}"#);
        assert_eq!(on("empty", list).unwrap(), "null");
        assert!(on("repeat(1)", list).unwrap_err().to_string().contains("more than"));
    }

    #[test]
    fn mistakes_say_what_and_where() {
        for expression in [".[", "nonsense", ".a | | .b", "{", "\"", ".foo bar"] {
            let error = check(expression).unwrap_err();
            assert_eq!((error.kind(), error.field()), ("flag_error", "jq"), "{error}");
            assert!(error.to_string().contains(expression), "{error}");
        }
        assert!(check("nonsense").unwrap_err().to_string().contains("undefined"));
        assert!(on(".a", "[1]").unwrap_err().to_string().contains("--jq failed"));
    }

    #[test]
    fn a_filter_has_no_hold_on_the_process() {
        for name in ["env", "halt", "halt_error", "debug", "stderr", "input", "inputs", "$ENV"] {
            let error = check(name).unwrap_err().to_string();
            assert!(error.contains("undefined"), "{name}: {error}");
        }
        assert!(check("$__prog_args").is_err());
        // What is built on the rest still stands.
        check("[limit(3; range(10))] | @json, (map(tostring) | join(\"-\")), now, ltrimstr(\"x\")")
            .unwrap();
    }

    #[test]
    fn a_filter_that_runs_away_is_stopped() {
        let soon = Duration::from_millis(300);
        for endless in ["def f: f; f", "last(repeat(1))"] {
            let error = run_within(endless, &Ordered::Null, soon).unwrap_err().to_string();
            assert_eq!(error, "--jq took longer than 0.3 s", "{endless}");
        }
        for fatal in ["def f: 1 + f; f", "[repeat(\"x\" * 1000000)]"] {
            let error = run(fatal, &Ordered::Null).unwrap_err().to_string();
            assert!(error.contains("too deeply or needed too much memory"), "{fatal}: {error}");
        }
        assert_eq!(on("1", "null").unwrap(), "1");
    }
}
