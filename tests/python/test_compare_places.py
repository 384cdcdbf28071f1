"""Tests of `shallows compare --by`: combinations of swept values, their order, and Pareto-optimal ones."""

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

import shallows as sh
from shallows.comparison import comparison_tables
from shallows.comparison.places import axes_of
from shallows.comparison.ranking import Race, Standing
from shallows.comparison.samples import Sample, Series
from shallows.comparison.verdicts import Judgement
from shallows.figures import forest
from shallows.reports import of_sweep
from shallows.reports.ranked import comparable_axes
from shallows.runs.index import runs_in
from shallows.series.metric import Metric
from shared import SMALL, Shell, seal

Factors = Callable[[int, int], tuple[float, float]]

SIZES = (20, 60, 180, 540)
WINDOWS = (2, 10)


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> list[sh.Run]:
    """Runs of one scenario with five seeds."""
    folder = tmp_path_factory.mktemp("seeds")
    (folder / "small.toml").write_text(SMALL)
    return [sh.run(folder / "small.toml", seed=seed, out=folder / str(seed)) for seed in range(1, 6)]


def spread_out(seeds: list[sh.Run], folder: Path, factors: Factors) -> Path:
    """Write a sweep over K and the initial window, with the times of the runs in `seeds` multiplied.

    `factors` returns the factors for small and for other flows, so the true differences are known.
    """
    points = []
    for size in SIZES:
        for window in WINDOWS:
            small, others = factors(size, window)
            for run in seeds:
                seed = run.environment["seed"]
                labels = {"switch.markers.0.k": f"{size}KB", "tcp.initial_window": window, "seed": seed}
                copy = shutil.copytree(run.path, folder / f"{size}-{window}-{seed}")
                environment = json.loads((copy / "env.json").read_text())
                (copy / "env.json").write_text(json.dumps(environment | {"labels": labels}))
                factor = pl.when(pl.col("size_bytes") <= 100_000).then(small).otherwise(others)
                flows = run.flows.with_columns(fct_us=pl.col("fct_us") * factor)
                pl.DataFrame(flows).write_parquet(copy / "flows.parquet")
                seal(copy)
                points.append({"labels": labels, "folder": copy.name})
    (folder / "sweep.json").write_text(json.dumps({"points": points}))
    return folder


@pytest.fixture(scope="module")
def trade(seeds: list[sh.Run], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep in which a larger K slows down small flows and speeds up others; a window of 10 slows all."""

    def factors(size: int, window: int) -> tuple[float, float]:
        worse = 1.1 if window == WINDOWS[1] else 1.0
        return worse * (1 + SIZES.index(size) / 10), worse * (2 - SIZES.index(size) / 5)

    return spread_out(seeds, tmp_path_factory.mktemp("trade"), factors)


METRICS = ["fct_us.small.mean", "fct_us.medium.mean"]


def standings(comparison: sh.Comparison) -> list[Standing]:
    """Return the standings at the sweep's only point."""
    (ranking,) = comparison.rankings
    return ranking.standings


def test_the_values_of_an_axis_are_compared_at_each_place_on_the_others(trade: Path) -> None:
    found = sh.compare(trade, by="k", baseline="0.06MB")
    assert found.baseline == "k 60KB"
    rows = [row for row in found.rows if row.metric == "fct_us.small.mean"]
    assert [(row.scheme, row.point, row.verdict) for row in rows] == [
        (f"k {size}KB", {"tcp.initial_window": window}, verdict)
        for window in WINDOWS
        for size, verdict in ((20, "better"), (180, "worse"), (540, "worse"))
    ]
    # 1.0 over 1.1 in each run.
    assert rows[0].change == pytest.approx(1 / 1.1 - 1)
    assert found.rankings == []


def test_combinations_are_put_in_order_and_only_those_that_trade_are_left(trade: Path) -> None:
    found = sh.compare(trade, by=["switch.markers.0.k", "initial window"], metrics=METRICS)
    ordered = standings(found)
    # 1.0, 1.1 (twice: 60KB with 2, and 20KB with 10), 1.2, 1.21, 1.3, 1.32, 1.43.
    assert ordered[0].place == "k 20KB, initial window 2"
    assert [each.verdict for each in ordered] == ["first"] + 7 * ["worse"]
    assert ordered[-1].place == "k 540KB, initial window 10"
    assert ordered[-1].change == pytest.approx(1.3 * 1.1 - 1)
    kept = {each.place: each.front for each in found.rankings[0].kept}
    assert kept == {f"k {size}KB, initial window 2": "Pareto-optimal" for size in SIZES}
    dominated = {each.place: each.dominated_by for each in ordered if each.front == "dominated"}
    # 540KB with 10 has 1.43 and 1.54: as small ones go, 20KB is better, and no better for medium ones.
    assert dominated["k 540KB, initial window 10"] == ["k 540KB, initial window 2"]
    assert set(dominated["k 20KB, initial window 10"]) >= {
        "k 20KB, initial window 2",
        "k 60KB, initial window 2",
    }


def test_more_than_six_are_ranked_by_what_is_looked_at_first(trade: Path) -> None:
    found = sh.compare(trade, by=["k", "initial_window"])
    # 300 flows are too few for a 99th percentile, and not every run has a large one.
    assert found.rankings[0].metrics == ["fct_us.small.mean", "fct_us.all.mean"]
    assert found.is_large
    assert [table.title for table in comparison_tables.rankings(found)] == [
        "By FCT small mean",
        "Pareto-optimal",
    ]


def test_where_two_cannot_be_told_apart_both_stay_and_say_so() -> None:
    random = np.random.default_rng(1)
    base = [random.exponential(1.0, 400) for _ in range(5)]
    # B is 10 % better in one metric; whether it is worse in the other, noise of 30 % a seed leaves open.
    noise = np.array([0.7, 1.35, 0.8, 1.3, 1.2])

    def samples(first: float, second: NDArray[np.float64]) -> dict[int, Sample]:
        return {
            seed: Sample({"a": Series(first * each), "b": Series(times * each)}, {}, ())
            for seed, (each, times) in enumerate(zip(base, second, strict=True))
        }

    places = {"A": samples(1.0, np.ones(5)), "B": samples(0.9, noise), "C": samples(1.2, 2 * np.ones(5))}
    race = Race(places, [Metric("a.mean"), Metric("b.mean")], 0.95)
    found = {each.place: each for each in race.rank({}).standings}
    assert noise.mean() > 1
    assert (found["A"].front, found["A"].open_with) == ("cannot tell", ["B"])
    assert (found["B"].front, found["B"].open_with) == ("cannot tell", ["A"])
    assert found["C"].front == "dominated"
    # With the noise on the other side the estimate is no worse, and A is dominated.
    places["B"] = samples(0.9, 2 - noise)
    assert race.rank({}).standings[1].dominated_by == ["B"]


def test_without_intervals_nobody_is_dominated(trade: Path) -> None:
    runs = [sh.Run(path) for path in trade.glob("*-[12]")]  # two seeds
    ordered = standings(sh.compare(runs, by=["k", "initial_window"], metrics=METRICS))
    assert {each.front for each in ordered} == {"cannot tell"}
    assert {each.reason for each in ordered[1:]} == {"2 seeds: 3 are needed"}


def test_a_circle_of_verdicts_removes_nobody() -> None:
    # A is told to beat B, B to beat C, and C to beat A, as chance may have it where intervals decide.
    random = np.random.default_rng(2)
    values = [random.exponential(1.0, 300) for _ in range(5)]

    class Circle(Race):
        def judge(self, metric: Metric, baseline: str, other: str) -> Judgement:
            found = super().judge(metric, "A", "B")
            ahead = (ord(other) - ord(baseline)) % 3 == 1
            if metric.name == "a.mean":
                return found if ahead else super().judge(metric, "B", "A")
            return super().judge(metric, "A", "A")

    def sample(factor: float) -> dict[int, Sample]:
        return {
            seed: Sample({"a": Series(factor * each), "b": Series(each)}, {}, ())
            for seed, each in enumerate(values)
        }

    places = {"A": sample(1.0), "B": sample(0.9), "C": sample(1.0)}
    found = Circle(places, [Metric("a.mean"), Metric("b.mean")], 0.95).rank({}).standings
    assert {each.front for each in found} == {"Pareto-optimal"}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            {"by": "alpha"},
            "the axes and values are: switch.markers.0.k (20KB, 60KB, 180KB, 540KB), tcp.initial",
        ),
        ({"by": "seed"}, "seeds cannot be compared"),
        ({"by": "k", "baseline": "70KB"}, "the values are: k 20KB, k 60KB, k 180KB, k 540KB"),
        (
            {"by": "k", "metrics": ["fct_us.tiny.mean"]},
            "metric 'fct_us.tiny.mean' is missing in at least one run",
        ),
        ({"by": "k", "metrics": []}, "at least one metric is needed, got none"),
        ({}, "compare the values of an axis with --by; the axes are: switch.markers.0.k, tcp.initial_window"),
    ],
)
def test_what_is_unknown_is_answered_with_what_there_is(
    trade: Path, options: dict[str, Any], expected: str
) -> None:
    with pytest.raises(sh.ShallowsError) as refused:
        sh.compare(trade, **options)
    assert expected in str(refused.value)


def test_axes_that_end_alike_are_named_by_their_keys(trade: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(trade / "20-2-1", tmp_path / "run")
    environment = json.loads((copy / "env.json").read_text())
    labels = {"switch.markers.0.k": 1, "switch.markers.1.k": 2}
    (copy / "env.json").write_text(json.dumps(environment | {"labels": labels}))
    seal(copy)
    runs = [sh.Run(copy)]
    with pytest.raises(sh.ShallowsError, match=r"--by k: several axes have this name"):
        axes_of(runs, ["k"])
    assert axes_of(runs, ["switch.markers.1.k"]) == ["switch.markers.1.k"]


def test_the_command_prints_order_and_front_and_has_them_in_json(shell: Shell, trade: Path) -> None:
    by = ["--by", "k", "--by", "initial_window", "--metrics", ",".join(METRICS)]
    done = shell("compare", trade, *by)
    assert done.returncode == 0, done.stderr
    for expected in ["By FCT small mean", "Pareto-optimal", "4 of 8 places are dominated"]:
        assert expected in done.stdout
    assert "against k 20KB" not in done.stdout
    document = json.loads(shell("compare", trade, *by, "--json").stdout)
    (ranking,) = document["rankings"]
    assert ranking["metrics"] == METRICS
    assert [each["front"] for each in ranking["standings"]].count("dominated") == 4
    assert len(document["rows"]) > 7


@pytest.mark.filterwarnings("error")
def test_the_figure_of_many_places_has_a_row_for_each_in_their_order(trade: Path) -> None:
    found = sh.compare(trade, by=["k", "initial_window"], metrics=METRICS)
    figure = forest.draw(found)
    (plot,) = figure.axes
    names = [label.get_text().replace("\n", " ") for label in plot.get_yticklabels()]
    assert names == [each.place for each in standings(found)]
    heights = list(plot.get_yticks())
    assert heights == sorted(heights)
    # The first is below no other: the axis points down.
    assert plot.get_ylim()[0] > plot.get_ylim()[1]
    drawn = [line for line in plot.get_lines() if line.get_linestyle() == "-" and line.get_linewidth() == 1.0]
    intervals = {float(np.asarray(line.get_ydata())[0]): np.asarray(line.get_xdata()) for line in drawn}
    for each, height in zip(standings(found)[1:], heights[1:], strict=True):
        assert each.low is not None
        assert each.high is not None
        assert intervals[height].tolist() == [1 + each.low, 1 + each.high]
    bold = [
        label.get_text().replace("\n", " ")
        for label in plot.get_yticklabels()
        if label.get_fontweight() == "bold"
    ]
    assert bold == [each.place for each in found.rankings[0].kept]
    assert len(bold) == 4
    # Twice as many rows are a figure that is higher by them.
    twice = replace(found.rankings[0], standings=2 * standings(found))
    higher = forest.draw(replace(found, rankings=[twice]))
    rows = 2 * len(names) - len(names)
    grown = higher.get_figheight() - figure.get_figheight()
    assert grown >= rows * forest.ROW * 0.99


def test_the_page_of_a_sweep_shows_all_places_and_marks_those_that_are_left(trade: Path) -> None:
    text = of_sweep.page(runs_in(trade), trade)
    assert "By FCT small mean" in text
    assert "places are dominated" in text
    island = re.search(r'id="data">(.*?)</script>', text, re.DOTALL)
    assert island is not None
    (chart,) = [each for each in json.loads(island[1])["charts"] if each["name"] == "places"]
    assert [chart["x"]["name"].split(" (")[0], chart["y"]["name"].split(" (")[0]] == [
        "FCT small mean",
        "FCT all mean",
    ]
    found = sh.compare(trade, by=["k", "initial_window"])
    (ranking,) = found.rankings
    by_name = {line["name"]: line for line in chart["lines"]}
    assert set(by_name) == {each.place for each in ranking.kept} | {"dominated"}
    # Each place is one point, and none is lost.
    assert sum(len(line["points"]) for line in chart["lines"]) == len(ranking.standings) == 8
    first, second = (by_name[each.place]["points"][0] for each in ranking.kept[:2])
    values = [each.values["fct_us.small.mean"] or 0.0 for each in ranking.kept[:2]]
    assert second[0] / first[0] == pytest.approx(values[1] / values[0], rel=1e-4)


def test_axes_that_change_the_flows_are_no_places(finished_sweep: Path) -> None:
    assert comparable_axes(runs_in(finished_sweep)) == ["scheme"]
