//! Tests that call the fabric directly.

use super::*;
use proptest::prelude::*;
use shallows_scenario::LinkState;

/// Returns three hosts at one switch, with links of 100 Mb/s and 50 us; the queues hold 15 packets of 1,500 bytes and mark above 6,000
/// bytes.
fn experiment() -> Experiment {
    with(&[])
}

/// Returns the experiment of these tests with the keys in `sets` changed.
fn with(sets: &[(&str, &str)]) -> Experiment {
    let text = r#"
        name = "star"
        [topology]
        kind = "star"
        hosts = 3
        rate = "100Mbps"
        link_delay = "50us"
        [switch]
        buffer = { kind = "static-partition", per_port = "22500B" }
        markers = [{ kind = "threshold", k = "6000B" }]
        [tcp]
        congestion = { kind = "reno", ecn = true }
        [[workload]]
        kind = "long-lived"
        senders = "0..2"
        receivers = "2..3"
        [stop]
        at = "1s"
    "#;
    let sets: Vec<_> = sets.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let loaded =
        shallows_scenario::parse(text, "star.toml", &|_| unreachable!("it names no file"), &sets, None);
    loaded.unwrap_or_else(|error| panic!("{error}"))
}

/// Returns a segment of 1,460 bytes of data, ECT(0).
fn segment(from: u8, to: u8) -> Vec<u8> {
    let mut frame = vec![0; 14 + 1_500];
    frame[12..14].copy_from_slice(&[0x08, 0x00]);
    frame[14..26].copy_from_slice(&[0x45, 0x02, 0x05, 0xdc, 0, 0, 0x40, 0, 64, 6, 0, 0]);
    frame[26..34].copy_from_slice(&[10, 0, 0, from + 1, 10, 0, 0, to + 1]);
    frame[46..48].copy_from_slice(&[0x50, 0x10]);
    frame
}

fn us(us: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(us)
}

/// Returns the due times and the marks of the frames that have left by `now`.
fn leave(fabric: &mut Fabric, now: Instant) -> Vec<(Instant, bool)> {
    fabric.advance(now);
    fabric.state.audit();
    let leaving = fabric.leaving().to_vec();
    let told = leaving.iter().map(|delivery| (delivery.due, fabric.frame(delivery)[15] & 3 == 3)).collect();
    fabric.let_go();
    told
}

#[test]
fn a_frame_takes_what_its_links_take_however_late_that_is_looked_at() {
    let mut fabric = Fabric::new(&experiment());
    assert!(fabric.enter(us(10), &segment(0, 2)));
    // 1,500 bytes take 120 us on each of two links, plus 50 us of delay each.
    assert_eq!(leave(&mut fabric, us(349)), []);
    assert_eq!(fabric.wake_at(), Some(us(350)));
    assert_eq!(leave(&mut fabric, us(9_000)), [(us(350), false)]);
    // The fabric cannot change the past: a frame with an earlier time enters at the current time.
    assert!(fabric.enter(us(20), &segment(0, 2)));
    assert_eq!(leave(&mut fabric, us(9_000)), [(us(350 + 340), false)]);
}

#[test]
fn a_queue_marks_above_its_threshold_and_drops_beyond_its_room() {
    let mut fabric = Fabric::new(&experiment());
    // Two senders at the rate of the link, 60 frames each: the queue grows by one packet in 120 us.
    for number in 0..60 {
        for from in [0, 1] {
            fabric.enter(us(number * 120), &segment(from, 2));
        }
    }
    let left = leave(&mut fabric, us(60 * 120 * 2 + 1_000));
    let tally = fabric.tally();
    assert_eq!((tally.packets_sent, tally.data_sent), (120, 120));
    assert_eq!(tally.packets_arrived, left.len() as u64);
    assert_eq!(tally.packets_arrived + tally.packets_dropped, 120);
    // The queue has room for the second frames of fifteen pairs; after that, one frame of each pair is dropped.
    assert!((40..50).contains(&tally.packets_dropped), "{tally:?}");
    let first = left.iter().position(|(_, marked)| *marked).expect("some are marked");
    // The first marked frame finds 6,000 bytes, four packets, in the queue; this frame belongs to the fifth pair that waits.
    assert!((8..=11).contains(&first), "{first}");
    assert!(
        left[first..].iter().all(|(_, marked)| *marked),
        "the queue never shrinks before the senders end"
    );
    let spacing = Duration::from_micros(120);
    assert!(left.windows(2).all(|pair| pair[1].0 - pair[0].0 == spacing), "the link never idles");
}

#[test]
fn a_link_that_goes_down_loses_the_frames_on_it_and_at_its_port() {
    let experiment = experiment();
    let network = &experiment.network;
    // A frame takes 120 us to leave each port and 50 us on each link: the first frame is on the second link from 180 to 350 us, and the
    // next two frames wait at the port of that link. The link is down when the fourth frame arrives at the port, and up again when the
    // fifth frame arrives.
    let link = network.links.iter().position(|link| link.name == "switch0->host2").expect("it leads there");
    let (rate, delay) = (network.links[link].rate, network.links[link].delay);
    let epoch = |at, state| network.links_change(at, vec![(link as u32, state)]);
    let epochs = vec![epoch(us(290), LinkState::Down), epoch(us(1_000), LinkState::Up { rate, delay })];
    let experiment = experiment.with_epochs(epochs).expect("it is a link");
    let mut fabric = Fabric::new(&experiment);
    for (at, from) in [(10, 0), (10, 1), (120, 0), (500, 0), (900, 0)] {
        fabric.enter(us(at), &segment(from, 2));
    }
    assert_eq!(leave(&mut fabric, us(9_000)), [(us(900 + 340), false)]);
    assert_eq!((fabric.tally().packets_sent, fabric.tally().packets_dropped), (5, 4));
}

#[test]
fn what_reacts_to_nothing_is_made_and_taken_at_its_very_time() {
    let text = r#"
        name = "star"
        [topology]
        kind = "star"
        hosts = 3
        rate = "100Mbps"
        link_delay = "50us"
        [switch]
        buffer = { kind = "static-partition", per_port = "22500B" }
        [[workload]]
        kind = "udp"
        senders = "0..1"
        receivers = "2..3"
        payload = "1472B"
        pattern = { kind = "constant", rate = "50Mbps" }
        stop = "1200us"
        [[workload]]
        kind = "ping"
        senders = "1..2"
        receivers = "2..3"
        interval = "10ms"
        start = "5ms"
        payload = "97B"
        [stop]
        at = "1s"
    "#;
    let loaded =
        shallows_scenario::parse(text, "star.toml", &|_| unreachable!("it names no file"), &[], None);
    let experiment = loaded.unwrap_or_else(|error| panic!("{error}"));
    let mut fabric = Fabric::new(&experiment);
    assert_eq!(leave(&mut fabric, us(30_000)), [], "no host hears of it");
    let tally = fabric.tally();
    // 1,500 bytes every 240 us until 1,200 us; requests at 5, 15 and 25 ms with their replies.
    assert_eq!((tally.packets_sent, tally.packets_arrived), (5 + 6, 5 + 6));
    let (bytes, echoes) = fabric.state.background.measured();
    assert_eq!(bytes.0, 5 * 1_500);
    let found: Vec<_> = echoes.iter().map(|echo| (echo.sent_at, echo.rtt)).collect();
    // Four links of 50 us, each after 10 us for 125 bytes.
    let rtt = Some(Duration::from_micros(240));
    assert_eq!(found, [(us(5_000), rtt), (us(15_000), rtt), (us(25_000), rtt)]);
}

/// Buffer for the captures of a test.
#[derive(Clone, Default)]
struct Shared(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

impl io::Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns, for each packet of a pcapng file, its time in nanoseconds, interface, full length and first bytes.
fn packets(file: &[u8]) -> Vec<(u64, u32, usize, Vec<u8>)> {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    let (mut at, mut found) = (0, Vec::new());
    while at < file.len() {
        // draft-ietf-opsawg-pcapng §4.3: type 6, length, interface, time of two words, both lengths, data.
        if word(at) == 6 {
            let time = u64::from(word(at + 12)) << 32 | u64::from(word(at + 16));
            let data = file[at + 28..at + 28 + word(at + 20) as usize].to_vec();
            found.push((time, word(at + 8), word(at + 24) as usize, data));
        }
        at += word(at + 4) as usize;
    }
    found
}

#[test]
fn a_capture_has_frames_when_their_first_bit_leaves_a_port_with_its_marks() {
    let captures = "[{ name = 'c', ports = ['host0->switch0', 'switch0->host2'], snap = '96B' }]";
    let experiment = with(&[("measure.captures", captures)]);
    let file = Shared::default();
    let captures = Captures::new(&experiment, "real", |_| Ok(Box::new(file.clone()))).unwrap();
    let mut fabric = Fabric::capturing(&experiment, captures);
    for number in 0..12 {
        for from in [0, 1] {
            fabric.enter(us(10 + number * 120), &segment(from, 2));
        }
    }
    let left = leave(&mut fabric, us(100_000));
    fabric.flush_captures().unwrap();
    let found = packets(&file.0.lock().unwrap());
    let at = |interface: u32| found.iter().filter(move |packet| packet.1 == interface);
    // The first frame leaves its host at 10 us, and the switch 120 us plus 50 us later; the other frames follow every 120 us.
    let times: Vec<u64> = at(0).map(|packet| packet.0).collect();
    assert_eq!(times, (0..12).map(|number| (10 + number * 120) * 1_000).collect::<Vec<_>>());
    let times: Vec<u64> = at(1).map(|packet| packet.0).collect();
    assert_eq!(times, (0..24).map(|number| (180 + number * 120) * 1_000).collect::<Vec<_>>());
    assert!(found.iter().all(|packet| packet.2 == 1_514 && packet.3.len() == 96));
    let is_marked = |packet: &&(u64, u32, usize, Vec<u8>)| packet.3[15] & 3 == 3;
    assert_eq!(at(0).filter(is_marked).count(), 0, "NICs mark nothing");
    let marks = left.iter().filter(|(_, marked)| *marked).count();
    assert!(marks > 0 && at(1).filter(is_marked).count() == marks);
    let measured = Measured { end: us(100_000), ..Measured::default() };
    assert!(
        fabric.report(experiment, measured).problems().iter().all(|problem| problem.code != "empty-capture")
    );
}

#[test]
fn what_is_none_of_ours_goes_no_further() {
    let mut fabric = Fabric::new(&experiment());
    assert!(!fabric.enter(us(1), &segment(0, 3)), "there is no host 3");
    assert!(!fabric.enter(us(1), &[0; 60]));
    assert_eq!(fabric.tally().packets_sent, 0);
    assert_eq!(fabric.wake_at(), None);
}

#[test]
fn a_driver_that_wakes_when_it_is_told_to_is_never_late() {
    let mut fabric = Fabric::new(&experiment());
    assert_eq!(fabric.crossing(), Duration::from_micros(100));
    // A hundred frames at irregular times, which the driver passes on up to 100 us later.
    let mut came: VecDeque<u64> = (0..100).map(|number| number * 131 + number % 7 * 20).collect();
    let (mut now, mut left, mut looks) = (0, 0, 0);
    while left < 100 {
        while let Some(at) = came.pop_front_if(|at| *at <= now) {
            fabric.enter(us(at), &segment(0, 2));
        }
        for (due, _) in leave(&mut fabric, us(now)) {
            assert_eq!(due, us(now));
            left += 1;
        }
        looks += 1;
        let wake = fabric.wake_at().map_or(u64::MAX, |at| (at.0 / 1_000_000).max(now + 1));
        now = wake.min(now + 100);
    }
    assert!(looks < 400, "{looks} looks at a hundred frames");
}

proptest! {
    /// Late calls change no event: a fabric that is advanced from time to time delivers the same frames, with the same due times and marks,
    /// as a fabric that is advanced at every event.
    #[test]
    fn a_driver_that_wakes_up_late_sees_what_one_that_does_not_sees(
        sent in prop::collection::vec((0u64..200, 0u8..2), 1..120),
        looks in prop::collection::vec(1u64..3_000, 1..40),
    ) {
        let (mut punctual, mut late) = (Fabric::new(&experiment()), Fabric::new(&experiment()));
        let (mut expected, mut found) = (Vec::new(), Vec::new());
        let mut now = 0;
        for (gap, from) in &sent {
            now += gap;
            expected.extend(leave(&mut punctual, us(now)));
            punctual.enter(us(now), &segment(*from, 2));
        }
        expected.extend(leave(&mut punctual, us(now + 100_000)));
        // Frames that arrive before a call are passed before that call, like frames from a ring.
        let (mut came, mut sent, mut looked) = (0, sent.iter().peekable(), 0);
        for gap in looks.iter().chain(std::iter::repeat_n(&1_000, 200)) {
            looked += gap;
            while let Some((gap, from)) = sent.next_if(|(gap, _)| came + gap <= looked) {
                came += gap;
                late.enter(us(came), &segment(*from, 2));
            }
            found.extend(leave(&mut late, us(looked)));
        }
        prop_assert_eq!(expected, found);
    }
}
