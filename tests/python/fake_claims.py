"""Claims of a paper, and runs in which every metric has a value that a test chooses."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shallows.reproduction.expected import Claim, Experiment
from shallows.reproduction.judging import Check, Measured, judge

ALONG_LOAD = Experiment("x", ["1"], Path("x.toml"), axis="load")
"""An experiment with the load as its axis."""

WITHOUT_AXIS = Experiment("x", ["1"], Path("x.toml"))


def claim(**keys: Any) -> Claim:
    """Return a claim with these keys; other required keys have default values."""
    return Claim(**{"id": "c", "experiment": "x", "kind": "value", "metric": "m", "source": "§1"} | keys)


def run_with(value: float, **labels: Any) -> Measured:
    """Return a run with these labels, in which every metric has this value."""
    return Measured(labels, lambda _: value)


def runs_of(**schemes: Sequence[float]) -> list[Measured]:
    """Return the runs of each scheme, given the value for each seed."""
    return [
        run_with(value, scheme=scheme, seed=seed)
        for scheme, values in schemes.items()
        for seed, value in enumerate(values)
    ]


def runs_along_load(**schemes: Sequence[float]) -> list[Measured]:
    """Return runs with seed 1, given each scheme's values at the loads 0.2, 0.4 and so on."""
    return [
        run_with(value, scheme=scheme, load=(place + 1) / 5, seed=1)
        for scheme, values in schemes.items()
        for place, value in enumerate(values)
    ]


def runs_at(**schemes: dict[Any, Sequence[float]]) -> list[Measured]:
    """Return the runs of each scheme, given the values of all seeds by load."""
    return [
        run_with(value, scheme=scheme, load=load, seed=seed)
        for scheme, places in schemes.items()
        for load, values in places.items()
        for seed, value in enumerate(values)
    ]


def only_check(asked: Claim, experiment: Experiment, runs: Sequence[Measured]) -> Check:
    """Return the verdict on a claim that has only one place."""
    (found,) = judge(asked, experiment, runs, quick=False)
    return found
