//! Tests of lists with dependencies between flows.
//!
//! Each flow is one full segment of 1,460 bytes, 1,500 on the wire: 1.2 us on each link at 10 Gb/s, and 1 us of propagation.
//! Alone it takes 2 · 2.2 = 4.4 us to its receiver, and its acknowledgement of 40 bytes 2 · 1.032 us back.

use shallows_sim::{Report, Simulation};

const STAR: &str = r#"
host.jitter = "off"

[topology]
kind = "star"
hosts = 8
rate = "10Gbps"

[switch]
buffer = { kind = "complete-sharing", pool = "10MB" }

[tcp]
timestamps = false
congestion = "reno"
delayed_ack = { segments = 1 }

[[workload]]
kind = "trace"
"#;

/// Runs a scenario with this list of flows.
fn run(list: &str) -> Report {
    let text = format!("{STAR}path = \"list.csv\"\n");
    let read = |_: &str| Ok(list.to_owned());
    let experiment = shallows_scenario::parse(&text, "test.toml", &read, &[], None);
    let mut simulation = Simulation::new(experiment.unwrap_or_else(|error| panic!("{error}")));
    simulation.advance(u64::MAX);
    simulation.finish()
}

/// Returns the source and arrival time of each flow. Times are in nanoseconds.
fn arrivals(report: &Report) -> Vec<(u32, u64)> {
    let mut found: Vec<_> = report.flows().map(|flow| (flow.source.0, flow.arrival.0 / 1_000)).collect();
    found.sort_unstable();
    found
}

#[test]
fn flows_start_when_those_that_they_wait_for_are_received_or_acknowledged() {
    // The flow from host 0 to 4 is received at 4.4 us and acknowledged at 6.464 us. The flow from host 1 to 5 does the same 2 us later.
    // Host 2 starts when both flows are received, host 3 half a microsecond after the flow of host 0 is acknowledged, and host 6 when the
    // first flow is received.
    let list = "start_ns,source,destination,bytes,on_received,on_acked,after,count\n\
                0,0,4,1460,both,known,,\n\
                2000,1,5,1460,both,,,\n\
                0,2,4,1460,,,both,2\n\
                500,3,5,1460,,,known,\n\
                0,6,7,1460,,,both,1\n";
    let report = run(list);
    assert_eq!(arrivals(&report), [(0, 0), (1, 2_000), (2, 6_400), (3, 6_964), (6, 4_400)]);
    assert!(report.flows().all(|flow| flow.completion_time.is_some()), "the run lasts as long as its flows");
}

#[test]
fn a_flow_of_a_list_has_its_class_and_its_port() {
    let list = "start_ns,source,destination,bytes,class,port\n0,0,4,1460,7,100\n0,1,5,1460,,\n";
    let report = run(list);
    assert_eq!(report.flows().map(|flow| flow.class).collect::<Vec<_>>(), [7, 0]);
}
