//! Queue depths in scenarios, and limits of outstanding READs.

use shallows_rdma::{Operation, Read};
use shallows_scenario::{Connections, Experiment, WhenBusy};

use crate::common::{parse, refusal};
use crate::roce::SCENARIO;

const DEPTH: &str = "workload.0.connections.queue_depth";
const QUEUE: (&str, &str) = ("workload.0.connections", "{ kind = 'persistent', when_busy = 'queue' }");

fn experiment(sets: &[(&str, &str)]) -> Experiment {
    parse(SCENARIO, sets).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_queue_pair_has_one_outstanding_message_unless_the_scenario_allows_more() {
    let connections = |sets: &[(&str, &str)]| experiment(sets).connections[0];
    let expected = |queue_depth| Connections::Persistent {
        per_pair: 1,
        queue_depth,
        when_busy: WhenBusy::Queue,
        warm_up: None,
    };
    assert_eq!(connections(&[QUEUE]), expected(1));
    assert_eq!(connections(&[QUEUE, (DEPTH, "128")]), expected(128));
}

#[test]
fn a_resolved_scenario_names_a_queue_depth_only_if_it_is_not_the_default() {
    let resolved = |sets: &[(&str, &str)]| {
        experiment(sets).resolved()["workload"][0]["connections"].get("queue_depth").cloned()
    };
    assert_eq!(resolved(&[QUEUE]), None);
    assert_eq!(resolved(&[QUEUE, (DEPTH, "7")]), Some(7.into()));
}

#[test]
fn queue_depths_without_a_meaning_are_refused() {
    let place = "workload[0].connections.queue_depth";
    let (key, message) = refusal(SCENARIO, &[QUEUE, (DEPTH, "0")]);
    assert_eq!((key.as_str(), message.as_str()), (place, "must be at least 1, got 0"));
    let (key, message) =
        refusal(SCENARIO, &[QUEUE, (DEPTH, "4"), ("workload.0.connections.when_busy", "open-another")]);
    assert_eq!(key, place);
    let expected = "must be 1 (the default), or connections.when_busy must be \"queue\": with \"open-another\", no message \
                    waits for another one, got 4";
    assert_eq!(message, expected);
    let tcp = SCENARIO.replace("[roce]\nmtu = \"1000B\"\n", "").replace("transport = \"roce\"\n", "");
    let (key, message) = refusal(&tcp, &[QUEUE, (DEPTH, "4")]);
    assert_eq!(key, place);
    let expected = "must be 1 (the default), or the workload must have transport = \"roce\": a TCP connection carries one \
                    flow at a time, got 4";
    assert_eq!(message, expected);
    assert!(parse(&tcp, &[QUEUE, (DEPTH, "1")]).is_ok());
}

#[test]
fn outstanding_messages_of_different_classes_are_refused() {
    let place = "workload[0].connections.queue_depth";
    let random = ("workload.0.class", "{ kind = 'random', weights = [1.0, 2.0] }");
    let (key, message) = refusal(SCENARIO, &[QUEUE, (DEPTH, "4"), random]);
    assert_eq!(key, place);
    let expected = "must be 1 (the default), or workload[0].class must not be random: messages of a queue pair with different \
                    classes would overtake each other, got 4";
    assert_eq!(message, expected);
    // Rules by host give a queue pair one class.
    for rule in ["by-sender", "by-pair"] {
        let class = format!("{{ kind = '{rule}', classes = 4 }}");
        assert!(parse(SCENARIO, &[QUEUE, (DEPTH, "4"), ("workload.0.class", &class)]).is_ok(), "{rule}");
    }
    let list = |path| {
        format!(
            "{}kind = 'trace'\npath = '{path}'\ntransport = 'roce'\n",
            &SCENARIO[..SCENARIO.find("kind = \"incast\"").unwrap()]
        )
    };
    let (key, message) = refusal(&list("classes.csv"), &[QUEUE, (DEPTH, "4")]);
    assert_eq!(key, place);
    let expected = "must be 1 (the default), because classes.csv has a column \"class\": messages of a queue pair with \
                    different classes would overtake each other, got 4";
    assert_eq!(message, expected);
    assert!(parse(&list("classes.csv"), &[QUEUE]).is_ok());
    assert!(parse(&list("marked.csv"), &[QUEUE, (DEPTH, "4")]).is_ok());
}

#[test]
fn a_resolved_scenario_names_a_limit_of_reads_only_if_it_is_not_the_default() {
    for (given, expected) in [("16", None), ("17", Some(17.into()))] {
        let operation = format!("{{ kind = 'read', max_rd_atomic = {given} }}");
        let resolved = experiment(&[("roce.operation", &operation)]).resolved();
        assert_eq!(resolved["roce"]["operation"].get("max_rd_atomic").cloned(), expected, "{given}");
    }
}

#[test]
fn outstanding_reads_have_a_limit_of_eight_bits() {
    let outstanding = |given: &str| {
        let experiment = experiment(&[("roce.operation", given)]);
        let pairs = experiment.hosts.agreement_of(0, 0, 0).queue_pairs.clone().expect("queue pairs");
        pairs.config.operation
    };
    assert_eq!(outstanding("read"), Operation::Read(Read { outstanding: 16 }));
    assert_eq!(
        outstanding("{ kind = 'read', max_rd_atomic = 255 }"),
        Operation::Read(Read { outstanding: 255 })
    );
    for wrong in ["0", "256"] {
        let given = format!("{{ kind = 'read', max_rd_atomic = {wrong} }}");
        let (key, message) = refusal(SCENARIO, &[("roce.operation", &given)]);
        assert_eq!(
            (key.as_str(), message),
            ("roce.operation.max_rd_atomic", format!("must be from 1 to 255, got {wrong}"))
        );
    }
}
