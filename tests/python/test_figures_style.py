"""Tests of the style of figures: they are legible in one column and in grey, and files are reproducible."""

import itertools
import warnings
from pathlib import Path
from typing import Any

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

import shallows as sh
from shallows import figures
from shallows.figure_names import FIGURES
from shallows.figures import style
from shallows.figures.lines import of_labels

# A warning from matplotlib means that a figure is not as intended.
pytestmark = pytest.mark.filterwarnings("error")


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
def paused(tmp_path_factory: pytest.TempPathFactory) -> sh.Run:
    """Run with a lossless class."""
    folder = tmp_path_factory.mktemp("lossless") / "run"
    return sh.run(sh.example("models/lossless"), {"stop.at": "500us"}, out=folder)


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


def _dashes(line: Line2D) -> str:
    return str(line._dash_pattern)  # type: ignore[attr-defined]


def test_lines_of_one_scheme_share_its_colour_and_differ_in_marker_and_dashes() -> None:
    labels = [{"scheme": scheme, "load": load} for scheme in ("DCTCP", "Reno") for load in (0.5, 0.8)]
    looks = of_labels({f"{each['scheme']}, load {each['load']}": each for each in labels}).looks
    colours = [look["color"] for look in looks.values()]
    assert colours[0] == colours[1] == style.look(0)["color"]
    assert colours[2] == colours[3] == style.look(1)["color"]
    assert len({(look["marker"], str(look["linestyle"])) for look in looks.values()}) == 4


def test_a_scheme_has_its_colour_whatever_the_order_of_runs(heavy: list[sh.Run]) -> None:
    def colours(runs: list[sh.Run]) -> dict[str, Any]:
        figure = figures.fct_cdf(runs)
        return {str(line.get_label()): line.get_color() for line in figure.axes[0].get_lines()}

    forth, back = colours(heavy), colours(heavy[::-1])
    assert (list(back), back) == (list(forth), forth)
    # In a figure of queues, too.
    queues = [plot.get_lines()[0].get_color() for plot in figures.queue(heavy[::-1]).axes]
    assert queues == [colour for colour in forth.values() for _ in range(2)]


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
