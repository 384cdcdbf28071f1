"""A network as boxes and links between them: hosts are told apart only where few of them differ."""

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from shallows.quantity import rate, time
from shallows.runs.network import Network

MOST_COLUMNS = 5
"""Boxes beside each other; of more, the first ones and the last are drawn."""


@dataclass(frozen=True)
class Link:
    """Links alike between two boxes, or a group that is drawn as one."""

    ends: tuple[str, str]
    rate: str
    """As it is shown; of a group from the lowest to the highest."""
    delay: str


@dataclass
class Boxes:
    """Switches, boxes of hosts with the number in each, and what connects them."""

    tiers: dict[str, int]
    """Of each switch how far it is from the nearest host."""
    hosts: dict[str, int]
    links: Counter[Link] = field(default_factory=Counter)


def boxes(network: Network) -> Boxes:
    """Hosts with the same link to the same switch are one box; of many, all hosts of a switch."""
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
    """A rate or a delay of several links: from the lowest to the highest."""
    low, high = min(values), max(values)
    return say(low) if low == high else f"{say(low)} – {say(high)}"
