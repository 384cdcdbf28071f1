//! Configuration of the choice among equal-cost next hops (`switch.ecmp`).

use shallows_core::random::Stream;
use shallows_switch::routing::Config;

use super::network::FIRST_PORT;
use super::routing::Graph;
use crate::check::Checker;
use crate::resolved::Resolved;
use crate::spec;

/// Maximum number of connections with `switch.ecmp = "ns-2-bcc"`: thirty times as many as in BCC's script. The maximum limits the memory
/// that a mistyped value uses.
const MAX_NUMBERS: u64 = 1 << 20;

/// Returns the configuration of `switch.ecmp`, or `None` if the scenario does not meet its requirements.
pub(super) fn ecmp(
    spec: &Resolved,
    seed: u64,
    hosts: u32,
    graph: &Graph,
    checker: &mut Checker<'_>,
) -> Option<Config> {
    let drawn = |number: u32| Stream::new(seed, "ecmp", u64::from(number)).next_u64();
    Some(match spec.switch.ecmp {
        spec::Ecmp::FiveTuple => Config::FiveTuple { seeds: (0..graph.switches()).map(drawn).collect() },
        spec::Ecmp::Symmetric => Config::Symmetric { seeds: graph.tiers().into_iter().map(drawn).collect() },
        spec::Ecmp::Ns2 => Config::Ns2 { hosts, first_port: FIRST_PORT },
        spec::Ecmp::Ns2Bcc => Config::Numbered {
            tiers: graph.tiers(),
            hosts,
            per_pair: per_pair(spec, hosts, checker)?,
            first_port: FIRST_PORT,
        },
    })
}

/// Returns how many persistent connections each host has to each other host. `"ns-2-bcc"` numbers these connections, so scenarios with none
/// or too many are rejected.
fn per_pair(spec: &Resolved, hosts: u32, checker: &mut Checker<'_>) -> Option<u32> {
    let pools = spec.workload.iter().find_map(|workload| match workload {
        spec::Workload::Poisson(poisson) => match &poisson.connections {
            spec::Connections::Persistent(pools) => Some(pools),
            spec::Connections::New(_) => None,
        },
        _ => None,
    });
    let per_pair = checker.accept(
        "switch.ecmp",
        pools.map(|pools| pools.per_pair).ok_or_else(|| {
            "must not be \"ns-2-bcc\" without a poisson workload that has connections of kind \"persistent\"; add \
             one, or use \"symmetric\""
                .to_owned()
        }),
    )?;
    let count = u64::from(hosts) * u64::from(hosts) * u64::from(per_pair);
    let fits = checker.require(count <= MAX_NUMBERS, "switch.ecmp", || {
        format!(
            "\"ns-2-bcc\" can number at most {MAX_NUMBERS} connections, got {per_pair} for each pair of {hosts} \
             hosts; use \"symmetric\""
        )
    });
    fits.then_some(per_pair)
}
