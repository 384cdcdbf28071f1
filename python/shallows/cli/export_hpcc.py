"""Command `shallows export hpcc`."""

import argparse

from shallows.cli.codes import OK
from shallows.foreign.importing import export_hpcc


def run(options: argparse.Namespace) -> int:
    """Run `shallows export hpcc` and return its exit code."""
    for path in export_hpcc(
        options.source,
        fct=options.out,
        pfc=options.pfc,
        flow=options.flow,
        topology=options.topology,
        force=options.force,
    ):
        print(path)
    return OK
