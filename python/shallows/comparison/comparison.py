"""Whether one scheme is better than another, as far as their runs can tell. docs/statistics.md says how."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.comparison import samples
from shallows.comparison.samples import TOTALS, Sample
from shallows.comparison.verdicts import Metric, Verdict, judge
from shallows.errors import ShallowsError
from shallows.quantity import finite, percent
from shallows.runs.results import Run, describe
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
    "timeouts_per_flow",
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

    def main(self) -> list[Row]:
        """The rows that are looked at first: of each size of flows what papers show of it."""
        named = {row.metric for row in self.rows}
        tail = "fct_us.small.p99" if "fct_us.small.p99" in named else "fct_us.all.p99"
        return [row for row in self.rows if row.metric in MAIN or row.metric == tail]

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
        }


def compare(
    *schemes: str | Path | Sequence[Run],
    names: Sequence[str] | None = None,
    baseline: str | None = None,
    confidence: float = 0.95,
    cool_down: float = 0.05,
) -> Comparison:
    """Compare schemes by their finished runs.

    Parameters
    ----------
    schemes
        The folder or the runs of each scheme. One folder alone is a sweep with schemes. If each is a single
        run of a sweep with schemes, these are compared.
    names
        What the schemes are called; by default after their folders, or as the sweep names them.
    baseline
        The scheme beside which the others are set; by default the first.
    confidence
        Share of such intervals that shall hold the true change.
    cool_down
        Share of the time in which flows arrive, at its end, whose flows are left out.

    Raises
    ------
    ShallowsError
        If the runs cannot be compared, or their files are not what this version writes.
    """
    if not 0.5 <= confidence < 1:
        raise ShallowsError(f"confidence {confidence} is not in [0.5, 1)", "0.95 is usual")
    if not 0 <= cool_down < 1:
        raise ShallowsError(f"cool-down {cool_down} is not in [0, 1)", "0.05 leaves out the last twentieth")
    found = _Matched.of(schemes, names)
    first = baseline if baseline is not None else next(iter(found.runs))
    if first not in found.runs:
        raise ShallowsError(f"there is no scheme {first!r}", f"the schemes are: {', '.join(found.runs)}")
    others = [name for name in found.runs if name != first]
    if not others:
        raise ShallowsError(
            f"there is one scheme only, {first}",
            "name the folders of two schemes, or that of a sweep with [[sweep.scheme]] tables",
        )
    return _Comparer(found, first, others, confidence, cool_down).compare()


@dataclass(frozen=True)
class _Matched:
    """Runs by scheme, by point, by seed."""

    runs: dict[str, dict[str, dict[int, Run]]]
    points: dict[str, Labels]

    @classmethod
    def of(cls, schemes: Sequence[str | Path | Sequence[Run]], names: Sequence[str] | None) -> "_Matched":
        sides = [runs_in(Path(side)) if isinstance(side, str | Path) else list(side) for side in schemes]
        everything = [run for side in sides for run in side]
        by_label = names is None and all("scheme" in run.labels for run in everything)
        if by_label and (len(sides) == 1 or all(len(side) == 1 for side in sides)):
            return cls._sorted((str(run.labels["scheme"]), run) for run in everything)
        called = list(names) if names is not None else _names(schemes, sides)
        if len(called) != len(sides) or len(set(called)) != len(called):
            raise ShallowsError(
                f"{len(sides)} schemes are called {', '.join(called)}", "give each of them a name of its own"
            )
        # Folders with several schemes each are compared scheme by scheme.
        with_scheme = any(len({run.labels.get("scheme") for run in side}) > 1 for side in sides)
        pairs = ((name, run) for name, side in zip(called, sides, strict=True) for run in side)
        return cls._sorted(pairs, with_scheme=with_scheme)

    @classmethod
    def _sorted(cls, pairs: Iterable[tuple[str, Run]], *, with_scheme: bool = False) -> "_Matched":
        runs: dict[str, dict[str, dict[int, Run]]] = {}
        points: dict[str, Labels] = {}
        left_out = {"seed"} if with_scheme else {"seed", "scheme"}
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
        self, found: _Matched, baseline: str, others: list[str], confidence: float, cool_down: float
    ) -> None:
        self.found, self.baseline, self.others = found, baseline, others
        self.confidence, self.cool_down = confidence, cool_down
        self.notes: dict[str, dict[str, None]] = {}
        """What is to be said, and of which places."""
        self.pairs = self.same_work = 0

    def compare(self) -> Comparison:
        """All verdicts, point by point."""
        rows = []
        mine = self.found.runs[self.baseline]
        for other in self.others:
            if not mine.keys() & (theirs := self.found.runs[other]).keys():
                raise ShallowsError(
                    f"{self.baseline} and {other} have no point in common: {_list(mine)}; {_list(theirs)}",
                    "compare runs of the same axes and values",
                )
            for point in sorted(theirs.keys() - mine.keys()):
                self._note(f"{self.baseline} has no run at {point}: left out")
        for point, runs in mine.items():
            read: dict[Path, Sample] = {}
            for other in self.others:
                if point in self.found.runs[other]:
                    rows += self._compare_point(point, runs, other, read)
                else:
                    self._note(f"{other} has no run at {point}: left out")
        self._note_work()
        self._note_builds()
        self._note_chance(rows)
        return Comparison(
            self.baseline,
            self.confidence,
            self.cool_down,
            rows,
            [_said(*note) for note in self.notes.items()],
        )

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
            for run in pair:
                if run.path not in read:
                    read[run.path] = samples.read(run, self.cool_down)
            sides = [read[run.path] for run in pair]
            self._check_work(pair, sides, _at(other, point))
            pairs.append((sides[0], sides[1]))
        self._note_incomplete(point, other, pairs)
        return [self._row(metric, point, other, pairs) for metric in _metrics(pairs)]

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
        judged = sum(row.has_interval for row in rows)
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
    kinds = [(name, kind) for name in series if name != "timeouts_per_flow" for kind in ("mean", "p99")]
    names = [f"{name}.{kind}" for name, kind in kinds]
    # Losses in the cards of hosts are no result of a network; where there are some, they must be seen.
    totals = [
        name
        for name in TOTALS
        if name != "loss_rate_in_cards" or any(side.totals[name] for pair in pairs for side in pair)
    ]
    return [Metric(name) for name in (*names, *totals, "timeouts_per_flow")]
