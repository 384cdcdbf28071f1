"""Options of the commands that show, compare and judge results."""

import argparse

from shallows.cli.options.shared import add_by, add_jobs, add_json, add_verify
from shallows.cli.options.values import names, natural, override, port
from shallows.figure_names import FIGURES


def _report(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folders", nargs="+", metavar="DIR", help="folder of a run, a sweep or a reproduced paper"
    )
    add_by(parser)
    add_verify(parser)
    add_json(parser)


def _plot(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    lines = [f"  {name:14}{text}" for name, text in FIGURES.items()]
    parser.epilog = "\n".join(
        [f"{parser.epilog}\n", "figures:", *lines, "", "docs/figures.md shows an example of each figure."]
    )
    parser.add_argument(
        "figure", choices=[*FIGURES], metavar="FIGURE", help="figure to draw, from the list below"
    )
    parser.add_argument(
        "folders", nargs="+", metavar="DIR", help="folder of a run, or a folder that contains runs"
    )
    parser.add_argument(
        "--out", default=".", metavar="DIR", help="folder for the figure; default: the current folder"
    )
    parser.add_argument(
        "--format",
        dest="formats",
        action="append",
        choices=["pdf", "svg", "png"],
        help="file format of the figure; may be repeated; default: pdf and png",
    )
    parser.add_argument(
        "--where",
        action="append",
        default=[],
        type=override,
        metavar="AXIS=VALUE",
        help="draw only those runs of a sweep that have this value, such as load=0.8 or scheme=DCTCP; "
        "may be repeated",
    )
    parser.add_argument(
        "--port",
        dest="ports",
        action="append",
        metavar="NAME",
        help="for queue, queue-cdf and heat-map: draw only these ports or pools. NAME is a name, a pattern "
        "such as 'switch0->*', or a kind such as to-host; may be repeated",
    )
    parser.add_argument(
        "--tail",
        action="store_true",
        help="for a distribution: draw the share that lies above each value, on a logarithmic axis",
    )
    parser.add_argument(
        "--flow",
        dest="flows",
        action="append",
        type=natural,
        metavar="N",
        help="for cwnd, rate and goodput: draw the flow with this number; may be repeated",
    )


def _serve(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", help="folder of a run, of a sweep or of several sweeps")
    parser.add_argument(
        "--port",
        type=port,
        default=8000,
        metavar="N",
        help="port on 127.0.0.1; 0 selects a free port; default: 8000",
    )


def _compare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folders",
        nargs="+",
        metavar="DIR",
        help="folder with the runs of one scheme, or the folder of a sweep with all schemes",
    )
    parser.add_argument(
        "--baseline",
        metavar="NAME",
        help="scheme or value that the others are compared with; default: the first",
    )
    parser.add_argument(
        "--by",
        action="append",
        metavar="AXIS",
        help="compare the values of this axis of a sweep instead of its schemes; AXIS is a key or "
        "its last word, such as switch.markers.0.k or k; repeat the option to compare combinations",
    )
    parser.add_argument(
        "--metrics",
        type=names,
        metavar="NAME,…",
        help="rank the schemes (or the values of AXIS) by the first of these metrics, and mark those that "
        "are Pareto-optimal in all of them; comma-separated, such as fct_us.small.p99,fct_us.large.mean; "
        "default: the two main metrics if there are more than six schemes or values, otherwise no ranking",
    )
    parser.add_argument(
        "--confidence",
        type=float,
        default=0.95,
        metavar="P",
        help="confidence level of the intervals; default: 0.95",
    )
    parser.add_argument(
        "--cool-down",
        type=float,
        default=0.05,
        metavar="SHARE",
        help="leave out flows that start in the last SHARE of the arrival period; default: 0.05",
    )
    parser.add_argument("--all", action="store_true", help="show every metric, not only the main ones")
    parser.add_argument(
        "--out", metavar="DIR", help="folder for compare.json and the figure; default: write no files"
    )
    add_verify(parser)
    add_json(parser)


def _reproduce(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paper", metavar="PAPER", help="name of the paper, such as bcc; `shallows examples` lists all papers"
    )
    parser.add_argument(
        "figure",
        nargs="?",
        metavar="FIGURE",
        help="figure or table to reproduce, such as 4 or table1; default: all",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="run smaller experiments; check only the ranking that the paper claims, not the values",
    )
    add_jobs(parser)
    parser.add_argument(
        "--out",
        metavar="DIR",
        help="folder for runs, figures and claims; default: runs/PAPER, or runs/PAPER-quick with --quick",
    )
    parser.add_argument(
        "--experiments",
        metavar="DIR",
        help="folder that contains a folder for each paper; default: the experiments in the package",
    )
    add_json(parser)


COMMANDS = {
    "report": _report,
    "plot": _plot,
    "serve": _serve,
    "compare": _compare,
    "reproduce": _reproduce,
}
"""Functions that add the options of each command, by the command's name."""
