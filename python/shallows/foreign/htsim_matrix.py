"""The lines of htsim's connection matrices, `.cm`, and how their triggers and messages hang together.

Of Broadcom/csg-htsim and ultraethernet/uet-htsim, `sim/datacenter/connection_matrix.cpp`.
"""

from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from shallows.errors import ShallowsError
from shallows.foreign.ignoring import Ignored
from shallows.foreign.reading import PS_PER_S, Line, read_lines

KINDS = {"oneshot", "multishot", "barrier"}
KNOWN = ["start", "size", "id", "msg", "trigger", "send_done_trigger", "recv_done_trigger"]
LOST = {"prio": 1, "addon": 0}
"""Words of a connection without a counterpart, and how many values follow them."""
WHY = {
    "prio": "it orders the pulls of receivers, which are not modelled; size alone decides here",
    "addon": "it adds to a flow that runs already, which is not modelled",
    "failure": "links do not fail here",
}


@dataclass
class Connection:
    """A line of a flow."""

    line: Line
    source: int
    destination: int
    values: dict[str, str]
    size: int
    """In bytes; 0 if it never ends."""
    start: Decimal
    """In the unit of the file; of those that wait for a trigger, 0."""
    turn: int = 0
    """Its place among those that wait for the same trigger, from one."""

    @property
    def ends(self) -> tuple[int, int]:
        """Source and destination."""
        return self.source, self.destination


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
    """A `.cm` file, whose parts fit together."""

    nodes: int
    connections: list[Connection]
    triggers: dict[int, Trigger]
    left_out: dict[str, list[int]]
    """Lines of what the user does without, by its word."""

    @property
    def has_messages(self) -> bool:
        """Whether flows share connections, which only htsim_uec knows."""
        return any("msg" in connection.values for connection in self.connections)


def read_matrix(path: Path, ignored: Ignored) -> Matrix:
    """A connection matrix, with its triggers resolved."""
    if unknown := set(ignored.keys) - WHY.keys():
        raise ShallowsError(f"there is no {min(unknown)} to ignore", f"one of {', '.join(sorted(WHY))}")
    header: dict[str, tuple[int, Line]] = {}
    connections: list[Connection] = []
    triggers: dict[int, Trigger] = {}
    left_out: dict[str, list[int]] = {word: [] for word in WHY}
    for line in read_lines(path, comment="#"):
        first = line.words[0]
        if first in {"Nodes", "Connections", "Triggers", "Failures"}:
            _header(line, header, done=bool(connections or triggers or left_out["failure"]))
        elif "->" in first:
            connections.append(_connection(line, ignored, left_out))
        elif first == "trigger":
            _trigger(line, triggers)
        elif first == "failure":
            _leave_out("failure", line, ignored, left_out)
        else:
            raise line.error(f'"{first}" begins no line of a connection matrix', _EXPECTED)
    found = {
        "Connections": len(connections),
        "Triggers": len(triggers),
        "Failures": len(left_out["failure"]),
    }
    matrix = Matrix(_check_header(path, header, found), connections, triggers, left_out)
    _link(matrix)
    return matrix


_EXPECTED = "one of Nodes, Connections, Triggers, SOURCE->DESTINATION …, trigger …"


def _header(line: Line, header: dict[str, tuple[int, Line]], *, done: bool) -> None:
    name = line.words[0]
    line.expect(2, f"{name} NUMBER")
    if done or name in header:
        raise line.error(f"{name} stands here too late or twice", "the header comes first, each line once")
    most = 1 << (17 if name == "Nodes" else 22)  # as many hosts as the engine has
    header[name] = (line.whole(name, line.words[1], 0, most), line)


def _check_header(path: Path, header: dict[str, tuple[int, Line]], found: dict[str, int]) -> int:
    for name in ("Nodes", "Connections"):
        if name not in header:
            raise ShallowsError(
                f"{path} has no line {name}", f"begin it with Nodes and Connections; {name} NUMBER"
            )
    for name, count in found.items():
        said, line = header.get(name, (0, None))
        if said != count:
            message = f"{said} {name.lower()}, but {count} follow; htsim stops here too"
            if line is None:
                raise ShallowsError(f"{path}: {message}", f"add a line {name} {count}")
            raise line.error(message, f"write {name} {count}, or mend the lines")
    nodes, line = header["Nodes"]
    if nodes < 2:
        raise line.error(f"{nodes} nodes", "at least 2")
    if found["Connections"] == 0:
        raise header["Connections"][1].error("no connection at all", "list at least one")
    return nodes


def _connection(line: Line, ignored: Ignored, left_out: dict[str, list[int]]) -> Connection:
    ends = line.words[0].split("->")
    if len(ends) != 2:
        raise line.error(f'"{line.words[0]}" is no pair of hosts', "write it as 0->1")
    values: dict[str, str] = {}
    words = line.words[1:]
    while words:
        word = words.pop(0)
        if word in LOST:
            _leave_out(word, line, ignored, left_out)
            del words[: LOST[word]]
        elif word not in KNOWN or word in values:
            message = f'"{word}" is given twice' if word in values else f'"{word}" is not known'
            raise line.error(message, f"each once: {', '.join([*KNOWN, *LOST])}")
        elif word == "msg" and not (words and words[0].isdecimal()):
            # Its number may be left out.
            values[word] = ""
        else:
            values[word] = words.pop(0) if words else ""
    if "size" not in values:
        raise line.error("no size", "add size BYTES")
    if ("start" in values) == ("trigger" in values):
        raise line.error("neither or both of start and trigger", "give one of them")
    connection = Connection(
        line,
        line.whole("source", ends[0]),
        line.whole("destination", ends[1]),
        values,
        line.whole("size", values["size"], 0, 1 << 50),
        line.decimal("start", values.get("start", "0")),
    )
    if connection.start > 86_400 * PS_PER_S:
        raise line.error(f"a start of {values['start'][:40]} is later than a day", "htsim ends long before")
    return connection


def _leave_out(word: str, line: Line, ignored: Ignored, left_out: dict[str, list[int]]) -> None:
    if word not in ignored:
        raise line.error(f"{word}: {WHY[word]}", f"take it out, or do without it: --ignore {word}")
    left_out[word].append(line.number)


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


def _link(matrix: Matrix) -> None:
    """Tell triggers who waits for them and who fires them, and refuse what htsim would not finish."""
    for connection in matrix.connections:
        _check_ends(connection, matrix.nodes)
        if "trigger" in connection.values:
            targets = find(connection, "trigger", matrix.triggers).targets
            targets.append(connection)
            connection.turn = len(targets)
        for name in ("send_done_trigger", "recv_done_trigger"):
            if name in connection.values:
                find(connection, name, matrix.triggers).fired_by.append(connection)
        _check_endless(connection, matrix)
    _check_ids(matrix)
    for number, trigger in matrix.triggers.items():
        _check_trigger(number, trigger)


def _check_ends(connection: Connection, nodes: int) -> None:
    ends = {"source": connection.source, "destination": connection.destination}
    for name, end in ends.items():
        if end >= nodes:
            raise connection.line.error(f"{name} {end} is no node", f"nodes are 0 to {nodes - 1}")
    if connection.source == connection.destination:
        raise connection.line.error(f"node {connection.source} sends to itself", "name two different nodes")


def find(connection: Connection, name: str, triggers: dict[int, Trigger]) -> Trigger:
    """The trigger that a connection names."""
    number = connection.line.whole(name, connection.values[name], 1)
    if number not in triggers:
        message = f"there is no trigger {number}"
        raise connection.line.error(message, f"add a line trigger id {number} oneshot, multishot or barrier")
    return triggers[number]


def _check_endless(connection: Connection, matrix: Matrix) -> None:
    """A flow of size 0 never ends: it fires nothing, and nothing of ours that waits is without an end."""
    if connection.size > 0:
        return
    if matrix.has_messages:
        raise connection.line.error("a message of size 0", "htsim stops here too: give it a size")
    for name in ("trigger", "send_done_trigger", "recv_done_trigger"):
        if name in connection.values:
            message = f"a flow of size 0, which never ends, with {name}"
            raise connection.line.error(message, "give it a size, or take out the trigger")


def _check_ids(matrix: Matrix) -> None:
    """An id is that of one flow or, with messages, of one connection, of which a pair of hosts has one."""
    first: dict[int, Connection] = {}
    of_pair: dict[tuple[int, int], int] = {}
    for connection in matrix.connections:
        line, values = connection.line, connection.values
        if "id" not in values:
            if matrix.has_messages:
                raise line.error("no id", "where flows are messages, each names its connection: id NUMBER")
            continue
        number = line.whole("id", values["id"], 1)
        other = first.setdefault(number, connection)
        if other is not connection and not ("msg" in values and other.ends == connection.ends):
            raise line.error(
                f"id {number} is that of line {other.line.number} too",
                "give each flow its own; messages of one connection have msg, and the same two hosts",
            )
        if matrix.has_messages and of_pair.setdefault(connection.ends, number) != number:
            message = f"connections {of_pair[connection.ends]} and {number} between the same hosts"
            raise line.error(message, "where flows are messages, two hosts have one connection here")


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
