"""Options of the commands that show, compare and judge results."""

import argparse

from shallows.cli.options.shared import add_by, add_json, add_verify
from shallows.cli.options.values import names, natural, override, port, positive
from shallows.figure_names import FIGURES


def _report(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folders", nargs="+", metavar="DIR", help="of a run, a sweep, or a paper that was reproduced"
    )
    add_by(parser)
    add_verify(parser)
    add_json(parser)


def _plot(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    lines = [f"  {name:14}{text}" for name, text in FIGURES.items()]
    parser.epilog = "\n".join(
        [f"{parser.epilog}\n", "figures:", *lines, "", "docs/figures.md shows each of them."]
    )
    parser.add_argument("figure", choices=[*FIGURES], metavar="FIGURE", help="what to draw, see below")
    parser.add_argument("folders", nargs="+", metavar="DIR", help="a run's folder, or one that holds runs")
    parser.add_argument("--out", default=".", metavar="DIR", help="folder of the figure; default: here")
    parser.add_argument(
        "--format",
        dest="formats",
        action="append",
        choices=["pdf", "svg", "png"],
        help="may be repeated; default: pdf and png",
    )
    parser.add_argument(
        "--where",
        action="append",
        default=[],
        type=override,
        metavar="AXIS=VALUE",
        help="of a sweep, only these runs, such as load=0.8 or scheme=DCTCP; may be repeated",
    )
    parser.add_argument(
        "--port",
        dest="ports",
        action="append",
        metavar="NAME",
        help="a port or pool, a pattern such as 'switch0->*', or a kind such as to-host; may be repeated",
    )
    parser.add_argument(
        "--tail",
        action="store_true",
        help="of a distribution, the share above each value on a logarithmic axis",
    )
    parser.add_argument(
        "--flow",
        dest="flows",
        action="append",
        type=natural,
        metavar="N",
        help="a flow by its number; may be repeated",
    )


def _serve(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", help="of a sweep, of several, or of a run")
    parser.add_argument(
        "--port", type=port, default=8000, metavar="N", help="on 127.0.0.1; 0 for a free one; default: 8000"
    )


def _compare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folders", nargs="+", metavar="DIR", help="a folder of runs for each scheme, or that of one sweep"
    )
    parser.add_argument(
        "--baseline", metavar="NAME", help="the scheme or value to compare with; default: the first"
    )
    parser.add_argument(
        "--by",
        action="append",
        metavar="AXIS",
        help="compare the values of this axis of a sweep, such as switch.markers.0.k or k, not schemes; "
        "may be repeated for combinations",
    )
    parser.add_argument(
        "--metrics",
        type=names,
        metavar="NAME,…",
        help="put all in order by the first, and find those that no other beats in all of them, such as "
        "fct_us.small.p99,fct_us.large.mean; default: of more than six, what is looked at first",
    )
    parser.add_argument(
        "--confidence", type=float, default=0.95, metavar="P", help="of the intervals; default: 0.95"
    )
    parser.add_argument(
        "--cool-down",
        type=float,
        default=0.05,
        metavar="SHARE",
        help="of the time in which flows arrive: those at its end are left out; default: 0.05",
    )
    parser.add_argument("--all", action="store_true", help="every metric, not only the main ones")
    parser.add_argument("--out", metavar="DIR", help="folder for compare.json and the figure; default: none")
    add_verify(parser)
    add_json(parser)


def _reproduce(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paper", metavar="PAPER", help="its name in `shallows examples`, such as bcc")
    parser.add_argument("figure", nargs="?", metavar="FIGURE", help="one figure or table; default: all")
    parser.add_argument("--quick", action="store_true", help="a reduced run, which checks the orderings")
    parser.add_argument(
        "--jobs", type=positive, metavar="N", help="runs at the same time; default: one per core"
    )
    parser.add_argument(
        "--out", metavar="DIR", help="folder of runs, figures and claims; default: runs/PAPER"
    )
    parser.add_argument("--experiments", metavar="DIR", help="folder of the papers; default: the package's")
    add_json(parser)


COMMANDS = {
    "report": _report,
    "plot": _plot,
    "serve": _serve,
    "compare": _compare,
    "reproduce": _reproduce,
}
"""Functions that add the options of each command, by its name."""
