"""Reports for any results folder: of a run, a sweep or a reproduced paper."""

from collections.abc import Sequence
from pathlib import Path

from shallows.bounded import folder_of
from shallows.reports.of_reproduction import write_reproduction
from shallows.reports.of_run import write_run
from shallows.reports.of_sweep import write_sweep
from shallows.reproduction.written import CLAIMS
from shallows.runs.index import missing_in, readable_in
from shallows.runs.manifest import is_run
from shallows.runs.results import Run
from shallows.sweeps.sweeps import Sweep


def write(folder: Path, runs: Sequence[Run] | None = None) -> Path:
    """Write `report.html` into a folder of a run, sweep or reproduction.

    `runs` are the folder's runs, if the caller has read them already.

    Raises
    ------
    ShallowsError
        If the folder has no finished run, or none can be read.
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


def report(what: Run | Sweep | str | Path) -> Path:
    """Write `report.html` of a run, a sweep or a reproduced paper into its folder.

    Parameters
    ----------
    what
        A run, a sweep, or the folder of a run, a sweep or a reproduction.

    Returns
    -------
    Path
        Path of the page.

    Raises
    ------
    ShallowsError
        If the folder has no finished run, or none can be read.

    Examples
    --------
    >>> import shallows as sh
    >>> sh.report(sh.run(sh.example("incast"), out=folder / "run")).name
    'report.html'
    """
    return write(what.path if isinstance(what, Run | Sweep) else folder_of(what))


def holds_claims(folder: Path) -> bool:
    """Return whether `shallows reproduce` has written this folder."""
    return any(folder.glob(CLAIMS))
