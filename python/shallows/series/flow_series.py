"""Traced flows over time: windows and acknowledged bytes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shallows.runs.results import Run
from shallows.runs.steps import Series
from shallows.series.inputs import choose_flows, table

if TYPE_CHECKING:
    import polars as pl


def windows(run: Run, flows: Sequence[int] = (), most: int | None = None) -> dict[str, Series]:
    """Return the congestion windows of these flows, or of the first `most` traced flows (default: all)."""
    import polars as pl

    flow_traces = table(run, "flow_traces").filter(pl.col("quantity") == "cwnd_bytes")
    chosen = choose_flows(run, flows, flow_traces["flow"])
    lines = {}
    for flow in chosen if flows else chosen[:most]:
        one = flow_traces.filter(pl.col("flow") == flow)
        # A series ends when its flow ends.
        lines[f"flow {flow}"] = Series.read(one, "value", _flow_end(run, flow))
    return lines


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
