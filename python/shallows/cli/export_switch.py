"""`shallows export switch`."""

import argparse
import sys
from pathlib import Path

from shallows.advisor import readers, writers
from shallows.advisor.units import converted
from shallows.bounded import printable
from shallows.cli import hints
from shallows.cli.codes import OK
from shallows.foreign.writing import refuse_existing
from shallows.runs.folder import check_writable, write_whole


def run(options: argparse.Namespace) -> int:
    """`shallows export switch`."""
    switch = readers.read(options.sources)
    made = converted(switch, options.to, hints.given(options))
    text = writers.write(options.to, None, made.switch)
    for what in (*made.said, *text.inexpressible):
        print(printable(f"not in {options.to}: {what}"), file=sys.stderr)
    for source in switch.unread:
        print(printable(f"not read: {source}: {source.text}"), file=sys.stderr)
    if options.out is None:
        for line in text.change.splitlines():
            print(printable(line))
        return OK
    out = Path(options.out)
    refuse_existing([out], force=options.force)
    check_writable(out.parent)
    print(write_whole(out, text.change))
    return OK
