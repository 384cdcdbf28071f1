"""`shallows report`."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from shallows import reports
from shallows.cli.codes import FAILED, OK
from shallows.cli.console import console, print_table
from shallows.cli.printing import print_results
from shallows.errors import ShallowsError
from shallows.runs import points_table, tables
from shallows.runs.index import INDEX, inside_sweep, missing_in, readable_in
from shallows.runs.manifest import unfit
from shallows.runs.results import Run

if TYPE_CHECKING:
    from rich.console import Console


def run(options: argparse.Namespace) -> int:
    """`shallows report`."""
    screen = console()
    is_sound = True
    for folder in map(Path, options.folders):
        if reports.holds_claims(folder):
            runs, problems = None, _problems_inside(folder, verify=options.verify)
        else:
            runs, problems = readable_in(folder, verify=options.verify)
            if not runs:
                raise problems[0]
            _print_tables(runs, folder, screen, options.by)
        screen.print(f"report: {reports.write(folder, runs)}", soft_wrap=True)
        for point in missing_in(folder, runs):
            print(f"missing: {point}", file=sys.stderr)
        for problem in problems:
            print(problem, file=sys.stderr)
        is_sound = is_sound and not problems
    return OK if is_sound else FAILED


def _problems_inside(folder: Path, *, verify: bool) -> list[ShallowsError]:
    """Why runs cannot be read that are in sweeps inside a folder."""
    runs = [run for index in sorted(folder.glob(f"*/{INDEX}")) for run in inside_sweep(index.parent)]
    return [problem for run in runs if (problem := unfit(run, verify=verify))]


def _print_tables(runs: list[Run], folder: Path, screen: "Console", by: list[str]) -> None:
    """Those of a run, or of a sweep."""
    first = runs[0]
    if first.path != folder:
        if by:
            raise ShallowsError(f"{folder} holds {len(runs)} runs, and --by is of one", "name a run's folder")
        screen.print(
            Text.assemble((first.summary["name"], "bold"), f"  {len(runs)} runs  {folder}"),
            soft_wrap=True,
        )
        print_table(points_table.points(runs), screen)
        return
    name, seed = first.summary["name"], first.summary["seed"]
    screen.print(Text.assemble((name, "bold"), f"  seed {seed}  {folder}"), soft_wrap=True)
    print_table(tables.marking_curves(first.summary["marking_curves"]), screen)
    print_results(first, screen, by=by)
