"""Marking thresholds of a port or pool, for figures and pages: K, or both ends of a ramp."""

from shallows.runs.pools import pool_of
from shallows.runs.recorded import ports_of
from shallows.runs.results import Run

Thresholds = list[tuple[str, float]]
"""Pairs of a name, such as `K`, and a backlog in bytes."""


def thresholds(run: Run, name: str) -> Thresholds:
    """Return the distinct thresholds of the markers of a port, its queues, or a pool.

    Markers that can never take effect are left out.
    """
    kinds = ports_of(run)
    is_port = name in kinds
    scopes = {"queue", "port"} if is_port else {"pool"}
    mine = {kinds[name]} if is_port else {kinds[port] for port, pool in pool_of(run).items() if pool == name}
    found: dict[tuple[str, float], None] = {}
    for curve in run.summary["marking_curves"]:
        if curve["scope"] in scopes and curve["port"] in mine and curve["can_fire"]:
            of = " of each queue" if curve["scope"] == "queue" and _queues(run) > 1 else ""
            low, high = float(curve["kmin"]["bytes"]), float(curve["kmax"]["bytes"])
            names = [("K", low)] if low == high else [("Kmin", low), ("Kmax", high)]
            found |= dict.fromkeys((f"{each}{of}", value) for each, value in names)
    return list(found)


def _queues(run: Run) -> int:
    """Return the number of queues of a switch port."""
    port = run.scenario.get("switch", {}).get("port") or {}
    queues = port.get("queues", 1)
    return queues if isinstance(queues, int) else len(queues)
