"""htsim's connection matrices, `.cm`: reads their lines, and checks triggers and messages for consistency.

Source: `sim/datacenter/connection_matrix.cpp` of Broadcom/csg-htsim and ultraethernet/uet-htsim.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from operator import eq, lt
from pathlib import Path

from shallows.bounded import quoted
from shallows.errors import ShallowsError
from shallows.foreign import htsim_connections, htsim_triggers
from shallows.foreign.columns import Columns
from shallows.foreign.htsim_connections import MOST_SIGNALS, Connection, ConnectionReader, Starts, leave_out
from shallows.foreign.htsim_triggers import KINDS, Trigger, Triggers
from shallows.foreign.ignoring import Ignored, LeftOut, how_to_ignore
from shallows.foreign.reading import Block, Line, read_blocks
from shallows.foreign.shapes import Shape, columns, pieces


@dataclass
class Matrix:
    """A checked `.cm` file."""

    file: Path
    connections: Columns[Connection]
    starts: Starts
    triggers: Triggers = field(default_factory=Triggers)
    nodes: int = 0
    too_large: int = 0
    """Number of the first line with a size that htsim cannot read; 0 if there is none."""

    @property
    def has_messages(self) -> bool:
        """Return whether flows share connections, which only htsim_uec supports."""
        return self.connections.has("is_message")

    def error(self, line: int, message: str, remedy: str) -> ShallowsError:
        """Return an error about a line."""
        return Line(self.file, line, []).error(message, remedy)


def read_matrix(path: Path, ignored: Ignored, left_out: LeftOut) -> Matrix:
    """Read and check a connection matrix; words that are left out are added to `left_out`."""
    reader = MatrixReader(path, ignored, left_out)
    reader.read()
    matrix = reader.matrix
    matrix.too_large = reader.connections.too_large
    _close(matrix)
    found = {
        "Connections": len(matrix.connections),
        "Triggers": len(matrix.triggers),
        "Failures": reader.failures,
    }
    matrix.nodes = _check_header(path, reader.header, found)
    _link(matrix)
    return matrix


class MatrixReader:
    """Reader of a matrix; lines of a usual shape are read in blocks, others word by word."""

    def __init__(self, path: Path, ignored: Ignored, left_out: LeftOut) -> None:
        self.connections = ConnectionReader(ignored, left_out)
        self.matrix = Matrix(path, self.connections.rows, self.connections.starts)
        self.header: dict[str, tuple[int, Line]] = {}
        self.failures = 0
        self._ignored, self._left_out = ignored, left_out

    def read(self) -> None:
        """Read all lines."""
        for block in read_blocks(self.matrix.file):
            for piece in pieces(block, self._together):
                for line in piece.lines(comment="#"):
                    self._alone(line)

    def _together(self, block: Block) -> bool:
        """Read all lines of a block if they have usual shapes; return whether they were read."""
        # If words are to be left out, all lines are read word by word, because usual lines may contain such
        # words.
        tables = None if self._ignored.keys else columns(block, _shape, _BOUNDS)
        if tables is None:
            return False
        if Connection in tables:
            self.connections.add(tables[Connection])
        if Trigger in tables:
            self.matrix.triggers.extend(tables[Trigger])
        return True

    def _alone(self, line: Line) -> None:
        """Read a line word by word."""
        first = line.words[0]
        if "->" in first:
            self.connections.read(line)
        elif first in {"Nodes", "Connections", "Triggers", "Failures"}:
            done = bool(self.matrix.connections or self.matrix.triggers or self.failures)
            _header(line, self.header, done=done)
        elif first == "trigger":
            _trigger(line, self.matrix.triggers)
        elif first == "failure" or first in self._ignored:
            leave_out(first, line, self._ignored, self._left_out)
            self.failures += first == "failure"
        else:
            remedy = f"{_EXPECTED}; or import without the line: {how_to_ignore(first)}"
            raise line.error(f"{quoted(first)} cannot begin a line of a connection matrix", remedy)


_BOUNDS = {**htsim_connections.BOUNDS, "number": (1, MOST_SIGNALS), "times": (1, MOST_SIGNALS)}


@lru_cache(maxsize=64)
def _shape(form: str) -> Shape | None:
    return htsim_triggers.shape(form) if form.startswith("trigger") else htsim_connections.shape(form)


_EXPECTED = "begin the line with Nodes, Connections, Triggers, SOURCE->DESTINATION or trigger"


def _header(line: Line, header: dict[str, tuple[int, Line]], *, done: bool) -> None:
    name = line.words[0]
    line.expect(2, f"{name} NUMBER")
    if done or name in header:
        raise line.error(
            f"{name} must occur once, before all connections and triggers",
            "move the line to the top of the file, or remove it",
        )
    most = 1 << (17 if name == "Nodes" else 22)  # the engine's largest number of hosts
    header[name] = (line.whole(name, line.words[1], 0, most), line)


def _check_header(path: Path, header: dict[str, tuple[int, Line]], found: dict[str, int]) -> int:
    for name in ("Nodes", "Connections"):
        if name not in header:
            raise ShallowsError(
                f"{path}: the line {name} is missing", f"add the line `{name} NUMBER` at the top of the file"
            )
    for name, count in found.items():
        said, line = header.get(name, (0, None))
        if said != count:
            message = (
                f"{name} must be {count}, the number that the file lists, got {said}; htsim also stops here"
            )
            if line is None:
                raise ShallowsError(f"{path}: {message}", f"add the line `{name} {count}`")
            raise line.error(message, f"write `{name} {count}`, or correct the lines below")
    nodes, line = header["Nodes"]
    if nodes < 2:
        raise line.error(f"Nodes must be at least 2, got {nodes}", "correct the number of nodes")
    if found["Connections"] == 0:
        raise header["Connections"][1].error(
            "Connections must be at least 1, got 0", "list at least one connection"
        )
    return nodes


def _trigger(line: Line, triggers: Triggers) -> None:
    form = "trigger id NUMBER oneshot, multishot, or barrier count NUMBER"
    number, kind, count = 0, "", 0
    words = iter(line.words[1:])
    for word in words:
        if word in {"id", "count"}:
            value = line.whole(word, next(words, ""), 1, MOST_SIGNALS)
            number, count = (value, count) if word == "id" else (number, value)
        elif word in KINDS and not kind:
            kind = word
        else:
            raise line.error(f'unknown word "{word}" of a trigger', f"write the line as {form}")
    if not number or not kind or (kind == "barrier") != (count > 0):
        raise line.error(
            "a trigger must have an id and a kind, and a count only if its kind is barrier",
            f"write the line as {form}",
        )
    triggers.add(Trigger(line.number, number, KINDS.index(kind), count))


def _close(matrix: Matrix) -> None:
    if same := matrix.triggers.close():
        one, other = same
        raise matrix.error(
            other.line,
            f"trigger {one.number} is listed twice; line {one.line} has it too",
            "list each trigger once",
        )


def _link(matrix: Matrix) -> None:
    """Count the flows that wait for each trigger or fire it; reject matrices that would never finish."""
    connections, triggers = matrix.connections, matrix.triggers
    _check_ends(matrix)
    for place, number in _named(matrix, "trigger"):
        awaited = _find(place, number, matrix)
        triggers.waiting[awaited] += 1
        triggers.last[awaited] = place
    for name in ("send_done_trigger", "recv_done_trigger"):
        for place, number in _named(matrix, name):
            triggers.fired[_find(place, number, matrix)] += 1
    for connection in connections.take(
        [place for place, size in enumerate(connections.column("size")) if not size]
    ):
        _check_unbounded(connection, matrix)
    _check_ids(matrix)
    _check_triggers(matrix)


def _named(matrix: Matrix, name: str) -> Iterator[tuple[int, int]]:
    """Yield index and trigger number of each connection that has a trigger in the field `name`."""
    if not matrix.connections.has(name):
        return iter(())
    return ((place, number) for place, number in enumerate(matrix.connections.column(name)) if number)


def _check_ends(matrix: Matrix) -> None:
    """Reject connections that are not between two different nodes."""
    sources, destinations = (matrix.connections.column(name) for name in ("source", "destination"))
    if max(max(sources), max(destinations)) < matrix.nodes and not any(map(eq, sources, destinations)):
        return
    for connection in matrix.connections:
        for name in ("source", "destination"):
            end = getattr(connection, name)
            if end >= matrix.nodes:
                raise matrix.error(
                    connection.line,
                    f"{name} must be a node from 0 to {matrix.nodes - 1}, got {end}",
                    "correct the node, or raise Nodes",
                )
        if connection.source == connection.destination:
            raise matrix.error(
                connection.line,
                f"source and destination must differ, got {connection.source} for both",
                "name two different nodes",
            )


def _find(place: int, number: int, matrix: Matrix) -> int:
    """Return the index of the trigger that a connection names."""
    found = matrix.triggers.place(number)
    if found is None:
        remedy = f"add a line such as `trigger id {number} oneshot`"
        raise matrix.error(matrix.connections[place].line, f"trigger {number} does not exist", remedy)
    return found


def _check_unbounded(connection: Connection, matrix: Matrix) -> None:
    """Reject an unbounded flow (size 0) with a trigger, or in a matrix with messages."""
    if matrix.has_messages:
        raise matrix.error(
            connection.line,
            "size must be above 0 in a matrix with msg, got 0; htsim also stops with an error",
            "give the message a size",
        )
    for name in ("trigger", "send_done_trigger", "recv_done_trigger"):
        if getattr(connection, name):
            raise matrix.error(
                connection.line,
                f"a flow of size 0 is unbounded and cannot have {name}",
                f"give the flow a size, or remove {name}",
            )


def _check_ids(matrix: Matrix) -> None:
    """Reject ids that are missing or that break the following rules.

    Without messages, all ids are different. With messages, every flow has an id, which identifies its
    connection, and all flows of a pair of hosts have the same id.
    """
    ids = sorted(filter(None, matrix.connections.column("id")))
    if all(map(lt, ids, islice(ids, 1, None))) and not matrix.has_messages:
        return
    first: dict[int, int] = {}
    of_pair: dict[tuple[int, int], int] = {}
    for index, connection in enumerate(matrix.connections):
        number, ends = connection.id, connection[1:3]
        if not number:
            if matrix.has_messages:
                raise matrix.error(
                    connection.line,
                    "id is missing; if a line of the matrix has msg, every flow must have an id",
                    "add `id NUMBER`; flows of the same connection have the same number",
                )
            continue
        other = first.setdefault(number, index)
        if other != index:
            _check_same_id(connection, matrix.connections[other], matrix)
        if matrix.has_messages and of_pair.setdefault(ends, number) != number:
            message = f"id must be {of_pair[ends]}, as in other lines with the same hosts, got {number}"
            remedy = "in a matrix with msg, give all flows between two hosts the same id"
            raise matrix.error(connection.line, message, remedy)


def _check_same_id(connection: Connection, other: Connection, matrix: Matrix) -> None:
    if connection.is_message and other[1:3] == connection[1:3]:
        return
    raise matrix.error(
        connection.line,
        f"id {connection.id} is given twice; line {other.line} has it too",
        "give each flow its own id; flows that share a connection must have msg and the same two hosts",
    )


def _check_triggers(matrix: Matrix) -> None:
    """Reject triggers that fire more often than htsim allows, or too rarely for a waiting flow."""
    triggers = matrix.triggers
    columns = triggers.column("kind"), triggers.column("times"), triggers.waiting, triggers.fired
    for place, (kind, count, waiting, fired) in enumerate(zip(*columns, strict=True)):
        most = None if KINDS[kind] == "multishot" else count or 1
        needed = waiting if most is None else most
        if (most is None or fired <= most) and (fired >= needed or not waiting):
            continue
        line, number, *_ = triggers[place]
        said = f"trigger {number} is fired {fired} times"
        if most is not None and fired > most:
            raise matrix.error(
                line,
                f"{said}; this {KINDS[kind]} trigger may be fired at most {most} times",
                "use a multishot trigger or a larger count; htsim also stops with an error",
            )
        last = matrix.connections[triggers.last[place]].line
        raise matrix.error(
            last,
            f"{said}, but would start this flow only if it were fired {needed} times",
            f"let more flows fire trigger {number}, or lower the count of the trigger",
        )
