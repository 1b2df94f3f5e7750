//! `--jq EXPR`, by jaq.
//!
//! The filter sees the result and its outputs become the new result: one output is itself, several
//! are a list, none is `null`. It is compiled once before the command runs, so that a mistake in
//! it costs nothing, and again where it is applied: a compiled filter cannot be given to the
//! writer, which is shared between threads.

use jaq_core::load::{Arena, File, Loader, lex, parse};
use jaq_core::{Compiler, Ctx, Vars, compile, data, load, unwrap_valr};
use jaq_json::{Val, read};

use crate::error::AgentError;
use crate::exit::Exit;
use crate::ordered::Ordered;

type Filter = jaq_core::Filter<data::JustLut<Val>>;

/// `repeat(.)` never ends.
const MOST_OUTPUTS: usize = 100_000;

/// Whether the filter compiles.
pub(crate) fn check(expression: &str) -> Result<(), AgentError> {
    compile(expression).map(drop)
}

/// The filter's outputs on a value.
pub(crate) fn run(expression: &str, value: &Ordered) -> Result<Ordered, AgentError> {
    let filter = compile(expression)?;
    let text = serde_json::to_vec(value)?;
    let input = read::parse_single(&text).map_err(|error| wrong(error.to_string()))?;
    let context = Ctx::<data::JustLut<Val>>::new(&filter.lut, Vars::new([]));
    let mut outputs = Vec::new();
    for output in filter.id.run((context, input)).map(unwrap_valr) {
        let output = output.map_err(|error| wrong(format!("--jq failed: {error}")))?;
        let output = serde_json::from_str(&output.to_string())
            .map_err(|error| wrong(format!("--jq gave something that is no JSON: {error}")))?;
        outputs.push(output);
        if outputs.len() > MOST_OUTPUTS {
            return Err(wrong(format!("--jq gave more than {MOST_OUTPUTS} outputs")));
        }
    }
    Ok(match outputs.len() {
        0 => Ordered::Null,
        1 => outputs.remove(0),
        _ => Ordered::Array(outputs),
    })
}

fn compile(expression: &str) -> Result<Filter, AgentError> {
    let defs = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs());
    let funs = jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs());
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
}
