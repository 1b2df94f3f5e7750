//! Starting a child without copying the parent.
//!
//! `fork` copies the parent's page tables: from a parent with 4 GiB of heap that takes 176 ms.
//! `posix_spawn` does not, but it can neither set resource limits nor place the child in a cgroup
//! nor hand back a pidfd. So this does what `posix_spawn` does inside: `clone` with `CLONE_VM |
//! CLONE_VFORK`. The child borrows the parent's memory on a stack of its own, the calling thread
//! sleeps until the child has executed its program, and every option is a plain system call made
//! in between. No option needs a fork.
//!
//! What must hold while the child borrows the memory: it allocates nothing, takes no lock, runs
//! no signal handler of the parent (all signals are blocked across the clone), and leaves only
//! through `execve` or `_exit`. An error reaches the parent through the shared memory, so no pipe
//! is needed for it either.

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::ptr;

use rustix::process::Pid;

/// Which process group the child belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    /// The caller's own, so that the terminal's keys reach both.
    Callers,
    /// A new one, led by the child.
    Own,
    /// An existing one of this run.
    Join(Pid),
    /// A new session, and so a new group.
    Session,
}

/// One resource limit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rlimit {
    pub(crate) resource: u32,
    pub(crate) soft: u64,
    pub(crate) hard: u64,
}

/// Everything the child does before it becomes the program.
#[derive(Debug)]
pub(crate) struct Setup<'a> {
    pub(crate) program: &'a CStr,
    pub(crate) argv: &'a CStrings,
    pub(crate) env: &'a CStrings,
    pub(crate) workdir: Option<&'a CStr>,
    pub(crate) stdio: [BorrowedFd<'a>; 3],
    pub(crate) group: Group,
    /// Make fd 0 the controlling terminal of the new session.
    pub(crate) own_terminal: bool,
    /// Make the child's group the foreground group of this terminal.
    pub(crate) foreground: Option<BorrowedFd<'a>>,
    pub(crate) limits: &'a [Rlimit],
    pub(crate) nice: Option<i32>,
    pub(crate) oom_score_adj: Option<&'a CStr>,
    pub(crate) cgroup: Option<BorrowedFd<'a>>,
    pub(crate) kinship: Kinship,
}

/// Whose child it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kinship {
    /// Ours: its pid is held until we collect it.
    Child,
    /// Nobody's who would have to collect it: its parent is gone when its program begins.
    Orphan,
}

/// A child that runs its program.
#[derive(Debug)]
pub(crate) struct Spawned {
    pub(crate) pid: Pid,
    pub(crate) pidfd: OwnedFd,
}

/// What the child was doing when the kernel refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Step {
    Clone = 0,
    Group,
    Foreground,
    Workdir,
    Stdio,
    Terminal,
    Limit,
    Nice,
    OomScore,
    CloseFds,
    Exec,
}

impl Step {
    const ALL: [Step; 11] = [
        Step::Clone,
        Step::Group,
        Step::Foreground,
        Step::Workdir,
        Step::Stdio,
        Step::Terminal,
        Step::Limit,
        Step::Nice,
        Step::OomScore,
        Step::CloseFds,
        Step::Exec,
    ];

    /// As a message says it.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Step::Clone => "create a process",
            Step::Group => "set its process group",
            Step::Foreground => "give it the terminal",
            Step::Workdir => "enter its workdir",
            Step::Stdio => "connect its input and output",
            Step::Terminal => "give it a terminal of its own",
            Step::Limit => "set a resource limit",
            Step::Nice => "set its nice value",
            Step::OomScore => "set its oom_score_adj",
            Step::CloseFds => "close inherited files",
            Step::Exec => "execute it",
        }
    }
}

#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) step: Step,
    pub(crate) error: io::Error,
}

/// Strings as `execve` wants them: an array of pointers that ends in null. All of them lie in one
/// block, since an allocation for each of an environment's variables is a good part of what a
/// start costs.
#[derive(Debug)]
pub(crate) struct CStrings {
    // The pointers point into it.
    _block: Vec<u8>,
    pointers: Vec<*const c_char>,
}

impl CStrings {
    /// Each string comes in pieces, to be joined. One that holds a NUL is left out.
    pub(crate) fn new<'a, const PIECES: usize>(
        strings: impl Iterator<Item = [&'a OsStr; PIECES]>,
    ) -> CStrings {
        let mut block = Vec::with_capacity(4096);
        let mut starts = Vec::with_capacity(64);
        for pieces in strings {
            let start = block.len();
            for piece in pieces {
                block.extend_from_slice(piece.as_bytes());
            }
            if block[start..].contains(&0) {
                block.truncate(start);
            } else {
                block.push(0);
                starts.push(start);
            }
        }
        let first: *const c_char = block.as_ptr().cast();
        let pointers = starts
            .iter()
            .map(|start| first.wrapping_add(*start))
            .chain(std::iter::once(ptr::null()))
            .collect();
        CStrings { _block: block, pointers }
    }
}

/// A string for the kernel; `None` where it holds a NUL.
pub(crate) fn c_string(text: &OsStr) -> Option<CString> {
    CString::new(text.as_bytes()).ok()
}

/// What the child reads and writes in the memory that it borrows.
struct Shared {
    program: *const c_char,
    argv: *const *const c_char,
    env: *const *const c_char,
    workdir: *const c_char,
    stdio: [RawFd; 3],
    group: Group,
    own_terminal: bool,
    foreground: RawFd,
    limits: *const Rlimit,
    limit_count: usize,
    nice: Option<i32>,
    oom_score_adj: *const c_char,
    kinship: Kinship,
    /// The stack of an orphan's own first steps.
    second_stack: *mut c_void,
    /// Where it failed and with which errno; -1 while it has not.
    step: c_int,
    errno: c_int,
}

const LAST_SIGNAL: c_int = 64;

/// The default action of a signal, as the kernel reads it: zeros, of whichever fields.
#[repr(C)]
#[derive(Default)]
struct KernelSigaction {
    words: [u64; 8],
}

const STACK: usize = 64 * 1024;

/// Starts a process that is nobody's child, as `setup` says.
pub(crate) fn spawn_orphan(setup: &Setup<'_>) -> Result<(), Refused> {
    let between = spawn(&Setup { kinship: Kinship::Orphan, ..*setup })?;
    super::process::reap_exited(between.pidfd.as_fd());
    Ok(())
}

/// Starts a child as `setup` says. The calling thread sleeps until the program runs or the kernel
/// has refused; in the latter case no process is left.
pub(crate) fn spawn(setup: &Setup<'_>) -> Result<Spawned, Refused> {
    let mut shared = Shared {
        program: setup.program.as_ptr(),
        argv: setup.argv.pointers.as_ptr(),
        env: setup.env.pointers.as_ptr(),
        workdir: setup.workdir.map_or(ptr::null(), CStr::as_ptr),
        stdio: setup.stdio.map(|fd| fd.as_raw_fd()),
        group: setup.group,
        own_terminal: setup.own_terminal,
        foreground: setup.foreground.map_or(-1, |fd| fd.as_raw_fd()),
        limits: setup.limits.as_ptr(),
        limit_count: setup.limits.len(),
        nice: setup.nice,
        oom_score_adj: setup.oom_score_adj.map_or(ptr::null(), CStr::as_ptr),
        kinship: setup.kinship,
        second_stack: ptr::null_mut(),
        step: -1,
        errno: 0,
    };
    let mut stack: Vec<MaybeUninit<u128>> = Vec::with_capacity(STACK / size_of::<u128>());
    // Stacks grow downwards: the lower half is the second one's.
    shared.second_stack = stack.as_mut_ptr().wrapping_add(stack.capacity() / 2).cast();
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD;
    let mut pidfd: RawFd = -1;

    let blocked = BlockedSignals::all();
    let arg = (&raw mut shared).cast::<c_void>();
    let result = match setup.cgroup {
        None => {
            // SAFETY: the stack is live, aligned and unused by anyone else, and its top lies one
            // past its end; `enter` never returns; the parent sleeps (CLONE_VFORK) until the
            // child is done with `shared` and the stack, both of which outlive the call.
            let pid = unsafe {
                let top = stack.as_mut_ptr().add(stack.capacity()).cast::<c_void>();
                libc::clone(enter_with_status, top, flags | libc::SIGCHLD, arg, &raw mut pidfd)
            };
            if pid == -1 { Err(io::Error::last_os_error()) } else { Ok(pid) }
        }
        Some(cgroup) => {
            let args = into_cgroup::Args {
                flags: flags as u64 | into_cgroup::CLONE_INTO_CGROUP,
                pidfd: (&raw mut pidfd) as u64,
                exit_signal: libc::SIGCHLD as u64,
                stack: stack.as_mut_ptr() as u64,
                stack_size: (stack.capacity() * size_of::<u128>()) as u64,
                cgroup: cgroup.as_raw_fd() as u64,
                ..into_cgroup::Args::default()
            };
            // SAFETY: as above; the arguments describe the same stack.
            unsafe { into_cgroup::clone3(&args, enter, arg) }
        }
    };
    drop(blocked);

    let pid = result.map_err(|error| Refused { step: Step::Clone, error })?;
    // SAFETY: the kernel stored a fresh descriptor there, which nobody else knows of.
    let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
    let pidfd = match super::io::out_of_the_way(pidfd) {
        Ok(pidfd) => pidfd,
        // Without a descriptor the child cannot be held; it has only just begun.
        Err(error) => {
            if let Some(pid) = Pid::from_raw(pid) {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
                let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty());
            }
            return Err(Refused { step: Step::Clone, error });
        }
    };
    // SAFETY: written by the child, which is done with it; volatile because the compiler did not
    // see the child run.
    let (step, errno) = unsafe {
        (ptr::read_volatile(&raw const shared.step), ptr::read_volatile(&raw const shared.errno))
    };
    let pid = Pid::from_raw(pid).ok_or_else(|| Refused {
        step: Step::Clone,
        error: io::Error::from_raw_os_error(libc::EAGAIN),
    })?;
    if let Some(step) = usize::try_from(step).ok().and_then(|step| Step::ALL.get(step)) {
        super::process::reap_exited(pidfd.as_fd());
        return Err(Refused { step: *step, error: io::Error::from_raw_os_error(errno) });
    }
    Ok(Spawned { pid, pidfd })
}

extern "C" fn enter_with_status(arg: *mut c_void) -> c_int {
    enter(arg)
}

/// The child's whole life before its program.
extern "C" fn enter(arg: *mut c_void) -> ! {
    // SAFETY: `arg` is the parent's `Shared`, which sleeps until we are gone; everything that it
    // points to is valid; only async-signal-safe calls are made, and nothing is allocated.
    unsafe {
        let shared = arg.cast::<Shared>();
        if (*shared).kinship == Kinship::Orphan {
            (*shared).kinship = Kinship::Child;
            let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
            // We sleep until the second one has executed its program, as our parent does for us.
            let pid = libc::clone(enter_with_status, (*shared).second_stack, flags, arg);
            if pid == -1 {
                ptr::write_volatile(&raw mut (*shared).errno, *libc::__errno_location());
                ptr::write_volatile(&raw mut (*shared).step, Step::Clone as c_int);
            }
            libc::_exit(0)
        }
        let Err(step) = become_program(&*shared);
        let errno = *libc::__errno_location();
        ptr::write_volatile(&raw mut (*shared).errno, errno);
        ptr::write_volatile(&raw mut (*shared).step, step as c_int);
        libc::_exit(127)
    }
}

/// Sets everything up and executes the program; comes back only with the step that failed.
///
/// # Safety
/// To be called by the cloned child alone, with a `Shared` whose pointers are valid.
unsafe fn become_program(shared: &Shared) -> Result<std::convert::Infallible, Step> {
    let check = |result: c_int, step: Step| if result == -1 { Err(step) } else { Ok(result) };
    // SAFETY: plain system calls on values of this process or pointers vouched for by the caller.
    unsafe {
        // Signals that the host ignores would stay ignored across exec; the program starts with
        // the defaults. Handlers are reset here too, while all signals are still blocked. The
        // kernel is asked itself: the C library would refuse the two signals it uses.
        let default = KernelSigaction::default();
        for signal in 1..=LAST_SIGNAL {
            let size = size_of::<u64>();
            libc::syscall(libc::SYS_rt_sigaction, signal, &raw const default, 0usize, size);
        }

        match shared.group {
            Group::Callers => {}
            Group::Own => {
                check(libc::setpgid(0, 0), Step::Group)?;
            }
            Group::Join(leader) => {
                check(libc::setpgid(0, leader.as_raw_nonzero().get()), Step::Group)?;
            }
            Group::Session => {
                check(libc::setsid(), Step::Group)?;
            }
        }
        if shared.foreground >= 0 {
            // SIGTTOU is blocked, so a background group may do this.
            check(libc::tcsetpgrp(shared.foreground, libc::getpgrp()), Step::Foreground)?;
        }
        if !shared.workdir.is_null() {
            check(libc::chdir(shared.workdir), Step::Workdir)?;
        }

        // First out of the way of 0 to 2, then into place: a host that has closed its own stdin
        // may hold a pipe there.
        let mut sources = shared.stdio;
        for source in &mut sources {
            if *source < 3 {
                *source = check(libc::fcntl(*source, libc::F_DUPFD_CLOEXEC, 3), Step::Stdio)?;
            }
        }
        for (target, source) in sources.iter().enumerate() {
            check(libc::dup2(*source, target as c_int), Step::Stdio)?;
        }
        if shared.own_terminal {
            check(libc::ioctl(0, libc::TIOCSCTTY, 0), Step::Terminal)?;
        }

        if let Some(nice) = shared.nice {
            check(libc::setpriority(libc::PRIO_PROCESS, 0, nice), Step::Nice)?;
        }
        if !shared.oom_score_adj.is_null() {
            // The kernel sees that this is a vfork child and leaves the parent's value alone.
            let file = c"/proc/self/oom_score_adj".as_ptr();
            let fd = check(libc::open(file, libc::O_WRONLY | libc::O_CLOEXEC), Step::OomScore)?;
            let text = shared.oom_score_adj;
            if libc::write(fd, text.cast(), libc::strlen(text)) == -1 {
                return Err(Step::OomScore);
            }
        }

        if libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, 0u32) == -1 {
            // A sandbox that forbids the call: one by one.
            let mut limit: libc::rlimit = std::mem::zeroed();
            check(libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit), Step::CloseFds)?;
            for fd in 3..limit.rlim_cur.min(1 << 20) as c_int {
                libc::close(fd);
            }
        }

        // Last, since a low limit may forbid what stands above.
        for index in 0..shared.limit_count {
            let Rlimit { resource, soft, hard } = *shared.limits.add(index);
            let limit = libc::rlimit { rlim_cur: soft, rlim_max: hard };
            check(libc::setrlimit(resource, &raw const limit), Step::Limit)?;
        }

        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
        libc::execve(shared.program, shared.argv, shared.env);
        Err(Step::Exec)
    }
}

/// All signals of this thread blocked, until dropped.
struct BlockedSignals {
    before: libc::sigset_t,
}

impl BlockedSignals {
    fn all() -> BlockedSignals {
        // SAFETY: both sets are valid memory of this frame; blocking signals has no other effect.
        unsafe {
            let mut all: libc::sigset_t = std::mem::zeroed();
            let mut before: libc::sigset_t = std::mem::zeroed();
            libc::sigfillset(&raw mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
            BlockedSignals { before }
        }
    }
}

impl Drop for BlockedSignals {
    fn drop(&mut self) {
        // SAFETY: restores the mask that `all` saved.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, ptr::null_mut());
        }
    }
}

/// `clone3`, for the one thing that `clone` cannot do: be born inside a cgroup. Moving a process
/// there afterwards costs 10 ms. The C library has no wrapper, and a plain `syscall()` cannot
/// return on a new stack, hence the few lines of assembly.
mod into_cgroup {
    use super::{c_void, io};

    pub(super) const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

    #[repr(C, align(8))]
    #[derive(Default)]
    pub(super) struct Args {
        pub(super) flags: u64,
        pub(super) pidfd: u64,
        pub(super) child_tid: u64,
        pub(super) parent_tid: u64,
        pub(super) exit_signal: u64,
        pub(super) stack: u64,
        pub(super) stack_size: u64,
        pub(super) tls: u64,
        pub(super) set_tid: u64,
        pub(super) set_tid_size: u64,
        pub(super) cgroup: u64,
    }

    /// # Safety
    /// As for `libc::clone`: the stack named in `args` is unused, `child` never returns, and
    /// `arg` stays valid until the child has executed or exited.
    #[cfg(target_arch = "x86_64")]
    pub(super) unsafe fn clone3(
        args: &Args,
        child: extern "C" fn(*mut c_void) -> !,
        arg: *mut c_void,
    ) -> io::Result<i32> {
        let result: isize;
        // SAFETY: the parent's side is one system call; the child's side starts on its own stack
        // and leaves through `child`, so it never comes back into this frame.
        unsafe {
            std::arch::asm!(
                "syscall",
                "test rax, rax",
                "jnz 2f",
                "xor ebp, ebp",
                "mov rdi, {arg}",
                "call {child}",
                "ud2",
                "2:",
                arg = in(reg) arg,
                child = in(reg) child,
                inlateout("rax") libc::SYS_clone3 as isize => result,
                in("rdi") args,
                in("rsi") size_of::<Args>(),
                out("rcx") _,
                out("r11") _,
            );
        }
        told(result)
    }

    /// # Safety
    /// As above.
    #[cfg(target_arch = "aarch64")]
    pub(super) unsafe fn clone3(
        args: &Args,
        child: extern "C" fn(*mut c_void) -> !,
        arg: *mut c_void,
    ) -> io::Result<i32> {
        let result: isize;
        // SAFETY: as above.
        unsafe {
            std::arch::asm!(
                "svc #0",
                "cbnz x0, 2f",
                "mov x29, xzr",
                "mov x0, {arg}",
                "blr {child}",
                "brk #1",
                "2:",
                arg = in(reg) arg,
                child = in(reg) child,
                inlateout("x0") args as *const Args as isize => result,
                in("x1") size_of::<Args>(),
                in("x8") libc::SYS_clone3,
            );
        }
        told(result)
    }

    /// # Safety
    /// Always sound: it does nothing.
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    pub(super) unsafe fn clone3(
        _args: &Args,
        _child: extern "C" fn(*mut c_void) -> !,
        _arg: *mut c_void,
    ) -> io::Result<i32> {
        Err(io::ErrorKind::Unsupported.into())
    }

    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn told(result: isize) -> io::Result<i32> {
        if result < 0 {
            Err(io::Error::from_raw_os_error(-result as i32))
        } else {
            Ok(result as i32)
        }
    }
}
