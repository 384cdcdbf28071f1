"""Options that several groups of commands have."""

import argparse

from shallows.cli.options.values import override


def add_scenario(parser: argparse.ArgumentParser) -> None:
    """Add the scenario argument and `--set`."""
    parser.add_argument("scenario", metavar="SCENARIO.toml", help="the scenario file")
    parser.add_argument(
        "--set",
        dest="overrides",
        action="append",
        default=[],
        type=override,
        metavar="KEY=VALUE",
        help="a value that differs from the file's, such as tcp.congestion.kind=reno; may be repeated",
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add `--json`."""
    parser.add_argument(
        "--json",
        action="store_true",
        help="print one JSON document to standard output, and nothing else there",
    )


def add_verify(parser: argparse.ArgumentParser) -> None:
    """Add `--verify`."""
    parser.add_argument(
        "--verify",
        action="store_true",
        help="read the files of finished runs, and compare their hashes; sizes are always checked",
    )


def add_by(parser: argparse.ArgumentParser) -> None:
    """Add `--by`, the breakdowns of one run."""
    parser.add_argument(
        "--by",
        action="append",
        default=[],
        choices=["workload", "class", "group", "to_group", "port", "queue", "uplinks"],
        help="a table of the results by that; may be repeated; "
        "default: by workload, class and group of hosts where there are several",
    )


def add_force(parser: argparse.ArgumentParser) -> None:
    """Add `--force` for files."""
    parser.add_argument("--force", action="store_true", help="replace files that exist")


def add_hints(parser: argparse.ArgumentParser) -> None:
    """Add options for values that a switch's file may leave out: `--fabric`, `--chip` and `--rate`."""
    parser.add_argument(
        "--fabric",
        metavar="FABRIC.toml",
        help="chip, links and the memory that queues share, which no switch's file has",
    )
    parser.add_argument(
        "--chip", metavar="NAME", help="of the switch; default: as the file or the fabric says"
    )
    parser.add_argument(
        "--rate", metavar="RATE", help="of ports whose rate the file does not say, such as 100Gbps"
    )
