"""`shallows import hpcc`."""

import argparse
from pathlib import Path

from shallows.cli.importing import ignored_of, write_imported
from shallows.foreign.hpcc import import_hpcc


def run(options: argparse.Namespace) -> int:
    """`shallows import hpcc`."""
    root = Path(options.root) if options.root else None
    return write_imported(import_hpcc(Path(options.source), ignored_of(options), root), options)
