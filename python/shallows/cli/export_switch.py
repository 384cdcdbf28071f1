"""`shallows export switch`."""

import argparse
import sys
from pathlib import Path

from shallows.advisor import readers, writers
from shallows.cli.codes import OK
from shallows.foreign.writing import refuse_existing
from shallows.runs.folder import check_writable, write_whole


def run(options: argparse.Namespace) -> int:
    """`shallows export switch`."""
    switch = readers.read(options.sources)
    text = writers.write(options.to, None, switch)
    for what in text.inexpressible:
        print(f"not in {options.to}: {what}", file=sys.stderr)
    for source in switch.unread:
        print(f"not read: {source}: {source.text}", file=sys.stderr)
    if options.out is None:
        print(text.change, end="")
        return OK
    out = Path(options.out)
    refuse_existing([out], force=options.force)
    check_writable(out.parent)
    print(write_whole(out, text.change))
    return OK
