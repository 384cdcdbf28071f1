"""Merging of a sweep's shards into one folder."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shallows.bounded import is_folder, parse_json, read_text
from shallows.errors import ShallowsError
from shallows.runs.folder import RunFolder, check_writable, failure
from shallows.runs.manifest import files_of, holds, unfit
from shallows.runs.results import describe
from shallows.sweeps.points import Point

NO_RESULTS = {"env.json", "scenario.toml"}
"""Files that may differ between runs with the same hash: they hold the results' origin, and comments."""

MACHINE = ("wall_s", "packet_hops_per_s", "peak_rss_mb")
"""Keys of a summary that depend on the machine, not on the scenario."""


def gather(
    points: Sequence[Point], folders: Sequence[Path], parent: Path, *, verify: bool = False
) -> tuple[list[Point], list[ShallowsError]]:
    """Copy the folder of each point into `parent`, from a folder of `folders` that has the finished point.

    `verify` also compares the hashes of files.

    Returns
    -------
    tuple
        The points that no shard has finished, and the errors of copies that cannot be read.

    Raises
    ------
    ShallowsError
        If two folders have different results of one point, or a folder cannot be read or written.
    """
    for folder in folders:
        if not is_folder(folder):
            raise ShallowsError(f"{folder} is not a folder", "name the folders that the shards wrote")
    check_writable(parent)
    missing, problems = [], []
    for point in points:
        found = []
        for copy in (place / point.folder.name for place in [parent, *folders]):
            if problem := unfit(copy, verify=verify):
                problems.append(problem)
            elif holds(copy, point.hash):
                found.append(copy)
        _refuse_conflicts(point, found)
        if not found:
            missing.append(point)
        elif found[0] != point.folder:
            _copy(found[0], point.folder)
    return missing, problems


def _refuse_conflicts(point: Point, copies: list[Path]) -> None:
    for other in copies[1:]:
        if differing := different(copies[0], other):
            raise ShallowsError(
                f"{differing} differs between {copies[0]} and {other}, runs of the same scenario, seed "
                f"and engine ({describe(point.source.labels)})",
                "one of the two folders is damaged: remove the damaged one, and repeat the command",
            )


def different(one: Path, other: Path) -> str | None:
    """Return the first file of results in which two finished runs differ; None if no file differs."""
    for name in sorted((files_of(one) | files_of(other)) - NO_RESULTS):
        if not ((one / name).is_file() and (other / name).is_file()):
            return name
        if name == "summary.json":
            same = _results(one / name) == _results(other / name)
        else:
            same = (one / name).read_bytes() == (other / name).read_bytes()
        if not same:
            return name
    return None


def _results(path: Path) -> Any:
    try:
        summary = parse_json(read_text(path, remedy="the run's folder is damaged: remove the folder"))
    except ValueError as error:
        remedy = "the run's folder is damaged: remove the folder"
        raise ShallowsError(f"{path} cannot be read: {error}", remedy) from None
    if isinstance(summary, dict) and isinstance(engine := summary.get("engine"), dict):
        for key in MACHINE:
            engine.pop(key, None)
    return summary


def _copy(run: Path, final: Path) -> None:
    with RunFolder(final) as folder:
        try:
            hidden = shutil.ignore_patterns(".*")  # lease files left by killed processes
            shutil.copytree(run, folder.path, dirs_exist_ok=True, ignore=hidden)
            folder.commit()
        except OSError as error:  # including shutil.Error
            raise failure(
                f"{run} could not be copied to {final}",
                error,
                "copied runs are kept: remove the cause, and repeat the command to copy the others",
            ) from None
