//! Invalid workloads: senders without a receiver, excessive loads, missing ends and damaged input files are rejected.

use crate::common::{BCC_F2, DUMBBELL, message, parse};

#[test]
fn a_host_that_only_sends_to_itself_is_refused() {
    let sets = [("workload.0.senders", "3"), ("workload.0.receivers", "3")];
    assert_eq!(
        message(BCC_F2, &sets),
        "--set workload.0.receivers=3: workload[0].receivers: must include a host other than host 3, the only sender"
    );
}

#[test]
fn a_link_that_is_offered_too_much_is_named_with_the_numbers() {
    // 90 % in payload is 90 % · 9000/8960 of full packets on the wire, still below 1; 99.8 % is above.
    assert!(parse(BCC_F2, &[("workload.0.counted", "payload")]).is_ok());
    let sets = [("workload.0.counted", "payload"), ("workload.0.load", "0.998")];
    assert_eq!(
        message(BCC_F2, &sets),
        "--set workload.0.load=0.998: workload[0].load: with a load of 0.998, the link switch0->host0 would carry \
         1.0025 times its rate of 100Gbps, headers included; use a lower load, or set overload = true"
    );
    let overload = [("workload.0.load", "1.2"), ("workload.0.overload", "true")];
    assert!(parse(BCC_F2, &overload).is_ok());
}

/// Parses a star of 10 Gb/s with sources of datagrams.
fn flood(workloads: &str) -> Result<(), String> {
    let text = format!(
        "stop.at = '1ms'\ntopology = {{ kind = 'star', hosts = 4, rate = '10Gbps' }}\n\
         switch.buffer = {{ kind = 'static-partition', per_port = '9p' }}\nworkload = [{workloads}]"
    );
    parse(&text, &[]).map(|_| ()).map_err(|error| error.problems[0].to_string().replace('\n', " "))
}

#[test]
fn datagrams_beyond_the_rate_of_a_link_need_overload() {
    let udp = |senders: &str, pattern: &str| {
        format!("{{ kind = 'udp', senders = '{senders}', receivers = 3, pattern = {{ {pattern} }} }},")
    };
    let constant = |senders, rate| udp(senders, &format!("kind = 'constant', rate = '{rate}'"));
    let error = flood(&constant("0", "40Gbps")).unwrap_err();
    let expected = "workload[0].pattern.rate: the link host0->switch0 would carry 4.0000 times its rate of 10Gbps, \
                    including earlier workloads; this workload sends 40Gbps: use a lower rate, or set overload = \
                    true";
    assert!(error.contains(expected), "{error}");
    assert_eq!(flood(&constant("0", "40Gbps").replace("'udp'", "'udp', overload = true")), Ok(()));
    assert_eq!(flood(&constant("0", "10Gbps")), Ok(()), "line rate");
    assert_eq!(flood(&udp("0", "kind = 'poisson', rate = '10Gbps'")), Ok(()));
    // Bursts at 20 Gb/s for half of the time fill a link; for three fifths of the time they do not fit.
    let bursts = |on| udp("0", &format!("kind = 'on-off', rate = '20Gbps', on = '{on}', off = '2us'"));
    assert_eq!(flood(&bursts("2us")), Ok(()));
    assert!(flood(&bursts("3us")).unwrap_err().contains("1.2000 times"));
    // Three sources of 4 Gb/s into one receiver, in one workload or in two.
    let error = flood(&constant("0..3", "4Gbps")).unwrap_err();
    assert!(
        error.contains("the link switch0->host3 would carry 1.2000 times its rate")
            && error.contains("sends 4Gbps from each of 3 sources: use"),
        "{error}"
    );
    let error = flood(&(constant("0..2", "4Gbps") + &constant("2", "4Gbps"))).unwrap_err();
    assert!(error.contains("workload[1].pattern.rate") && error.contains("1.2000 times"), "{error}");
}

#[test]
fn runs_without_an_end_are_refused() {
    let no_flows = BCC_F2.replacen("flows = 100_000\n", "", 1);
    assert_eq!(
        message(&no_flows, &[]).lines().next(),
        Some(
            "s.toml:44:1: workload[0]: the workload must have an end: set flows, or set stop.at for the run"
        )
    );
    let no_stop = DUMBBELL.replacen("stop.at = \"10ms\"", "", 1);
    let found = message(&no_stop, &[]);
    assert!(found.contains("workload[0]: the workload must have an end: set stop.at for the run"), "{found}");
    assert!(found.contains("workload[2]: the workload must have an end: set flows"), "all at once: {found}");
    let sources = "[[workload]]\nkind = 'ping'\nsenders = 0\nreceivers = 2\ninterval = '1ms'\n\
                   [[workload]]\nkind = 'udp'\nsenders = 0\nreceivers = 2\npattern = { kind = 'constant', rate = '1Mbps' }\n";
    let star = "topology = { kind = 'star', hosts = 3, rate = '1Gbps' }\n[switch]\n\
                buffer = { kind = 'static-partition', per_port = '100KB' }\n[tcp]\n";
    let found = message(&format!("{star}{sources}"), &[]);
    for workload in 0..2 {
        let said = format!(
            "workload[{workload}]: the workload must have an end: set stop, or set stop.at for the run"
        );
        assert!(found.contains(&said), "{found}");
    }
    let stops = [("workload.0.stop", "10ms"), ("workload.1.stop", "20ms")];
    assert!(parse(&format!("{star}{sources}"), &stops).is_ok());
}

#[test]
fn missing_files_and_bad_ones_are_refused_with_their_line() {
    let found = message(DUMBBELL, &[("workload.1.path", "nowhere.csv")]);
    assert!(
        found.starts_with(
            "--set workload.1.path=nowhere.csv: workload[1].path: cannot read \"nowhere.csv\": there is none"
        ),
        "{found}"
    );
    let found = message(DUMBBELL, &[("workload.2.sizes", "nowhere.cdf")]);
    assert!(found.contains("workload[2].sizes: cannot read \"nowhere.cdf\": there is none"), "{found}");
    // A flow list instead of a distribution, and a distribution instead of a flow list.
    assert_eq!(
        message(DUMBBELL, &[("workload.2.sizes", "flows.csv")]),
        "--set workload.2.sizes=flows.csv: workload[2].sizes: flows.csv, line 1: must have a value and a share, got \
         \"start_ns,source,destination,bytes\""
    );
    assert_eq!(
        message(DUMBBELL, &[("workload.1.path", "sizes.cdf")]),
        "--set workload.1.path=sizes.cdf: workload[1].path: sizes.cdf, line 1: the header must be \
         \"start_ns,source,destination,bytes\", followed by any of \"class\", \"port\", \"after\", \"count\", \
         \"on_received\", \"on_acked\", got \"# bytes, percent\""
    );
}

#[test]
fn a_byte_order_mark_before_an_input_file_changes_nothing() {
    let loaded = parse(DUMBBELL, &[("workload", "[{ kind = 'trace', path = 'marked.csv' }]")]);
    loaded.unwrap_or_else(|error| panic!("{error}"));
}
