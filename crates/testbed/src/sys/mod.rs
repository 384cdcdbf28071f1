//! System calls of Linux: sockets, namespaces, clocks. All unsafe code of the crate is here.

pub mod changes;
pub mod clock;
#[cfg(feature = "ebpf")]
pub mod ebpf;
pub mod machine;
pub mod namespace;
pub mod packets;
pub mod poll;
pub mod shell;
pub mod tcp;
#[cfg(not(feature = "ebpf"))]
pub mod without_ebpf;

#[cfg(not(feature = "ebpf"))]
pub use without_ebpf as ebpf;

use std::io;
use std::os::fd::RawFd;

/// Converts the result of a call that returns -1 for an error.
fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Converts the result of a call that returns a number of bytes, or -1 for an error.
fn counted(result: isize) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

fn set_option<T>(fd: RawFd, level: libc::c_int, name: libc::c_int, value: &T) -> io::Result<()> {
    let size = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel reads `size` bytes of a value that lives until the call returns.
    checked(unsafe { libc::setsockopt(fd, level, name, std::ptr::from_ref(value).cast(), size) }).map(drop)
}
