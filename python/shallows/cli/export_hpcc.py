"""`shallows export hpcc`."""

import argparse
from pathlib import Path

from shallows.cli.codes import OK
from shallows.errors import ShallowsError
from shallows.foreign import export


def run(options: argparse.Namespace) -> int:
    """`shallows export hpcc`."""
    source = Path(options.source)
    wanted = {"fct": options.out, "flow": options.flow, "topology": options.topology}
    if not any(wanted.values()):
        raise ShallowsError("nothing to write", "name a file with -o (fct.txt), --flow or --topology")
    texts = {Path(path): export.hpcc(source, what) for what, path in wanted.items() if path}
    for path in export.write(texts, force=options.force):
        print(path)
    return OK
