"""Command `shallows import htsim`."""

import argparse

from shallows.cli.importing import print_imported
from shallows.foreign.importing import import_htsim


def run(options: argparse.Namespace) -> int:
    """Run `shallows import htsim` and return its exit code."""
    made = import_htsim(
        options.source,
        options.out,
        topology=options.topology,
        start_unit=options.start_unit,
        ignored=options.ignored,
        unmodelled=options.unmodelled,
        force=options.force,
    )
    return print_imported(made, options)
