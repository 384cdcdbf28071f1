"""Matches runs by scheme, point and seed, and checks that pairs are comparable."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from shallows.comparison import places
from shallows.comparison.ranking import Labels
from shallows.errors import ShallowsError, listed
from shallows.runs.index import Runs, runs_of
from shallows.runs.results import Run, describe


@dataclass(frozen=True)
class Matched:
    """Runs of each compared scheme or value, by point of the sweep and then by seed."""

    runs: dict[str, dict[str, dict[int, Run]]]
    points: dict[str, Labels]
    places: dict[str, Labels] = field(default_factory=dict)
    """Labels of each compared combination of axis values, by its name; empty if schemes are compared."""

    @property
    def what(self) -> str:
        """Return the word that messages use for the compared items: schemes or values of `--by`."""
        return "value" if self.places else "scheme"

    def find(self, baseline: str) -> str:
        """Return the scheme or value that `baseline` names."""
        known = self.places or {name: {} for name in self.runs}
        if (found := places.find(baseline, known)) is None:
            raise ShallowsError(
                f"{baseline!r} must name exactly one of the compared values"
                if self.places
                else f"unknown scheme {baseline!r}",
                listed(f"the {self.what}s are", list(self.runs)),
            )
        return found

    def remedy(self) -> str:
        """Return the remedy for a comparison that finds fewer than two schemes or values."""
        if self.places:
            return "name an axis on which the sweep has several values"
        axes = {axis: None for run in self._all() for axis in run.labels if axis not in {"seed", "scheme"}}
        several = [axis for axis in axes if len({str(run.labels.get(axis)) for run in self._all()}) > 1]
        if several:
            return listed("compare the values of an axis with --by; the axes are", several)
        return "name the folders of two schemes, or the folder of a sweep with [[sweep.scheme]] tables"

    def _all(self) -> list[Run]:
        return [run for at in self.runs.values() for seeds in at.values() for run in seeds.values()]

    @classmethod
    def by(cls, folders: Sequence[Runs], by: Sequence[str]) -> "Matched":
        """Match runs by their values on these axes; the runs of a sweep may be in several folders."""
        sides = [runs_of(side) for side in folders]
        everything = [run for side in sides for run in side]
        axes = places.axes_of(everything, by)
        known: dict[str, Labels] = {}
        pairs = []
        for run in everything:
            place = places.place_of(run, axes)
            known.setdefault(describe(place), place)
            pairs.append((describe(place), run))
        return replace(cls._sorted(pairs, {"seed", *axes}), places=known)

    @classmethod
    def of(cls, schemes: Sequence[Runs], names: Sequence[str] | None) -> "Matched":
        """Match the runs of schemes; `schemes` has one entry per scheme, or one sweep with all schemes."""
        sides = [runs_of(side) for side in schemes]
        everything = [run for side in sides for run in side]
        by_label = names is None and all("scheme" in run.labels for run in everything)
        if by_label and (len(sides) == 1 or all(len(side) == 1 for side in sides)):
            return cls._sorted(((str(run.labels["scheme"]), run) for run in everything), {"seed", "scheme"})
        called = list(names) if names is not None else _names(schemes, sides)
        if len(called) != len(sides) or len(set(called)) != len(called):
            raise ShallowsError(
                f"each of the {len(sides)} schemes must have its own name, got {', '.join(called)}",
                "give each scheme its own name",
            )
        # If folders have several schemes each, every scheme of every folder is compared on its own.
        with_scheme = any(len({run.labels.get("scheme") for run in side}) > 1 for side in sides)
        pairs = ((name, run) for name, side in zip(called, sides, strict=True) for run in side)
        return cls._sorted(pairs, {"seed"} if with_scheme else {"seed", "scheme"})

    @classmethod
    def _sorted(cls, pairs: Iterable[tuple[str, Run]], left_out: set[str]) -> "Matched":
        runs: dict[str, dict[str, dict[int, Run]]] = {}
        points: dict[str, Labels] = {}
        for name, run in pairs:
            labels = {axis: value for axis, value in run.labels.items() if axis not in left_out}
            point = describe(labels)
            points.setdefault(point, labels)
            seed = run.environment.get("seed")
            if not isinstance(seed, int):
                raise ShallowsError(f"{run.path / 'env.json'}: seed is missing", "run the scenario again")
            same = runs.setdefault(name, {}).setdefault(point, {})
            if (other := same.setdefault(seed, run)) is not run:
                raise ShallowsError(
                    f"{other.path} and {run.path} have the same scheme, point and seed: "
                    f"{named_at(name, point)}, seed {seed}",
                    "name only one of the two runs",
                )
        return cls(runs, points)


def _names(schemes: Sequence[Runs], sides: list[list[Run]]) -> list[str]:
    paths = [
        Path(scheme) if isinstance(scheme, str | Path) else side[0].path.parent
        for scheme, side in zip(schemes, sides, strict=True)
    ]
    short = [path.resolve().name for path in paths]
    return short if len(set(short)) == len(short) else [str(path) for path in paths]


def named_at(scheme: str, point: str) -> str:
    """Name a scheme with its point."""
    return f"{scheme} at {point}" if point else scheme


def listing(values: Iterable[object]) -> str:
    """List the first six values in words."""
    shown = [str(value) or "no axes" for value in values]
    return ", ".join(shown[:6]) + (f" and {len(shown) - 6} more" if len(shown) > 6 else "")


def refuse_if_different(runs: tuple[Run, Run], key: str) -> None:
    """Reject two runs whose scenarios have different values of a key.

    Raises
    ------
    ShallowsError
        If the values differ, or one scenario lacks the key.
    """
    found: list[Any] = [run.scenario for run in runs]
    for part in key.split("."):
        for run, scenario in zip(runs, found, strict=True):
            if isinstance(scenario, dict) and part in scenario:
                continue
            raise ShallowsError(
                f"{run.path / 'resolved.json'}: {key} is missing; another version wrote the file",
                "run the scenario again with this version",
            )
        found = [scenario[part] for scenario in found]
    if found[0] != found[1]:
        path, mine, theirs = _first_difference(key, *found)
        raise ShallowsError(
            f"{runs[0].path} and {runs[1].path} must have the same {path}, got {_shown(mine)} and "
            f"{_shown(theirs)}",
            "compare runs of the same workload, length and [measure] table",
        )


def _first_difference(key: str, mine: Any, theirs: Any) -> tuple[str, Any, Any]:
    if isinstance(mine, dict) and isinstance(theirs, dict):
        for part in sorted(mine.keys() | theirs.keys()):
            if mine.get(part) != theirs.get(part):
                return _first_difference(f"{key}.{part}", mine.get(part), theirs.get(part))
    if isinstance(mine, list) and isinstance(theirs, list) and len(mine) == len(theirs):
        for place, (one, another) in enumerate(zip(mine, theirs, strict=True)):
            if one != another:
                return _first_difference(f"{key}.{place}", one, another)
    return key, mine, theirs


def _shown(value: object) -> str:
    return "not set" if value is None else f"{len(value)} entries" if isinstance(value, list) else repr(value)
