"""Victim flows: flows that were paused although no port of their paths was congested."""

from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property

from shallows.runs.network import Network, ends, network
from shallows.runs.results import Run
from shallows.series.flow_series import end_us
from shallows.series.pause_tree import PauseTree
from shallows.series.pauses import pauses_of


@dataclass(frozen=True)
class Victim:
    """A flow that was paused without congestion on its path."""

    flow: int
    source: str
    destination: str
    paused_us: float
    """Longest time for which one port of the flow's path was paused."""
    lasted_us: float


@dataclass(frozen=True)
class Victims:
    """Number of paused flows in one lossless class, and the victims among them."""

    lossless: int
    flows: int
    paused: int
    """Number of flows for which a port of the path was paused during the flow."""
    victims: list[Victim]
    """Paused flows without a congested port on any of their paths, longest pause first."""


@dataclass
class _Paths:
    """Shortest paths of a network, which its routes follow."""

    network: Network
    distances_to: dict[int, list[int]] = field(default_factory=dict)

    @cached_property
    def names(self) -> list[str]:
        return [*self.network.hosts, *self.network.switches]

    @cached_property
    def numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.names)}

    @cached_property
    def neighbours(self) -> list[list[int]]:
        found: list[list[int]] = [[] for _ in self.names]
        for cable in self.network.cables:
            found[cable.one].append(cable.other)
            found[cable.other].append(cable.one)
        return found

    def distances(self, node: int) -> list[int]:
        """Return the number of links from each node to `node`; hosts do not forward."""
        if node not in self.distances_to:
            far = len(self.names)
            known = [far] * far
            known[node] = 0
            waiting = deque([node])
            while waiting:
                at = waiting.popleft()
                if at < len(self.network.hosts) and at != node:
                    continue
                for other in self.neighbours[at]:
                    if known[other] == far:
                        known[other] = known[at] + 1
                        waiting.append(other)
            self.distances_to[node] = known
        return self.distances_to[node]

    def certain(self, source: int, destination: int) -> list[str]:
        """Return the ports that a flow certainly crosses.

        These are the ports up to the first node with several next hops, and the last port. Each of several
        parallel links counts as a next hop.
        """
        distances, at, ports = self.distances(destination), source, []
        while at != destination:
            onward = [other for other in self.neighbours[at] if distances[other] == distances[at] - 1]
            if len(onward) > 1:
                (last,) = self.neighbours[destination]
                ports.append(f"{self.names[last]}->{self.names[destination]}")
                break
            ports.append(f"{self.names[at]}->{self.names[onward[0]]}")
            at = onward[0]
        return ports

    def may_cross(self, source: int, destination: int, port: str) -> bool:
        """Return whether a shortest path leads through a port."""
        one, other = (self.numbers[name] for name in ends(port))
        to_port, rest = self.distances(one)[source], self.distances(destination)[other]
        return to_port + 1 + rest == self.distances(destination)[source]


def victims(run: Run, tree: PauseTree) -> Victims:
    """Return the paused flows of the tree's class, and the victim flows among them.

    Flows must take shortest paths, so the network must have no routing loops.
    """
    import numpy as np
    import polars as pl

    end = end_us(run)
    flows = run.flows.filter(pl.col("class").is_in(_dscps(run, tree.lossless))).with_columns(
        (pl.col("arrival_us") + pl.col("fct_us")).fill_null(end).clip(upper_bound=end).alias("end_us")
    )
    paths = _Paths(network(run.scenario["topology"]))
    congested: Collection[str] = [port for ports in tree.congested.values() for port in ports]
    pauses = {
        sender.port: each for sender, each in pauses_of(run).items() if sender.lossless == tree.lossless
    }
    paused, found = 0, []
    for (source, destination), between in flows.group_by("source", "destination", maintain_order=True):
        pair = int(str(source)), int(str(destination))
        starts, stops = (np.asarray(between[name]) for name in ("arrival_us", "end_us"))
        times = np.zeros(len(between))
        for port in paths.certain(*pair):
            if port in pauses:
                times = np.maximum(times, pauses[port].until(stops) - pauses[port].until(starts))
        paused += int((times > 0).sum())
        if not times.any() or any(paths.may_cross(*pair, port) for port in congested):
            continue
        source_name, destination_name = (paths.names[each] for each in pair)
        for flow, time, lasted in zip(between["flow"], times, stops - starts, strict=True):
            if time > 0:
                found.append(Victim(flow, source_name, destination_name, float(time), float(lasted)))
    found.sort(key=lambda victim: -victim.paused_us)
    return Victims(tree.lossless, len(flows), paused, found)


def _dscps(run: Run, lossless: int) -> list[int]:
    """Return the DSCPs of the packets in a lossless class."""
    classes = run.scenario["switch"]["lossless"].get("dscp_to_tc", {})
    return [dscp for dscp in range(64) if classes.get(str(dscp), dscp) == lossless]
