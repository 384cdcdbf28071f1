//! Description of a `[topology]` as plain data, for programs that draw or convert it.

use serde_json::{Value, json};
use shallows_core::Duration;

use super::build::{links, planned};
use super::network::NodeId;
use super::routing::Graph;
use crate::check::Checker;
use crate::document::Document;
use crate::error::ScenarioError;
use crate::spec::Topology;
use crate::tagged;

/// Returns the network that `topology` describes, as JSON. `topology` is the table of that name in a resolved scenario. The keys are:
///
/// - `hosts` and `switches`: names. Nodes are numbered in this order, hosts first.
/// - `tiers`: for each switch, the number of switches between it and its nearest host.
/// - `cables`: for each cable, the numbers of both ends, the rate in bit/s and the delay in ps.
/// - `ports`: for each port, its name and kind; the ports of hosts come first.
/// - `host_delay`: delay of a packet in the sending host, and again in the receiving host, in ps.
///
/// # Errors
///
/// Returns every problem of the topology.
pub fn describe(topology: &Value) -> Result<Value, ScenarioError> {
    let document = Document::parse("", "topology", &[]).map_err(|problems| ScenarioError { problems })?;
    let refused = |path: &[_], message| ScenarioError { problems: vec![document.problem(path, message)] };
    let value = toml::Value::try_from(topology).map_err(|error| refused(&[], error.to_string()))?;
    let topology: Topology = tagged::read(value).map_err(|(path, message)| refused(&path, message))?;
    let topology = topology.resolved();
    let mut checker = Checker::new(&document, &|_| unreachable!("a topology names no file"));
    let plan = planned(&topology, &mut checker).filter(|_| checker.problems.is_empty());
    let Some(plan) = plan else { return Err(ScenarioError { problems: checker.problems }) };
    let switches = plan.switch_names.len() as u32;
    let hosts: Vec<String> = (0..plan.hosts).map(|host| plan.name(NodeId(host))).collect();
    let links = links(&plan, |_| Duration::ZERO);
    let ports: Vec<Value> = links.iter().map(|link| json!([link.name, link.kind.name()])).collect();
    let cables: Vec<Value> =
        plan.cables.iter().map(|c| json!([c.ends[0].0, c.ends[1].0, c.rate.0, c.delay.0])).collect();
    Ok(json!({
        "hosts": hosts,
        "tiers": Graph::new(plan.hosts, switches, &links).tiers(),
        "switches": plan.switch_names,
        "cables": cables,
        "ports": ports,
        "host_delay": topology.common().host_delay.0,
    }))
}
