"""Tests of figures of many schemes: Pareto fronts, bounds, rows, and values relative to a baseline."""

import itertools
from pathlib import Path

import pytest
from matplotlib.axes import Axes

import shallows as sh
from drawn import curves, data
from fake_runs import fake_run
from shallows import figures
from shallows.quantity import digits
from shallows.series.measures import measure

LOST, TIMEOUTS = "retransmits", "timeouts"


def runs_of(values: dict[tuple[str, float], list[tuple[float, float]]]) -> list[sh.Run]:
    """Return runs, given for each scheme and load the retransmits and timeouts with each seed."""
    return [
        fake_run(
            labels={"scheme": scheme, "workload.0.load": load, "seed": seed},
            summary={"name": "x", "simulated_s": 1.0, LOST: lost, TIMEOUTS: timeouts},
        )
        for (scheme, load), seeds in values.items()
        for seed, (lost, timeouts) in enumerate(seeds)
    ]


def front(plot: Axes) -> list[tuple[float, float]]:
    """Return the points on the line through the schemes that no other scheme beats."""
    (line,) = [each for each in plot.get_lines() if each.get_linestyle() == "-" and each.get_marker() == ""]
    return [*zip(*data(line), strict=True)]


THREE = {
    ("few lost", 0.5): [(1.0, 9.0), (1.0, 11.0)],
    ("few timeouts", 0.5): [(4.0, 2.0)],
    ("beaten", 0.5): [(5.0, 20.0)],
    ("few lost", 0.9): [(3.0, 3.0)],
}


def test_a_frontier_has_a_panel_for_each_load_and_the_line_of_the_unbeaten() -> None:
    figure = figures.frontier(runs_of(THREE), metrics=(LOST, TIMEOUTS))
    half, high = figure.axes
    assert [plot.get_title(loc="right") for plot in (half, high)] == ["load 0.5", "load 0.9"]
    assert curves(half) == {
        "few lost": ([1.0], [10.0]),
        "few timeouts": ([4.0], [2.0]),
        "beaten": ([5.0], [20.0]),
    }
    assert front(half) == [(1.0, 10.0), (4.0, 2.0)]
    assert curves(high) == {"few lost": ([3.0], [3.0])}


def test_more_than_eight_schemes_in_one_panel_have_names_apart_from_each_other() -> None:
    values = {(f"scheme {index}", 0.5): [(1 + index / 100, 2.0)] for index in range(1, 10)}
    figure = figures.frontier(runs_of(values), metrics=(LOST, TIMEOUTS))
    texts = figure.axes[0].texts
    assert [text.get_text() for text in texts] == [scheme for scheme, _ in values]
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in texts]
    assert not any(one.overlaps(other) for one, other in itertools.combinations(boxes, 2))


def test_more_than_eight_schemes_in_several_panels_are_numbers_with_a_key() -> None:
    values = {
        (f"scheme {index}", load): [(float(index), 10.0 - index)]
        for index in range(1, 10)
        for load in (0.5, 0.9)
    }
    figure = figures.frontier(runs_of(values), metrics=(LOST, TIMEOUTS))
    assert [text.get_text() for text in figure.axes[0].texts] == [str(index) for index in range(1, 10)]
    note = figure._supxlabel.get_text().replace("\n", " ")  # type: ignore[attr-defined]
    assert note.startswith("1 scheme 1, 2 scheme 2, ")


def test_the_bound_of_a_frontier_is_the_fluid_network(tmp_path: Path) -> None:
    run = sh.run(sh.example("gallery/load"), {"workload.0.flows": 60}, out=tmp_path / "run")
    metrics = ("fct_us.all.mean", "fct_us.all.p99")
    (plot,) = figures.frontier(run, metrics=metrics, ideal=True).axes
    bound = [measure(run, f"fluid_{metric}") for metric in metrics]
    assert [text.get_text() for text in plot.texts] == [f"no queues: {digits(bound[0])}, {digits(bound[1])}"]
    assert bound[0] < measure(run, "fct_us.all.mean")


def test_dots_have_a_row_for_each_scheme_and_a_marker_for_each_load() -> None:
    lost, timeouts = figures.dots(runs_of(THREE), metrics=(LOST, TIMEOUTS)).axes
    assert [text.get_text() for text in lost.get_yticklabels()] == ["few lost", "few timeouts", "beaten"]
    found = curves(lost)
    assert list(found) == ["load 0.5", "load 0.9"]
    assert found["load 0.5"][0] == [1.0, 4.0, 5.0]
    assert curves(timeouts)["load 0.9"][0] == [3.0]


def test_long_labels_below_dots_are_those_of_every_second_tick() -> None:
    runs = runs_of({("few", 0.5): [(900.0, 9.0)], ("many", 0.5): [(12_000.0, 100.0)]})
    panel, _ = figures.dots(runs, metrics=(LOST, TIMEOUTS)).axes
    # 1,000, 2,000, 5,000 and 10,000 have 21 letters.
    assert [*panel.get_xticks()] == [1_000, 5_000]


def test_values_are_divided_by_those_of_the_baseline_with_the_same_load_and_seed() -> None:
    values = {
        ("a", 0.5): [(1.0, 1.0), (2.0, 1.0)],
        ("b", 0.5): [(3.0, 1.0), (4.0, 1.0)],
        ("a", 0.9): [(5.0, 1.0)],
        ("b", 0.9): [(10.0, 1.0)],
    }
    (plot,) = figures.dots(runs_of(values), metrics=(LOST,), baseline={"scheme": "a"}).axes
    # (3 / 1 + 4 / 2) / 2 and 10 / 5.
    assert curves(plot)["load 0.5"][0] == [1.0, 2.5]
    assert curves(plot)["load 0.9"][0] == [1.0, 2.0]


def test_rows_can_be_the_values_of_an_axis() -> None:
    (plot,) = figures.dots(runs_of(THREE), metrics=(LOST,), rows="load").axes
    assert [text.get_text() for text in plot.get_yticklabels()] == ["0.5", "0.9"]
    assert list(curves(plot)) == ["few lost", "few timeouts", "beaten"]


def test_a_baseline_that_no_run_is_at_is_refused() -> None:
    with pytest.raises(sh.ShallowsError, match="no run matches the baseline c"):
        figures.dots(runs_of(THREE), metrics=(LOST,), baseline={"scheme": "c"})


def test_more_markers_than_can_be_told_apart_are_refused() -> None:
    values = {("a", index / 10): [(1.0, 1.0)] for index in range(1, 10)}
    with pytest.raises(sh.ShallowsError, match="each row would have 9 markers; the maximum is 8"):
        figures.dots(runs_of(values), metrics=(LOST,))


def test_a_frontier_relative_to_a_scheme_divides_the_bound_too(tmp_path: Path) -> None:
    changes: dict[str, dict[str, object]] = {"a": {}, "b": {"switch.markers.0.k": "20p"}}
    few: dict[str, object] = {"workload.0.flows": 60}
    runs = [
        sh.run(sh.example("gallery/load"), few | change, out=tmp_path / name)
        for name, change in changes.items()
    ]
    for run, name in zip(runs, changes, strict=True):
        vars(run)["environment"] = run.environment | {"labels": {"scheme": name, "seed": 1}}
    metrics = ("fct_us.all.mean", "fct_us.all.p99")
    (plot,) = figures.frontier(runs, metrics=metrics, baseline={"scheme": "a"}, ideal=True).axes
    assert curves(plot)["a"] == ([1.0], [1.0])
    bound = [measure(runs[0], f"fluid_{metric}") / measure(runs[0], metric) for metric in metrics]
    assert plot.texts[0].get_text() == f"no queues: {digits(bound[0])}, {digits(bound[1])}"
