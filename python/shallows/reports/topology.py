"""Drawing of a network: tiers of switches, with hosts below.

It stays legible with thousands of hosts: hosts with equal links share a box, and long tiers omit their
middle.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from shallows.quantity import digits, parse_rate, rate, time
from shallows.reports.network import MOST_COLUMNS, Boxes, Link, boxes
from shallows.runs.network import Network

BOX_WIDTH, BOX_HEIGHT, GAP_X, GAP_Y, MARGIN = 104, 40, 18, 58, 20

CHARACTER = 6
"""Width of a character of a link's label."""


def draw(network: Network) -> str:
    """Return a drawing of a network as SVG text."""
    return _Drawing(boxes(network)).svg()


def describe(topology: Mapping[str, Any], network: Network) -> str:
    """Describe the topology of a resolved scenario in words."""
    kind, host_rate = topology["kind"], _rate(topology["rate"])
    differing = len(topology.get("links", [])) if kind != "graph" else 0
    but = f", but for {differing} links" if differing else ""
    match kind:
        case "star":
            shape = f"One switch with {topology['hosts']} hosts at {host_rate}{but}."
        case "dumbbell":
            shape = (
                f"Two switches with {topology['left']} and {topology['right']} hosts at {host_rate}, and "
                f"a link of {_rate(topology['bottleneck_rate'])} between them{but}."
            )
        case "leaf-spine":
            hosts, uplinks = topology["hosts_per_leaf"], topology["spines"]
            over = _oversubscription(hosts, topology["rate"], uplinks, topology["uplink_rate"])
            shape = (
                f"{topology['leaves']} leaves with {hosts} hosts each at {host_rate}, and {uplinks} spines "
                f"at {_rate(topology['uplink_rate'])}: {over}{but}."
            )
        case "fat-tree":
            half = topology["k"] // 2
            hosts, up = round(half * topology["oversubscription"]), topology["aggregation_rate"]
            over = _oversubscription(hosts, topology["rate"], half, up)
            shape = (
                f"{topology['k']} pods of {half} edge and {half} aggregation switches, with {hosts} hosts at "
                f"{host_rate} on each edge switch, and {half**2} core switches; links of {_rate(up)} "
                f"from edge to aggregation, and of {_rate(topology['core_rate'])} to the core: {over}{but}."
            )
        case _:
            switches = len(network.switches)
            shape = f"{len(network.hosts)} hosts and {switches} switch{'es' if switches > 1 else ''}."
    through = (
        f" Each packet spends {time(network.host_delay_ps)} in each host." if network.host_delay_ps else ""
    )
    return f"{shape} Packets of at most {topology['mtu']} bytes.{through}"


def _oversubscription(hosts: int, host_rate: str, uplinks: int, uplink_rate: str) -> str:
    """Describe a switch's oversubscription: the total rate of its hosts divided by that of its uplinks."""
    ratio = hosts * parse_rate(host_rate) / (uplinks * parse_rate(uplink_rate))
    return f"{'oversubscribed' if ratio > 1 else 'not oversubscribed'}, {digits(ratio)} to 1"


def _rate(text: str) -> str:
    return rate(parse_rate(text))


class _Drawing:
    """A drawing: positions of boxes, and their SVG."""

    def __init__(self, boxes: Boxes) -> None:
        self.boxes = boxes
        tiers: dict[int, list[str]] = {}
        for switch, tier in boxes.tiers.items():
            tiers.setdefault(tier, []).append(switch)
        self.tiers = [tiers[tier] for tier in sorted(tiers, reverse=True)]
        self.rows = [_cut(tier) for tier in self.tiers]
        drawn = {name for row in self.rows for name in row if name}
        # A switch that is not drawn has no drawn hosts.
        above = {link.ends[1]: link.ends[0] for link in boxes.links if link.ends[1] in boxes.hosts}
        seen = [box for box in boxes.hosts if above[box] in drawn]
        order = {name: place for place, name in enumerate(self.rows[-1])}
        seen.sort(key=lambda box: order.get(above[box], len(order)))
        hidden = len(boxes.hosts) - len(seen)
        below: list[str | None] = [*_cut(seen)] if len(seen) > MOST_COLUMNS else [*seen]
        if hidden and None not in below:
            place = self.rows[-1].index(None) if None in self.rows[-1] else len(below)
            below.insert(min(place, len(below)), None)
        self.rows.append(below)
        columns = max(len(row) for row in self.rows) * (BOX_WIDTH + GAP_X) - GAP_X
        labels = CHARACTER * max(len(f"{link.rate}, {link.delay}") for link in boxes.links)
        self.width = max(columns, labels) + 2 * MARGIN
        self.height = len(self.rows) * (BOX_HEIGHT + GAP_Y) - GAP_Y + 2 * MARGIN
        self.places = {
            name: (self._x(column, row), MARGIN + index * (BOX_HEIGHT + GAP_Y))
            for index, row in enumerate(self.rows)
            for column, name in enumerate(row)
            if name
        }

    def _x(self, column: int, row: Sequence[object]) -> float:
        free = self.width - 2 * MARGIN - len(row) * BOX_WIDTH
        return MARGIN + free * (column + 0.5) / len(row) + column * BOX_WIDTH

    def svg(self) -> str:
        """Return the drawing as SVG text; colours are defined by the page's style sheet."""
        parts = [
            f'<svg class="topology" viewBox="0 0 {self.width} {self.height}" width="{self.width}" role="img" '
            'aria-label="Topology: switches, hosts and the rates of their links">'
        ]
        usual = {True: self._usual(of_hosts=True), False: self._usual(of_hosts=False)}
        shown = [link for link in self.boxes.links if all(end in self.places for end in link.ends)]
        parts += [self._line(link, usual) for link in shown]
        parts += [self._rate_of_tier(index, usual) for index in range(len(self.rows) - 1)]
        parts += [self._label(link, usual) for link in shown if self._is_special(link, usual)]
        for index, row in enumerate(self.rows):
            whole = [box for box in self._tier(index) if box not in row]
            for column, name in enumerate(row):
                if name:
                    parts.append(self._box(name))
                else:
                    middle = self._x(column, row) + BOX_WIDTH / 2
                    height = MARGIN + index * (BOX_HEIGHT + GAP_Y) + BOX_HEIGHT / 2 + 4
                    parts.append(_text(middle, height, f"… {len(whole):,} more …"))
        return "".join([*parts, "</svg>"])

    def _tier(self, index: int) -> list[str]:
        if index == len(self.rows) - 1:
            return list(self.boxes.hosts)
        return self.tiers[index]

    def _usual(self, *, of_hosts: bool) -> tuple[str, str] | None:
        """Return the most frequent rate and delay of links to hosts, or between switches."""
        counts: Counter[tuple[str, str]] = Counter()
        for link, count in self.boxes.links.items():
            if (link.ends[1] in self.boxes.hosts) == of_hosts:
                counts[link.rate, link.delay] += count
        return counts.most_common(1)[0][0] if counts else None

    def _is_special(self, link: Link, usual: Mapping[bool, tuple[str, str] | None]) -> bool:
        of_hosts = link.ends[1] in self.boxes.hosts
        between_neighbours = self.places[link.ends[0]][1] == self.places[link.ends[1]][1]
        return between_neighbours or (link.rate, link.delay) != usual[of_hosts]

    def _line(self, link: Link, usual: Mapping[bool, tuple[str, str] | None]) -> str:
        (x1, y1), (x2, y2) = (self.places[end] for end in link.ends)
        if y1 == y2:
            (x1, x2) = (min(x1, x2) + BOX_WIDTH, max(x1, x2))
            ends = (x1, y1 + BOX_HEIGHT / 2, x2, y2 + BOX_HEIGHT / 2)
        else:
            (x1, y1), (x2, y2) = sorted([(x1, y1), (x2, y2)], key=lambda place: place[1])
            ends = (x1 + BOX_WIDTH / 2, y1 + BOX_HEIGHT, x2 + BOX_WIDTH / 2, y2)
        name = "special" if (link.rate, link.delay) != usual[link.ends[1] in self.boxes.hosts] else ""
        numbers = zip(("x1", "y1", "x2", "y2"), ends, strict=True)
        title = f"{' to '.join(link.ends)}: {link.rate}, {link.delay}"
        drawn = " ".join(f'{key}="{value:.1f}"' for key, value in numbers)
        return f'<line class="{name}" {drawn}><title>{escape(title)}</title></line>'

    def _label(self, link: Link, usual: Mapping[bool, tuple[str, str] | None]) -> str:
        expected = usual[link.ends[1] in self.boxes.hosts]
        differs = (
            link.delay if expected and link.rate == expected[0] and link.delay != expected[1] else link.rate
        )
        (x1, y1), (x2, y2) = (self.places[end] for end in link.ends)
        across, down = (x1 + x2 + BOX_WIDTH) / 2, (y1 + y2 + BOX_HEIGHT) / 2
        if y1 == y2:
            return _text(across, down - 26, differs, "rate")
        # Labels are nearer to the lower ends of links, where links are further apart.
        lower = max((y1, x1), (y2, x2))
        return _text((across + lower[1] + BOX_WIDTH / 2) / 2, down + 12, differs, "rate")

    def _rate_of_tier(self, index: int, usual: Mapping[bool, tuple[str, str] | None]) -> str:
        found = usual[index == len(self.rows) - 2]
        if not found:
            return ""
        down = MARGIN + index * (BOX_HEIGHT + GAP_Y) + BOX_HEIGHT + GAP_Y / 2 + 4
        return _text(self.width / 2, down, ", ".join(found), "rate")

    def _box(self, name: str) -> str:
        x, y = self.places[name]
        count = self.boxes.hosts.get(name, 0)
        what = "hosts" if count else "switch"
        middle = x + BOX_WIDTH / 2
        box = (
            f'<rect class="{what}" x="{x:.1f}" y="{y}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" '
            f'rx="5"><title>{escape(name)}</title></rect>'
        )
        if not count or count == 1:
            return box + _text(middle, y + BOX_HEIGHT / 2 + 4, _short(name))
        return box + _text(middle, y + 17, f"{count:,} hosts") + _text(middle, y + 31, _short(name), "names")


def _cut(names: Sequence[str]) -> list[str | None]:
    """Return all names, or if there are many, the first names, None for a gap, and the last name."""
    if len(names) <= MOST_COLUMNS:
        return [*names]
    return [*names[: MOST_COLUMNS - 2], None, names[-1]]


def _short(name: str) -> str:
    """Shorten a name so that it fits into a box."""
    return name if len(name) <= 19 else f"{name[:9]}…{name[-8:]}"


def _text(x: float, y: float, text: str, name: str = "name") -> str:
    return f'<text class="{name}" x="{x:.1f}" y="{y:.1f}" text-anchor="middle">{escape(text)}</text>'
