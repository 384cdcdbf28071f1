"""`shallows reproduce`: the experiments of a paper, and which of its claims they bear out."""

import argparse
import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from shallows import figures
from shallows.about import build
from shallows.cli.codes import FAILED, OK
from shallows.cli.console import console, print_table
from shallows.cli.sweeping import run_sweep
from shallows.errors import ShallowsError
from shallows.figures.beside import draw as draw_beside
from shallows.reports import check_same, write_reproduction
from shallows.reproduction import expected, judging
from shallows.reproduction.beside import beside
from shallows.reproduction.expected import Experiment, Paper
from shallows.reproduction.findings import (
    Finding,
    check_selections,
    counted,
    document_of,
    markdown,
    number,
    points_of,
)
from shallows.reproduction.judging import HOLDS, Measured
from shallows.runs.folder import check_writable, write_whole
from shallows.runs.measuring import unable
from shallows.runs.results import Run, place_on
from shallows.runs.tables import Table
from shallows.series.measures import compute, measure
from shallows.sweeps.points import Point
from shallows.sweeps.sweeps import choose_engine

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console


def run(options: argparse.Namespace) -> int:
    """`shallows reproduce`."""
    paper = expected.find(options.paper, Path(options.experiments) if options.experiments else None)
    chosen = paper.choose(options.figure)
    parent = Path(options.out or f"runs/{options.paper}{'-quick' if options.quick else ''}")
    check_writable(parent)
    check_same(parent, paper.title, quick=options.quick)
    planned = {each.name: points_of(each, parent, quick=options.quick) for each in chosen}
    for each in chosen:
        check_selections(paper, each, planned[each.name], quick=options.quick)
    screen = console(stderr=options.json)
    findings: list[Finding] = []
    drawings: dict[str, Any] = {}
    complete = True
    not_run: dict[str, str] = {}
    for each in chosen:
        if each.testbed and (why := unable()):
            print(f"not run: {each.name}: {why}", file=sys.stderr)
            not_run[each.name] = why
            continue
        points = planned[each.name]
        # Of those with real TCP each wants the whole machine.
        jobs = 1 if each.testbed else options.jobs
        runs = _run(parent / each.name, points, jobs, screen) if each.runs else []
        if runs is None:
            complete = False
            continue
        measured = [Measured(run.labels, cache(partial(measure, run))) for run in runs] or [
            Measured(point.source.labels, cache(partial(compute, point.source))) for point in points
        ]
        claims = paper.claims_of(each, quick=options.quick)
        findings += [Finding(c, judging.judge(c, each, measured, quick=options.quick)) for c in claims]
        drawn = _draw(each, runs, quick=options.quick)
        if found := beside(each, [c for c in paper.claims if c.experiment == each.name], measured):
            drawn[each.name] = draw_beside(found)
            drawings[each.name] = asdict(found)
        for name, figure in drawn.items():
            for path in figures.save(figure, parent / name):
                screen.print(str(path), soft_wrap=True)
    document = document_of(paper, findings, quick=options.quick)
    document |= {"command": _command(options), "figures": {each.name: [*each.figures] for each in chosen}}
    document |= {"drawings": drawings, "build": build(), "not_run": not_run}
    name = f"claims-{options.figure}" if options.figure else "claims"
    write_whole(parent / f"{name}.json", json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    screen.print(str(write_whole(parent / f"{name}.md", markdown(findings, paper))), soft_wrap=True)
    screen.print(f"report: {write_reproduction(parent)}", soft_wrap=True)
    if options.json:
        print(json.dumps(document, ensure_ascii=False))
    else:
        _show(paper, findings, screen)
    return (
        OK if complete and not not_run and all(finding.verdict == HOLDS for finding in findings) else FAILED
    )


def _run(folder: Path, points: list[Point], jobs: int | None, screen: "Console") -> list[Run] | None:
    """Run what is not finished; none if a point has failed."""
    outcomes = run_sweep(folder, points, choose_engine(jobs=jobs), screen)
    runs = [outcome.run for outcome in outcomes if outcome.run]
    return runs if len(runs) == len(outcomes) else None


def _draw(experiment: Experiment, runs: Sequence[Run], *, quick: bool) -> dict[str, "Figure"]:
    """Its figures of docs/figures.md by name of their file; of a reduced run, those of runs that it has."""
    found: dict[str, Figure] = {}
    for place, drawing in enumerate(experiment.draw, 1):
        kept = [run for run in runs if all(place_on(run.labels, a) == v for a, v in drawing.where.items())]
        if not kept:
            if quick:
                continue
            raise ShallowsError(
                f"no run of {experiment.name} is at {dict(drawing.where)}", "mend `draw` in its expected.toml"
            )
        name = f"{experiment.name}-{drawing.figure}"
        function = getattr(figures, drawing.figure.replace("-", "_"))
        found[f"{name}-{place}" if name in found else name] = function(kept, **drawing.options)
    return found


def _show(paper: Paper, findings: Sequence[Finding], screen: "Console") -> None:
    """A row for each claim, and causes of those that do not hold."""
    rows = []
    for finding in findings:
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
    columns = ["claim", "source", "verdict", "places", "such as at", "paper", "ours"]
    print_table(Table(f"Claims of {paper.title}", columns, rows, names=3), screen)
    screen.print()
    for finding in findings:
        if finding.verdict != HOLDS:
            cause = finding.claim.cause or "the cause is not known"
            screen.print(Text.assemble((f"{finding.claim.id}: ", "bold"), cause))
    screen.print(counted(findings))


def _command(options: argparse.Namespace) -> str:
    parts = ["shallows", "reproduce", options.paper, *([options.figure] if options.figure else [])]
    return shlex.join([*parts, *(["--quick"] if options.quick else [])])
