//! Waiting for descriptors.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use shallows_core::Duration;

use super::checked;

/// Wait for that long.
pub fn sleep(span: Duration) {
    let time = timespec(span);
    // SAFETY: no entries, and one time, which lives until the call is over. A signal ends the wait early, which nobody minds.
    unsafe { libc::ppoll(std::ptr::null_mut(), 0, &raw const time, std::ptr::null()) };
}

/// Wait until there is something to read, but no longer than that.
pub fn readable(fd: BorrowedFd<'_>, most: Duration) {
    let mut entry = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let time = timespec(most);
    // SAFETY: one entry and one time, which live until the call is over. A signal ends the wait early, which nobody minds.
    unsafe { libc::ppoll(&raw mut entry, 1, &raw const time, std::ptr::null()) };
}

fn timespec(span: Duration) -> libc::timespec {
    let nanos = span.0 / 1_000;
    libc::timespec {
        tv_sec: (nanos / 1_000_000_000).cast_signed(),
        tv_nsec: (nanos % 1_000_000_000).cast_signed(),
    }
}

/// Descriptors that tell when something can be done with them, each by a number.
#[derive(Debug)]
pub struct Poll {
    epoll: OwnedFd,
    events: Vec<libc::epoll_event>,
}

/// Readiness of a file descriptor.
#[derive(Clone, Copy, Debug)]
pub struct Ready {
    /// As it was given.
    pub number: u64,
    /// Something can be read, or the other side has closed.
    pub read: bool,
    /// Something can be written.
    pub write: bool,
    /// There is something in the queue of errors, or the connection is broken.
    pub error: bool,
}

impl Poll {
    /// Without any descriptors.
    ///
    /// # Errors
    ///
    /// If the process has too many of them.
    pub fn new() -> io::Result<Self> {
        // SAFETY: a number; nobody else owns the descriptor.
        let epoll = unsafe { OwnedFd::from_raw_fd(checked(libc::epoll_create1(libc::EPOLL_CLOEXEC))?) };
        Ok(Self { epoll, events: vec![libc::epoll_event { events: 0, u64: 0 }; 256] })
    }

    /// Tell of `fd` by `number` whenever something new can be done with it, until it is closed.
    ///
    /// # Errors
    ///
    /// If there are too many.
    pub fn add(&self, fd: BorrowedFd<'_>, number: u64) -> io::Result<()> {
        let events = libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET;
        let mut event = libc::epoll_event { events: events.cast_unsigned(), u64: number };
        let (epoll, fd) = (self.epoll.as_raw_fd(), fd.as_raw_fd());
        // SAFETY: both descriptors are open, the event lives until the call is over.
        checked(unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, fd, &raw mut event) }).map(drop)
    }

    /// Wait for something, but no longer than that.
    pub fn wait(&mut self, most: Duration) -> Vec<Ready> {
        let time = timespec(most);
        let room = self.events.len() as libc::c_int;
        // SAFETY: there is room for as many events as are said, and one time.
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
