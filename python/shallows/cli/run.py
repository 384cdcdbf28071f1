"""Command `shallows run`."""

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from shallows import reports
from shallows.cli.codes import EMPTY, FAILED, OK
from shallows.cli.console import RunStatus, console, print_problems, print_table, print_warnings
from shallows.cli.printing import print_results
from shallows.errors import ShallowsError
from shallows.runs import tables
from shallows.runs.executing import default_folder, execute
from shallows.runs.folder import check_writable, refuse_existing
from shallows.runs.leases import writer_of
from shallows.runs.manifest import PAGE, holds, unfit
from shallows.runs.results import Run
from shallows.runs.source import Source
from shallows.runs.threads import Threads, threads_of
from shallows.sweeps.points import of_scheme

if TYPE_CHECKING:
    from rich.console import Console

    from shallows._core import Experiment


def run(options: argparse.Namespace) -> int:
    """Run `shallows run` and return its exit code."""
    threads = threads_of(options.threads)
    source = Source.read(options.scenario, tuple(options.overrides), options.seed)
    if options.scheme is not None:
        source = of_scheme(source, options.scheme)
    experiment = source.parse()
    folder = Path(options.out) if options.out is not None else default_folder(experiment, Path("runs"))
    screen = console(stderr=options.json)
    is_there = not options.force and holds(folder, experiment.hash, verify=options.verify)
    if is_there and not (folder / PAGE).is_file():
        screen.print(f"{folder} holds this run, but not its report", soft_wrap=True)
        finished = Run(folder)
    else:
        refuse_existing(folder, experiment.hash, force=options.force, verify=options.verify)
        check_writable(folder.parent)
        finished = _simulate(source, experiment, folder, screen, threads, verify=options.verify)
    if options.json:
        print(json.dumps(finished.summary.document(), ensure_ascii=False))
        print_problems(finished.problems, screen)
    else:
        print_results(finished, screen, before=set(experiment.warnings()), by=options.by)
        for path in finished.captures.values():
            screen.print(f"capture: {path}", soft_wrap=True)
    try:
        page = reports.write_run(finished)
    except ShallowsError as error:
        remedy = f"{error.remedy}, and give the same command again: the results are kept"
        raise type(error)(error.message, remedy) from None
    screen.print(f"report: {page}", soft_wrap=True)
    if finished.deadlocked:
        return FAILED
    return EMPTY if finished.measured_nothing else OK


def _simulate(
    source: Source,
    experiment: "Experiment",
    folder: Path,
    screen: "Console",
    threads: Threads,
    *,
    verify: bool,
) -> Run:
    """Simulate an experiment with live progress."""
    if problem := unfit(folder, verify=verify):
        print(f"{problem.message}: the scenario is run again", file=sys.stderr)
    if writer := writer_of(folder):
        print(f"{folder} may be in the making: waiting for a sign of {writer}", file=sys.stderr)
    screen.print(
        Text.assemble((experiment.name, "bold"), f"  seed {experiment.seed}  {experiment.hash[:12]}")
    )
    before = [
        tables.marking_curves(json.loads(experiment.marking_curves())),
        tables.pause_thresholds(json.loads(experiment.pause_thresholds())),
        tables.headrooms(json.loads(experiment.headrooms())),
    ]
    for table in filter(None, before):
        print_table(table, screen)
    for note in experiment.notes():
        screen.print(note, soft_wrap=True, highlight=False)
    print_warnings(experiment.warnings(), screen)
    with RunStatus(experiment.name) as status:
        return execute(source, experiment, folder, status.update, threads=threads)
