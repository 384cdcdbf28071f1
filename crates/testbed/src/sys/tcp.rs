//! TCP sockets, with the kernel's timestamps of arrival and acknowledgement.

use std::io;
use std::mem::{MaybeUninit, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::{checked, counted, set_option};

/// Non-blocking TCP socket.
#[derive(Debug)]
pub struct Socket(OwnedFd);

/// An IPv4 address and a port number.
pub type Address = ([u8; 4], u16);

/// Statistics that the kernel reports about a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// Retransmitted segments so far.
    pub retransmits: u32,
    /// Expiries of the retransmission timer so far.
    pub timeouts: u32,
    /// `TCP_CA_…` of net/tcp_states.h: 3 is recovery, 4 is after a timeout.
    pub state: u8,
    /// Bytes of data in a full segment.
    pub mss: u32,
    /// Congestion window, in segments.
    pub cwnd: u32,
    /// Slow start threshold, in segments; `None` if it was never set.
    pub ssthresh: Option<u32>,
    /// Smoothed round-trip time, in microseconds of the machine's time.
    pub srtt: u32,
    /// Number of segments in flight, as the sender estimates it.
    pub in_flight: u32,
}

// linux/net_tstamp.h
const TIMESTAMPING_SOFTWARE: u32 = 1 << 4;
const TIMESTAMPING_TX_ACK: u32 = 1 << 9;
const TIMESTAMPING_OPT_TSONLY: u32 = 1 << 11;
/// `ioctl` request for the number of bytes that are written and not acknowledged (asm-generic/sockios.h).
const SIOCOUTQ: libc::Ioctl = 0x5411;
const TCP_NOTSENT_LOWAT: libc::c_int = 25;
/// Offsets of fields in `struct tcp_info`, linux/tcp.h.
const STATE: usize = 1;
const MSS: usize = 16;
const UNACKED: usize = 24;
const SACKED: usize = 28;
const LOST: usize = 32;
const RETRANS: usize = 36;
const SRTT: usize = 68;
const SSTHRESH: usize = 76;
const CWND: usize = 80;
const TOTAL_RETRANS: usize = 100;
const TOTAL_RTO: usize = 240;

/// Payload that is sent; receivers ignore it.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

impl Socket {
    /// Creates a socket in the calling thread's network.
    ///
    /// # Errors
    ///
    /// If the process has too many descriptors, or the kernel lacks the congestion control.
    pub fn new(congestion: &str) -> io::Result<Self> {
        // SAFETY: takes only numbers; no other value owns the descriptor.
        let socket = unsafe {
            let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
            Self(OwnedFd::from_raw_fd(checked(libc::socket(libc::AF_INET, kind, 0))?))
        };
        socket.set(libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)?;
        socket.set(libc::IPPROTO_TCP, libc::TCP_NODELAY, 1)?;
        // A socket that is closed early must not keep its network alive.
        let linger = libc::linger { l_onoff: 1, l_linger: 0 };
        set_option(socket.number(), libc::SOL_SOCKET, libc::SO_LINGER, &linger)?;
        let (fd, size) = (socket.number(), congestion.len() as u32);
        // SAFETY: the kernel reads `size` bytes of the name.
        checked(unsafe {
            let name = congestion.as_ptr().cast();
            libc::setsockopt(fd, libc::IPPROTO_TCP, libc::TCP_CONGESTION, name, size)
        })?;
        Ok(socket)
    }

    fn number(&self) -> i32 {
        self.0.as_raw_fd()
    }

    fn set(&self, level: libc::c_int, name: libc::c_int, value: libc::c_int) -> io::Result<()> {
        set_option(self.number(), level, name, &value)
    }

    /// Sets the local address.
    ///
    /// # Errors
    ///
    /// If another socket uses the address.
    pub fn bind(&self, address: Address) -> io::Result<()> {
        let (address, size) = socket_address(address);
        // SAFETY: the address lives until the call returns.
        checked(unsafe { libc::bind(self.number(), (&raw const address).cast(), size) }).map(drop)
    }

    /// Starts to connect to an address.
    ///
    /// # Errors
    ///
    /// If there is no route to the address.
    pub fn connect(&self, address: Address) -> io::Result<()> {
        let (address, size) = socket_address(address);
        // SAFETY: the address lives until the call returns.
        match checked(unsafe { libc::connect(self.number(), (&raw const address).cast(), size) }) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
            _ => Ok(()),
        }
    }

    /// Starts to listen for connections.
    ///
    /// # Errors
    ///
    /// If the socket has no local address.
    pub fn listen(&self) -> io::Result<()> {
        self.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        // SAFETY: takes only numbers.
        checked(unsafe { libc::listen(self.number(), 4_096) }).map(drop)
    }

    /// Accepts the next connection; also returns the address of the other end.
    ///
    /// # Errors
    ///
    /// `WouldBlock` if no connection waits.
    pub fn accept(&self) -> io::Result<(Self, Address)> {
        // SAFETY: zeros are an empty address.
        let mut address: libc::sockaddr_in = unsafe { zeroed() };
        let mut size = size_of::<libc::sockaddr_in>() as u32;
        // SAFETY: the kernel writes at most `size` bytes; no other value owns the descriptor.
        let socket = unsafe {
            let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
            let fd = libc::accept4(self.number(), (&raw mut address).cast(), &raw mut size, flags);
            Self(OwnedFd::from_raw_fd(checked(fd)?))
        };
        Ok((socket, (address.sin_addr.s_addr.to_ne_bytes(), u16::from_be(address.sin_port))))
    }

    /// Sets the class of service (DSCP) of the socket's packets.
    ///
    /// # Errors
    ///
    /// If the process lacks the necessary rights.
    pub fn set_class(&self, class: u8) -> io::Result<()> {
        self.set(libc::IPPROTO_IP, libc::IP_TOS, i32::from(class) << 2)
    }

    /// Limits the number of bytes that are written but not yet sent, so that most data is copied only shortly before it is sent.
    ///
    /// # Errors
    ///
    /// Never on a TCP socket.
    pub fn set_not_sent(&self, bytes: u32) -> io::Result<()> {
        self.set(libc::IPPROTO_TCP, TCP_NOTSENT_LOWAT, bytes.cast_signed())
    }

    /// Writes at most `most` bytes of data; returns the number written. If one call can pass all `most` bytes, the kernel records the
    /// time at which they are acknowledged ([`Self::acked_at`]).
    ///
    /// # Errors
    ///
    /// `WouldBlock` if the socket takes no bytes now.
    pub fn write(&self, most: u64) -> io::Result<u64> {
        let len = most.min(ZEROS.len() as u64) as usize;
        let mut part = libc::iovec { iov_base: ZEROS.as_ptr().cast_mut().cast(), iov_len: len };
        let mut control = Control::default();
        // SAFETY: zeros are an empty message.
        let mut message: libc::msghdr = unsafe { zeroed() };
        (message.msg_iov, message.msg_iovlen) = (&raw mut part, 1);
        if len as u64 == most {
            control.ask_for_acknowledgement(&mut message);
        }
        // SAFETY: data and control message live until the call returns, which only reads them.
        let sent = unsafe { libc::sendmsg(self.number(), &raw const message, libc::MSG_NOSIGNAL) };
        counted(sent).map(|sent| sent as u64)
    }

    /// Enables timestamps of acknowledgements.
    ///
    /// # Errors
    ///
    /// If the kernel does not support them.
    pub fn note_acknowledgements(&self) -> io::Result<()> {
        let flags = TIMESTAMPING_SOFTWARE | TIMESTAMPING_OPT_TSONLY;
        self.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPING, flags.cast_signed())
    }

    /// Returns the time of the last requested acknowledgement, in nanoseconds of the real-time clock; `None` if none arrived since the last
    /// call.
    pub fn acked_at(&self) -> Option<u64> {
        let mut last = None;
        loop {
            let mut control = Control::default();
            // SAFETY: zeros are an empty message.
            let mut message: libc::msghdr = unsafe { zeroed() };
            control.receive(&mut message);
            let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
            // SAFETY: the kernel writes at most the size of the buffer.
            if unsafe { libc::recvmsg(self.number(), &raw mut message, flags) } < 0 {
                return last;
            }
            last = stamp(&message).or(last);
        }
    }

    /// Reads at most `most` bytes. Returns how many were read, and the arrival time of the last one in nanoseconds of the real-time clock.
    /// Zero bytes mean that the other side has closed.
    ///
    /// # Errors
    ///
    /// `WouldBlock` if there is no data now.
    pub fn read(&self, most: u64) -> io::Result<(u64, Option<u64>)> {
        let mut nothing = MaybeUninit::<u8>::uninit();
        let most = most.min(1 << 20) as usize;
        let mut part = libc::iovec { iov_base: nothing.as_mut_ptr().cast(), iov_len: most };
        let mut control = Control::default();
        // SAFETY: zeros are an empty message.
        let mut message: libc::msghdr = unsafe { zeroed() };
        (message.msg_iov, message.msg_iovlen) = (&raw mut part, 1);
        control.receive(&mut message);
        // SAFETY: with MSG_TRUNC a TCP socket discards data without writing it (tcp(7)), and writes only the control message.
        let read =
            unsafe { libc::recvmsg(self.number(), &raw mut message, libc::MSG_TRUNC | libc::MSG_DONTWAIT) };
        let read = counted(read)?;
        Ok((read as u64, stamp(&message)))
    }

    /// Returns the number of bytes that are written and not acknowledged.
    pub fn unacknowledged(&self) -> u64 {
        let mut bytes: libc::c_int = 0;
        // SAFETY: the kernel writes one number.
        unsafe { libc::ioctl(self.number(), SIOCOUTQ, &raw mut bytes) };
        u64::from(bytes.cast_unsigned())
    }

    /// Closes the sending side.
    pub fn finish(&self) {
        // SAFETY: takes only numbers. A broken connection has ended anyway.
        unsafe { libc::shutdown(self.number(), libc::SHUT_WR) };
    }

    /// Returns the kernel's statistics of the connection.
    pub fn info(&self) -> Info {
        let mut bytes = [0u8; 256];
        let mut size = bytes.len() as libc::socklen_t;
        // SAFETY: the kernel writes at most `size` bytes.
        unsafe {
            let bytes = bytes.as_mut_ptr().cast();
            libc::getsockopt(self.number(), libc::IPPROTO_TCP, libc::TCP_INFO, bytes, &raw mut size);
        }
        let word = |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let timeouts = u16::from_ne_bytes([bytes[TOTAL_RTO], bytes[TOTAL_RTO + 1]]);
        Info {
            retransmits: word(TOTAL_RETRANS),
            timeouts: u32::from(timeouts),
            state: bytes[STATE],
            mss: word(MSS),
            cwnd: word(CWND),
            // net/tcp.h: TCP_INFINITE_SSTHRESH.
            ssthresh: Some(word(SSTHRESH)).filter(|&segments| segments < 0x7fff_ffff),
            srtt: word(SRTT),
            in_flight: (word(UNACKED) + word(RETRANS)).saturating_sub(word(SACKED) + word(LOST)),
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn socket_address((address, port): Address) -> (libc::sockaddr_in, u32) {
    let inner = libc::sockaddr_in {
        sin_family: libc::AF_INET as u16,
        sin_port: port.to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(address) },
        sin_zero: [0; 8],
    };
    (inner, size_of::<libc::sockaddr_in>() as u32)
}

/// Buffer for control messages, with the required alignment.
#[derive(Default)]
struct Control([u64; 32]);

impl Control {
    fn receive(&mut self, message: &mut libc::msghdr) {
        (message.msg_control, message.msg_controllen) = (self.0.as_mut_ptr().cast(), size_of_val(&self.0));
    }

    /// Requests a timestamp of the acknowledgement of this message's last byte.
    fn ask_for_acknowledgement(&mut self, message: &mut libc::msghdr) {
        // SAFETY: the first control message is at the beginning of the buffer, which has enough room.
        unsafe {
            message.msg_control = self.0.as_mut_ptr().cast();
            message.msg_controllen = libc::CMSG_SPACE(4) as usize;
            let control = libc::CMSG_FIRSTHDR(message);
            (*control).cmsg_level = libc::SOL_SOCKET;
            (*control).cmsg_type = libc::SO_TIMESTAMPING;
            (*control).cmsg_len = libc::CMSG_LEN(4) as usize;
            libc::CMSG_DATA(control).cast::<u32>().write_unaligned(TIMESTAMPING_TX_ACK);
        }
    }
}

/// Returns the kernel's timestamp in a message, in nanoseconds of the real-time clock.
fn stamp(message: &libc::msghdr) -> Option<u64> {
    // SAFETY: the kernel has written the control messages, and these functions iterate over them; both kinds begin with a time.
    unsafe {
        let mut control = libc::CMSG_FIRSTHDR(message);
        while !control.is_null() {
            let kind = ((*control).cmsg_level, (*control).cmsg_type);
            if kind == (libc::SOL_SOCKET, libc::SO_TIMESTAMPNS)
                || kind == (libc::SOL_SOCKET, libc::SO_TIMESTAMPING)
            {
                let time = libc::CMSG_DATA(control).cast::<libc::timespec>().read_unaligned();
                return Some(time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned());
            }
            control = libc::CMSG_NXTHDR(message, control);
        }
    }
    None
}
