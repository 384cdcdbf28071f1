"""The runs in a folder: the folder's own run, or the runs that the `sweep.json` of a sweep lists."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from shallows.bounded import folder_of, parse_json, read_text
from shallows.errors import ShallowsError
from shallows.runs.leases import writer_of
from shallows.runs.manifest import finished_hash, is_run, unfit
from shallows.runs.results import Run, describe

INDEX = "sweep.json"
"""File that lists the points of a sweep, finished or not."""

WRITTEN = "name a folder that `shallows run` or `shallows sweep` wrote"
"""Remedy for a folder without results."""

Runs = Run | str | Path | Sequence[Run | str | Path]
"""A run, a sweep, the path of either, or a sequence of these."""


def runs_of(given: Runs) -> list[Run]:
    """Return the given runs, and the runs in the given folders.

    Raises
    ------
    ShallowsError
        If an item is neither a run nor a path, or a folder holds no readable run.
    """
    if isinstance(given, Run):
        return [given]
    if isinstance(given, str | Path):
        return runs_in(folder_of(given))
    if not isinstance(given, Sequence):
        raise ShallowsError(
            f"runs must be given as a run, a sweep, a path, or a list of these, got {type(given).__name__}",
            "pass runs, a sweep, or paths of folders",
        )
    return [run for each in given for run in runs_of(each)]


def inside_sweep(folder: Path) -> list[Path]:
    """Return the folders of runs inside a folder: in the sweep's order if a sweep wrote it, else by name."""
    return [path for path, _ in points_of(folder)] or sorted(
        path for path in folder.glob("*") if not path.name.startswith(".") and is_run(path)
    )


def points_of(folder: Path) -> list[tuple[Path, dict[str, Any]]]:
    """Return folder and labels of each point of the sweep in this folder; empty if there is no sweep."""
    try:
        points = read_index(folder)["points"]
        return [(folder / point["folder"], point["labels"]) for point in points if "folder" in point]
    except (ShallowsError, ValueError, LookupError, TypeError):
        return []


def read_index(folder: Path) -> dict[str, Any]:
    """Read a sweep's `sweep.json`; return an empty dictionary if it is missing or cannot be read."""
    try:
        document = parse_json(read_text(folder / INDEX, remedy=""))
    except (ShallowsError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def missing_in(folder: Path, runs: Iterable[Run] | None = None) -> list[str]:
    """Describe the unfinished points of this folder's sweep; with `runs`, the points missing in `runs`."""
    known = None if runs is None else {run.path for run in runs}
    return [
        describe(labels)
        for path, labels in points_of(folder)
        if (finished_hash(path) is None if known is None else path not in known)
    ]


def runs_in(folder: Path) -> list[Run]:
    """Return the run of this folder, or the finished runs inside it.

    Raises
    ------
    ShallowsError
        If there is no run, or one of the runs cannot be read.
    """
    runs, problems = readable_in(folder)
    if problems:
        raise problems[0]
    return runs


def readable_in(folder: Path, *, verify: bool = False) -> tuple[list[Run], list[ShallowsError]]:
    """Return the readable runs in this folder, and an error for each unreadable run.

    `verify` compares the hashes of files, not only sizes.

    Raises
    ------
    ShallowsError
        If the folder holds no run.
    """
    runs, problems = [], []
    for path in [folder] if is_run(folder) else inside_sweep(folder):
        if problem := unfit(path, verify=verify):
            problems.append(problem)
        elif finished_hash(path):
            runs.append(Run(path))
    if not (runs or problems):
        raise _nothing_in(folder)
    return runs, problems


def _nothing_in(folder: Path) -> ShallowsError:
    """Return the error for a folder without a finished run."""
    if writer := writer_of(folder):
        return ShallowsError(
            f"the run in {folder} is not finished: {writer} is writing it",
            f"wait for the run, or watch it with `shallows serve {folder.parent}`",
        )
    if not folder.exists():
        return ShallowsError(f"{folder} does not exist", WRITTEN)
    if missing := missing_in(folder):
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        return ShallowsError(
            f"{folder} contains a sweep with {len(missing)} points, all of them unfinished: "
            f"{'; '.join(missing[:3])}{more}",
            "repeat the `shallows sweep` command to run these points",
        )
    return ShallowsError(f"{folder} contains no finished run", WRITTEN)


def finished_in(folder: Path) -> list[Run]:
    """Return the finished runs of the sweep in this folder."""
    return [Run(path) for path in inside_sweep(folder) if finished_hash(path)]
