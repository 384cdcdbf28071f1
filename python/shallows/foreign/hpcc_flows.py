"""Reader of HPCC's `flow.txt`, and of its variants in simulators derived from HPCC.

A variant may lack the column of ports.
"""

from array import array
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from shallows.errors import ShallowsError
from shallows.foreign.columns import Columns
from shallows.foreign.hpcc_topology import Network, rest
from shallows.foreign.ignoring import listed
from shallows.foreign.reading import LATEST, PS_PER_S, Block, Line, read_blocks
from shallows.foreign.shapes import Shape, columns, pieces
from shallows.foreign.writing import Flow, no_flows

if TYPE_CHECKING:
    from shallows.foreign.shapes import Numbers

LARGEST_HPCC = 2**32 - 1
"""Largest flow of third.cc in bytes: it reads sizes in 32 bits, and stops at a larger number."""
LARGEST_SIZE = 1 << 50
LARGEST_PORT = 65_535


def read_flows(path: Path, network: Network) -> tuple[Columns[Flow], list[str]]:
    """Read a `flow.txt`; return the flows and notes for the user.

    The first line is the number of flows. Each of the next lines is a flow, in order of start time. Further
    lines are ignored.
    """
    reader: _Reader | None = None
    for block in read_blocks(path):
        for piece in [block] if reader is None else pieces(block, reader.together):
            for line in piece.lines():
                if reader is None:
                    reader = _Reader(line, network)
                else:
                    reader.alone(line)
    if reader is None:
        raise ShallowsError(f"{path} is empty", "write the number of flows in the first line")
    return reader.flows, reader.finish()


class _Reader:
    """Reader of the lines after the first; lines of the usual shape are read in blocks, others one by one."""

    def __init__(self, first: Line, network: Network) -> None:
        first.expect(1, "the number of flows")
        self._first, self._network = first, network
        self._count = first.whole("the number of flows", first.words[0])
        if self._count == 0:
            raise first.error("the number of flows must be at least 1, got 0", "list at least one flow")
        self.flows = no_flows()
        self._numbers = {node: number for number, node in enumerate(network.hosts)}
        self._with_ports, self._latest = True, 0
        self._large = array("I")
        """Numbers of the lines with sizes that HPCC cannot read."""
        self._after, self._further = 0, 0
        """Number of the first line that HPCC does not read, and the count of such lines."""

    def together(self, block: Block) -> bool:
        """Read all lines of a block if they are flows of the usual shape; return whether they were read."""
        if not self.flows or len(self.flows) + len(block.texts) > self._count:
            return False
        bounds = {"whole": (0, 86_400), "part": (0, PS_PER_S), "pg": (1, 7), "port": (0, LARGEST_PORT)}
        nodes = (0, max(self._numbers))
        bounds |= {"size": (1, LARGEST_SIZE), "source": nodes, "destination": nodes}
        tables = columns(block, _shape_with_port if self._with_ports else _shape_without_port, bounds)
        fields = None if tables is None else self._flows(block, tables[_Flow])
        if fields is None:
            return False
        self._latest = int(fields["start_ps"][-1])
        self._large.extend(fields["line"][fields["size"] > LARGEST_HPCC].tolist())
        self.flows.extend(fields)
        return True

    def _flows(self, block: Block, read: dict[str, "Numbers"]) -> dict[str, "Numbers"] | None:
        """Return the fields of all flows in a block; None if a line must be read word by word."""
        import numpy as np

        hosts = np.full(max(self._numbers) + 1, -1, np.int64)
        hosts[list(self._numbers)] = list(self._numbers.values())
        ends: dict[str, Numbers] = {name: hosts[read[name]] for name in ("source", "destination")}
        digits = np.array([_digits_after_point(text) for text in block.texts])
        if digits.max() > 12 or min(ends["source"].min(), ends["destination"].min()) < 0:
            return None
        start = read["whole"] * PS_PER_S + read.get("part", 0) * 10 ** (12 - digits)
        unsorted = start[0] < self._latest or (np.diff(start) < 0).any()
        if unsorted or start.max() > LATEST or (ends["source"] == ends["destination"]).any():
            return None
        fields: dict[str, Numbers] = {
            name: read[name] for name in ("size", "line", "pg", "port") if name in read
        }
        return {**fields, **ends, "start_ps": start}

    def alone(self, line: Line) -> None:
        """Read a line word by word."""
        if len(self.flows) == self._count:
            self._after = self._after or line.number
            self._further += 1
            return
        if not self.flows:
            self._with_ports = len(line.words) != 5
        flow = _flow(line, self._numbers, with_ports=self._with_ports)
        if flow.start_ps < self._latest:
            raise line.error(
                "the flow starts before the flow in the line above", "sort the flows by start time"
            )
        self._latest = flow.start_ps
        self.flows.append(flow)
        if flow.size > LARGEST_HPCC:
            self._large.append(line.number)

    def finish(self) -> list[str]:
        """Return the notes; raise an error if lines are missing."""
        name = self._first.file.name
        notes = rest(self._first, len(self.flows), self._count, "flows", self._after, self._further)
        if not self._with_ports:
            notes.append(
                f"{name} has ConWeave's format without ports: the import chooses the ports of its flows"
            )
        if self._large and self._network.short_sizes:
            notes.append(f"{name}: HPCC cannot read sizes of 4 GiB and more ({listed(self._large)})")
        return notes


class _Flow(NamedTuple):
    """The numbers of a flow's line."""

    line: int
    source: int
    destination: int
    pg: int
    size: int
    whole: int
    """Whole seconds of the start time."""
    port: int = -1
    part: int = 0
    """Digits of the start time after the decimal point, as a whole number."""


@lru_cache(maxsize=64)
def _shape_with_port(form: str) -> Shape | None:
    return _shape(form, ("source", "destination", "pg", "port", "size", "whole"))


@lru_cache(maxsize=64)
def _shape_without_port(form: str) -> Shape | None:
    return _shape(form, ("source", "destination", "pg", "size", "whole"))


def _shape(form: str, names: tuple[str, ...]) -> Shape | None:
    *others, start = form.split() or [""]
    if len(others) != len(names) - 1 or set(others) != {"0"} or start not in {"0", "0.0"}:
        return None
    return Shape(_Flow, names if start == "0" else (*names, "part"))


def _digits_after_point(text: str) -> int:
    """Return the number of digits after the first point of a line; zero without a point."""
    point = text.find(".")
    return len(text.rstrip()) - point - 1 if point >= 0 else 0


def _flow(line: Line, numbers: dict[int, int], *, with_ports: bool) -> Flow:
    if with_ports:
        line.expect(6, "SOURCE DESTINATION PRIORITY_GROUP PORT BYTES START_SECONDS")
        source, destination, pg, port, size, start = line.words
    else:
        line.expect(5, "SOURCE DESTINATION PRIORITY_GROUP BYTES START_SECONDS, like the first flow")
        source, destination, pg, size, start = line.words
        port = ""
    ends = [line.whole(name, word) for name, word in (("source", source), ("destination", destination))]
    for end in ends:
        if end not in numbers:
            raise line.error(
                f"the flow's node {end} is not a host",
                "name a node of the topology file that is not a switch",
            )
    if ends[0] == ends[1]:
        raise line.error(
            f"source and destination of the flow must differ, got {ends[0]} for both",
            "name two different hosts",
        )
    return Flow(
        start_ps=line.picoseconds("the start", start, PS_PER_S),
        source=numbers[ends[0]],
        destination=numbers[ends[1]],
        size=line.whole("the size", size, 1, 1 << 50),
        line=line.number,
        # Queue 0 is for control packets, which are never marked.
        pg=line.whole("the priority group", pg, 1, 7),
        port=line.whole("the port", port, 0, 65_535) if with_ports else -1,
    )
