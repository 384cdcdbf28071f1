//! Hosts that pause their switch: checks and thresholds of receive buffers, PFC storms and watchdogs of NICs.

use shallows_core::packet::HostId;
use shallows_core::{Bytes, Duration, Instant};
use shallows_switch::pfc::{ReceiveConfig, WatchdogAction, WatchdogConfig};

use crate::check::Checker;
use crate::quantity::{Automatic, PacketRate, Size, Time};
use crate::resolved::Resolved;
use crate::spec;
use crate::topology::{Link, LosslessPort, Network, Storm};

/// Rejects NICs that pause their switch in a network without lossless classes.
pub(crate) fn require_lossless(spec: &Resolved, checker: &mut Checker<'_>) {
    for group in 0..=spec.host.group.len() {
        let (nic, key) = spec.host.nic_of(group);
        let keys = [
            ("receive", nic.receive.is_some()),
            ("pfc_storm", nic.pfc_storm.is_some()),
            ("watchdog", nic.watchdog.is_some()),
        ];
        for (name, is_set) in keys {
            checker.require(!is_set, &format!("{key}.{name}"), || {
                "must be left out, or switch.lossless must be given, because only lossless classes have pauses".to_owned()
            });
        }
    }
}

/// Rejects a PFC storm without an end if the run ends only when all flows have ended: a paused flow would never end.
pub(crate) fn check_ends(spec: &Resolved, checker: &mut Checker<'_>) {
    for group in 0..=spec.host.group.len() {
        let (nic, key) = spec.host.nic_of(group);
        let lasts = nic.pfc_storm.as_ref().is_some_and(|storm| storm.stop.is_none());
        let ends = spec.stop.at.is_some() || nic.watchdog.is_some();
        checker.require(!lasts || ends, &format!("{key}.pfc_storm.stop"), || {
            format!(
                "is missing, so the storm never ends and can stop flows for ever; without stop.at, the run waits for these flows; set \
                 {key}.pfc_storm.stop, {key}.watchdog or stop.at"
            )
        });
    }
}

/// Returns whether `link` leads to a host that can pause its switch.
pub(crate) fn may_pause(spec: &Resolved, network: &Network, link: &Link) -> bool {
    let pauses = |nic: &spec::Nic| nic.receive.is_some() || nic.pfc_storm.is_some();
    link.to.0 < network.hosts && pauses(spec.host.nic_of(network.groups.of(HostId(link.to.0))).0)
}

/// Adds the receive buffer, the PFC storm and the watchdog of `nic` to `port`. The table of `nic` has the key `key`. Returns `None` if one
/// of the three is invalid. After a pause, up to `headroom` bytes can arrive in packets of up to `packet` bytes. Problems are recorded in
/// `checker`.
pub(crate) fn build(
    port: &mut LosslessPort,
    (nic, key): (&spec::Nic, String),
    (headroom, packet): (Bytes, Bytes),
    lossless: &[u8],
    checker: &mut Checker<'_>,
) -> Option<()> {
    let is_silent = nic.receive.is_none() && nic.pfc_storm.is_none();
    checker.require(is_silent || nic.shaper.is_none(), &format!("{key}.shaper"), || {
        "must be left out, because a shaper delays the PFC frames of a receive buffer or a PFC storm"
            .to_owned()
    });
    if let Some(wanted) = &nic.receive {
        port.receive = Some(receive(wanted, (headroom, packet), &format!("{key}.receive"), checker)?);
        port.receive_needed = headroom;
    }
    if let Some(wanted) = &nic.pfc_storm {
        port.storm = Some(storm(wanted, lossless, &format!("{key}.pfc_storm"), checker)?);
    }
    // The watchdog ends only the pauses that the NIC sends, so the watchdog's action has no effect on the packets that the NIC sends.
    port.nic_watchdog = nic.watchdog.as_ref().map(|wanted| {
        let times = [wanted.detection, wanted.restoration, wanted.poll];
        watchdog(times, WatchdogAction::Forward, &format!("{key}.watchdog"), checker)
    });
    Some(())
}

/// Returns the configuration of the watchdog whose key is `key`. `times` are the detection time, the restoration time and the time between
/// polls. Problems are recorded in `checker`.
pub(crate) fn watchdog(
    times: [Time; 3],
    action: WatchdogAction,
    key: &str,
    checker: &mut Checker<'_>,
) -> WatchdogConfig {
    let [detection, restoration, poll] = times.map(|time| time.0);
    checker.require(poll > Duration::ZERO, &format!("{key}.poll"), || {
        format!("must be a time above zero, got {poll}")
    });
    for (name, time) in [("detection", detection), ("restoration", restoration)] {
        checker.require(time >= poll, &format!("{key}.{name}"), || {
            format!("must be at least the time between two polls, {poll}, got {time}")
        });
    }
    WatchdogConfig { detection, restoration, poll, action }
}

/// Returns the thresholds of a receive buffer whose key is `key`. After a pause, up to `headroom` bytes can arrive in packets of up to
/// `packet` bytes. Problems are recorded in `checker`.
fn receive(
    wanted: &spec::Receive,
    (headroom, packet): (Bytes, Bytes),
    key: &str,
    checker: &mut Checker<'_>,
) -> Option<ReceiveConfig> {
    let is_limited = checker.require(wanted.rate.is_some() || wanted.packet_rate.is_some(), key, || {
        "must have a rate, such as \"40Gbps\", or a packet_rate, such as \"20Mpps\"".to_owned()
    });
    let size = wanted.buffer.0;
    let xoff = match wanted.xoff {
        Automatic::Is(xoff) => xoff.0,
        Automatic::Auto => {
            let fits = checker.require(size >= headroom + packet, &format!("{key}.buffer"), || {
                format!(
                    "must hold one packet of {packet} and the {headroom} that can arrive after a pause: at least {}, got {size}",
                    headroom + packet
                )
            });
            fits.then(|| size.saturating_sub(headroom))?
        }
    };
    let is_between = checker.require(packet <= xoff && xoff < size, &format!("{key}.xoff"), || {
        format!("must be at least one packet of {packet} and less than the buffer of {size}, got {xoff}")
    });
    let xon = wanted.xon.or(Size(xoff.saturating_sub(packet))).0;
    let is_below = checker
        .require(xon <= xoff, &format!("{key}.xon"), || format!("must be at most xoff ({xoff}), got {xon}"));
    (is_limited && is_between && is_below).then_some(ReceiveConfig {
        rate: wanted.rate.map(|rate| rate.0),
        packet_time: wanted.packet_rate.map_or(Duration::ZERO, PacketRate::time_of_packet),
        size,
        xoff,
        xon,
    })
}

/// Returns the storm whose key is `key`. Problems are recorded in `checker`.
fn storm(wanted: &spec::PfcStorm, lossless: &[u8], key: &str, checker: &mut Checker<'_>) -> Option<Storm> {
    let classes = wanted.classes.clone().unwrap_or_else(|| lossless.to_vec());
    let are_lossless = !classes.is_empty() && classes.iter().all(|class| lossless.contains(class));
    let known = checker.require(are_lossless, &format!("{key}.classes"), || {
        format!("must be lossless classes, at least one of {lossless:?}, got {classes:?}")
    });
    let (start, stop) = (wanted.start.0, wanted.stop.map(|stop| stop.0));
    let lasts = checker.require(stop.is_none_or(|stop| stop > start), &format!("{key}.stop"), || {
        format!("must be after the start at {start}, got {}", stop.unwrap_or_default())
    });
    let at = |time| Instant::ZERO + time;
    (known && lasts).then(|| Storm { start: at(start), stop: stop.map(at), classes })
}
