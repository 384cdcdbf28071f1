"""What the commands that import share."""

import argparse
from pathlib import Path

from shallows.cli.codes import OK
from shallows.cli.console import console, print_notes
from shallows.foreign.ignoring import Ignored
from shallows.foreign.writing import Imported, write


def ignored_of(options: argparse.Namespace) -> Ignored:
    """What the user does without."""
    return Ignored(options.ignored, unmodelled=options.unmodelled)


def write_imported(imported: Imported, options: argparse.Namespace) -> int:
    """Write a scenario, and say what of the other simulator's files it is not."""
    out = Path(options.out)
    paths = write(imported, out, force=options.force)
    screen = console()
    print_notes(imported.notes, screen)
    for path in paths:
        screen.print(str(path), soft_wrap=True)
    screen.print(f"run it: shallows run {out}", style="dim", soft_wrap=True)
    return OK
