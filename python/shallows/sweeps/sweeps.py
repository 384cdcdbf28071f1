"""Sweeps: running every point once on an engine, resuming an interrupted sweep, and merging shards."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from shallows.bounded import folder_of
from shallows.errors import NoSpaceError, ShallowsError
from shallows.runs import points_table, shown
from shallows.runs.folder import check_writable
from shallows.runs.index import points_of, readable_in
from shallows.runs.manifest import is_run, unfit
from shallows.runs.results import Run
from shallows.runs.source import ScenarioLike
from shallows.sweeps.estimate import from_finished, refuse_what_cannot_fit
from shallows.sweeps.local import State, run_here
from shallows.sweeps.merging import gather
from shallows.sweeps.points import Outcome, Point, enter, finished_runs, plan, sweep_source
from shallows.sweeps.progress import Recorder
from shallows.sweeps.sharing import remove_left

if TYPE_CHECKING:
    import polars as pl

ENGINES = ("local", "ray")

Engine = Callable[[Mapping[int, Point]], Generator[State, None, None]]
"""Function that runs points; raises `ConnectionError` for a lost cluster, `NoSpaceError` for a full disk."""


OnUpdate = Callable[[dict[int, dict[str, Any]], list[Outcome]], None]
"""Callback that receives the progress of each running point, by its number, and all outcomes so far."""


def choose_engine(name: str = "local", jobs: int | None = None, address: str | None = None) -> Engine:
    """Return the engine of this name.

    Raises
    ------
    ShallowsError
        If the name is unknown, Ray is not installed, `jobs` is below 1, or the local engine gets an address.
    """
    if name not in ENGINES:
        raise ShallowsError(f"unknown engine {name!r}", f"the engines are: {', '.join(ENGINES)}")
    if jobs is not None and jobs < 1:
        raise ShallowsError(f"jobs must be at least 1, got {jobs}", "raise jobs, or leave it out")
    if name == "ray":
        from shallows.sweeps.cluster import check_ray, run_on_ray

        check_ray()
        return partial(run_on_ray, jobs=jobs, address=address)
    if address is not None:
        raise ShallowsError("the local engine does not accept an address", "add --engine ray")
    return partial(run_here, jobs=jobs)


def run_points(points: Sequence[Point], engine: Engine, on_update: OnUpdate) -> list[Outcome]:
    """Run the unfinished points and return all outcomes in the order of the points.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C; the finished points are kept.
    ShallowsError
        If the cluster is lost or the disk is full; the finished points are kept.
    """
    outcomes = {i: _outcome(p, reused=True) for i, p in enumerate(points) if p.is_finished}
    left = {index: point for index, point in enumerate(points) if index not in outcomes}

    def kept() -> str:
        finished = sum(point.has_results for point in points)
        return f"{finished} of {len(points)} points are kept; repeat the command to run the others"

    for parent in {point.folder.parent for point in points}:
        check_writable(parent)
    try:
        with Recorder(points) as recorder, closing(engine(left)) as states:
            for running, ended in states:
                for index, end in ended.items():
                    outcomes[index] = _outcome(points[index], end.error, reused=end.by_another)
                recorder.update(running, list(outcomes.values()))
                on_update(running, list(outcomes.values()))
    except KeyboardInterrupt:
        raise KeyboardInterrupt(kept()) from None
    except ConnectionError as error:
        raise ShallowsError(str(error), kept()) from None
    except NoSpaceError as error:
        raise NoSpaceError(error.message, f"free some space: {kept()}") from None
    finally:
        remove_left(points)
    return [_still(outcomes[index]) for index in range(len(points))]


def _outcome(point: Point, error: str | None = None, *, reused: bool = False) -> Outcome:
    """Return the outcome of a point that has ended."""
    if error is None and point.has_results:
        return Outcome(point, Run(point.folder), None, reused)
    return Outcome(point, None, error or f"{point.folder} was removed or changed during the sweep")


def _still(outcome: Outcome) -> Outcome:
    """Return a point's outcome, or a failure if the point's folder was removed after the point ended."""
    return outcome if outcome.point.has_results else _outcome(outcome.point, outcome.error)


class Sweep(Sequence[Run]):
    """A sweep: a sequence of its finished runs, and the failed runs.

    Parameters
    ----------
    path
        Folder of the sweep, which contains a folder for each run.
    runs
        Finished runs in the order of the sweep.
    failed
        Pairs of a run's labels and the reason for which the run has no results.
    problems
        Errors of copies that a merge could not read.
    """

    def __init__(
        self,
        path: Path,
        runs: Sequence[Run],
        failed: Sequence[tuple[dict[str, Any], str]] = (),
        problems: Sequence[ShallowsError] = (),
    ) -> None:
        self.path = path
        self.runs = list(runs)
        """Finished runs in the order of the sweep; `run.labels` identifies each."""
        self.failed = list(failed)
        """Pairs of a point's labels and the reason for which the point has no run."""
        self.problems = list(problems)
        """Errors of the copies of runs that `merge` could not read."""

    @classmethod
    def of(cls, path: Path, outcomes: Sequence[Outcome]) -> "Sweep":
        """Return the sweep whose points have ended with these outcomes."""
        failed = [(each.point.source.labels, str(each.error)) for each in outcomes if not each.run]
        return cls(path, [each.run for each in outcomes if each.run], failed)

    @classmethod
    def load(cls, path: str | Path) -> "Sweep":
        """Reopen the folder of a sweep; unfinished runs are in `failed`.

        Raises
        ------
        ShallowsError
            If the folder holds no finished run.

        Examples
        --------
        >>> import shallows as sh
        >>> path = sh.sweep(sh.example("incast"), {"stop.at": "30ms"}, out=folder / "again").path
        >>> [run.labels["scheme"] for run in sh.Sweep.load(path)][:2]
        ['DCTCP K=30KB', 'DCTCP K=65KB']
        """
        folder = folder_of(path)
        runs, problems = readable_in(folder)
        if not runs:
            raise problems[0]
        known = {run.path for run in runs}
        failed = [
            (labels, problem.message if (problem := unfit(place)) else "not finished")
            for place, labels in points_of(folder)
            if place not in known
        ]
        return cls(folder, runs, failed)

    @overload
    def __getitem__(self, index: int) -> Run: ...
    @overload
    def __getitem__(self, index: slice) -> list[Run]: ...
    def __getitem__(self, index: int | slice) -> Run | list[Run]:
        return self.runs[index]

    def __len__(self) -> int:
        return len(self.runs)

    def __repr__(self) -> str:
        empty = sum(run.measured_nothing for run in self.runs)
        said = f", {empty} measured nothing" if empty else ""
        return f"Sweep({str(self.path)!r}, {len(self.runs)} runs, {len(self.failed)} failed{said})"

    def _repr_html_(self) -> str:
        results = points_table.points(self.runs)
        failed = f", {len(self.failed)} failed" if self.failed else ""
        return shown.grid(f"{self.path}: {len(self.runs)} runs{failed}", results.columns, results.rows)

    @cached_property
    def table(self) -> "pl.DataFrame":
        """One row for each run: its labels and its main results."""
        import polars as pl

        return pl.DataFrame([run.labels | _main_results(run.summary) for run in self.runs], strict=False)


def merge(
    scenario: ScenarioLike,
    folders: Sequence[str | Path],
    out: str | Path | None = None,
    overrides: Mapping[str, object] | None = None,
    *,
    verify: bool = False,
) -> Sweep:
    """Copy the finished runs of a sweep's shards into one folder.

    Parameters
    ----------
    scenario
        Path of the scenario file with its `[sweep]` table, or a `Scenario`.
    folders
        Folders that the shards have written.
    out
        Folder of the whole sweep; default: `runs/NAME`.
    overrides
        Values that replace those of the file, by dotted key; the same as for the shards.
    verify
        Whether to compare the hashes of files, not only their sizes.

    Returns
    -------
    Sweep
        The finished runs; `failed` has the runs that no shard finished, `problems` the unreadable copies.

    Raises
    ------
    ShallowsError
        If two folders have different results of one run, or a folder cannot be read or written.
    """
    parent, points = plan(sweep_source(scenario, overrides), folder_of(out) if out is not None else None)
    enter(parent, points)
    missing, problems = gather(points, [folder_of(folder) for folder in folders], parent, verify=verify)
    failed = [(point.source.labels, "in none of these folders") for point in missing]
    return Sweep(parent, finished_runs(points), failed, problems)


def _main_results(summary: Mapping[str, Any]) -> dict[str, Any]:
    times, slowdowns = summary["fct_us"], summary["slowdown"]
    return {
        "fct_mean_us": times["all"]["mean"],
        "fct_p99_us": times["all"]["p99"],
        "small_fct_p99_us": times.get("small", {}).get("p99"),
        "large_fct_mean_us": times.get("large", {}).get("mean"),
        "slowdown_mean": slowdowns["all"]["mean"],
        "slowdown_p99": slowdowns["all"]["p99"],
        "goodput_gbps": summary["goodput_gbps"],
        "loss_rate": summary["loss_rate"],
        "loss_rate_in_switches": summary["loss_rate_in_switches"],
        "loss_rate_in_nics": summary["loss_rate_in_nics"],
        "timeouts": summary["timeouts"],
        "packet_hops": summary["engine"]["packet_hops"],
    }


def load(path: str | Path) -> Run | Sweep:
    """Reopen a finished run or a sweep by its folder.

    Parameters
    ----------
    path
        Folder that `run` or `sweep` has written.

    Returns
    -------
    Run or Sweep
        The run or sweep in the folder.

    Raises
    ------
    ShallowsError
        If the folder holds neither, or cannot be read.

    Examples
    --------
    >>> import shallows as sh
    >>> path = sh.run(sh.example("incast"), out=folder / "run").path
    >>> sh.load(path).summary.flows["completed"]
    800
    """
    folder = folder_of(path)
    return Run(folder) if is_run(folder) else Sweep.load(folder)


def sweep(
    scenario: ScenarioLike,
    overrides: Mapping[str, object] | None = None,
    out: str | Path | None = None,
    jobs: int | None = None,
    engine: str = "local",
    address: str | None = None,
    verify: bool = False,
) -> Sweep:
    """Run all combinations of a scenario's `[sweep]` table, and return the results.

    Parameters
    ----------
    scenario
        Path of the scenario file, or a `Scenario`.
    overrides
        Values that replace those of the file, by dotted key; they take precedence over schemes and axes.
    out
        Folder of the sweep; `runs/NAME` by default. Runs that are finished there are not repeated. A folder
        with a different sweep (other settings and no common run) is an error.
    jobs
        Number of simultaneous runs; by default one per core, or as many as a Ray cluster can start.
    engine
        `local` or `ray`.
    address
        Address of a Ray cluster. By default the environment variable `RAY_ADDRESS`; without it, Ray is
        started on this machine.
    verify
        Whether to compare the hashes of files of finished runs; runs with differences are repeated.

    Returns
    -------
    Sweep
        Finished runs with their labels, and the failed runs.

    Raises
    ------
    ScenarioError
        If the scenario of any point cannot run. The error is raised before the first run.
    ShallowsError
        If a file cannot be read or written, the folder holds another sweep, or the cluster is lost.

    Examples
    --------
    >>> import shallows as sh
    >>> done = sh.sweep(sh.example("incast"), overrides={"stop.at": "60ms"}, out=folder / "sweep")
    >>> done.table.select("scheme", "timeouts").rows()[-1]
    ('Reno drop-tail', 4)
    """
    chosen = choose_engine(engine, jobs, address)
    parent, points = plan(
        sweep_source(scenario, overrides),
        folder_of(out) if out is not None else None,
        verify=verify,
    )
    if engine == "local":
        refuse_what_cannot_fit(points, from_finished(points), jobs)
    enter(parent, points)
    return Sweep.of(parent, run_points(points, chosen, lambda *_: None))
