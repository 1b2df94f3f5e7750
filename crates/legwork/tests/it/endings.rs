//! Every ending, each from a real process.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use legwork::prelude::*;
use legwork::{Cause, NotStarted, WaitStatus};
use testkit::{is_alive, pid_in, wait_until};

use crate::forms::{Form, in_both_forms, misbehave, ms, place};

in_both_forms! {
    exit_codes,
    every_signal,
    a_core_dump,
    not_found_with_near_names,
    a_path_that_is_not_there,
    not_executable,
    a_directory_is_no_program,
    a_directory_that_is_missing,
    a_directory_that_is_a_file,
    a_script_without_its_interpreter,
    a_file_of_no_known_format,
    an_argument_list_that_is_too_long,
    a_deadline_obeyed_with_exit_zero_is_no_success,
    a_deadline_ignored_ends_in_a_kill,
    a_leader_that_left_within_the_grace_hides_nobody,
    silence_ends_and_output_puts_it_off,
    a_slow_callback_is_not_the_commands_time,
    cancelled_from_another_thread,
    cancelled_before_it_starts,
    what_has_ended_is_not_cancelled_any_more,
    a_stopped_command_can_still_be_ended,
    external_commands_switched_off,
    sh_errors_and_check_opts_out,
    the_error_says_what_failed,
}

fn cause(outcome: &Outcome) -> Cause {
    outcome.ending.cause().clone()
}

fn not_started(form: Form, command: &Command) -> (NotStarted, i32) {
    for error in [form.run(command).unwrap_err(), form.capture(command).unwrap_err()] {
        assert!(!form.succeeds(command));
        if let Cause::NotStarted(why) = error.ending().cause() {
            assert!(error.to_string().starts_with("command not started ("), "{error}");
            return (why.clone(), error.ending().number());
        }
    }
    panic!("{command:?} was started");
}

fn exit_codes(form: Form) {
    for code in [0, 1, 2, 255] {
        let command = shell(format!("exit {code}"));
        let outcome = form.capture(&command).unwrap();
        assert_eq!(cause(&outcome), Cause::Exited { code });
        assert_eq!(outcome.exit_code(), Some(code));
        assert_eq!(outcome.ending.number(), code);
        assert_eq!(outcome.success(), code == 0);
        assert_eq!(form.succeeds(&command), code == 0);
        assert_eq!(form.run(&command).is_ok(), code == 0);
    }
}

fn every_signal(form: Form) {
    // Those whose default action is to end the process.
    let deadly =
        [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 24, 25, 26, 27, 29, 30, 31, 34, 64];
    for number in deadly {
        let signal = Signal::from_number(number).unwrap();
        let limits = Limits { core: Some(0), ..Limits::default() };
        // Not bash: it ignores SIGQUIT.
        let script = format!("kill -{number} $$; sleep 300");
        let command = shell(script).shell_program("sh").limits(limits);
        let outcome = form.capture(&command).unwrap();
        assert_eq!(cause(&outcome), Cause::Signaled { signal, by_request: false });
        assert_eq!(outcome.ending.number(), 128 + number);
        assert_eq!(outcome.exit_code(), None);
        assert!(!outcome.success());
    }
}

fn a_core_dump(form: Form) {
    let (directory, _) = place("core");
    let limits = Limits { core: Some(1 << 30), ..Limits::default() };
    let outcome = form.capture(&shell("kill -SEGV $$").limits(limits).workdir(directory.path()));
    let outcome = outcome.unwrap();
    let Some(WaitStatus::Signaled { signal, core_dumped }) = outcome.ending.status() else {
        panic!("{outcome:?}");
    };
    assert_eq!(signal, Signal::SEGV);
    // Where the system pipes cores away, the kernel sets the flag as well.
    assert!(core_dumped);
    assert!(outcome.ending.to_string().contains("core dumped"));
}

fn not_found_with_near_names(form: Form) {
    let (directory, tool) = place("frobnicate");
    fs::write(&tool, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    let command = cmd(["frobnicaet"]).env("PATH", directory.path());
    let (why, number) = not_started(form, &command);
    assert_eq!(why, NotStarted::NotFound { near: vec!["frobnicate".into()] });
    assert_eq!(number, 127);
    let error = form.capture(&command).unwrap_err().to_string();
    assert_eq!(error, "command not started (not found; did you mean frobnicate?): frobnicaet");
    assert!(form.succeeds(&cmd(["frobnicate"]).env("PATH", directory.path())));
}

fn a_path_that_is_not_there(form: Form) {
    let (why, number) = not_started(form, &cmd(["/bin/no-such-thing"]));
    assert!(matches!(why, NotStarted::NotFound { .. }));
    assert_eq!(number, 127);
    let (why, _) = not_started(form, &cmd(["/bin/sh/nested"]));
    assert!(matches!(why, NotStarted::NotFound { .. }));
}

fn not_executable(form: Form) {
    let (directory, file) = place("plain");
    fs::write(&file, "#!/bin/sh\n").unwrap();
    let by_path = not_started(form, &cmd([&file]));
    let by_name = not_started(form, &cmd(["plain"]).env("PATH", directory.path()));
    assert_eq!(by_path, (NotStarted::NotExecutable, 126));
    assert_eq!(by_name, (NotStarted::NotExecutable, 126));
}

fn a_directory_is_no_program(form: Form) {
    assert_eq!(not_started(form, &cmd(["/tmp"])), (NotStarted::NotExecutable, 126));
}

fn a_directory_that_is_missing(form: Form) {
    // Even where the program is missing too: the directory comes first.
    let command = cmd(["no-such-program"]).workdir("/no/such/directory");
    assert_eq!(not_started(form, &command), (NotStarted::BadDirectory, 125));
    let error = form.capture(&command).unwrap_err();
    assert!(error.to_string().contains("/no/such/directory"), "{error}");
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.contains("No such file"), "{source}");
}

fn a_directory_that_is_a_file(form: Form) {
    let (_directory, file) = place("file");
    fs::write(&file, "").unwrap();
    let command = cmd(["true"]).workdir(&file);
    assert_eq!(not_started(form, &command), (NotStarted::BadDirectory, 125));
}

fn a_script_without_its_interpreter(form: Form) {
    let (_directory, script) = place("script");
    fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(not_started(form, &cmd([&script])), (NotStarted::BadInterpreter, 126));
}

fn a_file_of_no_known_format(form: Form) {
    let (_directory, file) = place("nonsense");
    fs::write(&file, "neither a script nor a program").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(not_started(form, &cmd([&file])), (NotStarted::NotExecutable, 126));
}

fn an_argument_list_that_is_too_long(form: Form) {
    let one = "x".repeat(200_000);
    assert_eq!(not_started(form, &cmd(["echo", &one])), (NotStarted::ArgumentsTooLong, 125));
    let many = cmd(["echo"]).args((0..40).map(|_| "x".repeat(100_000)));
    assert_eq!(not_started(form, &many), (NotStarted::ArgumentsTooLong, 125));
}

fn a_deadline_obeyed_with_exit_zero_is_no_success(form: Form) {
    let (_directory, pidfile) = place("pid");
    // The handler is set before the file appears; the deadline only has to come after that.
    let script = format!(
        "trap 'exit 0' TERM; echo x > {0}; while :; do sleep 0.01; done",
        pidfile.display()
    );
    let command = shell(script).timeout(ms(1500));
    let outcome = form.capture(&command).unwrap();
    assert!(pidfile.exists());
    assert_eq!(cause(&outcome), Cause::Deadline);
    assert_eq!(outcome.ending.status(), Some(WaitStatus::Exited { code: 0 }));
    assert!(outcome.timed_out() && !outcome.success());
    assert_eq!(outcome.exit_code(), None);
    assert_eq!(outcome.ending.number(), 124);
    assert!(form.run(&command).is_err());
}

fn a_deadline_ignored_ends_in_a_kill(form: Form) {
    let (_directory, pidfile) = place("pid");
    let command = misbehave(["ignore-term", pidfile.to_str().unwrap()]);
    let outcome = form.capture(&command.timeout(ms(500)).kill_grace(ms(50))).unwrap();
    assert_eq!(cause(&outcome), Cause::Deadline);
    let killed = WaitStatus::Signaled { signal: Signal::KILL, core_dumped: false };
    assert_eq!(outcome.ending.status(), Some(killed));
    assert!(!is_alive(pid_in(&pidfile)));
}

fn a_leader_that_left_within_the_grace_hides_nobody(form: Form) {
    let (_directory, pidfile) = place("pid");
    let command = misbehave(["leave-ignorer", pidfile.to_str().unwrap()]);
    let outcome = form.capture(&command.timeout(ms(500)).kill_grace(ms(100))).unwrap();
    assert_eq!(cause(&outcome), Cause::Deadline);
    let left = WaitStatus::Signaled { signal: Signal::TERM, core_dumped: false };
    assert_eq!(outcome.ending.status(), Some(left), "the leader itself obeyed");
    assert!(!is_alive(pid_in(&pidfile)), "its child that ignored SIGTERM is gone");
    assert!(outcome.survivors.is_empty());
}

fn silence_ends_and_output_puts_it_off(form: Form) {
    let outcome = form.capture(&shell("echo x; sleep 300").idle_timeout(ms(50))).unwrap();
    assert_eq!(cause(&outcome), Cause::Idle);
    assert_eq!(outcome.stdout_text(), "x\n");
    assert_eq!(outcome.ending.number(), 124);
    assert!(outcome.timed_out());
    // Twenty lines, together longer than the limit, each well within it.
    let chatty = shell("for i in $(seq 20); do echo $i; sleep 0.1; done").idle_timeout(ms(1900));
    assert!(form.capture(&chatty).unwrap().success());
}

fn a_slow_callback_is_not_the_commands_time(form: Form) {
    // The command has ended long before its deadline; the callback has not.
    let slow = |_: &Line| std::thread::sleep(ms(700));
    let command = shell("echo x").timeout(ms(500)).on_line(slow);
    assert_eq!(cause(&form.capture(&command).unwrap()), Cause::Exited { code: 0 });
    let command = shell("for i in 1 2 3; do echo $i; done").idle_timeout(ms(500)).on_line(slow);
    assert_eq!(cause(&form.capture(&command).unwrap()), Cause::Exited { code: 0 });
}

fn cancelled_from_another_thread(form: Form) {
    let token = CancelToken::new().unwrap();
    let (_directory, pidfile) = place("pid");
    let command = misbehave(["obey-term", pidfile.to_str().unwrap()]).cancel_token(&token);
    let thread = std::thread::spawn({
        let pidfile = pidfile.clone();
        move || {
            pid_in(&pidfile);
            token.cancel();
        }
    });
    let outcome = form.capture(&command).unwrap();
    thread.join().unwrap();
    assert_eq!(cause(&outcome), Cause::Cancelled);
    assert!(outcome.ending.number() > 128);
    assert!(!is_alive(pid_in(&pidfile)));
}

fn cancelled_before_it_starts(form: Form) {
    let token = CancelToken::new().unwrap();
    token.cancel();
    for _ in 0..3 {
        let outcome = form.capture(&cmd(["sleep", "300"]).cancel_token(&token)).unwrap();
        assert_eq!(cause(&outcome), Cause::Cancelled);
    }
}

fn what_has_ended_is_not_cancelled_any_more(form: Form) {
    let token = CancelToken::new().unwrap();
    let late = token.clone();
    // It has ended when the callback cancels it; its driver, busy in the callback, has not seen it.
    let command = shell("echo x; exit 3").cancel_token(&token).on_line(move |_| {
        std::thread::sleep(ms(300));
        late.cancel();
    });
    assert_eq!(cause(&form.capture(&command).unwrap()), Cause::Exited { code: 3 });
}

fn a_stopped_command_can_still_be_ended(form: Form) {
    let mut run = form.spawn(&cmd(["sleep", "300"]).timeout(ms(300))).unwrap();
    run.signal(Signal::STOP);
    let pid = run.pid();
    wait_until("the stop", || testkit::state(pid).is_none_or(|state| state == 'T'));
    let outcome = run.wait_timeout(std::time::Duration::from_secs(60)).unwrap();
    let obeyed = WaitStatus::Signaled { signal: Signal::TERM, core_dumped: false };
    assert_eq!(outcome.ending.status(), Some(obeyed), "continued, so that it could obey");
}

fn external_commands_switched_off(form: Form) {
    let (_directory, file) = place("file");
    let scope = Scope::new().allow_external(false);
    let command = scope.command([std::ffi::OsStr::new("touch"), file.as_os_str()]);
    let error = form.capture(&command).unwrap_err();
    assert!(matches!(error.ending().cause(), Cause::Denied { .. }));
    assert_eq!(error.ending().number(), 126);
    assert_eq!(
        error.to_string(),
        format!("command denied (external commands are switched off): touch {}", file.display())
    );
    assert!(!form.succeeds(&command));
    assert!(form.capture(&cmd(["true"]).pipe(scope.command(["cat"]))).is_err());
    assert!(!file.exists());
}

fn sh_errors_and_check_opts_out(form: Form) {
    let command = shell("exit 7");
    assert_eq!(form.run(&command).unwrap_err().exit_code(), Some(7));
    assert_eq!(form.run(&command.clone().check(false)).unwrap().exit_code(), Some(7));
    assert!(form.capture(&command.check(true)).is_err());
}

fn the_error_says_what_failed(form: Form) {
    let command = shell("echo 'no such target' >&2; exit 2").stderr(Output::Capture).workdir("/");
    let error = form.run(&command).unwrap_err();
    assert_eq!(
        error.to_string(),
        "command failed (exit 2): bash -c \"echo 'no such target' >&2; exit 2\""
    );
    assert_eq!(error.stderr_tail().unwrap(), "no such target\n");
    assert_eq!(error.workdir().unwrap().to_str(), Some("/"));
    let error = form.run(&cmd(["make", "-j4", "all"]).workdir("/proc")).unwrap_err();
    assert_eq!(error.to_string(), "command failed (exit 2): make -j4 all");
}
