"""Scenarios from htsim's connection matrices and fat trees.

Flows become a list; triggers become signals that flows of the list wait for. A matrix does not describe
switches and senders, so the scenario has defaults for them.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.errors import ShallowsError
from shallows.foreign import writing
from shallows.foreign.columns import Columns
from shallows.foreign.htsim_connections import WHY, Connection
from shallows.foreign.htsim_matrix import Matrix, read_matrix
from shallows.foreign.htsim_topology import read_topology
from shallows.foreign.htsim_triggers import KINDS, Triggers
from shallows.foreign.ignoring import NOTHING, Ignored, LeftOut
from shallows.foreign.reading import LATEST
from shallows.foreign.writing import Flow, Imported, no_flows

if TYPE_CHECKING:
    from shallows.foreign.shapes import Numbers

UNITS = {"ps": 1, "us": 10**6}
"""Units of start times in htsim's programs, in picoseconds."""
END_PS = 10**9
"""Default end of htsim's runs, for the option `-end`, in picoseconds: 1 ms."""
AT_ONCE = 1 << 14
"""Number of flows that are reordered at a time, and thus are in memory twice."""


def import_htsim(
    path: Path, topology: Path | None, ignored: Ignored = NOTHING, start_unit: str | None = None
) -> Imported:
    """Build the scenario of a connection matrix, in the network of a `.topo` file or on a single switch.

    Raises
    ------
    ShallowsError
        If an entry is malformed or has no counterpart in scenarios; the error names file and line.
    """
    left_out = LeftOut()
    matrix = read_matrix(path, ignored, left_out)
    unit, notes = _unit(matrix, start_unit)
    notes += [*_precision(matrix, unit), *left_out.notes()]
    network = _network(topology, matrix, ignored, left_out, notes)
    tables: dict[str, dict[str, Any]] = {
        "topology": network,
        "switch": {
            "buffer": {"kind": "dynamic-threshold", "alpha": 1.0, "pool": "16MB"},
            "markers": [{"kind": "threshold", "k": "12us"}],
        },
        "tcp": {
            "congestion": "dctcp",
            # A delayed acknowledgement that waits for a second segment could exceed the RTO.
            "delayed_ack": {"segments": 1},
            "rto": {"initial": "5ms", "min": "5ms"},
        },
    }
    comments = {
        "switch": "The connection matrix does not describe switches and senders: change these defaults.",
    }
    _check_starts(matrix, UNITS[unit])
    unbounded = _unbounded(matrix, UNITS[unit])
    if unbounded:
        tables = {"stop": {"at": writing.time(END_PS)}, **tables}
        notes.append(
            "flows of size 0 are unbounded: the run stops after 1 ms, as htsim without -end; change stop.at"
        )
    workload: dict[str, Any] = {}
    if matrix.has_messages:
        workload = {"connections": {"kind": "persistent", "when_busy": "queue"}}
        notes.append("msg: flows of one id share a connection in sequence (htsim_uec -conn_reuse)")
    origin = f"htsim's {path.name}" + (f" and {topology.name}" if topology else "")
    flows = _flows(matrix, UNITS[unit])
    places = {"topology": str(topology or path), "workload": str(path)}
    return Imported(origin, tables, flows, workload, unbounded, comments=comments, notes=notes, places=places)


def _network(
    topology: Path | None, matrix: Matrix, ignored: Ignored, left_out: LeftOut, notes: list[str]
) -> dict[str, Any]:
    further = LeftOut()
    if topology is None:
        notes.append("no --topo: every host has a link of 100 Gbps to one switch")
        network: dict[str, Any] = {
            "kind": "star",
            "hosts": matrix.nodes,
            "rate": "100Gbps",
            "link_delay": "1us",
        }
    else:
        network, hosts = read_topology(topology, ignored, further)
        notes += further.notes(f"{topology.name}: ")
        if hosts != matrix.nodes:
            raise ShallowsError(
                f"{matrix.file} has {matrix.nodes} nodes; {topology} has {hosts} hosts",
                "give both files the same number of hosts",
            )
    found = {word.lower() for word in (*left_out.lines, *further.lines)}
    for key in ignored.keys:
        if key not in WHY and key.lower() not in found:
            raise ShallowsError(f"--ignore {key}: the files have no such key", "remove this option")
    return network


def _unit(matrix: Matrix, asked: str | None) -> tuple[str, list[str]]:
    """Return the unit of the start times, and notes for the user.

    The unit depends on which htsim program reads the file. htsim_uec (uec.cpp, `connectPort`) reads
    microseconds, the other programs picoseconds. A matrix with messages is for htsim_uec, as only this
    program supports messages. Starts that are all below 1,000 are interpreted as microseconds.
    """
    latest = matrix.starts.latest
    if asked or not latest:
        return asked or "ps", []
    if matrix.has_messages:
        return "us", ["start times are read in us, as by htsim_uec, the only program that supports msg"]
    if latest < 1_000:
        return "us", [
            f"start times (at most {latest}) are read in us, as by htsim_uec; "
            "htsim's other programs read ps: --start-unit ps"
        ]
    return "ps", ["start times are read in ps; only htsim_uec reads us: --start-unit us"]


def _check_starts(matrix: Matrix, unit_ps: int) -> None:
    starts = matrix.connections.column("start")
    if max(starts) * unit_ps <= LATEST:
        return
    place = next(place for place, start in enumerate(starts) if start * unit_ps > LATEST)
    message = f"start must be at most a day, got {starts[place]}"
    remedy = "correct the start time, or add --start-unit ps if start times are in ps"
    raise matrix.error(matrix.connections[place].line, message, remedy)


def _flows(matrix: Matrix, unit_ps: int) -> Columns[Flow]:
    """Return the flows that have a size."""
    import numpy as np

    connections = matrix.connections
    names = {
        "source": "source",
        "destination": "destination",
        "size": "size",
        "line": "line",
        "start": "start_ps",
        "trigger": "after",
        "recv_done_trigger": "on_received",
        "send_done_trigger": "on_acked",
    }
    used = {
        field: np.asarray(connections.column(name))
        for name, field in names.items()
        if connections.has(name) or name == "start"
    }
    flows, turns = no_flows(), array("I", bytes(4 * len(matrix.triggers)))
    order = _order(connections)
    for first in range(0, len(order), AT_ONCE):
        fields = {field: values[order[first : first + AT_ONCE]] for field, values in used.items()}
        fields["start_ps"] *= unit_ps
        if "after" in fields:
            fields["times"] = np.array(list(_counts(fields["after"].tolist(), matrix.triggers, turns)))
        flows.extend(fields)
    return flows


def _order(connections: Columns[Connection]) -> "Numbers":
    """Return the indices of connections with a size; those without a trigger are ordered by their start."""
    import numpy as np

    sizes, triggers, starts = (np.asarray(connections.column(name)) for name in ("size", "trigger", "start"))
    places = np.flatnonzero(sizes)
    waits_not = triggers[places] == 0
    free = places[waits_not]
    places[waits_not] = free[np.argsort(starts[free], kind="stable")]
    return places


def _counts(numbers: Iterable[int], triggers: Triggers, turns: "array[int]") -> Iterator[int]:
    """Yield for each flow how many times its trigger fires before the flow starts; 1 without a trigger.

    `turns` counts, for each trigger, the flows that were already yielded.
    """
    kinds, counts = triggers.column("kind"), triggers.column("times")
    for number in numbers:
        place = triggers.place(number)
        if place is None:
            yield 1
            continue
        turns[place] += 1
        yield turns[place] if KINDS[kinds[place]] == "multishot" else counts[place] or 1


def _unbounded(matrix: Matrix, unit_ps: int) -> list[dict[str, Any]]:
    """Return workloads of unbounded flows; flows of a workload have equal start, receiver and `per_pair`."""
    sizes = matrix.connections.column("size")
    unbounded = matrix.connections.take([place for place, size in enumerate(sizes) if not size])
    times = Counter((one.start * unit_ps, one.destination, one.source) for one in unbounded)
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
    """Return host numbers in a scenario's notation.

    >>> _hosts([3]), _hosts([3, 4, 5]), _hosts([3, 5])
    (3, '3..6', [3, 5])
    """
    if len(numbers) == 1:
        return numbers[0]
    row = list(range(numbers[0], numbers[-1] + 1))
    return f"{row[0]}..{row[-1] + 1}" if row == list(numbers) else list(numbers)


def _precision(matrix: Matrix, unit: str) -> list[str]:
    """Return notes on numbers that htsim misreads: starts as 32-bit floats, sizes as 32-bit integers."""
    notes = []
    if matrix.starts.inexact:
        gap, line = matrix.starts.most_off
        most = f"up to {int(gap)} {unit} off (line {line})"
        notes.append(
            f"{matrix.starts.inexact} start times are exact here; htsim reads them as 32-bit floats, {most}"
        )
    if matrix.too_large:
        notes.append(f"htsim cannot read sizes of 2 GiB and more, such as that of line {matrix.too_large}")
    return notes
