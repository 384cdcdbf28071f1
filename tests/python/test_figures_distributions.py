"""Tests of figures of distributions: they show the shares and quantiles of the tables."""

import re
from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure

import shallows as sh
from drawn import curves, data
from shallows import figures
from shallows.series import inputs

# A warning from matplotlib means that a figure is not as intended.
pytestmark = pytest.mark.filterwarnings("error")


@pytest.mark.parametrize(
    ("draw", "column"), [(figures.fct_cdf, "fct_us"), (figures.slowdown_cdf, "slowdown")]
)
def test_distributions_count_the_flows_of_a_size(
    heavy: list[sh.Run], draw: Callable[..., Figure], column: str
) -> None:
    figure = draw(heavy)
    assert len(figure.axes) == 3
    (run,) = inputs.choose_runs(heavy, [("scheme", "Reno")])
    small = run.flows.filter((pl.col("size_bytes") <= 100_000) & (pl.col("counted") == 1))[
        column
    ].drop_nulls()
    label = figure.axes[0].get_xlabel()
    factor = 1.0 if column == "slowdown" else {"µs": 1, "ms": 1e3}[re.findall(r"\((.*)\)", label)[0]]
    places, shares = curves(figure.axes[0])["Reno"]
    assert shares[0] == 0
    assert places[-1] * factor == pytest.approx(small.max())
    assert shares[-1] == 1
    for place, share in list(zip(places, shares, strict=True))[1::7]:
        assert share == pytest.approx((small <= place * factor * (1 + 1e-9)).sum() / len(small))
    assert figure.axes[0].get_ylabel() == "share of\nsmall flows"


def test_the_tail_is_the_share_above_a_value_pale_where_few_are(heavy: list[sh.Run]) -> None:
    whole, tail = figures.fct_cdf(heavy), figures.fct_cdf(heavy, tail=True)
    plot = tail.axes[0]
    assert (plot.get_yscale(), plot.get_ylabel()) == ("log", "share of\nsmall flows\nabove")
    drawn = curves(plot)
    assert list(drawn) == list(curves(whole.axes[0]))
    for run, (places, shares) in zip(heavy, drawn.values(), strict=True):
        small = run.flows.filter((pl.col("size_bytes") <= 100_000) & (pl.col("counted") == 1))["fct_us"]
        times = small.drop_nulls()
        # The line ends where 20 flows are slower; a pale one goes on.
        assert round(shares[-1] * len(times)) == 20
        assert (times.sort(descending=True)[20] / places[-1]) in (pytest.approx(1), pytest.approx(1e3))
    assert "Pale: fewer than 20 observations above." in " ".join(tail.get_supxlabel().split())
    queues = figures.queue_cdf(heavy, tail=True).axes[0]
    assert (queues.get_yscale(), queues.get_ylabel()) == ("log", "share of time above")


def test_slowdown_is_the_nearest_rank_within_a_tenth_of_the_flows(heavy: list[sh.Run]) -> None:
    figure = figures.slowdown(heavy)
    assert [plot.get_ylabel() for plot in figure.axes] == ["median\nslowdown", "99th pct.\nslowdown"]
    together = sorted(size for run in heavy for size in run.flows["size_bytes"].to_list())
    for run, name in zip(heavy, curves(figure.axes[0]), strict=True):
        places, medians = curves(figure.axes[0])[name]
        # A median needs 40 flows: tenths of fewer are one.
        edge = together[len(together) * int(places[0]) // 10 - 1]
        inside = sorted(run.flows.filter(pl.col("size_bytes") <= edge)["slowdown"].drop_nulls())
        assert len(inside) >= 40
        assert medians[0] == inside[int(np.ceil(0.5 * len(inside))) - 1]
        assert places[-1] == 10
    assert [text.get_text() for text in figure.axes[1].texts] == ["too few flows:\n2,000 are needed"]


def test_a_query_counts_from_its_first_packet_to_its_last_answer(blocks: list[sh.Run]) -> None:
    figure = figures.query_cdf(blocks)
    (plot,) = figure.axes
    factor = {"µs": 1, "ms": 1e3, "s": 1e6}[re.findall(r"\((.*)\)", plot.get_xlabel())[0]]
    for name, members in inputs.groups(blocks).items():
        asked = pl.concat([run.queries for run in members if run.queries is not None])
        times = asked.filter(pl.col("counted") == 1)["completion_us"].drop_nulls()
        places, shares = curves(plot)[name or blocks[0].summary["name"]]
        assert places[-1] * factor == pytest.approx(times.max())
        middle = len(places) // 2
        within = (times <= places[middle] * factor * (1 + 1e-9)).sum() / len(times)
        assert shares[middle] == pytest.approx(within)


def test_a_queue_is_as_long_for_as_long_as_no_change_is_recorded(heavy: list[sh.Run]) -> None:
    run = heavy[0]
    assert run.queues is not None
    figure = figures.queue_cdf(run, ports=["switch0->host3"])
    one = run.queues.filter(pl.col("name") == "switch0->host3").sort("time_us")
    times, sizes = one["time_us"].to_list(), one["bytes"].to_list()
    end = run.summary["simulated_s"] * 1e6
    empty = times[0] + sum(
        after - before
        for before, after, size in zip(times, [*times[1:], end], sizes, strict=True)
        if size == 0
    )
    line, threshold = figure.axes[0].get_lines()
    assert data(threshold)[0][0] == pytest.approx(720 if "(KB)" in figure.axes[0].get_xlabel() else 0.72)
    assert "switch0->host3" in figure.axes[0].get_xlabel()
    places, shares = data(line)
    assert places[1] == 0
    assert shares[1] == pytest.approx(empty / end)
    assert shares[-1] == pytest.approx(1)
    assert figure.axes[0].get_ylabel() == "share of time"


def test_pings_are_told_apart_by_class(classes: list[sh.Run]) -> None:
    figure = figures.ping(classes)
    drawn = curves(figure.axes[0])
    assert list(drawn) == [
        f"{scheme}, class {number}" for scheme in ("per queue", "per port") for number in (0, 1)
    ]
    assert classes[1].pings is not None
    echoes = classes[1].pings.filter(pl.col("class") == 0)["rtt_us"].drop_nulls()
    assert max(drawn["per port, class 0"][0]) == pytest.approx(echoes.max())
    assert figure.axes[0].get_xlabel() == "round-trip time (µs)"


def test_starvation_counts_every_flow_once_in_the_same_bins(starving: list[sh.Run]) -> None:
    figure = figures.starvation(starving)
    assert [plot.get_title(loc="right") for plot in figure.axes] == ["FIFO", "SFQ", "HCF"]
    unit = {"ms": 1e3, "s": 1e6}[re.findall(r"\((.*)\)", figure.axes[-1].get_xlabel())[0]]
    for run, plot in zip(starving, figure.axes, strict=True):
        edges = [patch.get_x() for patch in plot.patches]  # type: ignore[attr-defined]
        heights = [patch.get_height() for patch in plot.patches]  # type: ignore[attr-defined]
        assert sum(heights) == pytest.approx(100)
        gaps = run.flows["longest_ack_gap_us"].drop_nulls() / unit
        second = ((gaps >= edges[1]) & (gaps < edges[2])).sum()
        assert heights[1] == pytest.approx(100 * second / len(gaps))


def test_shares_are_packets_of_the_last_interval(starving: list[sh.Run]) -> None:
    figure = figures.shares(starving)
    assert [plot.get_title(loc="right") for plot in figure.axes] == ["FIFO", "SFQ", "HCF"]
    assert figure.axes[-1].get_xlabel() == "packets in 1 s"
    for run, plot in zip(starving, figure.axes, strict=True):
        bars = [(patch.get_x(), patch.get_height()) for patch in plot.patches]  # type: ignore[attr-defined]
        assert sum(height for _, height in bars) == pytest.approx(100)
        # The runs take as long as the interval: of packets with timestamps, 1448 bytes of data each.
        traces = run.flow_traces
        assert traces is not None
        acked = traces.filter(pl.col("quantity") == "acked_bytes").group_by("flow").agg(pl.col("value").max())
        small = (acked["value"] / 1448 < bars[1][0]).sum() + run.flows.height - acked.height
        assert bars[0][1] == pytest.approx(100 * small / run.flows.height)
