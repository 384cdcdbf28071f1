//! Random ports of every kind, with suitable markers.

use proptest::prelude::*;

pub(crate) fn one_of(choices: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    prop::sample::select(choices)
}

/// Configuration of a port, as keys of a table.
#[derive(Clone, Debug)]
pub(crate) struct Port {
    pub(crate) port: String,
    pub(crate) markers: String,
    pub(crate) shaper: Option<String>,
}

/// Markers that a port may have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allows {
    /// Whether the buffer of the port is a dynamic threshold, which `bcc` requires.
    pub(crate) bcc: bool,
}

/// Number of queues of a port, and whether they share the link.
#[derive(Clone, Copy, Debug)]
struct Queues {
    count: u8,
    share: bool,
}

/// Any port, its markers and possibly a shaper.
pub(crate) fn port(allows: Allows) -> impl Strategy<Value = Port> {
    let shaper = (one_of(&["500Mbps", "3Gbps"]), one_of(&["10KB", "30KB"]))
        .prop_map(|(rate, burst)| format!("{{ rate = '{rate}', burst = '{burst}' }}"));
    let shaper = prop::option::weighted(0.2, shaper);
    let queues = discipline().prop_flat_map(move |(port, queues)| {
        (Just(port), prop::collection::vec(marker(queues, allows), 0..4))
    });
    (queues, shaper).prop_map(|((port, markers), shaper)| Port {
        port,
        markers: format!("[{}]", markers.join(", ")),
        shaper,
    })
}

fn discipline() -> impl Strategy<Value = (String, Queues)> {
    let alone = |text: String| (text, Queues { count: 1, share: false });
    prop_oneof![
        3 => Just("'fifo'".to_owned()).prop_map(alone),
        6 => composed(),
        2 => hcf().prop_map(alone),
        1 => hashed_drr().prop_map(alone),
        1 => sfq().prop_map(alone),
    ]
}

fn composed() -> impl Strategy<Value = (String, Queues)> {
    let limits = (
        prop::option::weighted(0.3, one_of(&["6p", "60KB"])),
        prop::option::weighted(0.3, one_of(&["9p", "90KB"])),
        any::<bool>(),
    );
    let quantum = one_of(&["'1p'", "'3p'", "'400B'", "'20KB'"]);
    let kind = (0..4, quantum, any::<bool>(), one_of(&["gps", "self-clocked", "as-released"]));
    (kind, 1u8..5, 0u8..3, limits).prop_map(|((kind, quantum, odd, time), queues, strict, limits)| {
        let order = if odd { "cyclic" } else { "activation" };
        let weights: Vec<String> = (1..=queues).map(|weight| weight.to_string()).collect();
        let (own, strict, share) = match kind {
            0 => ("kind = 'strict-priority'".to_owned(), 0, false),
            1 => (format!("kind = 'wrr', quantum = {quantum}, order = '{order}'"), strict, true),
            2 => (format!("kind = 'dwrr', quantum = {quantum}"), strict, true),
            _ => (
                format!("kind = 'wfq', weight = [{}], virtual_time = '{time}'", weights.join(", ")),
                strict,
                true,
            ),
        };
        let mut text = format!("{own}, queues = {queues}");
        if strict > 0 {
            text += &format!(", strict = {strict}");
        }
        let (queue, port, reversed) = limits;
        queue.into_iter().for_each(|limit| text += &format!(", queue_limit = '{limit}'"));
        port.into_iter().for_each(|limit| text += &format!(", port_limit = '{limit}'"));
        let count = queues + strict;
        // Every class of the workloads.
        let of_class =
            |class: u8| if reversed { (count - 1).wrapping_sub(class) % count } else { class % count };
        let classes: Vec<String> = (0..6).map(|class| of_class(class).to_string()).collect();
        text += &format!(", classes = [{}]", classes.join(", "));
        (format!("{{ {text} }}"), Queues { count, share })
    })
}

fn hcf() -> impl Strategy<Value = String> {
    let division = one_of(&[
        "'equal'",
        "{ kind = 'unequal', high = 0.3 }",
        "{ kind = 'unequal', high = 0.6, sizes = 'stay' }",
        "'dynamic'",
        "'thirds'",
    ]);
    let limit = one_of(&["6p", "20p", "60KB", "300KB"]);
    let alternatives = (
        one_of(&["auto", "auto", "20us"]),
        one_of(&["drawn", "period-start"]),
        one_of(&["applied", "applied", "absent"]),
        one_of(&["when-empty", "when-empty", "never"]),
    );
    (division, limit, 1u32..20, one_of(&["1p", "3p", "4KB"]), 1u32..4, alternatives).prop_map(
        |(division, limit, bins, credits, hashes, (period, rekey, footnote, swap))| {
            format!(
                "{{ kind = 'hcf', limit = '{limit}', bins = {bins}, credits = '{credits}', hashes = {hashes}, \
                 division = {division}, period = '{period}', rekey = '{rekey}', footnote = '{footnote}', \
                 swap = '{swap}' }}"
            )
        },
    )
}

fn hash() -> impl Strategy<Value = &'static str> {
    one_of(&["five-tuple", "address-pair", "source-only", "address-sum"])
}

fn hashed_drr() -> impl Strategy<Value = String> {
    (1u32..20, one_of(&["250B", "9KB"]), one_of(&["5p", "25KB", "300KB"]), hash()).prop_map(
        |(buckets, quantum, limit, hash)| {
            format!(
                "{{ kind = 'hashed-drr', buckets = {buckets}, quantum = '{quantum}', limit = '{limit}', hash = '{hash}' }}"
            )
        },
    )
}

fn sfq() -> impl Strategy<Value = String> {
    let drop = one_of(&["steal-tail", "steal-head", "as-ns2"]);
    (1u32..20, 2u32..50, hash(), prop::option::of(one_of(&["50us", "5ms"])), drop).prop_map(
        |(buckets, packets, hash, perturbation, drop)| {
            // The hashes of ns-2 have no seed to perturb.
            let perturbation = perturbation.filter(|_| ["five-tuple", "address-pair"].contains(&hash));
            let perturbation = perturbation.map_or(String::new(), |time| format!(", perturbation = '{time}'"));
            format!(
                "{{ kind = 'sfq', buckets = {buckets}, max_packets = {packets}, hash = '{hash}', drop = '{drop}'{perturbation} }}"
            )
        },
    )
}

/// Markers that let a packet pass an idle port: none marks below two packets.
fn marker(queues: Queues, allows: Allows) -> BoxedStrategy<String> {
    let mut kinds =
        vec![curve(queues).boxed(), delay(queues).boxed(), growth().boxed(), classic(queues).boxed()];
    if queues.share {
        kinds.push(mq_ecn().boxed());
    }
    if allows.bcc {
        kinds.push(bcc().boxed());
    }
    prop::strategy::Union::new(kinds).prop_map(|keys| format!("{{ {keys} }}")).boxed()
}

fn point() -> impl Strategy<Value = &'static str> {
    one_of(&["enqueue", "dequeue"])
}

/// Queues that a marker observes.
fn looks_at(queues: Queues) -> impl Strategy<Value = String> {
    prop::option::weighted(0.2, 0..queues.count)
        .prop_map(|queue| queue.map_or(String::new(), |queue| format!(", queues = [{queue}]")))
}

fn curve(queues: Queues) -> impl Strategy<Value = String> {
    let kind = prop_oneof![
        (2u32..40).prop_map(|k| format!("kind = 'threshold', k = '{k}p', counts_packet = true")),
        (2u32..40).prop_map(|k| format!("kind = 'threshold', k = '{k}p', split = 'standard'")),
        // The smallest share of any port here is a tenth.
        (20u32..60).prop_map(|k| format!("kind = 'threshold', k = '{k}p', split = 'minimum'")),
        (2u32..10, 0u32..20, 1u32..=10, one_of(&["independent", "count"])).prop_map(
            |(kmin, more, tenths, spacing)| format!(
                "kind = 'red', kmin = '{kmin}p', kmax = '{}p', pmax = {}, spacing = '{spacing}'",
                kmin + more,
                f64::from(tenths) / 10.0
            )
        ),
    ];
    let gauge = (one_of(&["queue", "port", "pool"]), point(), one_of(&["bytes", "packets"]));
    let weight = prop::option::weighted(0.3, one_of(&["1.0", "0.25", "0.05"]));
    (kind, gauge, weight, looks_at(queues)).prop_map(|(kind, (scope, at, unit), weight, queues)| {
        let weight = weight.map_or(String::new(), |weight| format!(", weight = {weight}"));
        format!("{kind}, scope = '{scope}', at = '{at}', unit = '{unit}'{weight}{queues}")
    })
}

/// Delays of at least a few packet times. Below that, packets that are not ECN-capable may be dropped forever: retransmissions and
/// acknowledgements whose timers are synchronised wait for one another.
fn delay(queues: Queues) -> impl Strategy<Value = String> {
    let kind = prop_oneof![
        one_of(&["300us", "1ms"]).prop_map(|wait| format!("kind = 'tcn', threshold = '{wait}'")),
        (one_of(&["10us", "200us"]), one_of(&["drop", "mark"]), any::<bool>()).prop_map(
            |(target, action, both)| {
                let threshold = if both { ", ce_threshold = '50us'" } else { "" };
                format!(
                    "kind = 'codel', target = '{target}', interval = '500us', action = '{action}'{threshold}"
                )
            }
        ),
    ];
    (kind, looks_at(queues)).prop_map(|(kind, queues)| kind + &queues)
}

fn growth() -> impl Strategy<Value = String> {
    prop_oneof![
        (1u32..60, one_of(&["mean-of-ratios", "ratio-of-sums"]), one_of(&["after", "before"])).prop_map(
            |(samples, average, sampled)| format!(
                "kind = 'ein', high_water = '4p', samples = {samples}, average = '{average}', sampled = '{sampled}'"
            )
        ),
        (2u32..80, 2u32..20)
            .prop_map(|(samples, limit)| format!("kind = 'ein-as-released', samples = {samples}, limit = {limit}")),
    ]
}

fn classic(queues: Queues) -> impl Strategy<Value = String> {
    let thresholds = prop_oneof![
        Just(String::new()),
        (2u32..10, 0u32..20, one_of(&["0.05", "1.0"])).prop_map(|(kmin, more, weight)| format!(
            ", unit = 'packets', kmin = '{kmin}p', kmax = '{}p', weight = {weight}",
            kmin + more
        )),
    ];
    let rules = (
        one_of(&["paper", "ns-2"]),
        one_of(&["", ", action = 'mark'", ", action = 'drop'"]),
        one_of(&["", ", gentle = true", ", gentle = false"]),
        one_of(&["", ", forced = 'drop'", ", forced = 'as-below'"]),
        one_of(&["uniform", "counted", "wait", "geometric"]),
        one_of(&["queue", "port"]),
    );
    (thresholds, rules, looks_at(queues)).prop_map(
        |(thresholds, (variant, action, gentle, forced, spacing, scope), queues)| {
            format!(
                "kind = 'red-classic', variant = '{variant}', spacing = '{spacing}', scope = '{scope}'\
                 {thresholds}{action}{gentle}{forced}{queues}"
            )
        },
    )
}

fn mq_ecn() -> impl Strategy<Value = String> {
    let standard = one_of(&["k = '5p'", "k = '90KB'", "kmin = '4p', kmax = '20p', pmax = 0.5"]);
    (standard, point(), one_of(&["0.75", "0.0"]), one_of(&["link-free", "as-released"]), one_of(&["auto", "10us"]))
        .prop_map(|(standard, at, beta, since, idle)| {
            format!(
                "kind = 'mq-ecn', {standard}, at = '{at}', beta = {beta}, idle_since = '{since}', idle_time = '{idle}'"
            )
        })
}

fn bcc() -> impl Strategy<Value = String> {
    (2u32..6, 0u32..10, point(), one_of(&["independent", "count"])).prop_map(|(kmin, more, at, spacing)| {
        format!(
            "kind = 'bcc', kmin = '{kmin}p', kmax = '{}p', at = '{at}', spacing = '{spacing}'",
            kmin + more
        )
    })
}
