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
    from shallows.foreign.hpcc_config import FILES
    from shallows.foreign.hpcc_keys import CONTROLS

    parser.add_argument("source", metavar="CONFIG", help="HPCC's config.txt, or the folder that contains it")
    parser.add_argument(
        "--root",
        metavar="DIR",
        help="folder in which the simulator was run; paths in CONFIG are relative to this folder; "
        "default: the folder of CONFIG, or its parent",
    )
    for key, option in FILES.items():
        parser.add_argument(
            f"--{option}", metavar="FILE", help=f"file to read; default: that of {key} in CONFIG"
        )
    parser.add_argument(
        "--control",
        choices=[*CONTROLS],
        help="congestion control; default: that of CC_MODE in CONFIG",
    )
    _add_imported(parser)


def _import_htsim(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="FILE.cm", help="file with the connection matrix")
    parser.add_argument(
        "--topo",
        dest="topology",
        metavar="FILE.topo",
        help="file that describes the fat tree; default: all hosts at one switch",
    )
    parser.add_argument(
        "--start-unit",
        choices=["ps", "us"],
        help="unit of start times: us for htsim_uec, ps for htsim's other programs; "
        "default: us if `msg` occurs or all starts are below 1000, otherwise ps",
    )
    _add_imported(parser)


def _add_imported(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o", dest="out", required=True, metavar="SCENARIO.toml", help="scenario file to write"
    )
    parser.add_argument(
        "--ignore",
        dest="ignored",
        action="append",
        default=[],
        metavar="KEY",
        help="ignore this key or word of the imported file, because a scenario cannot express it; may be "
        "repeated",
    )
    parser.add_argument(
        "--ignore-unmodelled",
        dest="unmodelled",
        action="store_true",
        help="leave out settings that a scenario cannot express, and list them",
    )
    add_force(parser)


def _export(parser: argparse.ArgumentParser) -> None:
    kinds = add_kinds(parser, "FORMAT")
    add(
        kinds,
        "hpcc",
        "shallows.cli.export_hpcc",
        "write HPCC's fct.txt, pfc.txt, flow.txt or topology.txt",
        _export_hpcc,
    )
    add(
        kinds,
        "switch",
        "shallows.cli.export_switch",
        "write a switch's queues and buffers in another vendor's format",
        _export_switch,
    )


def _export_hpcc(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="SOURCE", help="folder of a run, or a scenario file")
    parser.add_argument(
        "-o", dest="out", metavar="fct.txt", help="write the completion times of a run to this file"
    )
    parser.add_argument(
        "--pfc", metavar="pfc.txt", help="write the pauses of a run with lossless classes to this file"
    )
    parser.add_argument(
        "--flow",
        metavar="flow.txt",
        help="write the flows of a run, or of a scenario that lists its flows, to this file",
    )
    parser.add_argument(
        "--topology", metavar="topology.txt", help="write the network of a scenario to this file"
    )
    add_force(parser)


def _export_switch(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "sources",
        nargs="+",
        metavar="CONFIG",
        help="configuration files of one switch, or the folder that contains them",
    )
    parser.add_argument(
        "--to",
        required=True,
        choices=["sonic", "eos", "avd", "nvue", "nxos", "junos", "tc"],
        help="target format; the command lists all settings that this format cannot express",
    )
    parser.add_argument("--out", metavar="FILE", help="file to write; default: standard output")
    add_hints(parser)
    add_force(parser)


COMMANDS = {
    "import": _import,
    "export": _export,
}
"""Functions that add the options of each command, by the command's name."""
