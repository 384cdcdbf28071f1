//! Groups of hosts: their members and their settings. A group inherits the settings that it does not set itself.

use serde::de::DeserializeOwned;
use shallows_core::{Bytes, Duration, Rate};
use shallows_transport::header_bytes;
use toml::{Table, Value};

use crate::check::Checker;
use crate::document::{Path, Step};
use crate::membership::{DEFAULT, Groups};
use crate::offloads::Offloads;
use crate::pattern;
use crate::quantity::{Backpressure, Jitter, PacketRate};
use crate::resolved::Resolved;
use crate::spec;
use crate::spec::preset::TcpTable;
use crate::{offloads, tagged, tcp};

/// Maximum number of groups; it is limited because parameters are computed for every pair of groups.
const MAX_GROUPS: usize = 64;

/// Settings of the hosts in a group, except for the `tcp` settings of their connections.
#[derive(Clone, Debug)]
pub struct HostGroup {
    /// Size of the largest IP packet that a host sends or receives.
    pub mtu: Bytes,
    /// Maximum random delay of each packet at its host; zero for no delay. Packets keep their order.
    pub jitter: Duration,
    /// Offloads of NICs.
    pub offloads: Offloads,
    /// Maximum amount of a connection's data that waits in the sending host (`tcp_limit_output_bytes`); `None` for no limit.
    pub backpressure: Option<Bytes>,
    /// Bytes that each waiting packet or burst takes from `backpressure` in addition to its data; `None` if a packet takes only its own
    /// size.
    pub buffer_overhead: Option<Bytes>,
    /// Limits on the data that queue pairs send; `None` if there are none.
    pub send: Option<SendLimits>,
    /// Class of service of acknowledgements; `None` if an acknowledgement has the class of the data that it acknowledges.
    pub ack_class: Option<u8>,
}

/// Limits of a NIC on the data that its queue pairs send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendLimits {
    /// Shortest time between two packets; zero for no limit.
    pub packet_time: Duration,
    /// Rate at which the NIC reads the data of packets from memory; `None` for no limit.
    pub dma_rate: Option<Rate>,
    /// Time from the posting of a message until its first packet may leave.
    pub message_delay: Duration,
}

/// Hosts and racks from which groups choose their members.
pub(crate) struct Racked<'a> {
    pub(crate) hosts: u32,
    pub(crate) racks: u32,
    pub(crate) host_name: &'a dyn Fn(u32) -> String,
    pub(crate) rack_name: &'a dyn Fn(u32) -> &'a str,
    pub(crate) rack_of: &'a dyn Fn(u32) -> u32,
}

/// Returns the groups and their members, or `None` if a group is invalid.
pub(crate) fn members_of(
    groups: &[spec::Group],
    network: &Racked<'_>,
    checker: &mut Checker<'_>,
) -> Option<Groups> {
    let mut names = vec![DEFAULT.to_owned()];
    let mut of_host = vec![0; if groups.is_empty() { 0 } else { network.hosts as usize }];
    let before = checker.problems.len();
    checker.require(groups.len() <= MAX_GROUPS, "host.group", || {
        format!("must have at most {MAX_GROUPS} groups, got {}", groups.len())
    });
    for (index, group) in groups.iter().enumerate().take(MAX_GROUPS) {
        let key = format!("host.group[{index}]");
        check_name(&group.name, &names, &key, checker);
        names.push(group.name.clone());
        let at = if group.members.is_some() { "members" } else { "racks" };
        for host in members(group, network, &key, checker) {
            let place = &mut of_host[host as usize];
            checker.require(*place == 0, &format!("{key}.{at}"), || {
                let other = &names[usize::from(*place)];
                format!(
                    "host {host} is already in the group \"{other}\"; a host must be in at most one group"
                )
            });
            *place = index as u16 + 1;
        }
    }
    (checker.problems.len() == before).then_some(Groups { names, of_host })
}

fn check_name(name: &str, known: &[String], key: &str, checker: &mut Checker<'_>) {
    let key = format!("{key}.name");
    let sound = if name == DEFAULT {
        Err(format!(
            "must not be \"{DEFAULT}\", the name of the group of all remaining hosts; use another name"
        ))
    } else if known.iter().any(|known| known == name) {
        Err(format!("each group must have a unique name, got \"{name}\" twice"))
    } else {
        pattern::check_name(name)
    };
    checker.accept(&key, sound);
}

/// Returns the hosts of a group in ascending order, each once.
fn members(group: &spec::Group, network: &Racked<'_>, key: &str, checker: &mut Checker<'_>) -> Vec<u32> {
    checker.require(group.members.is_some() || group.racks.is_some(), key, || {
        "must have members, such as \"0..8\", or racks, such as \"0..2\"".to_owned()
    });
    let named = group.members.as_ref().map(|set| set.members(network.hosts, network.host_name));
    let named = named.and_then(|found| checker.accept(&format!("{key}.members"), found));
    let racks = group.racks.as_ref().map(|set| set.resolve(network.racks, network.rack_name));
    let racks = racks.and_then(|found| checker.accept(&format!("{key}.racks"), found)).unwrap_or_default();
    let mut members = named.unwrap_or_default();
    members.extend((0..network.hosts).filter(|&host| racks.binary_search(&(network.rack_of)(host)).is_ok()));
    members.sort_unstable();
    members.dedup();
    members
}

/// Returns the groups with all settings of `tcp` and `nic` filled in. A setting that a group omits is inherited from `tables`, the tables
/// of the scenario. `roce` tables are only parsed, because their defaults are filled in later.
pub(crate) fn inherit(groups: &[spec::Group], tables: &Table) -> Result<Vec<spec::Group>, (Path, String)> {
    let nic_of_all = tables.get("host").and_then(|host| host.get("nic")).and_then(Value::as_table);
    let inherit = |(index, group): (usize, &spec::Group)| {
        let tcp: Result<TcpTable, _> = tagged::read(Value::Table(inherited("tcp", tables, index + 1)));
        let tcp = tcp.map_err(|error| at(&place(index, "tcp"), error))?;
        if group.roce.is_some() {
            roce_of(tables, index + 1)?;
        }
        let own = own(tables, index, "nic").unwrap_or_default();
        let nic = over(nic_of_all.cloned().unwrap_or_default(), &own);
        let nic = nic.map_err(|error| at(&place(index, "nic"), error))?;
        Ok(spec::Group { tcp: Some(tcp.into()), nic: Some(nic), ..group.clone() })
    };
    groups.iter().enumerate().map(inherit).collect()
}

/// Returns the settings of queue pairs of the group with this number, including inherited settings.
pub(crate) fn roce_of(tables: &Table, group: usize) -> Result<spec::Roce, (Path, String)> {
    let roce = tagged::read(Value::Table(inherited("roce", tables, group)));
    let place =
        group.checked_sub(1).map_or_else(|| vec![step("roce")], |index| place(index, "roce").to_vec());
    roce.map_err(|error| at(&place, error))
}

/// Returns the table `key` (`tcp` or `roce`) of the group with this number, including the settings that are inherited from the scenario's
/// table of this name. Group 0 consists of the hosts that are in no other group.
pub(crate) fn inherited(key: &str, tables: &Table, group: usize) -> Table {
    let all = tables.get(key).and_then(Value::as_table).cloned().unwrap_or_default();
    match group.checked_sub(1).and_then(|index| own(tables, index, key)) {
        Some(own) => merged(all, &own),
        None => all,
    }
}

/// Returns the table `key` of the group with this index as the scenario writes it, without inherited settings.
fn own(tables: &Table, index: usize, key: &str) -> Option<Table> {
    tables.get("host")?.get("group")?.get(index)?.get(key)?.as_table().cloned()
}

/// Returns a note on the settings that a preset has set, for each group whose `tcp` table has a preset.
pub(crate) fn preset_notes(groups: &[spec::Group]) -> Vec<String> {
    let note = |group: &spec::Group| {
        let note = group.tcp.as_ref()?.preset_note.as_ref()?;
        Some(format!("group {}: {note}", group.name))
    };
    groups.iter().filter_map(note).collect()
}

/// Deserialises the table `own` together with the settings that it inherits from `base`.
pub(crate) fn over<T: DeserializeOwned>(base: Table, own: &Table) -> Result<T, (Path, String)> {
    tagged::read(Value::Table(merged(base, own)))
}

/// Merges two tables, where `own` takes precedence. If `own` has a preset, `own` is complete and inherits nothing.
fn merged(base: Table, own: &Table) -> Table {
    match merge(&Value::Table(base), &Value::Table(own.clone())) {
        Value::Table(merged) if !own.contains_key("preset") => merged,
        _ => own.clone(),
    }
}

fn place(index: usize, key: &str) -> [Step; 4] {
    [step("host"), step("group"), Step::Index(index), step(key)]
}

fn step(key: &str) -> Step {
    Step::Key(key.to_owned())
}

/// Prefixes the path of an error with `place`, the path of the table that contains the error.
pub(crate) fn at(place: &[Step], (below, message): (Path, String)) -> (Path, String) {
    (place.iter().cloned().chain(below).collect(), message)
}

/// Merges two values, where `own` takes precedence. A table with a `kind` describes one model, so `own` replaces it as a whole.
fn merge(base: &Value, own: &Value) -> Value {
    let (Value::Table(base), Value::Table(own)) = (base, own) else { return own.clone() };
    if base.contains_key("kind") || own.contains_key("kind") {
        return Value::Table(own.clone());
    }
    let mut merged = base.clone();
    for (key, value) in own {
        let value = base.get(key).map_or_else(|| value.clone(), |base| merge(base, value));
        merged.insert(key.clone(), value);
    }
    Value::Table(merged)
}

/// Returns the settings of each group. Group 0, which has the hosts that are in no other group, comes first. Problems are recorded in
/// `checker`.
pub(crate) fn build(spec: &Resolved, checker: &mut Checker<'_>) -> Vec<HostGroup> {
    let common = spec.topology.common();
    let (rate, mtu, framing) = (common.rate, common.mtu, common.framing);
    let group = |nic: &spec::Nic, tcp: &spec::Tcp, mtu: Bytes, jitter: Jitter, checker: &mut Checker<'_>| {
        let mss = mtu.saturating_sub(header_bytes(tcp.timestamps));
        HostGroup {
            mtu,
            jitter: jitter.time(rate, mtu + framing),
            offloads: offloads::build(nic, mss, mtu + framing, checker),
            backpressure: bound(nic),
            buffer_overhead: nic.buffer_overhead.map(|size| size.0),
            send: nic.send.as_ref().map(send_limits),
            ack_class: tcp.ack_class,
        }
    };
    let mut groups = vec![group(&spec.host.nic, &spec.tcp, mtu, spec.host.jitter, checker)];
    for (index, own) in spec.host.group.iter().enumerate() {
        let own_mtu = own.mtu.map_or(mtu, |mtu| mtu.0);
        checker.require(own_mtu <= mtu, &format!("host.group[{index}].mtu"), || {
            format!("must be at most topology.mtu = {mtu}, the maximum packet size of links, got {own_mtu}; use a \
                     smaller MTU for the group, or a larger topology.mtu")
        });
        let (nic, _) = spec.host.nic_of(index + 1);
        let tcp = own.tcp.as_ref().unwrap_or(&spec.tcp);
        let jitter = own.jitter.unwrap_or(spec.host.jitter);
        groups.push(checker.instead("host.nic", &format!("host.group[{index}].nic"), |checker| {
            group(nic, tcp, own_mtu, jitter, checker)
        }));
    }
    groups
}

fn send_limits(send: &spec::NicSend) -> SendLimits {
    SendLimits {
        packet_time: send.packet_rate.map_or(Duration::ZERO, PacketRate::time_of_packet),
        dma_rate: send.dma_rate.map(|rate| rate.0),
        message_delay: send.message_delay.0,
    }
}

fn bound(nic: &spec::Nic) -> Option<Bytes> {
    match nic.backpressure {
        Backpressure::Off => None,
        Backpressure::Upto(limit) => Some(limit),
    }
}

/// Rejects a group's MTU that leaves no room for data in a packet. Returns whether every group's MTU is valid.
pub(crate) fn check_mtu(spec: &Resolved, checker: &mut Checker<'_>) -> bool {
    let before = checker.problems.len();
    for (index, group) in spec.host.group.iter().enumerate() {
        let (Some(mtu), Some(tcp)) = (&group.mtu, &group.tcp) else { continue };
        tcp::check_mtu(mtu.0, tcp, &format!("host.group[{index}].mtu"), checker);
    }
    checker.problems.len() == before
}
