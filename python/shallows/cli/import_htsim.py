"""`shallows import htsim`."""

import argparse
from pathlib import Path

from shallows.cli.importing import ignored_of, write_imported
from shallows.foreign.htsim import import_htsim


def run(options: argparse.Namespace) -> int:
    """`shallows import htsim`."""
    topology = Path(options.topology) if options.topology else None
    imported = import_htsim(Path(options.source), topology, ignored_of(options), options.start_unit)
    return write_imported(imported, options)
