"""Command `shallows merge`."""

import argparse
import sys

from shallows import reports
from shallows.cli.codes import FAILED, OK
from shallows.cli.console import console, print_table
from shallows.cli.sweeping import read_source
from shallows.runs import points_table
from shallows.runs.results import describe
from shallows.sweeps.sweeps import merge


def run(options: argparse.Namespace) -> int:
    """Run `shallows merge` and return its exit code."""
    found = merge(read_source(options), options.folders, options.out or None, verify=options.verify)
    screen = console()
    if found.runs:
        print_table(points_table.points(found.runs), screen)
        screen.print(f"report: {reports.write(found.path)}", soft_wrap=True)
    for labels, _ in found.failed:
        print(f"missing: {describe(labels)}", file=sys.stderr)
    for problem in found.problems:
        print(problem, file=sys.stderr)
    if found.failed:
        of = len(found.runs) + len(found.failed)
        print(
            f"shallows: {len(found.failed)} of {of} points are whole in none of these folders\n"
            f"  merge again with the folders that have them, or run them with `shallows sweep "
            f"{options.scenario} --out {found.path}`",
            file=sys.stderr,
        )
    return FAILED if found.failed else OK
