"""htsim's connection matrices, `.cm` (Broadcom/csg-htsim, `sim/datacenter/connection_matrix.cpp`).

Flows become a list, and triggers the signals by which flows of the list wait for one another. A matrix says
nothing of switches and senders; the scenario says which it has instead.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from shallows.errors import ShallowsError
from shallows.foreign.htsim_topology import read_topology
from shallows.foreign.reading import PS_PER_S, Line, read_lines
from shallows.foreign.writing import Flow, Imported

KINDS = {"oneshot", "multishot", "barrier"}
KNOWN = ["start", "size", "id", "trigger", "send_done_trigger", "recv_done_trigger"]
LOST = {"prio": 1, "addon": 0}
"""Words of a connection without a counterpart, and how many values follow them."""
WHY = {
    "prio": "it orders the pulls of receivers, which are not modelled; size alone decides here",
    "addon": "it adds to a flow that runs already, which is not modelled",
    "failure": "links do not fail here",
}
LARGEST_HTSIM = 2**31 - 1


@dataclass
class Connection:
    """A line of a flow."""

    line: Line
    source: int
    destination: int
    values: dict[str, str]
    turn: int = 0
    """Its place among those that wait for the same trigger, from one."""


@dataclass
class Trigger:
    """A trigger: who it starts, in order, and how often it is fired."""

    line: Line
    kind: str
    count: int | None
    targets: list[Connection] = field(default_factory=list)
    fired_by: list[Connection] = field(default_factory=list)


@dataclass
class Matrix:
    """A `.cm` file."""

    nodes: int
    flows: list[Flow]
    notes: list[str]


def import_htsim(path: Path, topology: Path | None, ignored: Sequence[str] = ()) -> Imported:
    """The scenario of a connection matrix, in the network of a `.topo` file or on a single switch.

    Raises
    ------
    ShallowsError
        With file and line, if something is malformed or would be ignored.
    """
    matrix = read_matrix(path, ignored)
    notes = matrix.notes
    network: dict[str, Any]
    if topology is None:
        network = {"kind": "star", "hosts": matrix.nodes, "rate": "100Gbps", "link_delay": "1us"}
        notes.append("no --topo: every host has a link of 100 Gbps to one switch")
    else:
        network, hosts = read_topology(topology)
        if hosts != matrix.nodes:
            raise ShallowsError(
                f"{path} has {matrix.nodes} nodes, {topology} {hosts}",
                "both must have the same number of hosts",
            )
    tables: dict[str, dict[str, Any]] = {
        "topology": network,
        "switch": {
            "buffer": {"kind": "dynamic-threshold", "alpha": 1.0, "pool": "16MB"},
            "markers": [{"kind": "threshold", "k": "12us"}],
        },
        "tcp": {
            "congestion": "dctcp",
            # An acknowledgement that waits for a second segment could outlast the timeout.
            "delayed_ack": {"segments": 1},
            "rto": {"initial": "5ms", "min": "5ms"},
        },
    }
    comments = {
        "switch": "The connection matrix says nothing of switches and senders: change these.",
    }
    origin = f"htsim's {path.name}" + (f" and {topology.name}" if topology else "")
    return Imported(origin, tables, matrix.flows, comments=comments, notes=notes)


def read_matrix(path: Path, ignored: Sequence[str] = ()) -> Matrix:
    """A connection matrix, with its triggers resolved."""
    if unknown := set(ignored) - WHY.keys():
        raise ShallowsError(f"there is no {min(unknown)} to ignore", f"one of {', '.join(sorted(WHY))}")
    header: dict[str, tuple[int, Line]] = {}
    connections: list[Connection] = []
    triggers: dict[int, Trigger] = {}
    failures: list[Line] = []
    lines = read_lines(path, comment="#")
    for line in lines:
        first = line.words[0]
        if first in {"Nodes", "Connections", "Triggers", "Failures"}:
            _header(line, header, done=bool(connections or triggers or failures))
        elif "->" in first:
            connections.append(_connection(line, ignored))
        elif first == "trigger":
            _trigger(line, triggers)
        elif first == "failure":
            if "failure" not in ignored:
                raise line.error(WHY["failure"], "take it out, or do without it: --ignore failure")
            failures.append(line)
        else:
            raise line.error(f'"{first}" begins no line of a connection matrix', _EXPECTED)
    found = {"Connections": len(connections), "Triggers": len(triggers), "Failures": len(failures)}
    nodes = _check_header(path, header, found)
    _link(connections, triggers, nodes)
    flows = [_flow(connection, triggers) for connection in connections]
    # A list has those that wait for nothing in order of time; htsim's has them in any.
    timed = iter(sorted((flow for flow in flows if not flow.after), key=lambda flow: flow.start_ps))
    flows = [flow if flow.after else next(timed) for flow in flows]
    notes = _precision(connections) + ([f"{', '.join(ignored)}: ignored, as asked"] if ignored else [])
    return Matrix(nodes, flows, notes)


_EXPECTED = "one of Nodes, Connections, Triggers, SOURCE->DESTINATION …, trigger …"


def _header(line: Line, header: dict[str, tuple[int, Line]], *, done: bool) -> None:
    name = line.words[0]
    line.expect(2, f"{name} NUMBER")
    if done or name in header:
        raise line.error(f"{name} stands here too late or twice", "the header comes first, each line once")
    header[name] = (line.whole(name, line.words[1], 0, 1 << 22), line)


def _check_header(path: Path, header: dict[str, tuple[int, Line]], found: dict[str, int]) -> int:
    for name in ("Nodes", "Connections"):
        if name not in header:
            raise ShallowsError(
                f"{path} has no line {name}", f"begin it with Nodes and Connections; {name} NUMBER"
            )
    for name, count in found.items():
        said, line = header.get(name, (0, None))
        if said != count:
            message = f"{said} {name.lower()}, but {count} follow"
            if line is None:
                raise ShallowsError(f"{path}: {message}", f"add a line {name} {count}")
            raise line.error(message, f"write {name} {count}, or mend the lines")
    nodes, line = header["Nodes"]
    if nodes < 2:
        raise line.error(f"{nodes} nodes", "at least 2")
    if found["Connections"] == 0:
        raise header["Connections"][1].error("no connection at all", "list at least one")
    return nodes


def _connection(line: Line, ignored: Sequence[str]) -> Connection:
    ends = line.words[0].split("->")
    if len(ends) != 2:
        raise line.error(f'"{line.words[0]}" is no pair of hosts', "write it as 0->1")
    values: dict[str, str] = {}
    words = iter(line.words[1:])
    for word in words:
        if word in LOST:
            if word not in ignored:
                raise line.error(f"{word}: {WHY[word]}", f"take it out, or do without it: --ignore {word}")
            for _ in range(LOST[word]):
                next(words, None)
        elif word not in KNOWN or word in values:
            message = f'"{word}" is given twice' if word in values else f'"{word}" is not known'
            raise line.error(message, f"each once: {', '.join([*KNOWN, *LOST])}")
        else:
            values[word] = next(words, "")
    if "size" not in values:
        raise line.error("no size", "add size BYTES")
    if ("start" in values) == ("trigger" in values):
        raise line.error("neither or both of start and trigger", "give one of them")
    return Connection(line, line.whole("source", ends[0]), line.whole("destination", ends[1]), values)


def _trigger(line: Line, triggers: dict[int, Trigger]) -> None:
    form = "trigger id NUMBER oneshot, multishot, or barrier count NUMBER"
    number, kind, count = None, None, None
    words = iter(line.words[1:])
    for word in words:
        if word in {"id", "count"}:
            value = line.whole(word, next(words, ""), 1, 2**32 - 1)
            number, count = (value, count) if word == "id" else (number, value)
        elif word in KINDS and kind is None:
            kind = word
        else:
            raise line.error(f'"{word}" does not belong here', f"write it as {form}")
    if number is None or kind is None or (kind == "barrier") != (count is not None):
        raise line.error("no id, no kind, or a count that only a barrier has", f"write it as {form}")
    if number in triggers:
        raise line.error(
            f"trigger {number} stands in line {triggers[number].line.number} too", "name it once"
        )
    triggers[number] = Trigger(line, kind, count)


def _link(connections: list[Connection], triggers: dict[int, Trigger], nodes: int) -> None:
    """Tell triggers who waits for them and who fires them, and refuse what htsim would not finish."""
    ids: dict[int, int] = {}
    for connection in connections:
        line, values = connection.line, connection.values
        _check_ends(connection, nodes)
        if "id" in values:
            number = line.whole("id", values["id"], 1)
            if number in ids:
                raise line.error(f"id {number} is that of line {ids[number]} too", "give each flow its own")
            ids[number] = line.number
        if "trigger" in values:
            targets = _find(connection, "trigger", triggers).targets
            targets.append(connection)
            connection.turn = len(targets)
        for name in ("send_done_trigger", "recv_done_trigger"):
            if name in values:
                _find(connection, name, triggers).fired_by.append(connection)
    for number, trigger in triggers.items():
        _check_trigger(number, trigger)


def _check_ends(connection: Connection, nodes: int) -> None:
    ends = {"source": connection.source, "destination": connection.destination}
    for name, end in ends.items():
        if end >= nodes:
            raise connection.line.error(f"{name} {end} is no node", f"nodes are 0 to {nodes - 1}")
    if connection.source == connection.destination:
        raise connection.line.error(f"node {connection.source} sends to itself", "name two different nodes")


def _find(connection: Connection, name: str, triggers: dict[int, Trigger]) -> Trigger:
    number = connection.line.whole(name, connection.values[name], 1)
    if number not in triggers:
        message = f"there is no trigger {number}"
        raise connection.line.error(message, f"add a line trigger id {number} oneshot, multishot or barrier")
    return triggers[number]


def _check_trigger(number: int, trigger: Trigger) -> None:
    fired, line = len(trigger.fired_by), trigger.line
    most = {"oneshot": 1, "barrier": trigger.count}.get(trigger.kind)
    if most is not None and fired > most:
        message = f"trigger {number} is fired {fired} times, a {trigger.kind} of {most}"
        raise line.error(message, "take a multishot or a larger count; htsim stops here too")
    needed = len(trigger.targets) if trigger.kind == "multishot" else most or 0
    if trigger.targets and fired < needed:
        message = f"trigger {number} is fired {fired} times; its flows need {needed}"
        raise trigger.targets[-1].line.error(message, "this flow would never start")


def _flow(connection: Connection, triggers: dict[int, Trigger]) -> Flow:
    line, values = connection.line, connection.values
    after, count, start = "", 1, 0
    if "trigger" in values:
        trigger = _find(connection, "trigger", triggers)
        after = str(int(values["trigger"]))
        count = connection.turn if trigger.kind == "multishot" else trigger.count or 1
    else:
        # connection_matrix.cpp: picoseconds, of which a part is cut off.
        start = int(line.decimal("start", values["start"]))
        if start > 86_400 * PS_PER_S:
            raise line.error(f"a start of {start} ps is later than a day", "start is in picoseconds")

    def fires(name: str) -> str:
        return str(int(values[name])) if name in values else ""

    return Flow(
        start_ps=start,
        source=connection.source,
        destination=connection.destination,
        size=line.whole("size", values["size"], 1, 1 << 50),
        after=after,
        count=count,
        on_received=fires("recv_done_trigger"),
        on_acked=fires("send_done_trigger"),
    )


def _precision(connections: list[Connection]) -> list[str]:
    """Where htsim reads other numbers than stand there: starts as 32-bit floats, sizes as 32-bit integers."""
    notes = []
    off = []
    for connection in connections:
        start = Decimal(connection.values.get("start", "0"))
        if (
            start < 10**30
            and (gap := abs(Decimal(struct.unpack("f", struct.pack("f", float(start)))[0]) - start)) >= 1
        ):
            off.append((gap, connection.line.number))
    if off:
        gap, number = max(off)
        most = f"up to {int(gap)} ps off (line {number})"
        notes.append(f"{len(off)} starts are exact here; htsim reads them as 32-bit floats, {most}")
    large = [flow.line.number for flow in connections if int(flow.values["size"]) > LARGEST_HTSIM]
    if large:
        notes.append(f"htsim cannot read sizes of 2 GiB and more, such as that of line {large[0]}")
    return notes
