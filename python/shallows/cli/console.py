"""Terminal output: tables, paragraphs and live progress.

Results go to standard output, everything else to standard error.
"""

import sys
import time
from collections.abc import Iterable
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from rich.console import Console, ConsoleOptions, JustifyMethod, RenderableType
from rich.live import Live
from rich.segment import Segment
from rich.table import Table as RichTable
from rich.text import Text

from shallows.bounded import printable
from shallows.cli import fitting
from shallows.cli.streams import below, escaped
from shallows.quantity import count, digits, duration
from shallows.runs.table import Table

PLAIN_WIDTH = 120
"""Width in columns if the output is not a terminal."""

LINE_EVERY_S = 5.0
"""Time in s between two lines of progress if the output is not a terminal."""


def console(*, stderr: bool = False) -> Console:
    """Return a console as wide as the terminal; without a terminal, `PLAIN_WIDTH` columns wide."""
    stream = below(sys.stderr if stderr else sys.stdout)
    return _Console(
        file=stream,
        stderr=stderr,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=False,
        width=None if stream.isatty() else PLAIN_WIDTH,
    )


class _Console(Console):
    """A console that escapes control characters in text, but not its own colours and cursor movements."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the rendered segments with their text escaped."""
        for piece in super().render(renderable, options):
            yield piece if piece.control else piece._replace(text=escaped(piece.text))


def print_table(table: Table, to: Console) -> None:
    """Print a table within the width of the console: wrapped, in blocks of columns, or stacked."""
    table = replace(
        table,
        columns=[*map(printable, table.columns)],
        rows=[[*map(printable, row)] for row in table.rows],
    )
    to.print(Text(f"\n{table.title}", style="bold"))
    fitted = fitting.blocks(table, to.width)
    for number, block in enumerate(fitted):
        if number:
            to.print()
        to.print(_drawn(table, block))
    if not fitted:
        _print_stacked(table, to)
    if table.note:
        to.print(Text(table.note), style="dim")


def _drawn(table: Table, block: fitting.Block) -> RichTable:
    drawn = RichTable(box=None, pad_edge=False, header_style="dim")
    for index, width in zip(block.columns, block.widths, strict=True):
        side: JustifyMethod = "left" if index < table.names else "right"
        drawn.add_column(Text(table.columns[index]), justify=side, width=width, overflow="fold")
    for row in table.rows:
        drawn.add_row(*(Text(row[index]) for index in block.columns))
    return drawn


def _print_stacked(table: Table, to: Console) -> None:
    """Print each row as lines of heading and cell, with an empty line between rows."""
    for number, row in enumerate(table.rows):
        if number:
            to.print()
        for heading, cell in zip(table.columns, row, strict=True):
            if cell:
                to.print(Text.assemble((f"{heading}: " if heading else "", "dim"), cell))


def print_warnings(warnings: list[str], to: Console) -> None:
    """Print warnings about the results."""
    for warning in warnings:
        to.print(Text.assemble(("warning: ", "bold yellow"), warning))


def print_problems(problems: list[dict[str, str]], to: Console) -> None:
    """Print the problems of a run: requested measurements that are missing."""
    for problem in problems:
        to.print(Text.assemble(("problem: ", "bold red"), problem["text"]))


def print_notes(notes: Iterable[str], to: Console) -> None:
    """Print notes, which need no action."""
    for note in notes:
        to.print(Text.assemble(("note: ", "bold"), printable(note)))


class Status:
    """Live progress: renewed in place on a terminal, otherwise one line every `LINE_EVERY_S`."""

    def __init__(self) -> None:
        self.console = console(stderr=True)
        self.live = (
            Live(console=self.console, transient=True, auto_refresh=False) if sys.stderr.isatty() else None
        )
        self.last = time.monotonic()

    def __enter__(self) -> Self:
        if self.live:
            self.live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.live:
            self.live.stop()

    def show(self, live: str, line: str) -> None:
        """Show progress: the text `live`, of one or more lines, on a terminal; the text `line` elsewhere."""
        if self.live:
            self.live.update(Text(live, overflow="fold"), refresh=True)
        elif time.monotonic() - self.last >= LINE_EVERY_S:
            self.last = time.monotonic()
            print(line, file=sys.stderr, flush=True)


class RunStatus(Status):
    """Progress of one run."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.start = time.monotonic()

    def update(self, progress: dict[str, Any]) -> None:
        """Show the progress of the run."""
        line = f"{self.name}: {describe_progress(progress, time.monotonic() - self.start)}"
        self.show(f"{bar(progress['fraction'])} {line}", line)


def describe_progress(progress: dict[str, Any], elapsed: float) -> str:
    """Return progress in words: simulated time, flows, speed and remaining time."""
    fraction = progress["fraction"]
    parts = [
        f"{fraction * 100:3.0f} %",
        f"{digits(progress['simulated_s'] * 1e3)} ms simulated",
        f"{progress['flows_completed']:,} flows",
        f"{count(progress['packet_hops'] / max(elapsed, 1e-9))} packet-hops/s",
    ]
    if 0 < fraction < 1:
        parts.append(f"{duration(elapsed * (1 - fraction) / fraction)} left")
    return ", ".join(parts)


def bar(fraction: float, width: int = 24) -> str:
    """Return a progress bar that is full at a fraction of 1.

    >>> bar(0.5, 8)
    '━━━━────'
    """
    full = round(min(max(fraction, 0.0), 1.0) * width)
    return "━" * full + "─" * (width - full)
