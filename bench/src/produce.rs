//! The program whose output is captured: so many bytes on stdout, as cheaply as they can be had,
//! so that what is measured is the reader.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::AsFd as _;

use crate::Failure;

/// One write; what `cat` uses.
const WRITE: usize = 128 * 1024;

pub(crate) fn main(bytes: &str) -> Result<(), Failure> {
    let mut left: usize = bytes.parse()?;
    let block = vec![b'x'; WRITE.min(left)];
    // The standard library would look for line ends in every block.
    let mut stdout = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    while left > 0 {
        let now = left.min(WRITE);
        stdout.write_all(&block[..now])?;
        left -= now;
    }
    Ok(())
}
