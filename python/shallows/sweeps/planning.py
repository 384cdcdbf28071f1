"""Estimates of the cost of a run or sweep before it runs: packet-hops, time and memory."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.bounded import folder_of, parse_toml
from shallows.errors import ShallowsError
from shallows.quantity import count, duration, size
from shallows.runs import shown
from shallows.runs.executing import default_folder, is_reusable
from shallows.runs.manifest import unfit
from shallows.runs.memory import need_of
from shallows.runs.results import axis_name
from shallows.runs.source import ScenarioLike, Source, source_of
from shallows.runs.table import NOTHING, Table
from shallows.runs.toml_text import override_texts
from shallows.sweeps import estimate
from shallows.sweeps import points as sweep_points
from shallows.sweeps.estimate import Cost, Needs
from shallows.sweeps.points import Point, Shard, sweep_source

if TYPE_CHECKING:
    from shallows._core import Experiment


@dataclass(frozen=True)
class Plan:
    """Estimated cost of a run, or of the runs of a sweep.

    Examples
    --------
    >>> import shallows as sh
    >>> found = sh.plan(sh.example("incast"), {"stop.at": "30ms"}, out=folder / "planned")
    >>> len(found.points), found.needs.left
    (4, 4)
    """

    path: Path
    """Folder of the run, or of the sweep."""
    points: Sequence[Point]
    costs: Sequence[Cost | None]
    """Cost of each run; None if it is unknown."""
    needs: Needs
    """Total cost of the unfinished runs."""
    experiment: "Experiment | None" = None
    """Experiment of the run, if the scenario has no `[sweep]` table."""

    def __repr__(self) -> str:
        return f"Plan({str(self.path)!r}, {len(self.points)} runs, {self.needs})"

    def _repr_html_(self) -> str:
        return shown.grid(f"{self.path}: {self.needs}", self.table.columns, self.table.rows)

    @property
    def table(self) -> Table:
        """The cost of each run as text."""
        axes = list(self.points[0].source.labels) if self.points else []
        rows = []
        for point, cost in zip(self.points, self.costs, strict=True):
            numbers = [NOTHING] * 3
            if cost:
                numbers = [count(cost.packet_hops), duration(cost.wall_s), size(cost.peak_mb * 1e6)]
            known = "finished" if point.is_finished else cost.source if cost else "unknown"
            rows.append([*map(str, point.source.labels.values()), known, *numbers])
        columns = [*map(axis_name, axes), "estimate", "packet-hops", "time", "memory"]
        return Table("Points", columns, rows, names=len(axes) + 1)

    def document(self) -> dict[str, Any]:
        """Return the plan as a JSON document."""
        described = [
            {
                "labels": point.source.labels,
                "folder": point.folder.name,
                "finished": point.is_finished,
                **(cost.describe() if cost else {}),
            }
            for point, cost in zip(self.points, self.costs, strict=True)
        ]
        return {"points": described, **self.needs.describe()}


def plan(
    scenario: ScenarioLike,
    overrides: Mapping[str, object] | None = None,
    out: str | Path | None = None,
    jobs: int | None = None,
    shard: str | None = None,
    *,
    say: Callable[[str], None] = lambda _: None,
) -> Plan:
    """Estimate packet-hops, time and memory of a run, or of each run of a `[sweep]` table.

    Costs of finished runs are read from their folders. A few other runs of each scheme are tried for half a
    second. The costs of all remaining runs are inferred from the nearest run of the same scheme.

    Parameters
    ----------
    scenario
        Path of the scenario file, or a `Scenario`.
    overrides
        Values that replace those of the file, by dotted key.
    out
        Folder of the run or sweep, as for `run` and `sweep`.
    jobs
        Number of simultaneous runs; default: one per core.
    shard
        Part of the sweep, such as `1/8` for the first of eight.
    say
        Function that receives a line of text before each trial.

    Raises
    ------
    ScenarioError
        If a scenario cannot run.
    ShallowsError
        If a file cannot be read, or a run needs more memory than the machine has.
    """
    folder = folder_of(out) if out is not None else None
    source = source_of(scenario, override_texts(overrides))
    experiment = None if _has_sweep(source) else _alone(source, shard)
    if experiment is not None:
        points = [_point(source, experiment, folder)]
        path = points[0].folder
    else:
        path, points = sweep_points.plan(sweep_source(scenario, overrides), folder)
        points = (Shard.parse(shard) if shard else Shard(1, 1)).of(points)
    estimate.refuse_what_cannot_fit(points, estimate.from_finished(points), jobs)
    costs = estimate.sample(points, say, jobs)
    return Plan(path, points, costs, estimate.add_up(points, costs, jobs), experiment)


def _has_sweep(source: Source) -> bool:
    try:
        return "sweep" in parse_toml(source.text)
    except ValueError:
        return False  # raises the engine's error, which names the place


def _alone(source: Source, shard: str | None) -> "Experiment":
    """Parse a scenario without a `[sweep]` table."""
    if shard:
        raise ShallowsError(
            f"--shard needs a scenario with a [sweep] table; {source.file} has no such table",
            "remove --shard",
        )
    return source.parse()


def _point(source: Source, experiment: "Experiment", folder: Path | None) -> Point:
    """Return the run of a scenario without a `[sweep]` table."""
    folder = folder or default_folder(experiment, Path("runs"))
    is_finished = is_reusable(folder, experiment.hash)
    damage = None if is_finished else unfit(folder)
    return Point(
        source,
        experiment.hash,
        folder,
        is_finished,
        damage,
        need=need_of(experiment),
        curves=experiment.marking_curves(),
        pauses=experiment.pause_thresholds(),
        headrooms=experiment.headrooms(),
        notes=(*experiment.notes(),),
    )
