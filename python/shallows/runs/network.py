"""Network of a scenario as the engine builds it: nodes and the cables between them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from shallows import _core


class Cable(NamedTuple):
    """Link between two nodes, in both directions."""

    one: int
    """Number of the node at one end, the host if there is one. Hosts are numbered before switches."""
    other: int
    rate_bps: int
    delay_ps: int
    """Propagation delay, one way."""


@dataclass(frozen=True)
class Network:
    """Nodes and cables of a network. Nodes are in the order of their numbers; cables of hosts come first."""

    hosts: list[str]
    switches: list[str]
    tiers: list[int]
    """Number of switches between each switch and the nearest host."""
    cables: list[Cable]
    ports: dict[str, str]
    """Kind of each port by name; ports of hosts come first, then those of each switch."""
    host_delay_ps: int
    """Delay of each packet in its sending host, and again in its receiving host."""

    def delay_ps(self, cable: Cable) -> int:
        """Return the delay of a packet over a cable, including the delay in a host at either end."""
        return cable.delay_ps + (self.host_delay_ps if cable.one < len(self.hosts) else 0)


def ends(port: str) -> tuple[str, str]:
    """Return the names of the two nodes of a port; the second of two parallel links is called `a->b#2`.

    >>> ends("a->b"), ends("a->b#2")
    (('a', 'b'), ('a', 'b'))
    """
    one, other = port.partition("#")[0].split("->")
    return one, other


def opposite(port: str) -> str:
    """Return the name of the port at the other end of a link.

    >>> opposite("a->b"), opposite("a->b#2")
    ('b->a', 'b->a#2')
    """
    name, sign, number = port.partition("#")
    one, other = name.split("->")
    return f"{other}->{one}{sign}{number}"


def network(topology: Mapping[str, Any]) -> Network:
    """Return the network that the engine builds for the `topology` of a resolved scenario.

    >>> pair = network({"kind": "star", "hosts": 2, "rate": "10Gbps", "link_delay": "1us"})
    >>> pair.hosts, pair.switches, pair.tiers, pair.cables[1]
    (['host0', 'host1'], ['switch0'], [0], Cable(one=1, other=2, rate_bps=10000000000, delay_ps=1000000))
    >>> list(pair.ports.items())[1:3]
    [('host1->switch0', 'nic'), ('switch0->host0', 'to-host')]

    Raises
    ------
    ScenarioError
        If the engine rejects the topology.
    """
    told = json.loads(_core.network(json.dumps(topology)))
    cables = [Cable(*each) for each in told["cables"]]
    return Network(
        told["hosts"], told["switches"], told["tiers"], cables, dict(told["ports"]), told["host_delay"]
    )
