"""Combinations of values of a sweep's axes; `shallows compare --by` compares them instead of schemes."""

from collections.abc import Mapping, Sequence
from typing import Any

from shallows.errors import ShallowsError, listed
from shallows.quantity import parse_quantity
from shallows.runs.results import Run, axis_name


def axes_of(runs: Sequence[Run], by: Sequence[str]) -> list[str]:
    """Return the named axes; a name is a key or a key's last word.

    Raises
    ------
    ShallowsError
        If no axis or several axes match; the error lists the axes and their values.
    """
    known: dict[str, dict[str, None]] = {}
    for run in runs:
        for axis, value in run.labels.items():
            known.setdefault(axis, {})[str(value)] = None
    found = []
    for wanted in by:
        meant = [axis for axis in known if axis == wanted] or [
            axis for axis in known if wanted in {axis.rsplit(".", 1)[-1], axis_name(axis)}
        ]
        if len(meant) > 1:
            raise ShallowsError(
                f"--by {wanted}: several axes have this name", listed("use the key of one axis", meant)
            )
        if not meant or meant == ["seed"]:
            reason = "seeds cannot be compared" if meant else "the runs have no such axis"
            axes = [f"{axis} ({_some(list(values))})" for axis, values in known.items() if axis != "seed"]
            raise ShallowsError(
                f"--by {wanted}: {reason}",
                listed("the axes and values are", axes) if axes else "name the folder of a sweep",
            )
        found.append(meant[0])
    return list(dict.fromkeys(found))


def _some(values: Sequence[str]) -> str:
    return ", ".join(values[:8]) + (", …" if len(values) > 8 else "")


def place_of(run: Run, axes: Sequence[str]) -> dict[str, Any]:
    """Return the values of a run on these axes."""
    return {axis: run.labels.get(axis) for axis in axes}


def find(wanted: str, places: Mapping[str, Mapping[str, Any]]) -> str | None:
    """Find a combination by its name, by its values in the order of the axes, or by `axis=value` pairs.

    Quantities are compared by value: `90KB` equals `0.09MB`. The result is None unless exactly one
    combination matches.

    >>> places = {"A": {"k": "30KB", "load": 0.4}, "B": {"k": "90KB", "load": 0.4}}
    >>> find("90KB, 0.4", places), find("k=0.03MB", places), find("load=0.4", places)
    ('B', 'A', None)
    """
    if wanted in places:
        return wanted
    parts = [part.strip() for part in wanted.split(",")]
    matching = [name for name, labels in places.items() if _is_at(labels, parts)]
    return matching[0] if len(matching) == 1 else None


def _is_at(labels: Mapping[str, Any], parts: Sequence[str]) -> bool:
    if all("=" in part for part in parts):
        pairs = [part.partition("=")[::2] for part in parts]
        return all(
            any(
                axis.strip() in {key, key.rsplit(".", 1)[-1], axis_name(key)} and _same(labels[key], value)
                for key in labels
            )
            for axis, value in pairs
        )
    values = list(labels.values())
    return len(values) == len(parts) and all(map(_same, values, parts))


def _same(value: object, text: str) -> bool:
    if str(value) == text.strip():
        return True
    try:
        return parse_quantity(value) == parse_quantity(text)
    except ValueError:
        return False
