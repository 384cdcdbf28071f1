"""Command `shallows report`."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    """Run `shallows report` and return its exit code."""
    screen = console(stderr=options.json)
    described = []
    is_sound = True
    for folder in map(Path, options.folders):
        if reports.holds_claims(folder):
            runs, problems = None, _problems_inside(folder, verify=options.verify)
        else:
            runs, problems = readable_in(folder, verify=options.verify)
            if not runs:
                raise problems[0]
            _check_by(runs, folder, options.by)
            if not options.json:
                _print_tables(runs, folder, screen, options.by)
        page, missing = reports.write(folder, runs), missing_in(folder, runs)
        described.append(_describe(folder, runs or [], page, missing, problems))
        screen.print(f"report: {page}", soft_wrap=True)
        for point in missing:
            print(f"missing: {point}", file=sys.stderr)
        for problem in problems:
            print(problem, file=sys.stderr)
        is_sound = is_sound and not problems
    if options.json:
        print(json.dumps({"folders": described}, ensure_ascii=False))
    return OK if is_sound else FAILED


def _problems_inside(folder: Path, *, verify: bool) -> list[ShallowsError]:
    """Return the error for each unreadable run in the sweeps inside a folder."""
    runs = [run for index in sorted(folder.glob(f"*/{INDEX}")) for run in inside_sweep(index.parent)]
    return [problem for run in runs if (problem := unfit(run, verify=verify))]


def _describe(
    folder: Path, runs: Sequence[Run], page: Path, missing: Sequence[str], problems: Sequence[ShallowsError]
) -> dict[str, Any]:
    """Describe a folder as a JSON object: page, runs (labels and summaries), missing runs, problems."""
    return {
        "folder": str(folder),
        "report": str(page),
        "runs": [
            {"folder": str(run.path), "labels": run.labels, "summary": run.summary.document()} for run in runs
        ],
        "missing": [*missing],
        "problems": [problem.message for problem in problems],
    }


def _check_by(runs: list[Run], folder: Path, by: list[str]) -> None:
    if by and runs[0].path != folder:
        raise ShallowsError(
            f"--by needs a folder with one run; {folder} contains {len(runs)} runs",
            "name the folder of one run",
        )


def _print_tables(runs: list[Run], folder: Path, screen: "Console", by: list[str]) -> None:
    """Print the tables of the run in this folder, or of the sweep."""
    first = runs[0]
    if first.path != folder:
        screen.print(
            Text.assemble((first.summary["name"], "bold"), f"  {len(runs)} runs  {folder}"),
            soft_wrap=True,
        )
        print_table(points_table.points(runs), screen)
        return
    name, seed = first.summary["name"], first.summary["seed"]
    screen.print(Text.assemble((name, "bold"), f"  seed {seed}  {folder}"), soft_wrap=True)
    print_table(tables.marking_curves(first.summary["marking_curves"]), screen)
    for table in filter(None, tables.lossless(first.summary)):
        print_table(table, screen)
    print_results(first, screen, by=by)
