"""Claims of a paper, and runs whose only metric has values that a test chooses."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shallows.reproduction.expected import Claim, Experiment
from shallows.reproduction.judging import Check, Measured, judge

ALONG_LOAD = Experiment("x", ["1"], Path("x.toml"), axis="load")
"""An experiment whose axis is the load."""

WITHOUT_AXIS = Experiment("x", ["1"], Path("x.toml"))


def claim(**keys: Any) -> Claim:
    """A claim with these keys; the keys that every claim needs are filled in."""
    return Claim(**{"id": "c", "experiment": "x", "kind": "value", "metric": "m", "source": "§1"} | keys)


def run_with(value: float, **labels: Any) -> Measured:
    """A run at these labels whose metrics all have this value."""
    return Measured(labels, lambda _: value)


def runs_of(**schemes: Sequence[float]) -> list[Measured]:
    """Runs of schemes without an axis: a value for each seed."""
    return [
        run_with(value, scheme=scheme, seed=seed)
        for scheme, values in schemes.items()
        for seed, value in enumerate(values)
    ]


def runs_along_load(**schemes: Sequence[float]) -> list[Measured]:
    """Runs of schemes under seed 1: a value for each load, from 0.2 on in steps of 0.2."""
    return [
        run_with(value, scheme=scheme, load=(place + 1) / 5, seed=1)
        for scheme, values in schemes.items()
        for place, value in enumerate(values)
    ]


def runs_at(**schemes: dict[Any, Sequence[float]]) -> list[Measured]:
    """Runs of schemes: at each load a value for each seed."""
    return [
        run_with(value, scheme=scheme, load=load, seed=seed)
        for scheme, places in schemes.items()
        for load, values in places.items()
        for seed, value in enumerate(values)
    ]


def only_check(asked: Claim, experiment: Experiment, runs: Sequence[Measured]) -> Check:
    """The check of a claim that is judged at one place."""
    (found,) = judge(asked, experiment, runs, quick=False)
    return found
