"""Race of candidate settings: each round simulates the remaining settings with one more seed.

With the same seed, all candidates have the same flows, so differences are paired (`comparison.verdicts`). A
candidate is dropped if another candidate is better in one measure, and in no other measure worse by more than
the indifference zone. All intervals hold jointly: Bonferroni over all remaining pairs, all measures, and all
looks (comparisons of all candidates) so far. docs/design.md gives the reasons.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shallows.advisor.candidates import TODAY, Candidate
from shallows.advisor.fabric import Fabric
from shallows.advisor.goals import AXES, PAUSES, Goal
from shallows.advisor.simulated import sweep_text
from shallows.advisor.simulated_groups import needed
from shallows.comparison import samples
from shallows.comparison.intervals import Interval
from shallows.comparison.samples import Sample
from shallows.comparison.verdicts import SAME, Judgement, estimate, is_measured, judge
from shallows.errors import ShallowsError
from shallows.quantity import percent, size
from shallows.runs.results import describe
from shallows.runs.source import Source
from shallows.runs.threads import cores
from shallows.series.metric import Metric
from shallows.sweeps.points import Outcome, Point, plan, write_index
from shallows.sweeps.sweeps import Engine, run_points

CONFIDENCE = 0.95
"""Joint confidence of all drops of a race."""

DELTA = 0.03
"""Indifference zone of times: smaller relative differences do not count."""

DELTA_LOSS = 1e-4
"""Indifference zone of loss rates: smaller absolute differences do not count."""

DELTA_PAUSES = {"pauses": 1.0, "paused_us": 10.0}
"""Indifference zones of pauses: one pause, or 10 µs of paused time, in a run."""

FIRST_LOOK = 5
"""Number of seeds at the first comparison; with fewer, loss rates get no limits (`verdicts.SEEDS_ALONE`)."""

ALONE = 20
"""Minimum number of seeds for intervals over whole runs.

With fewer seeds, each run is divided into batches, because whole runs give no limits at a race's confidence.
"""

FEWEST_ROUNDS = 8
"""Minimum number of rounds before a race can end because no candidate is dropped any more."""

STABLE = 2
"""Number of consecutive looks (comparisons of all candidates) without a drop after which the race ends."""

COOL_DOWN = 0.05
"""Final share of the arrival period; its flows are excluded, as in `shallows compare`."""

RUNS = "runs"
"""Folder of the race's runs."""

OnRound = Callable[["Progress", Mapping[int, dict[str, Any]], Sequence[Outcome]], None]


@dataclass(frozen=True)
class Objective:
    """A measure at one load, by which candidate settings are compared."""

    goal: Goal
    load: float

    @property
    def metric(self) -> Metric:
        """Return the metric of the objective."""
        return self.goal.metric

    @property
    def delta(self) -> float:
        """Return the smallest change that counts (the indifference zone)."""
        if self.metric.is_relative:
            return DELTA
        return DELTA_PAUSES.get(self.metric.name, DELTA_LOSS)

    @property
    def text(self) -> str:
        """Return the objective in words."""
        return f"{self.goal.said} at {percent(self.load)} load"


@dataclass(frozen=True)
class Drop:
    """A dropped candidate setting, with the reason."""

    name: str
    by: str
    """Name of the candidate that beat the dropped one."""
    seeds: int
    confidence: float
    """Confidence of each interval."""
    changes: tuple[tuple[str, float, float, float], ...]
    """For each objective its text, the relative change, and the lower and upper limit of the change."""


@dataclass(frozen=True)
class Progress:
    """Progress of a race."""

    round: int
    kept: int
    of: int
    left_s: float
    """Remaining budget in seconds."""


@dataclass
class Race:
    """A race of candidate settings: their measurements, and the candidates that remain.

    Parameters
    ----------
    fabric
        The fabric to simulate.
    candidates
        Candidates in their fixed order.
    folder
        Folder of the runs; finished runs are not repeated.
    engine
        Object that runs the simulations; each simulation is a point of a sweep.
    """

    fabric: Fabric
    candidates: Sequence[Candidate]
    folder: Path
    engine: Engine
    kept: list[str] = field(default_factory=list)
    drops: list[Drop] = field(default_factory=list)
    rounds: int = 0
    ended: str = ""
    """Reason for the end of the race."""
    is_stable: bool = False
    """Whether the race ended because comparisons dropped no more candidates."""
    measured: dict[float, dict[str, dict[int, Sample]]] = field(default_factory=dict)
    """Samples by load, candidate and seed."""
    points: list[Point] = field(default_factory=list)
    packet_hops: int = 0
    wall_s: float = 0.0
    """Wall time of all runs, one after another."""
    objectives: list[Objective] = field(default_factory=list)
    invalid: dict[str, str] = field(default_factory=dict)
    """Candidates that cannot win, each with the reason: packets of lossless classes are or may be lost."""

    @property
    def shown(self) -> list[Objective]:
        """Return the measures that the answer shows in addition to the objectives, at the highest load."""
        if not self.fabric.lossless:
            return []
        highest = max(self.fabric.loads)
        decide = {(each.metric, each.load) for each in self.objectives}
        return [Objective(goal, highest) for goal in PAUSES if (goal.metric, highest) not in decide]

    def __post_init__(self) -> None:
        self.invalid = {each.name: why for each in self.candidates if (why := _unsafe(self.fabric, each))}
        self.kept = [each.name for each in self.candidates if each.name not in self.invalid]
        self.objectives = objectives(self.fabric)

    def run(self, budget_s: float, on_round: OnRound, most_rounds: int = 64) -> None:
        """Run rounds until comparisons drop no more settings, or the next round would exceed the budget.

        The first round always completes.

        Raises
        ------
        ShallowsError
            If a candidate cannot run, or no flow matches a goal.
        """
        start, stable = time.monotonic(), 0
        self._check_kept()
        while not self.ended:
            began = time.monotonic()
            self._round(
                Progress(self.rounds + 1, len(self.kept), len(self.candidates), budget_s + start - began),
                on_round,
            )
            if self.rounds >= FIRST_LOOK:
                before = len(self.kept)
                self._look()
                stable = stable + 1 if len(self.kept) == before else 0
            lasted, elapsed = time.monotonic() - began, time.monotonic() - start
            if len(self.kept) == 1:
                self.ended = "one setting is left"
            elif self.rounds >= FEWEST_ROUNDS and stable >= STABLE:
                self.ended, self.is_stable = f"{STABLE} rounds in a row dropped no setting", True
            elif elapsed + lasted > budget_s:
                self.ended = "the budget is spent"
            elif self.rounds >= most_rounds:
                self.ended = f"the maximum number of rounds, {most_rounds}, is reached"
        self.write()

    def write(self) -> None:
        """Write the list of simulated runs."""
        write_index(self.folder / RUNS, self.points)

    def go_on(self, names: Sequence[str], count: int, progress: Progress, on_round: OnRound) -> None:
        """Run `count` more seeds of these settings, then drop beaten settings.

        A setting that has fewer seeds than the race also runs the seeds that it lacks.
        """
        last = self.rounds + count
        lacking: dict[int, list[str]] = {}
        for name in self._with_today(names):
            lacking.setdefault(self.seeds(name), []).append(name)
        for seeds, behind in lacking.items():
            self._run(behind, range(seeds + 1, last + 1), progress, on_round)
        self.rounds = last
        self._reinstate(progress, on_round)
        self._look()

    def _round(self, progress: Progress, on_round: OnRound) -> None:
        """Run one more seed of each remaining setting, at each load."""
        self._run(self._with_today(self.kept), [self.rounds + 1], progress, on_round)
        self.rounds += 1
        self._reinstate(progress, on_round)
        if self.rounds == 1:
            self._choose()

    def _reinstate(self, progress: Progress, on_round: OnRound) -> None:
        """Reinstate settings that an invalid setting had beaten, and run their missing seeds."""
        while undone := [drop for drop in self.drops if drop.by in self.invalid]:
            self.drops = [drop for drop in self.drops if drop not in undone]
            for name in (drop.name for drop in undone if drop.name not in self.invalid):
                self.kept.append(name)
                self._run([name], range(self.seeds(name) + 1, self.rounds + 1), progress, on_round)
            order = [each.name for each in self.candidates]
            self.kept.sort(key=order.index)

    def _run(self, names: Sequence[str], seeds: Sequence[int], progress: Progress, on_round: OnRound) -> None:
        done = run_set(
            self.fabric,
            [each for each in self.candidates if each.name in names],
            loads(self.objectives),
            seeds,
            self.folder / RUNS,
            self.engine,
            lambda running, outcomes: on_round(progress, running, outcomes),
            [objective.metric for objective in self.objectives],
        )
        self.points += done.points
        self.packet_hops += done.packet_hops
        self.wall_s += done.wall_s
        for load, by_name in done.measured.items():
            for name, by_seed in by_name.items():
                self.measured.setdefault(load, {}).setdefault(name, {}).update(by_seed)
        self.invalid |= {name: why for name, why in done.invalid.items() if name not in self.invalid}
        self.kept = [name for name in self.kept if name not in self.invalid]
        self._check_kept()

    def _with_today(self, names: Sequence[str]) -> list[str]:
        """Return the names, with the current setting added if it is invalid.

        An invalid setting is not in the race, but the answer compares the current setting with others.
        """
        return [*names, *([TODAY] if TODAY in self.invalid and TODAY not in names else [])]

    def _check_kept(self) -> None:
        """Reject a race in which every setting is invalid."""
        if not self.kept:
            name = self.candidates[0].name
            raise ShallowsError(
                f"every setting may lose packets of lossless classes; {name}: {self.invalid[name]}",
                'give more headroom: lossless.headroom = "auto", or a larger lossless.headroom_pool',
            )

    def _choose(self) -> None:
        """Keep the objectives for which the simulated traffic has flows; a goal without flows is an error."""
        first = self.measured[self.objectives[0].load][self.candidates[0].name][1]
        for goal in self.fabric.goals:
            if not is_measured(goal.metric, first):
                raise ShallowsError(
                    f"goal: {goal.said!r}: the simulated traffic has no flows of this size",
                    "name other sizes, or raise simulated.flows",
                )
        self.objectives = [each for each in self.objectives if is_measured(each.metric, first)]

    def _look(self) -> None:
        """Drop, in a fixed order, the settings that another remaining setting beats."""
        count = len(self.kept)
        pairs = count * (count - 1) // 2
        look = self.rounds - FIRST_LOOK + 1
        share = share_of_look(look) / max(1, pairs * len(self.objectives))
        confidence = 1 - (1 - CONFIDENCE) * share
        values = {name: [self.value(each, name) for each in self.objectives] for name in self.kept}
        for name in [*self.kept]:
            for other in self.kept:
                if other == name or not self._may_beat(values[other], values[name]):
                    continue
                if (changes := self._beats(other, name, confidence)) is not None:
                    self.drops.append(Drop(name, other, self.rounds, confidence, changes))
                    self.kept.remove(name)
                    break

    def _may_beat(self, mine: Sequence[float | None], theirs: Sequence[float | None]) -> bool:
        """Return whether one setting's estimates beat another's; only then does a look compute intervals."""
        better = False
        for objective, one, other in zip(self.objectives, mine, theirs, strict=True):
            if one is None or other is None:
                return False
            change = one / other - 1 if objective.metric.is_relative and other > 0 else one - other
            if change > objective.delta:
                return False
            better |= change < -objective.delta
        return better

    def _beats(
        self, one: str, other: str, confidence: float
    ) -> tuple[tuple[str, float, float, float], ...] | None:
        """Return the changes by which one setting beats another; None if it does not beat the other."""
        changes, better = [], False
        for objective in self.objectives:
            found = self.judge(objective, other, one, confidence)
            change = found.change
            if change is None or not (found.reason == SAME or change.high <= objective.delta):
                return None
            better |= found.verdict == "better" and change.estimate < -objective.delta
            changes.append((objective.text, change.estimate, change.low, change.high))
        return tuple(changes) if better else None

    def judge(
        self, objective: Objective, baseline: str, other: str, confidence: float = CONFIDENCE
    ) -> Judgement:
        """Judge one setting versus another in one objective, over their common seeds."""
        return judge_pair(self.measured[objective.load], objective.metric, baseline, other, confidence)

    def beats(self, goals: Sequence[Objective], one: str, other: str, confidence: float) -> bool | None:
        """Return whether one setting is better than another in the goals, as `decide` defines it."""
        changes = [(goal.delta, self.judge(goal, other, one, confidence).change) for goal in goals]
        known = [(delta, change) for delta, change in changes if change is not None]
        return decide(known) if len(known) == len(goals) else None

    def value(self, objective: Objective, name: str) -> float | None:
        """Return a setting's value in an objective, over all seeds in which the value was measured."""
        samples = self.measured[objective.load][name].values()
        return estimate(objective.metric, [each for each in samples if is_measured(objective.metric, each)])

    @property
    def per_run_s(self) -> float:
        """Return the mean wall time of a run in seconds, divided by the number of cores in use."""
        return self.wall_s / max(1, len(self.points)) / cores()

    def seeds(self, name: str) -> int:
        """Return the number of seeds with which a setting has run."""
        return len(next(iter(self.measured.values()))[name])


def share_of_look(look: int) -> float:
    """Return the share of the joint error probability that comparison number `look` of a race may use.

    The shares of all comparisons add up to at most one, because the sum of all 1/n² is π²/6.
    """
    return 6 / (math.pi * look) ** 2


@dataclass(frozen=True)
class Ran:
    """Results of a set of runs."""

    points: list[Point]
    measured: dict[float, dict[str, dict[int, Sample]]]
    packet_hops: int
    wall_s: float
    """Wall time of all runs, one after another."""
    invalid: dict[str, str] = field(default_factory=dict)
    """Candidates that lost packets of lossless classes, each with the reason."""


def run_set(
    fabric: Fabric,
    candidates: Sequence[Candidate],
    at: Sequence[float],
    seeds: Sequence[int],
    folder: Path,
    engine: Engine,
    on_update: Callable[[Mapping[int, dict[str, Any]], Sequence[Outcome]], None],
    metrics: Sequence[Metric],
) -> Ran:
    """Run settings at each load and with each seed, as points of a sweep, and read the results.

    Raises
    ------
    ShallowsError
        If a run fails.
    """
    text = sweep_text(fabric, candidates, at, seeds)
    _, points = plan(Source(str(folder.parent / "race.toml"), text), folder)
    measured: dict[float, dict[str, dict[int, Sample]]] = {}
    invalid: dict[str, str] = {}
    hops, wall_s = 0, 0.0
    wanted = [metric.name for metric in metrics if metric.where] + [
        f"fct_us.all.mean@class{place}" for place in range(len(fabric.classes)) if len(fabric.classes) > 1
    ]
    for outcome in run_points(points, engine, on_update):
        labels = outcome.point.source.labels
        if outcome.run is None:
            raise ShallowsError(
                f"the run of {describe(labels)} failed: {outcome.error}",
                "correct the cause and repeat the command; finished runs are kept",
            )
        if lost := _lost(outcome.run.summary):
            why = f"{lost} dropped at {percent(labels['load'])} load, seed {labels['seed']}"
            invalid.setdefault(labels["scheme"], why)
        engine_costs = outcome.run.summary.engine
        hops += engine_costs["packet_hops"]
        wall_s += engine_costs["wall_s"]
        by_name = measured.setdefault(labels["load"], {})
        by_name.setdefault(labels["scheme"], {})[labels["seed"]] = samples.read(
            outcome.run, COOL_DOWN, wanted
        )
    return Ran(points, measured, hops, wall_s, invalid)


def _unsafe(fabric: Fabric, candidate: Candidate) -> str:
    """Describe fixed headroom that cannot hold the bytes that arrive after the decision to pause.

    The result is empty if the headroom is large enough, or if the engine computes it.
    """
    own = candidate.groups.headroom if candidate.groups and fabric.lossless else None
    least = 0 if own is None else needed(fabric, in_cells=False)
    return f"headroom {size(own)}, but {size(least)} can arrive" if own is not None and own < least else ""


def _lost(summary: Mapping[str, Any]) -> str:
    """Describe the packets of lossless classes that a run dropped for lack of headroom; empty if none."""
    lost = sum(each["dropped"] for each in (summary.get("lossless") or {}).values())
    return f"{lost:,} packet{'' if lost == 1 else 's'}" if lost else ""


def decide(changes: Sequence[tuple[float, Interval]]) -> bool | None:
    """Return whether a rival wins, given its relative change in each goal, in order; None if undecided.

    The rival wins if it is better in one goal by more than the indifference zone, and not worse by more than
    that zone in any earlier goal.

    >>> better, none, worse = Interval(-0.1, -0.2, -0.05), Interval(0, -0.02, 0.02), Interval(0.1, 0.05, 0.2)
    >>> wide = Interval(0, -1, 1)
    >>> [decide([(0.03, each)]) for each in (better, none, worse, wide)]
    [True, False, False, None]
    >>> decide([(0.03, none), (0.03, better)]), decide([(0.03, worse), (0.03, better)])
    (True, False)
    >>> decide([(0.03, wide), (0.03, better)]), decide([(0.03, wide), (0.03, worse)])
    (None, None)
    """
    certain = True
    """Whether intervals exclude that the rival is worse in one of the goals before this one."""
    ruled_out = True
    for delta, change in changes:
        if certain and change.high < -delta:
            return True
        ruled_out &= change.low >= -delta
        if change.low > delta:
            break
        certain &= change.high <= delta
    return False if ruled_out else None


def judge_pair(
    measured: Mapping[str, Mapping[int, Sample]], metric: Metric, baseline: str, other: str, confidence: float
) -> Judgement:
    """Judge one setting versus another in one metric, over the seeds in which both have the metric."""
    mine, theirs = measured[baseline], measured[other]
    both = [(mine[seed], theirs[seed]) for seed in mine if seed in theirs]
    pairs = [pair for pair in both if all(is_measured(metric, each) for each in pair)]
    return judge(metric, pairs, confidence, ALONE)


def objectives(fabric: Fabric) -> list[Objective]:
    """Return the distinct objectives: goals at their loads; tail, throughput and loss at the highest load.

    Throughput is also an objective at the lowest load, where low thresholds reduce it first.
    """
    highest, lowest = max(fabric.loads), min(fabric.loads)
    found = [Objective(goal, goal.load or highest) for goal in fabric.goals]
    found += [Objective(goal, highest) for goal in AXES]
    found.append(Objective(AXES[1], lowest))
    first: dict[tuple[str, float], Objective] = {}
    for each in found:
        first.setdefault((each.metric.name, each.load), each)
    return list(first.values())


def loads(of: Sequence[Objective]) -> list[float]:
    """Return the loads of objectives in ascending order."""
    return sorted({objective.load for objective in of})
