"""Traced flows over time: windows, rates, α and acknowledged bytes."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from shallows.errors import ShallowsError
from shallows.runs.results import Run
from shallows.runs.steps import Series
from shallows.series.inputs import choose_flows, table

if TYPE_CHECKING:
    import polars as pl


def windows(run: Run, flows: Sequence[int] = (), most: int | None = None) -> dict[str, Series]:
    """Return the congestion windows of these flows, or of the first `most` traced flows (default: all)."""
    return over_time(run, "cwnd_bytes", flows, most)


def rates(run: Run, flows: Sequence[int] = (), most: int | None = None) -> dict[str, Series]:
    """Return the rates of these queue pairs in Gb/s, or of the first `most` traced flows (default: all)."""
    return over_time(run, "rate_gbps", flows, most)


_OTHER = {
    "cwnd_bytes": ("window", "their congestion control sets a rate: draw the figure `rate`"),
    "rate_gbps": ("rate", "only queue pairs have rates: draw the figure `cwnd`"),
}
"""Name of a traced quantity, and the remedy if the traced flows have only other quantities."""


def over_time(run: Run, quantity: str, flows: Sequence[int], most: int | None) -> dict[str, Series]:
    """Return a traced quantity of these flows, or of the first `most` traced flows, over time."""
    import polars as pl

    traced = table(run, "flow_traces")
    flow_traces = traced.filter(pl.col("quantity") == quantity)
    if flow_traces.is_empty() and not traced.is_empty():
        name, remedy = _OTHER[quantity]
        raise ShallowsError(f"the traced flows of {run.path} have no {name}", remedy)
    chosen = choose_flows(run, flows, flow_traces["flow"])
    return _lines(run, flow_traces, chosen if flows else chosen[:most])


def alphas(run: Run, names: Collection[str]) -> dict[str, Series]:
    """Return α over time of the named flows; flows of congestion controls without α are left out."""
    import polars as pl

    flow_traces = table(run, "flow_traces").filter(pl.col("quantity") == "alpha")
    chosen = sorted(flow for flow in set(flow_traces["flow"]) if f"flow {flow}" in names)
    return _lines(run, flow_traces, chosen)


def _lines(run: Run, flow_traces: "pl.DataFrame", flows: Sequence[int]) -> dict[str, Series]:
    """Return the values of each of these flows over time, by the flow's name."""
    import polars as pl

    of = {flow: flow_traces.filter(pl.col("flow") == flow) for flow in flows}
    # A series ends when its flow ends.
    return {f"flow {flow}": Series.read(of[flow], "value", _flow_end(run, flow)) for flow in flows}


def acked_bytes(run: Run, flow: int, flow_traces: "pl.DataFrame") -> "pl.DataFrame":
    """Return a flow's acknowledged bytes over time: its trace plus a last row for the end of the flow."""
    import polars as pl

    one = flow_traces.filter(pl.col("flow") == flow).select("time_us", "value")
    size, ended = run.flows.filter(pl.col("flow") == flow).select("size_bytes", "fct_sender_us").row(0)
    if ended is None:
        return one
    last = pl.DataFrame({"time_us": [_flow_end(run, flow)], "value": [float(size)]})
    return pl.concat([one, last])


def _flow_end(run: Run, flow: int) -> float:
    """Return the time of a flow's last acknowledgement, or the end of the run."""
    import polars as pl

    arrival, took = run.flows.filter(pl.col("flow") == flow).select("arrival_us", "fct_sender_us").row(0)
    return end_us(run) if took is None else float(arrival) + float(took)


def end_us(run: Run) -> float:
    """Return the end of a run in µs."""
    return float(run.summary["simulated_s"]) * 1e6
