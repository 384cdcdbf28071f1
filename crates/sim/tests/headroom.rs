//! Computed headroom on links of many rates, lengths and packet sizes, in the worst case: no packet is lost, but packets are lost if the
//! headroom is one packet smaller.

use shallows_core::Bytes;
use shallows_scenario::Experiment;
use shallows_sim::Report;

use crate::common::{parse, run};

/// A link with its largest packet. `headroom` is the closed form: the switch's own packet and the PFC frame, the cable in both directions,
/// the response time, and the packet that the sender has begun.
#[derive(Clone, Copy, Debug)]
struct Link {
    gbps: u64,
    metres: u64,
    mtu: u64,
    headroom: u64,
}

const fn link(gbps: u64, metres: u64, mtu: u64, headroom: u64) -> Link {
    Link { gbps, metres, mtu, headroom }
}

const LINKS: [Link; 8] = [
    link(40, 100, 1_500, 15_712),
    link(100, 5, 1_500, 29_001),
    link(100, 100, 1_500, 40_876),
    link(100, 100, 9_216, 56_308),
    link(100, 300, 4_200, 71_276),
    link(400, 5, 4_200, 68_980),
    link(400, 100, 4_200, 116_480),
    link(400, 2_000, 4_200, 1_066_480),
];

impl Link {
    /// Returns the bytes of the largest packet on the link.
    fn packet(self) -> u64 {
        self.mtu + 38
    }

    /// Returns the closed form and the packet that no longer fits below the limit, with one byte for rounding.
    fn computed(self) -> u64 {
        self.headroom + self.packet() + 1
    }

    /// Returns a scenario in which a host must be paused while its switch sends to it. Class 0 from host 0 waits behind class 1 from host 1,
    /// which has priority and fills the link to host 2. From a time on that depends on `phase`, from 0 to 12, host 3 fills the link to host
    /// 0, so that the PFC frame waits for a packet, of which a part depending on the phase is left.
    fn scenario(self, headroom: &str, phase: u64) -> String {
        let Self { gbps, metres, mtu, .. } = self;
        let delay = 5 * metres;
        let source = |sender: u32, receiver: u32, class: u32, start: u64| {
            format!(
                "[[workload]]\nkind = 'udp'\nsenders = {sender}\nreceivers = {receiver}\nclass = {class}\noverload = true\n\
                 start = '{start}ns'\npattern = {{ kind = 'constant', rate = '{gbps}Gbps' }}\n"
            )
        };
        let packet_time = self.packet() * 8 / gbps;
        format!(
            "stop.at = '150us'\nhost.jitter = 'off'\nhost.nic = {{ limit = '1GB', backpressure = 'off' }}\ntcp = {{}}\n\
             [topology]\nkind = 'star'\nhosts = 4\nrate = '{gbps}Gbps'\nlink_delay = '{delay}ns'\nmtu = {mtu}\nframing = '38B'\n\
             [switch]\nbuffer = {{ kind = 'complete-sharing', pool = '20MB' }}\n\
             port = {{ kind = 'strict-priority', queues = 2, classes = [1, 0] }}\n\
             lossless = {{ classes = [0], limit = '50KB', headroom = '{headroom}' }}\n{}{}{}",
            source(0, 2, 0, 10_000),
            source(1, 2, 1, 0),
            source(3, 0, 1, packet_time * phase / 13),
        )
    }

    /// Runs the worst case and returns the dropped packets and the largest use of headroom at the port of host 0.
    fn lost(self, headroom: u64, phase: u64) -> (u64, Bytes) {
        let text = self.scenario(&format!("{headroom}B"), phase);
        let (experiment, report): (Experiment, Report) = (parse(&text, &[]), run(&text, &[]));
        let link = experiment.network.links.iter().position(|link| link.name == "switch0->host0");
        let row = report.pauses().iter().find(|row| Some(row.link as usize) == link).expect("a row");
        assert_eq!(row.sent, 1, "{self:?}");
        let codes: Vec<&str> = report.problems().iter().map(|problem| problem.code).collect();
        assert_eq!(codes.contains(&"lossless-drop"), row.dropped > 0, "{codes:?}");
        (row.dropped, row.max_headroom)
    }
}

#[test]
fn computed_headroom_is_the_closed_form_and_a_packet() {
    for link in LINKS {
        let experiment = parse(&link.scenario("auto", 0), &[]);
        let lossless = experiment.network.lossless.as_ref().expect("a class is lossless");
        let headroom = lossless.ports.iter().flat_map(|port| &port.groups).find_map(|group| group.lossless);
        assert_eq!(headroom.map(|own| own.headroom.0), Some(link.computed()), "{link:?}");
    }
}

#[test]
fn computed_headroom_loses_nothing_on_any_link_and_one_packet_less_does() {
    for link in LINKS {
        let (mut most, mut lost) = (Bytes(0), 0);
        for phase in 0..13 {
            let (dropped, used) = link.lost(link.computed(), phase);
            assert_eq!(dropped, 0, "{link:?}, phase {phase}");
            most = most.max(used);
            lost += link.lost(link.computed() - link.packet(), phase).0;
        }
        assert!(lost > 0, "{link:?}: the largest use was {most} of {}", link.computed());
    }
}
