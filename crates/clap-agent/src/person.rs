//! An error as a person likes to read it: what happened, and what to do.

use crate::error::AgentError;

/// `Error: …` and, where there is advice, `Hint:  …`.
pub(crate) fn error(error: &AgentError, colour: bool) -> String {
    let (red, cyan, reset) =
        if colour { ("\x1b[1;31m", "\x1b[1;36m", "\x1b[0m") } else { ("", "", "") };
    let mut text = format!("{red}Error:{reset} {error}\n");
    let hint = hint(error);
    if !hint.is_empty() {
        text.push_str(&format!("{cyan}Hint:{reset}  {hint}\n"));
    }
    text
}

fn hint(error: &AgentError) -> String {
    let values = error.valid_values();
    let listed = values.join(", ");
    let suggestion = error.suggestion();
    // Already named in the advice, or too many to be read: then the list only buries the advice.
    let named = values.iter().all(|value| suggestion.contains(value.as_str()));
    match (suggestion.is_empty(), values.is_empty() || named || values.len() > 12) {
        (_, true) => suggestion.to_owned(),
        (true, false) => format!("one of: {listed}"),
        (false, false) => format!("{suggestion} (one of: {listed})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_lines_with_the_values_in_the_hint() {
        let wrong =
            AgentError::user("invalid value 'hgih' for '--priority'", "did you mean 'high'?")
                .with_valid_values(["low", "normal", "high"]);
        assert_eq!(
            error(&wrong, false),
            "Error: invalid value 'hgih' for '--priority'\n\
             Hint:  did you mean 'high'? (one of: low, normal, high)\n"
        );
    }

    #[test]
    fn nothing_to_advise_is_one_line() {
        assert_eq!(error(&AgentError::tool("disk full"), false), "Error: disk full\n");
    }
}
