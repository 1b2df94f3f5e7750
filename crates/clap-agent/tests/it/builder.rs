//! Programs of the builder kind, and what an author can set.

use clap::{Arg, ArgAction, ArgGroup, Command};
use clap_agent::{
    AgentError, Confirm, Effect, Exit, Finding, FlagNotes, InfraFlag, Invocation, Mode, Notes,
    Program, Surroundings, check_conventions,
};
use serde_json::Value;

/// Runs a program in the test and keeps what it wrote.
fn run(program: Program, call: Invocation) -> (Exit, String, String) {
    let mut call = call;
    let (stdout, stderr) = (call.capture_stdout(), call.capture_stderr());
    let exit = program.call_matches(call, |_, out| out.success("done", "done"));
    (exit, stdout.text(), stderr.text())
}

fn clear() -> Command {
    Command::new("tool").subcommand(Command::new("clear"))
}

#[test]
fn the_gate_can_be_set_at_destructive() {
    let call = || Invocation::of(["tool", "clear"]);
    let write = || Program::new(clear()).at("clear", Notes::write());
    assert_eq!(run(write(), call()).0, Exit::UserError);
    assert_eq!(run(write().gate(Effect::Destructive), call()).0, Exit::Ok);
    let destructive = Program::new(clear()).at("clear", Notes::destructive());
    assert_eq!(run(destructive.gate(Effect::Destructive), call()).0, Exit::UserError);
}

#[test]
fn confirm_overrides_the_gate_without_touching_the_effect() {
    let call = || Invocation::of(["tool", "clear"]);
    let never = Program::new(clear()).at("clear", Notes::destructive().confirm(Confirm::Never));
    assert!(never.schema(&["clear"]).unwrap().mutating);
    assert_eq!(run(never, call()).0, Exit::Ok);
    let always = || Program::new(clear()).at("clear", Notes::read().confirm(Confirm::Always));
    assert!(!always().schema(&["clear"]).unwrap().mutating);
    assert_eq!(run(always(), call()).0, Exit::UserError);
    assert_eq!(run(always(), Invocation::of(["tool", "clear", "--yes"])).0, Exit::Ok);
    let asked = Invocation::of(["tool", "clear"]).within(Surroundings::terminal()).typing("yes\n");
    assert_eq!(run(always(), asked).0, Exit::Ok);
}

/// Notes on a flag count also where the command has none.
#[test]
fn a_flag_alone_can_need_confirmation() {
    let command = || {
        let purge = Arg::new("purge").long("purge").action(ArgAction::SetTrue);
        let noted = purge.add(FlagNotes::new().raises(Effect::Destructive));
        Command::new("tool").subcommand(Command::new("sync").arg(noted))
    };
    let exit = |args: &[&str]| run(Program::new(command()), Invocation::of(args.iter().copied())).0;
    assert_eq!(exit(&["tool", "sync"]), Exit::Ok);
    assert_eq!(exit(&["tool", "sync", "--purge"]), Exit::UserError);
    assert_eq!(exit(&["tool", "sync", "--purge", "--yes"]), Exit::Ok);
}

/// An author who answers after all has dealt with what went wrong before.
#[test]
fn a_second_answer_makes_up_for_the_first() {
    let unserialisable = std::collections::HashMap::from([((1, 2), 3)]);
    let exit = Program::new(Command::new("x")).call_matches(Invocation::of(["x"]), |_, out| {
        assert!(out.success("", &unserialisable).is_err());
        out.success("", "instead")
    });
    assert_eq!(exit, Exit::Ok);
}

/// A program with a `--output FILE`, a `--force` and a `describe` of its own.
fn collides() -> Command {
    Command::new("tool").subcommand(Command::new("describe")).subcommand(
        Command::new("convert")
            .arg(Arg::new("to").long("output").required(true))
            .arg(Arg::new("force").long("force").action(ArgAction::SetTrue)),
    )
}

#[test]
fn the_programs_own_flag_wins_and_the_check_tells() {
    let program = || Program::new(collides()).at("convert", Notes::write());
    let (exit, stdout, _) =
        run(program(), Invocation::of(["tool", "convert", "--output", "a.png", "--yes"]));
    assert_eq!(exit, Exit::Ok);
    assert!(stdout.contains("\"result\": \"done\""), "{stdout}");
    // Its --force means what it says, not a confirmation.
    let forced = || Invocation::of(["tool", "convert", "--output", "a.png", "--force"]);
    assert_eq!(run(program(), forced()).0, Exit::UserError);
    let meant = Notes::write().flag("force", FlagNotes::new().confirms());
    assert_eq!(run(Program::new(collides()).at("convert", meant), forced()).0, Exit::Ok);

    let findings = program().check();
    let taken = |name: &str| {
        findings.iter().any(|finding| {
            matches!(finding, Finding::FlagTaken { flag, command } if flag == name && command == "tool convert")
        })
    };
    assert!(taken("output") && taken("force"), "{findings:?}");
    let command = Finding::CommandTaken { name: "describe".into() };
    assert!(findings.contains(&command), "{findings:?}");

    let renamed = program()
        .rename(InfraFlag::Output, "emit")
        .rename(InfraFlag::Force, "really".to_owned())
        .describe_as(Some("explain"));
    assert!(renamed.check().is_empty(), "{:?}", renamed.check());
    let call = ["tool", "convert", "--output", "a.png", "--emit", "ndjson", "--really"];
    let (exit, stdout, _) = run(renamed.clone(), Invocation::of(call));
    assert_eq!(exit, Exit::Ok);
    assert!(stdout.starts_with("{\"result\":\"done\""), "{stdout}");
    let (_, stdout, _) = run(renamed, Invocation::of(["tool", "explain"]));
    assert!(stdout.contains("\"name\": \"convert\""), "{stdout}");
    let left_out = program().without(InfraFlag::Yes).without(InfraFlag::Force);
    let (exit, _, stderr) = run(left_out, Invocation::of(["tool", "convert", "--output", "x"]));
    assert_eq!(exit, Exit::UserError);
    assert!(stderr.contains("run it in a terminal to be asked"), "{stderr}");
}

#[test]
fn a_secret_never_appears() {
    let command = || {
        Command::new("tool").subcommand(
            Command::new("login").arg(
                Arg::new("token")
                    .long("token")
                    // cargo sets it for every test.
                    .env("CARGO_PKG_NAME")
                    .default_value("hunter2")
                    .value_parser(["good"]),
            ),
        )
    };
    let notes = Notes::read().flag("token", FlagNotes::sensitive());
    let program = || Program::new(command()).at("login", notes.clone());
    let schema = serde_json::to_value(program().schema(&["login"]).unwrap()).unwrap();
    assert_eq!(schema["flags"][0]["default"], Value::Null);
    assert_eq!(schema["flags"][0]["env"], "CARGO_PKG_NAME");
    assert_eq!(schema["flags"][0]["sensitive"], true);
    for call in [
        vec!["tool", "login", "--help"],
        vec!["tool", "login", "--schema"],
        vec!["tool", "describe"],
        vec!["tool", "login", "--token", "s3cret"],
        vec!["tool", "login", "--token", "s3cret", "--output", "text"],
    ] {
        let (_, stdout, stderr) = run(program(), Invocation::of(call.clone()));
        let all = stdout + &stderr;
        assert!(!all.is_empty(), "{call:?}");
        for secret in ["hunter2", "s3cret", env!("CARGO_PKG_NAME")] {
            assert!(!all.contains(secret), "{secret} in {call:?}: {all}");
        }
    }
}

#[test]
fn what_clap_knows_is_in_the_schema() {
    let command = Command::new("tool")
        .arg(Arg::new("verbose").long("verbose").short('v').global(true).action(ArgAction::Count))
        .subcommand(
            Command::new("put")
                .about("Put things\n\nsomewhere")
                .arg(Arg::new("what").required(true).num_args(1..))
                .arg(
                    Arg::new("n")
                        .long("number")
                        .value_parser(clap::value_parser!(i32))
                        .default_value("-3"),
                )
                .arg(Arg::new("ratio").long("ratio").value_parser(clap::value_parser!(f64)))
                .arg(
                    Arg::new("dir")
                        .long("dir")
                        .value_parser(clap::value_parser!(std::path::PathBuf)),
                )
                .arg(Arg::new("tag").long("tag").action(ArgAction::Append))
                .arg(
                    Arg::new("a")
                        .long("a-flag")
                        .action(ArgAction::SetTrue)
                        .conflicts_with("verbose"),
                )
                .arg(Arg::new("b").long("b-flag").action(ArgAction::SetTrue))
                .arg(Arg::new("hidden").long("hidden").hide(true))
                .group(ArgGroup::new("one").args(["a", "b"])),
        );
    let schema = Program::new(command).schema(&["put"]).unwrap();
    assert_eq!(schema.summary, "Put things");
    assert_eq!(schema.arguments[0].kind, "stringSlice");
    let flags: Vec<(String, String, Value)> = schema
        .flags
        .iter()
        .map(|flag| (flag.name.clone(), flag.kind.clone(), flag.default.clone()))
        .collect();
    let flag = |name: &str, kind: &str, default: Value| (name.to_owned(), kind.to_owned(), default);
    assert_eq!(
        flags,
        [
            flag("a-flag", "bool", false.into()),
            flag("b-flag", "bool", false.into()),
            flag("dir", "path", Value::Null),
            flag("number", "int", (-3).into()),
            flag("ratio", "float64", Value::Null),
            flag("tag", "stringSlice", Value::Null),
            flag("verbose", "count", 0.into()),
        ]
    );
    assert_eq!(schema.flags[0].mutually_exclusive_with, ["b-flag", "verbose"]);
    assert_eq!(schema.flags[1].mutually_exclusive_with, ["a-flag"]);
    assert!(schema.flags[6].persistent);
}

/// A program that is one command with a positional keeps its words; it is described by a flag.
#[test]
fn a_program_of_one_command() {
    let greet = || Program::new(Command::new("greet").arg(Arg::new("name").required(true)));
    let (exit, stdout, _) = run(greet(), Invocation::of(["greet", "describe"]));
    assert_eq!(exit, Exit::Ok);
    assert!(stdout.contains("\"done\""), "{stdout}");
    let (exit, stdout, _) = run(greet(), Invocation::of(["greet", "--schema"]));
    assert_eq!(exit, Exit::Ok);
    assert!(stdout.contains("\"required\": true"), "{stdout}");

    let (exit, stdout, stderr) = run(greet(), Invocation::of(["greet", "--describe"]));
    assert_eq!(exit, Exit::Ok, "{stderr}");
    let described: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(described["command"]["arguments"][0]["name"], "name");
    let renamed = greet().describe_as(Some("explain"));
    let (_, stdout, _) = run(renamed, Invocation::of(["greet", "--explain=markdown"]));
    assert!(stdout.starts_with("# greet\n"), "{stdout}");
    let (exit, _, stderr) = run(greet(), Invocation::of(["greet", "--describe=nonsense"]));
    assert_eq!(exit, Exit::UserError);
    assert!(stderr.contains("markdown"), "{stderr}");
    let told = Finding::DescribedByFlag { flag: "describe".into() };
    assert_eq!(greet().check(), [told]);
}

/// What the program requires is required of a run, not of a look at it.
#[test]
fn a_required_flag_of_the_root_is_not_required_to_describe() {
    let program = || {
        let server = Arg::new("server").long("server").required(true);
        let quick = Arg::new("quick").long("quick").action(ArgAction::SetTrue);
        let root = Command::new("tool").arg(server).arg(quick.global(true));
        Program::new(root.subcommand(Command::new("get").arg(Arg::new("id").required(true))))
    };
    let (exit, stdout, stderr) = run(program(), Invocation::of(["tool", "describe"]));
    assert_eq!(exit, Exit::Ok, "{stderr}");
    let described: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(described["commands"][0]["name"], "get");
    assert_eq!(described["flags"][0]["name"], "server", "what stands before the command");
    assert_eq!(described["flags"][1], Value::Null, "a global one is told with the command");
    let (exit, stdout, _) = run(program(), Invocation::of(["tool", "get", "--schema"]));
    assert_eq!(exit, Exit::Ok);
    assert!(stdout.contains("\"name\": \"get\""), "{stdout}");
    if cfg!(feature = "mcp") {
        let (exit, _, stderr) = run(program(), Invocation::of(["tool", "mcp"]));
        assert_eq!(exit, Exit::ToolError);
        assert!(stderr.contains("MCP is served by a process of its own"), "{stderr}");
    }
    // A run still needs it, and is told its name.
    let (exit, _, stderr) = run(program(), Invocation::of(["tool", "get", "1"]));
    let error: Value = serde_json::from_str(&stderr).unwrap();
    assert_eq!((exit, &error["field"]), (Exit::UserError, &Value::from("server")));
}

#[test]
fn one_of_several_is_named_as_such() {
    let flag = |name: &'static str| Arg::new(name).long(name);
    let group = ArgGroup::new("which").args(["one", "two"]).required(true);
    let command = Command::new("tool").arg(flag("one")).arg(flag("two")).group(group);
    let (_, _, stderr) = run(Program::new(command), Invocation::of(["tool", "--agent"]));
    let error: Value = serde_json::from_str(&stderr).unwrap();
    assert_eq!(error["field"], "one|two", "{stderr}");
}

#[test]
fn a_multicall_program() {
    let program = || {
        let alpha = Command::new("alpha").arg(Arg::new("x").required(true));
        let command = Command::new("tool").multicall(true).subcommand(alpha);
        Program::new(command.subcommand(Command::new("beta"))).at("beta", Notes::write())
    };
    let (exit, stdout, stderr) = run(program(), Invocation::of(["/bin/alpha", "--schema"]));
    assert_eq!(exit, Exit::Ok, "{stderr}");
    assert!(stdout.contains("\"name\": \"alpha\""), "{stdout}");
    let (exit, stdout, stderr) = run(program(), Invocation::of(["alpha", "1", "--output=ndjson"]));
    assert_eq!(exit, Exit::Ok, "{stderr}");
    assert!(stdout.starts_with("{\"result\":"), "{stdout}");
    assert_eq!(run(program(), Invocation::of(["beta"])).0, Exit::UserError);
    assert_eq!(run(program(), Invocation::of(["beta", "--yes"])).0, Exit::Ok);
    // The form of an error is found past the first word, which is a command here.
    let (_, _, stderr) = run(program(), Invocation::of(["alpha", "--output", "ndjson", "--no"]));
    assert!(stderr.starts_with("{\"code\":1"), "{stderr}");
    assert_eq!(program().check(), [Finding::NotDescribed]);
}

#[test]
fn a_panic_is_an_error_in_the_readers_form() {
    let mut call = Invocation::of(["x"]);
    let stderr = call.capture_stderr();
    let exit = Program::new(Command::new("x")).call_matches(call, |_, out| {
        out.log("before");
        assert!(out.is_dry_run(), "boom");
    });
    assert_eq!(exit, Exit::ToolError);
    let told = stderr.text();
    let (log, error) = told.split_once('\n').unwrap();
    assert!(log.contains("before"), "{told}");
    let error: Value = serde_json::from_str(error).unwrap();
    assert_eq!((&error["error"], &error["code"]), (&"execution_error".into(), &2.into()));
    assert!(error["message"].as_str().unwrap().ends_with("panicked: boom"), "{told}");
}

/// The way around a refusal must be one.
#[test]
fn a_refusal_names_the_flags_that_confirm() {
    let suggestion = |notes: Notes| {
        let program = Program::new(collides()).at("convert", notes);
        let (_, _, stderr) = run(program, Invocation::of(["tool", "convert", "--output", "x"]));
        let error: Value = serde_json::from_str(&stderr).unwrap();
        error["suggestion"].as_str().unwrap().split(" to confirm").next().unwrap().to_owned()
    };
    assert_eq!(suggestion(Notes::write()), "pass --yes");
    let meant = Notes::write().flag("force", FlagNotes::new().confirms());
    assert_eq!(suggestion(meant), "pass --force or --yes");
}

#[test]
fn any_error_can_be_returned() {
    type AnyError = Box<dyn std::error::Error + Send + Sync>;
    let end = |error: fn() -> AnyError| {
        let mut call = Invocation::of(["x"]);
        let stderr = call.capture_stderr();
        let exit =
            Program::new(Command::new("x")).call_matches(call, |_, _| Err::<(), AnyError>(error()));
        let error: Value = serde_json::from_str(&stderr.text()).unwrap();
        (exit, error["error"].as_str().unwrap().to_owned())
    };
    let told = |exit, kind: &str| (exit, kind.to_owned());
    assert_eq!(end(|| AgentError::conflict("x").into()), told(Exit::Conflict, "conflict"));
    assert_eq!(end(|| "plain words".into()), told(Exit::ToolError, "execution_error"));
    let late = || std::io::Error::from(std::io::ErrorKind::TimedOut).into();
    assert_eq!(end(late), told(Exit::Timeout, "timeout"));
    let missing = || std::io::Error::from(std::io::ErrorKind::NotFound).into();
    assert_eq!(end(missing), told(Exit::NotFound, "not_found"));
    let denied = || std::io::Error::from(std::io::ErrorKind::PermissionDenied).into();
    assert_eq!(end(denied), told(Exit::Permission, "permission"));
}

#[test]
fn modes() {
    let mode = |args: &[&str], around: Surroundings| {
        let mut mode = None;
        let call = Invocation::of(args.iter().copied()).within(around);
        Program::new(clear()).call_matches(call, |_, out| mode = Some(out.mode()));
        mode.unwrap()
    };
    let agent = Surroundings { agent: Some("CLAUDECODE"), ..Surroundings::terminal() };
    assert_eq!(mode(&["tool", "clear"], Surroundings::terminal()), Mode::Person);
    assert_eq!(mode(&["tool", "clear"], Surroundings::default()), Mode::Agent);
    assert_eq!(mode(&["tool", "clear"], agent.clone()), Mode::Agent);
    assert_eq!(mode(&["tool", "--agent", "clear"], Surroundings::terminal()), Mode::Agent);
    assert_eq!(mode(&["tool", "clear", "--output", "text"], agent), Mode::Person);
    // The deepest wins.
    let both = ["tool", "--output", "json", "clear", "--output", "text"];
    assert_eq!(mode(&both, Surroundings::terminal()), Mode::Person);
}

#[test]
fn aliases_and_inferred_commands_have_the_flags_too() {
    let command = || {
        Command::new("tool")
            .infer_subcommands(true)
            .subcommand(Command::new("remove").alias("rm").long_flag("remove"))
    };
    for word in ["remove", "rm", "rem", "--remove"] {
        let program = Program::new(command()).at("remove", Notes::destructive());
        let (exit, stdout, stderr) =
            run(program, Invocation::of(["tool", word, "--yes", "--output", "ndjson"]));
        assert_eq!(exit, Exit::Ok, "{word}: {stderr}");
        assert!(stdout.starts_with("{\"result\""), "{word}: {stdout}");
    }
}

#[test]
fn conventions_are_advice() {
    let mut advice = Vec::new();
    let synonyms = [
        "fetch",
        "info",
        "retrieve",
        "show-all",
        "ls",
        "enumerate",
        "add",
        "new",
        "make",
        "edit",
        "modify",
        "set",
        "remove",
        "rm",
    ];
    let flags = [
        "skip-confirmations",
        "no-confirm",
        "silent",
        "no-output",
        "preview",
        "what-if",
        "format",
        "output-format",
    ];
    assert_eq!(check_conventions(&synonyms, &flags, &mut advice), 22);
    assert_eq!(String::from_utf8(advice).unwrap().lines().count(), 22);
    assert_eq!(check_conventions(&["get", "list"], &["force"], &mut std::io::sink()), 0);
    let program = Program::new(Command::new("x").subcommand(Command::new("ls")));
    let findings = program.check();
    assert_eq!(findings[0].to_string(), "`x ls`: agents guess 'list' first");
}

/// Notes on a global flag stand where it is declared and hold where it is given.
fn from_above() -> Program {
    let wrong = |text: &str| {
        if text.starts_with("bad") { Err("malformed") } else { Ok(text.to_owned()) }
    };
    let token = Arg::new("token").long("token").env("CARGO_PKG_NAME").default_value("hunter2");
    let purge = Arg::new("purge").long("purge").action(ArgAction::SetTrue);
    let secret = Arg::new("secret").long("secret").env("CARGO_PKG_NAME").default_value("hunter3");
    let command = Command::new("tool")
        .arg(token.value_parser(wrong).global(true))
        .arg(purge.global(true))
        .subcommand(Command::new("read").arg(secret))
        .subcommand(
            Command::new("group").subcommand(Command::new("leaf")).subcommand(Command::new("free")),
        );
    let raises = FlagNotes::new().raises(Effect::Destructive);
    let root = Notes::read().flag("token", FlagNotes::sensitive()).flag("purge", raises);
    Program::new(command)
        .at("", root)
        .at("read", Notes::read().flag("secret", FlagNotes::sensitive()))
}

#[test]
fn a_secret_noted_above_never_appears() {
    let mut calls = vec![
        vec!["tool", "read", "--help"],
        vec!["tool", "help", "read"],
        vec!["tool", "read", "--schema"],
        vec!["tool", "describe"],
        vec!["tool", "describe", "--format", "markdown"],
        vec!["tool", "describe", "--format", "opencli"],
        vec!["tool", "read", "--token", "badSECRET"],
        vec!["tool", "--token", "badSECRET", "read"],
        vec!["tool", "read", "--token", "badSECRET", "--output", "text"],
    ];
    if cfg!(feature = "man") {
        calls.push(vec!["tool", "describe", "--format", "man"]);
    }
    for call in calls {
        let (_, stdout, stderr) = run(from_above(), Invocation::of(call.clone()));
        let all = stdout + &stderr;
        assert!(all.contains("token"), "{call:?}: {all}");
        for secret in ["hunter2", "hunter3", "badSECRET", env!("CARGO_PKG_NAME")] {
            assert!(!all.contains(secret), "{secret} in {call:?}: {all}");
        }
    }
    let help = run(from_above(), Invocation::of(["tool", "help", "read"])).1;
    assert!(help.contains("Options for agents"), "{help}");
}

#[test]
fn a_global_flag_can_need_confirmation() {
    let exit = |args: &[&str]| run(from_above(), Invocation::of(args.iter().copied())).0;
    assert_eq!(exit(&["tool", "read"]), Exit::Ok);
    for call in [
        ["tool", "read", "--purge"].as_slice(),
        &["tool", "--purge", "read"],
        &["tool", "group", "leaf", "--purge"],
    ] {
        assert_eq!(exit(call), Exit::UserError, "{call:?}");
        assert_eq!(exit(&[call, &["--yes"]].concat()), Exit::Ok, "{call:?}");
    }
    let schema = from_above().schema(&["group", "leaf"]).unwrap();
    let purge = schema.flags.iter().find(|flag| flag.name == "purge").unwrap();
    assert_eq!(purge.effect, Effect::Destructive);
}

/// What stands on a group holds for the commands in it.
#[test]
fn notes_on_a_group_hold_below_it() {
    let program = || {
        from_above()
            .at("group", Notes::destructive())
            .at("group free", Notes::read().confirm(Confirm::Never))
    };
    let exit = |args: &[&str]| run(program(), Invocation::of(args.iter().copied())).0;
    assert_eq!(exit(&["tool", "group", "leaf"]), Exit::UserError);
    assert_eq!(exit(&["tool", "group", "leaf", "--yes"]), Exit::Ok);
    assert_eq!(exit(&["tool", "group", "free"]), Exit::Ok);
    assert_eq!(exit(&["tool", "read"]), Exit::Ok);
    let described = serde_json::to_value(program().describe()).unwrap();
    let group = &described["commands"][0];
    assert_eq!(group["subcommands"][1]["name"], "leaf");
    assert_eq!(group["subcommands"][1]["effect"], "destructive");
    assert_eq!(group["subcommands"][1]["mutating"], true);
}

/// A flag of the root's that is not global takes no name from the commands below.
#[test]
fn a_local_flag_of_the_root_leaves_the_commands_theirs() {
    let root = Command::new("tool").arg(Arg::new("to").long("output"));
    let program = || Program::new(root.clone().subcommand(Command::new("read")));
    let (exit, stdout, stderr) =
        run(program(), Invocation::of(["tool", "read", "--output", "ndjson"]));
    assert_eq!(exit, Exit::Ok, "{stderr}");
    assert!(stdout.starts_with("{\"result\":\"done\""), "{stdout}");
    let (exit, ..) = run(program(), Invocation::of(["tool", "--output", "a.png", "read"]));
    assert_eq!(exit, Exit::Ok);
}
