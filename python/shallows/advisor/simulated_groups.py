"""Priority groups of lossless classes in the simulation of a fabric: headroom, and the memory of a switch.

In the simulation, the links of hosts include the hosts' delays, which therefore delay pauses too. Simulated
groups get more headroom than those of the fabric: the bytes that arrive during these delays are added. The
shared memory has the same size as in the fabric.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from shallows import _core
from shallows.advisor.fabric import Fabric
from shallows.advisor.lossless import Groups, Wire, headroom, thresholds
from shallows.errors import ScenarioError, ShallowsError
from shallows.quantity import rate, size
from shallows.runs.toml_text import toml_document

LARGEST = "1TB"
"""Memory of a switch while its headroom is computed."""


@dataclass(frozen=True)
class Ports:
    """Ports of a simulated switch: their counts, and the rate of its uplinks in bit/s."""

    hosts: int
    uplinks: int
    uplink_rate: float
    share: float
    """Share of the real pool's ports that are simulated."""


@dataclass(frozen=True)
class Memory:
    """Memory of a simulated switch in bytes, and the scenario's table `switch.lossless`."""

    lossless: dict[str, Any]
    """The table `switch.lossless`."""
    pool: int
    """Memory of the switch: shared memory, reserved memory and headroom."""
    own: int
    """Headroom of a priority group at a host's port of the fabric."""
    simulated: int
    """Headroom of a priority group at a host's port of the simulation."""


def needed(fabric: Fabric, link_rate: float | None = None, *, in_cells: bool = True) -> int:
    """Return the headroom in bytes that a group needs at a port of the fabric; default: a host's port.

    With `in_cells`, the result is the memory that the smallest packets occupy in cells; otherwise, the number
    of bytes.

    Raises
    ------
    ShallowsError
        If IEEE 802.3 has no response time for the rate.
    """
    cell = fabric.silicon.cell if in_cells else None
    terms = headroom(_wire(fabric, link_rate or fabric.links.rate), cell, _response(fabric))
    if terms is None:
        raise _no_response(fabric)
    return terms["needed_bytes"]


def _wire(fabric: Fabric, link_rate: float) -> Wire:
    return Wire(round(link_rate), round(fabric.links.delay * 1e12), fabric.links.mtu)


def _response(fabric: Fabric) -> int:
    """Return the response time in picoseconds at the rate of the hosts' links.

    All ports use this time, because IEEE 802.3 may define none for the rate of simulated uplinks.
    """
    terms = headroom(_wire(fabric, fabric.links.rate))
    if terms is None:
        raise _no_response(fabric)
    return math.ceil(terms["response_bytes"] * 8e12 / fabric.links.rate)


def _no_response(fabric: Fabric) -> ShallowsError:
    return ShallowsError(
        f"links.rate: lossless classes need a rate for which IEEE 802.3 has a response time, got "
        f"{rate(fabric.links.rate)}",
        "use 0.1, 1, 10, 25, 40, 50, 100, 200, 400 or 800 Gbps, or remove `lossless` from the classes",
    )


def planned(fabric: Fabric) -> Groups:
    """Return the configured priority groups; headroom that is too small and not fixed becomes automatic."""
    groups = fabric.groups
    too_small = groups.headroom is not None and groups.headroom < needed(fabric)
    return replace(groups, headroom=None) if too_small and "headroom" not in fabric.fixed else groups


def marks_first(fabric: Fabric) -> int | None:
    """Return the marking threshold below which marks come before pauses, if all classes are lossless.

    The engine computes this threshold for the whole switch and any traffic; the result is None if the engine
    rejects the switch.
    """
    if fabric.has_lossy:
        return None
    wire, ports, pool = _wire(fabric, fabric.links.rate), max(2, fabric.buffer.ports), int(fabric.buffer.pool)
    count, cell = len(fabric.lossless), fabric.silicon.cell
    row = thresholds(wire, ports, pool, planned(fabric), count, 1, cell)
    return None if row is None else int(row["mark_below_bytes"])


def memory(fabric: Fabric, groups: Groups, ports: Ports, network: Mapping[str, Any]) -> Memory:
    """Return the memory of a simulated switch with these groups; `network` is the scenario without traffic.

    Raises
    ------
    ShallowsError
        If the headroom of all groups exceeds the memory, or a link's rate has no response time.
    """
    classes = list(fabric.lossless)
    compares = {"compares": fabric.silicon.compares} if fabric.silicon.compares else {}
    common = {"classes": classes, **groups.table(), **compares, "response": f"{_response(fabric)}ps"}
    counts = {"to-host": ports.hosts, "up": ports.uplinks}
    rates = {"to-host": fabric.links.rate, "up": ports.uplink_rate}
    kinds = [kind for kind, count in counts.items() if count]
    if groups.headroom is None:
        mine = {kind: needed(fabric, rates[kind]) for kind in kinds}
        simulated, table = _needs(network, common, fabric.silicon.cell), {"headroom": "auto"}
    else:
        there = _needs(network, common, None)
        more = max(there[kind] - needed(fabric, rates[kind], in_cells=False) for kind in kinds)
        mine, simulated = (dict.fromkeys(kinds, groups.headroom + extra) for extra in (0, more))
        table = {"headroom": f"{groups.headroom + more}B"}
    sums = [
        len(classes) * sum(of[kind] * count for kind, count in counts.items() if count)
        for of in (mine, simulated)
    ]
    if groups.pool is not None:
        taken = groups.pool * ports.share
        within = max(max(simulated.values()), math.ceil(sums[1] * taken / sums[0]))
        table["headroom_pool"] = f"{within}B"
        sums = [round(taken), within]
    reserved = len(classes) * (ports.hosts + ports.uplinks) * groups.reserved
    shared = math.floor(_whole(fabric, ports) - sums[0] - reserved)
    if shared < 2 * (fabric.links.mtu + fabric.silicon.cell):
        raise ShallowsError(
            f"buffer.pool: the headroom of the lossless groups of {ports.hosts + ports.uplinks} ports, "
            f"{size(sums[0])}, leaves no memory to share",
            "raise buffer.pool, or lower lossless.headroom",
        )
    return Memory(common | table, shared + sums[1] + reserved, mine["to-host"], simulated["to-host"])


def fits(fabric: Fabric, groups: Groups) -> bool:
    """Return whether headroom of these groups leaves at least a tenth of the shared memory."""
    links, count = fabric.links, fabric.buffer.ports * len(fabric.lossless)

    def taken(of: Groups) -> float:
        if of.pool is not None:
            return of.pool
        # Uplinks may need more, so the largest need is used for all ports.
        most = max(needed(fabric), needed(fabric, links.uplink_rate) if links.uplinks else 0)
        return count * (most if of.headroom is None else of.headroom)

    return taken(groups) - taken(fabric.groups) <= 0.9 * fabric.buffer.pool


def _whole(fabric: Fabric, ports: Ports) -> float:
    """Return the bytes of the simulated share of a pool: shared memory, reserved memory and headroom."""
    groups, classes = fabric.groups, len(fabric.lossless)
    count = ports.hosts + ports.uplinks
    if groups.pool is not None:
        taken = groups.pool * ports.share
    elif groups.headroom is not None:
        taken = classes * count * groups.headroom
    else:
        up = ports.uplinks * needed(fabric, ports.uplink_rate) if ports.uplinks else 0
        taken = classes * (ports.hosts * needed(fabric) + up)
    return fabric.buffer.pool * ports.share + taken + classes * count * groups.reserved


def _needs(network: Mapping[str, Any], lossless: Mapping[str, Any], cell: int | None) -> dict[str, int]:
    """Return the headroom that the engine computes for a network, in bytes, by kind of port."""
    cells = {} if cell is None else {"cell": f"{cell}B"}
    switch = {"buffer": {"kind": "dynamic-threshold", "pool": LARGEST, **cells}, "lossless": dict(lossless)}
    flow = {"kind": "long-lived", "senders": 0, "receivers": 1}
    return _of_text(
        toml_document({**network, "switch": switch, "stop": {"at": "1us"}, "workload": [flow]}) + "\n"
    )


@cache
def _of_text(text: str) -> dict[str, int]:
    try:
        rows = json.loads(_core.parse(text, "fabric.toml", str(Path()), [], None).headrooms())
    except ScenarioError as error:
        message = str(error).splitlines()[0]
        raise ShallowsError(
            f"the engine rejects the lossless classes: {message}", "docs/advisor.md describes the keys"
        ) from None
    return {row["port"]: row["needed_bytes"] for row in rows if row["port"] != "down"}
