"""Scenarios as Python sees them: load one, change it, run it."""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from shallows.runs.results import Run
from shallows.runs.running import Source, override_texts, run_source


class Scenario:
    """A scenario, checked and ready to run. It never changes: what would change it gives another.

    Parameters
    ----------
    source
        The text of its file, and what is different from that. `Scenario.load` reads one.

    Examples
    --------
    >>> import shallows as sh
    >>> incast = sh.Scenario.load(sh.example("incast"))
    >>> incast.resolved["switch"]["markers"][0]["k"]
    '65KB'
    >>> deeper = incast.override({"switch.markers.0.k": "130p", "stop.at": "60ms"})
    >>> [curve["kmin"]["packets"] for curve in deeper.marking_curves[:1]]
    [130.0]
    >>> deeper.run(seed=2, out=folder / "deeper").summary["seed"]
    2
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._experiment = source.load()

    def __repr__(self) -> str:
        changed = "".join(f", {key}={value}" for key, value in self._source.overrides)
        return f"Scenario({self._source.file!r}{changed})"

    @classmethod
    def load(
        cls, path: str | Path, overrides: Mapping[str, object] | None = None, seed: int | None = None
    ) -> "Scenario":
        """Read a scenario file and check it.

        Parameters
        ----------
        path
            The file.
        overrides
            Values that differ from the file's, by dotted key, as `--set` gives them.
        seed
            Root of all random streams; the file's if not given.

        Returns
        -------
        Scenario
            What `run` will run.

        Raises
        ------
        ScenarioError
            If the scenario cannot run: a wrong key, unit or value, with its place and what is allowed.
        ShallowsError
            If the file cannot be read.
        """
        return cls(Source.read(path, override_texts(overrides), seed))

    def override(self, overrides: Mapping[str, object]) -> "Scenario":
        """The same scenario with other values, by dotted key; of the same key the last counts.

        Raises
        ------
        ScenarioError
            If that cannot run.
        """
        return Scenario(
            replace(self._source, overrides=(*self._source.overrides, *override_texts(overrides)))
        )

    @property
    def name(self) -> str:
        """What results are called after."""
        return self._experiment.name

    @property
    def seed(self) -> int:
        """Root of all random streams."""
        return self._experiment.seed

    @cached_property
    def resolved(self) -> dict[str, Any]:
        """The scenario with every default spelled out, as `resolved.json` has it."""
        document: dict[str, Any] = json.loads(self._experiment.resolved())
        return document

    @cached_property
    def marking_curves(self) -> list[dict[str, Any]]:
        """Where each kind of port starts to mark, in bytes, packets, time and bandwidth-delay products."""
        curves: list[dict[str, Any]] = json.loads(self._experiment.marking_curves())
        return curves

    @property
    def notes(self) -> list[str]:
        """Values that were computed from the scenario, with their formulas."""
        return self._experiment.notes()

    @property
    def warnings(self) -> list[str]:
        """What is allowed and probably not meant."""
        return self._experiment.warnings()

    def run(self, seed: int | None = None, out: str | Path | None = None) -> Run:
        """Run it and return its results; a run that is there already is not made again.

        Parameters
        ----------
        seed
            Root of all random streams, instead of its own.
        out
            Folder for the results. By default, one under `runs/` that is named after scenario, content hash
            and seed.

        Raises
        ------
        ShallowsError
            If the results cannot be written, or the folder holds something else.
        """
        source = self._source if seed is None else replace(self._source, seed=seed)
        return run_source(source, out)
