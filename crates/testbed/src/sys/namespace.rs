//! Namespaces of networks without a name: each lives as long as this process, or a socket of it, and is gone with it.

use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::thread;

use super::checked;

/// A network of its own.
#[derive(Debug)]
pub struct Namespace(OwnedFd);

impl Namespace {
    /// Make one, in which this thread is from now on.
    ///
    /// # Errors
    ///
    /// If this process may not.
    pub fn create() -> io::Result<Self> {
        // SAFETY: a number, and nothing else; it concerns this thread.
        checked(unsafe { libc::unshare(libc::CLONE_NEWNET) })?;
        Self::current()
    }

    /// That of this thread.
    ///
    /// # Errors
    ///
    /// If there is no `/proc`.
    pub fn current() -> io::Result<Self> {
        Ok(Self(File::open("/proc/thread-self/ns/net")?.into()))
    }

    /// Have this thread be in it.
    ///
    /// # Errors
    ///
    /// If this process may not.
    pub fn enter(&self) -> io::Result<()> {
        // SAFETY: the descriptor is open.
        checked(unsafe { libc::setns(self.0.as_raw_fd(), libc::CLONE_NEWNET) }).map(drop)
    }

    /// A path by which other programs find it.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd())
    }
}

impl AsRawFd for Namespace {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// The number of an interface of this thread's network.
///
/// # Errors
///
/// If there is none of that name.
pub fn interface(name: &str) -> io::Result<u32> {
    let name = CString::new(name)?;
    // SAFETY: it ends with a zero.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index),
    }
}

/// Have what arrives at an interface of this thread's network be taken up by the processors of `mask` (receive packet steering), and
/// not by the one that sent it.
///
/// # Errors
///
/// If there is none of that name, or this process may not.
pub fn steer(name: &str, mask: u32) -> io::Result<()> {
    set(&format!("{name}/queues/rx-0/rps_cpus"), &format!("{mask:x}"))
}

/// Have what arrives at a veth interface of this thread's network be taken up by a thread of the kernel's own, `napi/NAME-` and a
/// number, and not by whichever thread its processor happens to run.
///
/// Only one that may merge packets has such a thread: it is kept from that by allowing no packet that is merged (`gro_max_size`).
///
/// # Errors
///
/// If there is none of that name, or this process may not.
pub fn take_up_in_thread(name: &str) -> io::Result<()> {
    offload(name, ETHTOOL_SGRO, 1)?;
    set(&format!("{name}/threaded"), "1")
}

/// Write what sysfs shows of an interface of this thread's network.
fn set(file: &str, value: &str) -> io::Result<()> {
    let path = format!("/sys/class/net/{file}");
    let see = || {
        // sysfs shows the network in which it was mounted, so this thread mounts it where nobody else sees it.
        // SAFETY: numbers, and names that end with a zero; it concerns this thread.
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

/// linux/ethtool.h: what an interface does in place of the kernel. The last is what merges arriving packets.
const OFFLOADS: [u32; 5] = [
    0x0000_0017, // ETHTOOL_STXCSUM
    0x0000_0019, // ETHTOOL_SSG
    0x0000_001f, // ETHTOOL_STSO
    0x0000_0024, // ETHTOOL_SGSO
    ETHTOOL_SGRO,
];
const ETHTOOL_SGRO: u32 = 0x0000_002c;
/// linux/sockios.h.
const SIOCETHTOOL: libc::Ioctl = 0x8946;

#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

/// Have an interface of this thread's network send whole packets with whole checksums, one by one.
///
/// # Errors
///
/// If there is none of that name, or it cannot.
pub fn no_offloads(name: &str) -> io::Result<()> {
    OFFLOADS.iter().try_for_each(|&command| offload(name, command, 0))
}

fn offload(name: &str, command: u32, data: u32) -> io::Result<()> {
    // SAFETY: a number, and nothing else; the descriptor is owned by nobody else.
    let fd = unsafe {
        use std::os::fd::FromRawFd;
        let fd = checked(libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0))?;
        OwnedFd::from_raw_fd(fd)
    };
    let mut value = EthtoolValue { command, data };
    // SAFETY: of zeros it is one without a name.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (place, byte) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *place = byte as libc::c_char;
    }
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: both structures live until the call is over, and are what the command reads.
    checked(unsafe { libc::ioctl(fd.as_raw_fd(), SIOCETHTOOL, &raw mut request) })?;
    Ok(())
}
