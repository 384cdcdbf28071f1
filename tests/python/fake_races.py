"""Races of the advisor with results that a test chooses, without a simulation."""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl

from shallows.advisor.candidates import Candidate, Curve
from shallows.advisor.fabric import Fabric
from shallows.advisor.race import Race
from shallows.comparison.samples import Sample, Series
from shallows.sweeps.sweeps import choose_engine

SMALL: dict[str, Any] = {
    "name": "small",
    "chip": {"memory": "1MB", "ports": 4, "cell": 208},
    "links": {"rate": "10Gbps", "rtt": "100us"},
    "buffer": {"pool": "600KB", "ports_per_pool": 4, "alpha": 1},
    "traffic": {"load": [0.7]},
    "class": [{"sizes": "web-search"}],
    "simulated": {"hosts": 8, "flows": 40},
}

LOAD = 0.7
"""The only load of `SMALL`."""

SEEDS = 8
"""Number of seeds of an exact race; the mean over this many equal numbers is exactly that number."""

Made = TypeVar("Made", bound=Race)


def fabric(**changes: Any) -> Fabric:
    """Return a small fabric, with these tables replaced."""
    return Fabric.from_dict(SMALL | changes)


def field(names: Sequence[str]) -> list[Candidate]:
    """Return candidates with these names and different thresholds."""
    return [
        Candidate(name, "made up", "rule", (Curve(208, 208 * place + 208),), 1.0)
        for place, name in enumerate(names)
    ]


def sample(tail: float, large: float, loss: float, noise: random.Random) -> Sample:
    """Return a sample of 1,000 small flows, of which about 25 take about `tail`, and 100 large flows."""
    tails = [tail * noise.uniform(0.9, 1.1) for _ in range(noise.randint(23, 27))]
    times = [100.0 + place % 50 for place in range(1_000 - len(tails))] + tails
    small = np.array(noise.sample(times, len(times)))
    shift = noise.uniform(0.99, 1.01)
    long = np.array([large * (0.5 + place / 100) for place in range(100)]) * shift
    totals = {"goodput_gbps": 1.0, "loss_rate_in_switches": loss, "loss_rate_in_nics": 0.0}
    series = {"fct_us.small": Series(small), "fct_us.large": Series(long), "fct_us.all": Series(small)}
    return Sample(series, totals, (pl.DataFrame(),))


def made_up(numbers: Mapping[str, tuple[float, float, float]], seeds: int, goal: Any) -> Race:
    """Return a race, given for each candidate the tail, the time of large flows, and the loss."""
    race = Race(fabric(goal=goal), field([*numbers]), Path("nowhere"), choose_engine("local", 1))
    race.measured = {
        LOAD: {
            name: {seed: sample(*values, random.Random(seed)) for seed in range(1, seeds + 1)}  # noqa: S311
            for name, values in numbers.items()
        }
    }
    race.rounds, race.ended = seeds, "it was made up"
    return race


def noisy(numbers: Mapping[str, float], seeds: int, spread: float) -> Race:
    """Return a race, given the time of large flows for each candidate; each run has independent noise."""
    race = made_up({name: (500, large, 0.0) for name, large in numbers.items()}, seeds, "throughput")
    for place, by_seed in enumerate(race.measured[LOAD].values()):
        for seed, each in by_seed.items():
            shift = random.Random(f"{place} {seed}").uniform(1 - spread, 1 + spread)  # noqa: S311
            large = each.series["fct_us.large"]
            each.series["fct_us.large"] = Series(large.values * shift)
    return race


def exact_sample(**values: float | None) -> Sample:
    """Return a sample in which all small flows take `tail` µs and all large flows `large` µs.

    A value of None leaves out these flows. `loss` is the share of packets lost in switches.
    """
    found = {"fct_us.small": (values.get("tail"), 300), "fct_us.large": (values.get("large"), 8)}
    series = {
        name: Series(np.full(count, value)) for name, (value, count) in found.items() if value is not None
    }
    return Sample(series, {"loss_rate_in_switches": values.get("loss") or 0.0}, ())


def exact(kind: type[Made], goal: Any, **numbers: Mapping[str, float | None]) -> Made:
    """Return a race of this class in which every run of a candidate has exactly these values."""
    race = kind(fabric(goal=goal), field([*numbers]), Path("nowhere"), choose_engine("local", 1))
    race.measured = {
        LOAD: {
            name: dict.fromkeys(range(1, SEEDS + 1), exact_sample(**values))
            for name, values in numbers.items()
        }
    }
    race.rounds, race.ended = SEEDS, "it was made up"
    return race
