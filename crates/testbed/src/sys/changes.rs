//! Changes of a network since its set-up. The kernel reports every change of interfaces, addresses, routes and queueing disciplines
//! (rtnetlink(7)), including changes that are undone immediately.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::{checked, counted};

/// Changes of one network since [`Self::watch`].
#[derive(Debug)]
pub struct Changes {
    fd: OwnedFd,
    mtu: u32,
    found: BTreeSet<String>,
}

/// Groups of kernel messages to receive: RTMGRP_LINK, RTMGRP_TC, RTMGRP_IPV4_IFADDR and RTMGRP_IPV4_ROUTE (linux/rtnetlink.h).
const GROUPS: u32 = 0x1 | 0x8 | 0x10 | 0x40;
/// Size of `struct nlmsghdr`. `INTERFACE` is the size of `struct ifinfomsg`, and `FLAGS` the offset of its flags.
const HEADER: usize = 16;
const INTERFACE: usize = 16;
const FLAGS: usize = 8;
/// Offset of `rtm_table`, the number of a routing table, in `struct rtmsg`.
const TABLE: usize = 4;

impl Changes {
    /// Starts to watch the calling thread's network, whose interfaces have an MTU of `mtu` bytes.
    ///
    /// # Errors
    ///
    /// If the process has too many descriptors.
    pub fn watch(mtu: u32) -> io::Result<Self> {
        // SAFETY: takes only numbers; no other value owns the descriptor.
        let fd = unsafe {
            let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
            OwnedFd::from_raw_fd(checked(libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE))?)
        };
        // SAFETY: an address of zeros means this socket, in no group; the address lives until the call returns.
        unsafe {
            let mut address: libc::sockaddr_nl = std::mem::zeroed();
            address.nl_family = libc::AF_NETLINK as u16;
            address.nl_groups = GROUPS;
            let size = size_of_val(&address) as u32;
            checked(libc::bind(fd.as_raw_fd(), (&raw const address).cast(), size))?;
        }
        Ok(Self { fd, mtu, found: BTreeSet::new() })
    }

    /// Returns the changes of the network since [`Self::watch`], each once; empty if the network never changed.
    pub fn so_far(&mut self) -> &BTreeSet<String> {
        let mut buffer = [0u8; 1 << 16];
        loop {
            // SAFETY: the kernel writes at most the length of the buffer.
            let read = counted(unsafe {
                libc::recv(self.fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0)
            });
            match read {
                Ok(len) => note(&buffer[..len], self.mtu, &mut self.found),
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {
                    self.found.insert("the kernel lost notifications of further changes".to_owned());
                }
                Err(_) => return &self.found,
            }
        }
    }
}

/// Adds to `found` the changes that these rtnetlink messages report.
fn note(mut messages: &[u8], mtu: u32, found: &mut BTreeSet<String>) {
    while let (Some(len), Some(kind)) = (number::<4>(messages, 0), number::<2>(messages, 4)) {
        let Some(body) = messages.get(HEADER..len as usize) else { return };
        match kind as u16 {
            libc::RTM_NEWLINK => note_interface(body, mtu, found),
            libc::RTM_DELLINK => insert(found, "an interface was removed"),
            libc::RTM_DELADDR => insert(found, "an address was removed"),
            // Routes of local addresses are not in the main table, and come and go with the addresses.
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
            found.insert(format!("the MTU of an interface was changed from {mtu} to {other} bytes"));
        }
        attributes = attributes.get((len as usize).next_multiple_of(4).max(4)..).unwrap_or_default();
    }
}

fn insert(found: &mut BTreeSet<String>, what: &str) {
    found.insert(what.to_owned());
}

/// Reads an integer of `BYTES` bytes, in the machine's byte order.
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

    /// Runs `command` in a network with an interface `eth0`, and returns the reported changes of the network.
    fn after(command: &str) -> Vec<String> {
        let run = |text: &str| assert!(Command::new("sh").args(["-ec", text]).status().unwrap().success());
        let look = || {
            let _network = Namespace::create().unwrap();
            run("ip link add eth0 mtu 1500 type veth peer name h0 mtu 1500; ip link set h0 up; ip link set lo up
                 ip link set eth0 up; ip address add 10.0.0.1/32 dev eth0
                 ip route add 10.0.0.0/8 dev eth0 src 10.0.0.1");
            // The kernel may report the carrier late; these reports show no change.
            let mut changes = Changes::watch(1_500).unwrap();
            run(command);
            changes.so_far().iter().cloned().collect()
        };
        // The thread's network ends with the thread.
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
            ["the MTU of an interface was changed from 1500 to 600 bytes"]
        );
        // Routes with the address as their source are removed with it (fib_sync_down_addr).
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
