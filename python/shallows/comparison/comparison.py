"""Whether one scheme is better than another, as far as their runs can tell. docs/statistics.md says how."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.comparison import places, ranking, samples
from shallows.comparison.ranking import MANY, Ranking
from shallows.comparison.samples import Sample
from shallows.comparison.verdicts import Verdict, judge
from shallows.errors import ShallowsError, listed
from shallows.quantity import finite, percent
from shallows.runs.results import Run, describe
from shallows.series.metric import PER_FLOW, TOTALS, Metric
from shallows.series.offered import Offered
from shallows.sweeps.points import runs_in

if TYPE_CHECKING:
    import polars as pl

Labels = dict[str, Any]


MAIN = {
    "fct_us.all.mean",
    "fct_us.large.mean",
    "slowdown.all.mean",
    "slowdown.all.p99",
    "query_us.all.mean",
    "query_us.all.p99",
    "goodput_gbps",
    "loss_rate_in_switches",
    "loss_rate_in_cards",
    PER_FLOW,
}
"""Beside a tail of completion times."""


@dataclass(frozen=True)
class Row:
    """One verdict: a scheme beside the baseline, in one metric, at one point of the sweep."""

    point: Labels
    scheme: str
    metric: str
    verdict: Verdict
    reason: str
    """Why it cannot be told."""
    baseline_value: float | None
    value: float | None
    change: float | None
    """Value over the baseline's, less one; of losses and `timeouts_per_flow` the difference."""
    low: float | None
    high: float | None
    """Limits of the change; null where the runs do not bound it or cannot tell."""
    groups: str
    """Between what the spread was measured: `5 seeds`, `21 blocks of 3 seeds`."""

    @property
    def has_interval(self) -> bool:
        """Whether the change has a limit on one side at least."""
        return self.low is not None or self.high is not None


@dataclass(frozen=True)
class Comparison:
    """Schemes beside a baseline.

    Examples
    --------
    >>> import shallows as sh
    >>> runs = [[sh.run(sh.example("incast"), {"switch.markers.0.k": k}, seed, folder / f"{k}-{seed}")
    ...          for seed in (1, 2, 3)] for k in ("30KB", "300KB")]
    >>> sh.compare(*runs, names=["K=30KB", "K=300KB"]).table["metric"].to_list()[:2]
    ['fct_us.all.mean', 'fct_us.all.p99']
    """

    baseline: str
    confidence: float
    cool_down: float
    rows: list[Row]
    notes: list[str] = field(default_factory=list)
    """What a reader of the verdicts should know."""
    rankings: list[Ranking] = field(default_factory=list)
    """Of more than six, or where metrics are named: all in their order, at each point of the sweep."""

    def main(self) -> list[Row]:
        """The rows that are looked at first: of each size of flows what papers show of it."""
        named = {row.metric for row in self.rows}
        tail = "fct_us.small.p99" if "fct_us.small.p99" in named else "fct_us.all.p99"
        # What was asked of a workload, class or group was asked for by name.
        return [
            row
            for row in self.rows
            if row.metric in MAIN or row.metric == tail or Metric(row.metric).is_placed
        ]

    @property
    def is_large(self) -> bool:
        """Whether more are compared than one looks at pair by pair."""
        return len({row.scheme for row in self.rows}) >= MANY

    @property
    def table(self) -> "pl.DataFrame":
        """One row for each verdict; the labels of points are columns too."""
        import polars as pl

        rows = [
            row.point | {key: value for key, value in asdict(row).items() if key != "point"}
            for row in self.rows
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def document(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return {
            "baseline": self.baseline,
            "confidence": self.confidence,
            "cool_down": self.cool_down,
            "notes": self.notes,
            "rows": [asdict(row) for row in self.rows],
            "rankings": [asdict(each) for each in self.rankings],
        }


def compare(
    *schemes: str | Path | Sequence[Run],
    names: Sequence[str] | None = None,
    baseline: str | None = None,
    confidence: float = 0.95,
    cool_down: float = 0.05,
    by: str | Sequence[str] | None = None,
    metrics: Sequence[str] | None = None,
) -> Comparison:
    """Compare schemes, or other places of a sweep, by their finished runs.

    Parameters
    ----------
    schemes
        The folder or the runs of each scheme. One folder alone is a sweep with schemes. If each is a single
        run of a sweep with schemes, these are compared.
    names
        What the schemes are called; by default after their folders, or as the sweep names them.
    baseline
        The scheme beside which the others are set; by default the first. With `by`, the values on its axes.
    confidence
        Share of such intervals that shall hold the true change.
    cool_down
        Share of the time in which flows arrive, at its end, whose flows are left out.
    by
        An axis of the sweep, by its key or the key's last word, whose values are compared instead of
        schemes; of several axes, their combinations.
    metrics
        By the first, all are put in order; by all of them, those are found that no other beats. Of more than
        six, this is done by default, with what is looked at first. Times of some workloads, of a class, or of
        what a group of hosts sends or gets, are called `fct_us.small.p99@0`, `slowdown.all.mean@class1`,
        `fct_us.all.mean@group=old` or `fct_us.all.mean@to_group=old`.

    Raises
    ------
    ShallowsError
        If the runs cannot be compared, or their files are not what this version writes.
    """
    if not 0.5 <= confidence < 1:
        raise ShallowsError(f"confidence {confidence} is not in [0.5, 1)", "0.95 is usual")
    if not 0 <= cool_down < 1:
        raise ShallowsError(f"cool-down {cool_down} is not in [0, 1)", "0.05 leaves out the last twentieth")
    for scheme in schemes:
        if not isinstance(scheme, str | Path | Sequence):
            raise ShallowsError(
                f"{type(scheme).__name__} is no scheme",
                "name the folder of each scheme or give a list of its runs; name them with `names`",
            )
    if not schemes:
        raise ShallowsError(
            "there is nothing to compare",
            "name the folders of two schemes, or that of a sweep with [[sweep.scheme]] tables",
        )
    if by is None:
        found = _Matched.of(schemes, names)
    else:
        found = _Matched.by(schemes, [by] if isinstance(by, str) else by)
    first = next(iter(found.runs)) if baseline is None else found.find(baseline)
    if len(found.runs) < 2:
        raise ShallowsError(f"there is one {found.what} only, {first}", found.remedy())
    return _Comparer(found, first, confidence, cool_down, metrics).compare()


@dataclass(frozen=True)
class _Matched:
    """Runs by scheme, by point, by seed."""

    runs: dict[str, dict[str, dict[int, Run]]]
    points: dict[str, Labels]
    places: dict[str, Labels] = field(default_factory=dict)
    """Of what is no scheme: where it is on the axes that are compared."""

    @property
    def what(self) -> str:
        """What is compared."""
        return "place" if self.places else "scheme"

    def find(self, baseline: str) -> str:
        """The scheme or place that is meant."""
        known = self.places or {name: {} for name in self.runs}
        if (found := places.find(baseline, known)) is None:
            raise ShallowsError(
                f"there is no {self.what} {baseline!r}" + (", or there are several" if self.places else ""),
                listed(f"the {self.what}s are", list(self.runs)),
            )
        return found

    def remedy(self) -> str:
        """What to do where there is nothing to compare."""
        if self.places:
            return "name an axis on which the sweep has several values"
        axes = {axis: None for run in self._all() for axis in run.labels if axis not in {"seed", "scheme"}}
        several = [axis for axis in axes if len({str(run.labels.get(axis)) for run in self._all()}) > 1]
        if several:
            return listed("compare the values of an axis with --by; there are", several)
        return "name the folders of two schemes, or that of a sweep with [[sweep.scheme]] tables"

    def _all(self) -> list[Run]:
        return [run for at in self.runs.values() for seeds in at.values() for run in seeds.values()]

    @classmethod
    def by(cls, folders: Sequence[str | Path | Sequence[Run]], by: Sequence[str]) -> "_Matched":
        """The places on some axes of a sweep, of which a folder may hold a part."""
        sides = [runs_in(Path(side)) if isinstance(side, str | Path) else list(side) for side in folders]
        everything = [run for side in sides for run in side]
        axes = places.axes_of(everything, by)
        known: dict[str, Labels] = {}
        pairs = []
        for run in everything:
            place = places.place_of(run, axes)
            known.setdefault(describe(place), place)
            pairs.append((describe(place), run))
        return replace(cls._sorted(pairs, {"seed", *axes}), places=known)

    @classmethod
    def of(cls, schemes: Sequence[str | Path | Sequence[Run]], names: Sequence[str] | None) -> "_Matched":
        sides = [runs_in(Path(side)) if isinstance(side, str | Path) else list(side) for side in schemes]
        everything = [run for side in sides for run in side]
        by_label = names is None and all("scheme" in run.labels for run in everything)
        if by_label and (len(sides) == 1 or all(len(side) == 1 for side in sides)):
            return cls._sorted(((str(run.labels["scheme"]), run) for run in everything), {"seed", "scheme"})
        called = list(names) if names is not None else _names(schemes, sides)
        if len(called) != len(sides) or len(set(called)) != len(called):
            raise ShallowsError(
                f"{len(sides)} schemes are called {', '.join(called)}", "give each of them a name of its own"
            )
        # Folders with several schemes each are compared scheme by scheme.
        with_scheme = any(len({run.labels.get("scheme") for run in side}) > 1 for side in sides)
        pairs = ((name, run) for name, side in zip(called, sides, strict=True) for run in side)
        return cls._sorted(pairs, {"seed"} if with_scheme else {"seed", "scheme"})

    @classmethod
    def _sorted(cls, pairs: Iterable[tuple[str, Run]], left_out: set[str]) -> "_Matched":
        runs: dict[str, dict[str, dict[int, Run]]] = {}
        points: dict[str, Labels] = {}
        for name, run in pairs:
            labels = {axis: value for axis, value in run.labels.items() if axis not in left_out}
            point = describe(labels)
            points.setdefault(point, labels)
            seed = run.environment.get("seed")
            if not isinstance(seed, int):
                raise ShallowsError(f"{run.path / 'env.json'} names no seed", "run its scenario again")
            same = runs.setdefault(name, {}).setdefault(point, {})
            if (other := same.setdefault(seed, run)) is not run:
                raise ShallowsError(
                    f"{other.path} and {run.path} are both {_at(name, point)} with seed {seed}",
                    "name one of them; a folder of each scheme holds one run for each seed and point",
                )
        return cls(runs, points)


def _names(schemes: Sequence[str | Path | Sequence[Run]], sides: list[list[Run]]) -> list[str]:
    paths = [
        Path(scheme) if isinstance(scheme, str | Path) else side[0].path.parent
        for scheme, side in zip(schemes, sides, strict=True)
    ]
    short = [path.resolve().name for path in paths]
    return short if len(set(short)) == len(short) else [str(path) for path in paths]


def _said(text: str, places: Iterable[str]) -> str:
    """A note, with the place or places that it is about."""
    first, *others = places
    more = f" and at {len(others)} more" if others else ""
    return f"{first}{more}: {text}" if first else text


def _at(scheme: str, point: str) -> str:
    return f"{scheme} at {point}" if point else scheme


class _Comparer:
    """Works through the points, and gathers what there is to note."""

    def __init__(
        self,
        found: _Matched,
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
        """Series that are of workloads, classes or groups."""
        self.is_ranked = metrics is not None or len(found.runs) > MANY
        self.notes: dict[str, dict[str, None]] = {}
        """What is to be said, and of which places."""
        self.pairs = self.same_work = self.ranked = 0
        self.rankings: list[Ranking] = []

    def compare(self) -> Comparison:
        """All verdicts, point by point."""
        rows = []
        mine = self.found.runs[self.baseline]
        if self.wanted:
            offered = Offered(next(run for seeds in mine.values() for run in seeds.values()).scenario)
            for name in self.metrics or ():
                Metric(name).check_flows(offered)
        self._check_points(mine)
        for point, runs in mine.items():
            # Of the others, which are read once, only what is ranked stays in memory.
            read: dict[Path, Sample] = {}
            self.kept: dict[str, dict[int, Sample]] = {self.baseline: {}}
            self.known: list[Metric] | None = None
            for other in self.others:
                if point in self.found.runs[other]:
                    rows += self._compare_point(point, runs, other, read)
                else:
                    self._note(f"{other} has no run at {point}: left out")
            if self.known is not None and self.is_ranked:
                self._rank(self.found.points[point], self.known)
        self._note_work()
        self._note_builds()
        self._note_chance(rows)
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
        # Where a sweep leaves points out, so may all be that two places have in common.
        if apart and (not self.found.places or apart == self.others):
            theirs = self.found.runs[apart[0]]
            raise ShallowsError(
                f"{self.baseline} and {apart[0]} have no point in common: {_list(mine)}; {_list(theirs)}",
                "compare runs of the same axes and values",
            )
        for other in self.others:
            for point in sorted(self.found.runs[other].keys() - mine.keys()):
                self._note(f"{self.baseline} has no run at {point}: left out")

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
        """What of a sample is ranked."""
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
                f"{_at(self.baseline, point)} and {other} have no seed in common: "
                f"{_list(runs)}; {_list(theirs)}",
                "run both with the same seeds: then they meet the same flows",
            )
        if left := sorted(runs.keys() ^ theirs.keys()):
            self._note(f"seeds {_list(left)} are not in both, and left out", _at(other, point))
        pairs = []
        for seed in seeds:
            pair = runs[seed], theirs[seed]
            for key in ("measure.warm_up", "measure.fct", "measure.bins"):
                _refuse_if_different(pair, key)
            if pair[0].path not in read:
                read[pair[0].path] = samples.read(pair[0], self.cool_down, self.wanted)
            sides = read[pair[0].path], samples.read(pair[1], self.cool_down, self.wanted)
            self._check_work(pair, sides, _at(other, point))
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
            _refuse_if_different(runs, key)
        self._note(
            f"not the same flows as {self.baseline}'s, though the workload is the same "
            "(a closed loop, or another topology): taken for independent",
            place,
        )

    def _note_incomplete(self, point: str, other: str, pairs: list[tuple[Sample, Sample]]) -> None:
        for side, name in enumerate((self.baseline, other)):
            if count := sum(pair[side].series["fct_us.all"].incomplete for pair in pairs):
                self._note(
                    f"{count:,} flows are not complete; their time so far stands for them", _at(name, point)
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

    def _note_work(self) -> None:
        same = "all" if self.same_work == self.pairs else f"{self.same_work}"
        self._note(
            f"{same} of the {self.pairs} pairs of runs met the same flows at the same times; left out: flows "
            f"of the warm-up, and of the last {percent(self.cool_down)} of the time in which flows arrive; "
            "goodput and loss are of whole runs"
        )

    def _note_builds(self) -> None:
        builds = {
            run.environment.get("source_hash")
            for points in self.found.runs.values()
            for runs in points.values()
            for run in runs.values()
        }
        if len(builds) > 1:
            self._note(f"{len(builds)} builds of the engine made these runs: a difference may be theirs")

    def _note_chance(self, rows: list[Row]) -> None:
        judged = sum(row.has_interval for row in rows) + self.ranked
        expected = judged * (1 - self.confidence)
        if expected >= 0.5:
            self._note(
                f"of {judged} intervals, about {expected:.0f} miss the truth by chance; "
                "a lone verdict among many is no finding"
            )


def _list(values: Iterable[object]) -> str:
    shown = [str(value) or "no axes" for value in values]
    return ", ".join(shown[:6]) + (", …" if len(shown) > 6 else "")


def _refuse_if_different(runs: tuple[Run, Run], key: str) -> None:
    found: list[Any] = [run.scenario for run in runs]
    for part in key.split("."):
        for run, scenario in zip(runs, found, strict=True):
            if isinstance(scenario, dict) and part in scenario:
                continue
            raise ShallowsError(
                f"{run.path / 'resolved.json'} has no {key}: another version wrote it",
                "run its scenario again with this version",
            )
        found = [scenario[part] for scenario in found]
    if found[0] != found[1]:
        path, mine, theirs = _first_difference(key, *found)
        raise ShallowsError(
            f"{runs[0].path} and {runs[1].path} do not match: {path} is {_shown(mine)} and {_shown(theirs)}",
            "compare runs of the same workload, length and measure",
        )


def _first_difference(key: str, mine: Any, theirs: Any) -> tuple[str, Any, Any]:
    if isinstance(mine, dict) and isinstance(theirs, dict):
        for part in sorted(mine.keys() | theirs.keys()):
            if mine.get(part) != theirs.get(part):
                return _first_difference(f"{key}.{part}", mine.get(part), theirs.get(part))
    if isinstance(mine, list) and isinstance(theirs, list) and len(mine) == len(theirs):
        for place, (one, another) in enumerate(zip(mine, theirs, strict=True)):
            if one != another:
                return _first_difference(f"{key}.{place}", one, another)
    return key, mine, theirs


def _shown(value: object) -> str:
    return "not set" if value is None else f"{len(value)} entries" if isinstance(value, list) else repr(value)


def _metrics(pairs: list[tuple[Sample, Sample]]) -> list[Metric]:
    """What all these runs have."""
    everywhere = [side.series.keys() for pair in pairs for side in pair]
    series = [name for name in everywhere[0] if all(name in names for names in everywhere)]
    kinds = [(name, kind) for name in series if Metric(name).kind != PER_FLOW for kind in ("mean", "p99")]
    names = [Metric(name).summarised(kind).name for name, kind in kinds]
    # Losses in the cards of hosts are no result of a network; where there are some, they must be seen.
    totals = [
        name
        for name in TOTALS
        if name != "loss_rate_in_cards" or any(side.totals[name] for pair in pairs for side in pair)
    ]
    return [Metric(name) for name in (*names, *totals, PER_FLOW)]
