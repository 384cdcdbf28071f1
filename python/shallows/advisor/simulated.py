"""Small scenarios that represent a fabric with a candidate setting.

One pool of the switch is loaded, as in BCC's §III-C: hosts at other pools send to all ports of this pool. If
the switch has uplinks, the scenario is a leaf-spine network with the same oversubscription and all-to-all
traffic. If fewer ports are simulated than share a pool, the memory shrinks in proportion.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from shallows import _core
from shallows.advisor import lossless, rules
from shallows.advisor.advised import chosen_alpha
from shallows.advisor.candidates import Candidate, Curve
from shallows.advisor.fabric import Fabric, Incast
from shallows.advisor.simulated_groups import Memory, Ports, memory
from shallows.errors import ScenarioError, ShallowsError
from shallows.quantity import size
from shallows.runs.toml_text import toml_document, toml_value

BINS = ("100KB", "1MB")
"""Upper bound of small flows, lower bound of large flows; few flows exceed the 10 MB that papers use."""

MOST_RECEIVERS = 8
"""Maximum number of simulated ports of a pool; the memory shrinks in proportion."""

LEAVES = 4
"""Number of leaves of a simulated fabric with uplinks."""

TRIAL_S = 1
"""Simulated time in seconds for which the engine predicts the number of flows."""


def document(fabric: Fabric, candidate: Candidate, load: float) -> dict[str, Any]:
    """Return the scenario of a candidate setting at a load, as a dictionary."""
    return {
        "name": fabric.name,
        **_network(fabric, candidate),
        "switch": switch(fabric, candidate),
        "tcp": _tcp(fabric),
        "measure": {"bins": list(BINS)},
        "workload": _workloads(fabric, load),
    }


def receivers(fabric: Fabric) -> int:
    """Return the number of ports of the loaded pool; with lossless classes, all ports of the switch."""
    if fabric.lossless:
        return host_count(fabric)
    return max(1, min(fabric.buffer.ports, MOST_RECEIVERS, fabric.hosts // 2))


def scale(fabric: Fabric) -> float:
    """Return the memory of a simulated pool, as a share of the real pool's memory."""
    return pool_ports(fabric) / fabric.buffer.ports


def pool_ports(fabric: Fabric) -> int:
    """Return the number of ports that share a simulated pool."""
    if not fabric.links.uplinks:
        return receivers(fabric)
    ports = hosts_per_leaf(fabric) + spines(fabric)[0]
    return ports if fabric.lossless else min(fabric.buffer.ports, ports)


def hosts_per_leaf(fabric: Fabric) -> int:
    """Return the number of hosts of each leaf."""
    return max(2, math.ceil(fabric.hosts / LEAVES))


def host_count(fabric: Fabric) -> int:
    """Return the number of hosts of the simulated network."""
    if fabric.links.uplinks:
        return LEAVES * hosts_per_leaf(fabric)
    if not fabric.lossless:
        return fabric.hosts
    # With lossless classes, the switch has one pool, in which packets count at the ports where they arrive.
    incast = fabric.incast.senders + 1 if fabric.incast else 0
    return max(4, incast, min(fabric.hosts, fabric.buffer.ports))


def oversubscription(fabric: Fabric) -> float:
    """Return the ratio of a leaf's host rate to its uplink rate."""
    links = fabric.links
    down = links.ports or max(1, fabric.silicon.ports - links.uplinks)
    return down * links.rate / (links.uplinks * links.uplink_rate)


def spines(fabric: Fabric) -> tuple[int, float]:
    """Return the number of simulated spines, and the rate of each link to a spine in bit/s."""
    needed = hosts_per_leaf(fabric) * fabric.links.rate / oversubscription(fabric)
    count = max(1, round(needed / fabric.links.uplink_rate))
    return count, needed / count


def _topology(fabric: Fabric) -> dict[str, Any]:
    links = fabric.links
    common = {
        "rate": _rate(links.rate),
        "link_delay": _time(links.delay),
        "host_delay": _time(links.host_delay),
        "mtu": links.mtu,
        **({"framing": lossless.FRAMING} if fabric.lossless else {}),
    }
    if not links.uplinks:
        return {"kind": "star", "hosts": host_count(fabric), **common}
    count, uplink_rate = spines(fabric)
    shape = {"leaves": LEAVES, "spines": count, "hosts_per_leaf": hosts_per_leaf(fabric)}
    return {"kind": "leaf-spine", **shape, "uplink_rate": _rate(uplink_rate), **common}


def switch(fabric: Fabric, candidate: Candidate) -> dict[str, Any]:
    """Return the `[switch]` table of a candidate setting."""
    found: dict[str, Any] = {
        "buffer": {"kind": "dynamic-threshold", "alpha": float(candidate.alpha), **_pool(fabric, candidate)},
        "markers": _markers(fabric, candidate),
        "overrides": _uplink_overrides(fabric, candidate),
    }
    if fabric.lossless:
        found["lossless"] = lossless_memory(fabric, candidate).lossless
    if len(fabric.classes) > 1:
        found["port"] = _port(fabric, candidate)
    return found


def _pool(fabric: Fabric, candidate: Candidate) -> dict[str, Any]:
    buffer = fabric.buffer
    if fabric.lossless:
        pool = lossless_memory(fabric, candidate).pool
        return {"pool": f"{pool}B", "cell": f"{fabric.silicon.cell}B"}
    return {
        "pool": f"{buffer.pool * scale(fabric):.0f}B",
        "ports_per_pool": pool_ports(fabric),
        "reserved": f"{buffer.reserved:.0f}B",
    }


def lossless_memory(fabric: Fabric, candidate: Candidate) -> Memory:
    """Return the memory of a simulated switch with lossless classes."""
    uplinks, uplink_rate = spines(fabric) if fabric.links.uplinks else (0, 0.0)
    hosts = hosts_per_leaf(fabric) if uplinks else host_count(fabric)
    ports = Ports(hosts, uplinks, uplink_rate, scale(fabric))
    network = {"name": fabric.name, **_network(fabric, candidate)}
    return memory(fabric, candidate.groups or fabric.groups, ports, network)


def _marks_at(fabric: Fabric) -> str:
    """Return whether packets are marked at enqueue or at dequeue; lossless classes only support enqueue."""
    return "enqueue" if fabric.lossless else fabric.silicon.at


def _markers(fabric: Fabric, candidate: Candidate) -> list[dict[str, Any]]:
    """Return the markers of a setting, with the pool's curve shifted to fit the smaller simulated pool."""
    if candidate.pool is None or scale(fabric) == 1:
        return candidate.markers(_marks_at(fabric))
    part, curve = scale(fabric), candidate.pool
    # Kmax = B − B_R/α and Kmin = Kmax − C·N·h: B and N shrink, the share of one queue (B_R/α) does not.
    kmax = max(1, round(fabric.buffer.pool * part - (fabric.buffer.pool - curve.kmax)))
    kmin = max(1, round(kmax - (curve.kmax - curve.kmin) * part))
    smaller = replace(candidate, pool=Curve(min(kmin, kmax), kmax, curve.pmax))
    return smaller.markers(_marks_at(fabric))


def _uplink_overrides(fabric: Fabric, candidate: Candidate) -> list[dict[str, Any]]:
    """Return overrides for uplinks: rules' thresholds scale with a port's rate, other thresholds do not."""
    links = fabric.links
    if (
        not links.uplinks
        or candidate.origin in {"default", "today"}
        or candidate.sojourn
        or candidate.follows
    ):
        return []
    factor = spines(fabric)[1] / links.rate
    queues = tuple(curve and _scaled(curve, factor, fabric) for curve in candidate.queues)
    if queues == candidate.queues:
        return []
    markers = replace(candidate, queues=queues).markers(_marks_at(fabric))
    return [{"ports": [kind], "markers": markers} for kind in ("up", "down")]


def _scaled(curve: Curve, factor: float, fabric: Fabric) -> Curve:
    return Curve(fabric.rounded(curve.kmin * factor), fabric.rounded(curve.kmax * factor), curve.pmax)


def _port(fabric: Fabric, candidate: Candidate) -> dict[str, Any]:
    count = len(fabric.classes)
    strict = sum(each.strict for each in fabric.classes)
    if strict == count:
        return {"kind": "strict-priority", "queues": count}
    weights = candidate.weights or tuple(each.weight for each in fabric.classes)
    least = min(weights[strict:])
    mtu = fabric.links.mtu
    quanta = [
        f"{mtu if each.strict else max(1, round(mtu * weight / least))}B"
        for each, weight in zip(fabric.classes, weights, strict=True)
    ]
    return {"kind": "dwrr", "queues": count, "quantum": quanta, **({"strict": strict} if strict else {})}


def _tcp(fabric: Fabric) -> dict[str, Any]:
    name = fabric.classes[0].transport
    # Simulated flows have no handshake, which would measure the round trip and so set the first RTO.
    rto = {"initial": _time(fabric.rto), "min": _time(fabric.rto)}
    return {"congestion": _congestion(name), "initial_window": fabric.initial_window, "rto": rto}


def _congestion(name: str) -> dict[str, Any]:
    return {"kind": "cubic", "ecn": True} if name == "cubic" else {"kind": name}


def _network(fabric: Fabric, candidate: Candidate) -> dict[str, Any]:
    """Return topology and hosts; with lossless classes, NICs have the same queues as switches."""
    host: dict[str, Any] = {}
    if fabric.every_second is not None:
        tcp = {"congestion": _congestion(fabric.every_second)}
        members = f"0..{host_count(fabric)} step 2"
        host["group"] = [{"name": fabric.every_second, "members": members, "tcp": tcp}]
    if fabric.lossless and len(fabric.classes) > 1:
        host["nic"] = {"port": _port(fabric, candidate)}
    return {"topology": _topology(fabric), **({"host": host} if host else {})}


def _own_tcp(fabric: Fabric, place: int) -> dict[str, Any]:
    """Return the TCP keys that set the transport of a class."""
    name = fabric.classes[place].transport
    return {} if name == fabric.classes[0].transport else {"tcp": {"congestion": _congestion(name)}}


def _workloads(fabric: Fabric, load: float) -> list[dict[str, Any]]:
    rates = arrivals(fabric)
    total = sum(rates)
    found = [
        {
            **_poisson(fabric, place),
            **_own_tcp(fabric, place),
            "load": load * each.share,
            "flows": max(1, round(fabric.flows * rates[place] / total)),
        }
        for place, each in enumerate(fabric.classes)
    ]
    if fabric.incast:
        found.append(_incast(fabric, fabric.incast, rounds(fabric, fabric.incast, load)))
    return found


def rounds(fabric: Fabric, incast: Incast, load: float) -> int:
    """Return the number of incast rounds while other flows arrive."""
    lasting = fabric.flows / (load * sum(arrivals(fabric)))
    return max(1, int(lasting / incast.every))


def _incast(fabric: Fabric, incast: Incast, queries: int) -> dict[str, Any]:
    """Return a workload of periodic queries that all senders answer at once."""
    first = 1 if fabric.links.uplinks or fabric.lossless else receivers(fabric)
    count = host_count(fabric)
    senders = [(first + place) % count for place in range(count) if (first + place) % count]
    return {
        "kind": "partition-aggregate",
        "clients": "0",
        "workers": senders[: incast.senders],
        "request": "0B",
        "size": f"{incast.size:.0f}B",
        "queries": queries,
        "arrivals": {"kind": "periodic", "period": _time(incast.every)},
        "class": incast.place,
        **_own_tcp(fabric, incast.place),
    }


def _poisson(fabric: Fabric, place: int) -> dict[str, Any]:
    each = fabric.classes[place]
    shape: dict[str, Any] = {"kind": "poisson", "sizes": each.sizes, "class": place}
    if fabric.links.uplinks:
        return shape | {"of": "uplinks" if oversubscription(fabric) >= 1 else "receivers"}
    if fabric.lossless:
        return shape
    count = receivers(fabric)
    return shape | {"senders": f"{count}..{fabric.hosts}", "receivers": f"0..{count}"}


def arrivals(fabric: Fabric) -> list[float]:
    """Return the expected flows per second of each class at a load of one, as the engine computes them."""
    return [_arrivals(_trial(fabric, place)) * each.share for place, each in enumerate(fabric.classes)]


def _trial(fabric: Fabric, place: int) -> str:
    """Return a scenario of one class alone at a load of one half."""
    workload = _poisson(fabric, place) | {"class": 0, "load": 0.5}
    buffer = {"kind": "dynamic-threshold", "pool": "100MB"}
    trial = {"topology": _topology(fabric), "switch": {"buffer": buffer}, "stop": {"at": f"{TRIAL_S}s"}}
    return toml_document({"name": "trial", **trial, "workload": [workload]}) + "\n"


@cache
def _arrivals(trial: str) -> float:
    try:
        (flows,) = _core.parse(trial, "fabric.toml", str(Path()), [], None).expected_flows()
    except ScenarioError as error:
        message = str(error).splitlines()[0]
        raise ShallowsError(
            f"the engine rejects the fabric: {message}", "docs/advisor.md describes the keys"
        ) from None
    return flows / (0.5 * TRIAL_S)


def sweep_text(
    fabric: Fabric, candidates: Sequence[Candidate], loads: Sequence[float], seeds: Sequence[int]
) -> str:
    """Return a sweep with all candidate settings as schemes, at all loads, with all seeds."""
    base = document(fabric, candidates[0], loads[0])
    together = _together(fabric, loads)
    lines = [toml_document(base), "", "[sweep]"]
    lines.append(f"axes = {toml_value({'load': list(loads), 'seed': list(seeds)})}")
    lines += ["", "[sweep.together.load]"]
    lines += [f"{toml_value(key)} = {toml_value(values)}" for key, values in together.items()]
    for candidate in candidates:
        table = switch(fabric, candidate)
        changes = {
            "switch.markers": table["markers"],
            "switch.overrides": table["overrides"],
            "switch.buffer.alpha": table["buffer"]["alpha"],
        }
        if fabric.lossless:
            changes |= {"switch.lossless": table["lossless"], "switch.buffer.pool": table["buffer"]["pool"]}
            if "port" in table:
                changes |= {"switch.port": table["port"], "host.nic.port": table["port"]}
        lines += [
            "",
            "[[sweep.scheme]]",
            f"name = {toml_value(candidate.name)}",
            f"set = {toml_value(changes)}",
        ]
    return "\n".join(lines) + "\n"


def _together(fabric: Fabric, loads: Sequence[float]) -> Mapping[str, list[Any]]:
    found: dict[str, list[Any]] = {
        f"workload.{place}.load": [load * each.share for load in loads]
        for place, each in enumerate(fabric.classes)
    }
    if fabric.incast:
        found[f"workload.{len(fabric.classes)}.queries"] = [
            rounds(fabric, fabric.incast, load) for load in loads
        ]
    return found


def _lossless(fabric: Fabric) -> list[str]:
    """Return the simplifications of lossless classes in sentences."""
    if not fabric.lossless:
        unused = "The table [lossless] of the fabric's file has no effect, because no class is lossless."
        return [unused] if fabric.fixed else []
    base = Candidate("", "", "", (None,) * len(fabric.classes), chosen_alpha(fabric))
    made = lossless_memory(fabric, base)
    names = ", ".join(fabric.classes[place].name for place in fabric.lossless)
    found = [
        f"PFC pauses the senders of {names}. Switches and NICs have a queue for each class. Every switch has "
        f"one pool, whose packets count in cells of {fabric.silicon.cell} B.",
        "Headroom and reserved memory of priority groups are added to buffer.pool, which is shared. A "
        "setting with more headroom shares less.",
        "Lossless classes carry TCP. RoCE and DCQCN are not simulated, nor is a PFC watchdog.",
        f"A group's limit is compared with its use {_compared(fabric)}.",
    ]
    if made.simulated != made.own:
        found.append(
            f"The delays of hosts ({rules.seconds(fabric.links.host_delay)}) are on their links, where they "
            f"also delay pauses. A headroom of {size(made.own)} is therefore simulated as "
            f"{size(made.simulated)}."
        )
    if fabric.silicon.at == "dequeue":
        found.append("Markers act when packets join a queue, not when they leave it, as on this chip.")
    if fabric.buffer.reserved:
        found.append("The reserved buffer of queues (buffer.reserved) is not simulated.")
    if fabric.has_lossy:
        found.append("Lossy classes have no limit at ingress.")
    return found


def _compared(fabric: Fabric) -> str:
    """Describe whether an arriving packet counts when a group's backlog is compared with its limit."""
    compares = fabric.silicon.compares
    if compares is None:
        return "with the arriving packet; the rule of this chip is unknown (chip.compares)"
    return f"{compares} the arriving packet, as on this chip"


def _alone(fabric: Fabric) -> str:
    """Describe the limits of a single busy lossy queue on the switch and in the smaller simulated pool."""
    if not fabric.has_lossy:
        return ""
    alpha, reserved = chosen_alpha(fabric), fabric.buffer.reserved
    real, here = (
        rules.busy_share(pool, alpha, 1) + reserved
        for pool in (fabric.buffer.pool, fabric.buffer.pool * scale(fabric))
    )
    return (
        f"The limit of a single busy queue is {size(real)} on the switch and {size(here)} in the simulation "
        f"(α {alpha:g}); a threshold between these two values never marks in the simulation."
    )


def assumptions(fabric: Fabric) -> list[str]:
    """Return the simplifying assumptions of the simulation, one sentence each."""
    links = fabric.links
    found = [*fabric.notes]
    if links.uplinks:
        count, uplink_rate = spines(fabric)
        found.append(
            f"The simulation has {LEAVES} leaves of {hosts_per_leaf(fabric)} hosts and {count} spine(s) at "
            f"{uplink_rate / 1e9:g} Gb/s, "
            f"which keeps an oversubscription of {oversubscription(fabric):.3g}. Loads are shares "
            "of the rate of the uplinks. Rules are scaled to the rate of a port; defaults are not."
        )
    elif fabric.lossless:
        found.append(
            f"The simulation has one switch with {host_count(fabric)} hosts, which all send to each other. "
            "Loads are shares of the rate of the hosts' links."
        )
    else:
        found.append(
            f"The simulation has one pool: {receivers(fabric)} ports that receive from "
            f"{fabric.hosts - receivers(fabric)} hosts. "
            "Loads are shares of the rate of the receivers' links."
        )
    if scale(fabric) != 1:
        found.append(
            f"{pool_ports(fabric)}{' instead' if scale(fabric) > 1 else ''} of the {fabric.buffer.ports} "
            "ports of a pool are simulated, with the same share of the pool's memory "
            f"({round(fabric.buffer.pool * scale(fabric)) / 1e6:.3g} MB). {_alone(fabric)}".rstrip()
        )
    found += _lossless(fabric)
    found += [
        f"Each run has {fabric.flows:,} flows. Small flows have up to {BINS[0]}, large flows more "
        f"than {BINS[1]}.",
        "Hosts do not use segmentation offload. Connections have no handshake that measures the RTT, so the "
        "first timeout is RTOmin.",
        "Every number was rounded to a value that the chip supports before the simulation.",
        # RFC 3168 §6.1.4 and 6.1.5; every packet of DCTCP and ECN* is ECN-capable, as in papers.
        "Markers drop packets that are not ECN-capable: Reno's packets, and acknowledgements and "
        "retransmissions of CUBIC.",
    ]
    return found


def _time(value: float) -> str:
    """Format a time for a scenario.

    >>> _time(80e-6), _time(5e-3), _time(0.0), _time(18.25e-6)
    ('80us', '5ms', '0us', '18250ns')
    """
    picoseconds = round(value * 1e12)
    units = ((10**9, "ms"), (10**6, "us"), (10**3, "ns"), (1, "ps"))
    scale, unit = next((scale, unit) for scale, unit in units if picoseconds % scale == 0)
    return f"{picoseconds // scale}{unit}" if picoseconds else "0us"


def _rate(value: float) -> str:
    """Format a rate for a scenario.

    >>> _rate(25e9), _rate(1.5e9)
    ('25Gbps', '1500Mbps')
    """
    bits = round(value)
    scale, unit = next(
        (scale, unit) for scale, unit in ((10**9, "G"), (10**6, "M"), (1, "")) if bits % scale == 0
    )
    return f"{bits // scale}{unit}bps"
