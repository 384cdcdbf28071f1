"""Options of the commands about switches, and of advice."""

import argparse

from shallows.cli.options.shared import add_hints, add_jobs, add_json
from shallows.cli.options.values import budget


def _explain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="+",
        metavar="CONFIG",
        help="configuration files of one switch, or the folder that contains them; "
        "docs/advisor.md lists the formats",
    )
    add_hints(parser)
    parser.add_argument("--rtt", metavar="TIME", help="round-trip time with empty queues, such as 30us")
    parser.add_argument("--html", metavar="FILE", help="also write the explanation to this HTML page")
    add_json(parser)


def _advise(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "fabric", metavar="FABRIC.toml", help="file that describes the fabric; docs/advisor.md lists its keys"
    )
    parser.add_argument(
        "--rules-only",
        action="store_true",
        help="print only the recommendations that follow from rules, without simulation",
    )
    parser.add_argument(
        "--budget",
        type=budget,
        default=600.0,
        metavar="TIME",
        help="wall-clock time for simulations, such as 90s, 20min or 2h; can be exceeded, because a round "
        "that has begun is completed; default: 10min",
    )
    add_jobs(parser)
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="current configuration of a switch, in a format that `shallows explain` reads",
    )
    parser.add_argument(
        "--to",
        metavar="FORMAT",
        help="also write the recommended changes as a configuration in this format: sonic, eos, avd, nvue, "
        "nxos, junos or tc",
    )
    parser.add_argument(
        "--out", metavar="DIR", help="folder for the runs and the HTML page; default: runs/advice-NAME"
    )
    add_json(parser)


def _chips(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name",
        nargs="?",
        metavar="NAME",
        help="chip to show, with the source of each number; default: list all chips",
    )
    add_json(parser)


COMMANDS = {
    "explain": _explain,
    "advise": _advise,
    "chips": _chips,
}
"""Functions that add the options of each command, by the command's name."""
