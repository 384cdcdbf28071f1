"""Options that several groups of commands have."""

import argparse

from shallows.cli.options.values import override, positive


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
        help="override a value of the scenario, such as tcp.congestion.kind=reno; may be repeated",
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add `--json`."""
    parser.add_argument(
        "--json",
        action="store_true",
        help="print a single JSON document and nothing else",
    )


def add_jobs(parser: argparse.ArgumentParser) -> None:
    """Add `--jobs`."""
    parser.add_argument(
        "--jobs",
        type=positive,
        metavar="N",
        help="maximum number of simultaneous runs; default: one per core",
    )


def add_verify(
    parser: argparse.ArgumentParser,
    text: str = "check the files of finished runs by hash, not only by size",
) -> None:
    """Add `--verify` with this help text."""
    parser.add_argument("--verify", action="store_true", help=text)


def add_by(parser: argparse.ArgumentParser) -> None:
    """Add `--by`, which selects the breakdowns of a run's results."""
    parser.add_argument(
        "--by",
        action="append",
        default=[],
        choices=["workload", "class", "group", "to_group", "port", "queue", "uplinks"],
        help="print a table of the results with this grouping; may be repeated; "
        "default: a table by workload if the run has several workloads; the same for classes and host groups",
    )


def add_force(parser: argparse.ArgumentParser) -> None:
    """Add `--force` for files."""
    parser.add_argument("--force", action="store_true", help="replace existing files")


def add_hints(parser: argparse.ArgumentParser) -> None:
    """Add options for values that a switch's file may leave out: `--fabric`, `--chip` and `--rate`."""
    parser.add_argument(
        "--fabric",
        metavar="FABRIC.toml",
        help="file that describes the fabric; it supplies the chip, links and shared buffer if the "
        "configuration of the switch lacks them",
    )
    parser.add_argument(
        "--chip",
        metavar="NAME",
        help="chip of the switch (`shallows chips` lists all chips); "
        "default: the chip that the configuration or the fabric names",
    )
    parser.add_argument(
        "--rate",
        metavar="RATE",
        help="port rate, such as 100Gbps, for ports whose rate is missing from the configuration",
    )
