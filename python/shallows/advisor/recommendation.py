"""Choice of the recommended setting after a race, and comparison of that setting with all others."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shallows.advisor.candidates import Candidate
from shallows.advisor.goals import THROUGHPUT, Goal, is_of_pauses, value_text
from shallows.advisor.race import CONFIDENCE, DELTA, DELTA_PAUSES, FIRST_LOOK, Objective, Race, share_of_look
from shallows.comparison import intervals
from shallows.comparison.intervals import FEWEST_SEEDS, Interval
from shallows.comparison.samples import Sample
from shallows.comparison.verdicts import SAME, Judgement, Verdict
from shallows.quantity import percent, signed
from shallows.runs import percentiles
from shallows.series.metric import Metric

LOSS_FLOOR = 1e-4
"""Floor for loss rates: smaller rates count as this one when two rates are compared by their ratio."""

PAUSES_FLOOR = DELTA_PAUSES
"""Floors for numbers of pauses and for paused times: smaller values count as these in ratios."""

KEEPS, MISSES, OPEN = "keeps it", "misses it", "cannot tell"


@dataclass(frozen=True)
class Beside:
    """Value of a setting in one objective, and its comparison with the recommended setting."""

    objective: Objective
    value: float | None
    interval: Interval | None
    """Interval of the value over seeds."""
    judgement: Judgement
    """Judgement of the candidate, with the recommended one as the baseline."""

    @property
    def verdict(self) -> Verdict:
        """Return the verdict on this setting versus the recommended one."""
        return self.judgement.verdict

    @property
    def change_text(self) -> str:
        """Return the change with its interval."""
        change = self.judgement.change
        if change is None or not (math.isfinite(change.low) and math.isfinite(change.high)):
            return self.judgement.reason or f"{self.verdict}, without limits"
        if is_of_pauses(self.objective.goal):
            ends = (change.estimate, change.low, change.high)
            estimate, low, high = (_difference(self.objective.metric, each) for each in ends)
            return f"{estimate} ({low} to {high})"
        if self.objective.metric.is_relative:
            estimate, low, high = (signed(each * 100) for each in (change.estimate, change.low, change.high))
            return f"{estimate} % ({low} to {high})"
        parts = [signed(each * 100) for each in (change.estimate, change.low, change.high)]
        return f"{parts[0]} points ({parts[1]} to {parts[2]})"


def _difference(metric: Metric, value: float) -> str:
    """Format a difference of two values of a metric with its sign and unit.

    >>> _difference(Metric("pauses"), -12.0), _difference(Metric("paused_us"), 1500.0)
    ('−12', '+1.5 ms')
    """
    return f"{'−' if value < 0 else '+'}{value_text(metric, abs(value))}"


@dataclass(frozen=True)
class Standing:
    """State of a candidate setting at the end of the race: its values, comparisons and bounds."""

    candidate: Candidate
    seeds: int
    kept: bool
    beside: tuple[Beside, ...]
    bounds: tuple[tuple[Goal, str], ...]
    """Result for each goal with a bound: `keeps it`, `misses it` or `cannot tell`."""
    invalid: str = ""
    """Reason why the candidate cannot win: it loses packets of lossless classes."""


@dataclass(frozen=True)
class Recommendation:
    """The recommended setting, with reasons."""

    candidate: Candidate
    standings: tuple[Standing, ...]
    """Standings of all candidates in their fixed order."""
    reasons: tuple[str, ...]
    """Sentences that give the verdict and then its reasons."""
    equals: tuple[str, ...]
    """Remaining candidates that cannot be distinguished from the recommended one in the deciding measure."""
    decided_by: Objective
    rivals: tuple[str, ...] = ()
    """Remaining candidates that may be better by more than the indifference zone."""

    @property
    def standing(self) -> Standing:
        """Return the standing of the recommended setting."""
        return self.of(self.candidate.name)

    def of(self, name: str) -> Standing:
        """Return the standing of a candidate setting."""
        return next(each for each in self.standings if each.candidate.name == name)


def recommend(race: Race) -> Recommendation:
    """Choose among the candidate settings that remain after a race.

    Candidates that keep all bounds are preferred, then those for which a bound is undecided. If every
    candidate misses a bound, the one that exceeds its bounds least is chosen. Among several preferred
    candidates, the one with the best estimates wins; goals decide in their order. Exception: an earlier
    candidate of the fixed order wins if intervals show that none beats it by more than `race.DELTA`. With
    fewer than three seeds, the first candidate wins. Weighted goals are compared by logarithms.
    """
    kept = [each for each in race.candidates if each.name in race.kept]
    bounded, checked = _bounded(race)
    left, best = _keeping(kept, checked)
    if race.rounds < FEWEST_SEEDS:
        chosen, decided_by = left[0], _deciding(race)[0]
    elif best == 2:
        chosen, decided_by = _least_missing(race, left, bounded)
    elif _is_weighed(race):
        chosen, decided_by = _weigh(race, left), _goals(race)[0]
    else:
        chosen, decided_by = _in_order(race, left)
    standings = tuple(
        _standing(
            race, each, chosen, list(zip([one.goal for one in bounded], checked[each.name], strict=True))
        )
        for each in race.candidates
    )
    equals = tuple(
        each.name
        for each in kept
        if each is not chosen and _is_equal(race, decided_by, chosen, each, len(kept))
    )
    reasons = _reasons(race, chosen, bounded, checked[chosen.name], decided_by, equals)
    rivals = tuple(name for name in contenders(race) if name != chosen.name)
    return Recommendation(chosen, standings, reasons, equals, decided_by, rivals)


def _goals(race: Race) -> list[Objective]:
    """Return the operator's objectives in order."""
    highest = max(race.fabric.loads)
    return [Objective(goal, goal.load or highest) for goal in race.fabric.goals]


def own_interval(
    metric: Metric, by_seed: Mapping[int, Sample], confidence: float = CONFIDENCE
) -> Interval | None:
    """Return the interval of a candidate setting's value over its seeds.

    The result is None with fewer than three seeds, or with too few flows for the metric's percentile.
    """
    import numpy as np

    if len(by_seed) < FEWEST_SEEDS:
        return None
    if metric.is_total:
        return intervals.mean([np.array([each.totals[metric.name]]) for each in by_seed.values()], confidence)
    groups = [each.series[metric.series].values for each in by_seed.values() if metric.series in each.series]
    if len(groups) < len(by_seed) or not all(group.size for group in groups):
        return None
    if not metric.is_percentile:
        return intervals.mean(groups, confidence)
    enough = percentiles.suffices(sum(group.size for group in groups))
    return intervals.percentile(groups, confidence=confidence) if enough else None


def _bound(race: Race, objective: Objective, name: str) -> str:
    """Decide whether a candidate setting keeps the bound of a goal."""
    found = own_interval(objective.metric, race.measured[objective.load][name])
    bound = objective.goal.bound
    if found is None or bound is None:
        return OPEN
    if found.high < bound:
        return KEEPS
    return MISSES if found.low > bound else OPEN


def _state(found: Sequence[str]) -> int:
    """Return 0 if all bounds are kept, 1 if a bound is undecided, 2 if a bound is missed."""
    if MISSES in found:
        return 2
    return 1 if OPEN in found else 0


def _values(race: Race, objective: Objective, left: Sequence[Candidate]) -> dict[str, float]:
    found = {each.name: race.value(objective, each.name) for each in left}
    return {name: math.inf if value is None else value for name, value in found.items()}


def _least_missing(
    race: Race, left: Sequence[Candidate], bounded: Sequence[Objective]
) -> tuple[Candidate, Objective]:
    """Return the setting that exceeds its bounds least; called if every setting misses a bound."""
    missed = [
        {name: value / (one.goal.bound or 1.0) for name, value in _values(race, one, left).items()}
        for one in bounded
    ]
    return min(left, key=lambda each: max(by_name[each.name] for by_name in missed)), bounded[0]


def is_ranked(race: Race) -> bool:
    """Return whether intervals rank settings: goals have no weights, and a setting may keep all bounds."""
    return _ranks(race, _left(race)[1])


def _ranks(race: Race, state: int) -> bool:
    return state < 2 and not _is_weighed(race)


def _left(race: Race) -> tuple[list[Candidate], int]:
    """Return the settings in the race that keep their bounds best, and their state."""
    kept = [each for each in race.candidates if each.name in race.kept]
    return _keeping(kept, _bounded(race)[1])


def contenders(race: Race) -> list[str]:
    """Return the best setting by estimates, and the rivals that may be better by more than `race.DELTA`.

    The result is empty if there is no such rival, if goals have weights, or if all candidates miss a bound.
    """
    left, state = _left(race)
    if not _ranks(race, state):
        return []
    leader, _ = _best(race, left)
    open_with = [
        each.name
        for each in left
        if each is not leader and _beats(race, each, leader, len(left)) is not False
    ]
    return [leader.name, *open_with] if open_with else []


def _bounded(race: Race) -> tuple[list[Objective], dict[str, list[str]]]:
    """Return the goals with a bound, and for each candidate setting whether it keeps these bounds."""
    bounded = [each for each in _goals(race) if each.goal.bound is not None]
    return bounded, {
        each.name: [_bound(race, objective, each.name) for objective in bounded] for each in race.candidates
    }


def _keeping(kept: Sequence[Candidate], checked: Mapping[str, Sequence[str]]) -> tuple[list[Candidate], int]:
    """Return the settings that keep their bounds best (lowest `_state`), and their state."""
    states = {name: _state(found) for name, found in checked.items()}
    best = min(states[each.name] for each in kept)
    return [each for each in kept if states[each.name] == best], best


def _is_weighed(race: Race) -> bool:
    return any(goal.weight is not None for goal in race.fabric.goals)


def _beats(race: Race, one: Candidate, other: Candidate, count: int) -> bool | None:
    """Return whether one setting beats another by more than the indifference zone; None if undecided.

    The error probability of one comparison of all settings is divided equally between the deciding goals and
    all pairs of `count` settings.
    """
    goals = _deciding(race)
    share = share_of_look(max(1, race.rounds - FIRST_LOOK + 1)) / (count * (count - 1) / 2 * len(goals))
    return race.beats(goals, one.name, other.name, 1 - (1 - CONFIDENCE) * share)


def _in_order(race: Race, left: Sequence[Candidate]) -> tuple[Candidate, Objective]:
    """Return the first setting that no other beats by more than `race.DELTA`, and the deciding goal."""
    best, decided_by = _best(race, left)
    for each in left[: left.index(best)]:
        if all(_beats(race, other, each, len(left)) is False for other in left if other is not each):
            return each, decided_by
    return best, decided_by


def _best(race: Race, left: Sequence[Candidate]) -> tuple[Candidate, Objective]:
    """Return the setting with the best estimates, and the deciding goal; only settings with most seeds count.

    Goals with a bound decide only if every goal has one. The goals apply in order: each except the last keeps
    the settings whose values lie within the indifference zone of the best value.
    """
    most = max(race.seeds(each.name) for each in left)
    left = [each for each in left if race.seeds(each.name) == most]
    *firsts, last = _deciding(race)
    for objective in firsts:
        values = _values(race, objective, left)
        best = min(values.values())
        limit = best * (1 + objective.delta) if objective.metric.is_relative else best + objective.delta
        left = [each for each in left if values[each.name] <= limit]
        if len(left) == 1:
            return left[0], objective
    values = _values(race, last, left)
    return min(left, key=lambda each: values[each.name]), last


def _deciding(race: Race) -> list[Objective]:
    """Return the goals without a bound; all goals if every goal has one."""
    return [each for each in _goals(race) if each.goal.bound is None] or _goals(race)


def _weigh(race: Race, left: Sequence[Candidate]) -> Candidate:
    scores = dict.fromkeys((each.name for each in left), 0.0)
    for objective in _goals(race):
        floor = LOSS_FLOOR if objective.metric.is_loss else PAUSES_FLOOR.get(objective.metric.name, 0.0)
        for name, value in _values(race, objective, left).items():
            scores[name] += (objective.goal.weight or 0.0) * math.log(max(value, floor) or 1e-9)
    return min(left, key=lambda each: scores[each.name])


def _standing(race: Race, each: Candidate, chosen: Candidate, bounds: Sequence[tuple[Goal, str]]) -> Standing:
    compared = max(1, len(race.candidates) - 1) * len(race.objectives)
    confidence = 1 - (1 - CONFIDENCE) / compared
    beside = []
    for objective in [*race.objectives, *race.shown]:
        judged = (
            race.judge(objective, chosen.name, each.name, confidence)
            if each is not chosen
            else Judgement(reason=SAME)
        )
        found = own_interval(objective.metric, race.measured[objective.load][each.name])
        beside.append(Beside(objective, race.value(objective, each.name), found, judged))
    invalid = race.invalid.get(each.name, "")
    kept = each.name in race.kept
    return Standing(each, race.seeds(each.name), kept, tuple(beside), tuple(bounds), invalid)


def _is_equal(race: Race, objective: Objective, chosen: Candidate, other: Candidate, kept: int) -> bool:
    confidence = 1 - (1 - CONFIDENCE) / max(1, kept - 1)
    found = race.judge(objective, chosen.name, other.name, confidence)
    return found.verdict == "cannot tell"


def _reasons(
    race: Race,
    chosen: Candidate,
    bounded: Sequence[Objective],
    states: Sequence[str],
    decided_by: Objective,
    equals: Sequence[str],
) -> tuple[str, ...]:
    found = []
    for objective, state in zip(bounded, states, strict=True):
        value = value_text(objective.metric, race.value(objective, chosen.name))
        interval = own_interval(objective.metric, race.measured[objective.load][chosen.name])
        between = (
            ""
            if interval is None
            else f" (95 %: {value_text(objective.metric, max(0.0, interval.low))} to "
            f"{value_text(objective.metric, interval.high) if math.isfinite(interval.high) else 'no limit'})"
        )
        sentence = {KEEPS: "is met", MISSES: "is missed by every setting", OPEN: "is not decided yet"}[state]
        found.append(f"{objective.goal.text}: {value}{between}; the goal {sentence}.")
    if race.rounds >= FEWEST_SEEDS:
        found.append(
            f"The setting was chosen by {decided_by.text}: "
            f"{value_text(decided_by.metric, race.value(decided_by, chosen.name))}"
            f"{' (mean time of large flows)' if decided_by.metric == THROUGHPUT.metric else ''}."
        )
    if race.rounds < FEWEST_SEEDS:
        found.append(
            f"{_seeds(race.rounds)} cannot decide anything, so the first setting is shown. "
            "Allow a larger budget."
        )
    elif equals:
        others = f"{', '.join(equals[:6])}{' and others' if len(equals) > 6 else ''}"
        found.append(
            f"In this, {len(equals)} of the {len(race.kept) - 1} other remaining settings are not known to "
            f"differ: {others}. If no setting is known to be better by more than {percent(DELTA)}, "
            "rules come before defaults."
        )
    if race.invalid:
        names = ", ".join(f"{name} ({why})" for name, why in [*race.invalid.items()][:3])
        found.append(
            "These settings cannot win, because packets of lossless classes are or may be lost: "
            f"{names}{f' and {len(race.invalid) - 3} more' if len(race.invalid) > 3 else ''}."
        )
    found.append(
        f"{len(race.kept)} of {len(race.candidates)} settings remain after {_seeds(race.rounds)}: "
        f"{race.ended}."
        + (
            f" Each dropped setting is worse; the joint confidence of all intervals is {percent(CONFIDENCE)}."
            if race.drops
            else ""
        )
    )
    return tuple(found)


def _seeds(count: int) -> str:
    return f"{count} seed{'' if count == 1 else 's'}"
