"""Options of the commands that run experiments."""

import argparse

from shallows.cli.lazy import add, add_kinds
from shallows.cli.options.shared import add_by, add_json, add_scenario, add_verify
from shallows.cli.options.values import dilation, port, positive, seed


def _run(parser: argparse.ArgumentParser) -> None:
    add_scenario(parser)
    parser.add_argument(
        "--seed", type=seed, metavar="N", help="root of all random streams; default: the file's"
    )
    parser.add_argument(
        "--scheme", metavar="NAME", help="with the keys of this scheme of the [sweep] table; --set comes last"
    )
    parser.add_argument("--out", metavar="DIR", help="folder of the results; default: runs/NAME-HASH-sSEED")
    parser.add_argument("--force", action="store_true", help="replace the folder if it exists")
    parser.add_argument(
        "--threads",
        default="auto",
        metavar="N",
        help="threads of the run, or auto: the number that is fastest at the moment, at most one per core; "
        "results are the same on any number",
    )
    add_by(parser)
    add_verify(parser)
    add_json(parser)


def _sweep(parser: argparse.ArgumentParser) -> None:
    _add_points(parser)
    parser.add_argument("--engine", choices=["local", "ray"], default="local", help="where points run")
    parser.add_argument(
        "--address",
        metavar="HOST:PORT",
        help="of a Ray cluster; default: RAY_ADDRESS, or start Ray on this machine",
    )
    add_verify(parser)
    add_json(parser)


def _plan(parser: argparse.ArgumentParser) -> None:
    _add_points(parser)
    add_json(parser)


def _merge(parser: argparse.ArgumentParser) -> None:
    add_scenario(parser)
    parser.add_argument("folders", nargs="+", metavar="DIR", help="folder of a shard")
    parser.add_argument("--out", metavar="DIR", help="folder for all points' folders; default: runs/NAME")
    add_verify(parser)


def _add_points(parser: argparse.ArgumentParser) -> None:
    add_scenario(parser)
    parser.add_argument(
        "--jobs", type=positive, metavar="N", help="runs at the same time; default: one per core"
    )
    parser.add_argument("--out", metavar="DIR", help="folder for the points' folders; default: runs/NAME")
    parser.add_argument("--shard", metavar="I/N", help="only every N-th point, beginning with the I-th")


def _testbed(parser: argparse.ArgumentParser) -> None:
    kinds = add_kinds(parser, "ACTION")
    add(
        kinds,
        "run",
        "shallows.cli.testbed_run",
        "run a scenario between network namespaces of this machine",
        _testbed_run,
    )
    text = "run a scenario several times simulated and with real TCP, and say how far they are apart"
    add(kinds, "compare", "shallows.cli.testbed_compare", text, _testbed_compare)
    text = "let the network of a scenario stand while a command runs, whose programs run on its hosts"
    add(kinds, "shell", "shallows.cli.testbed_shell", text, _testbed_shell)
    add(
        kinds,
        "doctor",
        "shallows.cli.testbed_doctor",
        "show what this machine can carry, and what is missing",
        add_json,
    )


def _testbed_run(parser: argparse.ArgumentParser) -> None:
    add_scenario(parser)
    parser.add_argument(
        "--seed", type=seed, metavar="N", help="root of all random streams; default: the file's"
    )
    parser.add_argument(
        "--out", metavar="DIR", help="folder of the results; default: runs/NAME-testbed-HASH-sSEED"
    )
    parser.add_argument("--force", action="store_true", help="replace the folder if it exists")
    _add_dilate(parser)
    _add_pcap(parser)
    add_json(parser)


def _testbed_compare(parser: argparse.ArgumentParser) -> None:
    add_scenario(parser)
    parser.add_argument(
        "--repeats",
        type=positive,
        default=3,
        metavar="N",
        help="runs of each, seeds in a row; default: 3",
    )
    parser.add_argument("--seed", type=seed, metavar="N", help="the first seed; default: the file's")
    parser.add_argument(
        "--out", metavar="DIR", help="folder of runs, table and figure; default: runs/NAME-testbed-compare"
    )
    parser.add_argument("--force", action="store_true", help="repeat runs that are there already")
    parser.add_argument("--invalid", action="store_true", help="compare invalid runs too, with a note")
    _add_dilate(parser)
    add_json(parser)


def _testbed_shell(parser: argparse.ArgumentParser) -> None:
    add_scenario(parser)
    _add_dilate(parser)
    _add_pcap(parser)
    parser.add_argument(
        "--serve",
        nargs="?",
        const=8000,
        type=port,
        metavar="PORT",
        help="show queues, marks and drops in the browser, on 127.0.0.1; 0 for a free one; default: 8000",
    )
    parser.add_argument(
        "--out", default=".", metavar="DIR", help="folder of the packets of --pcap; default: here"
    )
    parser.add_argument(
        "program", nargs="*", metavar="COMMAND", help="after --: what to run, such as h0 ping 10.0.0.2"
    )


def _add_dilate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dilate",
        type=dilation,
        default=1,
        metavar="N",
        help="let each of its seconds take N of the machine's, to carry N times the rates; default: 1",
    )


def _add_pcap(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--pcap",
        action="append",
        metavar="PORT",
        help="write what this port sends to capture.pcapng, in place of measure.captures: its name, such as "
        "'switch0->*', or a kind such as to-host; may be repeated",
    )


COMMANDS = {
    "run": _run,
    "sweep": _sweep,
    "plan": _plan,
    "merge": _merge,
    "testbed": _testbed,
}
"""Functions that add the options of each command, by its name."""
