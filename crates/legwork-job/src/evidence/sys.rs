//! Reading another process's memory: the one call that needs `unsafe`.

#![allow(unsafe_code)]

use std::io;

/// Reads memory of the process that a thread belongs to; how many bytes there were.
///
/// It waits for nobody and changes nothing over there. The kernel allows it to whom it allows to
/// debug the process.
pub(super) fn read_memory(thread: i32, address: u64, into: &mut [u8]) -> io::Result<usize> {
    let address = usize::try_from(address).map_err(|_| io::ErrorKind::InvalidInput)?;
    let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let remote = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: into.len() };
    // SAFETY: `local` describes memory that is borrowed mutably for this call; `remote` is an
    // address in the other process, which the kernel checks and this one never follows.
    let read =
        unsafe { libc::process_vm_readv(thread, &raw const local, 1, &raw const remote, 1, 0) };
    usize::try_from(read).map_err(|_| io::Error::last_os_error())
}
