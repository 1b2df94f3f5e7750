//! Commands that feed each other, without a shell.

use legwork::Cause;
use legwork::prelude::*;
use testkit::is_alive;

use crate::forms::{Form, in_both_forms, misbehave, ms};

in_both_forms! {
    stages_stream_into_each_other,
    the_status_of_every_stage,
    sigpipe_as_in_a_shell,
    much_data_flows_without_us,
    stderr_of_every_stage_is_captured,
    a_stage_that_cannot_start_ends_the_others,
    a_deadline_ends_every_stage,
    input_goes_to_the_first_and_files_come_from_the_last,
    options_of_the_run_belong_to_the_pipeline,
}

fn stages_stream_into_each_other(form: Form) {
    let pipeline = cmd(["seq", "1000"]).pipe(cmd(["grep", "7"])).pipe(cmd(["wc", "-l"]));
    let outcome = form.capture(&pipeline).unwrap();
    assert_eq!(outcome.stdout_text().trim(), "271");
    assert_eq!(outcome.pipeline.len(), 3);
    assert!(outcome.pipeline.iter().all(legwork::Ending::success));
    assert_eq!(outcome.command, ["seq", "1000", "|", "grep", "7", "|", "wc", "-l"]);
}

fn the_status_of_every_stage(form: Form) {
    let pipeline = shell("exit 3").pipe(shell("cat; exit 4")).pipe(cmd(["cat"]));
    let outcome = form.capture(&pipeline).unwrap();
    let codes: Vec<Option<i32>> = outcome.pipeline.iter().map(legwork::Ending::exit_code).collect();
    assert_eq!(codes, [Some(3), Some(4), Some(0)]);
    assert_eq!(outcome.exit_code(), Some(4), "the last that failed");
    assert!(form.run(&pipeline).is_err());
    let outcome = form.run(&pipeline.pipefail(Pipefail::LastOnly)).unwrap();
    assert!(outcome.success());
    let codes: Vec<Option<i32>> = outcome.pipeline.iter().map(legwork::Ending::exit_code).collect();
    assert_eq!(codes, [Some(3), Some(4), Some(0)]);
}

fn sigpipe_as_in_a_shell(form: Form) {
    let pipeline = cmd(["yes"]).pipe(cmd(["head", "-1"]));
    let outcome = form.capture(&pipeline).unwrap();
    assert_eq!(outcome.stdout_text(), "y\n");
    let cause = Cause::Signaled { signal: Signal::PIPE, by_request: false };
    assert_eq!(outcome.pipeline[0].cause(), &cause);
    assert_eq!(outcome.ending.number(), 141, "as with pipefail");
    assert!(form.capture(&pipeline.pipefail(Pipefail::AllButSigpipe)).unwrap().success());
}

fn much_data_flows_without_us(form: Form) {
    let pipeline = misbehave(["flood", "200000000"]).pipe(cmd(["cat"])).pipe(cmd(["wc", "-c"]));
    assert_eq!(form.capture(&pipeline).unwrap().stdout_text().trim(), "200000000");
}

fn stderr_of_every_stage_is_captured(form: Form) {
    let pipeline =
        shell("echo a >&2").pipe(shell("cat; echo b >&2")).pipe(shell("cat; echo c >&2"));
    let outcome = form.capture(&pipeline).unwrap();
    let text = outcome.stderr_text();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["a", "b", "c"]);
    let merged = shell("echo a >&2").merged().pipe(cmd(["cat"]));
    assert_eq!(form.capture(&merged).unwrap().stdout_text(), "a\n");
}

fn a_stage_that_cannot_start_ends_the_others(form: Form) {
    let (directory, script) = crate::forms::place("script");
    std::fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, mode).unwrap();
    let pidfile = directory.path().join("pid");
    let first = misbehave(["ignore-term", pidfile.to_str().unwrap()]);
    // The first is found and started; the kernel refuses the second only then.
    let error = form.capture(&first.pipe(cmd([&script]))).unwrap_err();
    assert_eq!(error.ending().number(), 126);
    if let Ok(pid) = std::fs::read_to_string(&pidfile) {
        assert!(!is_alive(pid.trim().parse().unwrap()));
    }
}

fn a_deadline_ends_every_stage(form: Form) {
    let pipeline = cmd(["sleep", "300"]).pipe(cmd(["sleep", "300"])).pipe(cmd(["cat"]));
    let outcome = form.capture(&pipeline.timeout(ms(100))).unwrap();
    assert_eq!(outcome.ending.cause(), &Cause::Deadline);
    assert_eq!(outcome.pipeline.len(), 3);
    assert!(outcome.survivors.is_empty());
}

fn input_goes_to_the_first_and_files_come_from_the_last(form: Form) {
    let (_directory, file) = crate::forms::place("out");
    let pipeline = cmd(["cat"]).stdin("x\n").pipe(cmd(["cat"]).stdout(Output::File(file.clone())));
    form.run(&pipeline).unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "x\n");
    let wrong = cmd(["cat"]).pipe(cmd(["cat"]).stdin("x"));
    assert_eq!(form.run(&wrong).unwrap_err().invalid_input().unwrap().field(), "stdin");
    let wrong = cmd(["cat"]).stdout(Output::Null).pipe(cmd(["cat"]));
    assert_eq!(form.run(&wrong).unwrap_err().invalid_input().unwrap().field(), "stdout");
}

fn options_of_the_run_belong_to_the_pipeline(form: Form) {
    let wrong = cmd(["true"]).timeout(ms(100)).pipe(cmd(["true"]));
    assert_eq!(form.run(&wrong).unwrap_err().invalid_input().unwrap().field(), "timeout");
    let wrong = cmd(["true"]).pipe(cmd(["true"]).pty(24, 80));
    assert_eq!(form.run(&wrong).unwrap_err().invalid_input().unwrap().field(), "pty");
}
