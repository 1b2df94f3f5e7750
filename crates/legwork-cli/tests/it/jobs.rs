//! Jobs through the door: start, find again, read, wait, write, signal, end.

use testkit::wait_until;

use crate::house::House;

#[test]
fn a_report_has_the_output_and_the_exit_is_the_commands() {
    let house = House::new();
    let (report, code) = house.agent(["run", "-c", "echo out; echo err >&2; exit 3"]);
    assert_eq!(code, Some(3));
    assert_eq!((report["exit_code"].as_i64(), report["success"].as_bool()), (Some(3), Some(false)));
    let output = report["output"].as_str().unwrap();
    assert!(output.contains("out\n") && output.contains("err\n"), "{report}");
    let (report, code) = house.agent(["run", "-c", "kill -9 $$"]);
    assert_eq!((code, report["shell_code"].as_i64()), (Some(137), Some(137)), "{report}");
    assert!(report["exit_code"].is_null());
}

#[test]
fn a_command_that_cannot_be_started_is_an_error_with_its_number() {
    let house = House::new();
    let (error, code) = house.agent(["run", "--", "no-such-program-anywhere"]);
    assert_eq!((code, error["error"].as_str()), (Some(127), Some("not_started")), "{error}");
    let (error, code) = house.agent(["run", "--workdir", "/no/such/place", "--", "true"]);
    assert_eq!(code, Some(125), "{error}");
}

#[test]
fn what_outlasts_patience_runs_on_and_can_be_found_again() {
    let house = House::new();
    let (report, code) = house.agent(["run", "--timeout", "50ms", "--", "sleep", "300"]);
    assert_eq!((code, report["running"].as_bool()), (Some(75), Some(true)), "{report}");
    assert!(report["exit_code"].is_null() && report["success"].is_null());
    let id = report["background_process_id"].as_str().unwrap();
    let (report, _) = house.agent(["output", &id[..5]]);
    assert_eq!((report["id"].as_str(), report["state"].as_str()), (Some(id), Some("running")));
    let words = ["run", "--timeout", "50ms", "--on-timeout", "terminate", "--", "sleep", "300"];
    let (report, code) = house.agent(words);
    assert_eq!((code, report["running"].as_bool()), (Some(124), Some(false)), "{report}");
}

#[test]
fn an_id_is_all_that_start_prints() {
    let house = House::new();
    let id = house.start(["--name", "nap", "--", "sleep", "300"]);
    assert_eq!(id.len(), 8, "{id:?}");
    // Also where an agent's variable is inherited: a script reads it.
    let seen = house.call(["start", "--", "true"]).env("CLAUDECODE", "1").seen();
    assert_eq!(seen.stdout.len(), 9, "{seen:?}");
    let (report, code) = house.agent(["start", "--", "true"]);
    assert_eq!((code, report["place"].as_str()), (Some(0), Some("local")));
    let (error, code) = house.agent(["start", "--name", "nap", "--", "true"]);
    assert_eq!((code, error["error"].as_str()), (Some(7), Some("name_taken")), "{error}");
    let (error, code) = house.agent(["output", "nat"]);
    assert_eq!(code, Some(5));
    assert_eq!(error["message"], "no job \"nat\"; did you mean \"nap\"?");
}

#[test]
fn a_request_is_done_once() {
    let house = House::new();
    let words = ["start", "--request-id", "r1", "--", "sleep", "300"];
    let (first, _) = house.agent(words);
    assert!(first["existing"].is_null());
    let (second, _) = house.agent(words);
    assert_eq!((&second["id"], second["existing"].as_bool()), (&first["id"], Some(true)));
    let (error, code) = house.agent(["start", "--request-id", "r1", "--", "sleep", "301"]);
    assert_eq!((code, error["error"].as_str()), (Some(7), Some("request_reused")));
}

#[test]
fn waiting_tells_what_came() {
    let house = House::new();
    house.start(["--name", "greeter", "--stdin", "open", "-c", "echo ready; read x; exit 4"]);
    let seen = house.person(["wait", "greeter", "--for", "pattern=^ready"]);
    assert_eq!((seen.stdout.as_str(), seen.code), ("greeter: printed \"ready\"\n", Some(0)));
    let seen = house.person(["wait", "greeter", "--for", "input"]);
    assert_eq!(seen.stdout, "greeter: waits for input\n");
    let seen = house.person(["wait", "greeter", "--timeout", "20ms"]);
    assert_eq!(seen.code, Some(75), "{seen:?}");
    assert!(seen.stdout.starts_with("greeter: nothing of it yet"), "{seen:?}");
    house.person(["input", "greeter", "go", "--enter"]);
    let seen = house.person(["wait", "greeter", "--for", "pattern=never"]);
    assert_eq!(seen.code, Some(1), "{seen:?}");
    assert!(seen.stdout.ends_with("before what was waited for\n"), "{seen:?}");
    let (waited, code) = house.agent(["wait", "greeter"]);
    assert_eq!((code, waited[0]["met"].as_str()), (Some(0), Some("exit")));
    assert_eq!(waited[0]["report"]["exit_code"], 4);
}

#[test]
fn output_is_the_view_itself_in_a_pipe_too() {
    let house = House::new();
    let id = house.start(["-c", "printf 'a\\033[31mb\\033[0m\\nno newline'"]);
    let seen = house.call(["output", &id, "--wait", "60s"]).seen();
    assert_eq!(seen.stdout, "ab\nno newline");
    let raw = house.call(["output", &id, "--raw"]).seen();
    assert_eq!(raw.stdout, "a\u{1b}[31mb\u{1b}[0m\nno newline");
    let since = house.call(["output", &id, "--since", "12"]).seen();
    assert_eq!(since.stdout, "no newline");
    let seen = house.call(["output", &id, "--since", "999"]).seen();
    assert!(seen.stderr.contains("beyond the end"), "{seen:?}");
    assert_ne!(seen.code, Some(0));
}

#[test]
fn streams_and_lines_can_be_chosen() {
    let house = House::new();
    let id = house.start(["-c", "echo one; echo two >&2; echo three"]);
    house.person(["wait", &id]);
    let seen = house.call(["output", &id, "--stream", "stderr"]).seen();
    assert_eq!(seen.stdout, "two\n");
    let seen = house.call(["output", &id, "--grep", "thr"]).seen();
    assert!(seen.stdout.contains("three") && !seen.stdout.contains("one"), "{seen:?}");
}

#[test]
fn following_ends_with_the_job_and_loses_nothing() {
    let house = House::new();
    let script = "for i in 1 2 3 4 5; do echo line $i; sleep 0.02; done; printf end";
    let all = "line 1\nline 2\nline 3\nline 4\nline 5\nend";
    let id = house.start(["-c", script]);
    let seen = house.call(["output", &id, "--follow"]).seen();
    assert_eq!((seen.stdout.as_str(), seen.code), (all, Some(0)));
    let id = house.start(["-c", script]);
    let seen = house.call(["output", &id, "--follow", "--output", "ndjson"]).seen();
    let lines: Vec<serde_json::Value> =
        seen.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (last, events) = lines.split_last().unwrap();
    let text: String = events.iter().map(|event| event["text"].as_str().unwrap()).collect();
    assert_eq!(text, all);
    assert_eq!(last["result"]["exit_code"], 0, "{last}");
    // One that ended long ago is shown, and that is all.
    assert_eq!(house.call(["output", &id, "-f"]).seen().stdout, all);
    let only = house.call(["output", &id, "-f", "--stream", "stdout"]).seen();
    assert_eq!(only.stdout, all);
}

#[test]
fn a_reader_that_has_seen_enough_ends_the_following() {
    let house = House::new();
    let id = house.start(["-c", "while :; do echo y; sleep 0.01; done"]);
    let line = format!("{} output {id} --follow | head -2", crate::seen::LEGWORK);
    let seen = house.call(["run", "-c", &line]).seen();
    assert_eq!((seen.stdout.as_str(), seen.stderr.as_str()), ("y\ny\n", ""));
}

#[test]
fn input_is_written_as_given() {
    let house = House::new();
    house.start(["--name", "cat", "--stdin", "open", "--", "cat"]);
    let (written, _) = house.agent(["input", "cat", "a", "b", "--enter", "--request-id", "i1"]);
    assert_eq!((written["bytes"].as_i64(), written["repeated"].as_bool()), (Some(4), Some(false)));
    let (again, _) = house.agent(["input", "cat", "a", "b", "--enter", "--request-id", "i1"]);
    assert_eq!(again["repeated"], true);
    house.call(["input", "cat", "-"]).reading("of stdin");
    house.person(["input", "cat", "--close"]);
    let seen = house.call(["output", "cat", "--wait", "60s"]).seen();
    assert_eq!(seen.stdout, "a b\nof stdin");
    let (error, code) = house.agent(["input", "cat", "more"]);
    assert_eq!(code, Some(7), "{error}");
}

#[test]
fn a_screen_is_driven_by_keys() {
    let house = House::new();
    let script = "stty -echo; printf 'name? '; read x; printf '\\033[2J\\033[3;5Hhello %s' \"$x\"; \
                  read y";
    house.start(["--name", "form", "--pty=40x6", "-c", script]);
    house.person(["wait", "form", "--for", "pattern=name"]);
    house.person(["input", "form", "you", "--key", "enter"]);
    wait_until("the greeting", || house.person(["screen", "form"]).stdout.contains("hello you"));
    let (screen, _) = house.agent(["screen", "form"]);
    assert_eq!(screen["rows"][2], "    hello you");
    assert_eq!((screen["cursor_row"].as_i64(), screen["cursor_col"].as_i64()), (Some(2), Some(13)));
    assert_eq!(screen["size"]["cols"], 40);
    let seen = house.person(["screen", "form", "--cursor"]);
    assert_eq!(seen.stdout, "\n\n    hello you\n");
    assert_eq!(seen.stderr, "cursor in row 2, column 13\n");
    let id = house.start(["--", "sleep", "300"]);
    assert_eq!(house.agent(["screen", &id]).1, Some(7));
}

#[test]
fn a_list_is_a_table_for_people_and_a_page_for_agents() {
    let house = House::new();
    house
        .start(["--name", "web", "--label", "team=a", "--intent", "Serving", "--", "sleep", "300"]);
    let (_, code) = house.agent(["run", "-c", "exit 1"]);
    assert_eq!(code, Some(1));
    let table = house.person(["list"]).stdout;
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].starts_with("ID        NAME  STATE"), "{table}");
    assert!(lines[1].contains("web   running") && lines[1].ends_with("Serving"), "{table}");
    assert!(lines[2].contains("ended") && lines[2].ends_with("exit 1"), "{table}");
    let (page, _) = house.agent(["list", "--label", "team=a"]);
    assert_eq!((page["total"].as_i64(), page["jobs"][0]["name"].as_str()), (Some(1), Some("web")));
    let (page, _) = house.agent(["list", "--state", "ended"]);
    assert_eq!(page["total"], 1);
    let (page, _) = house.agent(["list", "--limit", "1", "--page", "2"]);
    assert_eq!((page["total"].as_i64(), page["jobs"].as_array().unwrap().len()), (Some(2), 1));
    let seen = house.person(["list", "--limit", "1"]);
    assert!(seen.stdout.ends_with("… and 1 more, --all\n"), "{seen:?}");
}

#[test]
fn signals_reach_all_or_the_first() {
    let house = House::new();
    house.start(["--name", "pair", "-c", "sleep 300 & sleep 301 & echo up; wait"]);
    house.person(["wait", "pair", "--for", "pattern=up"]);
    wait_until("both sleepers", || {
        let (told, _) = house.agent(["signal", "pair", "CONT"]);
        told["processes"].as_array().is_some_and(|all| all.len() == 3)
    });
    let (told, _) = house.agent(["signal", "pair", "sigcont", "--leader"]);
    assert_eq!(told["processes"].as_array().unwrap().len(), 1, "{told}");
    let seen = house.person(["signal", "pair", "kill"]);
    assert!(seen.stdout.starts_with("SIGKILL sent to 3 processes\n"), "{seen:?}");
    house.person(["wait", "pair"]);
    assert_eq!(house.agent(["signal", "pair", "TERM"]).1, Some(7));
}

#[test]
fn stopping_says_how_each_ended() {
    let house = House::new();
    let ids = [house.start(["--", "sleep", "300"]), house.start(["--", "sleep", "300"])];
    let (done, code) = house.agent(["stop", &ids[0], &ids[1]]);
    assert_eq!((code, done["stopped"].as_array().unwrap().len()), (Some(0), 2), "{done}");
    let third = house.start(["--", "sleep", "300"]);
    let (done, code) = house.agent(["stop", &ids[0], &third]);
    assert_eq!((code, done["failed"][0]["job"].as_str()), (Some(3), Some(ids[0].as_str())));
    assert_eq!(done["stopped"][0]["id"], third.as_str());
    let seen = house.person(["stop", "--all", "--yes"]);
    assert_eq!((seen.stdout.as_str(), seen.code), ("nothing runs\n", Some(0)));
}

#[test]
fn a_service_is_ensured() {
    let house = House::new();
    let (first, _) = house.agent(["ensure", "nap", "--", "sleep", "300"]);
    let (same, _) = house.agent(["ensure", "nap", "--", "sleep", "300"]);
    let (other, _) = house.agent(["ensure", "nap", "--", "sleep", "301"]);
    assert_eq!(first["ensured"], "started");
    assert_eq!((&same["ensured"], &same["id"]), (&"running".into(), &first["id"]));
    assert_eq!(other["ensured"], "replaced");
    assert_ne!(other["id"], first["id"]);
    let seen = house.person(["ensure", "nap", "--", "sleep", "301"]);
    assert_eq!(seen.stdout, format!("{} runs already\n", other["id"].as_str().unwrap()));
}

#[test]
fn a_session_sees_its_own_jobs_and_those_below() {
    let house = House::new();
    house.start(["--session", "a/b", "--name", "inner", "-c", "echo $LEGWORK_SESSION; sleep 300"]);
    let total = |session: &str| {
        let (page, _) = house.agent(["list", "--session", session]);
        page["total"].as_i64().unwrap()
    };
    assert_eq!((total("a"), total("a/b"), total("c")), (1, 1, 0));
    let seen = house.call(["output", "inner"]).env("LEGWORK_SESSION", "c").seen();
    assert_eq!(seen.code, Some(5));
    let seen = house.call(["wait", "inner", "--for", "pattern=a/b"]).env("LEGWORK_SESSION", "a");
    assert_eq!(seen.seen().code, Some(0));
    assert_eq!(house.agent(["start", "--session", "//", "--", "true"]).1, Some(1));
}

#[test]
fn prune_removes_what_has_ended_when_asked() {
    let house = House::new();
    house.agent(["run", "--", "true"]);
    let running = house.start(["--", "sleep", "300"]);
    let (plan, code) = house.agent(["prune", "--keep", "0", "--dry-run"]);
    assert_eq!((code, plan["jobs"].as_array().unwrap().len()), (Some(0), 1), "{plan}");
    assert_eq!(house.agent(["list"]).0["total"], 2);
    let seen = house.person(["prune", "--keep", "0", "--yes"]);
    assert!(seen.stdout.starts_with("1 job removed, "), "{seen:?}");
    let (page, _) = house.agent(["list", "--all"]);
    assert_eq!(
        (page["total"].as_i64(), page["jobs"][0]["id"].as_str()),
        (Some(1), Some(&*running))
    );
}

#[test]
fn defaults_come_from_the_projects_file() {
    let house = House::new();
    std::fs::write(house.path().join(".legwork.toml"), "timeout = \"30ms\"\nbudget = 256\n")
        .unwrap();
    let (report, code) = house.agent(["run", "-c", "seq 1000; exec sleep 300"]);
    assert_eq!(code, Some(75), "{report}");
    let (report, _) = house.agent(["output", report["id"].as_str().unwrap()]);
    assert!(report["output"].as_str().unwrap().len() <= 256);
}

#[test]
fn doctor_is_content() {
    let house = House::new();
    let (found, code) = house.agent(["doctor"]);
    assert_eq!(
        (code, found["state_directory"]["works"].as_bool()),
        (Some(0), Some(true)),
        "{found}"
    );
    assert_eq!(found["jobs"]["total"], 0);
    let mut call = house.call(["doctor", "--output", "json"]);
    call.command.env("LEGWORK_STATE_DIR", "/dev/null/nowhere");
    let seen = call.seen();
    assert_eq!(seen.json()["result"]["state_directory"]["works"], false);
    assert_eq!(seen.code, Some(2));
}

/// Each example that is shown to an agent does what it says.
#[test]
fn every_example_works() {
    let house = House::new();
    let script = house.path().join("in-this-house");
    let legwork = crate::seen::LEGWORK;
    let state = house.state();
    let text = format!(
        "#!/bin/sh\nunset CLAUDECODE AI_AGENT AGENT LEGWORK_SESSION\n\
         LEGWORK_STATE_DIR='{}' exec '{legwork}' \"$@\"\n",
        state.display()
    );
    std::fs::write(&script, text).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, mode).unwrap();
    clap_agent::testing::Examples::of(&script).run().assert();
}
