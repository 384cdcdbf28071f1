"""Options of the commands about switches, and of advice."""

import argparse

from shallows.cli.options.shared import add_hints, add_json
from shallows.cli.options.values import budget, positive


def _explain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="+",
        metavar="CONFIG",
        help="files of one switch, or a folder; docs/advisor.md lists formats",
    )
    add_hints(parser)
    parser.add_argument("--rtt", metavar="TIME", help="round-trip time without queues, such as 30us")
    parser.add_argument("--html", metavar="FILE", help="write a page as well")
    add_json(parser)


def _advise(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("fabric", metavar="FABRIC.toml", help="the fabric; docs/advisor.md has its keys")
    parser.add_argument(
        "--rules-only", action="store_true", help="stop after what rules say, and simulate nothing"
    )
    parser.add_argument(
        "--budget",
        type=budget,
        default=600.0,
        metavar="TIME",
        help="of the simulations, such as 90s, 20min or 2h; a round that has begun is ended; default: 10min",
    )
    parser.add_argument(
        "--jobs", type=positive, metavar="N", help="runs at the same time; default: one per core"
    )
    parser.add_argument(
        "--config", metavar="FILE", help="what a switch runs today, as `shallows explain` reads it"
    )
    parser.add_argument(
        "--to",
        metavar="FORMAT",
        help="write the change in this vendor's words too: sonic, eos, avd, nvue, nxos, junos or tc",
    )
    parser.add_argument("--out", metavar="DIR", help="folder of runs and page; default: runs/advice-NAME")
    add_json(parser)


def _chips(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="one of them, with the source of each number")
    add_json(parser)


COMMANDS = {
    "explain": _explain,
    "advise": _advise,
    "chips": _chips,
}
"""Functions that add the options of each command, by its name."""
