//! Fills in every default of a scenario before anything is checked.

use std::path::Path as FilePath;

use toml::Table;

use crate::document::Path;
use crate::groups;
use crate::resolved::Resolved;
use crate::spec::{self, Host, Spec};
use crate::{roce, tcp};

/// Returns `spec` with all defaults filled in: values that depend on other keys, and the settings that groups inherit from `tables`, the
/// tables of the scenario. `file` gives the scenario its default name. `seed` replaces the scenario's own seed.
///
/// # Errors
///
/// Returns a path and a message if a group is invalid after it has inherited settings.
pub(crate) fn resolve(
    spec: &Spec,
    tables: &Table,
    file: &str,
    seed: Option<u64>,
) -> Result<Resolved, (Path, String)> {
    let inherited = groups::inherit(&spec.host.group, tables)?;
    let mtu = spec.topology.common().mtu;
    let alike = inherited.is_empty();
    let name = || {
        let stem = FilePath::new(file).file_stem();
        stem.map_or_else(|| "scenario".to_owned(), |stem| stem.to_string_lossy().into_owned())
    };
    let resolved = Spec {
        name: Some(spec.name.clone().unwrap_or_else(name)),
        seed: seed.unwrap_or(spec.seed),
        topology: spec.topology.resolved(),
        tcp: tcp::spelled_out(&spec.tcp, mtu, alike),
        host: host(spec, &inherited),
        ..spec.clone()
    };
    let is_used = spec.roce.is_some() || resolved.sends_on_queue_pairs();
    let roce = is_used.then(|| {
        let given = spec.roce.clone().unwrap_or_default();
        roce::spelled_out(&given, roce::smallest_mtu(&resolved))
    });
    Ok(Resolved::new(Spec { roce, ..resolved }))
}

fn host(spec: &Spec, inherited: &[spec::Group]) -> Host {
    let common = spec.topology.common();
    let all = &spec.host;
    let group = inherited.iter().map(|group| {
        let mtu = group.mtu.map_or(common.mtu, |mtu| mtu.0);
        let jitter = group.jitter.unwrap_or(all.jitter);
        spec::Group {
            tcp: group.tcp.as_ref().map(|tcp| tcp::spelled_out(tcp, common.mtu, false)),
            nic: Some(group.nic.clone().unwrap_or_default().spelled_out()),
            mtu: Some(crate::quantity::PacketSize(mtu)),
            jitter: Some(jitter.spelled_out(common.rate, mtu + common.framing)),
            ..group.clone()
        }
    });
    Host {
        nic: all.nic.clone().spelled_out(),
        jitter: all.jitter.spelled_out(common.rate, common.mtu + common.framing),
        group: group.collect(),
    }
}
