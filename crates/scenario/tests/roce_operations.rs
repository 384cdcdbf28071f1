//! Operations of queue pairs in scenarios, and `roce` tables of workloads.

use shallows_core::Duration;
use shallows_core::rdma::RnrTimer;
use shallows_rdma::congestion::Config as Control;
use shallows_rdma::{Operation, ReceiveQueue, Recovery, Send};
use shallows_scenario::{Experiment, QueuePairs};

use crate::common::{parse, refusal};
use crate::roce::SCENARIO;

fn experiment(sets: &[(&str, &str)]) -> Experiment {
    parse(SCENARIO, sets).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the scenario with a second workload that has these further keys.
fn with_second(keys: &str) -> String {
    format!("{SCENARIO}\n[[workload]]\nkind = 'incast'\nsenders = 1\nreceivers = 3\nsize = '1MB'\n{keys}\n")
}

/// Returns an experiment whose second workload has this `roce` table.
fn experiment_with_own(roce: &str, sets: &[(&str, &str)]) -> Experiment {
    let text = with_second(&format!("transport = 'roce'\nroce = {roce}"));
    parse(&text, sets).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the queue pairs of a workload.
fn pairs(experiment: &Experiment, workload: u16) -> QueuePairs {
    experiment.hosts.agreement_of(workload, 0, 0).queue_pairs.clone().expect("queue pairs")
}

fn operation(given: &str) -> Operation {
    pairs(&experiment(&[("roce.operation", given)]), 0).config.operation
}

#[test]
fn a_message_is_a_write_unless_the_scenario_names_another_operation() {
    assert_eq!(pairs(&experiment(&[]), 0).config.operation, Operation::Write);
    assert_eq!(operation("write"), Operation::Write);
    // `ibv_qp_attr.rnr_retry` 7 is no limit.
    assert_eq!(operation("send"), Operation::Send(Send { receive: None, rnr_retry: None }));
    let rnr_timer = RnrTimer::of(Duration::from_micros(640)).expect("640 µs has a code");
    let receive = Some(ReceiveQueue { depth: 4, refill: Duration::ZERO, rnr_timer });
    let send = Operation::Send(Send { receive, rnr_retry: None });
    assert_eq!(operation("{ kind = 'send', receive_depth = 4 }"), send);
    let rnr_timer = RnrTimer::of(Duration::from_micros(10)).expect("10 µs has a code");
    let receive = Some(ReceiveQueue { depth: 1, refill: Duration::from_micros(3), rnr_timer });
    let send = Operation::Send(Send { receive, rnr_retry: Some(6) });
    let given = "{ kind = 'send', receive_depth = 1, refill = '3us', rnr_timer = '10us', rnr_retry = 6 }";
    assert_eq!(operation(given), send);
}

#[test]
fn bad_values_of_sends_are_refused_with_key_range_and_value() {
    let times = "10us, 20us, 30us, 40us, 60us, 80us, 120us, 160us, 240us, 320us, 480us, 640us, 960us, 1.28ms, 1.92ms, \
                 2.56ms, 3.84ms, 5.12ms, 7.68ms, 10.24ms, 15.36ms, 20.48ms, 30.72ms, 40.96ms, 61.44ms, 81.92ms, \
                 122.88ms, 163.84ms, 245.76ms, 327.68ms, 491.52ms, 655.36ms";
    let cases = [
        ("receive_depth = 0", "receive_depth", "must be at least 1, got 0".to_owned()),
        ("rnr_retry = 8", "rnr_retry", "must be at most 7, got 8".to_owned()),
        (
            "rnr_timer = '50us'",
            "rnr_timer",
            format!("must be one of the times of InfiniBand, {times}; got 50us"),
        ),
    ];
    for (given, key, message) in cases {
        let set = format!("{{ kind = 'send', {given} }}");
        let expected = (format!("roce.operation.{key}"), message);
        assert_eq!(refusal(SCENARIO, &[("roce.operation", &set)]), expected);
    }
    for recovery in ["selective-repeat", "{ kind = 'irn', window = 40 }"] {
        let (key, message) = refusal(
            SCENARIO,
            &[("roce.operation", "{ kind = 'send', receive_depth = 8 }"), ("roce.recovery", recovery)],
        );
        assert_eq!(key, "roce.operation.receive_depth");
        assert!(message.starts_with("must be left out, or roce.recovery must be \"go-back-n\""), "{message}");
    }
    let sets = [
        ("roce.operation", "{ kind = 'send', receive_depth = 8 }"),
        ("roce.recovery", "{ kind = 'go-back-n', reordering = 1 }"),
    ];
    let (key, message) = refusal(SCENARIO, &sets);
    assert_eq!(key, "roce.recovery.reordering");
    assert!(message.starts_with("must be 0 with roce.operation.receive_depth"), "{message}");
}

#[test]
fn services_and_operations_that_are_not_modelled_are_refused_by_name() {
    let expected = "expected one of \"write\", \"send\", \"read\"";
    for (name, remedy) in [
        ("atomic", "atomics are not modelled: use another operation, with messages of 8 bytes"),
        ("compare-and-swap", "atomics are not modelled: use another operation, with messages of 8 bytes"),
        (
            "ud",
            "unreliable datagrams are not modelled, only reliable connections: use transport = \"roce\" with \
             roce.operation = \"send\", or a workload of kind \"udp\"",
        ),
    ] {
        let (key, message) = refusal(SCENARIO, &[("roce.operation", name)]);
        assert_eq!(key, "roce.operation");
        assert!(
            message.starts_with(&format!("\"{name}\" is not allowed here ({remedy}); {expected}")),
            "{message}"
        );
    }
    let (key, message) = refusal(SCENARIO, &[("workload.0.transport", "roce-ud")]);
    assert_eq!(key, "workload[0].transport");
    assert!(message.starts_with("\"roce-ud\" is not allowed here (unreliable datagrams"), "{message}");
    assert!(message.ends_with("expected one of \"tcp\", \"roce\""), "{message}");
}

#[test]
fn a_roce_table_of_a_workload_takes_precedence() {
    let of_all =
        [("roce.recovery", "selective-repeat"), ("roce.congestion", "{ kind = 'dcqcn', gain = 0.5 }")];
    let own = "{ operation = 'send', congestion = 'hpcc', mtu = '500B' }";
    let experiment = experiment_with_own(own, &of_all);
    let (first, second) = (pairs(&experiment, 0), pairs(&experiment, 1));
    assert_eq!((first.config.operation, first.config.mtu.0), (Operation::Write, 1_000));
    assert!(matches!(first.config.congestion, Control::Dcqcn(_)));
    assert!(matches!(second.config.operation, Operation::Send(_)));
    assert!(matches!(second.config.congestion, Control::Hpcc(_)));
    // Other settings are inherited. HPCC's telemetry adds 42 bytes.
    assert_eq!((second.config.recovery, second.config.mtu.0), (Recovery::SelectiveRepeat, 500));
    assert_eq!(second.header_bytes.0, first.header_bytes.0 + 42);
    assert!(experiment.uses_telemetry() && experiment.controls_queue_pairs());
}

#[test]
fn a_resolved_roce_table_of_a_workload_describes_the_same_queue_pairs() {
    let of_all = [("roce.operation", "send"), ("roce.congestion", "dcqcn")];
    let before = experiment_with_own("{ operation = 'write', congestion = 'swift' }", &of_all);
    let text = toml::to_string(&before.resolved()).expect("TOML");
    let after = parse(&text, &[]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(after.resolved(), before.resolved());
    for workload in [0, 1] {
        assert_eq!(pairs(&after, workload), pairs(&before, workload));
    }
}

#[test]
fn a_resolved_roce_table_of_a_workload_has_all_values() {
    let resolved = experiment_with_own("{ congestion = 'swift' }", &[]).resolved();
    let own = &resolved["workload"][1]["roce"];
    assert_eq!((own["operation"]["kind"].as_str(), own["mtu"].as_str()), (Some("write"), Some("1KB")));
    assert_eq!(own["congestion"]["base_target"], "20us");
    assert_eq!(own["cnp"]["interval"], "50us");
}

#[test]
fn workloads_with_equal_roce_tables_share_their_parameters() {
    let experiment = experiment_with_own("{ mtu = '1000B' }", &[]);
    assert_eq!(experiment.hosts.kinds()[0], experiment.hosts.kinds()[1]);
}

#[test]
fn problems_of_a_roce_table_of_a_workload_are_reported_there() {
    assert_eq!(
        refusal(&with_second("transport = 'roce'\nroce = { retry_count = 9 }"), &[]),
        ("workload[1].roce.retry_count".to_owned(), "must be at most 7, got 9".to_owned())
    );
    let tcp = with_second("transport = 'roce'\ntcp = { initial_window = 2 }");
    assert_eq!(
        refusal(&tcp, &[]),
        (
            "workload[1].tcp".to_owned(),
            "must be left out, because transport = \"roce\" has the settings of [roce] and workload.roce"
                .to_owned()
        )
    );
    let (key, message) = refusal(&with_second("transport = 'roce'\nroce = { retries = 9 }"), &[]);
    assert_eq!(key, "workload[1].roce.retries");
    assert!(message.starts_with("unknown key"), "{message}");
    assert_eq!(
        refusal(&with_second("roce = { mtu = '500B' }"), &[]),
        (
            "workload[1].roce".to_owned(),
            "must be left out, or the workload must have transport = \"roce\"".to_owned()
        )
    );
}

#[test]
fn a_queue_pair_carries_no_answers_to_its_messages() {
    let query = "[[workload]]\nkind = 'partition-aggregate'\ntransport = 'roce'\nclients = 0\nworkers = 1\nsize = '1KB'\n\
                 arrivals = { kind = 'poisson', mean = '10ms' }\nqueries = 4\n";
    parse(&format!("{SCENARIO}{query}"), &[]).unwrap_or_else(|error| panic!("{error}"));
    let (key, message) = refusal(&format!("{SCENARIO}{query}"), &[("workload.1.answers", "same-connection")]);
    assert_eq!(key, "workload[1].answers");
    assert_eq!(
        message,
        "must be \"own-connection\", because a queue pair carries the messages of one host only"
    );
}
