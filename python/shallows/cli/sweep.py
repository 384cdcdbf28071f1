"""Command `shallows sweep`."""

import argparse
import json
from collections.abc import Sequence
from typing import Any

from shallows import reports
from shallows.cli.codes import EMPTY, FAILED, OK
from shallows.cli.console import console, print_table, print_warnings
from shallows.cli.sweeping import print_curves, read_points, run_sweep
from shallows.runs import points_table
from shallows.sweeps import estimate
from shallows.sweeps.points import Outcome, finished_runs
from shallows.sweeps.sweeps import choose_engine


def run(options: argparse.Namespace) -> int:
    """Run `shallows sweep` and return its exit code."""
    engine = choose_engine(options.engine, options.jobs, options.address)
    parent, points, mine = read_points(options, verify=options.verify)
    screen = console(stderr=options.json)
    if options.engine == "local":
        estimate.refuse_what_cannot_fit(mine, estimate.from_finished(mine), options.jobs)
    print_curves(mine, screen)
    outcomes = run_sweep(parent, points, engine, screen, mine, replaces=False)
    if options.json:
        print(json.dumps({"points": [_describe(outcome) for outcome in outcomes]}, ensure_ascii=False))
    # Runs of other shards are included, so that the last shard writes the page of the whole sweep.
    if done := finished_runs(points):
        if not options.json:
            print_table(points_table.points(done), screen)
        print_warnings(points_table.losses_of_nics(done), screen)
        screen.print(f"report: {reports.write(parent)}", soft_wrap=True)
    return _exit_code(outcomes)


def _exit_code(outcomes: Sequence[Outcome]) -> int:
    """Return the exit code; a failed run takes precedence over a run that measured nothing."""
    if not all(outcome.run for outcome in outcomes):
        return FAILED
    return EMPTY if any(outcome.run and outcome.run.measured_nothing for outcome in outcomes) else OK


def _describe(outcome: Outcome) -> dict[str, Any]:
    described: dict[str, Any] = {"labels": outcome.point.source.labels}
    if outcome.run is None:
        return described | {"status": "failed", "error": outcome.error}
    status = "reused" if outcome.reused else "done"
    return described | {
        "status": status,
        "folder": outcome.run.path.name,
        "summary": outcome.run.summary.document(),
    }
