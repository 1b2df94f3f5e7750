//! Which descriptors a system call waits for to become readable. Numbers and layouts only; whose
//! they are is asked elsewhere.

use super::proc::{Call, Process, Scratch};
use super::report::Evidence;
use super::sys::read_memory;

/// The entries of a poll or select that are looked at: far more than a program that waits for a
/// person has.
const ENTRIES: usize = 1024;

/// The bytes of an epoll's description that are looked at.
const DESCRIPTION: usize = 128 * 1024;

/// Where a call keeps what it waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// The descriptor itself is the argument of this number.
    Read(usize),
    Poll,
    Select,
    Epoll,
    /// A poll that goes on after a stop: its arguments are still there. Reads and selects are
    /// restarted under their own number.
    Restarted,
}

fn form(number: i64) -> Option<Form> {
    #[cfg(target_arch = "x86_64")]
    match number {
        libc::SYS_poll => return Some(Form::Poll),
        libc::SYS_select => return Some(Form::Select),
        libc::SYS_epoll_wait => return Some(Form::Epoll),
        _ => {}
    }
    match number {
        // Some programs copy their input without reading it into memory of their own.
        libc::SYS_read | libc::SYS_readv | libc::SYS_splice | libc::SYS_tee => Some(Form::Read(0)),
        libc::SYS_sendfile => Some(Form::Read(1)),
        libc::SYS_ppoll => Some(Form::Poll),
        libc::SYS_pselect6 => Some(Form::Select),
        libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 => Some(Form::Epoll),
        libc::SYS_restart_syscall => Some(Form::Restarted),
        _ => None,
    }
}

/// How strongly a thread in this call can be said to wait for one of the descriptors that it would
/// read from, and those. Whatever cannot be read is none.
pub(super) fn waits_for(
    call: &Call,
    process: &Process,
    thread: i32,
    scratch: &mut Scratch,
) -> Option<(Evidence, Vec<i32>)> {
    let [first, second, ..] = call.arguments;
    let descriptors = match form(call.number)? {
        Form::Read(argument) => {
            return Some((Evidence::Strong, vec![descriptor(call.arguments[argument])]));
        }
        Form::Poll => polled(thread, first, second)?,
        Form::Select => selected(thread, first, second)?,
        Form::Epoll => {
            let path = format_args!("task/{thread}/fdinfo/{}", descriptor(first));
            watched(process.read(path, DESCRIPTION, scratch).ok()?)
        }
        Form::Restarted => {
            // A sleep and a wait for a lock come back under this number, too. Where the kernel
            // says what it is, a lock's word is not taken for a list of descriptors.
            let place = process.read(format_args!("task/{thread}/wchan"), 256, scratch);
            if place.is_ok_and(|place| place != b"0" && !holds(place, b"poll")) {
                return None;
            }
            polled(thread, first, second)?
        }
    };
    Some((Evidence::Weak, descriptors))
}

/// Descriptors are ints: the upper half of a register says nothing.
fn descriptor(argument: u64) -> i32 {
    argument as i32
}

fn holds(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|window| window == word)
}

/// An array of `struct pollfd`: descriptor, events wanted, events seen.
fn polled(thread: i32, address: u64, count: u64) -> Option<Vec<i32>> {
    let count = usize::try_from(count).ok()?.min(ENTRIES);
    let mut bytes = vec![0; count * 8];
    let read = read_memory(thread, address, &mut bytes).ok()?;
    let wanted = libc::POLLIN | libc::POLLRDNORM;
    let entries = bytes[..read].chunks_exact(8);
    Some(
        entries
            .map(|e| {
                (i32::from_ne_bytes([e[0], e[1], e[2], e[3]]), i16::from_ne_bytes([e[4], e[5]]))
            })
            .filter(|(fd, events)| *fd >= 0 && events & wanted != 0)
            .map(|(fd, _)| fd)
            .collect(),
    )
}

/// A set of bits in machine words, of which the first `count` matter.
fn selected(thread: i32, count: u64, address: u64) -> Option<Vec<i32>> {
    let count = usize::try_from(descriptor(count)).ok()?.min(ENTRIES);
    let mut bytes = vec![0; count.div_ceil(64) * 8];
    let read = read_memory(thread, address, &mut bytes).ok()?;
    let mut descriptors = Vec::new();
    for (at, word) in bytes[..read].chunks_exact(8).enumerate() {
        let word = word.try_into().map_or(0, u64::from_ne_bytes);
        let set = (0..64).filter(|bit| word >> bit & 1 == 1).map(|bit| at * 64 + bit);
        descriptors.extend(set.filter(|fd| *fd < count).filter_map(|fd| i32::try_from(fd).ok()));
    }
    Some(descriptors)
}

/// Lines such as `tfd:        5 events:       19 data: …`, the events in hexadecimal.
fn watched(description: &[u8]) -> Vec<i32> {
    let wanted = (libc::EPOLLIN | libc::EPOLLRDNORM).cast_unsigned();
    let target = |line: &[u8]| {
        let mut words = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
        if words.next()? != "tfd:" {
            return None;
        }
        let fd = words.next()?.parse().ok()?;
        if words.next()? != "events:" {
            return None;
        }
        let events = u32::from_str_radix(words.next()?, 16).ok()?;
        (events & wanted != 0).then_some(fd)
    };
    description.split(|b| *b == b'\n').filter_map(target).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn this_thread() -> i32 {
        rustix::thread::gettid().as_raw_nonzero().get()
    }

    #[test]
    fn only_what_is_polled_for_reading_counts() {
        let entry = |fd, events| libc::pollfd { fd, events, revents: 0 };
        let list = [
            entry(3, libc::POLLIN),
            entry(4, libc::POLLOUT),
            entry(-1, libc::POLLIN),
            entry(5, libc::POLLOUT | libc::POLLRDNORM),
        ];
        let address = list.as_ptr() as u64;
        assert_eq!(polled(this_thread(), address, 4), Some(vec![3, 5]));
        assert_eq!(polled(this_thread(), address, 1), Some(vec![3]));
        assert_eq!(polled(this_thread(), 1, 1), None);
    }

    #[test]
    fn a_set_is_read_up_to_its_count() {
        let set: [u64; 2] = [1 | 1 << 63, 0b110];
        let address = set.as_ptr() as u64;
        assert_eq!(selected(this_thread(), 128, address), Some(vec![0, 63, 65, 66]));
        assert_eq!(selected(this_thread(), 66, address), Some(vec![0, 63, 65]));
        assert_eq!(selected(this_thread(), 64, 0), None);
    }

    #[test]
    fn an_epoll_tells_its_targets() {
        let text = b"pos:\t0\nflags:\t02\nmnt_id:\t14\nino:\t7\n\
            tfd:        5 events:       19 data:                5  pos:0 ino:1 sdev:f\n\
            tfd:        6 events: 80000004 data:                6  pos:0 ino:1 sdev:f\n\
            tfd:       17 events: 80000041 data:                7  pos:0 ino:1 sdev:f\n";
        assert_eq!(watched(text), [5, 17]);
    }
}
