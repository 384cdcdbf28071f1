//! The key `preset` of `[switch.lossless]`, which sets several keys at once.

use serde::{Deserialize, Deserializer};
use toml::Table;

use super::lossless::Lossless;
use super::preset;
use crate::tagged;

/// Keys that `hpcc-repo` sets, with their sources in HPCC's repository (alibaba-edu/High-Precision-Congestion-Control). α depends on the rate
/// of a link, so it is not in this table.
const HPCC_REPO: &str = r#"
reserved = "4KiB"         # switch-mmu.cc: reserve
xon_offset = "3KiB"       # switch-mmu.cc: resume_offset
headroom = "hpcc-repo"    # third.cc: ConfigHdrm
compares = "hpcc-repo"    # switch-mmu.cc: CheckIngressAdmission; switch-node.cc: CheckAndSendPfc, CheckAndSendResume
response = "0s"           # qbb-net-device.cc: a pause has effect when it arrives
"#;

/// Keys that `ns3-datacenter` sets, with their sources in inet-tub/ns3-datacenter.
const NS3_DATACENTER: &str = r#"
alpha = 0.125                # powertcp-evaluation-burst.cc: SetAlphaIngress
xon = "1247B"                # switch-mmu.cc: xon; a group with less than 1248 bytes is resumed
xon_offset = "2496B"         # switch-mmu.cc: xon_offset
headroom = "hpcc-repo"       # powertcp-evaluation-burst.cc: SetHeadroom
compares = "ns3-datacenter"  # switch-mmu.cc: UpdateIngressAdmission, CheckShouldPause, CheckShouldResume
response = "0s"              # qbb-net-device.cc: a pause has effect when it arrives
"#;

/// Reads `[switch.lossless]`: the given keys, and for all other keys the values that the preset sets.
pub(super) fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Lossless>, D::Error> {
    let given = Table::deserialize(deserializer)?;
    let keys = match given.get("preset").and_then(toml::Value::as_str) {
        Some("hpcc-repo") => HPCC_REPO,
        Some("ns3-datacenter") => NS3_DATACENTER,
        _ => return tagged::contents(given).map(Some),
    };
    let mut set: Table = toml::from_str(keys).expect("the preset is TOML");
    if given.contains_key("limit") {
        set.remove("alpha");
    }
    let mut keys = Vec::new();
    preset::list(&set, Some(&given), "", &mut keys);
    let mut lossless: Lossless = tagged::contents(set.into_iter().chain(given).collect())?;
    lossless.preset_keys = keys;
    Ok(Some(lossless))
}
