//! The system calls that Rust calls unsafe.

#![allow(unsafe_code)]

/// Ignores a signal.
pub(crate) fn ignore(signal: i32) {
    // SAFETY: no handler is installed, so nothing of this program runs in a signal context.
    unsafe {
        libc::signal(signal, libc::SIG_IGN);
    }
}

/// Gives a signal its default action.
pub(crate) fn default(signal: i32) {
    // SAFETY: as above.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
    }
}

/// Closes one of the standard descriptors.
pub(crate) fn close(fd: i32) {
    // SAFETY: nothing in this program owns a standard descriptor.
    unsafe {
        libc::close(fd);
    }
}

/// Waits for any child at all, as a careless host does.
pub(crate) fn wait_for_anyone() -> i32 {
    // SAFETY: no status is asked for, so no memory is involved.
    unsafe { libc::waitpid(-1, std::ptr::null_mut(), 0) }
}

/// Waits for a signal to be handled by default, doing nothing else.
pub(crate) fn pause() {
    // SAFETY: no memory is involved.
    unsafe {
        libc::pause();
    }
}

/// A handful of processes that replace themselves as fast as they can: whoever is killed has left
/// a child already.
pub(crate) fn storm() {
    for _ in 0..4 {
        // SAFETY: this program has one thread, and the child makes system calls alone.
        if unsafe { libc::fork() } == 0 {
            break;
        }
    }
    loop {
        // SAFETY: as above.
        match unsafe { libc::fork() } {
            0 => {
                // SAFETY: no memory is involved.
                unsafe {
                    libc::setsid();
                    libc::usleep(500);
                }
            }
            -1 => {}
            // SAFETY: the child goes on in its place.
            _ => unsafe { libc::_exit(0) },
        }
    }
}
