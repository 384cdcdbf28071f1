"""Reproduces a paper: runs its experiments, judges its claims, and writes figures and claims."""

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows import figures
from shallows.about import build
from shallows.bounded import folder_of
from shallows.errors import ShallowsError
from shallows.figures.versus import draw as draw_versus
from shallows.reproduction import expected, judging
from shallows.reproduction.expected import Experiment, Paper
from shallows.reproduction.findings import Finding, check_selections, document_of, markdown, points_of
from shallows.reproduction.judging import HOLDS, Measured
from shallows.reproduction.versus import versus
from shallows.reproduction.written import check_same
from shallows.runs.folder import check_writable, write_whole
from shallows.runs.measuring import unable
from shallows.runs.results import Run, place_on
from shallows.series.measures import compute, measure
from shallows.sweeps.points import Outcome, Point, enter
from shallows.sweeps.sweeps import Engine, choose_engine, run_points

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RunSweep = Callable[[Path, list[Point], Engine], list[Outcome]]
"""Function that runs the points of a sweep into its folder and returns the outcome of each."""


@dataclass
class Reproduction:
    """A reproduced paper: findings, and written files."""

    paper: Paper
    folder: Path
    findings: list[Finding] = field(default_factory=list)
    """Findings of the judged claims."""
    drawings: dict[str, Any] = field(default_factory=dict)
    """Measured and published values by experiment, for JSON."""
    written: list[Path] = field(default_factory=list)
    """Paths of figures, and of the table of claims."""
    failed: list[str] = field(default_factory=list)
    """Experiments with a failed point; their claims are not judged."""
    not_run: dict[str, str] = field(default_factory=dict)
    """Experiments that this machine cannot run, with the reason."""
    document: dict[str, Any] = field(default_factory=dict)
    """All findings as a JSON document."""

    @property
    def holds(self) -> bool:
        """Return whether everything ran and every claim holds."""
        is_complete = not self.failed and not self.not_run
        return is_complete and all(finding.verdict == HOLDS for finding in self.findings)


def run_silently(folder: Path, points: list[Point], engine: Engine) -> list[Outcome]:
    """Run the points of a sweep without output."""
    enter(folder, points, replaces=True)
    return run_points(points, engine, lambda *_: None)


def reproduce(
    paper: str,
    figure: str | None = None,
    *,
    quick: bool = False,
    out: str | Path | None = None,
    experiments: str | Path | None = None,
    jobs: int | None = None,
    run_sweep: RunSweep = run_silently,
) -> Reproduction:
    """Run a paper's experiments and judge its claims.

    Figures and claims are written into the folder, from which `shallows report` makes a page. Finished runs
    are not repeated.

    Parameters
    ----------
    paper
        The folder of the paper in `experiments`, such as `bcc`.
    figure
        One figure or table; default: all.
    quick
        Whether to run smaller experiments, which check only whether results rank as the paper claims.
    out
        Folder of runs, figures and claims; default: `runs/PAPER`, or `runs/PAPER-quick` for reduced runs.
    experiments
        Folder of the papers; default: the package's.
    jobs
        Number of simultaneous runs; default: one per core, or one with real TCP.
    run_sweep
        Function that runs the points of each experiment; default: on this machine, without output.

    Raises
    ------
    ShallowsError
        If the paper or figure does not exist, `jobs` is below 1, a claim selects runs that the experiment
        lacks, the folder has claims of another paper, or a file cannot be written.
    """
    found = expected.find(paper, Path(experiments) if experiments is not None else None)
    chosen = found.choose(figure)
    # Each experiment with real TCP needs the whole machine.
    engines = {each.name: choose_engine(jobs=1 if each.testbed else jobs) for each in chosen}
    folder = folder_of(out) if out is not None else Path(f"runs/{paper}{'-quick' if quick else ''}")
    check_writable(folder)
    check_same(folder, found.title, quick=quick)
    planned = {each.name: points_of(each, folder, quick=quick) for each in chosen}
    for each in chosen:
        check_selections(found, each, planned[each.name], quick=quick)
    made = Reproduction(found, folder)
    finished: dict[str, Sequence[Run]] = {}
    for each in chosen:
        if each.testbed and (why := unable()):
            made.not_run[each.name] = why
            continue
        points = planned[each.name]
        runs = _run(folder / each.name, points, engines[each.name], run_sweep) if each.runs else []
        if runs is None:
            made.failed.append(each.name)
        else:
            finished[each.name] = runs
            _judge(made, each, points, runs, quick=quick)
    for each in chosen:
        if each.name in finished:
            _draw(made, each, finished, quick=quick)
    made.document = document_of(found, made.findings, quick=quick) | {
        "command": _command(paper, figure, quick=quick),
        "figures": {each.name: [*each.figures] for each in chosen},
        "drawings": made.drawings,
        "build": build(),
        "not_run": made.not_run,
    }
    name = f"claims-{figure}" if figure else "claims"
    write_whole(folder / f"{name}.json", json.dumps(made.document, indent=2, ensure_ascii=False) + "\n")
    made.written.append(write_whole(folder / f"{name}.md", markdown(made.findings, found)))
    return made


def _run(folder: Path, points: list[Point], engine: Engine, run_sweep: RunSweep) -> list[Run] | None:
    """Run the unfinished points; return None if a point has failed."""
    outcomes = run_sweep(folder, points, engine)
    runs = [outcome.run for outcome in outcomes if outcome.run]
    return runs if len(runs) == len(outcomes) else None


def _judge(
    made: Reproduction, experiment: Experiment, points: Sequence[Point], runs: Sequence[Run], *, quick: bool
) -> None:
    """Add the findings of an experiment, and the figure that shows its values beside the paper's."""
    measured = [Measured(run.labels, cache(partial(measure, run))) for run in runs] or [
        Measured(point.source.labels, cache(partial(compute, point.source))) for point in points
    ]
    claims = made.paper.claims_of(experiment, quick=quick)
    made.findings += [Finding(c, judging.judge(c, experiment, measured, quick=quick)) for c in claims]
    theirs = [claim for claim in made.paper.claims if claim.experiment == experiment.name]
    if found := versus(experiment, theirs, measured):
        made.written += figures.save(draw_versus(found), made.folder / experiment.name)
        made.drawings[experiment.name] = asdict(found)


def _draw(
    made: Reproduction, experiment: Experiment, finished: Mapping[str, Sequence[Run]], *, quick: bool
) -> None:
    """Write the figures of docs/figures.md for an experiment; with `quick`, only from existing runs."""
    found: dict[str, Figure] = {}
    for place, drawing in enumerate(experiment.draw, 1):
        runs = [run for name in (experiment.name, *drawing.beside) for run in finished.get(name, ())]
        kept = [run for run in runs if all(place_on(run.labels, a) == v for a, v in drawing.where.items())]
        if not kept:
            if quick:
                continue
            raise ShallowsError(
                f"experiment {experiment.name}: draw.where = {dict(drawing.where)} selects no run",
                "correct `draw` in expected.toml",
            )
        name = f"{experiment.name}-{drawing.figure}"
        function = getattr(figures, drawing.figure.replace("-", "_"))
        found[f"{name}-{place}" if name in found else name] = function(kept, **drawing.options)
    for name, figure in found.items():
        made.written += figures.save(figure, made.folder / name)


def _command(paper: str, figure: str | None, *, quick: bool) -> str:
    parts = ["shallows", "reproduce", paper, *([figure] if figure else [])]
    return shlex.join([*parts, *(["--quick"] if quick else [])])
