"""The network of a scenario as boxes and links: hosts are told apart only where few of them differ."""

import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from shallows.quantity import parse_rate, parse_time, rate

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
class Network:
    """Switches, boxes of hosts with the number in each, and what connects them."""

    switches: list[str]
    hosts: dict[str, int]
    links: Counter[Link] = field(default_factory=Counter)

    def link(self, a: str, b: str, rate: str, delay: str, count: int = 1) -> None:
        """Connect two boxes."""
        self.links[Link((a, b), say_rate(rate), say_time(delay))] += count


def read(topology: Mapping[str, Any]) -> Network:
    """The network of a resolved scenario's topology."""
    host_rate, delay = topology["rate"], topology["link_delay"]
    match topology["kind"]:
        case "star":
            count = topology["hosts"]
            name = _range("host", 0, count)
            network = Network(["switch0"], {name: count})
            network.link("switch0", name, host_rate, delay, count)
        case "dumbbell":
            left, right = topology["left"], topology["right"]
            sides = {_range("host", 0, left): left, _range("host", left, left + right): right}
            network = Network(["left", "right"], sides)
            for switch, hosts in zip(network.switches, sides, strict=True):
                network.link(switch, hosts, host_rate, delay, sides[hosts])
            network.link("left", "right", topology["bottleneck_rate"], topology["bottleneck_delay"])
        case "leaf-spine":
            each = topology["hosts_per_leaf"]
            leaves = [f"leaf{number}" for number in range(topology["leaves"])]
            spines = [f"spine{number}" for number in range(topology["spines"])]
            below = {_range("host", i * each, (i + 1) * each): each for i in range(len(leaves))}
            network = Network([*leaves, *spines], below)
            for leaf, box in zip(leaves, below, strict=True):
                network.link(leaf, box, host_rate, delay, each)
                for spine in spines:
                    network.link(leaf, spine, topology["uplink_rate"], topology["uplink_delay"])
        case _:
            network = _graph(topology)
    return network


def _range(name: str, start: int, end: int) -> str:
    return f"{name}{start}" if end - start == 1 else f"{name}{start} – {name}{end - 1}"


def _graph(topology: Mapping[str, Any]) -> Network:
    """Hosts with the same link to the same switch are one box; of many, all hosts of a switch."""
    hosts = [name for text in topology["hosts"] for name in names(text)]
    switches = [name for text in topology["switches"] for name in names(text)]
    mine: dict[str, tuple[str, str, str]] = {}
    known, everybody = {*hosts}, sorted([*hosts, *switches])
    network = Network(switches, {})
    for entry in topology["links"]:
        ends = [_matching(end, everybody) for end in entry["between"]]
        width, delay = entry.get("rate", topology["rate"]), entry.get("delay", topology["link_delay"])
        for a, b in product(*ends):
            if a in known or b in known:
                host, other = (a, b) if a in known else (b, a)
                mine[host] = (other, width, delay)  # a host has exactly one
            else:
                network.link(a, b, width, delay)
    few = len({*mine.values()}) <= MOST_COLUMNS
    alike: dict[tuple[str, ...], list[str]] = {}
    for host in hosts:
        alike.setdefault(mine[host] if few else mine[host][:1], []).append(host)
    for members in alike.values():
        name = members[0] if len(members) == 1 else f"{members[0]} – {members[-1]}"
        network.hosts[name] = len(members)
        (switch, *_), rates, delays = mine[members[0]], *({mine[host][i] for host in members} for i in (1, 2))
        link = Link((switch, name), _span(rates, parse_rate, say_rate), _span(delays, parse_time, say_time))
        network.links[link] += len(members)
    return network


def _span(texts: Collection[str], size: Callable[[str], float], say: Callable[[str], str]) -> str:
    """A rate or a delay of several links: from the lowest to the highest."""
    low, high = min(texts, key=size), max(texts, key=size)
    return say(low) if size(low) == size(high) else f"{say(low)} – {say(high)}"


def _matching(wanted: str, everybody: Sequence[str]) -> Sequence[str]:
    """What an end of a link stands for: a name, a range, or with `*` those of the ordered names that match.

    >>> _matching("a*2", ["a1", "a12", "a2", "b2"]), _matching("a{1..3}", [])
    (['a12', 'a2'], ['a1', 'a2'])
    """
    head, star, _ = wanted.partition("*")
    if not star:
        return names(wanted)
    # Of thousands of links each looks only at names that begin as it does.
    alike = everybody[bisect_left(everybody, head) : bisect_left(everybody, head + chr(sys.maxunicode))]
    _, *pieces, tail = wanted.split("*")
    return [name for name in alike if _goes_on(name, len(head), pieces, tail)]


def _goes_on(name: str, place: int, pieces: Sequence[str], tail: str) -> bool:
    """Whether from there on a name has these pieces, each at its earliest place, and then ends so."""
    for piece in pieces:
        found = name.find(piece, place)
        if found < 0:
            return False
        place = found + len(piece)
    return name[place:].endswith(tail)


def names(text: str) -> Sequence[str]:
    """Names that `"s1-{0..10}"` stands for: `s1-0` to `s1-9`."""
    head, brace, rest = text.partition("{")
    if not brace:
        return [text]
    inside, _, tail = rest.partition("}")
    first, _, end = inside.partition("..")
    return [f"{head}{number}{tail}" for number in range(int(first), int(end))]


def say_rate(text: str) -> str:
    """A rate of a scenario as one writes it."""
    return rate(parse_rate(text))


def say_time(text: str) -> str:
    """A time of a scenario as one writes it.

    >>> say_time("10us"), say_time("1.5ms")
    ('10 µs', '1.5 ms')
    """
    number = text.rstrip("smunp")
    return f"{number} {text[len(number) :].replace('u', 'µ')}"
