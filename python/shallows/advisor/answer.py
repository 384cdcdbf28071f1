"""Answer to a fabric's operator: rules, simulated settings, recommendation and sensitivity analysis."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from shallows.advisor import robustness
from shallows.advisor.advised import Contradiction, advised, contradictions
from shallows.advisor.candidates import Candidate, candidates
from shallows.advisor.configuration import Switch
from shallows.advisor.configured import Configured, configured
from shallows.advisor.fabric import Fabric
from shallows.advisor.final import run_to_end
from shallows.advisor.goals import AXES, Goal
from shallows.advisor.race import (
    CONFIDENCE,
    COOL_DOWN,
    Objective,
    OnRound,
    Race,
    judge_pair,
    loads,
    run_set,
)
from shallows.advisor.recommendation import Recommendation, Standing, recommend
from shallows.advisor.robustness import Effect, Variation
from shallows.advisor.rules import Advice
from shallows.advisor.simulated import assumptions, sweep_text
from shallows.advisor.undecided import Undecided, undecided
from shallows.comparison import samples
from shallows.comparison.verdicts import Judgement, judge
from shallows.errors import ShallowsError
from shallows.quantity import finite
from shallows.runs.folder import check_writable, write_whole
from shallows.series.metric import Metric
from shallows.sweeps.points import Outcome
from shallows.sweeps.sweeps import Engine

RACE_SHARE = 0.7
"""Share of the budget for the race; the rest is for the sensitivity analysis."""

SCENARIO = "race.toml"
"""Name of the file that lists all simulations of the race as a sweep."""

OnVariation = Callable[[Variation, Mapping[int, dict[str, Any]], Sequence[Outcome]], None]


@dataclass(frozen=True)
class ClassRow:
    """One measure of one class, compared between the recommendation and another setting."""

    name: str
    metric: str
    judgement: Judgement
    """Judgement of the recommendation; the baseline is `Answer.before`."""


@dataclass
class Answer:
    """The answer to an operator; its fields are filled step by step."""

    fabric: Fabric
    today: Candidate | None = None
    notes: list[str] = field(default_factory=list)
    """Omissions and assumptions in the conversion of the current configuration to a candidate."""
    race: Race | None = None
    recommendation: Recommendation | None = None
    undecided: Undecided | None = None
    """Rivals in an undecided race, and the effort that would decide the race; None if it is decided."""
    effects: list[Effect] = field(default_factory=list)
    switch: Switch | None = None
    """The current configuration."""
    config: str | Path | None = None
    """Path of the current configuration: a file, or a folder of files."""
    to: str | None = None
    """Vendor's format of the written change, such as `sonic`; None if no change is written."""
    configured: Configured | None = None
    rounding: list[tuple[Objective, Judgement]] = field(default_factory=list)
    """Cost of rounding to the format's units: the rounded versus the recommended setting, per objective."""
    before: str = ""
    """Name of the candidate that is the baseline in `classes`: the current setting or a vendor's default."""
    classes: list[ClassRow] = field(default_factory=list)
    written: dict[str, Path] = field(default_factory=dict)
    """Written files by name: `document`, `page`, and for a change also `change` and `rollback`."""

    @property
    def chosen(self) -> Candidate:
        """Return the recommended setting; before any simulation, the first setting that rules give."""
        if self.recommendation is not None:
            return self.recommendation.candidate
        return candidates(self.fabric)[0]

    @property
    def headline(self) -> str:
        """Return the answer in one sentence."""
        chosen = f"{self.chosen.name}: {self.chosen.text}"
        if self.recommendation is None:
            return f"By rules alone, not simulated: {chosen}"
        if self.undecided is not None:
            return f"{self.undecided.text}. Best so far: {chosen}"
        return f"{'Keep' if self.chosen is self.today else 'Take'} {chosen}"

    @property
    def rules(self) -> list[Advice]:
        """Return the numbers that the rules of the literature give."""
        return advised(self.fabric)

    @property
    def contradictions(self) -> list[Contradiction]:
        """Return the contradictions between rules."""
        return contradictions(self.fabric)

    @property
    def assumptions(self) -> list[str]:
        """Return simplifications and assumptions."""
        return [*assumptions(self.fabric), *self.notes]

    def document(self) -> dict[str, Any]:
        """Return the answer as a JSON document."""
        found: dict[str, Any] = {
            "fabric": self.fabric.name,
            "goals": [goal.text for goal in self.fabric.goals],
            "rules": [asdict(each) for each in self.rules],
            "contradictions": [asdict(each) for each in self.contradictions],
            "headline": self.headline,
        }
        if self.race is None or self.recommendation is None:
            return found | {"by_rules": asdict(self.chosen) | {"text": self.chosen.text}}
        chosen = self.recommendation.candidate
        return found | {
            "recommendation": asdict(chosen) | {"text": chosen.text},
            "undecided": asdict(self.undecided) | {"text": self.undecided.text} if self.undecided else None,
            "reasons": list(self.recommendation.reasons),
            "cannot_be_told_from": list(self.recommendation.equals),
            "kept": list(self.race.kept),
            "invalid": dict(self.race.invalid),
            "dropped": [asdict(each) for each in self.race.drops],
            "seeds": self.race.rounds,
            "packet_hops": self.race.packet_hops,
            "ended": self.race.ended,
            "standings": [_standing(each) for each in self.recommendation.standings],
            "robustness": [
                {"what": each.what.name, "level": each.what.level, "flips": each.flips, "text": each.text}
                for each in self.effects
            ],
            "assumptions": self.assumptions,
            "configuration": asdict(self.configured) if self.configured else None,
        }


def _standing(each: Standing) -> dict[str, Any]:
    numbers = []
    for one in each.beside:
        own, change = one.interval, one.judgement.change
        numbers.append(
            {
                "number": one.objective.goal.said,
                "metric": one.objective.metric.name,
                "load": one.objective.load,
                "value": one.value,
                "low": finite(own.low) if own else None,
                "high": finite(own.high) if own else None,
                "verdict": one.verdict,
                "reason": one.judgement.reason,
                "change": change.estimate if change else None,
                "change_low": finite(change.low) if change else None,
                "change_high": finite(change.high) if change else None,
            }
        )
    return {
        "name": each.candidate.name,
        "settings": each.candidate.text,
        "origin": each.candidate.origin,
        "seeds": each.seeds,
        "kept": each.kept,
        "numbers": numbers,
    }


def answer(
    found: Answer,
    folder: Path,
    engine: Engine,
    budget_s: float,
    clock: Callable[[], float],
    on_round: OnRound,
    on_variation: OnVariation,
    most_rounds: int = 64,
) -> None:
    """Simulate settings, recommend one, run the sensitivity analysis, and store the results in `found`.

    Parameters
    ----------
    found
        Answer that has the fabric and its current configuration; receives the results.
    folder
        Folder of the runs, and of the sweep file with which users can repeat them.
    engine
        Object that runs the simulations; each simulation is a point of a sweep.
    budget_s
        Wall time in seconds. A round that has started is completed.
    clock
        Returns the time in seconds.
    on_round, on_variation
        Callbacks for progress.
    most_rounds
        Maximum number of rounds of the race.

    Raises
    ------
    ShallowsError
        If a setting cannot be simulated, or a file cannot be written.
    """
    check_writable(folder)
    start = clock()
    race = Race(found.fabric, candidates(found.fabric, found.today), folder, engine)
    if len(race.candidates) < 2:
        raise ShallowsError(
            "the fabric's file allows only one setting to simulate; at least two are needed",
            "remove buffer.alpha, or raise buffer.pool",
        )
    run_to_end(race, RACE_SHARE * budget_s, on_round, most_rounds)
    found.race, found.recommendation = race, recommend(race)
    found.undecided = undecided(race, found.recommendation, RACE_SHARE)
    seeds = range(1, race.rounds + 1)
    text = sweep_text(found.fabric, race.candidates, loads(race.objectives), seeds)
    write_whole(folder / SCENARIO, text)
    found.before, found.classes = _by_class(found)
    if found.to is not None and found.recommendation.candidate is not found.today:
        found.configured = configured(found.to, found.switch, found.fabric, found.recommendation.candidate)
        found.rounding = _rounding(found, race)
    per_run = (clock() - start) / max(1, len(race.points))
    each = per_run * (robustness.RIVALS + 1) * robustness.SEEDS
    found.effects = robustness.check(
        found.recommendation,
        found.fabric,
        folder,
        engine,
        lambda: clock() - start + each < budget_s,
        on_variation,
    )


def _rounding(found: Answer, race: Race) -> list[tuple[Objective, Judgement]]:
    """Compare the rounded setting with the recommended one, by simulating both with the same seeds."""
    if found.configured is None or found.recommendation is None or found.configured.rounded is None:
        return []
    rounded, chosen = found.configured.rounded, found.recommendation.candidate
    metrics = [objective.metric for objective in race.objectives]
    seeds = range(1, robustness.SEEDS + 1)
    place = race.folder / "rounded"
    ran = run_set(
        found.fabric,
        [chosen, rounded],
        loads(race.objectives),
        seeds,
        place,
        race.engine,
        _say_nothing,
        metrics,
    )
    return [
        (each, judge_pair(ran.measured[each.load], each.metric, chosen.name, rounded.name, CONFIDENCE))
        for each in race.objectives
    ]


def _say_nothing(*_: object) -> None:
    """Report no progress, because the runs are short."""


def _by_class(found: Answer) -> tuple[str, list[ClassRow]]:
    """Compare the recommendation with the current setting, class by class.

    Without a current setting, the first simulated default of a vendor takes its place. The result is the name
    of the setting that is compared with the recommendation, and the rows of the table.
    """
    race, recommended = found.race, found.recommendation
    if race is None or recommended is None:
        return "", []
    before = found.today or next(each for each in race.candidates if each.origin == "default")
    load = recommended.decided_by.load
    sides = [
        {
            point.source.labels["seed"]: point
            for point in race.points
            if point.source.labels["scheme"] == name and point.source.labels["load"] == load
        }
        for name in (before.name, recommended.candidate.name)
    ]
    common = [seed for seed in sides[0] if seed in sides[1]]
    rows: list[ClassRow] = []
    names = [each.name for each in found.fabric.classes]
    wheres = [f"class{place}" for place in range(len(names))] if len(names) > 1 else [""]
    from shallows.runs.results import Run

    read = [
        [
            samples.read(
                Run(side[seed].folder),
                COOL_DOWN,
                [Metric("fct_us.all.mean").at(where).name for where in wheres if where],
            )
            for side in sides
        ]
        for seed in common
    ]
    for name, where in zip(names, wheres, strict=True):
        for goal in _of_class():
            metric = goal.metric.at(where)
            if all(metric.series in sample.series for pair in read for sample in pair):
                judged = judge(metric, [(pair[0], pair[1]) for pair in read], 0.95)
                rows.append(ClassRow(name, goal.said, judged))
    return before.name, rows


def _of_class() -> Sequence[Goal]:
    tail, throughput, _ = AXES
    return (
        tail,
        Goal("mean of small flows", Metric("fct_us.small.mean")),
        Goal("mean of large flows", throughput.metric),
    )
