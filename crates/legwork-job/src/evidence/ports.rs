//! The ports that processes listen on.
//!
//! The kernel keeps a table of sockets for each network namespace and shows it through any process
//! inside. A socket is tied to its holders by its inode, which no two sockets of the machine
//! share; so the tables of all namespaces are matched with the descriptors of all processes.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rustix::io::Errno;

use super::proc::{Next, Process, Scratch, is_shortage, unless_short};
use super::report::{Listening, Protocol};

/// The sockets that are looked at most.
const SOCKETS: usize = 64 * 1024;

/// The kernel's number for a socket that listens.
const LISTENS: &str = "0A";

const TABLES: [(Protocol, &str); 2] = [(Protocol::Tcp, "tcp"), (Protocol::Tcp6, "tcp6")];

/// The sockets that these processes listen on, in order.
///
/// # Errors
/// Where the system is short of descriptors or memory; then nothing is known. A process that
/// vanished meanwhile, or may not be looked at, is passed over.
pub(crate) fn listening(pids: &[i32]) -> io::Result<Vec<Listening>> {
    let mut scratch = Scratch::default();
    let mut holders: HashMap<u64, i32> = HashMap::new();
    let mut insiders = Vec::new();
    for pid in pids.iter().copied().filter(|pid| *pid > 0) {
        let Some(process) = unless_short(Process::open(pid, &mut scratch))? else { continue };
        if hold(&process, &mut holders, &mut scratch)? == Sockets::Some
            && let Some(space) = unless_short(process.link(format_args!("ns/net"), &mut scratch))?
        {
            insiders.push((pid, space.to_vec()));
        }
    }

    let mut found: BTreeMap<(Protocol, IpAddr, u16), i32> = BTreeMap::new();
    let mut done = HashSet::new();
    for (pid, space) in insiders {
        if done.contains(&space) {
            continue;
        }
        for (protocol, table) in TABLES {
            let Some(file) = open(pid, table)? else { continue };
            each_listener(BufReader::new(file), |address, port, inode| {
                if let Some(holder) = holders.get(&inode) {
                    let pid = found.entry((protocol, address, port)).or_insert(*holder);
                    *pid = (*pid).min(*holder);
                }
            });
            // Had it ended, the next one of the same namespace would be asked.
            done.insert(space.clone());
        }
    }
    let listening = found.into_iter().map(|((protocol, address, port), pid)| Listening {
        protocol,
        address: address.to_string(),
        port,
        pid,
    });
    Ok(listening.collect())
}

/// Whether a process has any sockets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sockets {
    None,
    Some,
}

/// Notes the sockets that a process holds.
fn hold(
    process: &Process,
    holders: &mut HashMap<u64, i32>,
    scratch: &mut Scratch,
) -> io::Result<Sockets> {
    let mut sockets = Sockets::None;
    let mut shortage = None;
    let listed = process.numbers("fd", |fd| {
        match process.link(format_args!("fd/{fd}"), scratch) {
            Ok(link) => {
                if let Some(inode) = socket(link) {
                    sockets = Sockets::Some;
                    let holder = holders.entry(inode).or_insert(process.pid);
                    *holder = (*holder).min(process.pid);
                }
            }
            Err(error) if is_shortage(error) => shortage = Some(error),
            // It was closed meanwhile.
            Err(_) => {}
        }
        if holders.len() < SOCKETS && shortage.is_none() { Next::Go } else { Next::Stop }
    });
    unless_short(shortage.map_or(listed, Err))?;
    Ok(sockets)
}

/// The inode in `socket:[123]`.
fn socket(link: &[u8]) -> Option<u64> {
    let number = link.strip_prefix(b"socket:[")?.strip_suffix(b"]")?;
    std::str::from_utf8(number).ok()?.parse().ok()
}

/// A table of the namespace that a process is in; `None` where the process has ended, or the
/// kernel knows no IPv6.
fn open(pid: i32, table: &str) -> io::Result<Option<File>> {
    match File::open(format!("/proc/{pid}/net/{table}")) {
        Ok(file) => Ok(Some(file)),
        Err(error) if Errno::from_io_error(&error).is_some_and(is_shortage) => Err(error),
        Err(_) => Ok(None),
    }
}

/// Goes through a table line by line: it has all sockets of the machine and may be long.
fn each_listener(mut table: impl BufRead, mut each: impl FnMut(IpAddr, u16, u64)) {
    let mut line = String::new();
    // What cannot be read is not known; what was read is.
    while matches!(table.read_line(&mut line), Ok(1..)) {
        if let Some((address, port, inode)) = listener(&line) {
            each(address, port, inode);
        }
        line.clear();
    }
}

/// One line: number, local address, remote address, state, …, inode as the tenth.
fn listener(line: &str) -> Option<(IpAddr, u16, u64)> {
    let mut fields = line.split_ascii_whitespace();
    let (address, port) = fields.nth(1)?.split_once(':')?;
    if fields.nth(1)? != LISTENS {
        return None;
    }
    let inode = fields.nth(5)?.parse().ok()?;
    Some((ip(address)?, u16::from_str_radix(port, 16).ok()?, inode))
}

/// An address as the kernel prints it: in words of the machine's own byte order.
fn ip(hex: &str) -> Option<IpAddr> {
    let word = |at: usize| Some(u32::from_str_radix(hex.get(at..at + 8)?, 16).ok()?.to_ne_bytes());
    match hex.len() {
        8 => Some(Ipv4Addr::from(word(0)?).into()),
        32 => {
            let mut bytes = [0; 16];
            for (at, bytes) in bytes.chunks_exact_mut(4).enumerate() {
                bytes.copy_from_slice(&word(at * 8)?);
            }
            Some(Ipv6Addr::from(bytes).into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use testkit::wait_for;

    use super::super::stage::Actor;
    use super::*;

    fn first_port(actor: &Actor) -> Listening {
        wait_for("a port", || listening(&actor.pids()).unwrap().into_iter().next())
    }

    #[test]
    fn a_server_and_its_port_are_told_once() {
        let actor = Actor::new(["python3", "-m", "http.server", "0", "--bind", "127.0.0.1"]);
        let told = first_port(&actor);
        assert_eq!((told.protocol, told.address.as_str()), (Protocol::Tcp, "127.0.0.1"));
        assert!(actor.pids().contains(&told.pid));
        std::net::TcpStream::connect(("127.0.0.1", told.port)).unwrap();
        let pids = [actor.pids(), actor.pids()].concat();
        assert_eq!(listening(&pids).unwrap(), [told]);
    }

    #[test]
    fn an_address_of_the_sixth_version_is_told() {
        if TcpListener::bind("[::1]:0").is_err() {
            eprintln!("this machine has no IPv6");
            return;
        }
        let actor = Actor::new(["python3", "-m", "http.server", "0", "--bind", "::1"]);
        let told = first_port(&actor);
        assert_eq!((told.protocol, told.address.as_str()), (Protocol::Tcp6, "::1"));
        std::net::TcpStream::connect(("::1", told.port)).unwrap();
    }

    #[test]
    fn several_ports_are_in_order_and_those_of_workers_are_the_parents() {
        let script = "import os, socket, time
for address in ('127.0.0.2', '127.0.0.1'):
    s = socket.socket(); s.bind((address, 0)); s.listen(); s.set_inheritable(True)
    globals()[address] = s
client = socket.create_connection(s.getsockname())
os.fork()
time.sleep(300)";
        let actor = Actor::new(["python3", "-c", script]);
        let told = wait_for("two ports", || {
            let pids = actor.pids();
            let told = listening(&pids).unwrap();
            (told.len() == 2 && pids.len() == 2).then_some(told)
        });
        let parent = actor.pid();
        let addresses: Vec<_> = told.iter().map(|l| (l.address.as_str(), l.pid)).collect();
        assert_eq!(addresses, [("127.0.0.1", parent), ("127.0.0.2", parent)]);
    }

    #[test]
    fn a_port_in_another_network_is_told_too() {
        let unshare = ["unshare", "--map-root-user", "--net", "true"];
        let may = std::process::Command::new(unshare[0]).args(&unshare[1..]).status();
        if !may.is_ok_and(|status| status.success()) {
            eprintln!("this machine lets nobody make a network namespace");
            return;
        }
        let server = "python3 -m http.server 0 --bind 127.0.0.1 & \
            exec unshare --map-root-user --net python3 -m http.server 8123 --bind 127.0.0.1";
        let actor = Actor::new(["bash", "-c", server]);
        wait_for("both ports", || {
            let told = listening(&actor.pids()).unwrap();
            (told.len() == 2 && told.iter().any(|l| l.port == 8123)).then_some(())
        });
    }

    #[test]
    fn who_does_not_listen_has_no_ports() {
        // The test itself listens, and a neighbour of the one that is asked for.
        let ours = TcpListener::bind("127.0.0.1:0").unwrap();
        let script = "import socket, sys, time
s = socket.socket(); s.bind(('127.0.0.1', 0))
c = socket.create_connection(('127.0.0.1', int(sys.argv[1])))
time.sleep(300)";
        let port = ours.local_addr().unwrap().port();
        let actor = Actor::new(["python3", "-c", script, &port.to_string()]);
        let _connected = ours.accept().unwrap();
        assert_eq!(listening(&actor.pids()).unwrap(), []);
        let own = listening(&[std::process::id() as i32]).unwrap();
        assert!(own.iter().any(|l| l.port == port));
    }

    #[test]
    fn lines_of_the_table() {
        let line = "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  \
                    1000        0 4242 1 0000000000000000 100 0 0 10 0";
        if cfg!(target_endian = "little") {
            assert_eq!(listener(line), Some(([127, 0, 0, 1].into(), 8080, 4242)));
        }
        assert_eq!(listener(&line.replace(" 0A ", " 01 ")), None);
        assert_eq!(listener("  sl  local_address rem_address   st tx_queue"), None);
        assert_eq!(ip("00000000000000000000000000000000"), Some(Ipv6Addr::UNSPECIFIED.into()));
    }
}
