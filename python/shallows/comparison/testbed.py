"""Compares simulation with real TCP: runs a scenario both ways, and judges how well the two agree."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shallows.about import build
from shallows.bounded import folder_of
from shallows.comparison import agreement
from shallows.comparison.agreement import Agreement
from shallows.runs.executing import OnProgress, execute
from shallows.runs.folder import check_writable
from shallows.runs.manifest import holds
from shallows.runs.measuring import measure, measured_hash
from shallows.runs.results import Run
from shallows.runs.source import ScenarioLike, Source, source_of
from shallows.runs.table import Table
from shallows.runs.toml_text import override_texts

Showing = Callable[[str], AbstractContextManager[OnProgress | None]]
"""Function that takes the name of a run and returns a context in which the run's progress is shown."""


@dataclass(frozen=True)
class Agreements:
    """Runs of a scenario by simulation and with real TCP, and their agreement."""

    path: Path
    simulated: Sequence[Run]
    real: Sequence[Run]
    agreements: Sequence[Agreement]
    notes: Sequence[str]
    """Messages about invalid runs with real TCP."""

    def document(self) -> dict[str, Any]:
        """Return the agreement as a JSON document."""
        return agreement.document(self.agreements, len(self.real), list(self.notes))

    @property
    def table(self) -> Table:
        """Return a table of the agreement of each metric."""
        return agreement.table(self.agreements, len(self.real))


def compare_testbed(
    scenario: ScenarioLike,
    overrides: Mapping[str, object] | None = None,
    seed: int | None = None,
    out: str | Path | None = None,
    repeats: int = 3,
    dilation: int = 1,
    *,
    force: bool = False,
    invalid: bool = False,
    say: Callable[[str], None] = lambda _: None,
    showing: Showing = lambda _: nullcontext(),
) -> Agreements:
    """Run a scenario by simulation and with real TCP, and judge the agreement of the two.

    Parameters
    ----------
    scenario
        Path of the scenario file, or a `Scenario`.
    overrides
        Values that replace values of the file, by dotted key.
    seed
        First seed; the file's if not given.
    out
        Folder for all runs; default: `runs/NAME-testbed-compare`. Existing runs are used again.
    repeats
        Number of seeds.
    dilation
        Factor by which network time is slowed with real TCP.
    force
        Whether to repeat existing runs.
    invalid
        Whether to accept invalid runs with real TCP.
    say
        Function that is called with a line of text for each existing run.
    showing
        Function that takes the name of a new run and returns a context that shows its progress.

    Raises
    ------
    ScenarioError
        If the scenario needs a feature that Linux lacks.
    ShallowsError
        If the machine is too slow for the scenario, a run is invalid, or a folder cannot be written.
    """
    first = source_of(scenario, override_texts(overrides), seed)
    experiment = first.parse()
    folder = folder_of(out) if out is not None else Path("runs") / f"{experiment.name}-testbed-compare"
    check_writable(folder)
    pairs = _Pairs(folder, dilation, force, invalid, say, showing)
    simulated, real = [], []
    for number in range(experiment.seed, experiment.seed + repeats):
        source = replace(first, seed=number)
        simulated.append(pairs.simulated(source))
        real.append(pairs.measured(source))
    notes = [f"invalid run: {text}" for text in agreement.invalid(real)]
    if not invalid:
        agreement.reject_invalid(real)
    return Agreements(folder, simulated, real, agreement.agreements(simulated, real), notes)


@dataclass(frozen=True)
class _Pairs:
    """Runs of a scenario under each seed, one by simulation and one with real TCP."""

    folder: Path
    dilation: int
    force: bool
    invalid: bool
    say: Callable[[str], None]
    showing: Showing

    def simulated(self, source: Source) -> Run:
        experiment = source.parse()
        place = self.folder / f"simulated-s{source.seed}"
        if kept := self._kept(place, experiment.hash):
            return kept
        with self.showing(f"{experiment.name} simulated, seed {source.seed}") as progress:
            return execute(source, experiment, place, progress)

    def measured(self, source: Source) -> Run:
        """Return the existing run with real TCP if it is valid; otherwise make a new one."""
        experiment = source.parse()
        place = self.folder / f"real-s{source.seed}"
        kept = self._kept(place, measured_hash(experiment, self.dilation))
        if kept and (self.invalid or not agreement.invalid([kept])):
            return kept
        with self.showing(f"{experiment.name} on real TCP, seed {source.seed}") as progress:
            return measure(source, experiment, place, progress, self.dilation)

    def _kept(self, folder: Path, content_hash: str) -> Run | None:
        """Return the run that a folder holds; None if there is no run, or if the run must be repeated."""
        if self.force or build()["dirty"] or not holds(folder, content_hash):
            return None
        self.say(f"{folder} exists already and is used")
        return Run(folder)
