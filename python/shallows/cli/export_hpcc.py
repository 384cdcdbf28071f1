"""`shallows export hpcc`."""

import argparse

from shallows.cli.codes import OK
from shallows.foreign.importing import export_hpcc


def run(options: argparse.Namespace) -> int:
    """`shallows export hpcc`."""
    for path in export_hpcc(
        options.source, fct=options.out, flow=options.flow, topology=options.topology, force=options.force
    ):
        print(path)
    return OK
