"""Command `shallows import hpcc`."""

import argparse

from shallows.cli.importing import print_imported
from shallows.foreign.importing import import_hpcc


def run(options: argparse.Namespace) -> int:
    """Run `shallows import hpcc` and return its exit code."""
    made = import_hpcc(
        options.source,
        options.out,
        root=options.root,
        topology=options.topology,
        flow=options.flow,
        control=options.control,
        ignored=options.ignored,
        unmodelled=options.unmodelled,
        force=options.force,
    )
    return print_imported(made, options)
