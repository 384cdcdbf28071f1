"""The result of a comparison: a verdict for each metric at each point. docs/statistics.md explains them."""

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from shallows.comparison.ranking import MANY, Labels, Ranking
from shallows.comparison.verdicts import Verdict
from shallows.series.metric import PER_FLOW, Metric

if TYPE_CHECKING:
    import polars as pl

MAIN = {
    "fct_us.all.mean",
    "fct_us.large.mean",
    "slowdown.all.mean",
    "slowdown.all.p99",
    "query_us.all.mean",
    "query_us.all.p99",
    "goodput_gbps",
    "loss_rate_in_switches",
    "loss_rate_in_nics",
    PER_FLOW,
}
"""Metrics shown first, besides a tail of completion times."""


@dataclass(frozen=True)
class Row:
    """One verdict: a scheme versus the baseline, in one metric, at one point of the sweep."""

    point: Labels
    scheme: str
    metric: str
    verdict: Verdict
    reason: str
    """Reason for "cannot tell"."""
    baseline_value: float | None
    value: float | None
    change: float | None
    """Value over the baseline's, minus one; for losses and `timeouts_per_flow` the difference."""
    low: float | None
    high: float | None
    """Limits of the change; null where the runs do not bound it."""
    groups: str
    """Groups that the spread is measured between: `5 seeds`, `21 batches of 3 seeds`."""

    @property
    def has_interval(self) -> bool:
        """Whether the change has at least one finite limit."""
        return self.low is not None or self.high is not None


@dataclass(frozen=True)
class Comparison:
    """Comparison of schemes with a baseline.

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
    """Notes for readers of the verdicts."""
    rankings: list[Ranking] = field(default_factory=list)
    """Rankings at each point of the sweep, with more than six values or with named metrics."""

    def main(self) -> list[Row]:
        """Return the rows shown first: for each size of flows the metrics that papers show."""
        named = {row.metric for row in self.rows}
        tail = "fct_us.small.p99" if "fct_us.small.p99" in named else "fct_us.all.p99"
        # Metrics of a workload, class or group were named explicitly.
        return [
            row
            for row in self.rows
            if row.metric in MAIN or row.metric == tail or Metric(row.metric).is_placed
        ]

    @property
    def is_large(self) -> bool:
        """Whether the comparison has too many values for a table of each pair."""
        return len({row.scheme for row in self.rows}) >= MANY

    @property
    def table(self) -> "pl.DataFrame":
        """Return a frame with one row per verdict; labels of points are columns too."""
        import polars as pl

        rows = [
            row.point | {key: value for key, value in asdict(row).items() if key != "point"}
            for row in self.rows
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def document(self) -> dict[str, Any]:
        """Return everything as a JSON document."""
        return {
            "baseline": self.baseline,
            "confidence": self.confidence,
            "cool_down": self.cool_down,
            "notes": self.notes,
            "rows": [asdict(row) for row in self.rows],
            "rankings": [asdict(each) for each in self.rankings],
        }
