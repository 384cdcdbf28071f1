//! `roce` tables of groups of hosts: inherited settings, the end that decides each of them, and groups whose settings do not fit.

use shallows_core::Duration;
use shallows_rdma::congestion::Config as Control;
use shallows_rdma::{Operation, Recovery};
use shallows_scenario::{Experiment, QueuePairs};

use crate::common::{parse, refusal};
use crate::roce::SCENARIO;

/// Returns the scenario with a group of the hosts 2 and 3, which has this `roce` table. Host 0, which is in no group, sends to host 2.
fn with_group(roce: &str) -> String {
    format!("{SCENARIO}\n[[host.group]]\nname = 'new'\nmembers = '2..4'\nroce = {roce}\n")
}

fn experiment(roce: &str, sets: &[(&str, &str)]) -> Experiment {
    parse(&with_group(roce), sets).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the settings of queue pairs of the first workload from one group to another.
fn between(experiment: &Experiment, from: usize, to: usize) -> QueuePairs {
    pairs(experiment, 0, [from, to])
}

fn pairs(experiment: &Experiment, workload: u16, [from, to]: [usize; 2]) -> QueuePairs {
    experiment.hosts.agreement_of(workload, from, to).queue_pairs.clone().expect("queue pairs")
}

#[test]
fn a_group_inherits_what_it_does_not_set_and_a_workload_takes_precedence() {
    let text = with_group("{ retry_count = 2, timeout = '3ms', congestion = 'dcqcn' }")
        + "[[workload]]\nkind = 'incast'\nsenders = 1\nreceivers = 3\nsize = '1MB'\ntransport = 'roce'\n\
           roce = { retry_count = 4 }\n";
    let sets = [
        ("roce.retry_count", "1"),
        ("roce.congestion", "{ kind = 'dcqcn', gain = 0.5 }"),
        ("roce.recovery", "selective-repeat"),
    ];
    let experiment = parse(&text, &sets).unwrap_or_else(|error| panic!("{error}"));
    let gain = |control: &Control| match control {
        Control::Dcqcn(config) => config.gain,
        other => panic!("{other:?}"),
    };
    let default = Duration::from_nanos(4_096 << 14);
    for (workload, group, retries, timeout, expected) in [
        (0, 0, 1, default, 0.5),
        (0, 1, 2, Duration::from_millis(3), 1.0 / 256.0),
        (1, 0, 4, default, 0.5),
        (1, 1, 4, Duration::from_millis(3), 1.0 / 256.0),
    ] {
        let config = pairs(&experiment, workload, [group, group]).config;
        assert_eq!((config.retry_count, config.timeout), (Some(retries), timeout), "{workload} {group}");
        assert!(
            (gain(&config.congestion) - expected).abs() < 1e-12,
            "a table with a kind is replaced as a whole"
        );
        assert_eq!((config.recovery, config.mtu.0), (Recovery::SelectiveRepeat, 1_000));
    }
}

#[test]
fn each_end_of_a_write_decides_its_part() {
    let sets = [
        ("roce.congestion", "dcqcn"),
        ("roce.recovery", "{ kind = 'go-back-n', reordering = 1 }"),
        ("roce.ack_every", "2"),
        ("roce.timeout", "1ms"),
        ("roce.retry_count", "1"),
        ("roce.cnp", "{ interval = '10us' }"),
        ("roce.burst", "4KB"),
    ];
    let experiment = experiment(
        "{ congestion = 'swift', burst = '8KB', recovery = { kind = 'go-back-n', reordering = 5 }, ack_every = 3, timeout = '2ms', \
         retry_count = 2, cnp = { interval = '20us', class = 0 }, ack_class = 0, adaptive_timeout = { first = '1ms' } }",
        &sets,
    );
    let (there, back) = (between(&experiment, 0, 1), between(&experiment, 1, 0));
    // The opener has the congestion control, bursts, requests of acknowledgements and timeouts, the other end the order of packets and CNPs.
    let of_sender = |pairs: &QueuePairs| {
        let config = &pairs.config;
        (config.ack_every, config.burst_room.0, config.timeout, config.retry_count, config.adaptive.is_some())
    };
    assert_eq!(of_sender(&there), (2, 2_902, Duration::from_millis(1), Some(1), false));
    assert_eq!(of_sender(&back), (3, 6_902, Duration::from_millis(2), Some(2), true));
    let of_receiver = |pairs: &QueuePairs| {
        let config = &pairs.config;
        (config.reordering, config.notification.interval, pairs.ack_class, pairs.cnp_class)
    };
    assert_eq!(of_receiver(&there), (5, Some(Duration::from_micros(20)), Some(0), Some(0)));
    // Swift needs no CNPs.
    assert_eq!(of_receiver(&back), (1, None, None, None));
    assert!(matches!(there.config.congestion, Control::Dcqcn(_)));
    assert!(matches!(back.config.congestion, Control::Swift(_)));
}

#[test]
fn the_interval_of_cnps_depends_on_the_congestion_control_of_the_host_that_sends_them() {
    let repo = "{ congestion = { kind = 'dcqcn-connectx', preset = 'hpcc-repo' } }";
    for (own, expected) in [
        (repo, Duration::ZERO),
        ("{ congestion = 'dcqcn-connectx' }", Duration::from_micros(4)),
        ("{ congestion = 'dcqcn' }", Duration::from_micros(50)),
        ("{ congestion = 'hpcc' }", Duration::from_micros(50)),
        ("{ congestion = 'dcqcn-connectx', cnp = { interval = '10us' } }", Duration::from_micros(10)),
    ] {
        let experiment = experiment(own, &[("roce.congestion", "dcqcn")]);
        assert_eq!(between(&experiment, 0, 1).config.notification.interval, Some(expected), "{own}");
    }
    let notes = experiment(repo, &[("roce.congestion", "dcqcn")]).notes.clone();
    assert_eq!(
        notes[2], "host.group[0].roce.congestion \"dcqcn-connectx\" sets cnp.interval = \"0ps\"",
        "{notes:?}"
    );
}

#[test]
fn the_sender_of_packets_decides_whether_they_carry_telemetry() {
    let experiment = experiment("{ congestion = 'hpcc' }", &[]);
    let [there, back] = [[0, 1], [1, 0]].map(|ends| pairs(&experiment, 0, ends).header_bytes.0);
    assert_eq!(back, there + 42);
}

#[test]
fn each_end_of_a_send_has_its_own_limits() {
    let sets = [("roce.operation", "{ kind = 'send', receive_depth = 4, rnr_retry = 1 }")];
    let experiment = experiment("{ operation = { kind = 'send', receive_depth = 8, rnr_retry = 2 } }", &sets);
    for (ends, depth, retries) in [([0, 1], 8, 1), ([1, 0], 4, 2)] {
        let Operation::Send(send) = pairs(&experiment, 0, ends).config.operation else { panic!("no SEND") };
        assert_eq!((send.receive.map(|queue| queue.depth), send.rnr_retry), (Some(depth), Some(retries)));
    }
}

#[test]
fn the_responder_of_a_read_has_its_congestion_control_and_the_requester_its_timeouts() {
    let sets = [
        ("roce.operation", "read"),
        ("roce.congestion", "dcqcn"),
        ("roce.timeout", "1ms"),
        ("roce.cnp", "{ interval = '10us', class = 0 }"),
    ];
    let new =
        "{ congestion = 'dcqcn-connectx', timeout = '2ms', cnp = { interval = '20us' }, ack_class = 0 }";
    let read = between(&experiment(new, &sets), 0, 1);
    assert!(matches!(read.config.congestion, Control::ConnectX(_)));
    assert_eq!(read.config.timeout, Duration::from_millis(1));
    assert_eq!(read.config.notification.interval, Some(Duration::from_micros(10)));
    // The requester sends CNPs, and the responder NAKs.
    assert_eq!((read.cnp_class, read.ack_class), (Some(0), Some(0)));
}

#[test]
fn both_ends_of_a_queue_pair_need_the_same_mtu_and_recovery() {
    let expected = |one: &str, two: &str| {
        format!(
            "must be as in group \"default\" (roce.{one}), got {two}: workload[0] has queue pairs between both groups, and both ends of \
             a queue pair need the same value"
        )
    };
    let mtu = with_group("{ mtu = '500B' }");
    assert_eq!(
        refusal(&mtu, &[]),
        ("host.group[0].roce.mtu".to_owned(), expected("mtu = \"1KB\"", "\"500B\""))
    );
    assert_eq!(
        refusal(
            &with_group("{ recovery = 'selective-repeat' }"),
            &[("workload.0.senders", "2"), ("workload.0.receivers", "1")]
        ),
        (
            "host.group[0].roce.recovery".to_owned(),
            expected("recovery = \"go-back-n\"", "\"selective-repeat\"")
        )
    );
    // Groups without a queue pair between them may differ.
    for hosts in ["0..2", "2..4"] {
        let sets = [("workload.0.senders", hosts), ("workload.0.receivers", hosts)];
        parse(&mtu, &sets).unwrap_or_else(|error| panic!("{error}"));
    }
    // A query can have queue pairs between all groups.
    let (network, _) = mtu.split_once("[[workload]]").expect("a workload");
    let query = "[[host.group]]\nname = 'new'\nmembers = '2..4'\nroce = { mtu = '500B' }\n\
                 [[workload]]\nkind = 'partition-aggregate'\ntransport = 'roce'\nclients = 0\nworkers = 1\nsize = '1KB'\n\
                 arrivals = { kind = 'poisson', mean = '10ms' }\nqueries = 4\n";
    let (key, message) = refusal(&format!("{network}{query}"), &[]);
    assert_eq!(key, "host.group[0].roce.mtu", "{message}");
}

#[test]
fn all_groups_have_the_same_operation() {
    assert_eq!(
        refusal(&with_group("{ operation = 'send' }"), &[]),
        (
            "host.group[0].roce.operation".to_owned(),
            "must be \"write\", as for hosts in no group, got \"send\": both ends of a queue pair have the same operation; set \
             roce.operation, or operation in the table roce of a workload"
                .to_owned()
        )
    );
}

#[test]
fn rare_notifications_of_another_group_are_refused() {
    let sets = [("roce.congestion", "dcqcn")];
    let (key, message) = refusal(&with_group("{ congestion = 'none', cnp = { interval = '60us' } }"), &sets);
    assert_eq!(key, "host.group[0].roce.cnp.interval");
    assert_eq!(
        message,
        "must be shorter than alpha_period of group \"default\" (roce.congestion.alpha_period = 55us), got 60us: otherwise alpha \
         would decrease although CNPs arrive"
    );
    // The data of READs comes from the other end.
    let read =
        [("roce.operation", "read"), ("roce.cnp.interval", "60us"), ("roce.congestion", "dcqcn-connectx")];
    let (key, message) = refusal(&with_group("{ congestion = 'dcqcn', cnp = { interval = '50us' } }"), &read);
    assert_eq!(key, "roce.cnp.interval");
    assert!(
        message.contains("\"new\" (host.group[0].roce.congestion.alpha_period = 55us), got 60us"),
        "{message}"
    );
}

#[test]
fn both_directions_between_the_groups_of_a_query_are_checked() {
    let query = |roce: &str| {
        let text = with_group(roce);
        let (network, workload) = text.split_once("[[workload]]").expect("a workload");
        let (_, group) = workload.split_once("[[host.group]]").expect("a group");
        format!(
            "{network}[[host.group]]{group}[[workload]]\nkind = 'partition-aggregate'\ntransport = 'roce'\nclients = 0\nworkers = 1\n\
             size = '1KB'\narrivals = {{ kind = 'poisson', mean = '10ms' }}\nqueries = 4\n"
        )
    };
    // Only DCQCN as published has this check, and an interval of its α period is too long. Its default α period is 55 µs.
    let to_group = query("{ congestion = 'none', cnp = { interval = '55us' } }");
    let (key, message) = refusal(&to_group, &[("roce.congestion", "dcqcn")]);
    assert_eq!(key, "host.group[0].roce.cnp.interval", "{message}");
    let from_group = query("{ congestion = 'dcqcn', cnp = { interval = '50us' } }");
    let sets = [("roce.cnp.interval", "55us"), ("roce.congestion", "dcqcn-connectx")];
    let (key, message) = refusal(&from_group, &sets);
    assert_eq!(key, "roce.cnp.interval", "{message}");
}

#[test]
fn problems_of_a_group_are_reported_at_its_table() {
    for (roce, key, words) in [
        ("{ retry_count = 9 }", "host.group[0].roce.retry_count", "must be at most 7, got 9"),
        ("{ retries = 9 }", "host.group[0].roce.retries", "unknown key"),
        (
            "{ cnp = { interval = '4us' } }",
            "host.group[0].roce.cnp",
            "must be left out, because no congestion control",
        ),
    ] {
        let (found, message) = refusal(&with_group(roce), &[]);
        assert_eq!(found, key, "{message}");
        assert!(message.contains(words), "{message}");
    }
    // The table [roce] is not used either.
    let error = parse(&with_group("{}"), &[("workload.0.transport", "tcp")]).expect_err("refused");
    let found: Vec<_> =
        error.problems.iter().map(|problem| (problem.key.as_str(), problem.message.as_str())).collect();
    let message = "must be left out, or a workload must have transport = \"roce\"";
    assert_eq!(found, [("roce", message), ("host.group[0].roce", message)]);
}

#[test]
fn a_resolved_scenario_has_all_settings_of_a_group_and_describes_the_same_queue_pairs() {
    let second = "[[workload]]\nkind = 'incast'\nsenders = 1\nreceivers = 3\nsize = '1MB'\ntransport = 'roce'\n\
                  roce = { retry_count = 4 }\n";
    let sets = [("roce.congestion", "dcqcn"), ("roce.cnp.interval", "20us")];
    for more in ["", second] {
        let text = with_group("{ congestion = 'hpcc' }") + more;
        let before = parse(&text, &sets).unwrap_or_else(|error| panic!("{error}"));
        let resolved = before.resolved();
        let after =
            parse(&toml::to_string(&resolved).expect("TOML"), &[]).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(after.resolved(), resolved);
        for ends in [[0, 0], [0, 1], [1, 0], [1, 1]] {
            for workload in 0..after.hosts.kinds().len() as u16 {
                assert_eq!(pairs(&after, workload, ends), pairs(&before, workload, ends));
            }
        }
        let group = &resolved["host"]["group"][0]["roce"];
        assert_eq!(group["congestion"]["base_rtt"].is_string(), more.is_empty(), "{group}");
        let key = "host.group[0].roce.congestion";
        assert!(before.notes.iter().any(|note| note.starts_with(key)), "{:?}", before.notes);
    }
}
