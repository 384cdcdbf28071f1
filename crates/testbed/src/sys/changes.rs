//! Changes of a network since its set-up. The kernel reports every change of interfaces, addresses, routes and queueing disciplines
//! (rtnetlink(7)), also those that are undone at once.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::{checked, counted};

/// Reports of one network, since it was watched.
#[derive(Debug)]
pub struct Changes {
    fd: OwnedFd,
    mtu: u32,
    found: BTreeSet<String>,
}

/// linux/rtnetlink.h: RTMGRP_LINK, RTMGRP_TC, RTMGRP_IPV4_IFADDR and RTMGRP_IPV4_ROUTE.
const GROUPS: u32 = 0x1 | 0x8 | 0x10 | 0x40;
/// Bytes of `struct nlmsghdr`, and of `struct ifinfomsg`, whose flags are at `FLAGS`.
const HEADER: usize = 16;
const INTERFACE: usize = 16;
const FLAGS: usize = 8;
/// Where the table is in `struct rtmsg`.
const TABLE: usize = 4;

impl Changes {
    /// Watch this thread's network, whose interfaces have an MTU of `mtu` bytes.
    ///
    /// # Errors
    ///
    /// If the process has too many descriptors.
    pub fn watch(mtu: u32) -> io::Result<Self> {
        // SAFETY: numbers; nobody else owns the descriptor.
        let fd = unsafe {
            let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
            OwnedFd::from_raw_fd(checked(libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE))?)
        };
        // SAFETY: of zeros it is the address of this socket in no group; it lives until the call is over.
        unsafe {
            let mut address: libc::sockaddr_nl = std::mem::zeroed();
            address.nl_family = libc::AF_NETLINK as u16;
            address.nl_groups = GROUPS;
            let size = size_of_val(&address) as u32;
            checked(libc::bind(fd.as_raw_fd(), (&raw const address).cast(), size))?;
        }
        Ok(Self { fd, mtu, found: BTreeSet::new() })
    }

    /// Changes to the network since it was set up, each once; empty if it never changed.
    pub fn so_far(&mut self) -> &BTreeSet<String> {
        let mut buffer = [0u8; 1 << 16];
        loop {
            // SAFETY: the kernel writes at most as many bytes as there are.
            let read = counted(unsafe {
                libc::recv(self.fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0)
            });
            match read {
                Ok(len) => note(&buffer[..len], self.mtu, &mut self.found),
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {
                    self.found.insert("more changed than the kernel remembers".to_owned());
                }
                Err(_) => return &self.found,
            }
        }
    }
}

/// Add what these messages report that differs from how a network was set up.
fn note(mut messages: &[u8], mtu: u32, found: &mut BTreeSet<String>) {
    while let (Some(len), Some(kind)) = (number::<4>(messages, 0), number::<2>(messages, 4)) {
        let Some(body) = messages.get(HEADER..len as usize) else { return };
        match kind as u16 {
            libc::RTM_NEWLINK => note_interface(body, mtu, found),
            libc::RTM_DELLINK => insert(found, "an interface was removed"),
            libc::RTM_DELADDR => insert(found, "an address was removed"),
            // Those of its own addresses are in a table beside the main one, and come and go with these.
            libc::RTM_NEWROUTE | libc::RTM_DELROUTE if body.get(TABLE) == Some(&libc::RT_TABLE_MAIN) => {
                insert(found, "a route was changed");
            }
            libc::RTM_NEWQDISC | libc::RTM_DELQDISC => insert(found, "a queueing discipline was changed"),
            _ => {}
        }
        messages = messages.get((len as usize).next_multiple_of(4)..).unwrap_or_default();
    }
}

fn note_interface(body: &[u8], mtu: u32, found: &mut BTreeSet<String>) {
    let Some(flags) = number::<4>(body, FLAGS) else { return };
    if flags & libc::IFF_LOOPBACK as u32 != 0 {
        return;
    }
    if flags & libc::IFF_UP as u32 == 0 {
        insert(found, "an interface was set down");
    }
    let mut attributes = body.get(INTERFACE..).unwrap_or_default();
    while let (Some(len), Some(kind)) = (number::<2>(attributes, 0), number::<2>(attributes, 2)) {
        if let Some(other) =
            number::<4>(attributes, 4).filter(|now| kind as u16 == libc::IFLA_MTU && *now != mtu)
        {
            found.insert(format!("an interface's MTU was set to {other} bytes in place of {mtu}"));
        }
        attributes = attributes.get((len as usize).next_multiple_of(4).max(4)..).unwrap_or_default();
    }
}

fn insert(found: &mut BTreeSet<String>, what: &str) {
    found.insert(what.to_owned());
}

/// A number of so many bytes, in the machine's order.
fn number<const BYTES: usize>(bytes: &[u8], at: usize) -> Option<u32> {
    let mut found = [0; 4];
    let place = if cfg!(target_endian = "little") { 0 } else { 4 - BYTES };
    found[place..place + BYTES].copy_from_slice(bytes.get(at..at + BYTES)?);
    Some(u32::from_ne_bytes(found))
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::thread;

    use super::*;
    use crate::sys::{machine, namespace::Namespace};

    /// Changes that are reported of a network with an interface `eth0` in which `command` ran.
    fn after(command: &str) -> Vec<String> {
        let run = |text: &str| assert!(Command::new("sh").args(["-ec", text]).status().unwrap().success());
        let look = || {
            let _network = Namespace::create().unwrap();
            run("ip link add eth0 mtu 1500 type veth peer name h0 mtu 1500; ip link set h0 up; ip link set lo up
                 ip link set eth0 up; ip address add 10.0.0.1/32 dev eth0
                 ip route add 10.0.0.0/8 dev eth0 src 10.0.0.1");
            // The kernel's own reports of the carrier may be late, and change nothing.
            let mut changes = Changes::watch(1_500).unwrap();
            run(command);
            changes.so_far().iter().cloned().collect()
        };
        // A thread's network goes with it.
        thread::scope(|scope| scope.spawn(look).join().unwrap())
    }

    #[test]
    fn whatever_is_changed_of_a_network_is_reported_also_if_it_is_undone() {
        if !machine::is_root() {
            eprintln!("not run: needs root");
            return;
        }
        assert!(after("sleep 1.2").is_empty());
        assert!(after("ip address add 10.9.9.9/32 dev lo; sleep 0.1").is_empty());
        assert_eq!(
            after("ip link set eth0 mtu 600; ip link set eth0 mtu 1500"),
            ["an interface's MTU was set to 600 bytes in place of 1500"]
        );
        // Routes that name it as their source go with an address (fib_sync_down_addr).
        assert_eq!(after("ip address flush dev eth0"), ["a route was changed", "an address was removed"]);
        assert_eq!(after("ip route del 10.0.0.0/8"), ["a route was changed"]);
        assert_eq!(after("tc qdisc add dev eth0 root pfifo"), ["a queueing discipline was changed"]);
        assert!(after("ip link set eth0 down").contains(&"an interface was set down".to_owned()));
        assert!(after("ip link del eth0").contains(&"an interface was removed".to_owned()));
    }

    #[test]
    fn no_damaged_message_is_an_error() {
        let mut found = BTreeSet::new();
        for len in 0..64 {
            for byte in [0, 1, 16, 255] {
                note(&vec![byte; len], 1_500, &mut found);
            }
        }
    }
}
