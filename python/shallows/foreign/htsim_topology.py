"""Fat trees of htsim, `.topo` (Broadcom/csg-htsim, `sim/datacenter/fat_tree_topology.cpp`)."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shallows.errors import ShallowsError
from shallows.foreign import writing
from shallows.foreign.ignoring import Ignored, LeftOut, how_to_ignore
from shallows.foreign.reading import Line, read_lines
from shallows.foreign.writing import Cable

HEADER = {"nodes": (2, 1 << 17), "tiers": (2, 3), "podsize": (1, 1 << 17)}
KEYS = {
    "downlink_speed_gbps": (1, 100_000),
    "radix_up": (1, 1 << 16),
    "radix_down": (1, 1 << 16),
    "oversubscribed": (1, 1 << 16),
    "bundle": (1, 1 << 10),
    "switch_latency_ns": (0, 10**12),
    "downlink_latency_ns": (1, 10**12),
}
"""Keys of a tier, with their ranges."""
MOST_CABLES = 1 << 20
"""Largest number of links, as in the engine."""
DEFAULTS = {"oversubscribed": 1, "bundle": 1, "switch_latency_ns": 0}


@dataclass
class Section:
    """The header, or a tier: its switches and their links downwards."""

    line: Line
    """First line of the section."""
    lines: dict[str, Line] = field(default_factory=dict)
    values: dict[str, int] = field(default_factory=dict)

    def __getitem__(self, key: str) -> int:
        return self.values[key] if key in self.values else DEFAULTS[key]

    def error(self, key: str, message: str, remedy: str) -> ShallowsError:
        """Return an error about a key."""
        return self.lines.get(key, self.line).error(message, remedy)


def read_topology(path: Path, ignored: Ignored, left_out: LeftOut) -> tuple[dict[str, Any], int]:
    """Return a `[topology]` and its number of hosts; lines that are left out are added to `left_out`.

    Switches of scenarios have no latency. Half of a switch's latency is added to each of its links, so that
    the delays of paths stay the same.
    """
    header, tiers = _read(path, ignored, left_out)
    hosts, pods = header["nodes"], header["nodes"] // header["podsize"]
    tors = _divide(header, "podsize", tiers[0]["radix_down"], "Radix_Down of tier 0")
    aggs = _divide(tiers[0], "radix_up", tiers[1]["bundle"], "the bundle of tier 1")
    _check_down(tiers[1], tors, "ToR switches of a pod")
    _check_oversubscription(tiers[0], tiers[1])
    # The size is checked before the links are built, because a short file can describe a huge network.
    up = [tier["radix_up"] for tier in tiers[:-1]]
    count = hosts + pods * (tors * up[0] + (aggs * up[1] if len(up) > 1 else 0))
    if count > MOST_CABLES:
        raise header.error(
            "nodes",
            f"a fat tree must have at most {MOST_CABLES} links, got {count}",
            "lower Nodes or the radices",
        )
    cables = [
        Cable((f"host{h}", f"tor{h // tiers[0]['radix_down']}"), *_link(tiers[0])) for h in range(hosts)
    ]
    for tor in range(pods * tors):
        pod = tor // tors
        above = [f"agg{agg}" for agg in range(pod * aggs, (pod + 1) * aggs)]
        cables += _bundle(f"tor{tor}", above, tiers[1], tiers[0])
    switches = [f"tor{n}" for n in range(pods * tors)] + [f"agg{n}" for n in range(pods * aggs)]
    if len(tiers) == 3:
        reached = _divide(tiers[1], "radix_up", tiers[2]["bundle"], "the bundle of tier 2")
        _check_down(tiers[2], pods, "pods")
        _check_oversubscription(tiers[1], tiers[2])
        for agg in range(pods * aggs):
            # Aggregation switch i of a pod reaches core switches i, i + aggs, i + 2 * aggs, …
            above = [f"core{agg % aggs + aggs * place}" for place in range(reached)]
            cables += _bundle(f"agg{agg}", above, tiers[2], tiers[1])
        switches += [f"core{n}" for n in range(aggs * reached)]
    return writing.graph([f"host{h}" for h in range(hosts)], switches, cables), hosts


def _link(tier: Section, below: Section | None = None) -> tuple[int, int]:
    """Return rate in bit/s and delay in ps of the links down from a tier."""
    latency = tier["switch_latency_ns"] + (below["switch_latency_ns"] if below else 0)
    return tier["downlink_speed_gbps"] * 10**9, tier["downlink_latency_ns"] * 1_000 + latency * 500


def _bundle(lower: str, above: list[str], tier: Section, below: Section) -> list[Cable]:
    """Return the links of a switch to the switches above it; `bundle` is the number of parallel links."""
    return [Cable((lower, upper), *_link(tier, below)) for _ in range(tier["bundle"]) for upper in above]


def _read(path: Path, ignored: Ignored, left_out: LeftOut) -> tuple[Section, list[Section]]:
    lines = list(read_lines(path, comment="#"))
    if not lines:
        raise ShallowsError(f"{path} is empty", "write Nodes, Tiers and Podsize in the first lines")
    header = Section(lines[0])
    tiers: dict[int, Section] = {}
    section, known = header, HEADER
    named = {key.lower() for key in ignored.keys}
    for line in lines:
        key = line.words[0].lower()
        if key in named or (ignored.unmodelled and key != "tier" and key not in known):
            left_out.add(line.words[0], line.number)
            continue
        line.expect(2, "KEY NUMBER")
        if key == "tier":
            number = line.whole("tier", line.words[1], 0, 2)
            if number in tiers:
                raise line.error(
                    f"tier {number} is described twice; line {tiers[number].line.number} begins it too",
                    "describe each tier once",
                )
            section = tiers[number] = Section(line)
            known = KEYS
        elif key not in known:
            where = "a tier" if known is KEYS else "the header"
            remedy = f"the keys are: {', '.join(known)}; or import without it: {how_to_ignore(line.words[0])}"
            raise line.error(f"unknown key {line.words[0]} of {where}", remedy)
        elif key in section.values:
            raise line.error(
                f"{line.words[0]} is given twice; line {section.lines[key].number} has it too",
                "remove one of the two lines",
            )
        else:
            section.values[key] = line.whole(line.words[0], line.words[1], *known[key])
            section.lines[key] = line
    _check(path, header, tiers)
    return header, [tiers[number] for number in sorted(tiers)]


def _check(path: Path, header: Section, tiers: dict[int, Section]) -> None:
    if missing := [key for key in HEADER if key not in header.values]:
        raise ShallowsError(
            f"{path}: {missing[0].capitalize()} is missing",
            f"add the line `{missing[0].capitalize()} NUMBER` at the top of the file",
        )
    count = header["tiers"]
    if sorted(tiers) != list(range(count)):
        found = ", ".join(map(str, sorted(tiers))) or "none"
        raise header.error(
            "tiers",
            f"tiers 0 to {count - 1} must be described, got {found}",
            "correct the number after `Tiers`, or describe each tier",
        )
    for number, tier in tiers.items():
        optional = {*DEFAULTS, *(["radix_up"] if number == count - 1 else [])}
        if missing := [key for key in KEYS if key not in tier.values and key not in optional]:
            raise tier.line.error(
                f"{missing[0]} of tier {number} is missing", f"add the line `{missing[0]} NUMBER`"
            )
    if header["nodes"] % header["podsize"]:
        raise header.error(
            "podsize",
            f"Nodes ({header['nodes']}) must be a multiple of Podsize, got Podsize {header['podsize']}",
            "correct Podsize or Nodes",
        )
    if count == 2 and header["podsize"] != header["nodes"]:
        raise header.error(
            "podsize",
            f"Podsize must equal Nodes ({header['nodes']}) if there are two tiers, got {header['podsize']}",
            f"write Podsize {header['nodes']}",
        )
    if count == 3 and "radix_up" in tiers[2].values:
        raise tiers[2].error(
            "radix_up", "tier 2 is the highest and must not have Radix_Up", "remove the line"
        )
    if tiers[0]["bundle"] != 1:
        raise tiers[0].error(
            "bundle",
            f"Bundle of tier 0 must be 1, got {tiers[0]['bundle']}: a host has one link",
            "write Bundle 1, or remove the line",
        )


def _divide(section: Section, key: str, by: int, what: str) -> int:
    if section[key] % by:
        raise section.error(
            key,
            f"{key} must be a multiple of {by} ({what}), got {section[key]}",
            "correct one of the two numbers",
        )
    return section[key] // by


def _check_down(tier: Section, below: int, what: str) -> None:
    """Reject a tier unless each of its switches has exactly one bundle of links to each switch below."""
    needed = below * tier["bundle"]
    if tier["radix_down"] != needed:
        bundles = f" with {tier['bundle']} links each" if tier["bundle"] > 1 else ""
        raise tier.error(
            "radix_down",
            f"Radix_Down must be {needed} for {below} {what}{bundles}, got {tier['radix_down']}",
            f"write Radix_Down {needed}, or correct the other keys",
        )


def _check_oversubscription(tier: Section, above: Section) -> None:
    down = tier["downlink_speed_gbps"] * tier["radix_down"]
    up = above["downlink_speed_gbps"] * tier["radix_up"]
    if down != up * tier["oversubscribed"]:
        ratio = tier["oversubscribed"]
        raise tier.error(
            "oversubscribed",
            f"the rates down ({down} Gbps) and up ({up} Gbps) must have the ratio {ratio} to 1",
            "correct Oversubscribed, the radices or the speeds",
        )
