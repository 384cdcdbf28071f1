"""Options of the commands that run experiments."""

import argparse

from shallows.cli.lazy import add, add_kinds
from shallows.cli.options.shared import add_by, add_jobs, add_json, add_scenario, add_verify
from shallows.cli.options.values import dilation, port, positive, seed


def _run(parser: argparse.ArgumentParser) -> None:
    add_scenario(parser)
    parser.add_argument(
        "--seed", type=seed, metavar="N", help="seed of all random streams; default: the seed in the scenario"
    )
    parser.add_argument(
        "--scheme",
        metavar="NAME",
        help="apply the keys of this scheme from the [sweep] table; --set overrides them",
    )
    parser.add_argument("--out", metavar="DIR", help="folder for the results; default: runs/NAME-HASH-sSEED")
    parser.add_argument(
        "--force",
        action="store_true",
        help="replace an existing folder that is empty or holds a run; without this option, an existing "
        "folder is an error, unless it holds a damaged copy of this run",
    )
    parser.add_argument(
        "--threads",
        default="auto",
        metavar="N",
        help="number of threads; auto uses up to one per core, as many as are free and make the run faster; "
        "results do not depend on it; default: auto",
    )
    add_by(parser)
    add_verify(parser, "if the folder already holds this run, check its files by hash, not only by size")
    add_json(parser)


def _sweep(parser: argparse.ArgumentParser) -> None:
    _add_points(parser)
    parser.add_argument(
        "--engine",
        choices=["local", "ray"],
        default="local",
        help="run on this machine (local) or on a Ray cluster (ray); default: local",
    )
    parser.add_argument(
        "--address",
        metavar="HOST:PORT",
        help="address of the Ray cluster; default: the variable RAY_ADDRESS; if it is not set, Ray starts "
        "on this machine",
    )
    add_verify(parser)
    add_json(parser)


def _plan(parser: argparse.ArgumentParser) -> None:
    _add_points(parser)
    add_json(parser)


def _merge(parser: argparse.ArgumentParser) -> None:
    add_scenario(parser)
    parser.add_argument("folders", nargs="+", metavar="DIR", help="folder of one shard")
    parser.add_argument("--out", metavar="DIR", help="folder for the runs of all shards; default: runs/NAME")
    add_verify(parser)


def _add_points(parser: argparse.ArgumentParser) -> None:
    add_scenario(parser)
    add_jobs(parser)
    parser.add_argument(
        "--out", metavar="DIR", help="folder of the sweep, with a folder for each run; default: runs/NAME"
    )
    parser.add_argument(
        "--shard", metavar="I/N", help="select every N-th run, beginning with the I-th; default: all runs"
    )


def _testbed(parser: argparse.ArgumentParser) -> None:
    kinds = add_kinds(parser, "ACTION")
    add(
        kinds,
        "run",
        "shallows.cli.testbed_run",
        "run a scenario between network namespaces on this machine",
        _testbed_run,
    )
    text = "run a scenario several times in simulation and with real TCP, and compare the results"
    add(kinds, "compare", "shallows.cli.testbed_compare", text, _testbed_compare)
    text = "set up the network of a scenario, and run your programs on its hosts"
    add(kinds, "shell", "shallows.cli.testbed_shell", text, _testbed_shell)
    add(
        kinds,
        "doctor",
        "shallows.cli.testbed_doctor",
        "check the requirements of the testbed, and measure the rates that this machine can carry",
        add_json,
    )


def _testbed_run(parser: argparse.ArgumentParser) -> None:
    add_scenario(parser)
    parser.add_argument(
        "--seed", type=seed, metavar="N", help="seed of all random streams; default: the seed in the scenario"
    )
    parser.add_argument(
        "--out", metavar="DIR", help="folder for the results; default: runs/NAME-testbed-HASH-sSEED"
    )
    parser.add_argument(
        "--force", action="store_true", help="replace an existing folder that is empty or holds a run"
    )
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
        help="run the simulation and real TCP N times, with consecutive seeds; default: 3",
    )
    parser.add_argument(
        "--seed", type=seed, metavar="N", help="first seed; default: the seed in the scenario"
    )
    parser.add_argument(
        "--out",
        metavar="DIR",
        help="folder for the runs, table and figure; default: runs/NAME-testbed-compare",
    )
    parser.add_argument("--force", action="store_true", help="repeat runs that already exist")
    parser.add_argument(
        "--invalid", action="store_true", help="compare invalid runs too, and print a note about each"
    )
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
        help="show queues, marks and drops in the browser, at 127.0.0.1:PORT; 0 selects a free port; "
        "default: 8000",
    )
    parser.add_argument(
        "--out",
        default=".",
        metavar="DIR",
        help="folder for the packets that --pcap captures; default: the current folder",
    )
    parser.add_argument(
        "program",
        nargs="*",
        metavar="COMMAND",
        help="command to run, after `--`, such as h0 ping 10.0.0.2; default: a shell",
    )


def _add_dilate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dilate",
        type=dilation,
        default=1,
        metavar="N",
        help="slow down network time by a factor of N, so that this machine can carry rates N times as high; "
        "default: 1",
    )


def _add_pcap(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--pcap",
        action="append",
        metavar="PORT",
        help="capture the packets of this port in capture.pcapng; replaces measure.captures. "
        "PORT is a name such as 'switch0->*', or a kind such as to-host; may be repeated",
    )


COMMANDS = {
    "run": _run,
    "sweep": _sweep,
    "plan": _plan,
    "merge": _merge,
    "testbed": _testbed,
}
"""Functions that add the options of each command, by the command's name."""
