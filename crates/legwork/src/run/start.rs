//! Starts what was planned: lays the pipes, starts each stage, or undoes all of it.

use std::ffi::OsString;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::SystemTime;

use super::handle::Shared;
use super::life::{After, Event, Life, Limits};
use super::machine::{Clock, Machine};
use super::plan::{Plan, Stage};
use super::plumbing::{self, Ends, Plumbing};
use crate::capture::{HeadTail, Order, Stream};
use crate::ending::NotStarted;
use crate::error::{CommandError, Result};
use crate::options::{Containment, Terminal};
use crate::sys::process::Leader;
use crate::sys::spawn::{self, Group, Kinship, Refused, Setup, Step};
use crate::sys::terminal::{self, Loan};
use crate::{find, quote};

impl Machine {
    /// Starts what was planned. The descriptor is our end of a piped stdin.
    pub(crate) fn start(
        plan: Plan,
        shared: Option<Arc<Shared>>,
    ) -> Result<(Machine, Option<OwnedFd>)> {
        let lines = plan.options.on_line.is_some() || shared.is_some();
        let see = plan.options.idle_timeout.is_some() || plan.options.on_line.is_some();
        let command = plan.command();
        let workdir = plan.stages.first().and_then(|stage| stage.workdir.clone());
        let laid = plumbing::lay(&plan.stages, see, lines).map_err(|(what, error)| {
            let why = NotStarted::System { reason: format!("cannot {what}: {error}") };
            CommandError::not_started(command.clone(), workdir.clone(), why, Some(error))
        })?;
        let Plumbing { ends, sources, feed, writer, .. } = laid;

        let wants_terminal = plan.options.terminal.unwrap_or_default() == Terminal::Foreground;
        let has_pty = plan.stages.iter().any(|stage| stage.pty.is_some());
        let loan = if wants_terminal && !has_pty { Loan::new() } else { None };
        let on_terminal = !has_pty && loan.is_none() && terminal::exists();
        let mut notes = plan.notes.clone();
        if on_terminal && plan.tree.level() == Containment::Group {
            notes.push("on a terminal it shares the caller's process group".into());
        }

        if plan.verbose {
            // Lost where stderr is closed, and that is fine.
            let _ = writeln!(std::io::stderr(), "$ {}", shown(&plan.stages));
        }
        let capture = |stream| {
            let wanted = plan.options.supervised.is_none()
                && sources.iter().any(|source| source.stream == stream && source.capture);
            wanted.then(|| HeadTail::new(plan.capture_limit()))
        };
        let captures = [capture(Stream::Stdout), capture(Stream::Stderr)];
        let life = Life::new(Limits {
            timeout: plan.options.timeout,
            idle: plan.options.idle_timeout,
            grace: plan.grace(),
            survivors: plan.options.survivors.unwrap_or_default(),
            after: if plan.options.supervised.is_some() { After::Linger } else { After::Finish },
        });
        let mut machine = Machine {
            command,
            workdir,
            kill_signal: plan.kill_signal(),
            hold_stdout: plan.hold_stdout,
            notes,
            leaders: Vec::with_capacity(plan.stages.len()),
            first_pid: 0,
            tree: plan.tree,
            life,
            clock: Clock::start(),
            started_at: SystemTime::now(),
            feed,
            sources,
            captures,
            order: Order::default(),
            buffer: Vec::new(),
            retired: Vec::new(),
            shared,
            loan,
            on_terminal,
            requested: Vec::new(),
            cancel_seen: false,
            settled: false,
            closed: false,
            over: false,
            survivors: Vec::new(),
            answer: None,
            options: plan.options,
        };
        for (stage, ends) in plan.stages.iter().zip(&ends) {
            if let Err(refused) = machine.spawn(stage, ends) {
                machine.undo();
                return Err(explain(refused, stage, &machine.command));
            }
        }
        Ok((machine, writer))
    }

    fn spawn(&mut self, stage: &Stage, ends: &Ends) -> Result<(), Refused> {
        let group = match self.leaders.first() {
            // Under a supervisor a session of its own: in its supervisor's, it would share that
            // one's turn of the processor, and being killed would come late.
            _ if stage.pty.is_some() || self.life.lingers() => Group::Session,
            _ if self.on_terminal => Group::Callers,
            Some(first) => Group::Join(first.pid()),
            None => Group::Own,
        };
        let spawned = match self.spawn_in(stage, ends, group) {
            // The first stage has ended, and a host that ignores SIGCHLD does not keep its group.
            Err(Refused { step: Step::Group, .. }) if matches!(group, Group::Join(_)) => {
                self.spawn_in(stage, ends, Group::Own)
            }
            other => other,
        };
        let leader = spawned?;
        if self.leaders.is_empty() {
            self.first_pid = leader.pid().as_raw_nonzero().get() as u32;
        }
        self.leaders.push(leader);
        Ok(())
    }

    fn spawn_in(&mut self, stage: &Stage, ends: &Ends, group: Group) -> Result<Leader, Refused> {
        let Machine { tree, loan, .. } = self;
        let leads = matches!(group, Group::Own | Group::Session);
        tree.birth(leads, |cgroup| {
            let spawned = spawn::spawn(&Setup {
                program: &stage.program,
                argv: &stage.c_argv,
                env: &stage.c_env,
                workdir: stage.c_workdir.as_deref(),
                stdio: [ends.stdin.fd(), ends.stdout.fd(), ends.stderr.fd()],
                group,
                own_terminal: stage.pty.is_some(),
                foreground: loan.as_ref().map(Loan::terminal),
                limits: &stage.limits,
                nice: stage.nice,
                oom_score_adj: stage.oom_score_adj.as_deref(),
                cgroup: cgroup.map(|cgroup| cgroup.directory()),
                kinship: Kinship::Child,
            })?;
            Ok(Leader::new(spawned))
        })
    }

    /// A stage could not be started: the earlier ones are ended.
    fn undo(&mut self) {
        self.sources.clear();
        self.feed = None;
        self.options.on_line = None;
        if !self.leaders.is_empty() {
            self.act(Event::Kill);
            while self.turn(None).is_none() {
                self.bury(|_| ());
            }
        }
        self.return_terminal();
    }
}

fn shown(stages: &[Stage]) -> String {
    let lines: Vec<String> = stages.iter().map(|stage| quote::line(&stage.argv)).collect();
    lines.join(" | ")
}

/// Why the kernel refused, in the words of an ending.
fn explain(refused: Refused, stage: &Stage, command: &[OsString]) -> CommandError {
    let Refused { step, error } = refused;
    let why = match (step, error.raw_os_error()) {
        (Step::Workdir, _) => NotStarted::BadDirectory,
        (Step::Exec, Some(libc::ENOENT | libc::ENOTDIR | libc::ELOOP | libc::ENAMETOOLONG)) => {
            find::missing(&stage.program_path, stage.workdir.as_deref())
        }
        (Step::Exec, Some(libc::EACCES | libc::EPERM | libc::ENOEXEC | libc::EISDIR)) => {
            NotStarted::NotExecutable
        }
        (Step::Exec, Some(libc::E2BIG)) => NotStarted::ArgumentsTooLong,
        _ => NotStarted::System { reason: format!("cannot {}: {error}", step.words()) },
    };
    CommandError::not_started(command.to_vec(), stage.workdir.clone(), why, Some(error))
}
