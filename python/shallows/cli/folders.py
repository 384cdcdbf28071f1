"""Folders given to a command."""

from pathlib import Path

from shallows.runs.index import runs_in
from shallows.runs.results import Run


def find_runs(folders: list[str]) -> list[Run]:
    """Return the runs in these folders; a folder is either a run's own folder or contains runs.

    Raises
    ------
    ShallowsError
        If a folder holds no run, or a run cannot be read.
    """
    return [run for folder in folders for run in runs_in(Path(folder))]
