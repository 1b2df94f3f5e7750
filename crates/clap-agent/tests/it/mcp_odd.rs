//! A program that does what real ones do to an MCP server: it has flags of the crate's names, flags
//! that switch off, flags above its commands, it pollutes its streams and it starts others.

use std::io::Write as _;
use std::process::{Command as Process, ExitCode};

use clap::{Arg, ArgAction, ArgMatches, Command};
use clap_agent::{AgentError, Effect, Exit, FlagNotes, Notes, Program, Progress, Returns, Writer};
use serde_json::json;

fn switch(name: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue)
}

fn main() -> ExitCode {
    let root = Command::new("odd")
        .version("1")
        .subcommand_required(true)
        .arg(Arg::new("profile").long("profile"))
        .arg(Arg::new("token").long("token").global(true).default_value("hunter2"))
        .arg(switch("purge").global(true))
        .subcommand(Command::new("own").arg(switch("yes")).arg(switch("dry-run")))
        .subcommand(
            Command::new("many")
                .arg(Arg::new("colour").long("no-colour").action(ArgAction::SetFalse))
                .arg(Arg::new("items").long("items").num_args(1..)),
        )
        .subcommand(
            Command::new("last").arg(Arg::new("a")).arg(Arg::new("rest").last(true).num_args(0..)),
        )
        .subcommand(Command::new("look"))
        .subcommand(Command::new("say").arg(Arg::new("how").required(true)))
        .subcommand(Command::new("remote").arg(switch("verbose")).subcommand(Command::new("add")))
        .subcommand(
            Command::new("hold").arg(Arg::new("file").required(true)).arg(switch("stubborn")),
        );
    let object = || json!({"type": "object", "required": ["ok"]});
    let purge = FlagNotes::new().raises(Effect::Destructive);
    Program::new(root)
        .at("", Notes::read().flag("token", FlagNotes::sensitive()).flag("purge", purge))
        .at("own", Notes::write().dry_run().flag("yes", FlagNotes::new().confirms()))
        .at("many", Notes::write())
        .at("last", Notes::write())
        .at("say", Notes::read().returns(Returns::new("object", "x").schema(object)))
        .run_matches(|matches, out| app(&matches, out))
}

fn app(matches: &ArgMatches, out: &Writer) -> Result<Exit, AgentError> {
    let text = |own: &ArgMatches, id: &str| own.get_one::<String>(id).cloned();
    let list = |own: &ArgMatches, id: &str| {
        own.get_many::<String>(id).map(|all| all.cloned().collect::<Vec<_>>())
    };
    let (name, own) = matches.subcommand().expect("required");
    match name {
        "own" => out.success("", &json!({"dry": out.is_dry_run()}))?,
        "many" => {
            let items = list(own, "items");
            out.success("", &json!({"colour": own.get_flag("colour"), "items": items}))?;
        }
        "last" => out.success("", &json!({"a": text(own, "a"), "rest": list(own, "rest")}))?,
        "look" => {
            let (profile, token) = (text(matches, "profile"), text(own, "token"));
            out.success("", &json!({"profile": profile, "token": token}))?;
        }
        "say" => return say(&text(own, "how").expect("required"), out),
        "remote" => {
            let below = own.subcommand_name();
            out.success("", &json!({"verbose": own.get_flag("verbose"), "below": below}))?;
        }
        _ => hold(&text(own, "file").expect("required"), own.get_flag("stubborn"))?,
    }
    Ok(Exit::Ok)
}

fn say(how: &str, out: &Writer) -> Result<Exit, AgentError> {
    let conflict = || Err(AgentError::conflict("taken"));
    let mut stderr = std::io::stderr();
    match how {
        "progress" => {
            out.progress(&Progress::default().message("connecting"));
            conflict()
        }
        "noise" => {
            stderr.write_all(b"warning: {oops\n{\"a\":1}\n\xff\xfe half a line ")?;
            conflict()
        }
        "partial" => {
            out.success("", &json!({"ok": 1}))?;
            Ok(Exit::Partial)
        }
        "pollution" => {
            println!("hello from a library");
            out.success("", &json!({"ok": 1}))?;
            Ok(Exit::Ok)
        }
        "flood" => {
            let mebibyte = vec![b'x'; 1 << 20];
            let mut stdout = std::io::stdout();
            loop {
                stdout.write_all(&mebibyte)?;
            }
        }
        _ => Ok(Exit::Ok),
    }
}

/// Starts another program and waits for it; the numbers of both are in the file.
fn hold(file: &str, stubborn: bool) -> std::io::Result<()> {
    let trap = if stubborn { "trap '' TERM; " } else { "" };
    let line = format!("{trap}echo $$ >> \"$0\"; while :; do sleep 0.1; done");
    std::fs::write(file, format!("{}\n", std::process::id()))?;
    Process::new("sh").args(["-c", &line, file]).status().map(drop)
}
