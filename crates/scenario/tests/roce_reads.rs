//! RDMA READs in scenarios.

use shallows_core::Bytes;
use shallows_rdma::{Operation, Read};
use shallows_scenario::Segments;

use crate::common::{self, parse};
use crate::roce::SCENARIO;

fn refusal(text: &str, sets: &[(&str, &str)]) -> (String, String) {
    let sets: Vec<_> = sets.iter().copied().chain([("roce.operation", "read")]).collect();
    common::refusal(text, &sets)
}

#[test]
fn reads_have_requests_and_extended_headers_of_responses() {
    let experiment = parse(SCENARIO, &[("roce.operation", "read")]).unwrap_or_else(|error| panic!("{error}"));
    let agreement = experiment.hosts.agreement_of(0, 0, 0);
    let pairs = agreement.queue_pairs.as_ref().expect("queue pairs");
    assert_eq!(pairs.config.operation, Operation::Read(Read { outstanding: 16 }));
    let Segments { once, at_end, .. } = agreement.segments();
    assert_eq!((once, at_end), (Bytes(4), Bytes(4)));
    // A request has a RETH of 16 bytes and no data.
    assert_eq!(agreement.read_request(), Some(pairs.header_bytes + Bytes(16)));
}

#[test]
fn settings_that_need_acknowledgements_of_data_are_refused_with_reads() {
    let no_acks = "responses are not acknowledged";
    let cases = [
        ("roce.recovery", "selective-repeat", "roce.recovery", no_acks),
        ("roce.recovery", "{ kind = 'irn', window = 40 }", "roce.recovery", no_acks),
        ("roce.recovery", "{ kind = 'go-back-n', reordering = 3 }", "roce.recovery", no_acks),
        (
            "roce.adaptive_timeout",
            "{}",
            "roce.adaptive_timeout",
            "adaptive timeouts of READs are not modelled",
        ),
        ("roce.ack_every", "4", "roce.ack_every", no_acks),
        ("roce.congestion", "swift", "roce.congestion", no_acks),
        ("roce.congestion", "hpcc", "roce.congestion", no_acks),
        ("roce.congestion", "dctcp", "roce.congestion", no_acks),
        (
            "roce.congestion",
            "{ kind = 'dcqcn', window = { rtt = '20us' } }",
            "roce.congestion.window",
            no_acks,
        ),
        ("host.nic.send", "{ packet_rate = '20Mpps' }", "host.nic.send", "READs (roce.operation)"),
    ];
    for (key, value, place, reason) in cases {
        let (found, message) = refusal(SCENARIO, &[(key, value)]);
        assert_eq!(found, place, "{key} = {value}: {message}");
        assert!(message.contains(reason), "{key} = {value}: {message}");
    }
    for congestion in ["none", "dcqcn", "dcqcn-connectx"] {
        let sets = [("roce.operation", "read"), ("roce.congestion", congestion)];
        assert!(parse(SCENARIO, &sets).is_ok(), "{congestion}");
    }
}

#[test]
fn workloads_whose_data_must_flow_to_receivers_are_refused_with_reads() {
    let poisson =
        "[[workload]]\nkind = 'poisson'\nload = 0.1\nsizes = 'web-search'\nflows = 10\ntransport = 'roce'\n";
    let (key, message) = refusal(&format!("{SCENARIO}\n{poisson}senders = [0, 1]\n"), &[]);
    assert_eq!(key, "workload[1].receivers");
    assert!(message.starts_with("must be the same as senders with READs"), "{message}");
    assert!(parse(&format!("{SCENARIO}\n{poisson}"), &[("roce.operation", "read")]).is_ok());
    let list =
        |path| format!("{SCENARIO}\n[[workload]]\nkind = 'trace'\npath = '{path}'\ntransport = 'roce'\n");
    let (key, message) = refusal(&list("chain.csv"), &[]);
    assert_eq!(key, "workload[1].path");
    assert!(message.starts_with("must have no flows that wait for others with READs"), "{message}");
    assert!(parse(&list("marked.csv"), &[("roce.operation", "read")]).is_ok());
    let queries = "[[workload]]\nkind = 'block-transfer'\nclients = 0\nservers = [1, 2]\nblock = '1MB'\nrepeats = 1\n\
                   transport = 'roce'\n";
    let (key, message) = refusal(&format!("{SCENARIO}\n{queries}"), &[]);
    assert_eq!(key, "roce.operation");
    assert!(message.starts_with("must be \"write\" or \"send\" for workload[1]"), "{message}");
}
