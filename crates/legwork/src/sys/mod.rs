//! Everything that speaks to the kernel. `unsafe` lives here and nowhere else.
//!
//! Linux today. Another system is another set of these modules: nothing above them names a
//! system call.

#![allow(unsafe_code)]

pub(crate) mod cgroup;
pub(crate) mod io;
pub(crate) mod memory;
pub(crate) mod proc;
pub(crate) mod process;
pub(crate) mod pty;
pub(crate) mod spawn;
pub(crate) mod terminal;
