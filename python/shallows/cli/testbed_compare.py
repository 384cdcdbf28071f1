"""Command `shallows testbed compare`: agreement of simulation and real TCP in one scenario."""

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager

from rich.text import Text

from shallows import figures
from shallows.cli.codes import OK
from shallows.cli.console import RunStatus, console, print_notes, print_table
from shallows.comparison import agreement
from shallows.comparison.testbed import compare_testbed
from shallows.figures import overlaid
from shallows.runs.executing import OnProgress
from shallows.runs.folder import write_whole
from shallows.runs.source import Source


def run(options: argparse.Namespace) -> int:
    """Run `shallows testbed compare` and return its exit code."""
    source = Source.read(options.scenario, tuple(options.overrides), options.seed)
    name = source.parse().name
    screen = console(stderr=options.json)
    screen.print(Text.assemble((name, "bold"), f" simulated and on real TCP, {options.repeats} times each"))
    found = compare_testbed(
        source,
        out=options.out,
        repeats=options.repeats,
        dilation=options.dilate,
        force=options.force,
        invalid=options.invalid,
        say=lambda line: screen.print(line, soft_wrap=True),
        showing=_showing,
    )
    text = json.dumps(found.document(), ensure_ascii=False, indent=None if options.json else 2)
    if options.json:
        print(text)
    else:
        print_table(found.table, screen)
        screen.print()
    # The notes on differences between Linux and the model are the same for every run.
    differences = [note for note in found.real[0].summary["notes"] if note.startswith("Linux does otherwise")]
    print_notes([*found.notes, *differences], screen)
    paths = [
        write_whole(found.path / "agreement.json", text + "\n"),
        write_whole(found.path / "agreement.md", agreement.markdown(found.table)),
    ]
    if any(each.metric == "queue.mean" for each in found.agreements):
        paths += figures.save(overlaid.queues(found.simulated, found.real), found.path / "queue")
    for path in paths:
        screen.print(str(path), soft_wrap=True)
    return OK


@contextmanager
def _showing(name: str) -> Iterator[OnProgress]:
    with RunStatus(name) as status:
        yield status.update
