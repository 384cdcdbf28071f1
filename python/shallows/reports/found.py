"""What a folder holds: a run, a sweep, a paper that was reproduced, or something that is not finished."""

from pathlib import Path

from shallows.errors import ShallowsError
from shallows.folder import finished_hash
from shallows.points import missing_in, runs_in
from shallows.reports.of_reproduction import CLAIMS, write_reproduction
from shallows.reports.of_run import write_run
from shallows.reports.of_sweep import write_sweep
from shallows.results import Run

TABLES = ("scenario.toml", "resolved.json", "flows.parquet", "counters.parquet")
"""What every run has beside its summary."""


def write(folder: Path) -> Path:
    """Write `report.html` of whatever a folder holds into it.

    Raises
    ------
    ShallowsError
        If there is nothing finished in it, or a run of it is not whole; it says what is missing.
    """
    if holds_claims(folder):
        return write_reproduction(folder)
    runs = whole_runs(folder)
    if finished_hash(folder):
        return write_run(runs[0])
    return write_sweep(runs, folder, missing=missing_in(folder))


def holds_claims(folder: Path) -> bool:
    """Whether `shallows reproduce` has written it."""
    return any(folder.glob(CLAIMS))


def whole_runs(folder: Path) -> list[Run]:
    """The run whose folder this is, or those inside it, none of which lacks a file."""
    runs = runs_in(folder)
    for run in runs:
        if lacking := [name for name in TABLES if not (run.path / name).is_file()]:
            verb = "is" if len(lacking) == 1 else "are"
            raise ShallowsError(
                f"{run.path} is not whole: {' and '.join(lacking)} {verb} missing",
                "the folder is damaged: run its scenario again",
            )
    return runs
