"""Scenarios from htsim's connection matrices and fat trees.

Flows become a list, and triggers the signals by which flows of the list wait for one another. A matrix says
nothing of switches and senders; the scenario says which it has instead.
"""

import struct
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from shallows.errors import ShallowsError
from shallows.foreign import writing
from shallows.foreign.htsim_matrix import Connection, Matrix, Trigger, find, read_matrix
from shallows.foreign.htsim_topology import read_topology
from shallows.foreign.ignoring import NOTHING, Ignored, listed
from shallows.foreign.writing import Flow, Imported

UNITS = {"ps": 1, "us": 10**6}
"""Picoseconds of the units in which htsim's programs read starts."""
LARGEST_HTSIM = 2**31 - 1
END_PS = 10**9
"""When htsim stops if -end does not say it: after 1 ms."""


def import_htsim(
    path: Path, topology: Path | None, ignored: Ignored = NOTHING, start_unit: str | None = None
) -> Imported:
    """The scenario of a connection matrix, in the network of a `.topo` file or on a single switch.

    Raises
    ------
    ShallowsError
        With file and line, if something is malformed or would be ignored.
    """
    matrix = read_matrix(path, ignored)
    unit, notes = _unit(matrix, start_unit)
    notes += [*_precision(matrix.connections, unit), *_left_out(matrix)]
    network = _network(path, topology, matrix, notes)
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
    endless = _endless(matrix, UNITS[unit])
    if endless:
        tables = {"stop": {"at": writing.time(END_PS)}, **tables}
        notes.append(
            "flows of size 0 never end: the run stops after 1 ms, as htsim does without -end; change stop.at"
        )
    workload: dict[str, Any] = {}
    if matrix.has_messages:
        workload = {"connections": {"kind": "persistent", "when_busy": "queue"}}
        notes.append("msg: flows of one id share a connection, one after the other (htsim_uec -conn_reuse)")
    origin = f"htsim's {path.name}" + (f" and {topology.name}" if topology else "")
    flows = _flows(matrix, UNITS[unit])
    return Imported(origin, tables, flows, workload, endless, comments=comments, notes=notes)


def _network(path: Path, topology: Path | None, matrix: Matrix, notes: list[str]) -> dict[str, Any]:
    if topology is None:
        notes.append("no --topo: every host has a link of 100 Gbps to one switch")
        return {"kind": "star", "hosts": matrix.nodes, "rate": "100Gbps", "link_delay": "1us"}
    network, hosts = read_topology(topology)
    if hosts != matrix.nodes:
        raise ShallowsError(
            f"{path} has {matrix.nodes} nodes, {topology} {hosts}",
            "both must have the same number of hosts",
        )
    return network


def _unit(matrix: Matrix, asked: str | None) -> tuple[str, list[str]]:
    """The unit of the starts, which the program decides that reads them and not the file.

    uec.cpp, `connectPort`, takes microseconds, the other programs picoseconds. Only htsim_uec knows messages,
    and starts of less than a nanosecond are none: there they are microseconds.
    """
    starts = [connection.start for connection in matrix.connections if connection.start > 0]
    if asked or not starts:
        return asked or "ps", []
    if matrix.has_messages:
        return "us", ["starts are read in us: only htsim_uec, which takes them so, knows msg"]
    if max(starts) < 1_000:
        return "us", [
            f"starts, up to {max(starts)}, are read in us, as htsim_uec takes them; "
            "htsim's other programs take ps: --start-unit ps"
        ]
    return "ps", ["starts are read in ps; htsim_uec alone takes us: --start-unit us"]


def _flows(matrix: Matrix, unit_ps: int) -> list[Flow]:
    flows = [
        _flow(connection, matrix.triggers, unit_ps) for connection in matrix.connections if connection.size
    ]
    # A list has those that wait for nothing in order of time; htsim's has them in any.
    timed = iter(sorted((flow for flow in flows if not flow.after), key=lambda flow: flow.start_ps))
    return [flow if flow.after else next(timed) for flow in flows]


def _flow(connection: Connection, triggers: dict[int, Trigger], unit_ps: int) -> Flow:
    values = connection.values
    after, count = "", 1
    if "trigger" in values:
        trigger = find(connection, "trigger", triggers)
        after = str(int(values["trigger"]))
        count = connection.turn if trigger.kind == "multishot" else trigger.count or 1

    def fires(name: str) -> str:
        return str(int(values[name])) if name in values else ""

    return Flow(
        start_ps=_start(connection, unit_ps),
        source=connection.source,
        destination=connection.destination,
        size=connection.size,
        after=after,
        count=count,
        on_received=fires("recv_done_trigger"),
        on_acked=fires("send_done_trigger"),
    )


def _start(connection: Connection, unit_ps: int) -> int:
    # connection_matrix.cpp: a whole number of the unit, of which a part is cut off.
    start = int(connection.start) * unit_ps
    if start > 86_400 * 10**12:
        message = f"a start of {connection.values['start']} is later than a day"
        raise connection.line.error(message, "mend it, or say that starts are in ps: --start-unit ps")
    return start


def _endless(matrix: Matrix, unit_ps: int) -> list[dict[str, Any]]:
    """Workloads of the flows without an end: one for those that begin together and have one receiver."""
    endless = [connection for connection in matrix.connections if not connection.size]
    times = Counter((_start(one, unit_ps), one.destination, one.source) for one in endless)
    groups: dict[tuple[int, int, int], list[int]] = {}
    for (start, receiver, sender), count in times.items():
        groups.setdefault((start, receiver, count), []).append(sender)
    return [
        {
            "kind": "long-lived",
            "senders": _hosts(sorted(senders)),
            "receivers": receiver,
            **({"per_pair": count} if count > 1 else {}),
            "start": writing.time(start),
        }
        for (start, receiver, count), senders in groups.items()
    ]


def _hosts(numbers: Sequence[int]) -> int | str | list[int]:
    """A set of hosts as scenarios write it.

    >>> _hosts([3]), _hosts([3, 4, 5]), _hosts([3, 5])
    (3, '3..6', [3, 5])
    """
    if len(numbers) == 1:
        return numbers[0]
    row = list(range(numbers[0], numbers[-1] + 1))
    return f"{row[0]}..{row[-1] + 1}" if row == list(numbers) else list(numbers)


def _left_out(matrix: Matrix) -> list[str]:
    found = [f"{word} ({listed(lines)})" for word, lines in matrix.left_out.items() if lines]
    return [f"left out, as asked: {', '.join(found)}"] if found else []


def _precision(connections: Sequence[Connection], unit: str) -> list[str]:
    """Where htsim reads other numbers than stand there: starts as 32-bit floats, sizes as 32-bit integers."""
    notes = []
    off = []
    for connection in connections:
        start = connection.start
        gap = abs(Decimal(struct.unpack("f", struct.pack("f", float(start)))[0]) - start)
        if gap >= 1:
            off.append((gap, connection.line.number))
    if off:
        gap, number = max(off)
        most = f"up to {int(gap)} {unit} off (line {number})"
        notes.append(f"{len(off)} starts are exact here; htsim reads them as 32-bit floats, {most}")
    large = [one.line.number for one in connections if one.size > LARGEST_HTSIM]
    if large:
        notes.append(f"htsim cannot read sizes of 2 GiB and more, such as that of line {large[0]}")
    return notes
