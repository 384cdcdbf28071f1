"""The `[switch]` table for HPCC's switches: memory, lossless classes, queues and markers."""

from collections import Counter
from decimal import Decimal
from typing import Any

from shallows.errors import ShallowsError
from shallows.foreign.hpcc_config import Config
from shallows.foreign.hpcc_topology import Network
from shallows.foreign.writing import Cable

Thresholds = dict[str, dict[int, Decimal]]


def port() -> dict[str, Any]:
    """Return the queues of a port: queue 0 has priority, and queues 1 to 7 take turns packet by packet."""
    return {"kind": "wrr", "queues": 7, "strict": 1, "quantum": "1p", "classes": list(range(8))}


def acks_first(ack_class: int) -> dict[str, Any]:
    """Return the queues of a NIC that sends packets of this class before all other packets."""
    queues = [1] * 8
    queues[ack_class] = 0
    return {"kind": "strict-priority", "queues": 2, "classes": queues}


def switch(config: Config, network: Network, lossless: list[int], ack_class: int | None) -> dict[str, Any]:
    """Return the `[switch]` table without queues.

    `lossless` are the lossless classes of data. Acknowledgements of `ack_class` share the priority group of
    the data.
    """
    table: dict[str, Any] = {"buffer": {"kind": "complete-sharing", "pool": config.buffer}}
    if lossless:
        table["lossless"] = _lossless(network, lossless, ack_class)
    if not config.is_on("ENABLE_QCN", default=True):
        return table
    thresholds = _thresholds(config)
    rates = Counter(cable.rate for cable in network.cables)
    [(most, _)] = rates.most_common(1)
    table["markers"] = [_marker(config, thresholds, most)]
    overrides = []
    for rate in sorted(set(rates) - {most}):
        ports = [port for cable in network.cables if cable.rate == rate for port in _ports(cable)]
        markers = [_marker(config, thresholds, rate)]
        overrides.append({"ports": sorted(set(ports)), "markers": markers})
    if overrides:
        table["overrides"] = overrides
    return table


def _lossless(network: Network, classes: list[int], ack_class: int | None) -> dict[str, Any]:
    preset = "ns3-datacenter" if network.of_powertcp else "hpcc-repo"
    table = {"classes": classes, "preset": preset, "cyclic_routes": "allow"}
    if not ack_class:
        return table
    shared = {str(number): classes[0] for number in (*classes, ack_class)}
    return table | {"classes": [*classes, ack_class], "tc_to_priority_group": shared}


def _thresholds(config: Config) -> Thresholds:
    """Return dicts from rates to values: KMIN_MAP and KMAX_MAP (kilobytes), and PMAX_MAP (probabilities)."""
    maps: Thresholds = {}
    for key in ("KMIN_MAP", "KMAX_MAP", "PMAX_MAP"):
        if key not in config.lines:
            raise ShallowsError(
                f"{config.file}: {key} is missing",
                f"add the line `{key} COUNT RATE VALUE RATE VALUE`, or `ENABLE_QCN 0`",
            )
        line = config.lines[key]
        maps[key] = {}
        for word, value in zip(line.words[2::2], line.words[3::2], strict=True):
            rate = line.whole("the rate", word, 1)
            if rate in maps[key]:
                config.notes.append(
                    f"{config.file.name}:{line.number}: {key} repeats rate {rate}; "
                    "the last value counts, as in HPCC"
                )
            # switch-mmu.cc multiplies thresholds by 1000.
            whole = key != "PMAX_MAP"
            maps[key][rate] = (
                Decimal(line.whole("the threshold", value, 0, 10**9))
                if whole
                else line.decimal("the value", value)
            )
    return maps


def _marker(config: Config, thresholds: Thresholds, rate: int) -> dict[str, Any]:
    """Return the ECN marker of ports of this rate; it marks packets that leave (`SwitchNotifyDequeue`)."""
    found = []
    for key in ("KMIN_MAP", "KMAX_MAP", "PMAX_MAP"):
        if rate not in thresholds[key]:
            raise config.lines[key].error(
                f"{key} has no entry for links of {rate} bit/s",
                f"add the rate and its value to {key}: HPCC needs an entry for the rate of every link",
            )
        found.append(thresholds[key][rate])
    kmin, kmax, pmax = found
    if kmin > kmax:
        raise config.lines["KMIN_MAP"].error(
            f"KMIN must be at most KMAX ({kmax}) for links of {rate} bit/s, got {kmin}",
            "lower KMIN or raise KMAX",
        )
    if kmin == kmax:
        return {"kind": "threshold", "k": f"{kmin}KB", "at": "dequeue"}
    if not 0 < pmax <= 1:
        raise config.lines["PMAX_MAP"].error(
            f"PMAX must be above 0 and at most 1 for links of {rate} bit/s, got {pmax}",
            "correct the probability",
        )
    return {"kind": "red", "kmin": f"{kmin}KB", "kmax": f"{kmax}KB", "pmax": float(pmax), "at": "dequeue"}


def _ports(cable: Cable) -> list[str]:
    """Return the names of the switch ports at both ends of a cable."""
    one, other = cable.ends
    return [f"{start}->{end}" for start, end in ((one, other), (other, one)) if start.startswith("switch")]
