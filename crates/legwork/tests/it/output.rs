//! What is printed: streamed, kept, thrown away, put in files, exact and bounded.

use std::fs;

use legwork::prelude::*;

use crate::forms::{Form, host, in_both_forms, misbehave, ms, place};

in_both_forms! {
    bytes_are_exact,
    stdout_and_stderr_are_kept_apart,
    merged_keeps_the_exact_order,
    what_is_not_captured_is_absent,
    files_are_written_and_appended,
    files_work_with_an_idle_limit_too,
    two_outputs_into_one_file,
    a_place_that_takes_nothing_is_told,
    a_named_pipe_is_refused,
    a_limit_keeps_head_and_tail,
    four_gigabytes_in_flat_memory,
    stdin_of_a_gigabyte_that_nobody_reads,
    stdin_that_is_never_read_meets_the_deadline,
    stdin_from_a_file,
    lines_are_called_back,
    a_callback_sees_both_streams,
    arguments_are_not_expanded,
    non_utf8_arguments_survive,
    the_outcome_serialises,
    usage_is_told,
    a_terminal_of_its_own,
    typed_input_reaches_a_terminal,
    limits_are_set,
    only_three_descriptors,
    signals_are_as_new,
}

fn bytes_are_exact(form: Form) {
    let all: Vec<u8> = (0..=255).collect();
    let outcome = form.capture(&cmd(["cat"]).stdin(all.clone())).unwrap();
    assert_eq!(outcome.stdout.as_ref().unwrap().bytes(), all);
    assert!(outcome.stdout_text().contains('\u{fffd}'), "the text form is lossy");
}

fn stdout_and_stderr_are_kept_apart(form: Form) {
    let outcome = form.capture(&shell("echo out; echo err >&2")).unwrap();
    assert_eq!(outcome.stdout_text(), "out\n");
    assert_eq!(outcome.stderr_text(), "err\n");
    assert_eq!(outcome.output().len(), 8);
}

fn merged_keeps_the_exact_order(form: Form) {
    let script = "for i in 1 2 3 4 5 6 7 8 9; do echo o$i; echo e$i >&2; done";
    let outcome = form.capture(&shell(script).merged()).unwrap();
    let expected: String = (1..=9).map(|i| format!("o{i}\ne{i}\n")).collect();
    assert_eq!(outcome.stdout_text(), expected);
    assert!(outcome.stderr.is_none());
}

fn what_is_not_captured_is_absent(form: Form) {
    let outcome = form.capture(&cmd(["true"])).unwrap();
    assert_eq!(outcome.stdout.unwrap().bytes(), b"", "captured, and nothing came");
    let outcome = form.run(&cmd(["true"])).unwrap();
    assert!(outcome.stdout.is_none() && outcome.stderr.is_none());
}

fn files_are_written_and_appended(form: Form) {
    let (_directory, file) = place("out");
    fs::write(&file, "old").unwrap();
    form.run(&cmd(["echo", "one"]).stdout(Output::File(file.clone()))).unwrap();
    form.run(&cmd(["echo", "two"]).stdout(Output::Append(file.clone()))).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "one\ntwo\n");
    let missing = cmd(["echo"]).stdout(Output::File("/no/such/dir/file".into()));
    let error = form.run(&missing).unwrap_err();
    assert!(error.to_string().contains("/no/such/dir/file"), "{error}");
}

fn files_work_with_an_idle_limit_too(form: Form) {
    let (_directory, file) = place("out");
    let command = misbehave(["flood", "1000000"]).stdout(Output::File(file.clone()));
    form.run(&command.idle_timeout(ms(60_000))).unwrap();
    assert_eq!(fs::metadata(&file).unwrap().len(), 1_000_000);
}

fn two_outputs_into_one_file(form: Form) {
    let (_directory, file) = place("both");
    let command =
        shell("echo first; echo second >&2; echo third").output(Output::File(file.clone()));
    form.run(&command).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "first\nsecond\nthird\n");
    // By another name it is the same file.
    let other = file.parent().unwrap().join(".").join("both");
    let command = shell("echo first; echo second >&2; echo third");
    let command = command.stdout(Output::File(file.clone())).stderr(Output::File(other));
    form.run(&command).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "first\nsecond\nthird\n");
}

fn a_place_that_takes_nothing_is_told(form: Form) {
    let full = cmd(["echo", "x"]).stdout(Output::File("/dev/full".into())).idle_timeout(ms(60_000));
    let outcome = form.run(&full).unwrap();
    let note = "2 bytes of output were not passed on: No space left on device";
    assert!(outcome.notes[0].starts_with(note), "{:?}", outcome.notes);
}

fn a_named_pipe_is_refused(form: Form) {
    let (_directory, fifo) = place("fifo");
    legwork::sh(["mkfifo".as_ref(), fifo.as_os_str()]).unwrap();
    for command in [
        cmd(["cat"]).stdin(Stdin::File(fifo.clone())),
        cmd(["cat"]).stdout(Output::File(fifo.clone())),
    ] {
        let error = form.capture(&command).unwrap_err().to_string();
        assert!(error.contains("named pipe"), "{error}");
    }
}

fn a_limit_keeps_head_and_tail(form: Form) {
    let outcome = form.capture(&cmd(["seq", "200000"]).capture_limit(1000)).unwrap();
    let stdout = outcome.stdout.unwrap();
    assert!(stdout.head().starts_with(b"1\n2\n3\n"));
    assert!(stdout.tail().ends_with(b"199999\n200000\n"));
    assert_eq!(stdout.head().len() + stdout.tail().len(), 1000);
    assert_eq!(stdout.total(), 1_288_895);
    assert!(stdout.text().contains("1287895 bytes left out"));
    let nothing = form.capture(&cmd(["seq", "1000"]).capture_limit(0)).unwrap().stdout.unwrap();
    assert_eq!((nothing.bytes().len(), nothing.omitted()), (0, 3893));
}

fn four_gigabytes_in_flat_memory(form: Form) {
    let printed = host(form, "flat", ["4294967296"]);
    assert_eq!(printed["total"], 4_294_967_296u64);
    assert_eq!(printed["kept"], 1 << 20);
    assert_eq!(printed["success"], true);
    assert!(printed["peak_kib"].as_u64().unwrap() < 32 * 1024, "{printed}");
}

fn stdin_of_a_gigabyte_that_nobody_reads(form: Form) {
    let outcome = form.capture(&cmd(["true"]).stdin(vec![b'x'; 1 << 30])).unwrap();
    assert!(outcome.success());
}

fn stdin_that_is_never_read_meets_the_deadline(form: Form) {
    let outcome = form.capture(&misbehave(["wedge"]).stdin(vec![b'x'; 1 << 24]).timeout(ms(200)));
    assert!(outcome.unwrap().timed_out());
}

fn stdin_from_a_file(form: Form) {
    let (_directory, file) = place("in");
    fs::write(&file, "content").unwrap();
    let outcome = form.capture(&cmd(["cat"]).stdin(Stdin::File(file))).unwrap();
    assert_eq!(outcome.stdout_text(), "content");
    let error = form.capture(&cmd(["cat"]).stdin(Stdin::File("/no/such/file".into()))).unwrap_err();
    assert!(error.to_string().contains("/no/such/file"), "{error}");
}

fn lines_are_called_back(form: Form) {
    let (sender, receiver) = std::sync::mpsc::channel();
    let command = cmd(["seq", "1000"]).on_line(move |line| {
        sender.send(line.text().into_owned()).unwrap();
    });
    // Thrown away, and still seen.
    assert!(form.succeeds(&command));
    drop(command);
    let lines: Vec<String> = receiver.iter().collect();
    let expected: Vec<String> = (1..=1000).map(|i| i.to_string()).collect();
    assert_eq!(lines, expected);
}

fn a_callback_sees_both_streams(form: Form) {
    let (sender, receiver) = std::sync::mpsc::channel();
    let command = shell("echo out; echo err >&2; printf unfinished").on_line(move |line| {
        sender.send((line.stream, line.text().into_owned())).unwrap();
    });
    let outcome = form.capture(&command).unwrap();
    drop(command);
    assert_eq!(outcome.stdout_text(), "out\nunfinished");
    let mut lines: Vec<_> = receiver.iter().collect();
    lines.sort_by_key(|(stream, text)| (*stream == Stream::Stderr, text.clone()));
    let text = |stream, text: &str| (stream, text.to_owned());
    assert_eq!(
        lines,
        [
            text(Stream::Stdout, "out"),
            text(Stream::Stdout, "unfinished"),
            text(Stream::Stderr, "err"),
        ]
    );
}

fn arguments_are_not_expanded(form: Form) {
    let outcome = form.capture(&cmd(["echo", "$HOME", "*", "a b", "`id`", ";", "|"])).unwrap();
    assert_eq!(outcome.stdout_text(), "$HOME * a b `id` ; |\n");
}

fn non_utf8_arguments_survive(form: Form) {
    use std::os::unix::ffi::OsStringExt;
    let odd = std::ffi::OsString::from_vec(b"\xff\xfe".to_vec());
    let outcome = form.capture(&cmd(["printf", "%s"]).arg(odd.clone()).env("X", odd)).unwrap();
    assert_eq!(outcome.stdout.as_ref().unwrap().bytes(), b"\xff\xfe");
    let json = serde_json::to_value(&outcome).unwrap();
    assert_eq!(json["command"][2]["b64"], "//4=");
    assert_eq!(json["stdout"]["content"]["b64"], "//4=");
}

fn the_outcome_serialises(form: Form) {
    let outcome = form.capture(&shell("echo x; exit 3").workdir("/")).unwrap();
    let json = serde_json::to_value(&outcome).unwrap();
    assert_eq!(json["command"], serde_json::json!(["bash", "-c", "echo x; exit 3"]));
    assert_eq!(json["workdir"], "/");
    assert_eq!(json["ending"], serde_json::json!({"cause": "exited", "code": 3}));
    assert_eq!(json["exit_code"], 3);
    assert_eq!(json["shell_code"], 3);
    assert_eq!(json["success"], false);
    assert_eq!(json["stdout"]["content"], "x\n");
    assert_eq!(json["survivors"], serde_json::json!([]));
    assert!(json["started_at_ms"].as_u64().unwrap() > 1_600_000_000_000);
}

fn usage_is_told(form: Form) {
    let script = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
    let usage = form.capture(&shell(script)).unwrap().usage.unwrap();
    assert!(usage.cpu_user > std::time::Duration::ZERO);
    assert!(usage.max_rss_bytes > 100_000);
}

fn a_terminal_of_its_own(form: Form) {
    let script = "test -t 0 && test -t 1 && test -t 2 && stty size && ps -o tty= -p $$";
    let outcome = form.capture(&shell(script).pty(33, 111)).unwrap();
    assert!(outcome.success(), "{outcome:?}");
    assert!(outcome.stdout_text().starts_with("33 111\r\n"), "{:?}", outcome.stdout_text());
    assert!(outcome.stdout_text().contains("pts/"), "{:?}", outcome.stdout_text());
    assert!(outcome.stderr.is_none(), "a terminal is one stream");
    // Nobody will ever type, and a program that asks is told so.
    let outcome = form.capture(&shell("read x; echo got $?").pty(24, 80)).unwrap();
    assert!(outcome.stdout_text().contains("got 1"), "{:?}", outcome.stdout_text());
    let outcome = form.capture(&cmd(["sleep", "300"]).pty(24, 80).timeout(ms(100))).unwrap();
    assert!(outcome.timed_out());
}

fn typed_input_reaches_a_terminal(form: Form) {
    let command = shell("read a; read b; echo \"<$a|$b>\"; cat >/dev/null; echo end").pty(24, 80);
    let outcome = form.capture(&command.stdin("one\ntwo\nunfinished")).unwrap();
    let text = outcome.stdout_text();
    assert!(text.contains("<one|two>") && text.contains("end"), "{text:?}");
}

fn limits_are_set(form: Form) {
    let limits = Limits {
        address_space: Some(1 << 30),
        cpu_seconds: Some(100),
        open_files: Some(4),
        core: Some(0),
        file_size: Some(1 << 20),
    };
    let command = shell(
        "ulimit -v; ulimit -t; ulimit -n; ulimit -c; ulimit -f; nice; cat /proc/self/oom_score_adj",
    );
    let command = command.limits(limits).nice(5).oom_score_adj(321);
    let outcome = form.capture(&command).unwrap();
    let lines: Vec<&str> = outcome
        .stdout
        .as_ref()
        .unwrap()
        .bytes()
        .split(|b| *b == b'\n')
        .map(|line| std::str::from_utf8(line).unwrap())
        .collect();
    assert_eq!(&lines[..7], ["1048576", "100", "4", "0", "1024", "5", "321"]);

    let (directory, _) = place("big");
    let limits = Limits { file_size: Some(1000), core: Some(0), ..Limits::default() };
    let write = shell("exec head -c 5000 /dev/zero > big").workdir(directory.path()).limits(limits);
    let outcome = form.capture(&write).unwrap();
    assert_eq!(outcome.ending.number(), 128 + Signal::XFSZ.number(), "{}", outcome.ending);
    // The host's own score is untouched.
    assert_ne!(fs::read_to_string("/proc/self/oom_score_adj").unwrap().trim(), "321");
}

fn only_three_descriptors(form: Form) {
    // One that the host forgot to mark close-on-exec.
    let leak = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 50).unwrap();
    rustix::io::fcntl_setfd(&leak, rustix::io::FdFlags::empty()).unwrap();
    let outcome = form.capture(&misbehave(["descriptors"])).unwrap();
    assert_eq!(outcome.stdout_text(), "0 1 2\n");
    let piped = misbehave(["descriptors"]).pipe(cmd(["cat"])).capture().unwrap();
    assert_eq!(piped.stdout_text(), "0 1 2\n");
}

fn signals_are_as_new(form: Form) {
    // Rust ignores SIGPIPE in this very process; `grep` shows what a child starts with.
    let outcome = form.capture(&cmd(["grep", "-E", "Sig(Blk|Ign)", "/proc/self/status"])).unwrap();
    assert_eq!(outcome.stdout_text(), "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}
