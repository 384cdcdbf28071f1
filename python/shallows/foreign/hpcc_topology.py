"""HPCC's `topology.txt`, including the variants of derived simulators, which differ in their first line."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from shallows.errors import ShallowsError
from shallows.foreign.ignoring import NOTHING, Ignored, listed
from shallows.foreign.reading import Line, read_lines
from shallows.foreign.writing import Cable

HEADERS = (
    "NODES SWITCHES LINKS (HPCC), NODES SWITCHES TORS LINKS (PowerTCP), that and two rates (Reverie), or "
    "NODES GPUS NVSWITCHES SWITCHES LINKS GPU (SimAI)"
)


@dataclass(frozen=True)
class Network:
    """Network of a topology file, which numbers all nodes and lists the numbers of the switches."""

    hosts: list[int]
    switches: list[int]
    cables: list[Cable]
    short_sizes: bool = True
    """Whether the simulator that uses this file reads flow sizes in 32 bits."""
    of_powertcp: bool = False
    """Whether the file has PowerTCP's first line."""
    notes: list[str] = field(default_factory=list)


def node_name(node: int, *, is_switch: bool) -> str:
    """Return the name of a node in the scenario, with its number in the file."""
    return f"{'switch' if is_switch else 'host'}{node}"


@dataclass(frozen=True)
class _Header:
    nodes: int
    switches: int
    links: int
    nvswitches: int = 0
    """Number of NVSwitches, which connect the GPUs of one server; the file lists them first."""
    note: str = ""


def read_topology(path: Path, ignored: Ignored = NOTHING) -> Network:
    """Read a `topology.txt`: counts of nodes, switches and links, then the switches, then one line per link.

    Further lines are ignored, as in HPCC. With `ignored.unmodelled`, NVSwitches and losses of links are left
    out; the GPUs of a server then communicate through the network.
    """
    lines = read_lines(path)
    first = next(lines, None)
    if first is None:
        raise ShallowsError(f"{path} is empty", f"write the first line as {HEADERS}")
    header = _header(first, ignored)
    nodes, repeated = _switches(first, lines, header)
    links = list(islice(lines, header.links))
    after = next(lines, first).number
    count = (after > first.number) + sum(1 for _ in lines)
    notes = [*repeated, *rest(first, len(links), header.links, "links", after, count)]
    for line in links:
        line.expect(5, "SOURCE DESTINATION 100Gbps 1us 0 (the last is the error rate)")
    links = _last_of_pairs(first, links, header.nodes, notes)
    # A node that is listed as NVSwitch and as switch is a switch, because SimAI reads the switches last.
    inner = set(nodes[: header.nvswitches]).difference(nodes[header.nvswitches :])
    links = [line for line in links if inner.isdisjoint(_ends(line, header.nodes))]
    switches = set(nodes) - inner
    linked: dict[int, int] = {}
    cables = [_cable(line, header.nodes, switches, linked) for line in links]
    hosts = [node for node in range(header.nodes) if node not in switches | inner]
    if alone := [host for host in hosts if host not in linked]:
        raise first.error(
            f"host {alone[0]} has no link", f"add a link to node {alone[0]}, or list the node as a switch"
        )
    notes += [header.note] if header.note else []
    notes += [f"left out on request: {len(inner)} NVSwitches and their links"] if inner else []
    notes += _losses(links, ignored)
    return Network(
        hosts,
        sorted(switches),
        cables,
        short_sizes=len(first.words) == 3,
        of_powertcp=len(first.words) == 4,
        notes=notes,
    )


def _header(first: Line, ignored: Ignored) -> _Header:
    words, note, nvswitches = first.words, "", 0
    if len(words) == 3:
        counts = words
    elif len(words) == 4:
        counts = [*words[:2], words[3]]
        note = "CC_MODE or --control sets the congestion control; PowerTCP's programs take it as an argument"
        note = f"{first.file.name} has PowerTCP's format: {note}"
    elif len(words) == 6 and words[5][0].isdigit():
        counts = [*words[:2], words[3]]
        note = "congestion control, buffer and stop time are those of the configuration; "
        note += "Reverie's program takes them as arguments"
        note = f"{first.file.name} has Reverie's format: {note}"
    elif len(words) == 6:
        nvswitches = first.whole("the number of NVSwitches", words[2], 0, 1 << 17)
        if nvswitches and not ignored.unmodelled:
            raise first.error(
                f"the topology has {nvswitches} NVSwitches; a host with a link to an NVSwitch has two links, "
                "but must have only one",
                "leave out the NVSwitches and their links: --ignore-unmodelled",
            )
        # SimAI lists the NVSwitches before the other switches, in one list.
        counts = [words[0], words[3], words[4]]
        note = f"{first.file.name} has SimAI's format: its GPUs become hosts"
    else:
        first.expect(3, HEADERS)
    nodes = first.whole("the number of nodes", counts[0], 2, 1 << 17)
    switches = first.whole("the number of switches", counts[1], 1, nodes - 1 - nvswitches)
    links = first.whole("the number of links", counts[2], 1, 1 << 20)
    return _Header(nodes, switches + nvswitches, links, nvswitches, note)


def _switches(first: Line, lines: Iterator[Line], header: _Header) -> tuple[list[int], list[str]]:
    """Return the listed switches and notes on repeated ones, and advance `lines` past their lines.

    HPCC's reader sets the type of each listed node, so a node that is listed twice is one switch
    (third.cc: `node_type`).
    """
    found: list[int] = []
    places: dict[int, int] = {}
    notes = []
    for line in lines:
        if not all(word.isdecimal() for word in line.words):
            raise line.error(
                f"the lines above list {len(found)} switches; the first line states {header.switches}",
                "correct the number in the first line, or list every switch",
            )
        for word in line.words:
            switch = line.whole("switch", word, 0, header.nodes - 1)
            if switch in places:
                notes.append(
                    f"{first.file.name}:{line.number}: switch {switch} is listed again, after line "
                    f"{places[switch]}; it counts for the number in the first line, as in HPCC"
                )
            places.setdefault(switch, line.number)
            found.append(switch)
        if len(found) > header.switches:
            raise line.error(
                f"the file lists {len(found)} switches; the first line states {header.switches}",
                "correct the number in the first line, or remove the surplus switches",
            )
        if len(found) == header.switches:
            return found, notes
    raise first.error(
        f"this line states {header.switches} switches; the file lists {len(found)}",
        "list each switch after the first line",
    )


def _last_of_pairs(first: Line, links: list[Line], nodes: int, notes: list[str]) -> list[Line]:
    """Return the last link of each pair of nodes, and add notes on the replaced links.

    HPCC's reader makes a device for each line, but routes packets by `nbr2if`, which maps a pair of nodes to
    a link. For the same pair, a later link replaces an earlier link in both directions (third.cc: `main`,
    `SetRoutingEntries`).
    """
    last = {frozenset(_ends(line, nodes)): line.number for line in links}
    kept = set(last.values())
    if replaced := [line.number for line in links if line.number not in kept]:
        notes.append(
            f"{first.file.name}: left out ({listed(replaced)}): links between nodes that a later line links "
            "again; HPCC sends no packets over the earlier links"
        )
    return [line for line in links if line.number in kept]


def _cable(line: Line, nodes: int, switches: set[int], linked: dict[int, int]) -> Cable:
    ends = _ends(line, nodes)
    if ends[0] == ends[1]:
        raise line.error(
            f"a link must join two different nodes, got {ends[0]} for both", "correct one of the nodes"
        )
    for host in (end for end in ends if end not in switches):
        if host in linked:
            raise line.error(
                f"host {host} must have one link, got a second; line {linked[host]} has the first",
                "remove one of the links, or list the node as a switch",
            )
        linked[host] = line.number
    if not switches.intersection(ends):
        raise line.error(
            f"a link must have a switch at one end, got hosts {ends[0]} and {ends[1]}",
            "link each of the hosts to a switch",
        )
    one, other = (node_name(end, is_switch=end in switches) for end in ends)
    return Cable((one, other), line.rate(line.words[2]), line.time("the delay", line.words[3]))


def _ends(line: Line, nodes: int) -> list[int]:
    return [line.whole("node", word, 0, nodes - 1) for word in line.words[:2]]


def _losses(links: list[Line], ignored: Ignored) -> list[str]:
    lossy = [line for line in links if line.decimal("the error rate", line.words[4]) != 0]
    if lossy and not ignored.unmodelled:
        raise lossy[0].error(
            f"the error rate of a link must be 0, got {lossy[0].words[4]}: lossy links are not modelled",
            "change the rate to 0, or import without error rates: --ignore-unmodelled",
        )
    where = listed([line.number for line in lossy])
    return [f"left out on request: error rates of links ({where})"] if lossy else []


def rest(first: Line, found: int, said: int, what: str, after: int, count: int) -> list[str]:
    """Return a note that HPCC does not read the last `count` lines, starting with line number `after`.

    Raises an error if the file lists fewer items (`found`) than its first line states (`said`).
    """
    if found < said:
        raise first.error(
            f"this line states {said} {what}; the file lists {found}",
            f"correct the number, or add the missing {what}",
        )
    if count == 0:
        return []
    lines = f"{count} line{'s' if count > 1 else ''}"
    where = f"left out from line {after} on ({lines})"
    return [f"{first.file.name}: {where}, as in HPCC: the first line states {said} {what}"]
