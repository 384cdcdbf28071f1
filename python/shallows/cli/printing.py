"""Output that several commands share."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shallows.cli.console import print_notes, print_problems, print_table, print_warnings
from shallows.runs import breakdown_tables, tables
from shallows.runs.bins import edges_of
from shallows.runs.results import Run

if TYPE_CHECKING:
    from rich.console import Console


def print_results(
    finished: Run, screen: "Console", before: set[str] | None = None, by: Sequence[str] = ()
) -> None:
    """Print tables, problems, warnings and cost of a finished run, without the warnings in `before`."""
    summary = finished.summary
    print_table(tables.completion(summary, edges_of(finished.scenario)), screen)
    for told in breakdown_tables.breakdowns(finished, by):
        print_table(told, screen)
    print_table(tables.network(summary), screen)
    if places := tables.ports(summary):
        print_table(places, screen)
    for table in (
        tables.queries(summary),
        tables.markers(summary),
        tables.pauses(summary),
        tables.queue_pairs(summary),
        tables.congestion_controls(summary),
        tables.pings(summary),
        tables.health(summary),
    ):
        if table:
            print_table(table, screen)
    screen.print()
    print_problems(finished.problems, screen)
    print_warnings([warning for warning in summary["warnings"] if warning not in (before or set())], screen)
    print_notes(summary.get("observations", []), screen)
    screen.print(tables.engine(summary), style="dim")
