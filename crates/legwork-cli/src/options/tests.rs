//! From words to a spec.

use clap::Parser;
use legwork_job::What;

use super::*;

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    options: JobOptions,
    #[command(flatten)]
    program: Program,
}

fn parse(words: &[&str]) -> Result<Line, String> {
    let line = std::iter::once("x").chain(words.iter().copied());
    Line::try_parse_from(line).map_err(|error| error.to_string())
}

fn spec_with(words: &[&str], config: &Config) -> JobSpec {
    let Line { options, program } = parse(words).unwrap();
    options.spec(program, config).unwrap()
}

fn spec(words: &[&str]) -> JobSpec {
    spec_with(words, &Config::default())
}

#[test]
fn nothing_given_is_the_plain_job() {
    assert_eq!(spec(&["make", "all"]), JobSpec::argv(["make", "all"]));
    assert_eq!(spec(&["-c", "a | b"]), JobSpec::shell("a | b"));
}

#[test]
fn every_option_reaches_the_spec() {
    let made = spec(&[
        "--deadline=10m",
        "--idle-timeout=1m",
        "--kill-grace=500ms",
        "--survivors=end",
        "--workdir=/tmp",
        "--env=A=1=2",
        "--env=B=",
        "--env-mode=clean",
        "--secret=TOKEN",
        "--pty=100x30",
        "--limit=mem=1GiB,cpu=1500ms,files=256",
        "--limit=core=0,fsize=1KB",
        "--nice=-5",
        "--label=team=web",
        "--session=a/b",
        "--intent=Testing",
        "--request-id=r1",
        "--log-limit=1MiB",
        "--on-log-limit=terminate",
        "prog",
    ]);
    let mut wanted = JobSpec::argv(["prog"]);
    wanted.deadline = Some(Duration::from_secs(600));
    wanted.idle_timeout = Some(Duration::from_secs(60));
    wanted.kill_grace = Some(Duration::from_millis(500));
    wanted.survivors = Survivors::End;
    wanted.workdir = Some("/tmp".into());
    wanted.env = vec![("A".into(), Some("1=2".into())), ("B".into(), Some("".into()))];
    wanted.env_mode = EnvMode::Clean;
    wanted.secrets = vec!["TOKEN".into()];
    wanted.terminal = Some(Size { cols: 100, rows: 30 });
    wanted.limits = Limits {
        address_space: Some(1 << 30),
        cpu_seconds: Some(2),
        open_files: Some(256),
        core: Some(0),
        file_size: Some(1000),
    };
    wanted.nice = Some(-5);
    wanted.labels = [("team".to_owned(), "web".to_owned())].into();
    wanted.session = Some("a/b".into());
    wanted.intent = Some("Testing".into());
    wanted.request_id = Some("r1".into());
    wanted.log_limit = 1 << 20;
    wanted.on_log_limit = OnLogLimit::Terminate;
    assert_eq!(made, wanted);
}

#[test]
fn flags_beat_files_and_files_beat_defaults() {
    let config = Config {
        deadline: Some(Duration::from_secs(1)),
        kill_grace: Some(Duration::from_secs(2)),
        timeout: Some(Duration::from_secs(3)),
        session: Some("from-file".into()),
        survivors: Some(Survivors::End),
        env_mode: Some(EnvMode::Empty),
        log_limit: Some(4),
        budget: Some(Budget::Tokens(5)),
    };
    let made = spec_with(&["--deadline=9s", "--survivors=keep", "x"], &config);
    assert_eq!(made.deadline, Some(Duration::from_secs(9)));
    assert_eq!(made.survivors, Survivors::Keep);
    assert_eq!(made.kill_grace, Some(Duration::from_secs(2)));
    assert_eq!((made.env_mode, made.log_limit), (EnvMode::Empty, 4));
    assert_eq!(made.session.as_deref(), Some("from-file"));
    let Line { options, .. } = parse(&["x"]).unwrap();
    assert_eq!(options.patience(&config).0, Duration::from_secs(3));
    assert_eq!(options.patience(&Config::default()), (PATIENCE, OnTimeout::Background));
    assert_eq!(options.reading(&config).budget, Budget::Tokens(5));
}

#[test]
fn nothing_after_the_program_is_an_option() {
    for words in [
        ["echo", "--timeout", "--pty", "-c"].as_slice(),
        ["--", "echo", "--timeout", "--pty", "-c"].as_slice(),
    ] {
        let argv = ["echo", "--timeout", "--pty", "-c"].map(OsString::from).to_vec();
        assert_eq!(spec(words).what, What::Argv(argv));
    }
    assert!(parse(&["--tiemout=5s", "echo"]).unwrap_err().contains("--timeout"));
    assert!(parse(&["-c", "line", "echo"]).is_err());
    assert!(parse(&[]).is_err());
}

#[test]
fn a_bad_value_shows_a_good_one() {
    for (words, good) in [
        (["--timeout=10"], "30s"),
        (["--deadline=soon"], "30s"),
        (["--log-limit=much"], "64KiB"),
        (["--budget=much"], "4000tokens"),
        (["--pty=wide"], "80x24"),
        (["--limit=mem"], "mem=1GiB"),
        (["--limit=ram=1GiB"], "mem=1GiB"),
        (["--label=team"], "team=web"),
        (["--nice=40"], "-20..=19"),
        (["--env-mode=tidy"], "unbundled"),
    ] {
        let error = parse(&[words[0], "x"]).unwrap_err();
        assert!(error.contains(good), "{words:?}: {error}");
    }
}

#[test]
fn a_variable_needs_a_value() {
    for word in ["--env=PATH", "--env==x", "--env="] {
        let Line { options, program } = parse(&[word, "x"]).unwrap();
        let error = options.spec(program, &Config::default()).unwrap_err();
        assert_eq!(error.field(), "env", "{word}");
        assert!(error.suggestion().contains("=VALUE"), "{word}");
    }
}

#[test]
fn a_job_reads_nothing_unless_it_has_a_terminal_or_was_told() {
    let input = |words: &[&str]| parse(words).unwrap().options.job_input();
    assert_eq!(input(&["x"]).unwrap(), Input::Null);
    assert_eq!(input(&["--pty", "x"]).unwrap(), Input::Open);
    assert_eq!(input(&["--pty", "--stdin=null", "x"]).unwrap(), Input::Null);
    assert_eq!(input(&["--stdin=open", "x"]).unwrap(), Input::Open);
    assert_eq!(input(&["--stdin=/a/file", "x"]).unwrap(), Input::File("/a/file".into()));
    assert_eq!(input(&["--stdin=inherit", "x"]).unwrap_err().field(), "stdin");
}

#[test]
fn patience_without_a_waiter_is_refused_unless_it_ends_the_command() {
    let end = |words: &[&str]| {
        let Line { options, program } = parse(words).unwrap();
        let mut spec = options.spec(program, &Config::default()).unwrap();
        options.without_patience(&mut spec, "use --deadline").map(|()| spec.deadline)
    };
    assert_eq!(end(&["x"]).unwrap(), None);
    let error = end(&["--timeout=5s", "x"]).unwrap_err();
    assert_eq!((error.field(), error.suggestion()), ("timeout", "use --deadline"));
    let five = Some(Duration::from_secs(5));
    assert_eq!(end(&["--timeout=5s", "--on-timeout=terminate", "x"]).unwrap(), five);
    assert_eq!(
        end(&["--timeout=5s", "--on-timeout=terminate", "--deadline=9s", "x"]).unwrap(),
        five
    );
}

#[test]
fn an_empty_session_is_none() {
    assert_eq!(spec(&["--session=", "x"]).session, None);
}
