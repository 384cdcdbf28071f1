//! A connection of the kernel whose other side is a script: it sends the segments of a test, marked or not, and reads the segments
//! that the kernel sends.

use std::os::fd::AsFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

use shallows_core::Duration;
use shallows_core::packet::{Ecn, Flags, HostId};
use shallows_testbed::dilation::Dilation;
use shallows_testbed::frame;
use shallows_testbed::hosts::HostNamespaces;
use shallows_testbed::mapping::LinuxPlan;
use shallows_testbed::run::{Scenario, prepare};
use shallows_testbed::sys::ebpf::Registered;
use shallows_testbed::sys::machine::{self, Who};
use shallows_testbed::sys::packets::Packets;
use shallows_testbed::sys::poll;
use shallows_testbed::sys::tcp::{Info, Socket};
use shallows_wire::ipv4::Protocol;
use shallows_wire::tcp_options::Options;
use shallows_wire::{ethernet, ipv4, tcp};

/// Data in a segment: 1,000 bytes, so that a sequence number shows the number of the segment.
pub(crate) const MSS: u32 = 1_000;

pub(crate) const SYN: u16 = 0x002;
pub(crate) const ACK: u16 = 0x010;
pub(crate) const ECE: u16 = 0x040;
pub(crate) const CWR: u16 = 0x080;
/// Echo of an incast notification.
pub(crate) const INCAST: u16 = 0x200;

/// ECN codepoint of the IP header.
pub(crate) const NOT_ECT: u8 = 0;
pub(crate) const ECT: u8 = 2;
pub(crate) const CE: u8 = 3;

/// Time within which the kernel answers, unless a timer of its own must expire first.
const QUIET: Duration = Duration::from_millis(8);
const PORT: u16 = 5_001;
const SCRIPTS_PORT: u16 = 40_000;

/// Host with this kernel and a congestion control, usually one of the testbed's own, and the wire to it.
pub(crate) struct Kernel {
    pub hosts: HostNamespaces,
    plan: LinuxPlan,
    packets: Packets,
    own: Option<Registered>,
    /// Lock that excludes other tests in this process, because the congestion control's name in the kernel contains only the process
    /// number.
    _alone: MutexGuard<'static, ()>,
}

static ALONE: Mutex<()> = Mutex::new(());

impl Kernel {
    /// Creates a host with one of the testbed's own congestion controls. `tcp` contains further keys of the scenario's `[tcp]` table.
    /// Returns `None` if the process lacks the rights.
    pub(crate) fn with(congestion: &str, tcp: &str) -> Option<Self> {
        Self::of(congestion, tcp, true)
    }

    /// Creates a host with the kernel's own `congestion`. `tcp` contains further keys of the scenario's `[tcp]` table. Returns `None` if
    /// the kernel lacks this congestion control, or the process lacks the rights.
    pub(crate) fn unaided(congestion: &str, tcp: &str) -> Option<Self> {
        Self::of(congestion, tcp, false)
    }

    fn of(congestion: &str, tcp: &str, ours: bool) -> Option<Self> {
        if !machine::is_root() {
            eprintln!("not run: needs root");
            return None;
        }
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let text = format!(
            "name = \"scripted\"\n[topology]\nkind = \"star\"\nhosts = 2\nrate = \"1Gbps\"\n\
             [switch]\nbuffer = {{kind = \"static-partition\", per_port = \"150KB\"}}\n\
             [[workload]]\nkind = \"long-lived\"\nsenders = \"0..1\"\nreceivers = \"1..2\"\n[stop]\nat = \"1s\"\n\
             [tcp]\ncongestion = {congestion}\ntimestamps = false\n{tcp}\n"
        );
        let scenario = Scenario {
            text,
            file: "scripted.toml".to_owned(),
            base: ".".into(),
            overrides: Vec::new(),
            seed: None,
            dilation: Dilation::NONE,
            trial: false,
            own: ours,
        };
        let (experiment, plan, mut own) = prepare(&scenario).expect("the kernel takes it");
        if own.is_some() != ours {
            eprintln!("not run: this kernel has no {congestion} of its own; modprobe may load it");
            return None;
        }
        // Priority distinguishes immediate reactions from timers of 40 ms.
        machine::hurry(Who::Programs);
        let hosts = HostNamespaces::raise(&experiment, &plan, own.as_mut()).expect("hosts can be raised");
        let packets = Packets::open(1_500).expect("the wire is there");
        Some(Self { hosts, plan, packets, own, _alone: alone })
    }

    fn socket(&self) -> Socket {
        self.hosts.networks[0].enter().expect("its network is there");
        let socket = Socket::new(&self.plan.congestion).expect("a socket can be had");
        socket.bind((frame::address(HostId(0)), PORT)).expect("nobody has its port");
        socket
    }

    fn send(&self, segment: &Outgoing) {
        let bytes = segment.frame();
        let sent = self.packets.send(std::iter::once((self.hosts.interfaces[0], &bytes[..])));
        assert_eq!(sent.count, 1);
    }

    /// Returns the segments that the kernel sends until it is silent for `quiet`.
    fn seen(&mut self, quiet: Duration) -> Vec<Seen> {
        let mut all = Vec::new();
        loop {
            match self.packets.receive(|frame| Seen::of(frame.bytes)) {
                Some(seen) => all.extend(seen),
                None => {
                    let before = all.len();
                    poll::readable(self.packets.as_fd(), quiet);
                    match self.packets.receive(|frame| Seen::of(frame.bytes)) {
                        Some(seen) => all.extend(seen),
                        None if all.len() == before => return all,
                        None => {}
                    }
                }
            }
        }
    }
}

/// Segment that the script sends.
#[derive(Clone, Copy, Default)]
struct Outgoing {
    seq: u32,
    ack: u32,
    flags: u16,
    len: u32,
    ecn: u8,
    incast: bool,
    options: Options,
}

impl Outgoing {
    fn frame(&self) -> Vec<u8> {
        let (from, to) = (HostId(1), HostId(0));
        let echo = if self.flags & INCAST == 0 { 0 } else { Flags::INCAST_ECHO.0 };
        let tcp = tcp::Repr {
            source_port: SCRIPTS_PORT,
            destination_port: PORT,
            sequence: self.seq,
            acknowledgement: self.ack,
            flags: Flags(self.flags as u8 | echo),
            window: u16::MAX,
            options: self.options,
        };
        let headers = ipv4::LEN + tcp.header_len();
        let ip = ipv4::Repr {
            source: frame::address(from),
            destination: frame::address(to),
            protocol: Protocol::Tcp,
            dscp: 0,
            ecn: self.ecn(),
            incast: self.incast,
            time_to_live: 64,
            total_len: (headers + self.len as usize) as u16,
        };
        let mut bytes = vec![0; ethernet::LEN + usize::from(ip.total_len)];
        let (destination, source) = (frame::mac(to), frame::mac(from));
        ethernet::Repr { destination, source, ether_type: ethernet::IPV4 }.emit(&mut bytes);
        ip.emit(&mut bytes[ethernet::LEN..]);
        // Data consists of zeros, which add nothing to the sum.
        tcp.emit(ip.pseudo_header(), &mut bytes[ethernet::LEN + ipv4::LEN..]);
        bytes
    }

    fn ecn(&self) -> Ecn {
        match self.ecn {
            NOT_ECT => Ecn::NotEct,
            CE => Ecn::Ce,
            _ => Ecn::Ect,
        }
    }
}

/// Segment that the kernel sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub seq: u32,
    pub ack: u32,
    pub flags: u16,
    pub len: u32,
    pub ecn: u8,
}

impl Seen {
    fn of(frame: &[u8]) -> Option<Self> {
        let parsed = frame::parse(frame, 2, 0)?;
        let (ip, tcp) = (&frame[frame::ETHERNET..], &frame[frame::ETHERNET + 20..]);
        let word = |at: usize| u32::from_be_bytes([tcp[at], tcp[at + 1], tcp[at + 2], tcp[at + 3]]);
        let flags = u16::from_be_bytes([tcp[12], tcp[13]]) & 0xfff;
        Some(Self { seq: word(4), ack: word(8), flags, len: u32::from(parsed.data), ecn: ip[1] & 3 })
    }

    pub(crate) fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }
}

/// Returns options with MSS and SACK only: windows of 64 KB, no timestamps.
fn opening() -> Options {
    Options { max_segment_size: Some(MSS as u16), sack_permitted: true, ..Options::default() }
}

/// First sequence number of the script.
const BEGIN: u32 = 1_000_000;

/// Connection on which the kernel sends and the script answers.
pub(crate) struct Sending {
    pub kernel: Kernel,
    socket: Socket,
    begin: u32,
}

impl Sending {
    /// Opens a connection on which nothing has been sent. Also returns the kernel's SYN and ACK.
    pub(crate) fn open(mut kernel: Kernel, ecn: bool) -> (Self, [Seen; 2]) {
        let socket = kernel.socket();
        socket.connect((frame::address(HostId(1)), SCRIPTS_PORT)).expect("it begins to connect");
        let syn = kernel.seen(QUIET)[0];
        let flags = SYN | ACK | if ecn { ECE } else { 0 };
        let (ack, options) = (syn.seq + 1, opening());
        kernel.send(&Outgoing { seq: BEGIN, ack, flags, options, ..Outgoing::default() });
        let ack = kernel.seen(QUIET)[0];
        (Self { kernel, socket, begin: syn.seq + 1 }, [syn, ack])
    }

    /// Opens a connection and writes this number of segments.
    pub(crate) fn started(kernel: Kernel, segments: u32) -> Self {
        let mut sending = Self::open(kernel, true).0;
        sending.write(segments);
        sending
    }

    /// Writes the data of `segments` segments. Returns the segments that the kernel then sends.
    pub(crate) fn write(&mut self, segments: u32) -> Vec<Seen> {
        let mut left = u64::from(segments * MSS);
        while left > 0 {
            left -= self.socket.write(left).expect("there is room");
        }
        self.sent(QUIET)
    }

    /// Acknowledges all segments before `number`, and the ranges `sacked` after it. Returns the segments that the kernel then sends.
    pub(crate) fn ack(&mut self, number: u32, flags: u16, sacked: &[(u32, u32)]) -> Vec<Seen> {
        let place = |number: u32| self.begin.wrapping_add(number * MSS);
        let sack = sacked.iter().map(|&(from, to)| (place(from), place(to))).collect();
        let (ack, options) = (place(number), Options { sack, ..Options::default() });
        let (seq, flags) = (BEGIN + 1, ACK | flags);
        self.kernel.send(&Outgoing { seq, ack, flags, options, ..Outgoing::default() });
        self.sent(QUIET)
    }

    /// Returns the segments that the kernel sends until it is silent for `quiet`. Their `seq` is the number of the segment, from 0.
    pub(crate) fn sent(&mut self, quiet: Duration) -> Vec<Seen> {
        let relative = |seen: Seen| Seen { seq: seen.seq.wrapping_sub(self.begin) / MSS, ..seen };
        self.kernel.seen(quiet).into_iter().map(relative).collect()
    }

    pub(crate) fn info(&self) -> Info {
        self.socket.info()
    }

    /// Returns congestion window and slow start threshold, in segments.
    pub(crate) fn windows(&self) -> (u32, Option<u32>) {
        (self.info().cwnd, self.info().ssthresh)
    }

    /// Returns alpha, in 1,024ths.
    pub(crate) fn alpha(&self) -> u32 {
        let own = self.kernel.own.as_ref().expect("the kernel's own tells nobody");
        own.alpha(self.socket.as_fd()).expect("a window has ended")
    }
}

/// Connection on which the script sends and the kernel acknowledges.
pub(crate) struct Receiving {
    kernel: Kernel,
    socket: Socket,
    /// First sequence number of the kernel.
    begin: u32,
    next: u32,
}

impl Receiving {
    /// Opens a connection; also returns the kernel's SYN-ACK.
    pub(crate) fn open(mut kernel: Kernel) -> (Self, Seen) {
        let listener = kernel.socket();
        listener.listen().expect("it has an address");
        let flags = SYN | ECE | CWR;
        kernel.send(&Outgoing { seq: BEGIN, flags, options: opening(), ecn: ECT, ..Outgoing::default() });
        let answer = kernel.seen(QUIET)[0];
        let (seq, ack) = (BEGIN + 1, answer.seq + 1);
        kernel.send(&Outgoing { seq, ack, flags: ACK, ecn: ECT, ..Outgoing::default() });
        kernel.seen(QUIET);
        let (socket, _) = listener.accept().expect("it is open");
        (Self { kernel, socket, begin: ack, next: 0 }, answer)
    }

    /// Opens a connection, sends `segments` segments, and waits until all are acknowledged, so that acknowledgements are delayed.
    pub(crate) fn warm(kernel: Kernel, segments: u32) -> Self {
        let mut receiving = Self::open(kernel).0;
        for _ in 0..segments {
            receiving.data(ECT, 0, false);
        }
        receiving.late();
        receiving
    }

    /// Sends the next segment. Returns the acknowledgements that follow: the total number of acknowledged segments, and the ECE flag.
    pub(crate) fn data(&mut self, ecn: u8, flags: u16, incast: bool) -> Vec<(u32, bool)> {
        self.segment(ecn, flags, incast).iter().map(|ack| (ack.ack, ack.has(ECE))).collect()
    }

    /// Sends the next segment. Returns the kernel's segments, in which `ack` is the total number of acknowledged segments.
    pub(crate) fn segment(&mut self, ecn: u8, flags: u16, incast: bool) -> Vec<Seen> {
        let seq = BEGIN + 1 + self.next * MSS;
        self.next += 1;
        let flags = ACK | flags;
        let (ack, options) = (self.begin, Options::default());
        self.kernel.send(&Outgoing { seq, ack, flags, len: MSS, ecn, incast, options });
        // The receiving program reads at once.
        let mut seen = self.kernel.seen(Duration::from_millis(1));
        while self.socket.read(1 << 20).is_ok_and(|(read, _)| read > 0) {}
        seen.extend(self.kernel.seen(QUIET));
        seen.into_iter().map(|ack| Seen { ack: (ack.ack - BEGIN - 1) / MSS, ..ack }).collect()
    }

    /// Returns the acknowledgements when the timer of delayed acknowledgements expires.
    pub(crate) fn late(&mut self) -> Vec<(u32, bool)> {
        let seen = self.kernel.seen(Duration::from_millis(250));
        seen.iter().map(|ack| ((ack.ack - BEGIN - 1) / MSS, ack.has(ECE))).collect()
    }

    /// Returns the number of segments sent.
    pub(crate) fn next(&self) -> u32 {
        self.next
    }
}
