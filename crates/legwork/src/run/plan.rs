//! From a command value to everything that starting needs, or to the error that says why not.
//! Nothing is started here.

use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::command::{Exec, RunOptions};
use crate::containment::{MARKER, Tree};
use crate::context::{Context, Verbosity};
use crate::ending::NotStarted;
use crate::env::{Vars, bundler};
use crate::error::{CommandError, InvalidInput, Result};
use crate::options::{Output, Stdin};
use crate::signal::Signal;
use crate::sys::spawn::{CStrings, Rlimit, c_string};
use crate::{find, quote};

/// What the caller is going to do with the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Run,
    Capture,
    Succeeds,
    Spawn,
}

/// No command takes longer, and no clock's arithmetic is put at risk.
const LONGEST: Duration = Duration::from_secs(10 * 366 * 24 * 60 * 60);

const DEFAULT_GRACE: Duration = Duration::from_secs(5);
const DEFAULT_CAPTURE: usize = 64 * 1024 * 1024;

/// A process to be started.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) argv: Vec<OsString>,
    pub(crate) program: CString,
    pub(crate) program_path: PathBuf,
    pub(crate) c_argv: CStrings,
    pub(crate) c_env: CStrings,
    pub(crate) workdir: Option<PathBuf>,
    pub(crate) c_workdir: Option<CString>,
    pub(crate) stdin: Stdin,
    pub(crate) stdout: Output,
    pub(crate) stderr: Output,
    pub(crate) merged: bool,
    pub(crate) pty: Option<(u16, u16)>,
    pub(crate) limits: Vec<Rlimit>,
    pub(crate) nice: Option<i32>,
    pub(crate) oom_score_adj: Option<CString>,
}

/// A run to be started.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) stages: Vec<Stage>,
    pub(crate) options: RunOptions,
    pub(crate) tree: Tree,
    pub(crate) notes: Vec<String>,
    /// Stdout is kept and shown only on failure.
    pub(crate) hold_stdout: bool,
    pub(crate) verbose: bool,
}

impl Plan {
    /// The command as the outcome names it.
    pub(crate) fn command(&self) -> Vec<OsString> {
        let argvs: Vec<&[OsString]> = self.stages.iter().map(|stage| &stage.argv[..]).collect();
        join_argvs(&argvs)
    }

    pub(crate) fn kill_signal(&self) -> Signal {
        self.options.kill_signal.unwrap_or(Signal::TERM)
    }

    pub(crate) fn grace(&self) -> Duration {
        self.options.kill_grace.unwrap_or(DEFAULT_GRACE)
    }

    pub(crate) fn capture_limit(&self) -> usize {
        self.options.capture_limit.unwrap_or(DEFAULT_CAPTURE)
    }
}

fn join_argvs(argvs: &[&[OsString]]) -> Vec<OsString> {
    argvs.join(&OsString::from("|"))
}

/// The plan for a command or pipeline.
pub(crate) fn plan(stages: &[Exec], options: &RunOptions, verb: Verb) -> Result<Plan> {
    let own = Vars::of_this_process();
    let shown = || {
        let argvs: Vec<Vec<OsString>> =
            stages.iter().map(|exec| exec.argv(own.get("PATH"))).collect();
        join_argvs(&argvs.iter().map(|argv| &argv[..]).collect::<Vec<_>>())
    };
    if options.scope.external_denied {
        let workdir = stages.first().and_then(|exec| exec.workdir.clone());
        return Err(CommandError::denied(shown(), workdir, "external commands are switched off"));
    }
    if let Some(problem) = stages.iter().find_map(|exec| exec.problem.clone()) {
        return Err(CommandError::invalid(shown(), problem));
    }
    check_options(options).map_err(|problem| CommandError::invalid(shown(), problem))?;

    let context = match &options.scope.context {
        Some(context) => context.clone(),
        None => Context::detect_from(Context::plain().prefix(), &own),
    };
    if context.to_vars().iter().any(|(_, value)| value.as_bytes().contains(&0)) {
        let hint = "remove it from the environment's name and the tasks of the call tree";
        let input = InvalidInput::new("context", "it holds a NUL byte", hint);
        return Err(CommandError::invalid(shown(), input));
    }
    let (tree, notes) = containment(options, shown)?;
    let quiet = context.get_verbosity() == Verbosity::Quiet && verb == Verb::Run;
    let last = stages.len().saturating_sub(1);
    let mut plan = Plan {
        stages: Vec::with_capacity(stages.len()),
        options: options.clone(),
        tree,
        notes,
        hold_stdout: quiet && stages.last().is_some_and(|exec| exec.stdout.is_none()),
        verbose: context.get_verbosity() == Verbosity::Verbose,
    };
    for (index, exec) in stages.iter().enumerate() {
        let mut stage = self::stage(exec, &own, &context, &plan, verb)?;
        let problem = if index > 0 && exec.stdin != Stdin::Null {
            Some((
                "stdin",
                "a later stage of a pipeline reads the stage before it",
                "set it on the first stage",
            ))
        } else if index < last && exec.stdout.is_some() {
            Some((
                "stdout",
                "an earlier stage of a pipeline feeds the next one",
                "set it on the last stage",
            ))
        } else {
            None
        };
        if let Some((field, problem, hint)) = problem {
            return Err(CommandError::invalid(shown(), InvalidInput::new(field, problem, hint)));
        }
        if plan.hold_stdout && index == last {
            stage.stdout = Output::Capture;
        }
        plan.stages.push(stage);
    }
    Ok(plan)
}

fn check_options(options: &RunOptions) -> Result<(), InvalidInput> {
    let durations = [
        ("timeout", options.timeout, false),
        ("idle_timeout", options.idle_timeout, false),
        ("kill_grace", options.kill_grace, true),
    ];
    for (field, value, zero_is_fine) in durations {
        match value {
            Some(Duration::ZERO) if !zero_is_fine => {
                return Err(InvalidInput::new(
                    field,
                    "zero is no time",
                    "leave it out for no limit",
                ));
            }
            Some(value) if value > LONGEST => {
                let problem = format!("{} seconds is more than ten years", value.as_secs());
                return Err(InvalidInput::new(field, problem, "leave it out for no limit"));
            }
            Some(_) | None => {}
        }
    }
    Ok(())
}

fn containment(
    options: &RunOptions,
    shown: impl Fn() -> Vec<OsString>,
) -> Result<(Tree, Vec<String>)> {
    if let Some(supervised) = &options.supervised {
        return Ok((Tree::sole(supervised.marker.clone()), Vec::new()));
    }
    let required = options.require_containment;
    let wanted = options.containment.max(required).unwrap_or_default();
    let (tree, note) = Tree::prepare(wanted, run_id());
    if required.is_some_and(|required| tree.level() < required) {
        let why = note.unwrap_or_default();
        let problem = format!("{wanted:?} cannot be had here: {why}").to_lowercase();
        let input = InvalidInput::new("containment", problem, "ask for a lower level");
        return Err(CommandError::invalid(shown(), input));
    }
    Ok((tree, note.into_iter().collect()))
}

fn run_id() -> String {
    let mut bytes = [0u8; 8];
    // It cannot fail for so few bytes once the system is up; zeros would still be an id.
    let _ = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    format!("{:016x}", u64::from_ne_bytes(bytes))
}

fn stage(exec: &Exec, own: &Vars, context: &Context, plan: &Plan, verb: Verb) -> Result<Stage> {
    let invalid = |argv: &[OsString], input| CommandError::invalid(argv.to_vec(), input);
    let first_argv = || exec.argv(own.get("PATH"));
    if let Some(problem) = exec.env.problem() {
        return Err(invalid(&first_argv(), problem));
    }
    let vars = exec.env.resolve(own).map_err(|input| invalid(&first_argv(), input))?;

    // Where the command has no PATH of its own, the caller's serves for the look-up alone.
    let path = vars.get("PATH").or_else(|| own.get("PATH")).map(OsStr::to_owned);
    let argv = exec.argv(path.as_deref());
    let Some(name) = argv.first().filter(|name| !name.is_empty()) else {
        let hint = "name a program, as in [\"cargo\", \"build\"]";
        let problem = if argv.is_empty() { "empty" } else { "the program's name is empty" };
        return Err(invalid(&argv, InvalidInput::new("argv", problem, hint)));
    };
    if let Some(index) = argv.iter().position(|arg| arg.as_bytes().contains(&0)) {
        let problem = format!("argument {index} holds a NUL byte");
        let hint = "the kernel ends arguments at NUL; hand such data over by stdin or a file";
        return Err(invalid(&argv, InvalidInput::new("argv", problem, hint)));
    }
    if exec.stdin == Stdin::Piped && verb != Verb::Spawn {
        let hint = "use `spawn`, or hand the input over as bytes";
        let problem = "nobody could write to a piped stdin here";
        return Err(invalid(&argv, InvalidInput::new("stdin", problem, hint)));
    }
    check_workdir(exec.workdir.as_deref(), &argv)?;
    if exec.needs_gemfile && vars.get("BUNDLE_GEMFILE").is_none() {
        check_gemfile(exec.workdir.as_deref()).map_err(|input| invalid(&argv, input))?;
    }

    let program_path = find::program(name, path.as_deref(), exec.workdir.as_deref())
        .map_err(|why| CommandError::not_started(argv.clone(), exec.workdir.clone(), why, None))?;

    let c_env = environment(exec, &vars, own, context, plan);
    let default = match verb {
        Verb::Run | Verb::Spawn => Output::Stream,
        Verb::Capture => Output::Capture,
        Verb::Succeeds => Output::Null,
    };
    Ok(Stage {
        program: c_string(program_path.as_os_str()).unwrap_or_default(),
        program_path,
        c_argv: CStrings::new(argv.iter().map(|arg| [arg.as_os_str()])),
        c_env,
        c_workdir: exec.workdir.as_deref().and_then(|path| c_string(path.as_os_str())),
        workdir: exec.workdir.clone(),
        stdin: exec.stdin.clone(),
        stdout: exec.stdout.clone().unwrap_or_else(|| default.clone()),
        stderr: exec.stderr.clone().unwrap_or(default),
        merged: exec.merged,
        pty: exec.pty,
        limits: exec.limits.to_rlimits(),
        nice: exec.nice,
        oom_score_adj: exec.oom_score_adj.and_then(|score| CString::new(score.to_string()).ok()),
        argv,
    })
}

/// `NAME=value`, as the kernel wants them: the command's own variables, with the context and the
/// marker in place of any that have their names; unless the caller decided about a name itself.
fn environment(exec: &Exec, vars: &Vars, own: &Vars, context: &Context, plan: &Plan) -> CStrings {
    let hand_down = plan.options.propagate_context.unwrap_or(true);
    let handed: Vec<_> = if hand_down { context.to_vars() } else { Vec::new() };
    let mut added: Vars = handed.into_iter().filter(|(name, _)| !exec.env.decides(name)).collect();
    if let Some(value) = plan.tree.marker(own.get(MARKER)) {
        added.set(MARKER, value);
    }
    let names: Vec<OsString> =
        context.names().into_iter().filter(|name| !exec.env.decides(name)).collect();
    let stays = |name: &OsStr| added.get(name).is_none() && !names.iter().any(|own| own == name);
    let all = vars.iter().filter(|(name, _)| stays(name)).chain(added.iter());
    CStrings::new(all.map(|(name, value)| [name, OsStr::new("="), value]))
}

/// A directory that cannot be used is its own error, before anything starts.
fn check_workdir(workdir: Option<&Path>, argv: &[OsString]) -> Result<()> {
    let Some(workdir) = workdir else {
        return Ok(());
    };
    let error = match std::fs::metadata(workdir) {
        Ok(facts) if facts.is_dir() => {
            use rustix::fs::{Access, AtFlags, CWD};
            match rustix::fs::accessat(CWD, workdir, Access::EXEC_OK, AtFlags::EACCESS) {
                Ok(()) => return Ok(()),
                Err(error) => error.into(),
            }
        }
        Ok(_) => std::io::ErrorKind::NotADirectory.into(),
        Err(error) => error,
    };
    let why = NotStarted::BadDirectory;
    Err(CommandError::not_started(argv.to_vec(), Some(workdir.to_owned()), why, Some(error)))
}

fn check_gemfile(workdir: Option<&Path>) -> Result<(), InvalidInput> {
    let here = workdir.unwrap_or(Path::new("."));
    let here = std::path::absolute(here).unwrap_or_else(|_| here.to_owned());
    if bundler::find_gemfile(&here).is_some() {
        return Ok(());
    }
    let problem = format!("no Gemfile in {} or above it", quote::path(&here));
    Err(InvalidInput::new(
        "workdir",
        problem,
        "run it inside a Bundler project, or without `bundle_exec`",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd;

    fn problem(command: &crate::Command) -> String {
        let error = plan(std::slice::from_ref(&command.exec), &command.options, Verb::Capture);
        error.unwrap_err().invalid_input().unwrap().field().to_owned()
    }

    #[test]
    fn each_bad_input_is_named() {
        let nothing: [&str; 0] = [];
        assert_eq!(problem(&cmd(nothing)), "argv");
        assert_eq!(problem(&cmd([""])), "argv");
        assert_eq!(problem(&cmd(["echo", "a\0b"])), "argv");
        assert_eq!(problem(&cmd(["true"]).timeout(Duration::ZERO)), "timeout");
        assert_eq!(problem(&cmd(["true"]).timeout(Duration::MAX)), "timeout");
        assert_eq!(problem(&cmd(["true"]).idle_timeout(Duration::ZERO)), "idle_timeout");
        assert_eq!(problem(&cmd(["true"]).kill_grace(Duration::MAX)), "kill_grace");
        assert_eq!(problem(&cmd(["true"]).env("", "x")), "env");
        assert_eq!(problem(&cmd(["true"]).nice(99)), "nice");
        assert_eq!(problem(&cmd(["true"]).oom_score_adj(5000)), "oom_score_adj");
        assert_eq!(problem(&cmd(["true"]).pty(0, 80)), "pty");
        assert_eq!(problem(&cmd(["true"]).stdin(Stdin::Piped)), "stdin");
        assert_eq!(problem(&cmd(["true"]).shell_program("sh")), "shell");
    }
}
