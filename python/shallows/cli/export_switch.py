"""Command `shallows export switch`."""

import argparse
import sys

from shallows.advisor.exporting import export_switch
from shallows.bounded import printable
from shallows.cli.codes import OK


def run(options: argparse.Namespace) -> int:
    """Run `shallows export switch` and return its exit code."""
    made = export_switch(
        options.sources,
        options.to,
        options.out,
        fabric=options.fabric,
        chip=options.chip,
        rate=options.rate,
        force=options.force,
    )
    for what in made.inexpressible:
        print(printable(f"not in {options.to}: {what}"), file=sys.stderr)
    for what in made.unread:
        print(printable(f"not read: {what}"), file=sys.stderr)
    if made.path is not None:
        print(made.path)
        return OK
    for line in made.text.splitlines():
        print(printable(line))
    return OK
