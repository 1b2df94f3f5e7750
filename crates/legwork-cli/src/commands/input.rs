//! `legwork input`: to a job's input, as text or as keys.

use std::io::Read;

use clap::Args;
use clap_agent::{AgentError, Example, Exit, Notes, Returns, Writer};
use legwork_job::{JobId, Place, Writing};

use crate::errors::told;
use crate::keys::{self, Keyboard};
use crate::options::Session;
use crate::place::find;

pub(crate) const EXAMPLES: &str = "\
Examples:
  legwork input repl 'print(6 * 7)' --enter
  legwork input vim --key escape --key : --key w --key q --key enter
  legwork input sort --close            the end of its input
  legwork input sort - < names.txt      all of stdin";

pub(crate) fn notes() -> Notes {
    Notes::write()
        .when_to_use(
            "to answer a job that waits for input (`wait --for input`), or to drive a full-screen \
             program; look at the result with `screen` or `output`",
        )
        .agent_description(
            "Text goes as it is, without a newline; --enter ends the line. With --request-id it \
             is written once, however often it is asked for.",
        )
        .returns(
            Returns::new("object", "how many bytes were taken")
                .shape([("bytes", "integer"), ("repeated", "boolean")]),
        )
        .example(Example::new("legwork input no-such-job hello --enter").exits(Exit::NotFound))
}

#[derive(Debug, Args)]
pub(crate) struct Input {
    /// The job: its name, its id, or the beginning of its id
    #[arg(value_name = "ID")]
    id: String,
    /// What to write, joined by blanks; `-` for all of stdin
    #[arg(value_name = "TEXT", required_unless_present_any = ["enter", "key", "close"])]
    text: Vec<String>,
    /// Enter after the text
    #[arg(long)]
    enter: bool,
    /// A key after the text: enter, tab, escape, up, f1, ctrl-c, alt-x …; may be given several times
    #[arg(long, value_name = "KEY", value_parser = keys::known)]
    key: Vec<String>,
    /// That is the end of the input
    #[arg(long)]
    close: bool,
    /// Writing again with the same id writes nothing
    #[arg(long, value_name = "ID")]
    request_id: Option<String>,
    #[command(flatten)]
    session: Session,
}

pub(crate) fn execute(args: Input, place: &dyn Place, out: &Writer) -> Result<Exit, AgentError> {
    let id = find(place, &args.id, &args.session)?;
    let needs_keyboard = args.enter || !args.key.is_empty();
    let keyboard = if needs_keyboard { keyboard(place, id) } else { Keyboard::Pipe };
    let bytes = bytes(&args, keyboard, || {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
    })?;
    let writing = Writing { bytes, close: args.close, request_id: args.request_id };
    let written = place.write(id, &writing).map_err(told)?;
    let bytes = match written.bytes {
        1 => "1 byte".to_owned(),
        many => format!("{many} bytes"),
    };
    let text = if written.repeated {
        format!("written before; nothing was written again ({bytes})")
    } else {
        format!("{bytes} written")
    };
    out.success(text, &written)?;
    Ok(Exit::Ok)
}

/// Only a job with a terminal has a screen, and there Enter is another byte.
fn keyboard(place: &dyn Place, id: JobId) -> Keyboard {
    if place.screen(id).is_ok() { Keyboard::Terminal } else { Keyboard::Pipe }
}

fn bytes(
    args: &Input,
    keyboard: Keyboard,
    stdin: impl FnOnce() -> std::io::Result<Vec<u8>>,
) -> Result<Vec<u8>, AgentError> {
    let mut bytes = match &args.text[..] {
        [only] if only == "-" => stdin()?,
        words => words.join(" ").into_bytes(),
    };
    if args.enter {
        bytes.push(keyboard.enter());
    }
    for key in &args.key {
        let sent = keys::bytes(key, keyboard)
            .map_err(|why| AgentError::user(why, "see `legwork input --help`").with_field("key"))?;
        bytes.extend(sent);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        input: Input,
    }

    fn parse(words: &[&str]) -> Result<Input, clap::Error> {
        Line::try_parse_from(std::iter::once("x").chain(words.iter().copied())).map(|l| l.input)
    }

    fn sent(words: &[&str], keyboard: Keyboard) -> Vec<u8> {
        bytes(&parse(words).unwrap(), keyboard, || Ok(b"from stdin\n".to_vec())).unwrap()
    }

    #[test]
    fn text_goes_as_it_is_and_keys_follow_in_order() {
        assert_eq!(sent(&["id", "a", "b"], Keyboard::Pipe), b"a b");
        assert_eq!(sent(&["id", "a", "--enter"], Keyboard::Pipe), b"a\n");
        assert_eq!(sent(&["id", "a", "--enter"], Keyboard::Terminal), b"a\r");
        let keys = ["id", "x", "--key", "escape", "--key", "enter", "--enter"];
        assert_eq!(sent(&keys, Keyboard::Terminal), b"x\r\x1b\r");
        assert_eq!(sent(&["id", "-"], Keyboard::Pipe), b"from stdin\n");
        assert_eq!(sent(&["id", "--", "-n"], Keyboard::Pipe), b"-n");
        assert_eq!(sent(&["id", "--close"], Keyboard::Pipe), b"");
    }

    #[test]
    fn nothing_to_write_is_a_mistake() {
        assert!(parse(&["id"]).is_err());
        assert!(parse(&["id", "--key", "entre"]).unwrap_err().to_string().contains("\"enter\""));
    }
}
