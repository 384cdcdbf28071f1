"""Agreement of simulation and real TCP: a verdict for each metric, from an interval over pairs of runs.

The two runs of a pair have the same seed and therefore the same flows. docs/testbed.md lists the metrics and
the bounds of agreement.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from shallows.comparison import intervals
from shallows.comparison.intervals import FEWEST_SEEDS
from shallows.errors import ShallowsError
from shallows.quantity import digits, finite, parse_time, percent, signed
from shallows.runs import percentiles
from shallows.runs.bins import bins
from shallows.runs.results import Run
from shallows.runs.table import NOTHING, Table
from shallows.series.backlogs import backlogs, busiest

if TYPE_CHECKING:
    from shallows.runs.steps import Series

Verdict = Literal["agree", "differ", "cannot tell"]


@dataclass(frozen=True)
class Agreement:
    """One metric in simulation and with real TCP, with the verdict on their difference."""

    metric: str
    title: str
    simulated: float | None
    """Mean over the simulated runs; the next field, `real`, is the mean over the runs with real TCP."""
    real: float | None
    difference: float | None
    """`real` divided by `simulated`, minus one; for shares and counts per flow, `real` minus `simulated`."""
    low: float | None
    high: float | None
    """Upper limit of the difference's 95 % interval (`low`: lower limit); None with fewer than three
    pairs."""
    bound: float
    """Largest difference that counts as agreement."""
    is_relative: bool
    verdict: Verdict
    reason: str
    """Reason for the verdict "cannot tell"; otherwise empty."""


@dataclass(frozen=True)
class _Metric:
    name: str
    title: str
    bound: float
    of: Callable[[Run], float]
    is_relative: bool = True
    reason: str = ""
    """Reason for which the metric does not apply."""


def agreements(simulated: Sequence[Run], real: Sequence[Run]) -> list[Agreement]:
    """Return a verdict for each metric that these runs have.

    Parameters
    ----------
    simulated, real
        Runs of one scenario, in pairs with the same seed; at least one pair.

    Returns
    -------
    list[Agreement]
        The verdict is "agree" if the interval is within the bound, "differ" if it is wholly outside,
        otherwise "cannot tell".
    """
    return [_judge(metric, simulated, real) for metric in _metrics(simulated, real)]


def invalid(real: Sequence[Run]) -> list[str]:
    """Name the invalid runs, with the reason for each."""
    return [
        f"{run.path}: {complaints[0]}" for run in real if (complaints := run.summary["health"]["complaints"])
    ]


def _metrics(simulated: Sequence[Run], real: Sequence[Run]) -> Iterator[_Metric]:
    everything = [*simulated, *real]
    yield _Metric("goodput_gbps", "goodput Gb/s", 0.03, lambda run: float(run.summary["goodput_gbps"]))
    yield from _queues(simulated, everything)
    yield _Metric("marked", "marked packets", 0.2, lambda run: _share(run, run.summary["packets"]["marked"]))
    yield from _times(simulated, real)
    yield _Metric(
        "retransmits",
        "retransmissions",
        0.005,
        lambda run: _share(run, run.summary["retransmits"]),
        is_relative=False,
    )
    yield _Metric(
        "timeouts_per_flow",
        "timeouts per flow",
        0.05,
        lambda run: float(run.summary["timeouts"]) / max(run.flows.height, 1),
        is_relative=False,
    )


def _share(run: Run, count: int) -> float:
    data: int = run.summary["packets"]["data"]
    return count / max(data, 1)


def _queues(simulated: Sequence[Run], everything: Sequence[Run]) -> Iterator[_Metric]:
    if any(run.queues is None and run.traces is None for run in everything):
        return
    port = busiest(simulated, most=1)[0]

    def over_time(number: "Callable[[Series], float]") -> Callable[[Run], float]:
        return lambda run: number(queue(run, port))

    yield _Metric("queue.mean", f"{port} mean bytes", 0.15, over_time(lambda series: series.mean()))
    yield _Metric("queue.p99", f"{port} p99 bytes", 0.25, over_time(lambda series: series.quantile(0.99)))


def queue(run: Run, port: str) -> "Series":
    """Return the backlog of a port after the warm-up."""
    (series,) = backlogs(run, [port]).values()
    warm_up = parse_time(run.scenario["measure"]["warm_up"]) * 1e6
    return series.between(warm_up) if warm_up else series


def _times(simulated: Sequence[Run], real: Sequence[Run]) -> Iterator[_Metric]:
    names = bins(simulated[0].summary)
    for name in names:
        counts = [
            [run.summary["fct_us"].get(name, {"count": 0})["count"] for run in side]
            for side in (simulated, real)
        ]
        if min(map(min, counts)) == 0 or (name != "all" and len(names) == 2):
            continue  # The bin has no flows, or all flows are in one bin.
        said = f"FCT {name.replace('_', ' ')}"
        yield _Metric(f"fct_us.{name}.mean", f"{said} mean µs", 0.15, _time(name, "mean"))
        fewest = min(map(sum, counts))
        few = "" if percentiles.suffices(fewest) else percentiles.too_few(fewest)
        yield _Metric(f"fct_us.{name}.p99", f"{said} p99 µs", 0.25, _time(name, "p99"), reason=few)


def _time(name: str, statistic: str) -> Callable[[Run], float]:
    return lambda run: float(run.summary["fct_us"][name][statistic])


def _judge(metric: _Metric, simulated: Sequence[Run], real: Sequence[Run]) -> Agreement:
    import numpy as np

    known = Agreement(
        metric.name,
        metric.title,
        None,
        None,
        None,
        None,
        None,
        metric.bound,
        metric.is_relative,
        "cannot tell",
        metric.reason,
    )
    if metric.reason:
        return known
    theirs, mine = ([np.array([metric.of(run)]) for run in side] for side in (simulated, real))
    before, after = (float(intervals.means(side).mean()) for side in (theirs, mine))
    known = replace(known, simulated=before, real=after)
    if metric.is_relative and not (before and after):
        same = before == after
        return replace(known, verdict="agree" if same else "differ", difference=0.0 if same else None)
    known = replace(known, difference=after / before - 1 if metric.is_relative else after - before)
    if len(real) < FEWEST_SEEDS:
        return replace(known, reason=f"pairs: {len(real)}; at least {FEWEST_SEEDS} are needed")
    by = intervals.mean_change if metric.is_relative else intervals.mean_difference
    change = by(theirs, mine)
    known = replace(known, low=finite(change.low), high=finite(change.high))
    if -metric.bound <= change.low and change.high <= metric.bound:
        return replace(known, verdict="agree")
    if change.low > metric.bound or change.high < -metric.bound:
        return replace(known, verdict="differ")
    return replace(known, reason="the interval crosses the bound; more pairs are needed")


def table(found: Sequence[Agreement], pairs: int) -> Table:
    """Build a table for the terminal and for `markdown`."""
    reasons = list(dict.fromkeys(each.reason for each in found if each.reason))
    rows = []
    for each in found:
        mark = f" [{reasons.index(each.reason) + 1}]" if each.reason else ""
        values = [_value(each, value) for value in (each.simulated, each.real)]
        limits = NOTHING
        if each.low is not None and each.high is not None:
            limits = f"{_difference(each, each.low)} to {_difference(each, each.high)}"
        bound = _difference(each, each.bound).removeprefix("+")
        rows.append(
            [each.title, each.verdict + mark, *values, _difference(each, each.difference), limits, bound]
        )
    return Table(
        f"Real TCP versus simulation, {pairs} {'pair' if pairs == 1 else 'pairs'} of runs",
        ["", "verdict", "simulated", "real", "difference", "95 % interval", "bound"],
        rows,
        names=2,
        note="; ".join(f"[{place}] {reason}" for place, reason in enumerate(reasons, 1)),
    )


def _value(each: Agreement, value: float | None) -> str:
    return percent(value) if each.metric in {"marked", "retransmits"} else digits(value)


def _difference(each: Agreement, value: float | None) -> str:
    if value is None:
        return NOTHING
    if each.is_relative:
        return f"{signed(100 * value)} %"
    return f"{signed(100 * value)} points" if each.metric == "retransmits" else signed(value)


def markdown(shown: Table) -> str:
    """Render a table as Markdown."""
    lines = [shown.columns, ["---"] * len(shown.columns), *shown.rows]
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{text}\n" + (f"\n{shown.note}\n" if shown.note else "")


def document(found: Sequence[Agreement], pairs: int, notes: Sequence[str]) -> dict[str, Any]:
    """Return the verdicts on all metrics as a JSON document."""
    return {"pairs": pairs, "notes": list(notes), "metrics": [asdict(each) for each in found]}


def reject_invalid(real: Sequence[Run]) -> None:
    """Reject runs that are invalid because the machine did not keep up.

    Raises
    ------
    ShallowsError
        If a run is invalid.
    """
    if found := invalid(real):
        raise ShallowsError(
            f"{len(found)} of {len(real)} measured runs are invalid: {found[0]}",
            "repeat the command on a less busy machine: only the invalid runs are measured again. "
            "`--invalid` compares invalid runs too",
        )
