"""Command `shallows chips`."""

import argparse
import json
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from rich.text import Text

from shallows.advisor.chips import Chip, Ports, Sourced, chip, chips, sources
from shallows.cli.codes import OK
from shallows.cli.console import console, print_table
from shallows.quantity import rate, size
from shallows.runs.table import Table

if TYPE_CHECKING:
    from rich.console import Console


def run(options: argparse.Namespace) -> int:
    """Run `shallows chips` and return its exit code."""
    found = [chip(options.name)] if options.name is not None else chips()
    if options.json:
        documents = [each.document() for each in found]
        print(json.dumps(documents[0] if options.name is not None else documents, ensure_ascii=False))
        return OK
    screen = console()
    if options.name is None:
        print_table(_all(found), screen)
    else:
        _print(found[0], screen)
    return OK


def _print(of: Chip, screen: "Console") -> None:
    """Print the numbers of a chip, each with its certainty, and its source on the next line."""
    screen.print(Text(of.title, style="bold"))
    screen.print(Text(f"names: {', '.join((of.name, *of.aliases))}"))
    lines: list[tuple[str, str, str, str]] = [
        ("ports", _ports([each]), each.certainty, each.source) for each in of.ports
    ]
    lines += [(name, _text(fact.value), fact.certainty, fact.source) for name, fact in _facts(of)]
    for name, text, certainty, source in lines:
        screen.print(Text.assemble(f"{name:26}{text}"), soft_wrap=True)
        screen.print(Text(f"{'':26}{certainty}; {source}", style="dim"), soft_wrap=True)
    words = {source.split(":")[0] for *_, source in lines}
    for word, meaning in sources().items():
        if word in words:
            screen.print(Text(f"{word}: {meaning}", style="dim"), soft_wrap=True)


def _all(chips: Sequence[Chip]) -> Table:
    rows = [
        [
            each.name,
            each.title,
            _ports(each.ports),
            size(each.memory.value) if each.memory else "–",
            str(each.parts.value) if each.parts else "–",
            f"{each.cell.value} B" if each.cell else "–",
            each.memory.certainty if each.memory else "–",
        ]
        for each in chips
    ]
    return Table(
        "Chips",
        ["name", "chip", "ports", "usable", "parts", "cell", "memory is"],
        rows,
        names=3,
        note="exact: counted in the vendor's code; published; inferred from published numbers; recall: read "
        "nowhere. `shallows chips NAME` has the sources",
    )


def _facts(of: Chip) -> list[tuple[str, Sourced[Any]]]:
    """Return the known facts of a chip, each with its name."""
    facts: list[tuple[str, Sourced[Any] | None]] = [
        ("cell, B", of.cell),
        ("usable memory, B", of.memory),
        ("in so many parts", of.parts),
        ("data sheet says, B", of.nominal),
        ("header with each packet, B", of.header),
        ("longest queue, B", of.longest_queue),
        ("probabilities, %", _percents(of.probabilities)),
        ("α", of.alphas),
        ("switch.lossless.compares", of.compares),
        ("marks at", of.marks_at),
        ("thresholds in steps of", of.granularity),
    ]
    return [(name, fact) for name, fact in facts if fact is not None]


def _percents(fact: Sourced[tuple[Fraction, ...]] | None) -> Sourced[tuple[Fraction, ...]] | None:
    return fact and Sourced(tuple(100 * value for value in fact.value), fact.certainty, fact.source)


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else str(value)


def _ports(ports: Sequence[Ports]) -> str:
    return " + ".join(f"{each.count} × {rate(each.rate)}" for each in ports) or "–"
