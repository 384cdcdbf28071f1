//! Tests of the memory of a run, which is estimated from the scenario before the run is built.

use shallows_sim::{Need, footprint};

/// Returns the memory needs of a scenario that has four hosts at a switch, a workload with the keys `workload`, and the tables in `more`.
fn needs(workload: &str, more: &str) -> Vec<Need> {
    let text = format!(
        "[topology]\nkind = \"star\"\nhosts = 4\nrate = \"10Gbps\"\nlink_delay = \"1us\"\n\
         [switch.buffer]\nkind = \"complete-sharing\"\npool = \"1MB\"\n\
         [[workload]]\nsenders = \"0\"\nreceivers = \"1\"\n{workload}\n{more}"
    );
    let experiment =
        shallows_scenario::parse(&text, "s.toml", &|_| unreachable!("no workload names a file"), &[], None);
    footprint(&experiment.unwrap_or_else(|error| panic!("{error}")))
}

fn of(needs: &[Need], what: &str) -> Need {
    needs.iter().find(|need| need.what.contains(what)).unwrap_or_else(|| panic!("{what}: {needs:?}")).clone()
}

const LONG: &str = "kind = \"long-lived\"";

#[test]
fn buckets_of_all_ports_are_counted() {
    // Four ports lead to hosts; a bucket has a ring of four slots and more than 100 bytes in total.
    for (port, each) in [
        ("kind = \"hashed-drr\"\nbuckets = 1000000", 100.0),
        ("kind = \"hcf\"\nlimit = \"20p\"\nbins = 1000000", 16.0),
    ] {
        let needs = needs(LONG, &format!("[stop]\nat = \"1s\"\n[switch.port]\n{port}"));
        let need = of(&needs, "the buckets or bins of 4 ports such as switch0->host0");
        assert!(need.bytes >= 4e6 * each, "{need:?}");
        assert_eq!(needs[0], need, "the largest comes first");
    }
}

#[test]
fn samples_and_requests_are_as_many_as_intervals() {
    let sampled = needs(LONG, "[stop]\nat = \"1s\"\n[measure]\nsample_queues = \"1us\"");
    assert!(of(&sampled, "1000000 samples").bytes >= 24e6);
    // From 250 ms to the end, every 10 us.
    let pings = needs("kind = \"ping\"\nstart = \"250ms\"\ninterval = \"10us\"", "[stop]\nat = \"1s\"");
    assert!(of(&pings, "75000 echo requests").bytes >= 75e3 * 16.0);
}

#[test]
fn flows_and_queries_come_until_the_end_or_their_number() {
    // Rounds of 1 ms in the first 10 ms: eleven, the first of them at 0.
    let incast = "kind = \"incast\"\nsize = \"1KB\"\nperiod = \"1ms\"\nrepeats = 4000000000";
    assert!(of(&needs(incast, "[stop]\nat = \"10ms\""), "11 flows").bytes > 0.0);
    let four = "kind = \"incast\"\nsize = \"1KB\"\nperiod = \"1ms\"\nrepeats = 4";
    assert!(of(&needs(four, ""), "4 flows").bytes > 0.0);
    // Half of 10 Gb/s in flows of 1 MB: 625 per second, slightly fewer with headers.
    let poisson = "kind = \"poisson\"\nload = 0.5\nsizes = { kind = \"fixed\", size = \"1MB\" }";
    let flows = of(&needs(poisson, "[stop]\nat = \"10s\""), " flows");
    let count: f64 = flows.what.split(' ').next().and_then(|text| text.parse().ok()).unwrap();
    assert!((5_000.0..=6_251.0).contains(&count), "{flows:?}");
}

#[test]
fn warm_connections_are_there_from_the_start() {
    let warm = "kind = \"incast\"\nsize = \"1KB\"\nconnections = { kind = \"persistent\", per_pair = 1000, \
                warm_up = { bytes = \"1KB\", from = \"0s\", to = \"1ms\" } }";
    assert!(of(&needs(warm, ""), "1000 persistent connections").bytes > 100e3);
}
