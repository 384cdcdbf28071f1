"""Scenarios in Python: loading, writing, changing and running them."""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from shallows.errors import ShallowsError
from shallows.runs import shown
from shallows.runs.results import Run
from shallows.runs.running import run_source
from shallows.runs.settings import settings
from shallows.runs.source import Source
from shallows.runs.toml_text import override_texts, toml_document
from shallows.sweeps.planning import Plan, plan
from shallows.sweeps.sweeps import Sweep, sweep

WRITTEN = "scenario.toml"
"""Name of a scenario without a file, in messages and in its run's folder."""


class Scenario:
    """An immutable scenario, checked and ready to run; `copy` and `override` return changed scenarios.

    Two scenarios are equal if their settings with all defaults, their input files and their seeds are equal,
    so that they give the same results. Scenarios are hashable and can be pickled.

    Parameters
    ----------
    source
        Text of the scenario file, with overrides and seed. `Scenario.load` reads it from a file,
        `Scenario.from_dict` writes it from a dictionary.
    base
        Folder for relative paths in the scenario, such as those of flow sizes; by default the folder of the
        scenario file.

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
    >>> incast.copy() == incast, deeper == incast
    (True, False)
    """

    def __init__(self, source: Source, base: Path | None = None) -> None:
        # The folder is resolved now, because a notebook may change the working directory before the run.
        self._source = replace(source, base=(base or source.folder).resolve())
        self._experiment = self._source.parse()

    def __repr__(self) -> str:
        changed = "".join(f", {key}={value}" for key, value in self._source.overrides)
        seed = "" if self._source.seed is None else f", seed={self._source.seed}"
        return f"Scenario({self._source.file!r}{changed}{seed})"

    def _repr_html_(self) -> str:
        facts = [("seed", str(self.seed)), *settings(self.resolved)]
        facts = [(name, words) for name, words in facts if name not in {"measure", "stop"}]
        facts += [("changed", f"{key} = {value}") for key, value in self._source.overrides]
        return shown.facts(f"Scenario {self.name}", [*facts, *(("warning", text) for text in self.warnings)])

    def __eq__(self, other: object) -> bool:
        return self.hash == other.hash if isinstance(other, Scenario) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.hash)

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self._source, self.hash)

    @classmethod
    def load(
        cls, path: str | Path, overrides: Mapping[str, object] | None = None, seed: int | None = None
    ) -> "Scenario":
        """Read a scenario file and check it.

        Parameters
        ----------
        path
            Path of the scenario file.
        overrides
            Values that replace those of the file, by dotted key, like `--set`.
        seed
            Root of all random streams; the file's if not given.

        Returns
        -------
        Scenario
            The checked scenario.

        Raises
        ------
        ScenarioError
            If a key, unit or value is wrong; the message gives its place and the allowed values.
        ShallowsError
            If the file cannot be read.
        """
        return cls(Source.read(path, override_texts(overrides), seed))

    @classmethod
    def from_dict(
        cls, document: Mapping[str, object], seed: int | None = None, base: str | Path | None = None
    ) -> "Scenario":
        """Return a scenario from a dictionary with the keys of a scenario file (docs/scenario.md).

        Parameters
        ----------
        document
            Tables are dictionaries; `[[workload]]` is a list of dictionaries. Quantities are text with a
            unit, as in files: `"10Gbps"`, `"10us"`, `"65KB"`.
        seed
            Root of all random streams; by default that of the dictionary, or 1.
        base
            Folder for relative paths in the scenario; the working directory by default.

        Raises
        ------
        ScenarioError
            If the scenario cannot run. Lines and columns in the message refer to `text`.
        ShallowsError
            If a scenario cannot have such a value.

        Examples
        --------
        >>> import shallows as sh
        >>> scenario = sh.Scenario.from_dict(
        ...     {
        ...         "name": "pair",
        ...         "topology": {"kind": "star", "hosts": 2, "rate": "10Gbps", "link_delay": "10us"},
        ...         "switch": {"buffer": {"kind": "dynamic-threshold", "alpha": 1.0, "pool": "1MB"}},
        ...         "workload": [
        ...             {"kind": "incast", "senders": "1", "receivers": "0", "size": "100KB", "repeats": 3,
        ...              "period": "1ms"}
        ...         ],
        ...     }
        ... )
        >>> scenario.run(out=folder / "pair").flows["size_bytes"].to_list()
        [100000, 100000, 100000]
        """
        if not isinstance(document, Mapping):
            raise ShallowsError(
                f"the document of a scenario must be a dictionary, got {type(document).__name__}",
                "pass a dictionary, or read a file with `Scenario.load`",
            )
        return cls(Source(WRITTEN, toml_document(document) + "\n", (), seed), Path(base or "."))

    def override(self, overrides: Mapping[str, object]) -> "Scenario":
        """Return the scenario with other values, given by dotted key; the last override of a key applies.

        Raises
        ------
        ScenarioError
            If the changed scenario cannot run.
        """
        return self.copy(overrides)

    def copy(self, overrides: Mapping[str, object] | None = None, seed: int | None = None) -> "Scenario":
        """Return the scenario with other values by dotted key, or with another seed.

        Raises
        ------
        ScenarioError
            If the changed scenario cannot run.

        Examples
        --------
        >>> import shallows as sh
        >>> incast = sh.Scenario.load(sh.example("incast"))
        >>> [incast.copy({"tcp.congestion": "reno"}, seed=seed).seed for seed in (1, 2)]
        [1, 2]
        """
        changed = replace(self._source, overrides=(*self._source.overrides, *override_texts(overrides)))
        return Scenario(changed if seed is None else replace(changed, seed=seed))

    @property
    def source(self) -> Source:
        """Text, overrides and seed of the scenario."""
        return self._source

    @property
    def text(self) -> str:
        """Text of the scenario file, without overrides."""
        return self._source.text

    @cached_property
    def hash(self) -> str:
        """Hash of everything that affects the results, including the engine's sources, as in `env.json`."""
        return self._experiment.hash

    @property
    def name(self) -> str:
        """Name of the scenario; results are stored under it."""
        return self._experiment.name

    @property
    def seed(self) -> int:
        """Root of all random streams."""
        return self._experiment.seed

    @cached_property
    def resolved(self) -> dict[str, Any]:
        """The scenario with all defaults filled in, as in `resolved.json`."""
        document: dict[str, Any] = json.loads(self._experiment.resolved())
        return document

    @cached_property
    def marking_curves(self) -> list[dict[str, Any]]:
        """Marking thresholds of each kind of port, in bytes, packets, time and bandwidth-delay products."""
        curves: list[dict[str, Any]] = json.loads(self._experiment.marking_curves())
        return curves

    @property
    def notes(self) -> list[str]:
        """Values that were computed from the scenario, with their formulas."""
        return self._experiment.notes()

    @property
    def warnings(self) -> list[str]:
        """Warnings about settings that are allowed but probably unintended."""
        return self._experiment.warnings()

    def run(
        self,
        seed: int | None = None,
        out: str | Path | None = None,
        threads: int | str = "auto",
        *,
        cached: bool = True,
    ) -> Run:
        """Run the scenario and return its results; if the same run is stored, return the stored results.

        To measure speed, use `cached=False`; otherwise a second call only reads the stored results.

        Parameters
        ----------
        seed
            Root of all random streams; the scenario's own seed by default.
        out
            Folder for the results. By default, a folder under `runs/` named after scenario, content hash
            and seed.
        threads
            Number of threads; `"auto"` uses up to one per core, as many as are free and make it faster.
            Results do not depend on the number.
        cached
            Whether stored results may be returned.

        Raises
        ------
        ShallowsError
            If the results cannot be written, or the folder holds something else.
        """
        source = self._source if seed is None else replace(self._source, seed=seed)
        return run_source(source, out, threads, cached=cached)

    def sweep(
        self,
        out: str | Path | None = None,
        jobs: int | None = None,
        engine: str = "local",
        address: str | None = None,
        *,
        verify: bool = False,
    ) -> Sweep:
        """Run all combinations of the scenario's `[sweep]` table; see `shallows.sweep` for the parameters.

        Overrides and the seed of this scenario apply to all runs.

        Raises
        ------
        ShallowsError
            If there is no `[sweep]` table, or for the reasons listed at `shallows.sweep`.

        Examples
        --------
        >>> import shallows as sh
        >>> short = sh.Scenario.load(sh.example("incast"), {"stop.at": "30ms"})
        >>> short.sweep(out=folder / "sweep", jobs=1)[0].labels
        {'scheme': 'DCTCP K=30KB'}
        """
        return sweep(self, None, out, jobs, engine, address, verify=verify)

    def plan(self, out: str | Path | None = None, jobs: int | None = None) -> Plan:
        """Estimate the cost of the run, or of the runs of the `[sweep]` table; see `shallows.plan`.

        Raises
        ------
        ShallowsError
            If a run needs more memory than the machine has.
        """
        return plan(self, None, out, jobs)


def _again(source: Source, known: str) -> Scenario:
    """Restore a pickled scenario."""
    scenario = Scenario(source)
    if scenario.hash != known:
        raise ShallowsError(
            f"{source.file}: the engine or a file that the scenario names has changed since pickling",
            "load the scenario again",
        )
    return scenario
