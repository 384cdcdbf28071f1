"""Options of the commands that read and write files of other simulators and vendors."""

import argparse

from shallows.cli.lazy import add, add_kinds
from shallows.cli.options.shared import add_force, add_hints


def _import(parser: argparse.ArgumentParser) -> None:
    kinds = add_kinds(parser, "FORMAT")
    text = "make a scenario from HPCC's config.txt, topology.txt and flow.txt"
    add(kinds, "hpcc", "shallows.cli.import_hpcc", text, _import_hpcc)
    add(
        kinds,
        "htsim",
        "shallows.cli.import_htsim",
        "make a scenario from htsim's connection matrix",
        _import_htsim,
    )


def _import_hpcc(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="CONFIG", help="the configuration, or the folder that holds it")
    parser.add_argument(
        "--root",
        metavar="DIR",
        help="where the simulator is run, from which the paths in CONFIG are; "
        "default: the folder of CONFIG or the one above",
    )
    _add_imported(parser)


def _import_htsim(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="FILE.cm", help="the connection matrix")
    parser.add_argument(
        "--topo", dest="topology", metavar="FILE.topo", help="the fat tree; default: one switch"
    )
    parser.add_argument(
        "--start-unit",
        choices=["ps", "us"],
        help="of the starts: us for htsim_uec, ps for htsim's other programs; "
        "default: us where only htsim_uec can be meant",
    )
    _add_imported(parser)


def _add_imported(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", dest="out", required=True, metavar="SCENARIO.toml", help="what to write")
    parser.add_argument(
        "--ignore",
        dest="ignored",
        action="append",
        default=[],
        metavar="KEY",
        help="do without this key or word; may be repeated",
    )
    parser.add_argument(
        "--ignore-unmodelled",
        dest="unmodelled",
        action="store_true",
        help="do without all that has no counterpart in a scenario; what that is, is listed",
    )
    add_force(parser)


def _export(parser: argparse.ArgumentParser) -> None:
    kinds = add_kinds(parser, "FORMAT")
    add(
        kinds,
        "hpcc",
        "shallows.cli.export_hpcc",
        "write HPCC's fct.txt, flow.txt or topology.txt",
        _export_hpcc,
    )
    add(
        kinds,
        "switch",
        "shallows.cli.export_switch",
        "write a switch's queues and buffers for another vendor",
        _export_switch,
    )


def _export_hpcc(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="SOURCE", help="a run's folder, or a scenario file")
    parser.add_argument("-o", dest="out", metavar="fct.txt", help="completion times of a run")
    parser.add_argument("--flow", metavar="flow.txt", help="flows of a run, or of a scenario that lists them")
    parser.add_argument("--topology", metavar="topology.txt", help="network of a scenario")
    add_force(parser)


def _export_switch(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("sources", nargs="+", metavar="CONFIG", help="the configuration of one switch")
    parser.add_argument(
        "--to",
        required=True,
        choices=["sonic", "eos", "avd", "nvue", "nxos", "junos", "tc"],
        help="the format; what it cannot express is listed",
    )
    parser.add_argument("--out", metavar="FILE", help="what to write; default: standard output")
    add_hints(parser)
    add_force(parser)


COMMANDS = {
    "import": _import,
    "export": _export,
}
"""Functions that add the options of each command, by its name."""
