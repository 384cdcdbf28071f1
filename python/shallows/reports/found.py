"""What a folder holds: a run, a sweep, a paper that was reproduced, or something that is not finished."""

from collections.abc import Sequence
from pathlib import Path

from shallows.reports.of_reproduction import write_reproduction
from shallows.reports.of_run import write_run
from shallows.reports.of_sweep import write_sweep
from shallows.reproduction.written import CLAIMS
from shallows.runs.manifest import is_run
from shallows.runs.results import Run
from shallows.sweeps.points import missing_in, readable_in


def write(folder: Path, runs: Sequence[Run] | None = None) -> Path:
    """Write `report.html` of whatever a folder holds into it; of these runs, if they were read before.

    Raises
    ------
    ShallowsError
        If there is nothing finished in it, or nothing that can be read; it says what is missing.
    """
    if holds_claims(folder):
        return write_reproduction(folder)
    if runs is None:
        runs, problems = readable_in(folder)
        if not runs:
            raise problems[0]
    if is_run(folder):
        return write_run(runs[0])
    return write_sweep(runs, folder, missing=missing_in(folder, runs))


def holds_claims(folder: Path) -> bool:
    """Whether `shallows reproduce` has written it."""
    return any(folder.glob(CLAIMS))
