"""Functions of the commands that run sweeps: reading points, and running them with a live view."""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from shallows.cli.console import Status, bar, print_table
from shallows.quantity import count, duration
from shallows.runs import tables
from shallows.runs.manifest import MANIFEST
from shallows.runs.results import Run, axis_name, describe
from shallows.runs.source import Source
from shallows.sweeps import estimate
from shallows.sweeps.points import Outcome, Point, Shard, enter, plan
from shallows.sweeps.sweeps import Engine, run_points

if TYPE_CHECKING:
    from rich.console import Console


def read_source(options: argparse.Namespace) -> Source:
    """Read the scenario of a sweep, with the overrides of `--set`."""
    return Source.read(options.scenario, tuple(options.overrides))


def read_points(
    options: argparse.Namespace, *, verify: bool = False
) -> tuple[Path, list[Point], list[Point]]:
    """Return the folder of a sweep, all points, and the points of the requested shard."""
    shard = Shard.parse(options.shard) if options.shard else Shard(1, 1)
    out = Path(options.out) if options.out else None
    parent, points = plan(read_source(options), out, verify=verify)
    return parent, points, shard.of(points)


def run_sweep(
    parent: Path,
    points: list[Point],
    engine: Engine,
    screen: "Console",
    mine: list[Point] | None = None,
    *,
    replaces: bool = True,
) -> list[Outcome]:
    """Run the points of a sweep, or only those in `mine`, with a live view; print failed points.

    A folder that holds another sweep is an error, unless `replaces` is set.
    """
    mine = points if mine is None else mine
    costs = estimate.from_finished(mine)
    of = f" of {len(points)}" if len(mine) < len(points) else ""
    needs = estimate.add_up(mine, costs, None)
    line = f"{len(mine)}{of} runs, {needs}"
    screen.print(Text.assemble((parent.name, "bold"), f"  {line}"), soft_wrap=True)
    if not needs.finished and (others := _others(parent, points)):
        origin = "they have other settings or another build of the engine, and are kept"
        screen.print(f"{parent} has {others} further runs: {origin}", soft_wrap=True, highlight=False)
    for point in mine:
        if point.damage:
            print(f"{point.damage.message}: the point is run again", file=sys.stderr)
    enter(parent, points, replaces=replaces)
    with SweepStatus(len(mine)) as status:
        outcomes = run_points(mine, engine, status.update)
    for outcome in outcomes:
        if outcome.error:
            print(f"failed: {describe(outcome.point.source.labels)}: {outcome.error}", file=sys.stderr)
    _say_what_is_empty([outcome.run for outcome in outcomes if outcome.run])
    return outcomes


MOST_CURVES = 8
"""Maximum number of tables of marking curves that are printed."""


def print_curves(points: Sequence[Point], screen: "Console") -> None:
    """Print marking curves, pauses and headroom of points, and the values that the scenario leaves to `auto`.

    Points with the same values share tables; the titles name the schemes and axis values of these points.
    """
    shared: dict[tuple[tuple[str, str, str], tuple[str, ...]], list[Point]] = {}
    for point in points:
        values = (point.curves, point.pauses, point.headrooms)
        shared.setdefault((values, point.notes), []).append(point)
    for number, ((values, notes), group) in enumerate([*shared.items()][:MOST_CURVES]):
        common = _what_is_common(group, points)
        of = common and f", {common}"
        curves, pauses, headrooms = map(json.loads, values)
        found = [
            tables.marking_curves(curves, f"Marking curves{of}"),
            tables.pause_thresholds(pauses, f"Pauses (PFC){of}"),
            tables.headrooms(headrooms, f"Headroom{of}"),
        ]
        for table in filter(None, found):
            # Notes are printed only below the first tables.
            print_table(table if number == 0 else replace(table, note=""), screen)
        for note in notes:
            screen.print(note, soft_wrap=True, highlight=False)
    if (more := len(shared) - MOST_CURVES) > 0:
        screen.print(f"and {more} more: `shallows run` with --scheme or --set prints those of one run")
    screen.print()


def _what_is_common(group: Sequence[Point], points: Sequence[Point]) -> str:
    """Name a group of points by its values on the axes that distinguish it from the other points."""
    parts = []
    for axis in points[0].source.labels:
        mine, every = (list(dict.fromkeys(p.source.labels[axis] for p in of)) for of in (group, points))
        if len(mine) < len(every):
            name = "" if axis == "scheme" else f"{axis_name(axis)} "
            parts.append(name + " or ".join(map(str, mine)))
    return ", ".join(parts)


def _others(parent: Path, points: Sequence[Point]) -> int:
    """Count the runs in a sweep's folder that do not belong to the sweep."""
    ours = {point.folder.name for point in points}
    return sum(path.parent.name not in ours for path in parent.glob(f"*/{MANIFEST}"))


def _say_what_is_empty(runs: Sequence[Run]) -> None:
    """Print the problems of runs, and the number of runs that measured nothing."""
    for run in runs:
        if run.problems:
            texts = "; ".join(problem["text"] for problem in run.problems)
            print(f"problem: {describe(run.labels)}: {texts}", file=sys.stderr)
    if empty := sum(run.measured_nothing for run in runs):
        print(
            f"{empty} of {len(runs)} points measured nothing\n"
            "  these points are finished and will not run again: change the scenario so that they measure",
            file=sys.stderr,
        )


class SweepStatus(Status):
    """Progress of a sweep."""

    def __init__(self, points: int) -> None:
        super().__init__()
        self.points = points
        self.start = time.monotonic()

    def update(self, running: dict[int, dict[str, Any]], outcomes: Sequence[Outcome]) -> None:
        """Show the progress of the sweep and of the current runs."""
        elapsed = time.monotonic() - self.start
        line = describe_sweep(self.points, running, outcomes, elapsed)
        done = len(outcomes) + sum(progress["fraction"] for progress in running.values())
        bars = [f"  {bar(progress['fraction'], 16)} point {index + 1}" for index, progress in running.items()]
        self.show("\n".join([f"{bar(done / self.points)} {line}", *bars]), line)


def describe_sweep(
    points: int, running: dict[int, dict[str, Any]], outcomes: Sequence[Outcome], elapsed: float
) -> str:
    """Describe the numbers of completed, failed and current runs, the speed and the remaining time."""
    failed = sum(outcome.run is None for outcome in outcomes)
    ran = [outcome.run for outcome in outcomes if outcome.run and not outcome.reused]
    hops = sum(run.summary["engine"]["packet_hops"] for run in ran)
    hops += sum(progress["packet_hops"] for progress in running.values())
    parts = [f"{len(outcomes) - failed} of {points} runs done"]
    parts += [f"{failed} failed"] if failed else []
    parts += [f"{len(running)} running", f"{count(hops / max(elapsed, 1e-9))} packet-hops/s"]
    worked = len(ran) + failed + sum(progress["fraction"] for progress in running.values())
    left = points - len(outcomes) + len(ran) + failed - worked
    if (still := estimate.time_left(elapsed, worked, left)) is not None:
        parts.append(f"{duration(still)} left")
    return ", ".join(parts)
