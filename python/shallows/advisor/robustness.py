"""Sensitivity analysis: whether the recommendation holds for changed fabrics, and up to which change."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shallows.advisor.candidates import Candidate
from shallows.advisor.fabric import MOST_HOSTS, Fabric
from shallows.advisor.goals import value_text
from shallows.advisor.race import CONFIDENCE, Objective, judge_pair, run_set
from shallows.advisor.recommendation import KEEPS, MISSES, OPEN, Recommendation, own_interval
from shallows.comparison.verdicts import estimate
from shallows.quantity import percent
from shallows.sweeps.points import Outcome
from shallows.sweeps.sweeps import Engine

SEEDS = 5
"""Number of seeds of each variant: the smallest for which loss rates have confidence limits."""

RIVALS = 3
"""Number of rivals that are simulated beside the recommendation."""

HIGHEST_LOAD = 0.95

FOLDER = "sensitivity"


@dataclass(frozen=True)
class Variation:
    """One change of the fabric, with its amount."""

    name: str
    level: str
    slug: str
    fabric: Fabric
    load: float


@dataclass(frozen=True)
class Effect:
    """Effect of a variation on the recommendation."""

    what: Variation
    value: float | None
    """Value of the deciding measure under the recommended setting; None if it was not measured."""
    bounds: tuple[str, ...]
    """Result for each goal with a bound: kept, missed or undecided."""
    better: tuple[str, ...]
    """Rivals whose intervals show that they are better in the deciding measure."""
    flips: bool
    """Whether another setting is better in the changed fabric."""
    text: str


def variations(fabric: Fabric, load: float) -> list[Variation]:
    """Return changed fabrics, up to two of each kind: more load, longer RTTs, CUBIC, or wider incasts."""
    found = []
    for heavier in dict.fromkeys(min(load * more, HIGHEST_LOAD) for more in (1.1, 1.2)):
        if heavier > load:
            found.append(Variation("load", f"{percent(heavier)}", f"load-{heavier:.3g}", fabric, heavier))
    for factor in (1.5, 2.0):
        links = replace(fabric.links, rtt=fabric.links.rtt * factor)
        found.append(Variation("RTT", f"× {factor:g}", f"rtt-{factor:g}", replace(fabric, links=links), load))
    if any(each.transport != "cubic" for each in fabric.classes):
        classes = tuple(replace(each, transport="cubic") for each in fabric.classes)
        # A class's transport applies at all hosts; only with one transport can half of the hosts differ.
        if len({each.transport for each in fabric.classes}) == 1:
            half = replace(fabric, every_second="cubic")
            found.append(Variation("hosts", "half run CUBIC with ECN", "half-cubic", half, load))
        found.append(
            Variation("hosts", "all run CUBIC with ECN", "cubic", replace(fabric, classes=classes), load)
        )
    if fabric.incast:
        for factor in (1.5, 2.0):
            senders = min(round(fabric.incast.senders * factor), MOST_HOSTS - 1)
            if senders > fabric.incast.senders:
                incast = replace(fabric.incast, senders=senders)
                # The number of loaded ports stays the same; more hosts send.
                hosts = min(MOST_HOSTS, max(fabric.hosts, senders + 1))
                changed = replace(fabric, incast=incast, hosts=hosts)
                found.append(Variation("incast", f"{senders} senders", f"incast-{senders}", changed, load))
    return found


def rivals(found: Recommendation) -> list[Candidate]:
    """Return up to `RIVALS` rivals: the current setting, then remaining settings, then dropped ones."""
    others = [each for each in found.standings if each.candidate is not found.candidate and not each.invalid]
    others.sort(key=lambda each: (each.candidate.origin != "today", not each.kept))
    return [each.candidate for each in others[:RIVALS]]


def check(
    recommended: Recommendation,
    fabric: Fabric,
    folder: Path,
    engine: Engine,
    has_time: Callable[[], bool],
    on_update: Callable[[Variation, Mapping[int, dict[str, Any]], Sequence[Outcome]], None],
    seeds: int = SEEDS,
) -> list[Effect]:
    """Simulate the recommended setting and its rivals in each changed fabric, until `has_time` is false."""
    objective = recommended.decided_by
    field = [recommended.candidate, *rivals(recommended)]
    bounded = [goal for goal in fabric.goals if goal.bound is not None]
    effects = []
    for what in variations(fabric, objective.load):
        if not has_time():
            break
        metrics = [objective.metric, *(goal.metric for goal in bounded)]

        def said(
            running: Mapping[int, dict[str, Any]], outcomes: Sequence[Outcome], what: Variation = what
        ) -> None:
            on_update(what, running, outcomes)

        numbers = list(range(1, seeds + 1))
        place = folder / FOLDER / what.slug
        ran = run_set(what.fabric, field, [what.load], numbers, place, engine, said, metrics)
        valid = [each for each in field if each is field[0] or each.name not in ran.invalid]
        effect = _effect(recommended, what, objective, ran.measured[what.load], valid)
        if lost := ran.invalid.get(recommended.candidate.name):
            effect = replace(effect, flips=True, text=f"{effect.text}; invalid: {lost}")
        effects.append(effect)
    return effects


def _effect(
    recommended: Recommendation,
    what: Variation,
    objective: Objective,
    measured: Mapping[str, Any],
    field: Sequence[Candidate],
) -> Effect:
    name = recommended.candidate.name
    bounds = []
    for goal, before in recommended.standing.bounds:
        interval = own_interval(goal.metric, measured[name])
        state = OPEN
        if interval is not None and goal.bound is not None:
            state = KEEPS if interval.high < goal.bound else MISSES if interval.low > goal.bound else OPEN
        bounds.append((goal, before, state))
    confidence = 1 - (1 - CONFIDENCE) / max(1, len(field) - 1)
    better = tuple(
        each.name
        for each in field[1:]
        if judge_pair(measured, objective.metric, name, each.name, confidence).verdict == "better"
        and _stands(each, recommended, measured)
        and not _worse_before(recommended, each)
    )
    value = estimate(objective.metric, list(measured[name].values()))
    lost = [goal for goal, before, state in bounds if before == KEEPS and state == MISSES]
    parts = [f"{objective.goal.said} {value_text(objective.metric, value)}"]
    parts += [f"{goal.text}: {'is missed' if state == MISSES else state}" for goal, _, state in bounds]
    if better:
        parts.append(f"{', '.join(better)} would be better")
    return Effect(
        what, value, tuple(state for *_, state in bounds), better, bool(lost or better), "; ".join(parts)
    )


def _stands(each: Candidate, recommended: Recommendation, measured: Mapping[str, Any]) -> bool:
    """Return whether a rival keeps, or may keep, every goal's bound in the changed fabric."""
    for goal, _ in recommended.standing.bounds:
        interval = own_interval(goal.metric, measured[each.name])
        if interval is not None and goal.bound is not None and interval.low > goal.bound:
            return False
    return True


def _worse_before(recommended: Recommendation, each: Candidate) -> bool:
    """Return whether a rival was already better in the deciding measure in the unchanged fabric."""
    found = next(one for one in recommended.of(each.name).beside if one.objective == recommended.decided_by)
    return found.verdict == "better"
