"""Folders that a command is given."""

from pathlib import Path

from shallows.runs.index import runs_in
from shallows.runs.results import Run


def find_runs(folders: list[str]) -> list[Run]:
    """The runs in these folders: each is a run's own, or holds runs.

    Raises
    ------
    ShallowsError
        If one of them is neither.
    """
    return [run for folder in folders for run in runs_in(Path(folder))]
