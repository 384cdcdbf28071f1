"""Scenarios from foreign files: notation of quantities, lists of flows, and the written files."""

import re
import tempfile
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from shallows.errors import ScenarioError, ShallowsError
from shallows.foreign.columns import Columns
from shallows.runs.folder import check_writable, write_whole
from shallows.runs.source import Source
from shallows.runs.toml_text import toml_value


def rate(bits: int) -> str:
    """Format a rate in a scenario's notation, exactly.

    >>> rate(100_000_000_000), rate(2_500_000_001)
    ('100Gbps', '2500000001bps')
    """
    return _exact(bits, [(12, "Tbps"), (9, "Gbps"), (6, "Mbps"), (3, "Kbps"), (0, "bps")])


def time(picoseconds: int) -> str:
    """Format a time in a scenario's notation, exactly.

    >>> time(1_000_000), time(1_500), time(0)
    ('1us', '1500ps', '0s')
    """
    if picoseconds == 0:
        return "0s"
    return _exact(picoseconds, [(12, "s"), (9, "ms"), (6, "us"), (3, "ns"), (0, "ps")])


def _exact(number: int, units: Sequence[tuple[int, str]]) -> str:
    power, unit = next(found for found in units if number % 10 ** found[0] == 0)
    return f"{number // 10**power}{unit}"


class Flow(NamedTuple):
    """A row of a list of flows. A column that has its default in all rows is not written."""

    start_ps: int
    source: int
    destination: int
    size: int
    """Size in bytes."""
    line: int
    """Line in the source file; not written."""
    pg: int = -1
    """Priority group; -1 means no group."""
    port: int = -1
    """Port of the receiver; -1 means no port."""
    after: int = 0
    """Number of the signal that the flow waits for; 0 means none, as in `on_received` and `on_acked`."""
    times: int = 1
    """Number of signals before the flow starts."""
    on_received: int = 0
    on_acked: int = 0


FLOW_CODES = "qIIqIbiIIII"
"""Type codes of a flow's fields, for `Columns`."""


def no_flows() -> Columns[Flow]:
    """Return an empty list of flows; a million flows take 30 to 60 MB."""
    return Columns(Flow, FLOW_CODES)


_COLUMNS: dict[str, tuple[str, Callable[[int], str]]] = {
    "start_ns": ("start_ps", lambda start: _nanoseconds(start)),
    "source": ("source", str),
    "destination": ("destination", str),
    "bytes": ("size", str),
    "class": ("pg", lambda pg: "" if pg < 0 else str(pg)),
    "port": ("port", lambda port: "" if port < 0 else str(port)),
    "after": ("after", lambda signal: str(signal or "")),
    "count": ("times", lambda times: str(times) if times > 1 else ""),
    "on_received": ("on_received", lambda signal: str(signal or "")),
    "on_acked": ("on_acked", lambda signal: str(signal or "")),
}
"""Columns of the CSV file, each with the field of `Flow` that it shows and the function that formats it."""


def flow_list(flows: Columns[Flow]) -> Iterator[str]:
    r"""Yield the lines of a list of flows in the CSV format of scenarios.

    >>> flows = no_flows()
    >>> flows.append(Flow(1_500, 0, 3, 1000, line=1, port=100))
    >>> list(flow_list(flows))
    ['start_ns,source,destination,bytes,port\n', '1.5,0,3,1000,100\n']
    """
    used = {name: found for name, found in _COLUMNS.items() if flows.has(found[0])}
    yield ",".join(used) + "\n"
    texts = (map(text, flows.column(name)) for name, text in used.values())
    for cells in zip(*texts, strict=True):
        yield ",".join(cells) + "\n"


def _nanoseconds(picoseconds: int) -> str:
    """Format a time in nanoseconds, exactly.

    >>> _nanoseconds(1_500), _nanoseconds(2_000)
    ('1.5', '2')
    """
    whole, rest = divmod(picoseconds, 1_000)
    return f"{whole}.{rest:03}".rstrip("0") if rest else str(whole)


@dataclass(frozen=True)
class Cable:
    """A link of a graph, with the names of its ends."""

    ends: tuple[str, str]
    rate: int
    delay_ps: int


def links(cables: Sequence[Cable], common: tuple[int, int]) -> list[dict[str, Any]]:
    """Return the entries of `topology.links` for these cables.

    `common` is a pair of rate and delay; an entry omits its rate or delay if it equals that in `common`.

    Consecutive cables with the same rate and delay become one entry if they have one end in common, and
    consecutive numbers at the other end.

    >>> star = [Cable((f"h{n}", "s"), 10**9, 5) for n in range(3)]
    >>> links(star, (10**9, 5))
    [{'between': ['h{0..3}', 's']}]
    """
    entries = []
    for run in _runs(cables):
        first, last = run[0], run[-1]
        between = [
            one if one == other else f"{_stem(one)}{{{_number(one)}..{_number(other) + 1}}}"
            for one, other in zip(first.ends, last.ends, strict=True)
        ]
        entry: dict[str, Any] = {"between": between}
        if first.rate != common[0]:
            entry["rate"] = rate(first.rate)
        if first.delay_ps != common[1]:
            entry["delay"] = time(first.delay_ps)
        entries.append(entry)
    return entries


def _runs(cables: Iterable[Cable]) -> list[list[Cable]]:
    runs: list[list[Cable]] = []
    for cable in cables:
        if runs and _continues(runs[-1], cable):
            runs[-1].append(cable)
        else:
            runs.append([cable])
    return runs


def _continues(run: list[Cable], cable: Cable) -> bool:
    """Return whether a cable continues a series of cables with the same rate and delay.

    All cables of a series have one end in common. The nodes at the other end have consecutive numbers.
    """
    last = run[-1]
    if (cable.rate, cable.delay_ps) != (last.rate, last.delay_ps):
        return False
    differing = [end for end in (0, 1) if cable.ends[end] != last.ends[end]]
    if len(differing) != 1 or (len(run) > 1 and run[0].ends[differing[0]] == last.ends[differing[0]]):
        return False
    one, other = last.ends[differing[0]], cable.ends[differing[0]]
    return _stem(one) == _stem(other) and _number(other) == _number(one) + 1


def _stem(name: str) -> str:
    return name.rstrip("0123456789")


def _number(name: str) -> int:
    return int(name[len(_stem(name)) :])


def graph(
    hosts: Sequence[str], switches: Sequence[str], cables: Sequence[Cable], more: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return a `[topology]` of kind `graph`."""
    [(common, _)] = Counter((cable.rate, cable.delay_ps) for cable in cables).most_common(1)
    return {
        "kind": "graph",
        "hosts": names(hosts),
        "switches": names(switches),
        "rate": rate(common[0]),
        "link_delay": time(common[1]),
        **(more or {}),
        "links": links(cables, common),
    }


def names(nodes: Sequence[str]) -> list[str]:
    """Return names of nodes; consecutively numbered nodes become one range.

    >>> names(["h0", "h1", "h2", "h5", "tor"])
    ['h{0..3}', 'h5', 'tor']
    """
    runs: list[list[str]] = []
    for node in nodes:
        numbered = runs and node != _stem(node) and runs[-1][-1] != _stem(runs[-1][-1])
        if numbered and _stem(node) == _stem(runs[-1][-1]) and _number(node) == _number(runs[-1][-1]) + 1:
            runs[-1].append(node)
        else:
            runs.append([node])
    return [
        run[0] if len(run) == 1 else f"{_stem(run[0])}{{{_number(run[0])}..{_number(run[-1]) + 1}}}"
        for run in runs
    ]


@dataclass
class Imported:
    """A scenario that is not yet written."""

    origin: str
    """Description of the imported files, for the scenario's first line."""
    tables: dict[str, dict[str, Any]]
    """Tables of the scenario in order, except for its workloads."""
    flows: Columns[Flow]
    workload: dict[str, Any] = field(default_factory=dict)
    """Keys of the workload for the list of flows, in addition to its kind and path."""
    further: list[dict[str, Any]] = field(default_factory=list)
    """Workloads in addition to the list of flows."""
    comments: dict[str, str] = field(default_factory=dict)
    """Comment above each table, by the table's name."""
    notes: list[str] = field(default_factory=list)
    """Notes for the user; also written into the scenario."""
    places: dict[str, str] = field(default_factory=dict)
    """Imported file of each table, by the table's name; `workload` stands for the list of flows."""

    def text(self, flow_file: str) -> str:
        """Return the text of the scenario file."""
        lines = [f"# Imported from {self.origin}."]
        for note in self.notes:
            lines += textwrap.wrap(note, 110, initial_indent="# - ", subsequent_indent="#   ")
        for name, table in self.tables.items():
            lines += ["", *(f"# {line}" for line in self.comments.get(name, "").splitlines()), f"[{name}]"]
            for key, value in table.items():
                lines += _entry(key, value)
        listed = [{"kind": "trace", "path": flow_file, **self.workload}] if self.flows else []
        for workload in listed + self.further:
            lines += [
                "",
                "[[workload]]",
                *(f"{key} = {toml_value(value)}" for key, value in workload.items()),
            ]
        return "\n".join(lines) + "\n"


def _entry(key: str, value: object) -> list[str]:
    """Return the lines of a key and its value; a list of tables has a line for each."""
    if isinstance(value, list) and len(value) > 1 and isinstance(value[0], dict):
        return [f"{key} = [", *(f"    {toml_value(item)}," for item in value), "]"]
    return [f"{key} = {toml_value(value)}"]


def write(imported: Imported, out: Path, *, force: bool = False) -> list[Path]:
    """Write a scenario and its list of flows, if any, after the engine has validated both.

    Raises
    ------
    ShallowsError
        If a file exists already, or cannot be written.
    ScenarioError
        If the engine rejects the scenario; the message names the imported files, and includes the notes.
    """
    if out.suffix != ".toml":
        raise ShallowsError(
            f"the name of a scenario must end in .toml, got {out}", "correct the name after -o"
        )
    listed = [out.with_name(f"{out.stem}.flows.csv")] if imported.flows else []
    text = imported.text(f"{out.stem}.flows.csv")
    refuse_existing([out, *listed], force=force)
    with tempfile.TemporaryDirectory() as folder:
        beside = Path(folder)
        for path in listed:
            with (beside / path.name).open("w", encoding="utf-8") as file:
                file.writelines(flow_list(imported.flows))
        try:
            Source(str(out), text).parse(beside)
        except ScenarioError as error:
            raise _at_its_source(error, imported, text, out) from None
        check_writable(out.parent)
        for path in listed:
            with (beside / path.name).open(encoding="utf-8") as file:
                write_whole(path, file)
    return [*listed, write_whole(out, text)]


def _at_its_source(error: ScenarioError, imported: Imported, text: str, out: Path) -> ScenarioError:
    """Return the engine's error with each place in the unwritten scenario replaced by the imported file."""
    # The engine's excerpts of the unwritten file are removed.
    said = [line for line in str(error).splitlines() if not re.match(r"\s*[0-9]*\s+\|", line)]
    messages = [_moved(line, imported, text, out) for line in said]
    notes = [f"  note: {note}" for note in imported.notes]
    return ScenarioError("\n".join([*messages, *notes]))


def _moved(message: str, imported: Imported, text: str, out: Path) -> str:
    """Return a line of an error message that names the place in the imported file, not in the scenario."""
    row = re.search(rf"\S* ?{re.escape(out.stem)}\.flows\.csv, line ([0-9]+): ", message)
    if row and 2 <= int(row[1]) <= len(imported.flows) + 1:
        line = imported.flows[int(row[1]) - 2].line
        return f"{imported.places['workload']}:{line}: the flow cannot run: {message[row.end() :]}"
    found = re.match(rf"{re.escape(str(out))}:(?:([0-9]+):[0-9]+: )? ?", message)
    if found is None:
        return message
    above = "\n".join(text.splitlines()[: int(found[1] or 0)])
    headers = re.findall(r"^\[+(\w+)", above, re.MULTILINE)
    place = imported.places.get(headers[-1], imported.origin) if headers else imported.origin
    return f"{place}: the imported scenario cannot run: {message[found.end() :]}"


def refuse_existing(paths: Sequence[Path], *, force: bool) -> None:
    """Raise an error if a file exists and `force` is not set."""
    there = [path for path in paths if path.exists() or path.is_symlink()]
    if there and not force:
        raise ShallowsError(
            f"{there[0]} exists already", "name another file with -o, or replace the file with --force"
        )
