"""Causes of pauses: which switch was congested first, and which ports its pauses reached."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from shallows.runs.network import ends, opposite
from shallows.runs.results import Run
from shallows.series.inputs import table
from shallows.series.pauses import Pauses, Sender, pauses_of


@dataclass(frozen=True)
class Paused:
    """A port that was paused for one class, and the main cause of its pauses."""

    sender: Sender
    pauses: int
    paused_us: float
    cause: Sender | None
    """Port of the pausing switch that was paused itself; None if the switch's own queue was the cause."""

    @property
    def node(self) -> str:
        """Node that was paused."""
        return ends(self.sender.port)[0]

    @property
    def by(self) -> str:
        """Node that sent the pauses."""
        return ends(self.sender.port)[1]


@dataclass(frozen=True)
class PauseTree:
    """Ports that were paused for one class, with the cause of each port's pauses."""

    lossless: int
    congested: Mapping[str, list[str]]
    """Congested ports of each switch that paused others because of its own queues.

    If a host paused its switch, the host's congested port is the switch's port to the host.
    """
    paused: list[Paused]

    def after(self, cause: Sender) -> list[Paused]:
        """Return the ports that were paused because of a paused port, longest pause first."""
        return [each for each in self.paused if each.cause == cause]

    def roots(self) -> dict[str, list[Paused]]:
        """Return a dict from the name of each congested node to the ports that its own congestion paused."""
        found: dict[str, list[Paused]] = {switch: [] for switch in self.congested}
        for each in self.paused:
            if each.cause is None:
                found[each.by].append(each)
        return found


def pause_trees(run: Run) -> list[PauseTree]:
    """Return the tree of pauses of each lossless class that was paused.

    A switch pauses a port because one of the switch's own ports is paused at that time, or else because of
    its own queues. The most frequent cause of a port's pauses is the cause of the port. A pause by a host
    has no further cause.
    """
    found, hosts, lags = pauses_of(run), _hosts(run), _lags(run)
    trees = []
    for lossless in sorted({sender.lossless for sender in found}):
        ports = {sender: pauses for sender, pauses in found.items() if sender.lossless == lossless}
        paused = [
            Paused(
                sender,
                len(pauses.starts),
                float((pauses.ends - pauses.starts).sum()),
                None if ends(sender.port)[1] in hosts else _cause(sender, ports, lags.get(sender.port, 0.0)),
            )
            for sender, pauses in ports.items()
        ]
        paused = _without_cycles(sorted(paused, key=lambda each: -each.paused_us))
        roots = dict.fromkeys(each.by for each in paused if each.cause is None)
        queues = {switch: _congested(run, switch, ports, hosts) for switch in roots}
        trees.append(PauseTree(lossless, queues, paused))
    return trees


def _hosts(run: Run) -> set[str]:
    """Return the names of the hosts."""
    kinds = table(run, "pauses").select("port", "kind").iter_rows()
    return {ends(port)[0] for port, kind in kinds if kind == "nic"}


def _lags(run: Run) -> dict[str, float]:
    """Return the time in µs from the decision to pause each port until the pause takes effect."""
    times: dict[str, float] = {}
    for row in run.summary.get("headroom", []):
        waits = row["own_bytes"] + row["cable_bytes"] / 2 + row["response_bytes"]
        times[row["port"]] = max(times.get(row["port"], 0.0), waits * 8e6 / row["rate_bps"])
    lags = {}
    for port, kind in table(run, "pauses").select("port", "kind").unique().iter_rows():
        lags[opposite(port)] = times.get(kind, 0.0)
    return lags


def _cause(sender: Sender, ports: Mapping[Sender, Pauses], lag_us: float) -> Sender | None:
    """Return the port whose pause is the most frequent cause of the pauses of `sender`."""
    import numpy as np

    by = ends(sender.port)[1]
    decided = ports[sender].starts - lag_us
    causes = {
        other: pauses.cover(decided)
        for other, pauses in ports.items()
        if other.port.startswith(f"{by}->") and other != sender
    }
    if not causes:
        return None
    alone = int((~np.any(list(causes.values()), axis=0)).sum())
    most = max(causes, key=lambda other: int(causes[other].sum()))
    return most if causes[most].sum() > alone else None


def _without_cycles(paused: list[Paused]) -> list[Paused]:
    """Return the ports without cycles of causes.

    A port has no cause if the chain of its causes leads back to it.
    """
    causes = {each.sender: each.cause for each in paused}
    for sender in causes:
        seen = {sender}
        cause = causes[sender]
        while cause is not None and cause not in seen:
            seen.add(cause)
            cause = causes[cause]
        if cause == sender:
            causes[sender] = None
    return [Paused(each.sender, each.pauses, each.paused_us, causes[each.sender]) for each in paused]


def _congested(run: Run, switch: str, ports: Mapping[Sender, Pauses], hosts: Collection[str]) -> list[str]:
    """Return the ports of a switch whose backlog reached the level at which the switch pauses senders.

    Ports that were paused themselves do not count. If no port reached this level, the port with the largest
    backlog is returned. For a host, the result is the switch's port to the host.
    """
    import polars as pl

    paused = {sender.port for sender in ports}
    if switch in hosts:
        return sorted(port for port in paused if port.endswith(f"->{switch}"))
    backlogs = (
        run.counters.filter(pl.col("port").str.starts_with(f"{switch}->") & ~pl.col("port").is_in(paused))
        .group_by("port", maintain_order=True)
        .agg(pl.col("max_backlog_bytes").sum(), pl.col("kind").first())
        .sort("max_backlog_bytes", descending=True, maintain_order=True)
    )
    if backlogs.is_empty():
        return []
    kinds = set(backlogs["kind"])
    levels = [
        level["group_bytes"]
        for row in run.summary.get("pause_thresholds", [])
        if row["port"] in kinds
        for level in row["levels"]
    ]
    least = min(levels, default=0)
    full = backlogs.filter(pl.col("max_backlog_bytes") >= least)["port"].to_list()
    return full or backlogs["port"].to_list()[:1]
