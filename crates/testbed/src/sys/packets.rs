//! Frames at the switch: arriving frames come from a ring that the kernel fills (TPACKET_V2), and departing frames are sent in batches.
//!
//! One ring for all interfaces keeps their frames in order of arrival.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

use super::{checked, counted, set_option};

/// Socket for whole frames, with the ring to which the kernel writes them.
#[derive(Debug)]
pub struct Packets {
    fd: OwnedFd,
    ring: *mut u8,
    slots: usize,
    slot_size: usize,
    next: usize,
}

/// Frame that has arrived.
#[derive(Debug)]
pub struct Frame<'a> {
    /// Bytes of the frame, beginning with the Ethernet header.
    pub bytes: &'a [u8],
    /// Time of arrival, in nanoseconds of the real-time clock.
    pub stamp: u64,
}

/// Result of sending frames.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Number of frames sent.
    pub count: usize,
    /// Index of the first frame whose interface no longer exists.
    pub gone: Option<usize>,
}

/// Maximum number of frames per call.
pub const BATCH: usize = 32;
const RING: usize = 16 << 20;
const BLOCK: usize = 1 << 20;

// linux/if_packet.h
const PACKET_RX_RING: libc::c_int = 5;
const PACKET_STATISTICS: libc::c_int = 6;
const PACKET_VERSION: libc::c_int = 10;
const PACKET_QDISC_BYPASS: libc::c_int = 20;
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;
const TPACKET_V2: libc::c_int = 1;
const TP_STATUS_USER: u32 = 1;

#[repr(C)]
struct RingRequest {
    block_size: u32,
    blocks: u32,
    frame_size: u32,
    frames: u32,
}

/// Fields of `struct tpacket2_hdr` up to the last one that is read.
#[repr(C)]
struct SlotHeader {
    status: AtomicU32,
    len: u32,
    snaplen: u32,
    mac: u16,
    net: u16,
    sec: u32,
    nsec: u32,
}

impl Packets {
    /// Opens the ring of all frames that arrive at interfaces in the calling thread's network, for packets of at most `mtu` bytes.
    ///
    /// # Errors
    ///
    /// If the process lacks the necessary rights, or the kernel lacks memory.
    pub fn open(mtu: usize) -> io::Result<Self> {
        // SAFETY: takes only numbers; no other value owns the descriptor.
        let fd = unsafe {
            let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
            OwnedFd::from_raw_fd(checked(libc::socket(libc::AF_PACKET, kind, 0))?)
        };
        let number = fd.as_raw_fd();
        set_option(number, libc::SOL_PACKET, PACKET_VERSION, &TPACKET_V2)?;
        set_option(number, libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, &1)?;
        set_option(number, libc::SOL_PACKET, PACKET_QDISC_BYPASS, &1)?;
        set_option(number, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &(8 << 20))
            .or_else(|_| set_option(number, libc::SOL_SOCKET, libc::SO_SNDBUF, &(8 << 20)))?;
        // The headers of the slot and of Ethernet take less than 256 bytes.
        let slot_size = (mtu + 256).next_power_of_two();
        let request = RingRequest {
            block_size: BLOCK as u32,
            blocks: (RING / BLOCK) as u32,
            frame_size: slot_size as u32,
            frames: (RING / slot_size) as u32,
        };
        set_option(number, libc::SOL_PACKET, PACKET_RX_RING, &request)?;
        // SAFETY: an address of zeros has no interface.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        let size = size_of::<libc::sockaddr_ll>() as u32;
        // SAFETY: the ring has this size, and is unmapped when this value is dropped; the address lives until `bind` returns.
        let ring = unsafe {
            let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_POPULATE);
            let ring = libc::mmap(std::ptr::null_mut(), RING, access, flags, number, 0);
            if ring == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            ring.cast::<u8>()
        };
        let packets = Self { fd, ring, slots: RING / slot_size, slot_size, next: 0 };
        // SAFETY: as above.
        checked(unsafe { libc::bind(number, (&raw const address).cast(), size) })?;
        Ok(packets)
    }

    /// Passes the next frame to `take`; returns `None` if there is none.
    pub fn receive<T>(&mut self, take: impl FnOnce(Frame<'_>) -> T) -> Option<T> {
        // SAFETY: the slot is within the ring, and aligned, since its size is a power of two. It belongs to this process from the time when
        // the kernel sets the flag `TP_STATUS_USER` of its status (acquire) until this process sets the status to zero (release). The
        // kernel writes the slot only before and after that time.
        let (header, slot) = unsafe {
            let slot = self.ring.add(self.next * self.slot_size);
            (&*slot.cast::<SlotHeader>(), slot)
        };
        if header.status.load(Ordering::Acquire) & TP_STATUS_USER == 0 {
            return None;
        }
        let start = usize::from(header.mac);
        let len = (header.snaplen as usize).min(self.slot_size.saturating_sub(start));
        // SAFETY: as above.
        let bytes = unsafe { std::slice::from_raw_parts(slot.add(start), len) };
        let stamp = u64::from(header.sec) * 1_000_000_000 + u64::from(header.nsec);
        let taken = take(Frame { bytes, stamp });
        header.status.store(0, Ordering::Release);
        self.next = (self.next + 1) % self.slots;
        Some(taken)
    }

    /// Sends each frame on the interface with the given number.
    pub fn send<'a>(&self, frames: impl Iterator<Item = (u32, &'a [u8])>) -> Sent {
        // SAFETY: zeros are empty messages and addresses.
        let (mut messages, mut addresses, mut parts): (
            [libc::mmsghdr; BATCH],
            [libc::sockaddr_ll; BATCH],
            [libc::iovec; BATCH],
        ) = unsafe { std::mem::zeroed() };
        let mut count = 0;
        for (place, (interface, bytes)) in frames.take(BATCH).enumerate() {
            addresses[place].sll_family = libc::AF_PACKET as u16;
            addresses[place].sll_ifindex = interface.cast_signed();
            addresses[place].sll_halen = 6;
            addresses[place].sll_protocol = (libc::ETH_P_IP as u16).to_be();
            parts[place] = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
            let message = &mut messages[place].msg_hdr;
            message.msg_name = (&raw mut addresses[place]).cast();
            message.msg_namelen = size_of::<libc::sockaddr_ll>() as u32;
            message.msg_iov = &raw mut parts[place];
            message.msg_iovlen = 1;
            count += 1;
        }
        let mut sent = Sent { count: 0, gone: None };
        let mut first = 0;
        // If the kernel refuses a frame, the call ends before that frame; the next call sends the frames after it.
        while first < count {
            let rest = &mut messages[first..count];
            // SAFETY: names, parts and bytes live until the call returns; the kernel only reads them.
            let done = unsafe {
                let (messages, len) = (rest.as_mut_ptr(), rest.len() as u32);
                libc::sendmmsg(self.fd.as_raw_fd(), messages, len, libc::MSG_DONTWAIT)
            };
            let done = counted(done as isize).unwrap_or_else(|error| {
                // No interface has this number, or it is down.
                if matches!(error.raw_os_error(), Some(libc::ENXIO | libc::ENODEV | libc::ENETDOWN)) {
                    sent.gone = sent.gone.or(Some(first));
                }
                0
            });
            sent.count += done;
            first += done.max(1);
        }
        sent
    }

    /// Returns how many frames were lost since the last call because the ring was full.
    pub fn overruns(&self) -> u64 {
        let mut counts = [0u32; 2];
        let mut size = size_of_val(&counts) as libc::socklen_t;
        // SAFETY: the kernel writes at most `size` bytes.
        let result = unsafe {
            let counts = counts.as_mut_ptr().cast();
            libc::getsockopt(self.fd.as_raw_fd(), libc::SOL_PACKET, PACKET_STATISTICS, counts, &raw mut size)
        };
        if result < 0 { 0 } else { u64::from(counts[1]) }
    }
}

impl AsFd for Packets {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

// SAFETY: no other value refers to the ring.
unsafe impl Send for Packets {}

impl Drop for Packets {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this size, and nothing points into it any more.
        unsafe { libc::munmap(self.ring.cast(), RING) };
    }
}
