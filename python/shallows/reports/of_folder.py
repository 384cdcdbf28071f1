"""Pages of a served folder: a list of its contents, its runs, and live pages of its sweeps."""

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Lock

from shallows.errors import ShallowsError
from shallows.quantity import count, duration
from shallows.reports import of_reproduction, of_run, of_sweep
from shallows.reports.chart import Chart
from shallows.reports.found import holds_claims
from shallows.reports.html import Block, Section
from shallows.reports.page import Live, chart, render, table
from shallows.reports.sweep_charts import draw
from shallows.runs import points_table
from shallows.runs.index import INDEX, finished_in, missing_in, points_of
from shallows.runs.manifest import finished_hash
from shallows.runs.results import Run, describe
from shallows.runs.table import Table
from shallows.sweeps import progress
from shallows.sweeps.progress import Progress

PATIENCE = 4
"""Minimum age at which charts are drawn again, as a multiple of the time that drawing them took."""

LIVE = Live(every_ms=2000, gone="The server has ended. `shallows serve` starts it again.")


class LeadsOutError(ShallowsError):
    """Error for a link or path that leads out of the served folder."""


class Site:
    """Pages of a folder and of the folders inside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self.lock = Lock()
        self.drawn: dict[Path, _Drawn] = {}

    def page(self, path: str) -> str | None:
        """Return the page at a path, such as `/fig2/`; None if there is none."""
        folder = self._at(path)
        if folder is None:
            return None
        if finished_hash(folder):
            return of_run.page(Run(self._checked(folder)))
        if holds_claims(folder) and path.endswith("/") and folder != self.folder:
            return of_reproduction.page(self._checked(folder))
        if (folder / INDEX).is_file():
            with self.lock:
                return self._sweep(self._checked(folder))
        return self._list(folder)

    def _at(self, path: str) -> Path | None:
        """Return the folder at a path; None if there is none."""
        folder = self.folder
        for part in filter(None, path.split("/")):
            # Accept only names of existing folders, so `..` cannot lead out; links are checked below.
            inside = (
                {}
                if part.startswith(".")
                else {each.name: each for each in folder.iterdir() if each.is_dir()}
            )
            if part not in inside:
                return None
            folder = inside[part]
            if self._leads_out(folder):
                raise self._refusal(folder)
        return folder

    def _leads_out(self, path: Path) -> bool:
        return not path.resolve().is_relative_to(self.folder.resolve())

    def _refusal(self, path: Path) -> LeadsOutError:
        return LeadsOutError(
            f"{path.relative_to(self.folder)} leads out of the folder that is served",
            "serve what it leads to, or a folder that holds both",
        )

    def _checked(self, folder: Path) -> Path:
        """Return the folder after checking that its whole contents may be shown.

        Raises
        ------
        LeadsOutError
            If a link in the folder, or a run that its `sweep.json` lists, is outside the served folder.
        """
        for path in _shown(folder):
            if self._leads_out(path):
                raise self._refusal(path)
        return folder

    def _list(self, folder: Path) -> str | None:
        """Return a page of links to sweeps and runs inside a folder; None if there are none."""
        inside = [
            each for each in sorted(folder.iterdir()) if each.is_dir() and not each.name.startswith(".")
        ]
        outside = [each for each in inside if self._leads_out(each)]
        rows = []
        links = []
        for each in inside:
            if each in outside:
                continue
            if (each / INDEX).is_file():
                state = progress.read(each)
                rows.append(
                    [
                        each.name,
                        *map(
                            str, (len(state.done), len(state.running), len(state.failed), len(state.points))
                        ),
                    ]
                )
                links.append(f"{each.name}/")
            elif finished_hash(each):
                rows.append([each.name, "1", "0", "0", "1"])
                links.append(f"{each.name}/")
        if not rows and folder != self.folder:
            return None
        note = [] if rows else [Block("note", "Nothing is here yet: no sweep, and no finished run.")]
        note += [Block("warning", self._refusal(each).message) for each in outside]
        shown = Table("", ["", "done", "running", "failed", "points"], rows)
        blocks = [*note, *([table(shown, links)] if rows else [])]
        claims = (
            [Block("note", f"`shallows report {folder}` shows its claims.")] if holds_claims(folder) else []
        )
        return render(
            folder.name, "Folder", str(folder), [Section("Contents", [*blocks, *claims])], live=LIVE
        )

    def _sweep(self, folder: Path) -> str:
        state = progress.read(folder)
        runs = finished_in(folder)
        charts = self._charts(folder, runs)
        results = [table(points_table.points(runs), [f"{run.path.name}/" for run in runs])] if runs else []
        results = [replace(each, title="") for each in results]  # the section's heading is the title
        warnings = [Block("warning", each) for each in of_sweep.count_warnings(runs)] if runs else []
        return render(
            title=str(runs[0].summary["name"]) if runs else folder.name,
            kind="Sweep, live",
            subtitle=_in_words(state),
            sections=[
                Section("Progress", _progress(state, missing_in(folder))),
                Section("Charts so far", [chart(made) for made in charts]),
                Section("Results so far", results),
                Section("Warnings", warnings),
            ],
            live=LIVE,
        )

    def _charts(self, folder: Path, runs: Sequence[Run]) -> Sequence[Chart]:
        """Return the charts of a sweep; new runs are added only once the last charts have a minimum age."""
        names = [run.path for run in runs]
        last = self.drawn.get(folder)
        if last and (last.runs == names or time.monotonic() < last.until):
            return last.charts
        start = time.monotonic()
        charts, _ = draw(runs, [labels for _, labels in points_of(folder)]) if runs else ([], [])
        end = time.monotonic()
        self.drawn[folder] = _Drawn(names, charts, end + PATIENCE * (end - start))
        return charts


def _shown(folder: Path) -> Iterator[Path]:
    """Yield the paths through which a folder's page may read other folders: links, and runs of a sweep."""
    if not (folder / INDEX).is_file():
        yield from _links(folder)
        return
    yield folder / INDEX
    for point, _ in points_of(folder):
        yield point
        if point.is_dir():
            yield from _links(point)


def _links(folder: Path) -> Iterator[Path]:
    """Yield every symbolic link below a folder."""
    for entry in os.scandir(folder):
        if entry.is_symlink():
            yield Path(entry)
        elif entry.is_dir():
            yield from _links(Path(entry))


class _Drawn:
    """Charts of a sweep, the runs that they show, and the time until which the charts are reused."""

    def __init__(self, runs: list[Path], charts: Sequence[Chart], until: float) -> None:
        self.runs, self.charts, self.until = runs, charts, until


def _in_words(state: Progress) -> str:
    parts = [f"{len(state.done)} of {len(state.points)} runs done"]
    parts += [f"{len(state.failed)} failed"] if state.failed else []
    if len(state.done) + len(state.failed) == len(state.points) and not state.running:
        return ", ".join([*parts, "nothing runs"] if state.failed else parts)
    if not state.running and state.left_s is None:
        return ", ".join([*parts, "nothing runs: `shallows sweep` goes on from here"])
    parts += [f"{len(state.running)} running", f"{count(state.hops_per_s)} packet-hops/s"]
    return ", ".join([*parts, f"{duration(state.left_s)} left"] if state.left_s is not None else parts)


def _progress(state: Progress, missing: Sequence[str]) -> list[Block]:
    """Return progress bars of the sweep and its current runs, the errors, and the number of waiting runs."""
    worked = len(state.done) + sum(state.running.values())
    bars = [("all runs", worked / max(len(state.points), 1))]
    bars += [
        (describe(state.points[name]) or name, fraction) for name, fraction in sorted(state.running.items())
    ]
    shown = [(name, round(100 * fraction, 1)) for name, fraction in bars]
    blocks = [Block("progress", shown)]
    blocks += [
        Block("warning", f"{describe(state.points[name]) or name} failed: {error}")
        for name, error in state.failed.items()
    ]
    waiting = len(missing) - len(state.running) - len(state.failed)
    return [*blocks, *([Block("note", f"{waiting} runs have not started.")] if waiting > 0 else [])]
