"""The lines of htsim's connection matrices, `.cm`, and how their triggers and messages hang together.

Of Broadcom/csg-htsim and ultraethernet/uet-htsim, `sim/datacenter/connection_matrix.cpp`.
"""

import struct
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from shallows.bounded import quoted
from shallows.errors import ShallowsError
from shallows.foreign.columns import Columns
from shallows.foreign.ignoring import Ignored, LeftOut, how_to_ignore
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
"""Why words have no counterpart."""
MOST_SIGNALS = 2**32 - 1
NAMED = {
    "id": 2**63 - 1,
    "trigger": MOST_SIGNALS,
    "send_done_trigger": MOST_SIGNALS,
    "recv_done_trigger": MOST_SIGNALS,
}
"""Words whose values are numbers of flows and triggers, in the order of `Connection`, and the largest."""
LARGEST_HTSIM = 2**31 - 1
FLOAT = struct.Struct("f")
LATEST = 86_400 * PS_PER_S


class Connection(NamedTuple):
    """A line of a flow."""

    line: int
    source: int
    destination: int
    size: int
    """In bytes; 0 if it never ends."""
    start: int
    """In the unit of the file, of which a part is cut off; of those that wait for a trigger, 0."""
    is_message: bool = False
    id: int = 0
    """0 is none, here and of triggers."""
    trigger: int = 0
    send_done_trigger: int = 0
    recv_done_trigger: int = 0


@dataclass(slots=True)
class Trigger:
    """A trigger: how many flows it starts, and how often it is fired."""

    line: int
    kind: str
    count: int | None
    waiting: int = 0
    last: int = 0
    """The line of the last flow that waits for it."""
    fired: int = 0


@dataclass
class Starts:
    """The starts of connections as they stand in the file, of which `Connection` has the whole part."""

    latest: Decimal | int = 0
    inexact: int = 0
    """How many are other numbers as 32-bit floats, as htsim reads them."""
    most_off: tuple[Decimal | int, int] = (0, 0)
    """How far the worst is off, and its line."""

    def add(self, start: Decimal | int, line: int) -> None:
        """Take in a start."""
        if start > self.latest:
            self.latest = start
        if start < 1 << 24:  # off by less than 1
            return
        (read,) = FLOAT.unpack(FLOAT.pack(start))
        gap: Decimal | int = abs(int(read) - start) if isinstance(start, int) else abs(Decimal(read) - start)
        if gap >= 1:
            self.inexact += 1
            self.most_off = max(self.most_off, (gap, line))


@dataclass
class Matrix:
    """A `.cm` file, whose parts fit together."""

    file: Path
    nodes: int = 0
    connections: Columns[Connection] = field(default_factory=lambda: Columns(Connection, "IIIqqbqIII"))
    triggers: dict[int, Trigger] = field(default_factory=dict)
    starts: Starts = field(default_factory=Starts)
    too_large: int = 0
    """The line of the first size that htsim cannot read."""

    @property
    def has_messages(self) -> bool:
        """Whether flows share connections, which only htsim_uec knows."""
        return self.connections.has("is_message")

    def error(self, line: int, message: str, remedy: str) -> ShallowsError:
        """What is wrong with a line."""
        return Line(self.file, line, []).error(message, remedy)


def read_matrix(path: Path, ignored: Ignored, left_out: LeftOut) -> Matrix:
    """A connection matrix, with its triggers resolved; what is passed over is added to `left_out`."""
    header: dict[str, tuple[int, Line]] = {}
    matrix = Matrix(path)
    failures = 0
    for line in read_lines(path, comment="#"):
        first = line.words[0]
        if first in {"Nodes", "Connections", "Triggers", "Failures"}:
            _header(line, header, done=bool(matrix.connections or matrix.triggers or failures))
        elif "->" in first:
            _connection(line, matrix, ignored, left_out)
        elif first == "trigger":
            _trigger(line, matrix.triggers)
        elif first == "failure" or first in ignored:
            _leave_out(first, line, ignored, left_out)
            failures += first == "failure"
        else:
            remedy = f"{_EXPECTED}; or do without: {how_to_ignore(first)}"
            raise line.error(f"{quoted(first)} begins no line of a connection matrix", remedy)
    found = {
        "Connections": len(matrix.connections),
        "Triggers": len(matrix.triggers),
        "Failures": failures,
    }
    matrix.nodes = _check_header(path, header, found)
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


def _connection(line: Line, matrix: Matrix, ignored: Ignored, left_out: LeftOut) -> None:
    ends = line.words[0].split("->")
    if len(ends) != 2:
        raise line.error(f'"{line.words[0]}" is no pair of hosts', "write it as 0->1")
    values = _values(line, ignored, left_out)
    if "size" not in values:
        raise line.error("no size", "add size BYTES")
    if ("start" in values) == ("trigger" in values):
        raise line.error("neither or both of start and trigger", "give one of them")
    start = _start(line, values.get("start", "0"))
    if start > LATEST:
        raise line.error(f"a start of {values['start'][:40]} is later than a day", "htsim ends long before")
    size = line.whole("size", values["size"], 0, 1 << 50)
    named = [line.whole(name, values[name], 1, NAMED[name]) if name in values else 0 for name in NAMED]
    matrix.connections.append(
        Connection(
            line.number,
            line.whole("source", ends[0], 0, 2**32 - 1),
            line.whole("destination", ends[1], 0, 2**32 - 1),
            size,
            int(start),  # connection_matrix.cpp: a whole number of the unit, of which a part is cut off
            "msg" in values,
            *named,
        )
    )
    matrix.starts.add(start, line.number)
    if size > LARGEST_HTSIM and not matrix.too_large:
        matrix.too_large = line.number


def _start(line: Line, text: str) -> Decimal | int:
    """A start, exactly; most are whole, for which `int` is faster."""
    return (
        int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else line.decimal("start", text)
    )


def _values(line: Line, ignored: Ignored, left_out: LeftOut) -> dict[str, str]:
    """The words of a connection with their values, without those that are passed over."""
    values: dict[str, str] = {}
    words = line.words[1:]
    while words:
        word = words.pop(0)
        if word in KNOWN:
            if word in values:
                raise line.error(f'"{word}" is given twice', f"each once: {', '.join([*KNOWN, *LOST])}")
            # The number of a message may be left out.
            alone = word == "msg" and not (words and words[0].isdecimal())
            value = "" if alone or not words else words.pop(0)
            if word in ignored.keys:
                _leave_out(word, line, ignored, left_out)
            else:
                values[word] = value
        else:
            _leave_out(word, line, ignored, left_out)
            del words[: LOST[word] if word in LOST else _until_known(words)]
    return values


def _until_known(words: list[str]) -> int:
    """How many words follow one that nobody knows, and are taken for its values."""
    return next((place for place, word in enumerate(words) if word in KNOWN or word in LOST), len(words))


def _leave_out(word: str, line: Line, ignored: Ignored, left_out: LeftOut) -> None:
    if word in ignored:
        left_out.add(word, line.number)
    elif word in WHY:
        raise line.error(f"{word}: {WHY[word]}", f"take it out, or do without it: --ignore {word}")
    else:
        known = ", ".join([*KNOWN, *LOST])
        raise line.error(
            f"{quoted(word)} is not known", f"each once: {known}; or do without: {how_to_ignore(word)}"
        )


def _trigger(line: Line, triggers: dict[int, Trigger]) -> None:
    form = "trigger id NUMBER oneshot, multishot, or barrier count NUMBER"
    number, kind, count = None, None, None
    words = iter(line.words[1:])
    for word in words:
        if word in {"id", "count"}:
            value = line.whole(word, next(words, ""), 1, MOST_SIGNALS)
            number, count = (value, count) if word == "id" else (number, value)
        elif word in KINDS and kind is None:
            kind = word
        else:
            raise line.error(f'"{word}" does not belong here', f"write it as {form}")
    if number is None or kind is None or (kind == "barrier") != (count is not None):
        raise line.error("no id, no kind, or a count that only a barrier has", f"write it as {form}")
    if number in triggers:
        raise line.error(f"trigger {number} stands in line {triggers[number].line} too", "name it once")
    triggers[number] = Trigger(line.number, kind, count)


def _link(matrix: Matrix) -> None:
    """Count who waits for triggers and who fires them, and refuse what htsim would not finish."""
    for connection in matrix.connections:
        _check_ends(connection, matrix)
        if connection.trigger:
            awaited = _find(connection, connection.trigger, matrix)
            awaited.waiting, awaited.last = awaited.waiting + 1, connection.line
        for fired in (connection.send_done_trigger, connection.recv_done_trigger):
            if fired:
                _find(connection, fired, matrix).fired += 1
        _check_endless(connection, matrix)
    _check_ids(matrix)
    for number, trigger in matrix.triggers.items():
        _check_trigger(number, trigger, matrix)


def _check_ends(connection: Connection, matrix: Matrix) -> None:
    if max(connection.source, connection.destination) < matrix.nodes and (
        connection.source != connection.destination
    ):
        return
    ends = {"source": connection.source, "destination": connection.destination}
    for name, end in ends.items():
        if end >= matrix.nodes:
            message = f"{name} {end} is no node"
            raise matrix.error(connection.line, message, f"nodes are 0 to {matrix.nodes - 1}")
    message = f"node {connection.source} sends to itself"
    raise matrix.error(connection.line, message, "name two different nodes")


def _find(connection: Connection, number: int, matrix: Matrix) -> Trigger:
    """The trigger that a connection names."""
    if number not in matrix.triggers:
        remedy = f"add a line trigger id {number} oneshot, multishot or barrier"
        raise matrix.error(connection.line, f"there is no trigger {number}", remedy)
    return matrix.triggers[number]


def _check_endless(connection: Connection, matrix: Matrix) -> None:
    """A flow of size 0 never ends: it fires nothing, and nothing of ours that waits is without an end."""
    if connection.size > 0:
        return
    if matrix.has_messages:
        raise matrix.error(connection.line, "a message of size 0", "htsim stops here too: give it a size")
    for name in ("trigger", "send_done_trigger", "recv_done_trigger"):
        if getattr(connection, name):
            message = f"a flow of size 0, which never ends, with {name}"
            raise matrix.error(connection.line, message, "give it a size, or take out the trigger")


def _check_ids(matrix: Matrix) -> None:
    """An id is that of one flow or, with messages, of one connection, of which a pair of hosts has one."""
    ascending = all(one < other for one, other in pairwise(filter(None, matrix.connections.column("id"))))
    if ascending and not matrix.has_messages:
        return
    first: dict[int, int] = {}
    of_pair: dict[tuple[int, int], int] = {}
    for index, connection in enumerate(matrix.connections):
        number, ends = connection.id, connection[1:3]
        if not number:
            if matrix.has_messages:
                remedy = "where flows are messages, each names its connection: id NUMBER"
                raise matrix.error(connection.line, "no id", remedy)
            continue
        other = first.setdefault(number, index)
        if other != index:
            _check_same_id(connection, matrix.connections[other], matrix)
        if matrix.has_messages and of_pair.setdefault(ends, number) != number:
            message = f"connections {of_pair[ends]} and {number} between the same hosts"
            remedy = "where flows are messages, two hosts have one connection here"
            raise matrix.error(connection.line, message, remedy)


def _check_same_id(connection: Connection, other: Connection, matrix: Matrix) -> None:
    if connection.is_message and other[1:3] == connection[1:3]:
        return
    raise matrix.error(
        connection.line,
        f"id {connection.id} is that of line {other.line} too",
        "give each flow its own; messages of one connection have msg, and the same two hosts",
    )


def _check_trigger(number: int, trigger: Trigger, matrix: Matrix) -> None:
    most = {"oneshot": 1, "barrier": trigger.count}.get(trigger.kind)
    if most is not None and trigger.fired > most:
        message = f"trigger {number} is fired {trigger.fired} times, a {trigger.kind} of {most}"
        raise matrix.error(trigger.line, message, "take a multishot or a larger count; htsim stops here too")
    needed = trigger.waiting if trigger.kind == "multishot" else most or 0
    if trigger.waiting and trigger.fired < needed:
        message = f"trigger {number} is fired {trigger.fired} times; its flows need {needed}"
        raise matrix.error(trigger.last, message, "this flow would never start")
