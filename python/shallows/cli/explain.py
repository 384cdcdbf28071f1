"""Command `shallows explain`."""

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.text import Text

from shallows.advisor.explain import Explanation
from shallows.advisor.explaining import explain
from shallows.advisor.finding import Finding
from shallows.bounded import printable
from shallows.cli.codes import OK
from shallows.cli.console import console, print_table
from shallows.runs.table import Table

if TYPE_CHECKING:
    from rich.console import Console

SHOWN = 8
"""Maximum number of printed items of each list (notes, unrecognised values, defaults, findings of a code)."""

ROWS = 40
"""Maximum number of rows of a table that are printed; `--json` has all."""

COLOURS = {"error": "bold red", "warning": "bold yellow", "note": "bold"}


def run(options: argparse.Namespace) -> int:
    """Run `shallows explain` and return its exit code."""
    found = explain(
        options.files,
        fabric=options.fabric,
        chip=options.chip,
        rate=options.rate,
        rtt=options.rtt,
        html=options.html,
    )
    if options.json:
        print(json.dumps(found.document(), ensure_ascii=False))
    else:
        _print(found, console())
    if options.html is not None:
        console(stderr=options.json).print(options.html, soft_wrap=True)
    return OK


def _print(found: Explanation, screen: "Console") -> None:
    switch, chip = found.resolved.switch, found.resolved.chip
    named = [
        printable(switch.name or ""),
        printable(switch.platform or ""),
        chip.title if chip else "chip not known: --chip names it",
    ]
    screen.print(Text(" · ".join([switch.format, *(part for part in named if part)]), style="dim"))
    screen.print(Text(printable(found.verdict)))
    for table in found.tables:
        print_table(_short(table), screen)
    shown = [each for each in found.findings if each.code != "default-nobody-set" or each.severity != "note"]
    if shown:
        screen.print(Text("\nFindings", style="bold"))
    _print_findings([each for each in shown if each.severity != "note"], screen)
    _print_findings([each for each in shown if each.severity == "note"], screen, SHOWN)
    _print_list(
        "Platform defaults",
        [f"{each.what}: {each.value}" for each in switch.defaults],
        screen,
    )
    _print_list("Not understood", [f"{each}  {each.text}" for each in switch.unread], screen)
    values = switch.understood + len(switch.unread)
    screen.print(
        Text(
            f"\n{switch.understood:,} of {values:,} lines or values about queues were understood", style="dim"
        )
    )


def _short(table: Table) -> Table:
    """Return a table with at most `ROWS` rows."""
    more = len(table.rows) - ROWS
    note = f"and {more:,} more rows: --json has all" if more > 0 else ""
    return replace(table, rows=table.rows[:ROWS], note=" ".join(part for part in (note, table.note) if part))


def _print_findings(findings: Sequence[Finding], screen: "Console", most: int | None = None) -> None:
    """Print at most `SHOWN` findings of each code; print equal reasons of consecutive findings once."""
    counted: Counter[str] = Counter()
    kept: list[Finding] = []
    for finding in findings[:most]:
        counted[finding.code] += 1
        if counted[finding.code] <= SHOWN:
            kept.append(finding)
    for number, each in enumerate(kept):
        screen.print(
            Text.assemble(
                (each.severity, COLOURS[each.severity]), " ", (each.code, "dim"), f" {printable(each.what)}"
            ),
            soft_wrap=True,
        )
        after = kept[number + 1] if number + 1 < len(kept) else None
        if each.severity == "note" or (after and (each.code, each.why) == (after.code, after.why)):
            continue
        screen.print(Text(f"  {each.why}. To do: {each.fix}."), soft_wrap=True)
        at = " · ".join(part for part in (each.citation, printable(str(each.source))) if part)
        screen.print(Text(f"  {at}", style="dim"), soft_wrap=True)
    for code, count in counted.items():
        if count > SHOWN:
            screen.print(Text(f"and {count - SHOWN:,} more {code}: --json has all", style="dim"))
    if most is not None and len(findings) > most:
        screen.print(Text(f"and {len(findings) - most:,} more: --json has all", style="dim"))


def _print_list(title: str, lines: Sequence[str], screen: "Console") -> None:
    if not lines:
        return
    screen.print(Text(f"\n{title}", style="bold"))
    for line in lines[:SHOWN]:
        screen.print(Text(printable(line)), soft_wrap=True)
    if len(lines) > SHOWN:
        screen.print(Text(f"and {len(lines) - SHOWN:,} more: --json has all", style="dim"))
