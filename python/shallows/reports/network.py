"""A network as boxes and links for a drawing; hosts with equal links share a box."""

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from shallows.quantity import rate, time
from shallows.runs.network import Network

MOST_COLUMNS = 5
"""Maximum number of boxes side by side; with more, only the first boxes and the last are drawn."""


@dataclass(frozen=True)
class Link:
    """A drawn line: all links between two boxes."""

    ends: tuple[str, str]
    rate: str
    """Rate as text; for a group with different rates, from the lowest to the highest."""
    delay: str


@dataclass
class Boxes:
    """Switches, boxes of hosts with the number of hosts in each, and links."""

    tiers: dict[str, int]
    """Distance of each switch from the nearest host."""
    hosts: dict[str, int]
    links: Counter[Link] = field(default_factory=Counter)


def boxes(network: Network) -> Boxes:
    """Return the boxes of a network.

    Hosts with equal links to the same switch share a box. If this gives too many boxes, all hosts of a switch
    share one box.
    """
    found = Boxes(dict(zip(network.switches, network.tiers, strict=True)), {})
    names = [*network.hosts, *network.switches]
    mine: dict[str, tuple[str, int, int]] = {}
    for one, other, width, delay in network.cables:
        if one < len(network.hosts):
            mine[names[one]] = (names[other], width, delay)
        else:
            found.links[Link((names[one], names[other]), rate(width), time(delay))] += 1
    few = len({*mine.values()}) <= MOST_COLUMNS
    alike: dict[tuple[str | int, ...], list[str]] = {}
    for host in network.hosts:
        alike.setdefault(mine[host] if few else mine[host][:1], []).append(host)
    for members in alike.values():
        name = members[0] if len(members) == 1 else f"{members[0]} – {members[-1]}"
        found.hosts[name] = len(members)
        switches, rates, delays = zip(*(mine[host] for host in members), strict=True)
        found.links[Link((switches[0], name), _span(rates, rate), _span(delays, time))] += len(members)
    return found


def _span(values: Collection[int], say: Callable[[int], str]) -> str:
    """Return the rates or delays of several links as text, from the lowest to the highest."""
    low, high = min(values), max(values)
    return say(low) if low == high else f"{say(low)} – {say(high)}"
