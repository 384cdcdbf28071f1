"""How fast the flows of a finished run could have been if nobody queued: a bound, which no scheme attains.

Senders know all and share links max-min fairly at any time, as a fluid. Paths are not those of the run: a
flow uses all spines at once, so that only a host's links and those of a leaf together limit it. Each flow
takes as long as its fluid needs, and the latency of its path (`ideal_us` of flows.parquet, beyond its bytes).
"""

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shallows.errors import ShallowsError
from shallows.runs.network import network
from shallows.runs.results import Run
from shallows.series.port_measures import payload

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]
    Indices = NDArray[np.int64]

STEP_S = 10e-6
"""Shares are computed anew so often: a hundredth of what a megabyte takes at 10 Gbit/s."""


@dataclass(frozen=True)
class Fluid:
    """Flows with all that limits them."""

    arrivals_s: "Numbers"
    """In order."""
    bits: "Numbers"
    """On the wire."""
    links: "Indices"
    """Of each flow, the numbers of its links; a number may repeat."""
    capacities_bps: "Numbers"
    """By the number of the link."""

    @property
    def digest(self) -> bytes:
        """The same for the same flows: all schemes of one seed meet them."""
        parts = (self.arrivals_s, self.bits, self.links, self.capacities_bps)
        return hashlib.sha256(b"".join(part.tobytes() for part in parts)).digest()


_SCHEDULES: "dict[bytes, Numbers]" = {}
"""What was computed before, by the flows."""


def completion_us(run: Run) -> "Numbers":
    """Of each flow with a size, in order of arrival.

    Raises
    ------
    ShallowsError
        If the topology is a graph, or has links that differ.
    """
    import numpy as np

    topology = run.scenario["topology"]
    mss, framing = payload(run.scenario), topology["framing"]
    header = topology["mtu"] - mss
    flows = run.flows.drop_nulls("size_bytes").sort("arrival_us", maintain_order=True)
    sizes = flows["size_bytes"].cast(float).to_numpy()
    bits = 8 * (sizes + np.ceil(sizes / mss) * (header + framing))
    ends = [flows[name].cast(int).to_numpy() for name in ("source", "destination")]
    links, capacities = _links(topology, *ends)
    arrivals_s = flows["arrival_us"].cast(float).to_numpy() / 1e6
    fluid = Fluid(arrivals_s, bits, links, capacities)
    if fluid.digest not in _SCHEDULES:
        _SCHEDULES[fluid.digest] = schedule(fluid, step_s=STEP_S)
    times_us = 1e6 * _SCHEDULES[fluid.digest]
    alone_us = 1e6 * bits / capacities[links].min(axis=1)
    return np.asarray(times_us + flows["ideal_us"].cast(float).to_numpy() - alone_us)


def schedule(fluid: Fluid, step_s: float = 0.0) -> "Numbers":
    """How long each flow takes, in seconds, from when it is served first.

    Shares change with each arrival and each end; with `step_s`, at most so often, and a flow that arrives
    between two such times is served from the second on.
    """
    import numpy as np

    left, done, begun = fluid.bits.copy(), np.zeros(len(fluid.bits)), np.zeros(len(fluid.bits))
    active, following, now = np.empty(0, dtype=np.int64), 0, 0.0
    while following < len(left) or len(active):
        if not len(active):
            now = max(now, fluid.arrivals_s[following])
        arrived = int(np.searchsorted(fluid.arrivals_s, now, side="right"))
        begun[following:arrived] = now
        active, following = np.append(active, np.arange(following, arrived)), arrived
        rates = shares(fluid.links[active], fluid.capacities_bps)
        needed = left[active] / rates
        until = now + needed.min()
        if following < len(left):
            until = min(until, fluid.arrivals_s[following])
        until = max(until, now + step_s)
        ended = needed <= (until - now) * (1 + 1e-9)
        done[active[ended]] = now + needed[ended]
        left[active] -= rates * (until - now)
        active, now = active[~ended], until
    return np.asarray(done - begun)


def shares(links: "Indices", capacities_bps: "Numbers") -> "Numbers":
    """Max-min fair rates of flows over these links.

    Examples
    --------
    Two flows share link 0; one of them also crosses link 1, which carries less.

    >>> import numpy as np
    >>> shares(np.array([[0, 0], [0, 1]]), np.array([10.0, 2.0])).tolist()
    [8.0, 2.0]
    """
    import numpy as np

    count, links = len(capacities_bps), np.sort(links, axis=1)
    # A link that a flow names twice carries it once.
    once = np.column_stack([np.ones(len(links), dtype=bool), links[:, 1:] != links[:, :-1]])
    links = np.where(once, links, count)
    free = np.append(capacities_bps, np.inf)
    rates, waiting = np.zeros(len(links)), np.arange(len(links))
    while len(waiting):
        mine = links[waiting]
        crossing = np.bincount(mine.ravel(), minlength=count + 1)
        fair = free / np.maximum(crossing, 1)
        fair[count] = np.inf
        least = fair[mine].min(axis=1)
        # A link is what limits all its flows if none of them gets less elsewhere.
        lowest = np.full(count + 1, np.inf)
        for column in mine.T:
            np.minimum.at(lowest, column, least)
        settled = (lowest[mine] >= fair[mine] * (1 - 1e-9)).any(axis=1)
        rates[waiting[settled]] = least[settled]
        used = np.bincount(
            mine[settled].ravel(), np.repeat(least[settled], mine.shape[1]), minlength=count + 1
        )
        free = np.maximum(free - used, 0.0)
        free[count] = np.inf
        waiting = waiting[~settled]
    return rates


def _links(topology: dict, sources: "Indices", destinations: "Indices") -> "tuple[Indices, Numbers]":  # type: ignore[type-arg]
    """Of each flow what it crosses: its hosts' links and, between leaves, those of a leaf together."""
    import numpy as np

    kind = topology["kind"]
    if kind not in {"star", "leaf-spine"} or topology["links"]:
        raise ShallowsError(
            f"there is no ideal of a {kind} with such links", "take a star or a leaf-spine of equal links"
        )
    built = network(topology)
    hosts, leaves = len(built.hosts), built.tiers.count(0)
    below, above = built.cables[:hosts], built.cables[hosts:]
    # Leaves are the first switches.
    leaf = np.array([cable.other - hosts for cable in below])
    trunks = np.zeros(leaves)
    for cable in above:
        trunks[cable.one - hosts] += cable.rate_bps
    there, back = leaf[sources], leaf[destinations]
    up = np.where(there != back, 2 * hosts + there, sources)
    down = np.where(there != back, 2 * hosts + leaves + back, sources)
    rates = np.array([float(cable.rate_bps) for cable in below])
    capacities = np.concatenate([rates, rates, trunks, trunks])
    return np.column_stack([sources, hosts + destinations, up, down]), capacities
