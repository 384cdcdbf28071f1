"""The results of a run by what had them: workloads, classes, groups of hosts, ports, queues, and uplinks."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from shallows.errors import ShallowsError
from shallows.runs.pools import Recorded
from shallows.runs.ranks import nearest_rank

if TYPE_CHECKING:
    import polars as pl


class Measured(Recorded, Protocol):
    """What is read of a `Run` here."""

    @property
    def flows(self) -> "pl.DataFrame": ...  # noqa: D102


def by(run: Measured, what: str) -> "pl.DataFrame":
    """The results by `what`; `Run.by` explains it."""
    if not isinstance(what, str) or what not in WAYS:
        raise ShallowsError(f"cannot group results by {what!r}", f"ask for one of: {', '.join(WAYS)}")
    return WAYS[what](run)


def _of_workloads(run: Measured) -> "pl.DataFrame":
    import polars as pl

    kinds = [each["kind"] for each in run.scenario["workload"]]
    found = _of_flows(run, "workload")
    named = pl.Series("kind", [kinds[place] for place in found["workload"]], dtype=pl.String)
    return found.insert_column(1, named)


def _of_classes(run: Measured) -> "pl.DataFrame":
    return _of_flows(run, "class")


def _of_groups(run: Measured) -> "pl.DataFrame":
    return _grouped(run, "group")


def _to_groups(run: Measured) -> "pl.DataFrame":
    return _grouped(run, "to_group")


def _grouped(run: Measured, key: str) -> "pl.DataFrame":
    if key not in run.flows.columns:
        raise ShallowsError("the hosts of this run are in no groups", "add [[host.group]], and run it again")
    return _of_flows(run, key)


def _of_flows(run: Measured, key: str) -> "pl.DataFrame":
    import polars as pl

    simulated_us = float(run.summary["simulated_s"]) * 1e6
    rows = []
    for (value,), flows in run.flows.sort(key, maintain_order=True).group_by(key, maintain_order=True):
        counted = flows.filter(pl.col("counted") == 1)
        times = _ordered(counted["fct_us"])
        slowdowns = _ordered(counted["slowdown"])
        rows.append(
            {
                key: value,
                "flows": counted.height,
                "completed": len(times),
                "fct_mean_us": _mean(times),
                "fct_p50_us": _percentile(times, 0.5),
                "fct_p99_us": _percentile(times, 0.99),
                "slowdown_mean": _mean(slowdowns),
                "slowdown_p99": _percentile(slowdowns, 0.99),
                "goodput_gbps": int(flows["delivered_bytes"].sum()) * 8 / simulated_us / 1e3,
                "timeouts": int(flows["timeouts"].sum()),
                "retransmits": int(flows["retransmits"].sum()),
            }
        )
    whole = dict.fromkeys(("flows", "completed", "timeouts", "retransmits"), pl.Int64)
    kinds = whole | {key: run.flows.schema[key]}
    names = ["fct_mean_us", "fct_p50_us", "fct_p99_us", "slowdown_mean", "slowdown_p99", "goodput_gbps"]
    order = [key, "flows", "completed", *names, "timeouts", "retransmits"]
    return pl.DataFrame(rows, schema={name: kinds.get(name, pl.Float64) for name in order})


def _ordered(column: "pl.Series") -> list[float]:
    return column.drop_nulls().sort().to_list()


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _percentile(values: list[float], rank: float) -> float | None:
    """The value of this rank, as in `summary.json`; none of no values."""
    import numpy as np

    return nearest_rank([np.array(values)], rank) if values else None


def _of_kinds(run: Measured) -> "pl.DataFrame":
    return _of_ports(run, ["kind"])


def _of_queues(run: Measured) -> "pl.DataFrame":
    return _of_ports(run, ["kind", "queue"])


def _of_ports(run: Measured, keys: list[str]) -> "pl.DataFrame":
    """Ports, or queues, that are alike: what they have done together, and how busy their links were."""
    import polars as pl

    counters, simulated_s = run.counters, float(run.summary["simulated_s"])
    if "rate_bps" not in counters.columns:  # of a run that an earlier version has made
        counters = counters.with_columns(rate_bps=pl.lit(None, dtype=pl.Int64))
    carried = pl.col("sent_bytes") * 8 / simulated_s
    summed = ["received", "sent", "sent_bytes", "marked", "dropped"]
    ports = counters.group_by([*keys, "port"], maintain_order=True).agg(
        pl.col(summed).sum(), pl.col("max_backlog_bytes").max(), pl.col("rate_bps").first()
    )
    return ports.group_by(keys, maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("ports"),
        pl.col(summed).sum(),
        pl.col("max_backlog_bytes").max(),
        (carried.sum() / _known_sum("rate_bps")).alias("utilisation"),
        (carried / pl.col("rate_bps")).max().alias("utilisation_max"),
    )


def _known_sum(column: str) -> "pl.Expr":
    """The sum of a column, or nothing if it has none to add up."""
    import polars as pl

    return pl.when(pl.col(column).count() > 0).then(pl.col(column).sum())


def _of_uplinks(run: Measured) -> "pl.DataFrame":
    """How evenly each leaf has used its uplinks: ECMP chooses one for a flow, whatever its size."""
    import polars as pl

    up = run.counters.filter(pl.col("kind") == "up")
    ports = up.group_by("port", maintain_order=True).agg(pl.col("sent_bytes").sum())
    leaf = pl.col("port").str.split("->").list.first().alias("leaf")
    mean = pl.col("sent_bytes").mean()
    found = ports.group_by(leaf, maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("uplinks"),
        pl.col("sent_bytes").sum(),
        (pl.col("sent_bytes").max() / mean).alias("max_over_mean"),
        (pl.col("sent_bytes").std(ddof=0) / mean).alias("variation"),
    )
    return found.with_columns(pl.col("max_over_mean", "variation").fill_nan(None))


WAYS: dict[str, Callable[[Measured], "pl.DataFrame"]] = {
    "workload": _of_workloads,
    "class": _of_classes,
    "group": _of_groups,
    "to_group": _to_groups,
    "port": _of_kinds,
    "queue": _of_queues,
    "uplinks": _of_uplinks,
}
"""By what results can be told."""
