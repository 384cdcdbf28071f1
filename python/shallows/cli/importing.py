"""Output that the import commands share."""

import argparse

from shallows.cli.codes import OK
from shallows.cli.console import console, print_notes
from shallows.foreign.importing import Written


def print_imported(made: Written, options: argparse.Namespace) -> int:
    """Print the files that an import wrote, and the differences from the other simulator's model."""
    screen = console()
    print_notes(made.notes, screen)
    for path in made.files:
        screen.print(str(path), soft_wrap=True)
    screen.print(f"run it: shallows run {options.out}", style="dim", soft_wrap=True)
    return OK
