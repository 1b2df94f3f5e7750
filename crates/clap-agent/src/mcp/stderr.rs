//! What a call says on stderr: progress, log lines, and whatever else a program and those it
//! starts may write there. The error of the protocol is the last one among it.

use serde_json::Value;

/// What a line is.
#[derive(Debug, PartialEq)]
pub(super) enum Line {
    Progress { current: Option<f64>, total: Option<f64>, message: Option<String> },
    Log,
    Rest,
}

/// The fields of a progress line; it may have any of them, and no other.
const PROGRESS: [&str; 6] = ["stage", "current", "total", "percent", "eta_ms", "message"];

pub(super) fn classify(line: &str) -> Line {
    let Ok(Value::Object(entry)) = serde_json::from_str::<Value>(line) else {
        return Line::Rest;
    };
    let is_log = entry.contains_key("level") && entry.contains_key("msg");
    let is_untyped = is_log && entry["level"] == "progress";
    let is_typed = !entry.is_empty() && entry.keys().all(|key| PROGRESS.contains(&key.as_str()));
    if is_untyped || is_typed {
        let number = |key: &str| entry.get(key).and_then(Value::as_f64);
        let words = ["stage", "message", "msg"].into_iter().filter_map(|key| entry.get(key));
        let words: Vec<&str> =
            words.filter_map(Value::as_str).filter(|word| !word.is_empty()).collect();
        Line::Progress {
            current: number("current"),
            total: number("total"),
            message: (!words.is_empty()).then(|| words.join(": ")),
        }
    } else if is_log {
        Line::Log
    } else {
        Line::Rest
    }
}

/// Bytes kept: the last ones, since the error comes at the end.
const MOST: usize = 256 << 10;

/// The end of everything that was neither progress nor log.
#[derive(Debug, Default)]
pub(super) struct Rest {
    kept: String,
    left_out: usize,
}

impl Rest {
    pub(super) fn push(&mut self, text: &str) {
        self.kept.push_str(text);
        // Twice as much as is kept, so that not every line moves all of it.
        if self.kept.len() > 2 * MOST {
            self.cut();
        }
    }

    fn cut(&mut self) {
        let mut from = self.kept.len().saturating_sub(MOST);
        while !self.kept.is_char_boundary(from) {
            from += 1;
        }
        self.kept.drain(..from);
        self.left_out += from;
    }

    /// All that is kept, with a word about what is not.
    pub(super) fn text(&self) -> String {
        match self.left_out {
            0 => self.kept.clone(),
            bytes => format!("[{bytes} bytes left out]\n{}", self.kept),
        }
    }

    /// The last error in the protocol's form.
    pub(super) fn last_error(&self) -> Option<Value> {
        self.kept.rmatch_indices('{').find_map(|(at, _)| {
            let mut values =
                serde_json::Deserializer::from_str(&self.kept[at..]).into_iter::<Value>();
            let value = values.next()?.ok()?;
            (value["error"].is_string() && value["code"].is_u64()).then_some(value)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_with_a_message_alone_is_progress() {
        let said = |line: &str| match classify(line) {
            Line::Progress { message, .. } => message,
            other => panic!("{other:?}"),
        };
        assert_eq!(said("{\"message\":\"connecting\"}\n").as_deref(), Some("connecting"));
        assert_eq!(said("{\"stage\":\"a\",\"current\":1}\n").as_deref(), Some("a"));
        assert_eq!(
            said("{\"ts\":\"t\",\"level\":\"progress\",\"msg\":\"m\"}").as_deref(),
            Some("m")
        );
        assert_eq!(classify("{\"ts\":\"t\",\"level\":\"info\",\"msg\":\"m\"}\n"), Line::Log);
        for rest in ["{\"message\":\"x\",\"code\":1,\"error\":\"e\"}", "{}", "{", "x\n"] {
            assert_eq!(classify(rest), Line::Rest, "{rest}");
        }
    }

    #[test]
    fn the_last_error_counts_whatever_stands_around_it() {
        let mut rest = Rest::default();
        rest.push(
            "warning: {oops\n{\"a\":1}\n{\"code\":2,\"error\":\"another_program\"}\n\u{fffd}\n",
        );
        rest.push("half a line {\n  \"code\": 7,\n  \"error\": \"conflict\",\n");
        rest.push("  \"message\": \"a { in it\"\n}\nbye {\n");
        assert_eq!(rest.last_error().unwrap()["error"], "conflict");
    }

    #[test]
    fn the_end_is_kept_of_a_flood() {
        let mut rest = Rest::default();
        for _ in 0..10_000 {
            rest.push(&"ä{".repeat(50));
        }
        rest.push("{\"code\":7,\"error\":\"conflict\"}\n");
        assert!(rest.kept.len() <= 2 * MOST && rest.left_out > 0);
        assert!(rest.text().starts_with('['));
        assert_eq!(rest.last_error().unwrap()["code"], 7);
    }
}
