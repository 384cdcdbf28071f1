"""The result of a comparison: a verdict for each metric at each point (docs/statistics.md)."""

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from shallows.comparison.ranking import MANY, Ranking
from shallows.comparison.rows import Row, verdict_cells
from shallows.quantity import percent
from shallows.runs import shown
from shallows.runs.results import describe
from shallows.series.metric import PAUSES, PER_FLOW, Metric

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
    *PAUSES,
    PER_FLOW,
}
"""Metrics that are shown by default, in addition to a tail of completion times."""


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

    Its text form is a table of the main verdicts; `table` holds all verdicts as a frame.
    """

    baseline: str
    confidence: float
    cool_down: float
    rows: list[Row]
    notes: list[str] = field(default_factory=list)
    """Notes for readers of the verdicts."""
    rankings: list[Ranking] = field(default_factory=list)
    """Rankings, one for each point of the sweep; empty for up to six values unless metrics are named."""

    def __repr__(self) -> str:
        title, columns, rows = self._shown()
        return shown.text(title, columns, rows)

    def _repr_html_(self) -> str:
        return shown.grid(*self._shown())

    def _shown(self) -> tuple[str, list[str], list[list[str]]]:
        """Return the title, columns and rows of the main verdicts."""
        interval = f"{percent(self.confidence)} interval"
        points = any(row.point for row in self.rows)
        columns = [*(["point"] if points else []), "scheme", "metric", "verdict"]
        columns += [self.baseline, "value", "change", interval]
        rows = []
        for row in self.main():
            name, *numbers = verdict_cells(row)
            place = [describe(row.point)] if points else []
            rows.append([*place, row.scheme, name, row.verdict, *numbers])
        return f"Comparison with {self.baseline}, {len(self.rows)} verdicts", columns, rows

    def main(self) -> list[Row]:
        """Return the verdicts shown by default: main metrics, and metrics of a workload, class or group."""
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
        """Return whether the comparison has too many values for a table of each pair."""
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
        """Return the comparison as a JSON document."""
        return {
            "baseline": self.baseline,
            "confidence": self.confidence,
            "cool_down": self.cool_down,
            "notes": self.notes,
            "rows": [asdict(row) for row in self.rows],
            "rankings": [asdict(each) for each in self.rankings],
        }
