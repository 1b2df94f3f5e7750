//! A person beside the agent: sits down at a job's terminal, watches the list, interrupts a wait.

use std::process::Stdio;
use std::time::Duration;

use legwork::prelude::*;
use testkit::wait_until;

use crate::house::House;
use crate::seen::LEGWORK;

/// A shell on a terminal in this house, where `legwork` is found.
fn person(house: &House, script: &str) -> Command {
    let legwork = format!("legwork() {{ {LEGWORK} \"$@\"; }}; {script}; echo; stty -a; echo over");
    shell(legwork)
        .env("LEGWORK_STATE_DIR", house.state())
        .env("TERM", "xterm")
        .env_remove("CLAUDECODE")
        .env_remove("AI_AGENT")
        .env_remove("LEGWORK_SESSION")
        .workdir(house.path())
        .pty(24, 80)
        .stdin(Stdin::Piped)
        .output(Output::Capture)
        .timeout(Duration::from_secs(120))
}

/// Waits until the terminal has shown this.
fn until(run: &mut Running, wanted: &str) {
    let seen = run.lines().any(|line| line.text().contains(wanted));
    assert!(seen, "{wanted:?} was never shown");
}

/// Everything that was shown, once it is over. Not sooner: whoever lets go of the terminal sends
/// the key that ends its input, and that would be the job's.
fn shown(mut run: Running) -> String {
    until(&mut run, "over");
    run.wait().unwrap().stdout_text().into_owned()
}

fn is_restored(text: &str) -> bool {
    text.contains("isig icanon iexten echo ")
}

#[test]
fn keys_go_to_the_job_until_the_one_that_detaches() {
    let house = House::new();
    let script = "while read -r line; do echo \"<$line>\"; done";
    let id = house.start(["--name", "echoer", "--pty", "-c", script]);
    let mut run = person(&house, "legwork attach echoer").spawn().unwrap();
    until(&mut run, "Ctrl-\\ detaches");
    run.write(b"typed\r").unwrap();
    until(&mut run, "<typed>");
    run.write(b"\x1c").unwrap();
    let text = shown(run);
    assert!(text.contains(&format!("attached to echoer ({id}); Ctrl-\\ detaches")), "{text}");
    assert!(text.contains("detached; it runs on"), "{text}");
    assert!(is_restored(&text), "{text}");
    assert_eq!(house.agent(["output", &id]).0["running"], true);
}

#[test]
fn the_end_of_the_job_is_the_end_of_it() {
    let house = House::new();
    house.start(["--name", "asks", "--pty", "-c", "echo ask; read x; exit 0"]);
    house.person(["wait", "asks", "--for", "pattern=ask"]);
    let mut run = person(&house, "legwork attach asks; echo \"code $?\"").spawn().unwrap();
    until(&mut run, "Ctrl-\\ detaches");
    run.write(b"answer\r").unwrap();
    let text = shown(run);
    assert!(text.contains("asks") && text.contains("code 0"), "{text}");
    assert!(is_restored(&text), "{text}");
}

#[test]
fn the_job_has_the_size_of_the_window() {
    let house = House::new();
    let script = "read x; stty size; read x";
    house.start(["--name", "sized", "--pty=40x10", "-c", script]);
    let mut run = person(&house, "legwork attach sized").spawn().unwrap();
    until(&mut run, "Ctrl-\\ detaches");
    run.write(b"\r").unwrap();
    until(&mut run, "24 80");
    run.write(b"\x1c").unwrap();
    shown(run);
}

#[test]
fn a_signal_gives_the_terminal_back() {
    let house = House::new();
    house.start(["--name", "still", "--pty", "-c", "read x"]);
    // The shell's own child is signalled once it has put the terminal into raw mode. A shell
    // without job control takes stdin away from what it does not wait for.
    let script = format!(
        "{LEGWORK} attach still < /dev/tty & child=$!; \
         (until stty -a < /dev/tty | grep -q -e -icanon; do sleep 0.02; done; kill -TERM $child) & \
         wait $child; echo \"code $?\""
    );
    let text = shown(person(&house, &script).spawn().unwrap());
    assert!(text.contains("code 143"), "{text}");
    assert!(is_restored(&text), "{text}");
}

#[test]
fn a_job_without_a_terminal_is_followed() {
    let house = House::new();
    house.start(["--name", "plain", "--stdin", "open", "-c", "echo before; read x; echo after"]);
    house.person(["wait", "plain", "--for", "pattern=before"]);
    let mut run = person(&house, "legwork attach plain").spawn().unwrap();
    until(&mut run, "has no terminal; following its log");
    house.person(["input", "plain", "--enter"]);
    let text = shown(run);
    assert!(text.contains("before\r\n") && text.contains("after\r\n"), "{text}");
}

#[test]
fn attaching_needs_a_terminal() {
    let house = House::new();
    let id = house.start(["--pty", "--", "sleep", "300"]);
    let seen = house.call(["attach", &id]).seen();
    assert_eq!(seen.code, Some(1), "{seen:?}");
    assert!(seen.stderr.contains("--follow"), "{seen:?}");
}

#[test]
fn a_watched_list_is_redrawn_until_q() {
    let house = House::new();
    house.start(["--name", "first", "--", "sleep", "300"]);
    let mut run = person(&house, "legwork list --watch; echo \"code $?\"").spawn().unwrap();
    until(&mut run, "first");
    house.start(["--name", "second", "--", "sleep", "300"]);
    until(&mut run, "second");
    run.write(b"q").unwrap();
    let text = shown(run);
    assert!(text.contains("\u{1b}[?1049h") && text.contains("\u{1b}[?1049l"), "{text:?}");
    assert!(text.contains("code 0"), "{text}");
    assert!(is_restored(&text), "{text}");
}

#[test]
fn a_list_has_colours_on_a_terminal_and_none_where_they_are_not_wanted() {
    let house = House::new();
    house.start(["--", "sleep", "300"]);
    let shown = |script: &str| shown(person(&house, script).spawn().unwrap());
    assert!(shown("legwork list").contains("\u{1b}[32mrunning"));
    assert!(!shown("NO_COLOR=1 legwork list").contains("\u{1b}[32m"));
    assert!(!house.person(["list"]).stdout.contains('\u{1b}'));
    let forced = house.call(["list", "--output", "text"]).env("CLICOLOR_FORCE", "1").seen();
    assert!(forced.stdout.contains("\u{1b}[32mrunning"), "{forced:?}");
}

#[test]
fn what_may_be_lost_is_asked_about() {
    let house = House::new();
    house.agent(["run", "--", "true"]);
    let mut run = person(&house, "legwork prune --keep 0; echo \"code $?\"").spawn().unwrap();
    run.write(b"n\n").unwrap();
    let text = shown(run);
    assert!(text.contains("Go on? [y/N]") && text.contains("code 9"), "{text}");
    assert_eq!(house.agent(["list"]).0["total"], 1);
}

/// The command is a job: whoever interrupts the wait for it is told where it is.
#[test]
fn an_interrupted_wait_leaves_the_job_and_names_it() {
    for (signal, code) in
        [(rustix::process::Signal::INT, 130), (rustix::process::Signal::TERM, 143)]
    {
        let house = House::new();
        let words = ["run", "--output", "json", "--timeout", "100s", "--", "sleep", "300"];
        let mut call = house.call(words);
        let command =
            call.command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        wait_until("the job", || house.agent(["list"]).0["total"] == 1);
        let id = house.agent(["list"]).0["jobs"][0]["id"].as_str().unwrap().to_owned();
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, signal).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        let error: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
        assert!(error["message"].as_str().unwrap().contains(&id), "{error}");
        assert_eq!(house.agent(["output", &id]).0["running"], true);
    }
}
