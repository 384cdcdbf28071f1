"""Tests of figures over time: they show the backlogs, windows and rates of the tables."""

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes

import shallows as sh
from drawn import curves, data
from shallows import figures
from shallows.figures import over_time
from shared import GALLERY

# A warning from matplotlib means that a figure is not as intended.
pytestmark = pytest.mark.filterwarnings("error")


def test_queues_keep_their_peaks_and_say_their_port(heavy: list[sh.Run]) -> None:
    run = heavy[0]
    assert run.queues is not None
    figure = figures.queue(run, ports=["switch0->host3"])
    (plot,) = figure.axes
    one = run.queues.filter(pl.col("name") == "switch0->host3")
    line, threshold = plot.get_lines()
    unit = {"KB": 1e3, "MB": 1e6}[re.findall(r"\((.*)\)", plot.get_ylabel())[0]]
    assert max(data(line)[1]) * unit == pytest.approx(one["bytes"].max())
    assert plot.get_title(loc="right") == "switch0->host3"
    # The first scheme marks above 720 KB.
    assert data(threshold)[1][0] * unit == pytest.approx(720e3)
    assert [text.get_text() for text in plot.texts] == ["K = 720 KB"]
    assert plot.get_xlim()[1] == pytest.approx(run.summary["simulated_s"] * 1e3)
    assert plot.get_xlabel() == "time (ms)"


def test_of_several_runs_the_same_port_is_drawn_and_the_pool_beside_it(heavy: list[sh.Run]) -> None:
    titles = [plot.get_title(loc="right") for plot in figures.queue(heavy).axes]
    tables = {run.labels["scheme"]: run.queues for run in heavy}
    tops = {
        name: frame.filter((pl.col("kind") == "port") & pl.col("name").str.starts_with("switch0->"))
        for name, frame in tables.items()
        if frame is not None
    }
    highest = pl.concat(tops.values()).sort("bytes")["name"][-1]
    assert titles == [f"{name}, {what}" for name in tables for what in (highest, "switch0.pool0")]


def test_queues_are_drawn_from_traces_where_there_are_no_samples(sharing: list[sh.Run]) -> None:
    run = sharing[0]
    assert run.queues is None
    assert run.traces is not None
    backlog = run.traces.filter((pl.col("quantity") == "backlog_bytes") & pl.col("queue").is_null())
    plot = figures.queue(run).axes[0]
    line, *_ = plot.get_lines()
    assert highest(plot) * 1e3 == pytest.approx(backlog["value"].max())
    # Of tens of thousands of changes, two for each part of the time are enough.
    assert len(data(line)[0]) <= 2 * over_time.PARTS + 1 < backlog.height / 10


def test_a_heat_map_shows_the_highest_backlog_of_each_part(heavy: list[sh.Run]) -> None:
    run = heavy[0]
    assert run.queues is not None
    figure = figures.heat_map(run, ports=["switch0->host[0-3]"])
    field = figure.axes[0].get_images()[0].get_array()
    names = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert names == [f"switch0->host{number}" for number in range(4)]
    assert field is not None
    assert field.shape == (4, over_time.FIELDS)
    assert figure.axes[-1].get_xlabel() in {"backlog (MB)", "backlog (KB)"}
    unit = 1e6 if "MB" in figure.axes[-1].get_xlabel() else 1e3
    one = run.queues.filter(pl.col("name") == "switch0->host2").sort("time_us")
    slot = run.summary["simulated_s"] * 1e6 / (over_time.FIELDS)
    for place in range(0, over_time.FIELDS, 9):
        begin, after = place * slot, (place + 1) * slot
        before = one.filter(pl.col("time_us") <= begin)["bytes"].to_list()[-1:] or [0]
        inside = one.filter((pl.col("time_us") >= begin) & (pl.col("time_us") < after))["bytes"].to_list()
        assert field[2, place] * unit == pytest.approx(max(before + inside))


def test_windows_are_drawn_from_when_a_flow_begins(sharing: list[sh.Run]) -> None:
    figure = figures.cwnd(sharing, flows=[0, 2])
    run = sharing[0]
    assert run.flow_traces is not None
    traced = run.flow_traces.filter((pl.col("quantity") == "cwnd_bytes") & (pl.col("flow") == 2))
    times, values = curves(figure.axes[0])["flow 2"]
    # The third flow joins after 0.6 of one second, which is drawn in seconds.
    assert times[0] == pytest.approx(0.6)
    assert values[0] == pytest.approx(traced["value"][0] / 1e3)
    assert highest(figure.axes[0]) * 1e3 >= traced["value"].to_numpy().max() * 0.999
    assert [plot.get_title(loc="right") for plot in figure.axes] == ["DCTCP", "CUBIC"]
    assert figure.axes[1].get_xlabel() == "time (s)"


def test_goodput_adds_up_to_what_was_acknowledged(sharing: list[sh.Run]) -> None:
    figure = figures.goodput(sharing)
    assert len(curves(figure.axes[0])) == 4
    for run, plot in zip(sharing, figure.axes, strict=True):
        assert run.flow_traces is not None
        acked = run.flow_traces.filter(pl.col("quantity") == "acked_bytes")
        times, rates = curves(plot)["flow 1"]
        # Gb/s over parts of seconds, in bytes; the last value only closes the last step.
        total = float(np.dot(np.diff(times), rates[:-1])) * 1e9 / 8
        assert total == pytest.approx(acked.filter(pl.col("flow") == 1)["value"].max())


def test_flows_of_several_classes_are_added_up_by_class(classes: list[sh.Run]) -> None:
    (plot, _) = figures.goodput(classes).axes
    drawn = curves(plot)
    assert list(drawn) == ["class 0", "class 1"]
    each = curves(figures.goodput(classes[0], flows=[1, 2, 3, 4, 5]).axes[0])
    of_class = dict(classes[0].flows.select("flow", "class").iter_rows())
    members = [values for name, (_, values) in each.items() if of_class[int(name.split()[1])] == 1]
    assert len(members) >= 4
    everything = curves(figures.goodput(classes[0], flows=[f for f in of_class if of_class[f] == 1]).axes[0])
    assert drawn["class 1"][1] == pytest.approx(np.sum([values for _, values in everything.values()], axis=0))


def test_a_trace_that_no_flow_met_is_an_error_and_no_traceback(tmp_path: Path) -> None:
    changes = {"measure.flow_traces": [{"flows": [3]}], "stop.at": "100ms"}
    run = sh.run(GALLERY / "convergence.toml", changes, out=tmp_path / "run")
    for draw in (figures.cwnd, figures.goodput):
        with pytest.raises(sh.ShallowsError, match="has no traced flow"):
            draw(run)


def test_flows_without_a_window_have_a_rate_and_the_other_way_round(
    pairs: list[sh.Run], sharing: list[sh.Run]
) -> None:
    with pytest.raises(sh.ShallowsError, match=r"have no window\n  .*: draw the figure `rate`"):
        figures.cwnd(pairs)
    with pytest.raises(sh.ShallowsError, match=r"have no rate\n  .*: draw the figure `cwnd`"):
        figures.rate(sharing)
    lines = curves(figures.rate(pairs, flows=[0, 1]).axes[0])
    assert list(lines) == ["flow 0", "flow 1"]
    # A queue pair begins at line rate, and DCQCN halves it at the first notification.
    assert lines["flow 0"][1][0] == 100
    assert min(lines["flow 0"][1]) <= 50


def test_alpha_of_dcqcn_is_drawn_below_the_rates(pairs: list[sh.Run], tmp_path: Path) -> None:
    of_rate, of_alpha = figures.rate(pairs, flows=[0, 1]).axes
    assert (of_rate.get_ylabel(), of_alpha.get_ylabel()) == ("rate (Gb/s)", "α")
    for times, values in curves(of_alpha).values():
        # α is 1 until the first notification, and decays without notifications.
        assert (times[0], values[0]) == (0, 1)
        assert 0 < min(values) < 1
    traced = {"measure.flow_traces": [{"workload": 0}], "roce.congestion": "swift"}
    window = sh.run(GALLERY.parent / "models/roce.toml", traced, out=tmp_path / "swift")
    assert len(figures.rate([window]).axes) == 1


def test_many_queue_pairs_have_a_panel_each_for_rate_and_alpha(tmp_path: Path) -> None:
    sets = {"measure.flow_traces": [{"workload": 0}], "workload.0.repeats": 2, "workload.0.period": "100us"}
    many = sh.run(GALLERY.parent / "models/roce.toml", sets, out=tmp_path / "many")
    labels = [plot.get_ylabel() for plot in figures.rate([many], flows=list(range(10))).axes]
    assert labels == ["rate (Gb/s)"] * 10 + ["α"] * 10


def highest(plot: Axes) -> float:
    """Return the highest value of all lines and bands in a panel."""
    bands = [np.asarray(path.vertices)[:, 1] for band in plot.collections for path in band.get_paths()]
    lines = [np.asarray(data(line)[1]) for line in plot.get_lines()]
    return max(float(heights.max()) for heights in [*bands, *lines])
