"""Export of scenarios and runs to HPCC's files: `topology.txt`, `flow.txt`, `fct.txt` and `pfc.txt`."""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.bounded import LARGEST_LIST, is_folder, read_text
from shallows.errors import ShallowsError
from shallows.foreign import writing
from shallows.runs.folder import check_writable, write_whole
from shallows.runs.network import Network, network
from shallows.runs.results import Run
from shallows.runs.source import HasSource, ScenarioLike, Source, source_of

if TYPE_CHECKING:
    from shallows._core import Experiment

DATA = 3
"""HPCC's priority group for data, used if all flows are in class 0."""
SERVICE_PORT = 5_001
"""Port of receivers, unless a flow sets another."""


def hpcc(source: ScenarioLike | Run, what: str) -> str:
    """Return the text of HPCC's file `fct`, `pfc`, `flow` or `topology`, from a run or a scenario file.

    Raises
    ------
    ShallowsError
        If the source lacks the data.
    """
    if isinstance(source, str | Path) and is_folder(Path(source)):
        source = Run(source)
    if isinstance(source, Run):
        run = source
        if what == "topology":
            raise ShallowsError(
                f"{run.path} is a run's folder; a topology is exported from a scenario",
                f"give {run.path / 'scenario.toml'}",
            )
        write_text = {"fct": fct, "pfc": pfc, "flow": _flows_of_run}[what]
        return write_text(run)
    if what in ("fct", "pfc"):
        name = source.source.file if isinstance(source, HasSource) else source
        raise ShallowsError(
            f"{name} is not a run's folder", "run the scenario first, and name the folder of the run"
        )
    scenario = source_of(source)
    experiment = scenario.parse()
    return topology(experiment) if what == "topology" else _flows_of_scenario(scenario, experiment)


def node_ids(hosts: Sequence[str], switches: Sequence[str]) -> list[int]:
    """Return HPCC's number of each node, hosts first.

    If the names contain each number from 0 on exactly once, these numbers are used. Otherwise the nodes are
    numbered in order.

    >>> node_ids(["host0", "host2"], ["switch1"]), node_ids(["a", "b"], ["tor"])
    ([0, 2, 1], [0, 1, 2])
    """
    nodes = [*hosts, *switches]
    found = [re.fullmatch(r"(host|switch)([0-9]+)", name) for name in nodes]
    numbers = [int(match[2]) for match in found if match]
    return numbers if sorted(numbers) == list(range(len(nodes))) else list(range(len(nodes)))


def topology(experiment: "Experiment") -> str:
    """Return `topology.txt` of a scenario: every cable with its rate and delay."""
    groups = json.loads(experiment.resolved())["host"].get("group", [])
    if any("delay" in group for group in groups):
        raise ShallowsError(
            "host.group: HPCC's topology file cannot describe a delay of one group of hosts",
            "give all hosts one delay with topology.host_delay",
        )
    built = _network(experiment)
    ids = node_ids(built.hosts, built.switches)
    switches = sorted(ids[len(built.hosts) :])
    lines = [f"{len(ids)} {len(switches)} {len(built.cables)}", " ".join(map(str, switches))]
    for cable in built.cables:
        delay = _decimal(built.delay_ps(cable), 3)
        lines.append(f"{ids[cable.one]} {ids[cable.other]} {writing.rate(cable.rate_bps)} {delay}ns 0")
    return "\n".join(lines) + "\n"


def _network(experiment: "Experiment") -> Network:
    return network(json.loads(experiment.resolved())["topology"])


def _decimal(number: int, places: int) -> str:
    """Format a number divided by ten to the power of `places`, exactly.

    >>> _decimal(2_000_000_000_000, 12), _decimal(1_500, 3)
    ('2', '1.5')
    """
    return f"{Decimal(number).scaleb(-places).normalize():f}"


def _flows_of_scenario(source: Source, experiment: "Experiment") -> str:
    workloads = json.loads(experiment.resolved())["workload"]
    if not all(workload["kind"] == "trace" and isinstance(workload["class"], int) for workload in workloads):
        raise ShallowsError(
            f"the flows of {source.file} are random and not known before a run",
            "run the scenario, and export the folder of the run",
        )
    built = _network(experiment)
    rows = []
    for workload in workloads:
        numbers = {name: number for number, name in enumerate(built.hosts)}
        listed = source.folder / workload["path"]
        text = read_text(listed, remedy="the engine has read it a moment ago: try again", most=LARGEST_LIST)
        for row in csv.DictReader(io.StringIO(text, newline=""), skipinitialspace=True):
            rows.append(_listed(row, numbers, workload["class"], source.file))
    ids = node_ids(built.hosts, built.switches)
    return _flow_lines(sorted(rows, key=lambda row: row[0]), ids)


def _listed(
    row: Mapping[str, str | None], hosts: Mapping[str, int], common: int, source: str
) -> tuple[int, int, int, int, int, int]:
    """Return start in ps, source, destination, class, port and bytes of a row that the engine has checked."""
    cells = {(name or "").strip(): (text or "").strip() for name, text in row.items()}
    if cells.get("after"):
        raise ShallowsError(
            f"flows of {source} wait for other flows, so their start times are not known before a run",
            "run the scenario, and export the folder of the run",
        )
    ends = [hosts.get(cells[name], -1) for name in ("source", "destination")]
    one, other = (
        int(cells[name]) if end < 0 else end
        for end, name in zip(ends, ("source", "destination"), strict=True)
    )
    start = int(Decimal(cells["start_ns"]) * 1_000)
    return (
        start,
        one,
        other,
        int(cells.get("class") or common),
        int(cells.get("port") or SERVICE_PORT),
        int(cells["bytes"]),
    )


def _flows_of_run(run: Run) -> str:
    import polars as pl

    flows = _with_ports(run).filter(pl.col("size_bytes").is_not_null())
    columns = ["arrival_us", "source", "destination", "class", "destination_port", "size_bytes"]
    rows = [
        (round(us * 1e6), one, other, group, SERVICE_PORT if port is None else port, size)
        for us, one, other, group, port, size in flows.select(columns).iter_rows()
    ]
    return _flow_lines(rows, _ids_of_run(run))


def _flow_lines(rows: Sequence[tuple[int, int, int, int, int, int]], ids: Sequence[int]) -> str:
    """Return `flow.txt`; if all flows are in class 0, they get HPCC's priority group for data."""
    plain = not any(row[3] for row in rows)
    lines = [str(len(rows))]
    for start, one, other, group, port, size in rows:
        if not (plain or 1 <= group <= 7):
            raise ShallowsError(
                f"the class of a flow must be from 1 to 7 (HPCC's data queues), got {group}",
                "give the flows other classes",
            )
        pg = DATA if plain else group
        lines.append(f"{ids[one]} {ids[other]} {pg} {port} {size} {_decimal(start, 12)}")
    return "\n".join(lines) + "\n"


def fct(run: Run) -> str:
    """Return `fct.txt` of a run: a line for each complete flow, ordered by completion.

    Its columns (third.cc, `qp_finish`): addresses of source and destination, their ports, bytes, start,
    completion time, and completion time in an empty network (the column `ideal_us`); times are in ns.
    """
    import polars as pl

    ids = _ids_of_run(run)
    flows = _with_ports(run).filter(pl.col("fct_us").is_not_null() & pl.col("size_bytes").is_not_null())
    flows = flows.sort(pl.col("arrival_us") + pl.col("fct_us"), maintain_order=True)
    columns = ["source", "destination", "source_port", "destination_port", "size_bytes"]
    times = ["arrival_us", "fct_us", "ideal_us"]
    return "".join(
        f"{_address(ids[one])} {_address(ids[other])} {port} {to} {size} "
        + " ".join(str(round(us * 1_000)) for us in found)
        + "\n"
        for one, other, port, to, size, *found in flows.select(columns + times).iter_rows()
    )


def pfc(run: Run) -> str:
    """Return `pfc.txt` of a run: a line for each time that a port is paused or resumed, in order of time.

    Its columns (third.cc, `get_pfc`): time in ns, node, 0 for a host or 1 for a switch, interface, and 1 for
    a pause or 0 for its end. Interfaces of a node are numbered from 1 in the order of `topology.txt`. HPCC
    writes the time at which a PFC frame arrives. This function writes the time at which the pause takes
    effect.
    """
    if run.pause_times is None:
        raise ShallowsError(
            f"{run.path} has no record of pauses over time",
            "export a run of a scenario with switch.lossless, made with this version",
        )
    built = network(run.scenario["topology"])
    names = [*built.hosts, *built.switches]
    ids = node_ids(built.hosts, built.switches)
    interfaces: dict[str, str] = {}
    cables = [0] * len(names)
    between: Counter[tuple[int, int]] = Counter()
    """Number of parallel cables from one node to another so far."""
    for cable in built.cables:
        for node, peer in ((cable.one, cable.other), (cable.other, cable.one)):
            cables[node] += 1
            kind = int(node >= len(built.hosts))
            between[node, peer] += 1
            number = f"#{between[node, peer]}" if between[node, peer] > 1 else ""
            interfaces[f"{names[node]}->{names[peer]}{number}"] = f"{ids[node]} {kind} {cables[node]}"
    changes = []
    for start, end, port in run.pause_times.select("start_us", "end_us", "port").iter_rows():
        changes.append((start, f"{interfaces[port]} 1"))
        if end is not None:
            changes.append((end, f"{interfaces[port]} 0"))
    # Changes at the same time stay in the order of the pauses.
    changes.sort(key=lambda change: change[0])
    return "".join(f"{round(us * 1_000)} {change}\n" for us, change in changes)


def _address(node: int) -> str:
    """Return the IPv4 address that HPCC assigns to a node, in hexadecimal.

    >>> _address(3), _address(260)
    ('0b000301', '0b010401')
    """
    return f"{0x0B000001 + node // 256 * 0x10000 + node % 256 * 0x100:08x}"


def _with_ports(run: Run) -> "Any":
    if "destination_port" not in run.flows.columns:
        raise ShallowsError(
            f"{run.path} has no record of its flows' ports", "run its scenario again with this version"
        )
    return run.flows


def _ids_of_run(run: Run) -> Sequence[int]:
    """Return HPCC's numbers of a run's nodes, hosts first."""
    built = network(run.scenario["topology"])
    return node_ids(built.hosts, built.switches)


def write(texts: Mapping[Path, str], *, force: bool = False) -> list[Path]:
    """Write each text into its file; existing files are replaced only if `force` is set."""
    writing.refuse_existing(list(texts), force=force)
    for path in texts:
        check_writable(path.parent)
    return [write_whole(path, text) for path, text in texts.items()]
