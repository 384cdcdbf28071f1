"""Tests of acknowledged bytes and congestion windows of flows over time."""

import polars as pl
import pytest

import shallows as sh
from fake_runs import fake_run, flow_table, flow_trace
from shallows.series import flow_series

TWO_FLOWS = fake_run(
    100.0,
    flows=flow_table(size_bytes=[900, 900], arrival_us=[5.0, 6.0], fct_sender_us=[20.0, None]),
)
"""Two flows; the sender of the first one received its last acknowledgement at 25 µs."""
ACKED = flow_trace("acked_bytes", (10.0, 0, 300.0), (10.0, 1, 400.0))


@pytest.mark.parametrize(("flow", "rows"), [(0, [(10.0, 300.0), (25.0, 900.0)]), (1, [(10.0, 400.0)])])
def test_the_last_acknowledgement_of_a_flow_is_added_if_it_has_ended(
    flow: int, rows: list[tuple[float, float]]
) -> None:
    assert flow_series.acked_bytes(TWO_FLOWS, flow, ACKED.drop("quantity")).rows() == rows


def test_the_end_of_a_run_is_in_microseconds() -> None:
    assert flow_series.end_us(TWO_FLOWS) == pytest.approx(100.0)


def test_a_window_is_drawn_until_its_sender_is_done() -> None:
    run = fake_run(
        flows=flow_table(arrival_us=[100.0], fct_us=[50.0], fct_sender_us=[70.0]),
        flow_traces=flow_trace("cwnd_bytes", (100.0, 0, 1_000.0)),
    )
    assert flow_series.windows(run)["flow 0"].times.tolist() == [100, 170]


TRACED = fake_run(
    20_000.0,
    flows=flow_table(arrival_us=[0.0]),
    flow_traces=pl.concat(
        [
            flow_trace("cwnd_bytes", *((1e3 * ms + 1, 0, 1e6 * ms) for ms in range(21))),
            flow_trace("acked_bytes", (0.0, 0, 0.0), (1e3, 0, 1.0)),
        ]
    ),
)


def test_windows_of_no_flow_are_drawn_where_none_may_be() -> None:
    assert flow_series.windows(TRACED, most=0) == {}


def test_windows_of_flows_that_are_named_are_drawn_however_many_there_may_be() -> None:
    assert [*flow_series.windows(TRACED, [0], most=0)] == ["flow 0"]


def test_windows_of_a_flow_without_a_trace_are_refused() -> None:
    with pytest.raises(sh.ShallowsError, match="has no trace of flow 1"):
        flow_series.windows(TRACED, [0, 1])
