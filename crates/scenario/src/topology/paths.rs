//! How switches choose among equal-cost next hops: `switch.ecmp`.

use shallows_core::random::Stream;
use shallows_switch::routing::{Ecmp, Ns2, Numbered};

use super::network::{FIRST_PORT, Network};
use super::routing;
use crate::check::Checker;
use crate::spec::{self, Spec};

/// More connections than BCC's script numbers thirty times over; bounds the memory of a slip of the pen.
const MAX_NUMBERS: u64 = 1 << 20;

/// How each switch chooses, unless the scenario lacks what that needs.
pub(super) fn ecmp(
    spec: &Spec,
    seed: u64,
    network: &Network,
    checker: &mut Checker<'_>,
) -> Option<Vec<Ecmp>> {
    let hosts = network.hosts;
    let switches = 0..network.switches;
    let drawn = |number: u32| Stream::new(seed, "ecmp", u64::from(number)).next_u64();
    Some(match spec.switch.ecmp {
        spec::Ecmp::FiveTuple => switches.map(|switch| Ecmp::FiveTuple { seed: drawn(switch) }).collect(),
        spec::Ecmp::Symmetric => {
            routing::tiers(network).into_iter().map(|tier| Ecmp::Symmetric { seed: drawn(tier) }).collect()
        }
        spec::Ecmp::Ns2 => switches
            .map(|switch| Ecmp::Ns2(Ns2 { node: hosts + switch, hosts, first_port: FIRST_PORT }))
            .collect(),
        spec::Ecmp::Ns2Bcc => {
            let numbered = Ecmp::Numbered(numbered(spec, hosts, checker)?);
            switches.map(|_| numbered.clone()).collect()
        }
    })
}

/// The numbers of the connections that are open from the start, of which there are as many for each pair.
fn numbered(spec: &Spec, hosts: u32, checker: &mut Checker<'_>) -> Option<Numbered> {
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
            "\"ns-2-bcc\" numbers the connections that are open from the start: give a poisson workload connections of \
             kind \"persistent\", or take \"symmetric\""
                .to_owned()
        }),
    )?;
    let count = u64::from(hosts) * u64::from(hosts) * u64::from(per_pair);
    let fits = checker.require(count <= MAX_NUMBERS, "switch.ecmp", || {
        format!(
            "{per_pair} connections for each pair of {hosts} hosts are too many to number: take \"symmetric\""
        )
    });
    let numbers = fits.then(|| Numbered::draw(hosts, per_pair))?;
    Some(Numbered { numbers, hosts, per_pair, first_port: FIRST_PORT })
}
