"""Command `shallows testbed shell`: a testbed network for the user's own programs."""

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

from shallows.cli.console import console, print_notes, print_table
from shallows.reports.of_standing import Page
from shallows.reports.serve import ADDRESS, open_pages
from shallows.runs import tables
from shallows.runs.folder import check_writable
from shallows.runs.measuring import captures_of, stand
from shallows.runs.source import Source
from shallows.runs.standing import watching
from shallows.runs.table import Table


def run(options: argparse.Namespace) -> int:
    """Run `shallows testbed shell` and return the exit code of the user's command."""
    source = Source.read(options.scenario, (*options.overrides, *captures_of(options.pcap)))
    experiment = source.parse()
    captures = Path(options.out) if options.pcap else None
    if captures:
        check_writable(captures)
    # Standard output belongs to the user's programs.
    screen = console(stderr=True)
    with os.fdopen(os.memfd_create("queues"), "rb") as page, _served(experiment.name, page.fileno(), options):
        done = stand(source, options.program, page.fileno(), options.dilate, captures)
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


@contextmanager
def _served(name: str, page: int, options: argparse.Namespace) -> Iterator[None]:
    """Serve a page of the network while the context is open, if `--serve` is given."""
    if options.serve is None:
        yield
        return
    with watching(page) as watch, open_pages(Page(name, watch).at, options.serve) as server:
        address = f"http://{ADDRESS}:{server.server_port}/"
        console(stderr=True).print(f"the queues are at {address} while this stands", soft_wrap=True)
        thread = Thread(target=server.serve_forever, args=[0.1], daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


def _ports(ports: list[dict[str, int | str]]) -> Table:
    numbers = ("sent", "marked", "dropped", "most_bytes")
    rows = [[str(port["name"]), *(f"{port[name]:,}" for name in numbers)] for port in ports]
    return Table("Ports", ["port", "sent", "marked", "dropped", "longest queue B"], rows)
