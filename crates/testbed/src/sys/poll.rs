//! Waiting for file descriptors.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use shallows_core::Duration;

use super::checked;

/// Sleeps for this time.
pub fn sleep(span: Duration) {
    let time = timespec(span);
    // SAFETY: no entries, and one time, which lives until the call returns. A signal ends the wait early, which is harmless.
    unsafe { libc::ppoll(std::ptr::null_mut(), 0, &raw const time, std::ptr::null()) };
}

/// Waits until the descriptor is readable, at most for this time.
pub fn readable(fd: BorrowedFd<'_>, most: Duration) {
    let mut entry = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let time = timespec(most);
    // SAFETY: one entry and one time, which live until the call returns. A signal ends the wait early, which is harmless.
    unsafe { libc::ppoll(&raw mut entry, 1, &raw const time, std::ptr::null()) };
}

fn timespec(span: Duration) -> libc::timespec {
    let nanos = span.0 / 1_000;
    libc::timespec {
        tv_sec: (nanos / 1_000_000_000).cast_signed(),
        tv_nsec: (nanos % 1_000_000_000).cast_signed(),
    }
}

/// Set of file descriptors, each with a number under which its readiness is reported.
#[derive(Debug)]
pub struct Poll {
    epoll: OwnedFd,
    events: Vec<libc::epoll_event>,
}

/// Readiness of a file descriptor.
#[derive(Clone, Copy, Debug)]
pub struct Ready {
    /// Number given to [`Poll::add`].
    pub number: u64,
    /// Data can be read, or the other side has closed.
    pub read: bool,
    /// Data can be written.
    pub write: bool,
    /// The error queue is not empty, or the connection is broken.
    pub error: bool,
}

impl Poll {
    /// Creates an empty set.
    ///
    /// # Errors
    ///
    /// If the process has too many descriptors.
    pub fn new() -> io::Result<Self> {
        // SAFETY: takes only a number; no other value owns the descriptor.
        let epoll = unsafe { OwnedFd::from_raw_fd(checked(libc::epoll_create1(libc::EPOLL_CLOEXEC))?) };
        Ok(Self { epoll, events: vec![libc::epoll_event { events: 0, u64: 0 }; 256] })
    }

    /// Adds `fd`; its readiness is reported with `number` at every change, until `fd` is closed.
    ///
    /// # Errors
    ///
    /// If there are too many descriptors.
    pub fn add(&self, fd: BorrowedFd<'_>, number: u64) -> io::Result<()> {
        let events = libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET;
        let mut event = libc::epoll_event { events: events.cast_unsigned(), u64: number };
        let (epoll, fd) = (self.epoll.as_raw_fd(), fd.as_raw_fd());
        // SAFETY: both descriptors are open, and the event lives until the call returns.
        checked(unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, fd, &raw mut event) }).map(drop)
    }

    /// Waits until a descriptor is ready, but at most for this time.
    pub fn wait(&mut self, most: Duration) -> Vec<Ready> {
        let time = timespec(most);
        let room = self.events.len() as libc::c_int;
        // SAFETY: the buffer has room for the given number of events; the time lives until the call returns.
        let count = unsafe {
            let events = self.events.as_mut_ptr();
            libc::epoll_pwait2(self.epoll.as_raw_fd(), events, room, &raw const time, std::ptr::null())
        };
        let ready = |event: &libc::epoll_event| {
            let flags = event.events.cast_signed();
            Ready {
                number: event.u64,
                read: flags & (libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLHUP) != 0,
                write: flags & libc::EPOLLOUT != 0,
                error: flags & (libc::EPOLLERR | libc::EPOLLHUP) != 0,
            }
        };
        self.events[..usize::try_from(count).unwrap_or(0)].iter().map(ready).collect()
    }
}
