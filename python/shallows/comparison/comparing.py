"""Compares schemes point by point and judges each metric."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from shallows.comparison import ranking, samples
from shallows.comparison.comparison import Comparison
from shallows.comparison.matched import Matched, listing, named_at, refuse_if_different
from shallows.comparison.ranking import MANY, Labels, Ranking
from shallows.comparison.rows import Row
from shallows.comparison.samples import Sample
from shallows.comparison.verdicts import judge
from shallows.errors import ShallowsError
from shallows.quantity import finite, percent
from shallows.runs.bins import defined, edges_of
from shallows.runs.index import Runs
from shallows.runs.results import Run
from shallows.series.metric import PAUSES, PER_FLOW, TOTALS, Metric
from shallows.series.offered import Offered


def compare(
    *schemes: Runs,
    names: Sequence[str] | None = None,
    baseline: str | None = None,
    confidence: float = 0.95,
    cool_down: float = 0.05,
    by: str | Sequence[str] | None = None,
    metrics: Sequence[str] | None = None,
) -> Comparison:
    """Compare schemes, or other values of a sweep, by their finished runs.

    Parameters
    ----------
    schemes
        The folder, the runs or a `Sweep` of each scheme; or one sweep with schemes. If each argument is a
        single run of such a sweep, these runs are compared.
    names
        Names of the schemes; default: the folders' names, or the sweep's names.
    baseline
        Name of the baseline; default: the first scheme. With `by`, the baseline's values on the axes.
    confidence
        Confidence level of the intervals, such as 0.95.
    cool_down
        Share of the arrival period, at its end, whose flows are excluded.
    by
        Axes of the sweep, each named by its key or the key's last word. Their combined values are compared
        instead of schemes.
    metrics
        Metrics of a ranking: the first metric orders the values, and all metrics together define which are
        Pareto-optimal. Default: a ranking by the two main metrics if there are more than six values,
        otherwise none. Metrics of workloads, classes, or a group's senders or receivers are named
        `fct_us.small.p99@0`, `slowdown.all.mean@class1`, `fct_us.all.mean@group=old` or
        `fct_us.all.mean@to_group=old`.

    Raises
    ------
    ShallowsError
        If the runs cannot be compared, or another version wrote their files.
    """
    if not 0.5 <= confidence < 1:
        raise ShallowsError(
            f"confidence must be at least 0.5 and below 1, got {confidence}", "pass 0.95, the usual value"
        )
    if not 0 <= cool_down < 1:
        raise ShallowsError(
            f"cool-down must be at least 0 and below 1, got {cool_down}",
            "pass 0.05 to leave out the last 5 % of the time",
        )
    for scheme in schemes:
        if not isinstance(scheme, str | Path | Run | Sequence):
            raise ShallowsError(
                f"a scheme must be a folder, a run or a list of runs, got {type(scheme).__name__}",
                "pass the folder of each scheme or a list of its runs; `names` gives names to schemes",
            )
    if not schemes:
        raise ShallowsError(
            "a comparison needs at least two schemes, got none",
            "name the folders of two schemes, or the folder of a sweep with [[sweep.scheme]] tables",
        )
    if by is None:
        found = Matched.of(schemes, names)
    else:
        found = Matched.by(schemes, [by] if isinstance(by, str) else by)
    first = next(iter(found.runs)) if baseline is None else found.find(baseline)
    if len(found.runs) < 2:
        raise ShallowsError(
            f"a comparison needs at least two {found.what}s, got only {first}", found.remedy()
        )
    return _Comparer(found, first, confidence, cool_down, metrics).compare()


class _Comparer:
    """Compares schemes at each point of the sweep in turn, and collects notes."""

    def __init__(
        self,
        found: Matched,
        baseline: str,
        confidence: float,
        cool_down: float,
        metrics: Sequence[str] | None,
    ) -> None:
        self.found, self.baseline = found, baseline
        self.others = [name for name in found.runs if name != baseline]
        self.confidence, self.cool_down = confidence, cool_down
        self.metrics = metrics
        self.wanted = {metric.series for metric in map(Metric, metrics or ()) if metric.is_placed}
        """Series of workloads, classes or groups that the named metrics need, beyond those of all flows."""
        self.is_ranked = metrics is not None or len(found.runs) > MANY
        self.notes: dict[str, dict[str, None]] = {}
        """Notes, each with the names of the compared schemes or values that it concerns."""
        self.pairs = self.same_work = self.ranked = 0
        self.rankings: list[Ranking] = []

    def compare(self) -> Comparison:
        """Return all verdicts, point by point."""
        rows = []
        mine = self.found.runs[self.baseline]
        if self.wanted:
            offered = Offered(next(run for seeds in mine.values() for run in seeds.values()).scenario)
            for name in self.metrics or ():
                Metric(name).check_flows(offered)
        self._check_points(mine)
        for point, runs in mine.items():
            # Samples of other schemes are read once; only the data for rankings stays in memory.
            read: dict[Path, Sample] = {}
            self.kept: dict[str, dict[int, Sample]] = {self.baseline: {}}
            self.known: list[Metric] | None = None
            for other in self.others:
                if point in self.found.runs[other]:
                    rows += self._compare_point(point, runs, other, read)
                else:
                    self._note(f"{other} has no run at {point}; the point is left out")
            if self.known is not None and self.is_ranked:
                self._rank(self.found.points[point], self.known)
        self._note_work()
        self._note_builds()
        self._note_chance(rows)
        self._note_sizes()
        return Comparison(
            self.baseline,
            self.confidence,
            self.cool_down,
            rows,
            [_said(*note) for note in self.notes.items()],
            self.rankings,
        )

    def _check_points(self, mine: dict[str, dict[int, Run]]) -> None:
        apart = [other for other in self.others if not mine.keys() & self.found.runs[other].keys()]
        # A pair may have no common point, because a sweep can exclude points.
        if apart and (not self.found.places or apart == self.others):
            theirs = self.found.runs[apart[0]]
            raise ShallowsError(
                f"{self.baseline} and {apart[0]} have no point in common: "
                f"{listing(mine)} versus {listing(theirs)}",
                "compare runs of the same axes and values",
            )
        for other in self.others:
            for point in sorted(self.found.runs[other].keys() - mine.keys()):
                self._note(f"{self.baseline} has no run at {point}; the point is left out")

    def _rank(self, point: Labels, known: list[Metric]) -> None:
        fewest = {
            name: min(
                sum(
                    sample.series[name].values.size if name in sample.series else 0
                    for sample in seeds.values()
                )
                for seeds in self.kept.values()
            )
            for name in ranking.CANDIDATES
        }
        chosen = ranking.choose(self.metrics, known, fewest)
        race = ranking.Race(self.kept, chosen, self.confidence)
        self.rankings.append(race.rank(point))
        self.ranked += race.judged

    def _keep(self, name: str, seed: int, sample: Sample) -> None:
        """Store the series of a sample that rankings need; store nothing if values are not ranked."""
        if self.is_ranked:
            wanted = {Metric(each).series for each in self.metrics or ()} | set(ranking.CANDIDATES)
            series = {each: values for each, values in sample.series.items() if each in wanted}
            self.kept.setdefault(name, {})[seed] = Sample(series, sample.totals, ())

    def _note(self, text: str, place: str = "") -> None:
        self.notes.setdefault(text, {})[place] = None

    def _compare_point(
        self, point: str, runs: dict[int, Run], other: str, read: dict[Path, Sample]
    ) -> list[Row]:
        theirs = self.found.runs[other][point]
        seeds = sorted(runs.keys() & theirs.keys())
        if not seeds:
            raise ShallowsError(
                f"{named_at(self.baseline, point)} and {other} have no seed in common: "
                f"{listing(runs)} versus {listing(theirs)}",
                "run both with the same seeds, so that both have the same flows",
            )
        if left := sorted(runs.keys() ^ theirs.keys()):
            self._note(f"left out: seeds {listing(left)}, which only one side has", named_at(other, point))
        pairs = []
        for seed in seeds:
            pair = runs[seed], theirs[seed]
            for key in ("measure.warm_up", "measure.fct", "measure.bins"):
                refuse_if_different(pair, key)
            if pair[0].path not in read:
                read[pair[0].path] = samples.read(pair[0], self.cool_down, self.wanted)
            sides = read[pair[0].path], samples.read(pair[1], self.cool_down, self.wanted)
            self._check_work(pair, sides, named_at(other, point))
            pairs.append(sides)
            for name, side in zip((self.baseline, other), sides, strict=True):
                self._keep(name, seed, side)
        self._note_incomplete(point, other, pairs)
        metrics = _metrics(pairs)
        self.known = [each for each in metrics if self.known is None or each in self.known]
        if self.metrics is not None:
            ranking.choose(self.metrics, self.known, {})
        return [self._row(metric, point, other, pairs) for metric in metrics]

    def _check_work(self, runs: tuple[Run, Run], sides: Sequence[Sample], place: str) -> None:
        self.pairs += 1
        if sides[0].met_the_same(sides[1]):
            self.same_work += 1
            return
        for key in ("workload", "stop"):
            refuse_if_different(runs, key)
        self._note(
            f"the flows differ from those of {self.baseline} although the workload is the same (closed loop "
            "or another topology); the runs count as independent",
            place,
        )

    def _note_incomplete(self, point: str, other: str, pairs: list[tuple[Sample, Sample]]) -> None:
        for side, name in enumerate((self.baseline, other)):
            if count := sum(pair[side].series["fct_us.all"].incomplete for pair in pairs):
                self._note(
                    f"{count:,} flows are unfinished; their times until the end of the run are used",
                    named_at(name, point),
                )

    def _row(self, metric: Metric, point: str, other: str, pairs: list[tuple[Sample, Sample]]) -> Row:
        result = judge(metric, pairs, self.confidence)
        change = result.change
        return Row(
            self.found.points[point],
            other,
            metric.name,
            result.verdict,
            result.reason,
            result.baseline_value,
            result.value,
            change.estimate if change else None,
            finite(change.low) if change else None,
            finite(change.high) if change else None,
            result.groups,
        )

    def _note_sizes(self) -> None:
        runs = [run for seeds in self.found.runs[self.baseline].values() for run in seeds.values()]
        if said := defined(edges_of(runs[0].scenario)):
            self._note(f"sizes of flows: {said}")

    def _note_work(self) -> None:
        same = "all" if self.same_work == self.pairs else f"{self.same_work}"
        self._note(
            f"{same} of the {self.pairs} pairs of runs have the same flows at the same times; flows of the "
            f"warm-up and of the last {percent(self.cool_down)} of the time in which flows arrive are left "
            "out; goodput and loss are of whole runs"
        )

    def _note_builds(self) -> None:
        builds = {
            run.environment.get("source_hash")
            for points in self.found.runs.values()
            for runs in points.values()
            for run in runs.values()
        }
        if len(builds) > 1:
            self._note(f"the runs come from {len(builds)} builds of the engine, which may cause differences")

    def _note_chance(self, rows: list[Row]) -> None:
        judged = sum(row.has_interval for row in rows) + self.ranked
        expected = judged * (1 - self.confidence)
        if expected >= 0.5:
            self._note(
                f"about {expected:.0f} of {judged} intervals miss the true value by chance; "
                "do not rely on a single verdict among many"
            )


def _said(text: str, places: Iterable[str]) -> str:
    """Prefix a note with the first point that it applies to, and the number of further points."""
    first, *others = places
    more = f" and at {len(others)} more" if others else ""
    return f"{first}{more}: {text}" if first else text


def _metrics(pairs: list[tuple[Sample, Sample]]) -> list[Metric]:
    """Return the metrics that all runs of these pairs have."""
    everywhere = [side.series.keys() for pair in pairs for side in pair]
    series = [name for name in everywhere[0] if all(name in names for names in everywhere)]
    kinds = [(name, kind) for name in series if Metric(name).kind != PER_FLOW for kind in ("mean", "p99")]
    names = [Metric(name).summarised(kind).name for name, kind in kinds]
    # Losses in NICs are not losses of the network; they are shown only if there are any.
    totals = [
        name
        for name in TOTALS
        if name != "loss_rate_in_nics" or any(side.totals[name] for pair in pairs for side in pair)
    ]
    pauses = [name for name in PAUSES if all(name in side.totals for pair in pairs for side in pair)]
    return [Metric(name) for name in (*names, *totals, *pauses, PER_FLOW)]
