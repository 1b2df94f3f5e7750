//! Hosts: programs that use legwork in circumstances a test process must not be in itself.
//! Each prints one JSON value that the test reads.

use std::time::Duration;

use legwork::prelude::*;
use serde_json::{Value, json};
use testkit::Holdings;

use crate::sys;

/// Which form of the library a host uses.
#[derive(Clone, Copy)]
enum Form {
    Blocking,
    Tokio,
}

impl Form {
    fn capture(self, command: &Command) -> legwork::Result<Outcome> {
        match self {
            Form::Blocking => command.capture(),
            Form::Tokio => runtime().block_on(command.tokio().capture()),
        }
    }

    fn run(self, command: &Command) -> legwork::Result<Outcome> {
        match self {
            Form::Blocking => command.run(),
            Form::Tokio => runtime().block_on(command.tokio().run()),
        }
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

pub(crate) fn run(name: &str, rest: &[&str]) {
    let form = match rest.first() {
        Some(&"tokio") => Form::Tokio,
        _ => Form::Blocking,
    };
    let rest = rest.get(1..).unwrap_or_default();
    let printed = match (name, rest) {
        ("soak", [runs]) => soak(form, runs.parse().expect("a number of runs")),
        ("crowd", [threads]) => crowd(form, threads.parse().expect("a number of threads")),
        ("deaf", []) => deaf(form),
        ("thief", []) => thief(),
        ("sigpipe", []) => sigpipe(form),
        ("closed", []) => closed(form),
        ("big-heap", [gigabytes]) => big_heap(form, gigabytes.parse().expect("gigabytes")),
        ("flat", [bytes]) => flat(form, bytes.parse().expect("bytes")),
        ("foster", [pidfile, options @ ..]) => foster(form, pidfile, options),
        ("exhausted", []) => exhausted(form),
        ("terminal", [mode, limit, command @ ..]) => {
            terminal(mode, limit.parse().expect("milliseconds"), command)
        }
        ("fosters", [threads]) => fosters(form, threads.parse().expect("a number of threads")),
        ("rivals", [pidfile]) => rivals(pidfile),
        ("stuck", [answer]) => stuck(form, answer),
        ("blind", [pidfile]) => blind(form, pidfile),
        ("idle", []) => idle(form),
        ("context", []) => context(form),
        ("hush", [answer]) => hush(form, answer),
        ("late-adopter", []) => late_adopter(form),
        ("speak", [code]) => speak(form, code),
        ("login", []) => login(form),
        ("bundled", [inner]) => bundled(form, inner),
        ("modes", []) => modes(form),
        _ => panic!("no such host: {name} {rest:?}"),
    };
    println!("{printed}");
}

fn holdings(before: Holdings) -> Value {
    let now = Holdings::now();
    json!({
        "before": [before.descriptors, before.threads, before.children],
        "after": [now.descriptors, now.threads, now.children],
    })
}

fn myself() -> String {
    std::env::current_exe().expect("own path").to_string_lossy().into_owned()
}

/// Many runs in a row, of every kind; nothing may be left.
fn soak(form: Form, runs: usize) -> Value {
    let kinds = [
        cmd(["true"]),
        cmd(["false"]),
        cmd(["echo", "hello"]),
        cmd(["cat"]).stdin("input"),
        cmd(["no-such-program-here"]),
        shell("exit 3"),
    ];
    let body = |form: Form, runs: usize| {
        for index in 0..runs {
            let _ = form.capture(&kinds[index % kinds.len()]);
        }
    };
    // What is made once and kept (`/dev/null`, a runtime) is made before counting.
    body(form, kinds.len());
    let before = Holdings::now();
    body(form, runs);
    let rare = [
        shell("sleep 300 & echo x").survivors(Survivors::End),
        cmd(["sleep", "300"]).timeout(Duration::from_millis(5)),
        cmd(["echo", "x"]).pty(24, 80),
        cmd(["true"]).containment(Containment::Cgroup),
    ];
    for command in rare.iter().cycle().take(runs / 100) {
        let _ = form.capture(command);
    }
    let _ = cmd(["seq", "9"]).pipe(cmd(["head", "-1"])).capture();
    testkit::wait_until("the janitor to go home", || Holdings::now().threads <= before.threads);
    holdings(before)
}

/// Many runs at once.
fn crowd(form: Form, threads: usize) -> Value {
    let command = cmd([myself().as_str(), "flood", "1000000"]);
    let _ = form.capture(&command);
    let before = Holdings::now();
    let right = std::thread::scope(|scope| {
        let run = || {
            (0..4)
                .filter(|_| {
                    let outcome = form.capture(&command);
                    outcome.is_ok_and(|o| {
                        o.success() && o.stdout.is_some_and(|s| s.total() == 1_000_000)
                    })
                })
                .count()
        };
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).sum::<usize>()
    });
    testkit::wait_until("the threads to be gone", || Holdings::now().threads <= before.threads);
    json!({"right": right, "holdings": holdings(before)})
}

/// Ignores SIGCHLD: the kernel throws its children's statuses away.
fn deaf(form: Form) -> Value {
    sys::ignore(libc::SIGCHLD);
    // A first stage that has ended, and has lost its group, before the next one starts.
    for _ in 0..50 {
        let pipeline = cmd(["true"]).pipe(cmd(["cat"])).pipe(cmd(["cat"]));
        pipeline.capture().expect("it starts");
    }
    let outcome = form.capture(&shell("echo hello; exit 3")).expect("it starts");
    serde_json::to_value(outcome).expect("it serialises")
}

/// Collects everybody's children, before legwork can: its driver waits in a line callback.
fn thief() -> Value {
    let (stolen, told) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        while sys::wait_for_anyone() <= 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        stolen.send(()).expect("the callback listens");
    });
    let command = shell("echo x; exit 3").on_line(move |_| told.recv().expect("the thief tells"));
    let outcome = command.capture().expect("it starts");
    thread.join().expect("no panic");
    serde_json::to_value(outcome).expect("it serialises")
}

/// Has SIGPIPE at its default: writing to a program that does not read must not end the host.
fn sigpipe(form: Form) -> Value {
    sys::default(libc::SIGPIPE);
    let command = cmd(["true"]).stdin(vec![b'x'; 1 << 20]);
    let outcome = form.capture(&command).expect("it starts");
    serde_json::to_value(outcome).expect("it serialises")
}

/// Has closed its own stdin, stdout and stderr; writes its answer to a file it opens last.
fn closed(form: Form) -> Value {
    let copy = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 10).expect("a copy");
    for fd in 0..3 {
        sys::close(fd);
    }
    let captured = form.capture(&cmd(["cat"]).stdin("through"));
    let streamed = cmd([myself().as_str(), "descriptors"]).stdout(Output::Capture).run();
    // Nothing of ours may be taken for the host's own stdout: `cat` would feed itself.
    let fed = cmd(["cat"]).stdin(vec![b'x'; 1 << 20]).timeout(Duration::from_secs(60)).run();
    rustix::stdio::dup2_stdout(&copy).expect("back again");
    let text = |outcome: legwork::Result<Outcome>| match outcome {
        Ok(outcome) => outcome.stdout_text().into_owned(),
        Err(error) => error.to_string(),
    };
    json!({
        "captured": text(captured),
        "descriptors": text(streamed),
        "fed": fed.map_or_else(|error| error.to_string(), |outcome| outcome.ending.to_string()),
    })
}

/// Holds so much memory, touched, and runs a command.
fn big_heap(form: Form, gigabytes: usize) -> Value {
    let heap = vec![1u8; gigabytes << 30];
    let outcome = form.capture(&cmd(["echo", "hello"])).expect("it starts");
    json!({"heap": heap.len(), "stdout": outcome.stdout_text(), "success": outcome.success()})
}

/// Captures much with a small limit, and tells the most memory it ever held.
fn flat(form: Form, bytes: u64) -> Value {
    let command = cmd([myself().as_str(), "flood", &bytes.to_string()]).capture_limit(1 << 20);
    let outcome = form.capture(&command).expect("it starts");
    let status = std::fs::read_to_string("/proc/self/status").expect("own status");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let stdout = outcome.stdout.as_ref().expect("captured");
    json!({
        "success": outcome.success(),
        "total": stdout.total(),
        "kept": stdout.bytes().len(),
        "peak_kib": peak.and_then(|p| p.trim().trim_end_matches(" kB").parse::<u64>().ok()),
    })
}

/// Has opted in to adopting orphans, and ends a daemon by a timeout.
fn foster(form: Form, pidfile: &str, options: &[&str]) -> Value {
    legwork::adopt_orphans().expect("the kernel allows it");
    let mut argv = vec![myself(), "daemon".into(), pidfile.into()];
    argv.extend(options.iter().map(ToString::to_string));
    // What is made once and kept is made before counting.
    let _ = form.capture(&cmd(["true"]));
    let before = Holdings::now();
    let command = cmd(argv)
        .containment(Containment::Subreaper)
        .timeout(Duration::from_millis(500))
        .kill_grace(Duration::from_millis(100));
    let outcome = form.capture(&command).expect("it starts");
    testkit::wait_until("the janitor to go home", || Holdings::now().threads <= before.threads);
    json!({"outcome": outcome, "holdings": holdings(before)})
}

/// Has no descriptor left.
fn exhausted(form: Form) -> Value {
    let mut held = Vec::new();
    while let Ok(file) = std::fs::File::open("/dev/null") {
        held.push(file);
    }
    let error = form.capture(&cmd(["true"])).err().map(|error| error.to_string());
    drop(held);
    let after = form.capture(&cmd(["true"])).is_ok_and(|outcome| outcome.success());
    json!({"error": error, "after": after})
}

/// Runs a command with the terminal this host has itself.
fn terminal(mode: &str, limit: u64, command: &[&str]) -> Value {
    let mode = match mode {
        "foreground" => Terminal::Foreground,
        _ => Terminal::Shared,
    };
    let command = cmd(command.iter().copied()).stdin(Stdin::Inherit).terminal(mode);
    let outcome =
        command.timeout(Duration::from_millis(limit)).check(false).run().expect("it starts");
    json!({"ending": outcome.ending, "duration_ms": outcome.duration.as_millis() as u64})
}

/// Runs a command as the verbosity of its environment says.
fn speak(form: Form, code: &str) -> Value {
    let script = format!("echo out; echo err >&2; exit {code}");
    let outcome = form.run(&cmd(["sh", "-c", &script]));
    json!(outcome.is_ok())
}

/// What a command in the mode `login` sees, and where that differs from here.
fn login(form: Form) -> Value {
    match form.capture(&cmd(["/usr/bin/env"]).env_mode(EnvMode::Login)) {
        Ok(outcome) => {
            let login = legwork::LoginEnv::get().expect("it was asked before");
            let differs: Vec<String> =
                login.differences().into_keys().map(|name| name.to_string_lossy().into()).collect();
            json!({"env": outcome.stdout_text(), "differs": differs})
        }
        Err(error) => json!({"error": error.to_string()}),
    }
}

/// Uses the bundle of another project than the one whose Bundler runs this host.
fn bundled(form: Form, inner: &str) -> Value {
    let scope = Scope::new().in_dir(inner);
    let script = ["ruby", "-e", "require 'inner'; puts VALUE_OF_INNER"];
    let plain = form.capture(&scope.command(script)).is_ok_and(|outcome| outcome.success());
    let bundled = form.capture(&scope.bundle_exec(script)).expect("bundle starts");
    json!({"plain": plain, "bundled": bundled.stdout_text(), "stderr": bundled.stderr_text()})
}

/// The environment in each mode, and what Bundler itself says of two of them.
fn modes(form: Form) -> Value {
    let seen = |mode: EnvMode| -> Value {
        let command = cmd(["env", "-0"]).env_mode(mode).propagate_context(false);
        let outcome = form.capture(&command).expect("env starts");
        let text = outcome.stdout_text();
        let pairs = text.split('\0').filter_map(|pair| pair.split_once('='));
        pairs.map(|(name, value)| (name.to_owned(), Value::from(value))).collect()
    };
    let script = "require 'json'; puts JSON.dump(original: Bundler.original_env, unbundled: Bundler.unbundled_env)";
    let asked = form.capture(&cmd(["ruby", "-rbundler", "-e", script]).propagate_context(false));
    let asked = asked.expect("ruby starts");
    json!({
        "inherit": seen(EnvMode::Inherit),
        "original": seen(EnvMode::Original),
        "unbundled": seen(EnvMode::Unbundled),
        "clean": seen(EnvMode::Clean),
        "bundler": serde_json::from_str::<Value>(&asked.stdout_text()).expect("JSON from ruby"),
    })
}

/// Many runs at once while orphans are adopted: nobody's leader is taken for an orphan.
fn fosters(form: Form, threads: usize) -> Value {
    legwork::adopt_orphans().expect("the kernel allows it");
    let run = || {
        let command = cmd(["true"]).containment(Containment::Subreaper);
        (0..100).filter(|_| form.capture(&command).is_ok_and(|outcome| outcome.success())).count()
    };
    let right = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).sum::<usize>()
    });
    json!({"right": right})
}

/// Two runs at once, one of which leaves an orphan that hides: it may be either's, and is told.
fn rivals(pidfile: &str) -> Value {
    legwork::adopt_orphans().expect("the kernel allows it");
    let other = cmd(["sleep", "300"]).containment(Containment::Subreaper).spawn();
    let other = other.expect("it starts");
    let command = cmd([myself().as_str(), "daemon", pidfile, "clear-env", "linger"])
        .containment(Containment::Subreaper)
        .timeout(Duration::from_millis(500))
        .kill_grace(Duration::from_millis(50));
    let outcome = command.capture().expect("it starts");
    let survivors = outcome.survivors.iter().filter(|s| s.signal(Signal::KILL)).count();
    other.kill();
    let other = other.wait().expect("it was started");
    json!({"outcome": outcome, "killed": survivors, "other": other.survivors})
}

/// Passes on to a stdout that nobody reads. The answer goes to a file.
fn stuck(form: Form, answer: &str) -> Value {
    let endless = cmd(["yes"]).stdout(Output::Tee).timeout(Duration::from_millis(300));
    let endless = form.run(&endless.check(false)).expect("it starts");
    let text = "x".repeat(400_000);
    let ended = cmd(["cat"]).stdin(text).stdout(Output::Tee).timeout(Duration::from_secs(2));
    let ended = form.run(&ended.check(false)).expect("it starts");
    let dropped = cmd(["cat"]).stdin("y".repeat(400_000)).stdout(Output::Tee).spawn();
    let dropped = dropped.expect("it starts");
    let pid = dropped.pid();
    testkit::wait_until("the command to end", || !testkit::is_alive(pid));
    drop(dropped);
    let told = json!({"endless": endless.ending, "ended": ended.ending, "notes": ended.notes});
    std::fs::write(answer, told.to_string()).expect("the answer can be written");
    std::process::exit(0);
}

/// Has no descriptor left when the deadline comes.
fn blind(form: Form, pidfile: &str) -> Value {
    let (sender, receiver) = std::sync::mpsc::channel::<()>();
    let file = pidfile.to_owned();
    let thread = std::thread::spawn(move || {
        testkit::wait_until("the daemon", || std::fs::metadata(&file).is_ok());
        let mut held = Vec::new();
        while let Ok(file) = std::fs::File::open("/dev/null") {
            held.push(file);
        }
        let _ = receiver.recv_timeout(Duration::from_secs(2));
        drop(held);
    });
    let command = cmd([myself().as_str(), "daemon", pidfile, "linger"])
        .timeout(Duration::from_secs(1))
        .kill_grace(Duration::from_millis(50));
    let outcome = form.capture(&command).expect("it starts");
    drop(sender);
    thread.join().expect("no panic");
    serde_json::to_value(outcome).expect("it serialises")
}

/// Waits for a while for commands that do nothing, and tells how much CPU that took.
fn idle(form: Form) -> Value {
    let wait = Duration::from_secs(1);
    let terminal = cmd(["sleep", "300"]).pty(24, 80).stdin(Stdin::Piped).output(Output::Capture);
    let closing = shell("exec >&- 2>&-; sleep 300").output(Output::Tee);
    match form {
        Form::Blocking => {
            let mut runs = [terminal, closing].map(|command| command.spawn().expect("it starts"));
            assert!(runs[0].wait_timeout(wait).is_none() && runs[1].try_wait().is_none());
        }
        Form::Tokio => runtime().block_on(async {
            let mut runs = [terminal, closing].map(|c| c.tokio().spawn().expect("it starts"));
            assert!(runs[0].wait_timeout(wait).await.is_none() && runs[1].try_wait().is_none());
        }),
    }
    let stat = std::fs::read_to_string("/proc/self/stat").expect("own stat");
    let ticks = stat.rsplit(") ").next().map(|rest| rest.split(' ').skip(11).take(2));
    let ticks: u64 = ticks.into_iter().flatten().filter_map(|tick| tick.parse::<u64>().ok()).sum();
    json!({"cpu_ticks": ticks})
}

/// The environment that a command sees which receives no context.
fn context(form: Form) -> Value {
    let outcome = form.capture(&cmd(["env"]).propagate_context(false)).expect("env starts");
    json!(outcome.stdout_text())
}

/// Is quiet, has a command that fails, and a stdout that nobody reads. The answer goes to a file.
fn hush(form: Form, answer: &str) -> Value {
    let outcome = form.run(&shell("seq 200000; exit 3").check(false)).expect("it starts");
    let told = json!({"ending": outcome.ending, "notes": outcome.notes});
    std::fs::write(answer, told.to_string()).expect("the answer can be written");
    std::process::exit(0);
}

/// Begins to adopt orphans while a run is under way whose leader has ended unseen.
fn late_adopter(form: Form) -> Value {
    let slow = shell("echo x; exit 3").on_line(|_| {
        // The leader ends while its driver is in here, and then somebody collects orphans.
        std::thread::sleep(Duration::from_millis(300));
        legwork::adopt_orphans().expect("the kernel allows it");
        let other = cmd(["true"]).containment(Containment::Subreaper).capture();
        other.expect("it starts");
    });
    let outcome = form.capture(&slow).expect("it starts");
    serde_json::to_value(outcome).expect("it serialises")
}
