//! Queue pairs with several outstanding messages, over a wire that loses, delays and duplicates packets at random.

use shallows_core::packet::HostId;
use shallows_core::random::Stream;
use shallows_core::{Bytes, Duration, Instant};
use shallows_measure::FlowRecord;
use shallows_scenario::Flow;

use super::{DELAY, Due, TestWire, Told, at, flow, hosts_of};

/// A random run: its scenario, and the time and the size of each message.
struct Case {
    scenario: String,
    messages: Vec<(Instant, Bytes)>,
}

impl Case {
    fn draw(stream: &mut Stream) -> Self {
        let mut any = |values: &[&str]| values[stream.below(values.len() as u64) as usize].to_owned();
        let operations = [
            "operation = 'write'",
            "operation = 'write'\nrecovery = { kind = 'go-back-n', reordering = 3 }",
            "operation = 'write'\nrecovery = 'selective-repeat'",
            "operation = 'send'\nrecovery = { kind = 'irn', window = 20, low_timeout = '60us', high_timeout = '90us' }",
            "operation = { kind = 'send', receive_depth = 2, refill = '30us', rnr_timer = '20us', rnr_retry = 3 }",
            "operation = { kind = 'send', receive_depth = 1, rnr_timer = '10us', rnr_retry = 0 }",
            "operation = { kind = 'read', max_rd_atomic = 3 }",
        ];
        let operation = any(&operations);
        let delay = any(&["", "", "[host.nic.send]\nmessage_delay = '7us'\n"]);
        let delay = if operation.contains("read") { String::new() } else { delay };
        let (per_pair, retries) = (any(&["1", "1", "2"]), any(&["1", "3", "7"]));
        let depth = 1 + stream.below(9);
        let mut at = Instant::ZERO;
        let mut message = |stream: &mut Stream| {
            at = at + Duration(1 + stream.below(20_000_000));
            (at, Bytes(1 + stream.below(6_000)))
        };
        let messages = (0..1 + stream.below(24)).map(|_| message(stream)).collect();
        let scenario = format!(
            "{delay}[roce]\nmtu = '1000B'\ntimeout = '80us'\nretry_count = {retries}\n{operation}\n\
             [[workload]]\nkind = 'incast'\nsenders = 0\nreceivers = 1\nsize = '1KB'\ntransport = 'roce'\n\
             connections = {{ kind = 'persistent', per_pair = {per_pair}, when_busy = 'queue', queue_depth = {depth} }}\n"
        );
        Self { scenario, messages }
    }

    /// Runs the case. Returns the wire and the records of the flows.
    fn run(&self, mut stream: Stream) -> (TestWire, Vec<FlowRecord>) {
        let mut hosts = hosts_of(&self.scenario);
        let mut wire = TestWire::new(&[]);
        let most = |stream: &mut Stream, most: f64| stream.uniform() * stream.uniform() * most;
        let (loss, copy, jitter) = (most(&mut stream, 0.4), most(&mut stream, 0.3), stream.below(20_000_000));
        let mut draws = Stream::new(stream.next_u64(), "copies", 0);
        wire.network = Box::new(move |_| {
            let delay = Duration::from_micros(5) + Duration(stream.below(jitter + 1));
            (stream.uniform() >= loss).then_some(delay)
        });
        wire.copies = Box::new(move || {
            (draws.uniform() < copy).then(|| Duration::from_micros(5) + Duration(draws.below(jitter + 1)))
        });
        for (number, &(at, size)) in (0..).zip(&self.messages) {
            wire.later(at, Due::Flow(number, Flow { at, size: Some(size), ..flow() }));
        }
        wire.run(&mut hosts);
        let retransmits = hosts.queue_pairs().values().map(|counts| counts.retransmits).sum::<u64>();
        let ends = hosts.into_flows(wire.now);
        let records: Vec<_> = (0..self.messages.len() as u32).map(|number| *ends.at(number)).collect();
        if !self.scenario.contains("read") {
            let of_flows = records.iter().map(|record| u64::from(record.retransmits())).sum::<u64>();
            assert_eq!(of_flows, retransmits, "each retransmission counts for one flow\n{}", self.scenario);
        }
        (wire, records)
    }
}

/// Checks that each flow is complete at both ends or has failed, and that flows of a queue pair end in order.
fn check(wire: &TestWire, records: &[FlowRecord], case: &str) {
    let mut failed = Vec::new();
    let (mut acked, mut received) = (Vec::new(), Vec::new());
    for (_, told) in &wire.told {
        match *told {
            Told::Failed(flow) => failed.push(flow),
            Told::Acked(flow) => acked.push(flow),
            Told::Received(arrival) => {
                let flow = records.iter().position(|record| record.arrival == arrival).expect("a flow");
                received.push(flow as u32);
            }
            Told::Changed(..) => unreachable!("nothing is traced"),
        }
    }
    let mut ended: Vec<_> = acked.iter().chain(&failed).copied().collect();
    ended.sort_unstable();
    assert_eq!(ended, (0..records.len() as u32).collect::<Vec<_>>(), "each flow ends once\n{case}");
    assert_eq!(wire.tally.flows_failed, failed.len() as u64, "{case}");
    let pair = |flow: &u32| records[*flow as usize].sent.map(|sent| sent.address.source_port);
    for of in acked.iter().chain(&received).map(pair) {
        for ends in [&acked, &received] {
            let own: Vec<_> = ends.iter().filter(|flow| pair(flow) == of).collect();
            assert!(own.is_sorted(), "{own:?}\n{case}");
        }
    }
    for (flow, record) in (0..).zip(records) {
        let size = record.size.expect("messages have sizes");
        if acked.contains(&flow) {
            assert!(
                received.contains(&flow) && record.delivered() == size,
                "flow {flow}: {record:?}\n{case}"
            );
            assert!(record.received_at() <= record.acked_at(), "flow {flow}: {record:?}\n{case}");
            let queued = record.queued().expect("it was sent");
            let latency = record.received_at().expect("complete") - record.arrival;
            assert!(queued < latency, "flow {flow}: {record:?}\n{case}");
        } else if record.sent.is_some() && !received.contains(&flow) {
            assert!(record.delivered() < size, "flow {flow}: {record:?}\n{case}");
        }
    }
    assert_eq!(records[0].source, HostId(0));
}

#[test]
fn outstanding_messages_end_in_order_whatever_the_network_does() {
    let (mut complete, mut failed) = (0, 0);
    for seed in 0..1_500 {
        let mut stream = Stream::new(seed, "queue pairs", 0);
        let case = Case::draw(&mut stream);
        let (wire, records) = case.run(stream);
        check(&wire, &records, &format!("seed {seed}\n{}", case.scenario));
        complete += wire.told.iter().filter(|(_, told)| matches!(told, Told::Acked(_))).count();
        failed += wire.told.iter().filter(|(_, told)| matches!(told, Told::Failed(_))).count();
    }
    assert!(complete > 5_000 && failed > 500, "{complete} complete, {failed} failed");
}

#[test]
fn a_message_that_waits_does_not_go_to_a_queue_pair_that_has_just_ended() {
    let mut hosts = hosts_of(
        "[roce]\noperation = { kind = 'send', receive_depth = 1, refill = '1s', rnr_retry = 0 }\n\
         [[workload]]\nkind = 'incast'\nsenders = 0\nreceivers = 1\nsize = '1KB'\ntransport = 'roce'\n\
         connections = { kind = 'persistent', per_pair = 2, when_busy = 'queue', queue_depth = 2 }\n",
    );
    // Each of the two queue pairs has two messages, and the fifth message waits. The acknowledgements of the first messages (packets 5 and
    // 6) are lost. The RNR NAKs of the second messages therefore acknowledge the first ones, and end the queue pairs.
    let mut wire = TestWire::new(&[5, 6]);
    for number in 0..5 {
        let at = Instant(u64::from(number));
        wire.later(at, Due::Flow(number, Flow { at, size: Some(Bytes(1_000)), ..flow() }));
    }
    wire.run(&mut hosts);
    let ends = hosts.into_flows(wire.now);
    let was_sent = [0, 1, 2, 3, 4].map(|number| ends.at(number).sent.is_some());
    assert_eq!(was_sent, [true, true, true, true, false]);
    let acked = [0, 1, 2, 3, 4].map(|number| ends.at(number).acked_at().is_some());
    assert_eq!(acked, [true, true, false, false, false]);
    assert_eq!(wire.tally.flows_failed, 3);
}

/// One queue pair with at most three outstanding messages. Its receiver keeps packets that arrive after a missing packet (selective
/// repeat).
const OUTSTANDING: &str = "[roce]\nmtu = '1000B'\ntimeout = '80us'\nretry_count = 0\nrecovery = 'selective-repeat'\n\
     [[workload]]\nkind = 'incast'\nsenders = 0\nreceivers = 1\nsize = '1KB'\ntransport = 'roce'\n\
     connections = { kind = 'persistent', when_busy = 'queue', queue_depth = 3 }\n";

/// Posts messages of these sizes, one every microsecond, and runs until all events have fired. Returns the wire and the records of the
/// flows.
fn post(sizes: &[u64], mut wire: TestWire) -> (TestWire, Vec<FlowRecord>) {
    let mut hosts = hosts_of(OUTSTANDING);
    for (number, &size) in (0..).zip(sizes) {
        let at = at(number.into());
        wire.later(at, Due::Flow(number, Flow { at, size: Some(Bytes(size)), ..flow() }));
    }
    wire.run(&mut hosts);
    let ends = hosts.into_flows(wire.now);
    let records = (0..sizes.len() as u32).map(|number| *ends.at(number)).collect();
    (wire, records)
}

/// Returns, for each flow, the longest gap between acknowledgements.
fn ack_gaps(records: &[FlowRecord]) -> Vec<Option<Duration>> {
    records.iter().map(|record| record.sent.expect("it was sent").longest_gap).collect()
}

#[test]
fn a_driver_learns_the_sequence_numbers_of_each_message() {
    let (wire, _) = post(&[1_000, 2_500, 700], TestWire::new(&[]));
    assert_eq!(wire.begun, [(0, 0..1_000), (1, 1_000..3_500), (2, 3_500..4_200)]);
}

#[test]
fn an_acknowledgement_ends_the_gap_only_of_the_messages_that_it_covers() {
    // Each message is acknowledged 20 µs after it was posted. The acknowledgement of the first message ends no gap of the second one.
    let (_, records) = post(&[1_000, 1_000], TestWire::new(&[]));
    assert_eq!(ack_gaps(&records), [Some(Duration::from_micros(20)); 2]);
    // The first acknowledgement, packet 3, is lost. The second one covers both messages.
    let (wire, records) = post(&[1_000, 1_000], TestWire::new(&[3]));
    assert_eq!(ack_gaps(&records), [21, 20].map(|micros| Some(Duration::from_micros(micros))));
    let acked = wire.told.iter().filter(|(_, told)| matches!(told, Told::Acked(_)));
    assert_eq!(acked.collect::<Vec<_>>(), [&(at(21), Told::Acked(0)), &(at(21), Told::Acked(1))]);
}

#[test]
fn a_later_message_of_which_data_has_arrived_has_an_open_gap_at_the_end() {
    // The second packet of the first message and all replies are lost. The receiver holds the two packets of the second message.
    let mut wire = TestWire::new(&[]);
    wire.network = Box::new(|number| matches!(number, 1 | 3 | 4).then_some(DELAY));
    let (wire, records) = post(&[2_000, 2_000], wire);
    let received = records[1].received.expect("its record is settled");
    assert_eq!((received.at, received.delivered, received.timeouts_felt), (None, Bytes(0), 0));
    // The queue pair sends at 10 Gb/s: before the last packet, three packets of 1,044 bytes and two RETHs of 16 bytes leave in 2,531.2 ns.
    let last = Duration(2_531_200) + DELAY;
    assert_eq!(received.longest_gap, Some(wire.now - (Instant::ZERO + last)));
    // The queue pair ends with its first timeout.
    assert!(wire.told.contains(&(at(80), Told::Failed(1))), "{:?}", wire.told);
    assert_eq!(records[0].delivered(), Bytes(1_000));
}
