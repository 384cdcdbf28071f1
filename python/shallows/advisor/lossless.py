"""Headroom and pause thresholds of lossless classes, as the engine computes them before a run."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from shallows import _core
from shallows.advisor.reading import Table
from shallows.errors import ScenarioError, ShallowsError
from shallows.quantity import size
from shallows.runs.toml_text import toml_document

FRAMING = "38B"
"""Bytes of a frame on the wire beyond its packet: header, check sum, preamble, gap."""

ALPHAS = tuple(2.0**power for power in range(-7, 4))
"""Values of α of a priority group that the engine simulates."""


@dataclass(frozen=True)
class Groups:
    """Settings of the priority groups of lossless classes, the same at every port."""

    alpha: float = 1.0
    """Limit on a group's shared memory, as a multiple of the free shared memory."""
    limit: int | None = None
    """Fixed limit in bytes instead of `alpha`."""
    reserved: int = 0
    headroom: int | None = None
    """Headroom of a group in bytes; None for the bytes that can arrive after the decision to pause."""
    pool: int | None = None
    """Headroom in bytes that all groups of a memory pool share; None if each group has its own."""
    xon: int = 0
    xon_offset: int | None = None
    """Distance in bytes below the limit at which a group is resumed; None for two packets."""

    @property
    def text(self) -> str:
        """Return the numbers in which candidate settings differ, in one line."""
        alpha = self.alpha
        share = f"α {alpha:g}" if alpha >= 1 else f"α 1/{1 / alpha:g}"
        limit = share if self.limit is None else f"limit {size(self.limit)}"
        own = "as needed" if self.headroom is None else size(self.headroom)
        pool = "" if self.pool is None else f", pool of headroom {size(self.pool)}"
        return f"PFC {limit}, headroom {own}{pool}"

    def table(self) -> dict[str, Any]:
        """Return the keys of `switch.lossless` that do not depend on the network."""
        limit = {"alpha": self.alpha} if self.limit is None else {"limit": f"{self.limit}B"}
        offset = {} if self.xon_offset is None else {"xon_offset": f"{self.xon_offset}B"}
        return {**limit, "reserved": f"{self.reserved}B", "xon": f"{self.xon}B", **offset}


KEYS = ("alpha", "limit", "reserved", "headroom", "headroom_pool", "xon", "xon_offset", "watchdog")
"""Keys of `[lossless]` in a fabric's file; they have the same meaning in a scenario's `switch.lossless`.

`watchdog` is rejected; the error states the reason.
"""


def groups_of(table: Table) -> Groups:
    """Read the priority groups of a fabric's file.

    Raises
    ------
    ShallowsError
        If a value is invalid, or both `alpha` and `limit` are given.
    """
    given = table.content
    if "watchdog" in given:
        raise ShallowsError(
            f"{table.place}: watchdog is not simulated: its times are longer than the simulated traffic, and "
            "without a faulty NIC it never acts",
            "remove the key; docs/lossless.md simulates PFC storms and watchdogs with `shallows run`",
        )

    def amount(key: str, least: int = 0) -> int | None:
        return table.size(key, least, 10**12) if key in given else None

    if "alpha" in given and "limit" in given:
        raise table.wrong("limit", "left out, because alpha is given")
    alpha = table.number("alpha", ALPHAS[0], ALPHAS[-1], 1.0)
    if alpha not in ALPHAS:
        raise table.wrong("alpha", "a power of two from 1/128 to 8")
    return Groups(
        alpha,
        amount("limit", 1),
        amount("reserved") or 0,
        None if given.get("headroom") == "auto" else amount("headroom", 1),
        amount("headroom_pool", 1),
        amount("xon") or 0,
        amount("xon_offset"),
    )


@dataclass(frozen=True)
class Wire:
    """A link and the largest packet on it."""

    rate: int
    """Rate in bit/s."""
    delay_ps: int
    """Delay of one direction in picoseconds."""
    mtu: int
    """Largest IP packet in bytes."""


@cache
def headroom(wire: Wire, cell: int | None = None, response_ps: int | None = None) -> dict[str, int] | None:
    """Return the headroom that a priority group needs and its terms in bytes, as `shallows plan` shows them.

    With `cell`, packets occupy whole cells of this size. `response_ps` is the response time; its default is
    that of IEEE 802.3. The result is None if the engine rejects the link, for example because IEEE
    802.3 has no response time for its rate.

    >>> headroom(Wire(100 * 10**9, 500_000, 1500))["needed_bytes"]
    42415
    """
    response = {} if response_ps is None else {"response": f"{response_ps}ps"}
    found = _parsed(wire, 2, "1TB", {"classes": [0], **response}, cell=cell)
    if found is None:
        return None
    (row,) = json.loads(found.headrooms())
    return dict(row)


@cache
def thresholds(
    wire: Wire, ports: int, shared: int, groups: Groups, classes: int, kmin: int, cell: int | None = None
) -> dict[str, Any] | None:
    """Return the backlogs at which a switch pauses senders, and whether marks at `kmin` precede these pauses.

    The switch has equal ports, only lossless classes, and `shared` bytes of shared memory. The result is a
    row of the engine's table *Pauses (PFC)*; None if the engine rejects the switch.

    >>> row = thresholds(Wire(100 * 10**9, 500_000, 1500), 4, 8_000_000, Groups(), 1, 2_000_000)
    >>> row["mark_below_bytes"], row["levels"][-1]["queue_bytes"]
    (1000000, 6000000)
    """
    least = cell or 1
    own = ports * classes * (_cells(groups.reserved, least) + least)
    table = {**groups.table(), "classes": list(range(classes)), "headroom": f"{least}B"}
    found = _parsed(wire, ports, f"{shared + own}B", table, cell=cell, kmin=kmin)
    if found is None:
        return None
    (row,) = json.loads(found.pause_thresholds())
    return dict(row)


def _parsed(
    wire: Wire, hosts: int, pool: str, lossless: Mapping[str, Any], cell: int | None, kmin: int | None = None
) -> _core.Experiment | None:
    """Return the scenario of one switch; None if the engine rejects it."""
    document = {
        "name": "lossless",
        "topology": {
            "kind": "star",
            "hosts": hosts,
            "rate": f"{wire.rate}bps",
            "link_delay": f"{wire.delay_ps}ps",
            "mtu": wire.mtu,
            "framing": FRAMING,
        },
        "host": {"jitter": "off"},
        "switch": {
            "buffer": {
                "kind": "dynamic-threshold",
                "pool": pool,
                **({} if cell is None else {"cell": f"{cell}B"}),
            },
            "markers": [] if kmin is None else [{"kind": "threshold", "k": f"{kmin}B", "at": "enqueue"}],
            "lossless": dict(lossless),
        },
        "stop": {"at": "1us"},
        "workload": [{"kind": "long-lived", "senders": 0, "receivers": 1}],
    }
    try:
        return _core.parse(toml_document(document) + "\n", "lossless.toml", str(Path()), [], None)
    except ScenarioError:
        return None


def _cells(size: int, cell: int) -> int:
    return -(-size // cell) * cell
