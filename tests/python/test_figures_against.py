"""Tests of figures against a setting or a class: they show the means and tails of the tables."""

import itertools
import re

import pytest

import shallows as sh
from drawn import curves
from shallows import figures
from shallows.series import inputs

# A warning from matplotlib means that a figure is not as intended.
pytestmark = pytest.mark.filterwarnings("error")


def test_classes_are_drawn_with_their_means_and_goodput(classed: list[sh.Run]) -> None:
    figure = figures.classes(classed)
    mean, tail, goodput = figure.axes
    factor = {"µs": 1, "ms": 1e3}[re.findall(r"\((.*)\)", mean.get_ylabel())[0]]
    for run, name in zip(classed, curves(mean), strict=True):
        rows = run.by("class")
        assert curves(mean)[name][0] == [0, 1]
        assert curves(mean)[name][1] == pytest.approx((rows["fct_mean_us"] / factor).to_list())
        assert curves(goodput)[name][1] == pytest.approx(rows["goodput_gbps"].to_list())
    assert [text.get_text() for text in tail.texts] == ["too few for a p99:\n2,000 are needed"]


def test_one_class_is_no_figure_of_classes(heavy: list[sh.Run]) -> None:
    with pytest.raises(sh.ShallowsError, match="needs flows of several classes"):
        figures.classes(heavy)


def test_fct_is_drawn_as_the_mean_of_seeds_by_size_against_load(loads: list[sh.Run]) -> None:
    figure = figures.fct(loads)
    assert len(figure.axes) == 8
    assert [plot.get_ylabel().split(":")[0] for plot in figure.axes[:6:2]] == [
        "small flows",
        "medium flows",
        "large flows",
    ]
    assert [plot.get_title() for plot in figure.axes[:2]] == ["mean", "99th percentile"]
    factor = {"µs": 1, "ms": 1e3}[re.findall(r"\((.*)\)", figure.axes[0].get_ylabel())[0]]
    drawn = curves(figure.axes[0])
    assert list(drawn) == ["K = 720 KB", "K = 200 KB", "Reno"]
    for scheme, (place, load) in itertools.product(drawn, enumerate([0.4, 0.8])):
        seeds = inputs.choose_runs(loads, [("scheme", scheme), ("load", str(load))])
        assert len(seeds) == 2
        times = [run.summary["fct_us"]["small"]["mean"] / factor for run in seeds]
        assert drawn[scheme][0][place] == pytest.approx(100 * load)
        assert drawn[scheme][1][place] == pytest.approx(sum(times) / 2)
    assert curves(figure.axes[1]) == {name: ([], []) for name in drawn}
    assert [text.get_text() for text in figure.axes[1].texts] == ["too few for a p99:\n2,000 are needed"]
    lost, timeouts = figure.axes[-2:]
    assert lost.get_xlabel() == timeouts.get_xlabel() == "load (%)"
    reno = inputs.choose_runs(loads, [("scheme", "Reno"), ("load", "0.8")])
    assert curves(timeouts)["Reno"][1][1] == sum(run.summary["timeouts"] for run in reno) / 2 > 0
    assert curves(lost)["Reno"][1][1] == pytest.approx(
        50 * sum(run.summary["loss_rate_in_switches"] for run in reno)
    )


def test_sizes_of_flows_that_no_run_has_get_no_row(blocks: list[sh.Run]) -> None:
    # 1 MB from 5 servers is 200 KB each, from 40 it is 25 KB; requests are small; nothing is large.
    rows = [plot.get_ylabel() for plot in figures.fct(blocks).axes[::2]]
    assert [row.split(" flows")[0].split("\n")[0] for row in rows] == ["small", "medium", "packets"]


def test_without_a_number_that_differs_there_is_no_axis(heavy: list[sh.Run]) -> None:
    with pytest.raises(sh.ShallowsError, match="needs runs that differ in a numeric setting"):
        figures.fct(heavy)


def test_incast_draws_blocks_against_their_servers(blocks: list[sh.Run]) -> None:
    figure = figures.incast(blocks)
    goodput, tail, timed_out = figure.axes
    drawn = curves(goodput)
    assert list(drawn) == ["DCTCP", "Reno"]
    assert drawn["Reno"][0] == [5, 40]
    seeds = inputs.choose_runs(blocks, [("scheme", "Reno"), ("fan_out", "40")])
    tables = [run.queries for run in seeds]
    means = [float(table["goodput_gbps"].mean()) for table in tables if table is not None]  # type: ignore[arg-type]
    assert drawn["Reno"][1][1] == pytest.approx(sum(means) / 2)
    shares = [100 * (table["timeouts"] > 0).sum() / table.height for table in tables if table is not None]
    assert curves(timed_out)["Reno"][1][1] == pytest.approx(sum(shares) / 2)
    assert (goodput.get_ylabel(), timed_out.get_xlabel()) == ("goodput\n(Gb/s)", "servers")
    assert tail.get_ylabel().startswith("99th pct.\ntime (")
    assert [text.get_text() for text in tail.texts] == ["too few for a p99:\n2,000 are needed"]
