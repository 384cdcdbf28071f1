"""The `[switch]` table for HPCC's switches: memory, lossless classes, queues and markers."""

from collections import Counter
from decimal import Decimal
from typing import Any

from shallows.errors import ShallowsError
from shallows.foreign import writing
from shallows.foreign.hpcc_config import Config
from shallows.foreign.hpcc_topology import Network
from shallows.foreign.writing import Cable

Thresholds = dict[str, dict[int, Decimal]]
PFC_FRAME = 85
"""Bytes of a PFC frame on the wire, and one byte above the limit of a priority group."""
ALPHA_SHIFT = 3
"""A port of the NICs' rate may use 1/8 of the free memory; each doubling of the rate doubles this share."""
_OF_HPCC = {"reserved": "4KiB", "xon_offset": "3KiB"}
"""Memory of a priority group in HPCC's switch-mmu.cc."""
_OF_POWERTCP = {"reserved": "0B", "xon": "1248B", "xon_offset": "2496B"}
"""Memory of a priority group in ns3-datacenter's switch-mmu.cc. Its programs set one alpha for all ports."""


def port() -> dict[str, Any]:
    """Return the queues of a port: queue 0 has priority, and queues 1 to 7 take turns packet by packet."""
    return {"kind": "wrr", "queues": 7, "strict": 1, "quantum": "1p", "classes": list(range(8))}


def switch(config: Config, network: Network, classes: list[int], packet: int) -> dict[str, Any]:
    """Return the `[switch]` table without queues.

    `classes` are the lossless classes, and `packet` is the size of the largest packet on the wire.
    """
    table: dict[str, Any] = {"buffer": {"kind": "complete-sharing", "pool": config.buffer}}
    if classes:
        table["lossless"] = _lossless(config, network, classes, packet)
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


def _lossless(config: Config, network: Network, classes: list[int], packet: int) -> dict[str, Any]:
    """Return the lossless classes; differences from HPCC's are added to the notes."""
    if not network.of_powertcp:
        _note_alphas(config, network)
    on_cable = {cable.rate * (cable.delay_ps // 1_000) // 8 // 10**9 for cable in network.cables}
    table = {
        "classes": classes,
        "alpha": 1 / (1 << ALPHA_SHIFT),
        **(_OF_POWERTCP if network.of_powertcp else _OF_HPCC),
        "response": "0s",
        "cyclic_routes": "allow",
    }
    # HPCC's headroom is 3 · rate · delay. Twice rate · delay, three packets and a PFC frame may arrive.
    if len(on_cable) == 1 and min(on_cable) >= 3 * packet + PFC_FRAME:
        return table | {"headroom": f"{3 * min(on_cable)}B"}
    config.notes.append(
        "headroom is computed for each link (auto); "
        f"HPCC has 3 · rate · delay, from {3 * min(on_cable)} to {3 * max(on_cable)} bytes"
    )
    return table


def _note_alphas(config: Config, network: Network) -> None:
    """Note the links on which HPCC has another alpha than the scenario."""
    nic = next(cable.rate for cable in network.cables if f"host{network.hosts[0]}" in cable.ends)
    for rate in sorted({cable.rate for cable in network.cables if cable.rate > nic}):
        config.notes.append(
            f"priority groups of links of {writing.rate(rate)} have alpha 1/{1 << ALPHA_SHIFT}, "
            f"as on all links; HPCC has 1/{1 << _shift(rate, nic)}"
        )


def _shift(rate: int, nic: int) -> int:
    """Return the number of halvings that third.cc gives to a port (`pfc_a_shift`).

    >>> [_shift(rate * 10**9, 100 * 10**9) for rate in (25, 100, 200, 400, 6400)]
    [3, 3, 2, 1, 0]
    """
    shift = ALPHA_SHIFT
    while rate > nic and shift > 0:
        shift, rate = shift - 1, rate // 2
    return shift


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
    """Return the marker of ports of this rate, which acts when packets leave (`SwitchNotifyDequeue`)."""
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
