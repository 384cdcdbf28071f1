"""`shallows testbed shell`: a network that stands, for programs of the user's."""

import argparse
from pathlib import Path

from shallows.cli.console import console, print_notes, print_table
from shallows.runs import tables
from shallows.runs.folder import check_writable
from shallows.runs.measuring import captures_of, stand
from shallows.runs.running import Source
from shallows.runs.tables import Table


def run(options: argparse.Namespace) -> int:
    """`shallows testbed shell`; returns the exit code of the command."""
    source = Source.read(options.scenario, (*options.overrides, *captures_of(options.pcap)))
    source.parse()
    captures = Path(options.out) if options.pcap else None
    if captures:
        check_writable(captures)
    # What the user's programs print is theirs.
    screen = console(stderr=True)
    done = stand(source, options.program, options.dilate, captures)
    print_table(_ports(done["ports"]), screen)
    if health := tables.health(done):
        print_table(health, screen)
    screen.print()
    print_notes(
        [*done["health"]["complaints"], *(f"Linux does otherwise: {text}" for text in done["differences"])],
        screen,
    )
    if captures:
        screen.print(f"capture: {captures / 'capture.pcapng'}", soft_wrap=True)
    code: int = done["code"]
    return code


def _ports(ports: list[dict[str, int | str]]) -> Table:
    numbers = ("sent", "marked", "dropped", "most_bytes")
    rows = [[str(port["name"]), *(f"{port[name]:,}" for name in numbers)] for port in ports]
    return Table("Ports", ["port", "sent", "marked", "dropped", "longest queue B"], rows)
