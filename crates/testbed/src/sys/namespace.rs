//! Network namespaces without names: each exists as long as this process, or a socket in the namespace, exists.

use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::thread;

use super::checked;

/// A network namespace.
#[derive(Debug)]
pub struct Namespace(OwnedFd);

impl Namespace {
    /// Creates a namespace and moves the calling thread into it.
    ///
    /// # Errors
    ///
    /// If the process lacks the necessary rights.
    pub fn create() -> io::Result<Self> {
        // SAFETY: takes only a number, and affects only this thread.
        checked(unsafe { libc::unshare(libc::CLONE_NEWNET) })?;
        Self::current()
    }

    /// Returns the namespace of the calling thread.
    ///
    /// # Errors
    ///
    /// If there is no `/proc`.
    pub fn current() -> io::Result<Self> {
        Ok(Self(File::open("/proc/thread-self/ns/net")?.into()))
    }

    /// Moves the calling thread into the namespace.
    ///
    /// # Errors
    ///
    /// If the process lacks the necessary rights.
    pub fn enter(&self) -> io::Result<()> {
        // SAFETY: the descriptor is open.
        checked(unsafe { libc::setns(self.0.as_raw_fd(), libc::CLONE_NEWNET) }).map(drop)
    }

    /// Returns a path with which other programs can open the namespace.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd())
    }
}

impl AsRawFd for Namespace {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// Returns the number of an interface in the calling thread's network.
///
/// # Errors
///
/// Returns an error if no interface has that name.
pub fn interface(name: &str) -> io::Result<u32> {
    let name = CString::new(name)?;
    // SAFETY: it ends with a zero.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index),
    }
}

/// Assigns packets that arrive at an interface in the calling thread's network to the processors of `mask` (receive packet steering). By
/// default, the processor that sent a packet also processes its arrival.
///
/// # Errors
///
/// Returns an error if no interface has that name, or the process lacks the necessary rights.
pub fn steer(name: &str, mask: u32) -> io::Result<()> {
    set(&format!("{name}/queues/rx-0/rps_cpus"), &format!("{mask:x}"))
}

/// Assigns packets that arrive at a veth interface in the calling thread's network to the interface's own kernel thread, whose name is
/// `napi/NAME-` and a number. Otherwise, the kernel would process the packets in whatever thread the processor is running.
///
/// Only interfaces that merge packets have such a thread; a limit on the size of merged packets (`gro_max_size`) prevents merging.
///
/// # Errors
///
/// Returns an error if no interface has that name, or the process lacks the necessary rights.
pub fn take_up_in_thread(name: &str) -> io::Result<()> {
    offload(name, ETHTOOL_SGRO, 1)?;
    set(&format!("{name}/threaded"), "1")
}

/// Writes `value` to a sysfs file of an interface in the calling thread's network.
fn set(file: &str, value: &str) -> io::Result<()> {
    let path = format!("/sys/class/net/{file}");
    let see = || {
        // sysfs shows the network in which it was mounted, so this thread mounts it in a private namespace.
        // SAFETY: takes only numbers, and names that end with a zero; it affects only this thread.
        unsafe {
            checked(libc::unshare(libc::CLONE_NEWNS))?;
            let (nothing, private) = (std::ptr::null(), libc::MS_REC | libc::MS_PRIVATE);
            checked(libc::mount(nothing, c"/".as_ptr(), nothing, private, nothing.cast()))?;
            let sysfs = c"sysfs".as_ptr();
            checked(libc::mount(sysfs, c"/sys".as_ptr(), sysfs, 0, nothing.cast()))?;
        }
        fs::write(path, value)
    };
    thread::scope(|scope| scope.spawn(see).join().expect("it does not panic"))
}

/// Offloads of an interface, from linux/ethtool.h. The last offload merges arriving packets.
const OFFLOADS: [u32; 5] = [
    0x0000_0017, // ETHTOOL_STXCSUM
    0x0000_0019, // ETHTOOL_SSG
    0x0000_001f, // ETHTOOL_STSO
    0x0000_0024, // ETHTOOL_SGSO
    ETHTOOL_SGRO,
];
const ETHTOOL_SGRO: u32 = 0x0000_002c;
/// `ioctl` request that executes ethtool commands (linux/sockios.h).
const SIOCETHTOOL: libc::Ioctl = 0x8946;

#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

/// Disables the offloads of an interface in the calling thread's network: the interface then sends packets one by one, each with its
/// checksum.
///
/// # Errors
///
/// Returns an error if no interface has that name, or its offloads cannot be disabled.
pub fn no_offloads(name: &str) -> io::Result<()> {
    OFFLOADS.iter().try_for_each(|&command| offload(name, command, 0))
}

fn offload(name: &str, command: u32, data: u32) -> io::Result<()> {
    // SAFETY: takes only numbers; no other value owns the descriptor.
    let fd = unsafe {
        use std::os::fd::FromRawFd;
        let fd = checked(libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0))?;
        OwnedFd::from_raw_fd(fd)
    };
    let mut value = EthtoolValue { command, data };
    // SAFETY: a request of zeros has an empty name.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (place, byte) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *place = byte as libc::c_char;
    }
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: both structures live until the call returns, and have the layout that the command reads.
    checked(unsafe { libc::ioctl(fd.as_raw_fd(), SIOCETHTOOL, &raw mut request) })?;
    Ok(())
}
