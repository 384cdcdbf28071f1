"""Inputs of figures and tables from several runs: their labels, tables and flows."""

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from shallows.bounded import parse_toml, read_text
from shallows.errors import ShallowsError, listed
from shallows.quantity import order, parse_quantity
from shallows.runs.index import Runs as Runs
from shallows.runs.index import runs_of
from shallows.runs.results import Run, describe, on_axis
from shallows.runs.summary import DAMAGED

if TYPE_CHECKING:
    import polars as pl

NEEDED = {
    "queues": 'set measure.sample_queues = "10us"',
    "flow_traces": "set measure.flow_traces = [{ sample = 4 }]",
    "pauses": "set switch.lossless",
    "pause_times": "set switch.lossless",
    "pings": 'add a workload of kind "ping"',
    "queries": 'add a workload of kind "block-transfer", "partition-aggregate", or "incast" with think_time',
}
"""Remedy for each table that a run may lack: the scenario's setting that records it."""

TRACE_FLOWS = "select flows of this run with measure.flow_traces"
"""Remedy for a run without traced flows."""


def as_list(runs: Runs) -> list[Run]:
    """Return the given runs and the runs of given sweeps and folders, as a list."""
    found = runs_of(runs)
    if not found:
        raise ShallowsError("at least one run is needed, got none", "name the folder of a run")
    return found


def table(run: Run, name: str) -> "pl.DataFrame":
    """Return an optional table of a run; raise if the run lacks it."""
    found: pl.DataFrame | None = getattr(run, name)
    if found is None:
        raise ShallowsError(
            f"{run.path} has no {name}.parquet", f"{NEEDED[name]}, and run the scenario again"
        )
    return found


def labels(run: Run) -> dict[str, Any]:
    """Return the labels of a run: its scheme and axis values, or outside a sweep its `--set` values."""
    if run.labels:
        return run.labels
    changes = (override.partition("=") for override in run.environment.get("overrides", []))
    return {key: _value(text) for key, _, text in changes}


def _value(text: str) -> Any:
    try:
        return parse_toml(f"value = {text}")["value"]
    except ValueError:
        return text


def groups(runs: Sequence[Run], *without: str) -> dict[str, list[Run]]:
    """Group runs by their labels, ignoring the seed and the axes in `without`.

    Groups are in the order of the sweep and not of `runs`, so that each group keeps its colour.
    """
    several = len({run.summary["name"] for run in runs}) > 1
    axes = {axis for run in runs for axis in labels(run)} - {"seed", *without}
    telling = {axis for axis in axes if len({str(labels(run).get(axis)) for run in runs}) > 1}
    found: dict[str, list[Run]] = {}
    for run in runs:
        kept = {axis: value for axis, value in labels(run).items() if axis in telling}
        name = ", ".join(([run.summary["name"]] if several else []) + ([describe(kept)] if kept else []))
        found.setdefault(name, []).append(run)
    if len(found) > 1:
        places = {name: place_in_sweep(members[0], telling) for name, members in found.items()}
        found = {name: found[name] for name in sorted(found, key=places.__getitem__)}
    if len(found) > 1 and "" in found:
        # A run without labels gets the name of its scenario.
        found = {name or members[0].summary["name"]: members for name, members in found.items()}
    return found


Place = tuple[str, *tuple[tuple[int, float, str], ...]]


def place_in_sweep(run: Run, axes: Iterable[str]) -> Place:
    """Return a sort key for the position of a run in its sweep along these axes, schemes first.

    Values that the scenario lists keep the scenario's order; other values follow, sorted as numbers or names.
    """
    listed_values = _swept(run)
    found = []
    for axis in sorted(axes, key=lambda axis: (axis != "scheme", axis)):
        value = labels(run).get(axis)
        known = listed_values.get(axis, [])
        if value is None:
            found.append((0, 0.0, ""))
        elif str(value) in known:
            found.append((1, float(known.index(str(value))), ""))
        else:
            found.append((2, *_sortable(value)))
    return (str(run.summary["name"]), *found)


def _sortable(value: Any) -> tuple[float, str]:
    try:
        return order(value), ""
    except ValueError:
        return math.inf, str(value)


def _swept(run: Run) -> dict[str, list[str]]:
    """Return the values of each axis in the order in which the `[sweep]` of the scenario lists them."""
    file = run.path / "scenario.toml"
    sweep = parse_toml(read_text(file, remedy=DAMAGED)).get("sweep", {}) if file.is_file() else {}
    axes = {
        axis: [*map(str, values)]
        for axis, values in sweep.get("axes", {}).items()
        if isinstance(values, list)
    }
    return axes | {"scheme": [str(each.get("name")) for each in sweep.get("scheme", [])]}


def choose_runs(runs: Sequence[Run], conditions: Iterable[tuple[str, str]]) -> list[Run]:
    """Return the runs whose labels have these values; an axis is a key or a key's last word.

    Raises
    ------
    ShallowsError
        If no run has these values; the message lists the existing values.
    """
    kept = list(runs)
    for axis, value in conditions:
        places = {id(run): _on(run, axis) for run in kept}
        matching = [run for run in kept if any(_equal(value, place) for place in places[id(run)])]
        if not matching:
            known = dict.fromkeys(place for found in places.values() for place in found)
            raise ShallowsError(
                f"no run has {axis} = {value}",
                f"the values of {axis} are: {', '.join(known)}" if known else f"the runs have no axis {axis}",
            )
        kept = matching
    return kept


def _equal(text: str, place: str) -> bool:
    """Return whether two texts are equal, or denote the same number or quantity.

    >>> _equal("0.80", "0.8"), _equal("2ms", "2000us"), _equal("2ms", "2"), _equal("a", "b")
    (True, True, False, False)
    """
    if text == place:
        return True
    try:
        return parse_quantity(text) == parse_quantity(place)
    except ValueError:
        return False


def _on(run: Run, axis: str) -> list[str]:
    """Return the run's values on an axis as text."""
    return [str(value) for value in on_axis(labels(run), axis)]


def choose_flows(run: Run, wanted: Sequence[int], traced: "pl.Series") -> list[int]:
    """Return the flows to draw: the requested flows, or all traced flows."""
    known: list[int] = traced.unique().sort().to_list()
    if not known:
        raise ShallowsError(f"{run.path} has no traced flow", TRACE_FLOWS)
    for flow in wanted:
        if flow not in known:
            raise ShallowsError(f"{run.path} has no trace of flow {flow}", listed("traced flows are", known))
    return list(wanted) or known
