"""Tests of figures: they show the values of the tables, and are legible in one column and in grey."""

import itertools
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

import shallows as sh
from drawn import curves, data
from shallows import figures
from shallows.cli import main
from shallows.figure_names import FIGURES
from shallows.figures import over_time, style
from shallows.figures.lines import of_labels
from shallows.series import inputs
from shared import GALLERY, gallery_points

# A warning from matplotlib means that a figure is not as intended.
pytestmark = pytest.mark.filterwarnings("error")

Folder = pytest.TempPathFactory


@pytest.fixture(scope="module")
def blocks(tmp_path_factory: Folder) -> list[sh.Run]:
    """Runs of two schemes, with two numbers of servers and two seeds."""
    keep = {"workload.0.fan_out": [5, 40], "seed": [1, 2]}
    return gallery_points(tmp_path_factory.mktemp("incast"), "incast", ("workload.0.repeats", "3"), keep=keep)


@pytest.fixture(scope="module")
def sharing(tmp_path_factory: Folder) -> list[sh.Run]:
    """Runs of two schemes, each with four flows that start one after the other."""
    return gallery_points(tmp_path_factory.mktemp("convergence"), "convergence", ("stop.at", "1s"), keep={})


@pytest.fixture(scope="module")
def starving(tmp_path_factory: Folder) -> list[sh.Run]:
    """Runs of sixty flows with three queue disciplines."""
    return gallery_points(tmp_path_factory.mktemp("starvation"), "starvation", ("stop.at", "1s"), keep={})


@pytest.fixture(scope="module")
def classes(tmp_path_factory: Folder) -> list[sh.Run]:
    """Runs with pings of two classes and two kinds of markers."""
    traced = ("measure.flow_traces", "[{ workload = 0 }, { workload = 1 }]")
    return gallery_points(tmp_path_factory.mktemp("classes"), "classes", ("stop.at", "10ms"), traced, keep={})


@pytest.fixture(scope="module")
def paused(tmp_path_factory: Folder) -> sh.Run:
    """Run with a lossless class."""
    folder = tmp_path_factory.mktemp("lossless") / "run"
    return sh.run(sh.example("models/lossless"), {"stop.at": "500us"}, out=folder)


@pytest.fixture(scope="module")
def classed(tmp_path_factory: Folder) -> list[sh.Run]:
    """Runs of three schemes, with flows in two classes of service."""
    changes = ("workload.0.class", "{ kind = 'random', weights = [1, 3] }"), ("workload.0.flows", "300")
    port = ("switch.port", "{ kind = 'dwrr', queues = 2, quantum = '1p' }")
    keep: dict[str, list[Any]] = {"workload.0.load": [0.8], "seed": [1]}
    return gallery_points(tmp_path_factory.mktemp("classed"), "load", *changes, port, keep=keep)


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


def highest(plot: Axes) -> float:
    """Return the highest value of all lines and bands in a panel."""
    bands = [np.asarray(path.vertices)[:, 1] for band in plot.collections for path in band.get_paths()]
    lines = [np.asarray(data(line)[1]) for line in plot.get_lines()]
    return max(float(heights.max()) for heights in [*bands, *lines])


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


def test_a_scheme_has_its_colour_whatever_the_order_of_runs(heavy: list[sh.Run]) -> None:
    def colours(runs: list[sh.Run]) -> dict[str, Any]:
        figure = figures.fct_cdf(runs)
        return {str(line.get_label()): line.get_color() for line in figure.axes[0].get_lines()}

    forth, back = colours(heavy), colours(heavy[::-1])
    assert (list(back), back) == (list(forth), forth)
    # In a figure of queues, too.
    queues = [plot.get_lines()[0].get_color() for plot in figures.queue(heavy[::-1]).axes]
    assert queues == [colour for colour in forth.values() for _ in range(2)]


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


FIXTURES = {
    "fct": "loads",
    "frontier": "loads",
    "dots": "loads",
    "fct-cdf": "heavy",
    "slowdown": "heavy",
    "slowdown-cdf": "heavy",
    "incast": "blocks",
    "query-cdf": "blocks",
    "classes": "classed",
    "queue": "heavy",
    "queue-cdf": "heavy",
    "heat-map": "heavy",
    "pauses": "paused",
    "headroom": "paused",
    "cwnd": "sharing",
    "rate": "pairs",
    "goodput": "sharing",
    "starvation": "starving",
    "shares": "starving",
    "ping": "classes",
}


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> list[sh.Run]:
    """Eight queue pairs with DCQCN."""
    traced = {"measure.flow_traces": [{"workload": 0}]}
    return [sh.run(GALLERY.parent / "models/roce.toml", traced, out=tmp_path_factory.mktemp("pairs") / "run")]


@pytest.fixture(scope="module")
def every(request: pytest.FixtureRequest) -> dict[str, Figure]:
    """Every figure by name, parametrised by the test."""
    runs = {name: request.getfixturevalue(name) for name in FIXTURES.values()}
    return {name: getattr(figures, name.replace("-", "_"))(runs[FIXTURES[name]]) for name in FIGURES}


def test_every_figure_fits_a_column_without_overlaps(every: dict[str, Figure]) -> None:
    for name, figure in every.items():
        assert figure.get_size_inches()[0] == pytest.approx(3.35), name
        with matplotlib_style():
            figure.draw_without_rendering()
        frame = figure.bbox
        for plot in figure.axes:
            for labels in (plot.get_xticklabels(), plot.get_yticklabels()):
                shown = [text for text in labels if text.get_text() and text.get_visible()]
                inside = [
                    text for text in shown if _within(text.get_window_extent().bounds, plot.bbox.bounds)
                ]
                assert all(float(text.get_fontsize()) >= 6 for text in inside), name
                if any(text.get_rotation() for text in inside):
                    continue
                for one, other in itertools.pairwise(inside):
                    assert not one.get_window_extent().overlaps(other.get_window_extent()), (name, one, other)
            for label in filter(Text.get_text, [plot.xaxis.label, plot.yaxis.label]):
                box = label.get_window_extent()
                assert box.x0 >= frame.x0 - 1, (name, label)
                assert box.y0 >= frame.y0 - 1, (name, label)
            for legend in figure.legends:
                assert not legend.get_window_extent().overlaps(plot.bbox), name


def _within(box: tuple[float, ...], panel: tuple[float, ...]) -> bool:
    """Return whether a tick's label is beside its panel; ticks outside the axis have labels elsewhere."""
    across, down = box[0] + box[2] / 2, box[1] + box[3] / 2
    left, bottom, width, height = panel
    return left - 1 <= across <= left + width + 1 or bottom - 1 <= down <= bottom + height + 1


def matplotlib_style() -> Any:
    """Return a context with the style that `save` applies."""
    import matplotlib.pyplot as plt

    return plt.style.context(style.STYLE)


def test_lines_of_every_figure_are_told_apart_in_grey(every: dict[str, Figure]) -> None:
    for name, figure in every.items():
        for plot in figure.axes:
            lines = [line for line in plot.get_lines() if not str(line.get_label()).startswith("_")]
            looks = {(line.get_marker(), _dashes(line)) for line in lines}
            assert len(looks) == len(lines), name
            assert len({line.get_marker() for line in lines}) == len(lines), name


def test_lines_of_one_scheme_share_its_colour_and_differ_in_marker_and_dashes() -> None:
    labels = [{"scheme": scheme, "load": load} for scheme in ("DCTCP", "Reno") for load in (0.5, 0.8)]
    looks = of_labels({f"{each['scheme']}, load {each['load']}": each for each in labels}).looks
    colours = [look["color"] for look in looks.values()]
    assert colours[0] == colours[1] == style.look(0)["color"]
    assert colours[2] == colours[3] == style.look(1)["color"]
    assert len({(look["marker"], str(look["linestyle"])) for look in looks.values()}) == 4


def _dashes(line: Line2D) -> str:
    return str(line._dash_pattern)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "two_lines"),
    [
        ("{}", 10),
        ("kmin {}0KB, kmax {}00KB, pmax 0.{}", 2),
        ("a long name of a scheme that fills more than one line, {}", 2),
    ],
)
def test_a_legend_of_many_lines_takes_nothing_from_the_panels(name: str, two_lines: int) -> None:
    def draw(number: int) -> tuple[Figure, list[Axes]]:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with style.panels(2, 2) as (figure, plots):
                for index in range(number):
                    called = name.replace("{}", str(index))
                    plots[0].plot([1, 2], [index, index + 1], label=called, **style.look(index))
                style.add_legend(figure, plots[0])
                figure.draw_without_rendering()
        return figure, plots

    few, many = draw(two_lines), draw(24)
    (legend,) = many[0].legends
    assert not any(legend.get_window_extent().overlaps(plot.bbox) for plot in many[1])
    assert legend.get_window_extent().width <= many[0].bbox.width
    assert many[1][0].bbox.height >= 0.95 * few[1][0].bbox.height


def test_thirty_lines_have_thirty_looks() -> None:
    looks = [style.look(index) for index in range(30)]
    assert len({(look["marker"], str(look["linestyle"])) for look in looks}) == 30


@pytest.mark.parametrize("kind", ["pdf", "svg", "png"])
def test_the_same_runs_give_the_same_bytes(heavy: list[sh.Run], kind: str, tmp_path: Path) -> None:
    (first,) = figures.save(figures.queue_cdf(heavy), tmp_path / "first", [kind])
    (again,) = figures.save(figures.queue_cdf(heavy), tmp_path / "again", [kind])
    assert first.read_bytes() == again.read_bytes()


def test_files_hold_fonts_that_publishers_accept_and_stay_small(
    every: dict[str, Figure], tmp_path: Path
) -> None:
    for name in ["queue", "heat-map", "cwnd"]:
        (path,) = figures.save(every[name], tmp_path / name, ["pdf"])
        content = path.read_bytes()
        assert b"/Type3" not in content, name
        assert b"/FontFile2" in content, name
        assert len(content) < 150_000, name


@pytest.mark.parametrize(
    ("name", "runs", "message"),
    [
        (
            "queue",
            "blocks",
            "has no record of backlogs (queues.parquet or traces.parquet)\n  set measure.sample_queues",
        ),
        ("queue-cdf", "blocks", "or measure.traces = "),
        ("heat-map", "blocks", "measure.sample_queues"),
        ("cwnd", "blocks", "has no flow_traces.parquet\n  set measure.flow_traces = [{ sample = 4 }]"),
        ("goodput", "blocks", "set measure.flow_traces"),
        ("ping", "blocks", 'has no pings.parquet\n  add a workload of kind "ping"'),
        ("pauses", "heavy", "has no pause_times.parquet\n  set switch.lossless"),
        ("headroom", "heavy", "has no pauses.parquet\n  set switch.lossless"),
        ("incast", "heavy", 'has no queries.parquet\n  add a workload of kind "block-transfer"'),
    ],
)
def test_a_run_that_lacks_a_table_is_told_the_key_to_set(
    name: str, runs: str, message: str, request: pytest.FixtureRequest
) -> None:
    with pytest.raises(sh.ShallowsError) as refused:
        getattr(figures, name.replace("-", "_"))(request.getfixturevalue(runs))
    assert message in str(refused.value)


def test_unknown_ports_flows_and_values_are_answered_with_the_known(
    heavy: list[sh.Run], sharing: list[sh.Run]
) -> None:
    with pytest.raises(
        sh.ShallowsError, match=r"has no port 'leaf7'\n  the ports and pools are: host0->switch0, "
    ):
        figures.queue(heavy, ports=["leaf7"])
    with pytest.raises(sh.ShallowsError, match=r"has no trace of flow 9\n  traced flows are: 0, 1, 2, 3$"):
        figures.cwnd(sharing, flows=[9])
    with pytest.raises(sh.ShallowsError, match=r"has load = 0\.5\n  the values of load are: 0\.8$"):
        inputs.choose_runs(heavy, [("load", "0.5")])
    with pytest.raises(sh.ShallowsError, match=r"no run has k = 1\n  the runs have no axis k$"):
        inputs.choose_runs(heavy, [("k", "1")])
    with pytest.raises(sh.ShallowsError, match="at least one run is needed, got none"):
        figures.ping([])


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


def test_runs_of_different_kinds_do_not_share_a_figure(
    heavy: list[sh.Run], blocks: list[sh.Run], tmp_path: Path
) -> None:
    with pytest.raises(sh.ShallowsError, match=r"has no queries\.parquet"):
        figures.incast([blocks[0], heavy[0]])
    other = sh.run(
        GALLERY / "load.toml",
        {"measure.bins": ["1MB"], "workload.0.flows": 20},
        out=tmp_path / "other",
    )
    with pytest.raises(sh.ShallowsError, match="different size bins"):
        figures.fct_cdf([heavy[0], other])


def test_runs_made_one_by_one_are_named_by_what_was_changed(tmp_path: Path) -> None:
    changes: list[dict[str, object]] = [{}, {"switch.markers.0.k": "200KB"}]
    few = {"workload.0.flows": 50}
    runs = [
        sh.run(GALLERY / "load.toml", few | change, out=tmp_path / str(i)) for i, change in enumerate(changes)
    ]
    assert list(curves(figures.fct_cdf(runs).axes[0])) == ["load", "k 200KB"]
    # A single line needs no name.
    assert figures.fct_cdf(runs[0]).legends == []


def test_a_page_has_an_end(heavy: list[sh.Run]) -> None:
    with pytest.raises(sh.ShallowsError, match="at most 10 rows, got 96"):
        figures.queue(heavy, ports=["to-host"])


def test_every_name_of_the_command_line_is_a_function() -> None:
    functions = {name for name in figures.__all__ if name not in {"STYLE", "save"}}
    assert {name.replace("-", "_") for name in FIGURES} == functions


def test_the_command_draws_what_was_chosen(
    heavy: list[sh.Run], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parent = heavy[0].path.parent
    line = [
        "plot",
        "heat-map",
        str(parent),
        "--where",
        "load=0.8",
        "--where",
        "seed=2",
        "--out",
        str(tmp_path),
    ]
    assert main([*line, "--format", "svg", "--port", "switch0->host3"]) == 0
    assert capsys.readouterr().out == f"{tmp_path}/heat-map.svg\n"
    text = (tmp_path / "heat-map.svg").read_text()
    assert text.count("switch0-&gt;host3") == 3
    assert "K = 200 KB" in text
    assert main([*line, "--flow", "1"]) == 1
    assert "heat-map does not support --flows" in capsys.readouterr().err


def test_a_figure_that_cannot_be_written_leaves_no_half_of_a_file(tmp_path: Path) -> None:
    figure = plt.figure()
    (tmp_path / "full.pdf").symlink_to("/dev/full")
    with pytest.raises(
        sh.ShallowsError, match=r"full.pdf cannot be written: No space left on device\n  free some"
    ):
        style.save(figure, tmp_path / "full")
    assert not list(tmp_path.iterdir())
    plt.close(figure)
