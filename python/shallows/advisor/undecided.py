"""Detects undecided races, and estimates how many more seeds and how much time would decide them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from shallows.advisor.race import FEWEST_ROUNDS, Objective, Race, loads
from shallows.advisor.recommendation import Recommendation
from shallows.comparison.intervals import FEWEST_SEEDS, Interval

MOST_SEEDS = 64
"""Maximum number of seeds of a race, as in `Race.run`."""


@dataclass(frozen=True)
class Undecided:
    """Result of a race with rivals that may be better than the recommendation."""

    rivals: tuple[str, ...]
    """Candidates that may be better by more than the indifference zone."""
    seeds: int
    """Further seeds that are likely to decide the race."""
    minutes: int | None
    """Further budget in minutes; None if even `MOST_SEEDS` are unlikely to decide."""

    @property
    def text(self) -> str:
        """Return the headline of the answer."""
        if self.minutes is None:
            return "Undecided: more seeds would not decide; raise simulated.flows"
        unit = "minute" if self.minutes == 1 else "minutes"
        return f"Undecided: about {self.minutes} {unit} more would decide"


def undecided(race: Race, recommendation: Recommendation, share: float) -> Undecided | None:
    """Return the rivals in an undecided race and the effort to decide the race; None if it is decided.

    Parameters
    ----------
    race
        A race that has ended.
    recommendation
        The recommendation of the race.
    share
        Share of the budget that the race gets.
    """
    rivals = recommendation.rivals
    if race.rounds < FEWEST_SEEDS:
        rivals = tuple(name for name in race.kept if name != recommendation.candidate.name)
    if not rivals:
        return None
    needed = max(_needed(race, recommendation, name) for name in rivals)
    if race.rounds >= MOST_SEEDS or needed > MOST_SEEDS:
        return Undecided(rivals, max(0, MOST_SEEDS - race.rounds), None)
    seeds = max(1, math.ceil(needed) - race.rounds)
    runs = seeds * (len(rivals) + 1) * len(loads(race.objectives))
    return Undecided(rivals, seeds, max(1, math.ceil(runs * race.per_run_s / share / 60)))


def _needed(race: Race, recommendation: Recommendation, rival: str) -> float:
    """Estimate the number of seeds that decides between the recommendation and a rival."""
    objective, chosen = recommendation.decided_by, recommendation.candidate.name
    change = race.judge(objective, chosen, rival).change
    return max(float(FEWEST_ROUNDS), *_seeds_for(objective, change, race.rounds))


def _seeds_for(objective: Objective, change: Interval | None, seeds: int) -> Sequence[float]:
    """Estimate the number of seeds with which the interval of `change` excludes −δ (indifference zone).

    The estimate assumes that the width of the interval falls with 1/√seeds. Without a finite interval, the
    estimate is one more seed.
    """
    if change is None or not (math.isfinite(change.low) and math.isfinite(change.high)):
        return [float(seeds + 1)]
    distance = abs(change.estimate + objective.delta)
    width = max(change.estimate - change.low, change.high - change.estimate)
    return [seeds * (width / distance) ** 2 if distance else math.inf]
