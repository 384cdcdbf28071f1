"""Ideal completion times of a finished run's flows: those in a max-min fair fluid network without queues.

Flows are fluid and share links max-min fairly at any time. A flow uses all spines at once, so only the links
of its hosts and the total uplink capacity of its leaves limit it. Its completion time is its fluid time plus
the latency of its path (`ideal_us` of flows.parquet minus the time to send its bytes).
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
"""Minimum time between two computations of shares: about a hundredth of the time of 1 MB at 10 Gbit/s."""


@dataclass(frozen=True)
class Fluid:
    """Flows with the links that limit them."""

    arrivals_s: "Numbers"
    """Arrival times in ascending order."""
    bits: "Numbers"
    """Size on the wire in bits."""
    links: "Indices"
    """Link numbers of each flow, one row per flow; a number may repeat."""
    capacities_bps: "Numbers"
    """Capacity in bit/s by link number."""

    @property
    def digest(self) -> bytes:
        """Return a digest of the flows, which is the same for all schemes with one seed."""
        parts = (self.arrivals_s, self.bits, self.links, self.capacities_bps)
        return hashlib.sha256(b"".join(part.tobytes() for part in parts)).digest()


_SCHEDULES: "dict[bytes, Numbers]" = {}
"""Computed schedules by digest of the flows."""


def completion_us(run: Run) -> "Numbers":
    """Return the ideal completion time of each flow with a size, in order of arrival, in µs.

    Raises
    ------
    ShallowsError
        If the topology is neither a star nor a leaf-spine, or has links that differ.
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
    """Return the time of each flow from the beginning of its service to its end, in seconds.

    Rates change when a flow arrives or ends. With `step_s` they change at most once per step, and a flow
    that arrives during a step is served from the next step on.
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
    """Return the max-min fair rates of flows over these links.

    Examples
    --------
    Two flows share link 0; one of them also crosses link 1, which carries less.

    >>> import numpy as np
    >>> shares(np.array([[0, 0], [0, 1]]), np.array([10.0, 2.0])).tolist()
    [8.0, 2.0]
    """
    import numpy as np

    count, links = len(capacities_bps), np.sort(links, axis=1)
    # A flow that lists a link twice uses it once.
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
        # A link is the bottleneck of all its flows if none of them gets a lower rate from another link.
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
    """Return each flow's links, and the capacities of all links: of hosts first, then of leaves' uplinks."""
    import numpy as np

    kind = topology["kind"]
    if kind not in {"star", "leaf-spine"} or topology["links"]:
        raise ShallowsError(
            "the ideal completion time is defined for a star or a leaf-spine without topology.links, "
            f"got a {kind}{' with topology.links' if topology['links'] else ''}",
            "use another topology or another metric",
        )
    built = network(topology)
    hosts, leaves = len(built.hosts), built.tiers.count(0)
    below, above = built.cables[:hosts], built.cables[hosts:]
    # Leaves are numbered before spines.
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
