//! Invalid measurements: traces of flows and packet captures are rejected with the keys that they need.

use crate::common::{BCC_F2, message};

#[test]
fn a_trace_of_flows_says_which() {
    let found = |trace: &str| {
        let sets = [("measure.flow_traces", trace)];
        let whole = message(BCC_F2, &sets);
        whole.lines().next().unwrap_or_default().to_owned()
    };
    for (trace, expected) in [
        ("[{}]", "measure.flow_traces[0]: must have flows, a workload or a sample"),
        (
            "[{ flows = [1], sample = 2 }]",
            "cannot be combined with workload or sample; remove flows, or remove workload and sample",
        ),
        ("[{ sample = 0 }]", "must be at least 1, got 0"),
        ("[{ workload = 7 }]", "must be less than 1, the number of workloads, got 7"),
        ("[{ sample = 1, every = '0s' }]", "must be at least 1ns or \"event\", got 0ps"),
    ] {
        let found = found(trace);
        assert!(found.contains(expected), "{found}");
    }
}

#[test]
fn a_capture_says_of_what_and_where() {
    let found = |captures: &str| {
        let whole = message(BCC_F2, &[("measure.captures", captures)]);
        whole.lines().next().unwrap_or_default().to_owned()
    };
    for (captures, expected) in [
        ("[{}]", "measure.captures[0]: must have ports, such as [\"to-host\"], or hosts"),
        ("[{ ports = ['nic', 'up'] }]", "measure.captures[0].ports[1]: no port matches \"up\"; use a name"),
        ("[{ hosts = 40 }]", "measure.captures[0].hosts: must name hosts from 0 to 31, got host 40"),
        // Ethernet 14, IPv4 20, TCP at most 60: 94.
        (
            "[{ hosts = 0, snap = '93B' }]",
            "measure.captures[0].snap: must be from 94B (all headers) to 262144B, got 93B",
        ),
        ("[{ hosts = 0, snap = '1MB' }]", "measure.captures[0].snap: must be from 94B"),
        ("[{ hosts = 0, name = '../x' }]", "measure.captures[0].name: must be a file name"),
        ("[{ hosts = 0, name = '.x' }]", "that does not start with \".\", got \".x\""),
        ("[{ hosts = 0, name = '' }]", "that does not start with \".\", got \"\""),
        (
            "[{ hosts = 0 }, { hosts = 1, name = 'Capture' }]",
            "measure.captures[1].name: each capture must have a unique name (letter case is ignored), got \
             \"Capture\" twice",
        ),
        ("[{ hosts = 0, port = 'nic' }]", "measure.captures[0].port: unknown key (did you mean \"ports\"?)"),
    ] {
        let found = found(captures);
        assert!(found.contains(expected), "{found}");
    }
}
