//! Random groups of hosts.

use proptest::prelude::*;

use super::ports::one_of;

/// No group of hosts, or one or two groups with random settings. The groups contain hosts 0 and 1, which every network of these tests has.
pub(crate) fn groups() -> impl Strategy<Value = String> {
    let some = (group("first", "0".to_owned()), prop::option::of(group("second", "1".to_owned())));
    let some = some.prop_map(|(first, second)| first + &second.unwrap_or_default());
    prop::option::weighted(0.4, some).prop_map(Option::unwrap_or_default)
}

/// Network that can be divided, with groups of hosts.
#[derive(Clone, Debug)]
pub(crate) struct Mixed {
    pub(crate) topology: String,
    pub(crate) groups: String,
}

/// Network with two or three groups. Each group has every fourth host, so that each switch of a larger network has hosts from every group
/// and hosts without a group.
pub(crate) fn mixed() -> impl Strategy<Value = Mixed> {
    let shape = prop_oneof![
        (2u32..5, 1u32..3, 2u32..6).prop_map(|(leaves, spines, hosts)| (
            format!("kind = 'leaf-spine'\nleaves = {leaves}\nspines = {spines}\nhosts_per_leaf = {hosts}"),
            leaves * hosts
        )),
        (2u32..6, 2u32..6).prop_map(|(left, right)| (
            format!("kind = 'dumbbell'\nleft = {left}\nright = {right}"),
            left + right
        )),
    ];
    let links = (one_of(&["1Gbps", "10Gbps"]), one_of(&["50ns", "1us", "20us"]), one_of(&["1500", "9000"]));
    let network = (shape, links, 2u32..4);
    network.prop_flat_map(|((shape, hosts), (rate, delay, mtu), count)| {
        let topology = format!("[topology]\n{shape}\nrate = '{rate}'\nlink_delay = '{delay}'\nmtu = {mtu}\n");
        let names = ["first", "second", "third"].into_iter().take(count as usize).zip(0..);
        let groups: Vec<_> =
            names.map(|(name, first)| group(name, format!("'{first}..{hosts} step 4'"))).collect();
        groups.prop_map(move |groups| Mixed { topology: topology.clone(), groups: groups.concat() })
    })
}

fn group(name: &'static str, members: String) -> impl Strategy<Value = String> {
    let tcp = one_of(&[
        "",
        "congestion = 'cubic', avoidance = 'byte-counting', ece_reaction = 'at-once'",
        "congestion = 'dctcp', timestamps = false",
        "congestion = 'ecn-star', ect = 'all', handshake = true",
        "recovery = 'newreno', prr = 'off', sack_after_timeout = 'kept', full_ack = 'limited', fin = true, frto = false, dsack = false",
        "recovery = 'rack', prr = 'crb', frto = true, dsack = true, full_ack = 'limited', sack_after_timeout = 'kept'",
        "congestion = 'pulser', receive_window = '40KB', handshake = false, initial_window = 2",
        "delayed_ack = { segments = 1 }, rto = { min = '1ms' }",
        "preset = 'linux-6', rto = { initial = '2ms', min = '500us', max = '20ms', granularity = '10us' }",
        "preset = 'linux-6', congestion = 'dctcp', rto = { initial = '2ms', min = '1ms', max = '20ms' }, timestamps = false",
        "preset = 'windows-2022', rto = { initial = '2ms', min = '1ms', max = '20ms' }",
    ]);
    let nic = one_of(&[
        "",
        "backpressure = 'off', limit = '30p', tso = 'off'",
        "backpressure = '20KB', tso = 'linux', limit = '1000p'",
        "coalescing = { time = '20us', packets = 3 }, pacing = 'fq'",
        "shaper = { rate = '500Mbps', burst = '20KB' }",
    ]);
    let rest = one_of(&["", "mtu = 600", "mtu = 577\njitter = '2us'", "delay = '9us'\njitter = 'off'"]);
    (tcp, nic, rest).prop_map(move |(tcp, nic, rest)| {
        format!(
            "[[host.group]]\nname = '{name}'\nmembers = {members}\ntcp = {{ {tcp} }}\nnic = {{ {nic} }}\n{rest}\n"
        )
    })
}
