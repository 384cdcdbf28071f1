"""What `run`, `report` and `plot` do, after the command line is understood."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from shallows import reports
from shallows.cli.codes import EMPTY, FAILED, OK
from shallows.cli.console import RunStatus, console, print_notes, print_problems, print_table, print_warnings
from shallows.errors import ShallowsError
from shallows.runs import tables
from shallows.runs.claims import writer_of
from shallows.runs.folder import check_writable, refuse_existing, write_whole
from shallows.runs.manifest import PAGE, holds, unfit
from shallows.runs.results import Run
from shallows.runs.running import Source, default_folder, execute
from shallows.sweeps.points import INDEX, inside_sweep, missing_in, readable_in, runs_in

if TYPE_CHECKING:
    from rich.console import Console

    from shallows._core import Experiment


def run(
    scenario: str,
    overrides: "tuple[tuple[str, str], ...]",
    seed: int | None,
    out: str | None,
    force: bool,
    verify: bool,
    as_json: bool,
) -> int:
    """`shallows run`."""
    source = Source.read(scenario, overrides, seed)
    experiment = source.load()
    folder = Path(out) if out is not None else default_folder(experiment, Path("runs"))
    screen = console(stderr=as_json)
    is_there = not force and holds(folder, experiment.hash, verify=verify)
    if is_there and not (folder / PAGE).is_file():
        screen.print(f"{folder} holds this run, but not its report", soft_wrap=True)
        finished = Run(folder)
    else:
        refuse_existing(folder, experiment.hash, force=force, verify=verify)
        check_writable(folder.parent)
        finished = _simulate(source, experiment, folder, screen, verify=verify)
    if as_json:
        print(json.dumps(finished.summary, ensure_ascii=False))
        print_problems(finished.problems, screen)
    else:
        print_results(finished, screen, before=set(experiment.warnings()))
        for path in finished.captures.values():
            screen.print(f"capture: {path}", soft_wrap=True)
    try:
        page = reports.write_run(finished)
    except ShallowsError as error:
        remedy = f"{error.remedy}, and give the same command again: the results are kept"
        raise type(error)(error.message, remedy) from None
    screen.print(f"report: {page}", soft_wrap=True)
    return EMPTY if finished.measured_nothing else OK


def _simulate(
    source: Source, experiment: "Experiment", folder: Path, screen: "Console", *, verify: bool
) -> Run:
    """Run it, and show how that goes."""
    if problem := unfit(folder, verify=verify):
        print(f"{problem.message}: it is run again", file=sys.stderr)
    if writer := writer_of(folder):
        print(f"{folder} may be in the making: waiting for a sign of {writer}", file=sys.stderr)
    screen.print(f"[bold]{experiment.name}[/bold]  seed {experiment.seed}  {experiment.hash[:12]}")
    print_table(tables.marking_curves(json.loads(experiment.marking_curves())), screen)
    for note in experiment.notes():
        screen.print(note, soft_wrap=True, highlight=False)
    print_warnings(experiment.warnings(), screen)
    with RunStatus(experiment.name) as status:
        return execute(source, experiment, folder, status.update)


def print_results(finished: Run, screen: "Console", before: set[str] | None = None) -> None:
    """The tables at the end of a run, its problems and warnings, and its cost."""
    summary = finished.summary
    print_table(tables.completion(summary), screen)
    print_table(tables.network(summary), screen)
    if places := tables.ports(summary):
        print_table(places, screen)
    for table in (tables.queries(summary), tables.markers(summary), tables.pings(summary)):
        if table:
            print_table(table, screen)
    screen.print()
    print_problems(finished.problems, screen)
    print_warnings([warning for warning in summary["warnings"] if warning not in (before or set())], screen)
    print_notes(summary.get("observations", []), screen)
    screen.print(tables.engine(summary), style="dim")


def report(folders: list[str], *, verify: bool) -> int:
    """`shallows report`."""
    screen = console()
    is_sound = True
    for folder in map(Path, folders):
        if reports.holds_claims(folder):
            runs, problems = None, _problems_inside(folder, verify=verify)
        else:
            runs, problems = readable_in(folder, verify=verify)
            if not runs:
                raise problems[0]
            _print_tables(runs, folder, screen)
        screen.print(f"report: {reports.write(folder, runs)}", soft_wrap=True)
        for point in missing_in(folder, runs):
            print(f"missing: {point}", file=sys.stderr)
        for problem in problems:
            print(problem, file=sys.stderr)
        is_sound = is_sound and not problems
    return OK if is_sound else FAILED


def _problems_inside(folder: Path, *, verify: bool) -> list[ShallowsError]:
    """Why runs cannot be read that are in sweeps inside a folder."""
    runs = [run for index in sorted(folder.glob(f"*/{INDEX}")) for run in inside_sweep(index.parent)]
    return [problem for run in runs if (problem := unfit(run, verify=verify))]


def _print_tables(runs: list[Run], folder: Path, screen: "Console") -> None:
    """Those of a run, or of a sweep."""
    first = runs[0]
    if first.path != folder:
        screen.print(
            f"[bold]{escape(first.summary['name'])}[/bold]  {len(runs)} runs  {escape(str(folder))}",
            soft_wrap=True,
        )
        print_table(tables.points(runs), screen)
        return
    name, seed = escape(first.summary["name"]), first.summary["seed"]
    screen.print(f"[bold]{name}[/bold]  seed {seed}  {escape(str(folder))}", soft_wrap=True)
    print_table(tables.marking_curves(first.summary["marking_curves"]), screen)
    print_results(first, screen)


def plot(
    name: str,
    folders: list[str],
    out: str,
    formats: list[str],
    where: list[tuple[str, str]],
    choices: dict[str, list[Any]],
) -> int:
    """`shallows plot`; `choices` are the ports or flows to draw, for figures that can choose."""
    from inspect import signature

    from shallows import figures
    from shallows.series.inputs import choose_runs

    draw = getattr(figures, name.replace("-", "_"))
    for option in choices:
        if option not in signature(draw).parameters:
            raise ShallowsError(f"{name} has no {option} to choose", "leave the option out")
    figure = draw(choose_runs(find_runs(folders), where), **choices)
    check_writable(Path(out))
    for path in figures.save(figure, Path(out) / name, formats):
        print(path)
    return OK


def compare(
    folders: list[str],
    baseline: str | None,
    confidence: float,
    cool_down: float,
    everything: bool,
    out: str | None,
    verify: bool,
    as_json: bool,
) -> int:
    """`shallows compare`."""
    from shallows.comparison import comparison, comparison_tables

    if out is not None:
        check_writable(Path(out))
    if verify:
        for run in find_runs(folders):
            run.verify()
    found = comparison.compare(*folders, baseline=baseline, confidence=confidence, cool_down=cool_down)
    document = json.dumps(found.document(), ensure_ascii=False, indent=None if as_json else 2)
    screen = console(stderr=as_json)
    if as_json:
        print(document)
    else:
        for table in comparison_tables.verdicts(found, everything=everything):
            print_table(table, screen)
        screen.print()
    print_notes(found.notes, screen)
    if out is not None:
        from shallows import figures
        from shallows.figures import forest

        paths = [write_whole(Path(out) / "compare.json", document + "\n")]
        try:
            paths += figures.save(forest.draw(found), Path(out) / "compare")
        except ShallowsError as error:
            screen.print(f"no figure: {error.message}", soft_wrap=True)
        for path in paths:
            screen.print(str(path), soft_wrap=True)
    return OK


def find_runs(folders: list[str]) -> list[Run]:
    """The runs in these folders: each is a run's own, or holds runs.

    Raises
    ------
    ShallowsError
        If one of them is neither.
    """
    return [run for folder in folders for run in runs_in(Path(folder))]
