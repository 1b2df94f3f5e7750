//! `--fields a,b.c` and `--jq EXPR`: an agent pays only for what it reads.
//!
//! Both work on the result (or on the document of `--schema` and `describe`), not on events, whose
//! shape is another. What can be told to be wrong beforehand is told before the command has done
//! anything. What goes wrong afterwards must not look as if nothing had been done: the answer is
//! then printed whole, and the error says so ([`after_the_work`]).

use serde_json::Value;

use crate::error::AgentError;
use crate::exit::Exit;
use crate::ordered::Ordered;

/// What to keep of a result.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    fields: Vec<Field>,
    jq: Option<String>,
    /// The fields were found in the declared schema: one that is not there is only absent.
    declared: bool,
}

/// One name, and what is wanted below it; nothing below means all of it.
#[derive(Clone, Debug, PartialEq)]
struct Field {
    name: String,
    below: Vec<Field>,
}

impl Selection {
    /// Reads both flags. A filter that does not compile is told now.
    pub(crate) fn new(fields: Option<&str>, jq: Option<&str>) -> Result<Self, AgentError> {
        let mut selection = Selection { jq: jq.map(str::to_owned), ..Selection::default() };
        for path in fields.unwrap_or_default().split(',').map(str::trim) {
            let names: Vec<&str> = path.split('.').collect();
            if fields.is_some() && names.iter().any(|name| name.is_empty()) {
                return Err(wrong_fields("--fields has an empty name".to_owned())
                    .with_suggestion("name fields like `id,owner.name`"));
            }
            if fields.is_some() {
                insert(&mut selection.fields, &names);
            }
        }
        if let Some(expression) = &selection.jq {
            check_jq(expression)?;
        }
        Ok(selection)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.fields.is_empty() && self.jq.is_none()
    }

    /// Compares `--fields` with the declared output schema, before the command runs.
    pub(crate) fn check_against(&mut self, schema: &Value) -> Result<(), AgentError> {
        for field in &self.fields {
            check_field(field, schema, schema, "")?;
        }
        self.declared = true;
        Ok(())
    }

    /// The part of the value that was asked for.
    pub(crate) fn apply(&self, value: Ordered) -> Result<Ordered, AgentError> {
        let value = if self.fields.is_empty() {
            value
        } else {
            let mut found = Found::of(&self.fields);
            let kept = keep(&value, &self.fields, &mut found);
            if !self.declared
                && let Some((path, at)) = found.missing("")
            {
                let names = names_at(&value, &at);
                if !names.is_empty() || !is_empty_list(&value) {
                    return Err(no_such_field(&path, &names));
                }
            }
            kept
        };
        match &self.jq {
            Some(expression) => run_jq(expression, &value),
            None => Ok(value),
        }
    }
}

/// An error of selecting from the answer of a command that has done its work. Trying again would
/// do it again, so it is not recoverable.
pub(crate) fn after_the_work(error: &AgentError) -> AgentError {
    let message =
        format!("the command has done its work and its whole result is given, but {error}");
    AgentError::new(Exit::Partial, error.kind(), message)
        .with_field(error.field())
        .with_valid_values(error.valid_values())
        .with_suggestion("take what you need from the whole result; do not run it again for that")
}

fn insert(fields: &mut Vec<Field>, names: &[&str]) {
    let Some((first, rest)) = names.split_first() else {
        return;
    };
    let position = fields.iter().position(|field| field.name == *first);
    let index = position.unwrap_or_else(|| {
        fields.push(Field { name: (*first).to_owned(), below: Vec::new() });
        fields.len() - 1
    });
    insert(&mut fields[index].below, rest);
}

/// Which of the wanted fields were seen in any element of a list.
struct Found<'a> {
    fields: Vec<(&'a Field, bool, Found<'a>)>,
}

impl<'a> Found<'a> {
    fn of(fields: &'a [Field]) -> Self {
        Found {
            fields: fields.iter().map(|field| (field, false, Found::of(&field.below))).collect(),
        }
    }

    /// The first path that was never seen, and the names that lead to its parent.
    fn missing(&self, prefix: &str) -> Option<(String, Vec<String>)> {
        for (field, seen, below) in &self.fields {
            let path = join(prefix, &field.name);
            if !seen {
                let parents = prefix.split('.').filter(|name| !name.is_empty());
                return Some((path, parents.map(str::to_owned).collect()));
            }
            if let Some(missing) = below.missing(&path) {
                return Some(missing);
            }
        }
        None
    }
}

fn join(prefix: &str, name: &str) -> String {
    if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") }
}

fn keep(value: &Ordered, wanted: &[Field], found: &mut Found<'_>) -> Ordered {
    if wanted.is_empty() {
        return value.clone();
    }
    match value {
        Ordered::Array(items) => {
            Ordered::Array(items.iter().map(|item| keep(item, wanted, found)).collect())
        }
        Ordered::Object(fields) => {
            let mut kept = Vec::with_capacity(wanted.len());
            for (field, (_, seen, below)) in wanted.iter().zip(&mut found.fields) {
                if let Some((name, value)) = fields.iter().find(|(name, _)| *name == field.name) {
                    *seen = true;
                    if matches!(value, Ordered::Null) || is_empty_list(value) {
                        // An absent owner has no name, nor have no owners; that is not the
                        // caller's mistake.
                        below.see_all();
                    }
                    kept.push((name.clone(), keep(value, &field.below, below)));
                }
            }
            Ordered::Object(kept)
        }
        other => other.clone(),
    }
}

impl Found<'_> {
    fn see_all(&mut self) {
        for (_, seen, below) in &mut self.fields {
            *seen = true;
            below.see_all();
        }
    }
}

fn is_empty_list(value: &Ordered) -> bool {
    matches!(value, Ordered::Array(items) if items.is_empty())
}

/// The names there are at a place of a value.
fn names_at(value: &Ordered, path: &[String]) -> Vec<String> {
    match (value, path.split_first()) {
        (Ordered::Array(items), _) => {
            let mut names: Vec<String> = Vec::new();
            for name in items.iter().flat_map(|item| names_at(item, path)) {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            names
        }
        (Ordered::Object(fields), None) => fields.iter().map(|(name, _)| name.clone()).collect(),
        (Ordered::Object(fields), Some((first, rest))) => fields
            .iter()
            .filter(|(name, _)| name == first)
            .flat_map(|(_, value)| names_at(value, rest))
            .collect(),
        _ => Vec::new(),
    }
}

fn check_field(
    field: &Field,
    schema: &Value,
    root: &Value,
    prefix: &str,
) -> Result<(), AgentError> {
    let path = join(prefix, &field.name);
    let Some(properties) = properties(schema, root, 0) else {
        return Ok(());
    };
    let Some((_, below)) = properties.iter().find(|(name, _)| *name == field.name) else {
        let names: Vec<String> = properties.into_iter().map(|(name, _)| name).collect();
        return Err(no_such_field(&path, &names));
    };
    for inner in &field.below {
        check_field(inner, below, root, &path)?;
    }
    Ok(())
}

/// The properties a schema lists; `None` where it leaves open what there is.
fn properties<'a>(
    schema: &'a Value,
    root: &'a Value,
    depth: usize,
) -> Option<Vec<(String, &'a Value)>> {
    if depth > 16 {
        return None;
    }
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let target = root.pointer(reference.strip_prefix('#')?)?;
        return properties(target, root, depth + 1);
    }
    if let Some(items) = schema.get("items") {
        return properties(items, root, depth + 1);
    }
    for union in ["anyOf", "oneOf", "allOf"] {
        if let Some(variants) = schema.get(union).and_then(Value::as_array) {
            let mut all = Vec::new();
            for variant in variants {
                if variant.get("type").and_then(Value::as_str) == Some("null") {
                    continue;
                }
                all.extend(properties(variant, root, depth + 1)?);
            }
            return Some(all);
        }
    }
    if schema.get("additionalProperties").is_some_and(|more| more != &Value::Bool(false)) {
        return None;
    }
    let listed = schema.get("properties")?.as_object()?;
    Some(listed.iter().map(|(name, schema)| (name.clone(), schema)).collect())
}

fn wrong_fields(message: String) -> AgentError {
    AgentError::new(Exit::UserError, "flag_error", message).with_field("fields")
}

fn no_such_field(path: &str, names: &[String]) -> AgentError {
    let name = path.rsplit('.').next().unwrap_or(path);
    let near = crate::usage::near_miss(name, names.iter().map(String::as_str));
    let error = wrong_fields(format!("the result has no field '{path}'"));
    let suggestion = match near {
        Some(near) => format!("did you mean '{near}'?"),
        None if names.is_empty() => "leave out --fields: the result has no fields here".to_owned(),
        None => "choose from the fields of the result".to_owned(),
    };
    error.with_suggestion(suggestion).with_valid_values(names)
}

#[cfg(feature = "jq")]
use crate::jq::{check as check_jq, run as run_jq};

#[cfg(not(feature = "jq"))]
fn check_jq(_: &str) -> Result<(), AgentError> {
    Ok(())
}

#[cfg(not(feature = "jq"))]
fn run_jq(_: &str, value: &Ordered) -> Result<Ordered, AgentError> {
    Ok(value.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(fields: &str, json: &str) -> Result<String, AgentError> {
        let value: Ordered = serde_json::from_str(json).unwrap();
        let kept = Selection::new(Some(fields), None)?.apply(value)?;
        Ok(serde_json::to_string(&kept).unwrap())
    }

    #[test]
    fn fields_are_kept_in_the_order_they_were_asked_for() {
        let task = r#"{"id":1,"title":"a","owner":{"name":"n","age":3}}"#;
        assert_eq!(apply("title,id", task).unwrap(), r#"{"title":"a","id":1}"#);
        assert_eq!(
            apply("owner.name", &format!("[{task},{task}]")).unwrap(),
            r#"[{"owner":{"name":"n"}},{"owner":{"name":"n"}}]"#
        );
    }

    #[test]
    fn a_field_that_some_elements_lack_is_no_mistake_but_one_that_all_lack_is() {
        let list = r#"[{"id":1,"due":"x"},{"id":2}]"#;
        assert_eq!(apply("id,due", list).unwrap(), r#"[{"id":1,"due":"x"},{"id":2}]"#);
        let error = apply("id,deu", list).unwrap_err();
        assert_eq!(error.to_string(), "the result has no field 'deu'");
        assert_eq!(error.suggestion(), "did you mean 'due'?");
        assert_eq!(error.valid_values(), ["id", "due"]);
        assert_eq!(error.field(), "fields");
    }

    #[test]
    fn nothing_can_be_said_about_an_empty_list() {
        assert_eq!(apply("whatever", "[]").unwrap(), "[]");
    }

    #[test]
    fn nothing_below_an_empty_list_is_no_mistake() {
        let tags = r#"{"id":1,"tags":[]}"#;
        assert_eq!(apply("id,tags.name", tags).unwrap(), tags);
    }

    #[test]
    fn a_declared_field_that_is_not_there_is_absent() {
        let schema = serde_json::json!({"properties": {"id": {}, "labels": {}}});
        let mut selection = Selection::new(Some("id,labels"), None).unwrap();
        selection.check_against(&schema).unwrap();
        let value = serde_json::from_str(r#"{"id":1}"#).unwrap();
        let kept = selection.apply(value).unwrap();
        assert_eq!(serde_json::to_string(&kept).unwrap(), r#"{"id":1}"#);
    }

    #[test]
    fn a_scalar_has_no_fields() {
        let error = apply("id", "7").unwrap_err();
        assert!(error.suggestion().contains("leave out --fields"));
        assert!(apply("id,,x", "{}").is_err());
    }

    #[test]
    fn the_declared_schema_is_asked_before_anything_runs() {
        let schema = serde_json::json!({
            "type": "array", "items": {"$ref": "#/$defs/Task"},
            "$defs": {"Task": {"type": "object", "properties": {
                "id": {"type": "integer"},
                "owner": {"anyOf": [{"$ref": "#/$defs/Owner"}, {"type": "null"}]},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}}
            }}, "Owner": {"type": "object", "properties": {"name": {"type": "string"}}}}
        });
        let check = |fields| Selection::new(Some(fields), None).unwrap().check_against(&schema);
        check("id,owner.name,labels.any").unwrap();
        let error = check("owner.nam").unwrap_err();
        assert_eq!(error.to_string(), "the result has no field 'owner.nam'");
        assert_eq!(error.valid_values(), ["name"]);
        assert!(check("idd").is_err());
    }
}
