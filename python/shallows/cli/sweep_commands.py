"""What `sweep`, `plan` and `merge` do, after the command line is understood."""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from shallows import reports
from shallows.cli.codes import EMPTY, FAILED, OK
from shallows.cli.console import Status, bar, console, print_table, print_warnings
from shallows.quantity import count, duration, size
from shallows.runs import tables
from shallows.runs.folder import check_writable
from shallows.runs.manifest import MANIFEST
from shallows.runs.results import Run, axis_name, describe
from shallows.runs.running import Source
from shallows.sweeps import estimate
from shallows.sweeps.merging import gather
from shallows.sweeps.points import Outcome, Point, Shard, finished_runs, plan, write_index
from shallows.sweeps.sweeps import Engine, choose_engine, run_points

if TYPE_CHECKING:
    from rich.console import Console


def sweep(options: argparse.Namespace) -> int:
    """`shallows sweep`."""
    engine = choose_engine(options.engine, options.jobs, options.address)
    parent, points, mine = _read(options, verify=options.verify)
    screen = console(stderr=options.json)
    if options.engine == "local":
        estimate.refuse_what_cannot_fit(mine, estimate.from_finished(mine), options.jobs)
    outcomes = run_sweep(parent, points, engine, screen, mine)
    if options.json:
        print(json.dumps({"points": [_describe(outcome) for outcome in outcomes]}, ensure_ascii=False))
    # Also what other shards have finished: the last of them writes the page of the whole sweep.
    if done := finished_runs(points):
        if not options.json:
            print_table(tables.points(done), screen)
        print_warnings(tables.losses_of_cards(done), screen)
        screen.print(f"report: {reports.write(parent)}", soft_wrap=True)
    return _exit_code(outcomes)


def _exit_code(outcomes: Sequence[Outcome]) -> int:
    """A failure counts more than a point that measured nothing."""
    if not all(outcome.run for outcome in outcomes):
        return FAILED
    return EMPTY if any(outcome.run and outcome.run.measured_nothing for outcome in outcomes) else OK


def show_plan(options: argparse.Namespace) -> int:
    """`shallows plan`."""
    parent, _, mine = _read(options)
    screen = console(stderr=options.json)
    with Status() as status:
        costs = estimate.sample(mine, lambda line: status.show(line, line))
    needs = estimate.add_up(mine, costs, options.jobs)
    if options.json:
        described = [
            {
                "labels": point.source.labels,
                "folder": point.folder.name,
                "finished": point.is_finished,
                **(cost.describe() if cost else {}),
            }
            for point, cost in zip(mine, costs, strict=True)
        ]
        print(json.dumps({"points": described, **needs.describe()}, ensure_ascii=False))
    else:
        print_table(_table(mine, costs), screen)
        screen.print(escape(f"{parent}: {len(mine)} points, {needs}"), soft_wrap=True)
    estimate.refuse_what_cannot_fit(mine, costs, options.jobs)
    return OK


def _table(points: Sequence[Point], costs: Sequence["estimate.Cost | None"]) -> tables.Table:
    axes = list(points[0].source.labels) if points else []
    rows = []
    for point, cost in zip(points, costs, strict=True):
        numbers = ["–", "–", "–"]
        if cost:
            numbers = [count(cost.packet_hops), duration(cost.wall_s), size(cost.peak_mb * 1e6)]
        known = "finished" if point.is_finished else cost.source if cost else "unknown"
        rows.append([*map(str, point.source.labels.values()), known, *numbers])
    columns = [*map(axis_name, axes), "estimate", "packet-hops", "time", "memory"]
    return tables.Table("Points", columns, rows, names=len(axes) + 1)


def merge(options: argparse.Namespace) -> int:
    """`shallows merge`."""
    parent, points = plan(_source(options), Path(options.out) if options.out else None)
    folders = [Path(folder) for folder in options.folders]
    missing, problems = gather(points, folders, parent, verify=options.verify)
    write_index(parent, points)
    screen = console()
    if done := finished_runs(points):
        print_table(tables.points(done), screen)
        screen.print(f"report: {reports.write(parent)}", soft_wrap=True)
    for point in missing:
        print(f"missing: {describe(point.source.labels)}", file=sys.stderr)
    for problem in problems:
        print(problem, file=sys.stderr)
    if missing:
        print(
            f"shallows: {len(missing)} of {len(points)} points are whole in none of these folders\n"
            f"  merge again with the folders that have them, or run them with `shallows sweep "
            f"{options.scenario} --out {parent}`",
            file=sys.stderr,
        )
    return FAILED if missing else OK


def _source(options: argparse.Namespace) -> Source:
    return Source.read(options.scenario, tuple(options.overrides))


def _read(options: argparse.Namespace, *, verify: bool = False) -> tuple[Path, list[Point], list[Point]]:
    """The folder of a sweep, its points, and those that are asked for."""
    shard = Shard.parse(options.shard) if options.shard else Shard(1, 1)
    out = Path(options.out) if options.out else None
    parent, points = plan(_source(options), out, verify=verify)
    return parent, points, shard.of(points)


def run_sweep(
    parent: Path, points: list[Point], engine: Engine, screen: "Console", mine: list[Point] | None = None
) -> list[Outcome]:
    """Run the points of a sweep, or some of them, with a live view, and say which failed."""
    mine = points if mine is None else mine
    costs = estimate.from_finished(mine)
    of = f" of {len(points)}" if len(mine) < len(points) else ""
    needs = estimate.add_up(mine, costs, None)
    line = f"{len(mine)}{of} points, {needs}"
    screen.print(f"[bold]{escape(parent.name)}[/bold]  {escape(line)}", soft_wrap=True)
    if not needs.finished and (others := _others(parent, points)):
        of_whom = "of other settings, or of another build of the engine; they stay"
        screen.print(f"{others} other runs are in {parent}: {of_whom}", soft_wrap=True, highlight=False)
    check_writable(parent)
    for point in mine:
        if point.damage:
            print(f"{point.damage.message}: it is run again", file=sys.stderr)
    write_index(parent, points)
    with SweepStatus(len(mine)) as status:
        outcomes = run_points(mine, engine, status.update)
    for outcome in outcomes:
        if outcome.error:
            print(f"failed: {describe(outcome.point.source.labels)}: {outcome.error}", file=sys.stderr)
    _say_what_is_empty([outcome.run for outcome in outcomes if outcome.run])
    return outcomes


def _others(parent: Path, points: Sequence[Point]) -> int:
    """How many runs are in a sweep's folder that are none of its points."""
    ours = {point.folder.name for point in points}
    return sum(path.parent.name not in ours for path in parent.glob(f"*/{MANIFEST}"))


def _say_what_is_empty(runs: Sequence[Run]) -> None:
    """Points with problems, by their labels, and how many measured nothing."""
    for run in runs:
        if run.problems:
            texts = "; ".join(problem["text"] for problem in run.problems)
            print(f"problem: {describe(run.labels)}: {texts}", file=sys.stderr)
    if empty := sum(run.measured_nothing for run in runs):
        print(
            f"{empty} of {len(runs)} points measured nothing\n"
            "  they are finished and are not run again: change the scenario so that they measure something",
            file=sys.stderr,
        )


def _describe(outcome: Outcome) -> dict[str, Any]:
    described: dict[str, Any] = {"labels": outcome.point.source.labels}
    if outcome.run is None:
        return described | {"status": "failed", "error": outcome.error}
    status = "reused" if outcome.reused else "done"
    return described | {"status": status, "folder": outcome.run.path.name, "summary": outcome.run.summary}


class SweepStatus(Status):
    """Progress of a sweep."""

    def __init__(self, points: int) -> None:
        super().__init__()
        self.points = points
        self.start = time.monotonic()

    def update(self, running: dict[int, dict[str, Any]], outcomes: Sequence[Outcome]) -> None:
        """Show how far the sweep is: points that are done, and those that run."""
        elapsed = time.monotonic() - self.start
        line = describe_sweep(self.points, running, outcomes, elapsed)
        done = len(outcomes) + sum(progress["fraction"] for progress in running.values())
        bars = [f"  {bar(progress['fraction'], 16)} point {index + 1}" for index, progress in running.items()]
        self.show("\n".join([f"{bar(done / self.points)} {line}", *bars]), line)


def describe_sweep(
    points: int, running: dict[int, dict[str, Any]], outcomes: Sequence[Outcome], elapsed: float
) -> str:
    """Points that are done, failed and running, speed, and time left, in words."""
    failed = sum(outcome.run is None for outcome in outcomes)
    ran = [outcome.run for outcome in outcomes if outcome.run and not outcome.reused]
    hops = sum(run.summary["engine"]["packet_hops"] for run in ran)
    hops += sum(progress["packet_hops"] for progress in running.values())
    parts = [f"{len(outcomes) - failed} of {points} points done"]
    parts += [f"{failed} failed"] if failed else []
    parts += [f"{len(running)} running", f"{count(hops / max(elapsed, 1e-9))} packet-hops/s"]
    worked = len(ran) + failed + sum(progress["fraction"] for progress in running.values())
    left = points - len(outcomes) + len(ran) + failed - worked
    if worked > 0.05:
        parts.append(f"{duration(elapsed * left / worked)} left")
    return ", ".join(parts)
