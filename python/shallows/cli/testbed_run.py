"""Command `shallows testbed run`."""

import argparse
import json

from rich.text import Text

from shallows import reports
from shallows.cli.codes import EMPTY, OK
from shallows.cli.console import RunStatus, console, print_problems, print_warnings
from shallows.cli.printing import print_results
from shallows.runs.measuring import captures_of, measure, new_folder
from shallows.runs.source import Source


def run(options: argparse.Namespace) -> int:
    """Run `shallows testbed run` and return its exit code, which is `EMPTY` for an invalid run."""
    overrides = (*options.overrides, *captures_of(options.pcap))
    source = Source.read(options.scenario, overrides, options.seed)
    experiment = source.parse()
    folder = new_folder(experiment, options.out, options.dilate, force=options.force)
    screen = console(stderr=options.json)
    screen.print(Text.assemble((experiment.name, "bold"), f" on real TCP  seed {experiment.seed}"))
    print_warnings(experiment.warnings(), screen)
    with RunStatus(experiment.name) as status:
        finished = measure(source, experiment, folder, status.update, options.dilate)
    if options.json:
        print(json.dumps(finished.summary.document(), ensure_ascii=False))
        print_problems(finished.problems, screen)
    else:
        print_results(finished, screen, before=set(experiment.warnings()))
        for path in finished.captures.values():
            screen.print(f"capture: {path}", soft_wrap=True)
    screen.print(f"report: {reports.write_run(finished)}", soft_wrap=True)
    return OK if finished.summary["health"]["valid"] and not finished.measured_nothing else EMPTY
