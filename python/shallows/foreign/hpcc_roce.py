"""The `[roce]` table for HPCC's senders (`rdma-hw.cc`), by mode of congestion control."""

from typing import Any

from shallows.foreign import hpcc_keys as keys
from shallows.foreign import writing
from shallows.foreign.hpcc_config import Config
from shallows.foreign.hpcc_paths import Longest

HEADERS = 48
"""Header bytes of a packet without telemetry: custom-header.cc, 14 + 20 + 8 + 6."""
IB_HEADERS = 44
"""Headers of IP, UDP and InfiniBand (BTH, ICRC) in the scenario; the rest of `HEADERS` becomes framing."""
RETH = 16
"""Additional header bytes of the first packet of a flow in the scenario."""
AETH = 4
"""Additional header bytes of an acknowledgement in the scenario."""
TELEMETRY = 42
"""Bytes of in-band telemetry in a packet (int-header.h); HPCC and the scenario have the same number."""
PINT = 2
"""Bytes of PINT's telemetry in a packet (int-header.h)."""
TIMESTAMP = 8
"""Bytes of TIMELY's timestamp in a packet (int-header.h)."""
HIGH_PRIORITY = 0
"""Class of acknowledgements with ACK_HIGH_PRIO. Its queue has priority at all ports."""
NS_PER_S = 10**9
OF_POWERTCP = 150_000_000
"""Rate that PowerTCP adds in ns3-datacenter (`RdmaHw::UpdateRatePower`)."""
MINIMUM = 100_000_000
"""Default of MIN_RATE."""
GAIN = 0.0625
"""DCTCP's g if the file has none: RFC 8257 §4.2."""


def wire(config: Config) -> tuple[int, int]:
    """Return the MTU and the framing that give packets the same size as in HPCC."""
    telemetry, theirs = _telemetry(config)
    return config.payload + IB_HEADERS + RETH + telemetry, HEADERS - IB_HEADERS + theirs - telemetry


def ack_sizes(config: Config) -> tuple[int, int]:
    """Return the sizes of an acknowledgement on the wire in the scenario and in HPCC (qbb-header.cc)."""
    telemetry, theirs = _telemetry(config)
    _, framing = wire(config)
    # TIMELY's timestamp is in data only.
    theirs = 0 if config.modes.chosen == keys.TIMELY else theirs
    return IB_HEADERS + AETH + framing + telemetry, max(60, 14 + 20 + 12 + theirs)


def _telemetry(config: Config) -> tuple[int, int]:
    """Return the bytes of telemetry in a packet of the scenario and of HPCC (int-header.h)."""
    mode = config.modes.chosen
    if mode == keys.PINT:
        # The largest utilisation is 512; it has the code log_b(512²).
        return (1 if _log_base(config) ** 256 > 512**2 else 2), PINT
    if mode in (keys.HPCC, keys.POWERTCP):
        return TELEMETRY, TELEMETRY
    # In ns3-datacenter, packets of θ-PowerTCP have telemetry too.
    return 0, {keys.TIMELY: TIMESTAMP, keys.THETA_POWERTCP: TELEMETRY}.get(mode, 0)


def _log_base(config: Config) -> float:
    """Return the base of PINT's logarithm."""
    return config.decimal("PINT_LOG_BASE", 1.001, 2, 1.05)


def roce(config: Config, longest: Longest, ack_class: int | None) -> dict[str, Any]:
    """Return the `[roce]` table; without `ack_class`, acknowledgements have the class of their data."""
    every = config.whole("L2_ACK_INTERVAL", 1, 1, 1 << 40)
    # rdma-hw.cc: one acknowledgement per L2_ACK_INTERVAL bytes.
    table: dict[str, Any] = {"mtu": f"{config.payload}B", "ack_every": max(1, -(-every // config.payload))}
    if config.is_on("ENABLE_IRN", default=False):
        table["recovery"] = {"kind": "irn", "window": max(1, -(-longest.bdp // config.payload))}
    own_class = {} if ack_class is None else {"class": ack_class}
    if ack_class is not None:
        table["ack_class"] = ack_class
    if config.modes.chosen == keys.DCQCN:
        # Every acknowledgement of a marked packet has HPCC's CNP bit.
        table["cnp"] = {"interval": "0s", **own_class}
    table["congestion"] = _CONTROLS[config.modes.chosen](config, longest)
    return table


def ack_class(config: Config, groups: list[int]) -> int | None:
    """Return the class of acknowledgements; None if acknowledgements have the class of their data.

    If `ACK_HIGH_PRIO` is on, the class is `HIGH_PRIORITY`. Otherwise, if all flows have the same priority
    group, the class is the largest class that no flow has. NICs send this class first, and switches put it
    in the queue of the data. If flows have several priority groups, each acknowledgement needs the queue of
    its data, so the result is None.
    """
    if config.is_on("ACK_HIGH_PRIO", default=False):
        return HIGH_PRIORITY
    return max({6, 7}.difference(groups)) if len(groups) == 1 else None


def _connectx(config: Config, longest: Longest) -> dict[str, Any]:
    return {
        "kind": "dcqcn-connectx",
        "gain": config.fraction("EWMA_GAIN", "DCQCN's g"),
        "alpha_period": writing.time(config.microseconds("ALPHA_RESUME_INTERVAL", 55)),
        "decrease_period": writing.time(config.microseconds("RATE_DECREASE_INTERVAL", 4)),
        "increase_period": writing.time(config.microseconds("RP_TIMER")),
        "fast_recovery": config.whole("FAST_RECOVERY_TIMES", 5),
        "additive_increase": writing.rate(config.rate("RATE_AI")),
        "hyper_increase": writing.rate(config.rate("RATE_HAI")),
        "min_rate": writing.rate(config.rate("MIN_RATE", MINIMUM)),
        "clamp": "always" if config.is_on("CLAMP_TARGET_RATE", default=False) else "after-increase",
        **_window(config, longest),
    }


def _hpcc(config: Config, longest: Longest) -> dict[str, Any]:
    return {
        "kind": "hpcc",
        **_window_of_hpcc(config, longest),
        **({"per_hop": True} if config.is_on("MULTI_RATE", default=True) else {}),
        **({"skip_empty": True} if config.is_on("SAMPLE_FEEDBACK", default=False) else {}),
    }


def _hpcc_pint(config: Config, longest: Longest) -> dict[str, Any]:
    return {
        "kind": "hpcc-pint",
        **_window_of_hpcc(config, longest),
        "log_base": _log_base(config),
        "sampled": config.fraction("PINT_PROB", "the share of acknowledgements that count", 1.0),
    }


def _window_of_hpcc(config: Config, longest: Longest) -> dict[str, Any]:
    # W_AI = RATE_AI · T. HPCC's code adds to the rate W/T.
    bits = config.rate("RATE_AI") * longest.rtt_ns
    increase = round(bits / 8 / NS_PER_S)
    if increase * 8 * NS_PER_S != bits:
        config.notes.append(
            f"RATE_AI {writing.rate(config.rate('RATE_AI'))} is {bits / 8 / NS_PER_S:.2f} bytes in the "
            f"round-trip time of {longest.rtt_ns} ns, rounded to {increase}"
        )
    return {
        "target": config.fraction("U_TARGET", "the target utilisation", 0.95),
        "max_stage": config.whole("MI_THRESH", 5),
        "additive_increase": f"{increase}B",
        "base_rtt": writing.time(longest.rtt_ns * 1_000),
        "min_rate": writing.rate(config.rate("MIN_RATE", MINIMUM)),
    }


def _powertcp(config: Config, longest: Longest) -> dict[str, Any]:
    return {"kind": "powertcp", "weight": 0.9, **_of_power(config, longest.rtt_ns * 1_000)}


def _theta_powertcp(config: Config, longest: Longest) -> dict[str, Any]:
    # ns3-datacenter divides the power by 1.05 · τ.
    return {"kind": "theta-powertcp", "weight": 0.7, **_of_power(config, longest.rtt_ns * 1_050)}


def _of_power(config: Config, base_rtt_ps: int) -> dict[str, Any]:
    # The added rate times a round-trip time is β. Like the weights, it is a constant of ns3-datacenter.
    return {
        "additive_increase": f"{round(OF_POWERTCP * base_rtt_ps / 8 / 10**12)}B",
        "base_rtt": writing.time(base_rtt_ps),
        "min_rate": writing.rate(config.rate("MIN_RATE", MINIMUM)),
    }


def _timely(config: Config, longest: Longest) -> dict[str, Any]:
    return {
        "kind": "timely",
        "preset": "hpcc-repo",
        "increase": writing.rate(config.rate("RATE_AI")),
        "min_rate": writing.rate(config.rate("MIN_RATE", MINIMUM)),
        **_window(config, longest),
    }


def _dctcp(config: Config, longest: Longest) -> dict[str, Any]:
    is_given = config.modes.given == keys.DCTCP and "EWMA_GAIN" not in config.ignored.keys
    return {
        "kind": "dctcp",
        "gain": config.fraction("EWMA_GAIN", "DCTCP's g") if is_given else GAIN,
        "additive_increase": writing.rate(config.rate("DCTCP_RATE_AI", 10**9)),
        "min_rate": writing.rate(config.rate("MIN_RATE", MINIMUM)),
        **_window(config, longest),
    }


def _window(config: Config, longest: Longest) -> dict[str, Any]:
    """Return the key `window` for HPCC's senders; empty if they have no window.

    HPCC's window is the largest bandwidth-delay product. A scenario states a window as the time that a NIC
    needs to send it. In ns3-datacenter, this time is the longest round-trip time (`RdmaHw::AddQueuePair`).
    """
    is_required = config.modes.chosen == keys.DCTCP
    if not (is_required or config.is_on("HAS_WIN", default=True)):
        return {}
    of = "current" if config.is_on("VAR_WIN", default=False) else "line"
    if longest.of_each_nic:
        return {"window": {"rtt": writing.time(longest.rtt_ns * 1_000), "of": of}}
    if len(longest.nics) > 1:
        config.notes.append(
            f"the window is {longest.bdp} bytes at NICs of {writing.rate(longest.nics[-1])}, and smaller at "
            "slower NICs; HPCC's windows are equal at all NICs"
        )
    rtt_ps = -(-longest.bdp * 8 * 10**12 // longest.nics[-1])
    return {"window": {"rtt": writing.time(rtt_ps), "of": of}}


_CONTROLS = {
    keys.DCQCN: _connectx,
    keys.HPCC: _hpcc,
    keys.TIMELY: _timely,
    keys.DCTCP: _dctcp,
    keys.PINT: _hpcc_pint,
    keys.POWERTCP: _powertcp,
    keys.THETA_POWERTCP: _theta_powertcp,
}
