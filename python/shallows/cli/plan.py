"""`shallows plan`."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from shallows.bounded import parse_toml
from shallows.cli.codes import OK
from shallows.cli.console import Status, console, print_table
from shallows.cli.sweeping import print_curves, read_points, read_source
from shallows.errors import ShallowsError
from shallows.quantity import count, duration, size
from shallows.runs.executing import default_folder, is_reusable
from shallows.runs.manifest import unfit
from shallows.runs.memory import need_of
from shallows.runs.results import axis_name
from shallows.runs.source import Source
from shallows.runs.table import Table
from shallows.runs.threads import cores, told
from shallows.sweeps import estimate
from shallows.sweeps.points import Point

if TYPE_CHECKING:
    from shallows._core import Experiment


def run(options: argparse.Namespace) -> int:
    """`shallows plan`."""
    source = read_source(options)
    experiment = None if _has_sweep(source) else _parse_alone(source, options)
    alone = _alone(source, experiment, options) if experiment else None
    parent, mine = (alone.folder, [alone]) if alone else read_points(options)[::2]
    screen = console(stderr=options.json)
    estimate.refuse_what_cannot_fit(mine, estimate.from_finished(mine), options.jobs)
    if not options.json:
        print_curves(mine, screen)
    with Status() as status:
        costs = estimate.sample(mine, lambda line: status.show(line, line), options.jobs)
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
    elif alone and experiment:
        screen.print(f"{parent}: one run, {_cost(alone, costs[0])}", soft_wrap=True)
        screen.print(f"it runs {told(experiment, cores())}", soft_wrap=True)
    else:
        print_table(_table(mine, costs), screen)
        screen.print(f"{parent}: {len(mine)} points, {needs}", soft_wrap=True)
    if warning := needs.warning():
        print(warning, file=sys.stderr)
    return OK


def _has_sweep(source: Source) -> bool:
    try:
        return "sweep" in parse_toml(source.text)
    except ValueError:
        return False  # the engine says what is wrong, and where


def _parse_alone(source: Source, options: argparse.Namespace) -> "Experiment":
    """A scenario without a `[sweep]` table."""
    if options.shard:
        raise ShallowsError(
            f"{source.file} has no [sweep] table, so there is nothing to divide", "leave out --shard"
        )
    return source.parse()


def _alone(source: Source, experiment: "Experiment", options: argparse.Namespace) -> Point:
    """The run of it."""
    folder = Path(options.out) if options.out else default_folder(experiment, Path("runs"))
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
        notes=(*experiment.notes(),),
    )


def _cost(point: Point, cost: "estimate.Cost | None") -> str:
    if cost is None:
        return "of which a short trial told nothing"
    basis = "finished before" if point.is_finished else f"judged by a trial of {estimate.SAMPLE_S:g} s"
    hops, time, memory = count(cost.packet_hops), duration(cost.wall_s), size(cost.peak_mb * 1e6)
    return f"{hops} packet-hops, about {time} and {memory} of memory ({basis})"


def _table(points: Sequence[Point], costs: Sequence["estimate.Cost | None"]) -> Table:
    axes = list(points[0].source.labels) if points else []
    rows = []
    for point, cost in zip(points, costs, strict=True):
        numbers = ["–", "–", "–"]
        if cost:
            numbers = [count(cost.packet_hops), duration(cost.wall_s), size(cost.peak_mb * 1e6)]
        known = "finished" if point.is_finished else cost.source if cost else "unknown"
        rows.append([*map(str, point.source.labels.values()), known, *numbers])
    columns = [*map(axis_name, axes), "estimate", "packet-hops", "time", "memory"]
    return Table("Points", columns, rows, names=len(axes) + 1)
