"""`shallows plan`."""

import argparse
import json
from collections.abc import Sequence

from rich.markup import escape

from shallows.cli.codes import OK
from shallows.cli.console import Status, console, print_table
from shallows.cli.sweeping import read_points
from shallows.quantity import count, duration, size
from shallows.runs import tables
from shallows.runs.results import axis_name
from shallows.sweeps import estimate
from shallows.sweeps.points import Point


def run(options: argparse.Namespace) -> int:
    """`shallows plan`."""
    parent, _, mine = read_points(options)
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
