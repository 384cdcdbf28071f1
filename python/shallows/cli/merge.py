"""`shallows merge`."""

import argparse
import sys
from pathlib import Path

from shallows import reports
from shallows.cli.codes import FAILED, OK
from shallows.cli.console import console, print_table
from shallows.cli.sweeping import read_source
from shallows.runs import points_table
from shallows.runs.results import describe
from shallows.sweeps.merging import gather
from shallows.sweeps.points import enter, finished_runs, plan


def run(options: argparse.Namespace) -> int:
    """`shallows merge`."""
    parent, points = plan(read_source(options), Path(options.out) if options.out else None)
    folders = [Path(folder) for folder in options.folders]
    enter(parent, points)
    missing, problems = gather(points, folders, parent, verify=options.verify)
    screen = console()
    if done := finished_runs(points):
        print_table(points_table.points(done), screen)
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
