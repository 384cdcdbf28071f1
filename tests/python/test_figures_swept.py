"""Tests of figures of sweeps: axes, colour scales, panels and bars."""

import itertools
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

import shallows as sh
from drawn import curves, data
from shallows import figures
from shallows.figures import style
from shallows.series import inputs
from shared import seal

# A warning from matplotlib means that a figure is not as intended.
pytestmark = pytest.mark.filterwarnings("error")


def relabelled(run: sh.Run, folder: Path, labels: dict[str, Any], factor: float = 1.0) -> sh.Run:
    """Copy a run with other labels, and with times of small flows multiplied by `factor`."""
    copy = shutil.copytree(run.path, folder)
    for name, change in (("env.json", {"labels": labels}), ("summary.json", {})):
        document = json.loads((copy / name).read_text()) | change
        if name == "summary.json":
            times = document["fct_us"]["small"]
            times |= {key: times[key] * factor for key in ("mean", "p99")}
            for of in document["fct_us"].values():
                of["count"] = 2_000  # enough for a p99
        (copy / name).write_text(json.dumps(document))
    seal(copy)
    return sh.Run(copy)


Lines = list[tuple[dict[str, Any], float]]


@pytest.fixture
def make(heavy: list[sh.Run], tmp_path: Path) -> Callable[[Lines], list[sh.Run]]:
    """A function that copies a run with other labels and other times of small flows."""

    def copies(places: Lines) -> list[sh.Run]:
        return [relabelled(heavy[0], tmp_path / str(i), *place) for i, place in enumerate(places)]

    return copies


def bars(plot: Axes) -> list[tuple[float, float]]:
    """Return the lower and upper end of each bar in a panel."""
    segments = [line.get_segments() for box in plot.containers for line in box.lines[2]]  # type: ignore[attr-defined]
    return [(float(each[0][1]), float(each[1][1])) for every in segments for each in every]


def note(figure: Figure) -> str:
    """Return the text below all panels."""
    return " ".join(figure.get_supxlabel().split())


def test_bars_are_the_intervals_of_student_over_three_seeds(make: Callable[[Lines], list[sh.Run]]) -> None:
    # Means of 0.9, 1.0 and 1.1 times m: deviation 0.1 m, and t(0.975, 2) = 4.3027: m ± 4.3027 · 0.1 m / √3.
    places: Lines = [
        ({"workload.0.load": load, "seed": seed}, factor)
        for load in (0.4, 0.8)
        for seed, factor in enumerate((0.9, 1.0, 1.1))
    ]
    runs = make(places)
    figure = figures.fct(runs)
    mean = runs[1].summary["fct_us"]["small"]["mean"]
    factor = {"µs": 1, "ms": 1e3}[re.findall(r"\((.*)\)", figure.axes[0].get_ylabel())[0]]
    half = 4.3027 * 0.1 / 3**0.5
    assert len(bars(figure.axes[0])) == 2
    for low, high in bars(figure.axes[0]):
        assert low * factor == pytest.approx(mean * (1 - half), rel=1e-4)
        assert high * factor == pytest.approx(mean * (1 + half), rel=1e-4)
    assert figure.axes[0].get_ylim()[1] * factor > mean * (1 + half)
    sizes = "Sizes: small ≤ 100 KB < medium ≤ 10 MB < large."
    assert note(figure) == f"Means of 3 seeds; bars: 95 % intervals. {sizes}"


def test_one_or_two_seeds_have_no_bar_and_the_figure_says_so(loads: list[sh.Run]) -> None:
    figure = figures.fct(loads)
    assert [plot.containers for plot in figure.axes] == [[]] * 8
    assert note(figure).startswith("Means of 2 seeds, too few for intervals: no bars. Not drawn: p99 of ")
    one_seed = figures.fct(inputs.choose_runs(loads, [("seed", "1")]))
    assert note(one_seed).startswith("One seed: no bars. Not drawn: p99 of ")
    assert one_seed.axes[0].containers == []


DECADES = ["10KB", "30KB", "100KB", "300KB", "1MB", "3MB", "10MB"]


def test_an_axis_of_sizes_over_decades_is_logarithmic_with_units(
    make: Callable[[Lines], list[sh.Run]],
) -> None:
    runs = make([({"switch.markers.0.k": k, "seed": 1}, 1.0) for k in DECADES])
    figure = figures.fct(runs)
    plot = figure.axes[-1]
    assert plot.get_xscale() == "log"
    assert data(plot.get_lines()[0])[0] == [10, 30, 100, 300, 1000, 3000, 10_000]
    assert plot.get_xlabel() == "k"
    # Two of four decades: in half a column, more would overlap.
    with plt.style.context(style.STYLE):
        figure.draw_without_rendering()
    assert [text.get_text().replace("\N{THIN SPACE}", " ") for text in plot.get_xticklabels()] == [
        "10 KB",
        "1 MB",
    ]
    assert not any(text.get_text() for text in plot.get_xticklabels(minor=True))
    (linear,) = figures.fct([sh.Run(run.path) for run in runs[:3]]).axes[-1:]
    assert (linear.get_xscale(), linear.get_xlabel()) == ("linear", "k (KB)")


def parts(figure: Figure) -> list[Axes]:
    """Return the panels of a figure without the colour bar."""
    return [plot for plot in figure.axes if plot.get_label() != "<colorbar>"]


@pytest.mark.parametrize("name", ["fct", "fct_cdf", "slowdown"])
def test_more_than_eight_values_are_shades_of_a_scale(
    name: str, make: Callable[[Lines], list[sh.Run]]
) -> None:
    sizes = ["10KB", "20KB", "50KB", "100KB", "200KB", "500KB", "1MB", "2MB", "5MB", "10MB"]
    loads = (0.4, 0.8) if name == "fct" else (0.8,)
    runs = make(
        [
            ({"switch.markers.0.k": k, "workload.0.load": load, "seed": 1}, 1.0)
            for k in sizes
            for load in loads
        ]
    )
    figure = getattr(figures, name)(runs)
    lines = parts(figure)[0].get_lines()
    # Ten colours, ever lighter, also in grey.
    colours = [to_rgb(line.get_color()) for line in lines]
    greys = [0.2126 * red + 0.7152 * green + 0.0722 * blue for red, green, blue in colours]
    assert len(set(colours)) == 10
    assert greys == sorted(greys)
    assert greys[-1] < 0.8
    (bar,) = [plot for plot in figure.axes if plot.get_label() == "<colorbar>"]
    assert bar.get_xlabel() == "k"
    ticks = [text.get_text().replace("\N{THIN SPACE}", " ") for text in bar.get_xticklabels()]
    assert ticks == ["10 KB", "100 KB", "1 MB", "10 MB"]
    assert bar.get_xscale() == "log"
    assert figure.legends == []
    nothing_overlaps(figure)


@pytest.mark.parametrize("name", ["fct", "fct_cdf", "slowdown"])
def test_more_than_eight_schemes_have_panels_of_their_own(
    name: str, make: Callable[[Lines], list[sh.Run]]
) -> None:
    loads = (0.4, 0.8) if name == "fct" else (0.8,)
    schemes = [f"scheme {letter}" for letter in "ABCDEFGHI"]
    runs = make([({"scheme": s, "workload.0.load": load, "seed": 1}, 1.0) for s in schemes for load in loads])
    figure = getattr(figures, name)(runs)
    per_scheme = {"fct": 8, "fct_cdf": 3, "slowdown": 2}[name]
    assert len(figure.axes) == 9 * per_scheme
    own = [curves(plot) for plot in figure.axes]
    assert all(len(lines) == 1 for lines in own)
    assert sorted(next(iter(lines)) for lines in own) == sorted(schemes * per_scheme)
    # The other eight are drawn in grey behind it.
    assert {len(plot.get_lines()) for plot in figure.axes} == {9}
    titles = [plot.get_title() or plot.get_title(loc="right") for plot in figure.axes]
    assert sorted(filter(None, titles)) == schemes
    nothing_overlaps(figure)


@pytest.mark.parametrize("name", ["cwnd", "goodput"])
def test_more_than_eight_flows_have_panels_of_their_own(name: str, tmp_path: Path) -> None:
    traced = {"measure.flow_traces": [{"workload": 0}]}
    run = sh.run(sh.example("incast"), traced, out=tmp_path / "run")
    flows = list(range(2, 11))
    eight = getattr(figures, name)(run, flows=flows[:8])
    assert len(curves(eight.axes[0])) == 8
    figure = getattr(figures, name)(run, flows=flows)
    assert [plot.get_title(loc="right") for plot in figure.axes] == [f"flow {flow}" for flow in flows]
    together = curves(eight.axes[0])
    for plot, flow in zip(figure.axes, flows, strict=True):
        (line,) = curves(plot).items()
        assert line[0] == f"flow {flow}"
        if flow in flows[:8]:
            assert np.allclose(line[1], together[line[0]])
    assert figure.legends == []
    nothing_overlaps(figure)


@pytest.mark.parametrize("name", ["cwnd", "goodput"])
def test_panels_of_flows_of_one_run_share_its_scale(name: str, tmp_path: Path) -> None:
    # One flow has the link to itself for a while, and 2 ms later shares it with eight others.
    flows = [
        {"kind": "long-lived", "senders": "0..1", "receivers": "9..10"},
        {"kind": "long-lived", "senders": "1..9", "receivers": "9..10", "start": "2ms"},
    ]
    scenario = sh.Scenario.from_dict(
        {
            "name": "shared",
            "topology": {"kind": "star", "hosts": 10, "rate": "10Gbps"},
            "switch": {"buffer": {"kind": "complete-sharing", "pool": "1MB"}},
            "workload": flows,
            "measure": {"flow_traces": [{"workload": 0}, {"workload": 1}]},
            "stop": {"at": "4ms"},
        }
    )
    figure = getattr(figures, name)(scenario.run(out=tmp_path / "run"), flows=list(range(9)))
    tops = [max(curve[1]) for plot in figure.axes for curve in curves(plot).values()]
    assert tops[0] > 2 * tops[1]
    assert len({plot.get_ylim() for plot in figure.axes}) == 1


def test_schemes_of_a_swept_quantity_are_beside_each_other_with_one_scale(
    make: Callable[[Lines], list[sh.Run]],
) -> None:
    runs = make(
        [
            ({"scheme": scheme, "tcp.initial_window": window, "workload.0.load": load, "seed": 1}, 1.0)
            for scheme in ("one", "two")
            for window in (1, 2, 3, 4, 5)
            for load in (0.4, 0.8)
        ]
    )
    figure = figures.fct(runs)
    assert [plot.get_title() for plot in parts(figure)[:2]] == ["one", "two"]
    assert {len(plot.get_lines()) for plot in parts(figure)} == {5}
    assert figure.axes[-1].get_xlabel() == "initial window"
    nothing_overlaps(figure)


def test_more_panels_than_a_page_holds_are_refused(make: Callable[[Lines], list[sh.Run]]) -> None:
    runs = make([({"scheme": f"s{i}", "seed": 1}, 1.0) for i in range(21)])
    with pytest.raises(sh.ShallowsError, match="at most 20 rows; 21 panels of each kind"):
        figures.fct_cdf(runs)


def nothing_overlaps(figure: Figure) -> None:
    """Fail if panels or labels of axes overlap, or if anything is outside the figure."""
    with plt.style.context(style.STYLE):
        figure.draw_without_rendering()
    for one, other in itertools.combinations(figure.axes, 2):
        assert not one.bbox.overlaps(other.bbox)
    labels = [plot.yaxis.label.get_window_extent() for plot in figure.axes if plot.get_ylabel()]
    for label, another in itertools.combinations(labels, 2):
        assert not label.overlaps(another)
    for plot in figure.axes:
        assert plot.bbox.height > 0.35 * figure.dpi or plot.get_label() == "<colorbar>"
        box = plot.get_tightbbox()
        assert box is not None
        assert box.x0 >= -2
        assert box.x1 <= figure.bbox.x1 + 2
