"""Command `shallows reproduce`: experiments of a paper, and the verdicts on its claims."""

import argparse
import json
import sys
from typing import TYPE_CHECKING

from rich.text import Text

from shallows.cli.codes import FAILED, OK
from shallows.cli.console import console, print_table
from shallows.cli.sweeping import run_sweep
from shallows.reports import write_reproduction
from shallows.reproduction import judging
from shallows.reproduction.findings import counted, number
from shallows.reproduction.judging import HOLDS
from shallows.reproduction.reproducing import Reproduction, reproduce
from shallows.runs.table import Table

if TYPE_CHECKING:
    from rich.console import Console


def run(options: argparse.Namespace) -> int:
    """Run `shallows reproduce` and return its exit code."""
    screen = console(stderr=options.json)
    found = reproduce(
        options.paper,
        options.figure,
        quick=options.quick,
        out=options.out,
        experiments=options.experiments,
        jobs=options.jobs,
        run_sweep=lambda folder, points, engine: run_sweep(folder, points, engine, screen),
    )
    for name, why in found.not_run.items():
        print(f"not run: {name}: {why}", file=sys.stderr)
    for path in found.written:
        screen.print(str(path), soft_wrap=True)
    screen.print(f"report: {write_reproduction(found.folder)}", soft_wrap=True)
    if options.json:
        print(json.dumps(found.document, ensure_ascii=False))
    else:
        _show(found, screen)
    return OK if found.holds else FAILED


def _show(found: Reproduction, screen: "Console") -> None:
    """Print a row for each claim, and the cause of each claim that does not hold."""
    rows = []
    for finding in found.findings:
        bad = [check for check in finding.checks if check.verdict == finding.verdict]
        shown = bad[0]
        count = f"{sum(check.verdict == HOLDS for check in finding.checks)}/{len(finding.checks)}"
        ours = number(finding.claim, shown)
        rows.append(
            [
                finding.claim.id,
                finding.claim.source,
                finding.said,
                count,
                judging.name(shown.place),
                shown.paper,
                ours,
            ]
        )
    columns = ["claim", "source", "verdict", "places", "example at", "paper", "ours"]
    print_table(Table(f"Claims of {found.paper.title}", columns, rows, names=3), screen)
    screen.print()
    for finding in found.findings:
        if finding.verdict != HOLDS:
            cause = finding.claim.cause or "the cause is not known"
            screen.print(Text.assemble((f"{finding.claim.id}: ", "bold"), cause))
    screen.print(counted(found.findings))
