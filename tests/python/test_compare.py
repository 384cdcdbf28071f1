"""Tests of `shallows compare`: verdicts that the runs support, and errors."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

import shallows as sh
from shallows.comparison import intervals
from shallows.comparison.rows import Row
from shallows.comparison.samples import Sample, Series
from shallows.comparison.verdicts import judge
from shallows.figures import forest
from shallows.runs.source import Source
from shallows.series.metric import Metric
from shallows.sweeps.points import plan, write_index
from shallows.sweeps.sweeps import choose_engine, run_points
from shared import QUERIES, SMALL, Shell, seal

SCHEMES = """
[sweep]
axes = { seed = [1, 2, 3, 4, 5] }
[[sweep.scheme]]
name = "10 us"
set = {}
[[sweep.scheme]]
name = "10.3 us"
set = { "topology.link_delay" = "10.3us" }
[[sweep.scheme]]
name = "reno"
set = { "tcp.congestion" = "reno", "switch.markers" = [] }
"""


def make_sweep(text: str, folder: Path) -> Path:
    """Run a sweep in child processes, and return its folder."""
    _, points = plan(Source(str(folder / "x.toml"), text), folder)
    folder.mkdir(parents=True, exist_ok=True)
    write_index(folder, points)
    run_points(points, choose_engine(jobs=2), lambda *_: None)
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a sweep of three schemes with five seeds."""
    return make_sweep(SMALL + SCHEMES, tmp_path_factory.mktemp("sweep"))


@pytest.fixture
def sweep(made: Path, tmp_path: Path) -> Path:
    """A copy of `made`, which tests may damage."""
    return shutil.copytree(made, tmp_path / "sweep")


def folders(sweep: Path, scheme: str) -> list[Path]:
    """Return the folders of a scheme's runs, in the order of seeds."""
    points = json.loads((sweep / "sweep.json").read_text())["points"]
    return [sweep / point["folder"] for point in points if point["labels"]["scheme"] == scheme]


def runs(sweep: Path, scheme: str, seeds: int = 5) -> list[sh.Run]:
    """Return the runs of a scheme with the first `seeds` seeds."""
    return [sh.Run(path) for path in folders(sweep, scheme)[:seeds]]


def row(comparison: sh.Comparison, metric: str, scheme: str | None = None) -> Row:
    """Return the row of a metric."""
    (found,) = [each for each in comparison.rows if each.metric == metric and scheme in {None, each.scheme}]
    return found


def test_two_percent_are_found_on_the_same_flows_and_not_on_others(tmp_path: Path) -> None:
    # Alone on the network, small flows take little more than their round trips, and links are 3 % longer.
    text = SMALL.replace("load = 0.6", "load = 0.05").replace("flows = 60", "flows = 150")
    sweep = make_sweep(text + SCHEMES, tmp_path / "sweep")
    small = row(sh.compare(sweep), "fct_us.small.mean", "10.3 us")
    assert small.verdict == "worse"
    assert small.change == pytest.approx(0.02, abs=0.01)
    times = [
        [run.flows.filter(pl.col("size_bytes") <= 100_000)["fct_us"].to_numpy() for run in runs(sweep, name)]
        for name in ("10 us", "10.3 us")
    ]
    others = intervals.mean_change(times[0], times[1][1:] + times[1][:1])
    assert others.low < 0 < others.high


def test_values_are_those_of_the_summaries_when_nothing_is_left_out(sweep: Path) -> None:
    mean = row(sh.compare(sweep, cool_down=0), "fct_us.all.mean", "reno")
    expected = [
        np.mean([run.summary["fct_us"]["all"]["mean"] for run in runs(sweep, name)])
        for name in ("10 us", "reno")
    ]
    assert [mean.baseline_value, mean.value] == pytest.approx(expected, rel=1e-9)
    assert mean.change == pytest.approx(expected[1] / expected[0] - 1)


def test_late_flows_are_left_out_unless_asked_for(sweep: Path) -> None:
    early = []
    for run in runs(sweep, "reno"):
        arrivals, times = (run.flows[name].to_numpy() for name in ("arrival_us", "fct_us"))
        early.append(times[arrivals <= (arrivals.min() + arrivals.max()) / 2].mean())
    compared = sh.compare(sweep, cool_down=0.5)
    assert row(compared, "fct_us.all.mean", "reno").value == pytest.approx(np.mean(early))
    assert any("of the last 50 %" in note for note in compared.notes)


def test_fewer_than_three_seeds_tell_nothing(sweep: Path) -> None:
    compared = sh.compare(runs(sweep, "10 us", 2), runs(sweep, "reno", 2), names=["10 us", "reno"])
    assert {each.verdict for each in compared.rows} == {"cannot tell"}
    mean = row(compared, "fct_us.all.mean")
    assert (mean.reason, mean.low, mean.high) == ("2 seeds: 3 are needed", None, None)


def test_three_seeds_are_cut_into_blocks_of_time(sweep: Path) -> None:
    compared = sh.compare(runs(sweep, "10 us", 3), runs(sweep, "reno", 3), names=["10 us", "reno"])
    # 57 flows of each run make four batches of ten or more, not seven.
    assert row(compared, "fct_us.all.mean").groups == "12 batches of 3 seeds"
    assert row(compared, "loss_rate_in_switches").reason == "3 seeds: a metric of whole runs needs 5"
    assert row(compared, "fct_us.all.p99").reason == "171 flows: 2,000 are needed"


def test_swapping_the_baseline_swaps_the_verdicts(sweep: Path) -> None:
    there, back = sh.compare(sweep), sh.compare(sweep, baseline="reno")
    for name in ("fct_us.small.mean", "loss_rate_in_switches", "goodput_gbps"):
        opposite = {"better": "worse", "worse": "better", "cannot tell": "cannot tell"}
        assert row(back, name, "10 us").verdict == opposite[row(there, name, "reno").verdict]
    assert row(there, "loss_rate_in_switches", "reno").verdict == "worse"


def test_the_same_results_cannot_be_told_apart(sweep: Path) -> None:
    copy = shutil.copytree(sweep, sweep.with_name("copy"))
    compared = sh.compare(sweep, copy)
    assert {each.verdict for each in compared.rows} == {"cannot tell"}
    assert {each.reason for each in compared.rows if each.metric == "goodput_gbps"} == {
        "the same in every run"
    }
    # Folders of several schemes are compared scheme by scheme.
    assert [each.point["scheme"] for each in compared.rows if each.metric == "loss_rate_in_switches"] == [
        "10 us",
        "10.3 us",
        "reno",
    ]


def test_no_verdict_rests_on_flows_that_are_not_complete(scenario: Path, tmp_path: Path) -> None:
    scenario.write_text(SMALL.replace("flows = 60", "flows = 200"), encoding="utf-8")
    schemes: dict[str, dict[str, object]] = {
        "dctcp": {},
        "reno": {"tcp.congestion": "reno", "switch.markers": []},
    }
    # Runs that stop while flows are under way; only reno's wait for timeouts of a second.
    whole = [
        [
            sh.run(scenario, changes | {"stop.at": "90ms"}, seed, tmp_path / f"{name}{seed}")
            for seed in range(1, 6)
        ]
        for name, changes in schemes.items()
    ]
    compared = sh.compare(*whole, names=list(schemes))
    left = sum(run.flows["fct_us"].null_count() for run in whole[1])
    assert any("reno: " in note and "flows are unfinished" in note for note in compared.notes)
    back = sh.compare(*whole, names=list(schemes), baseline="reno")
    for comparison in (compared, back):
        judged = [each for each in comparison.rows if each.metric.startswith(("fct_us.all", "slowdown.all"))]
        assert left > 0
        assert "better" not in {each.verdict for each in judged if each.scheme == "reno"}
        means = [each for each in judged if each.metric.endswith(".mean")]
        assert not [each for each in means if each.value is None or not np.isfinite(each.value)]


def test_a_lower_limit_supports_a_verdict_in_one_direction_only() -> None:
    random = np.random.default_rng(1)
    quick = [random.exponential(1.0, 500) for _ in range(5)]
    times = {True: [3 * each for each in quick], False: [each / 3 for each in quick]}

    def verdict(*, slower: bool) -> tuple[str, str]:
        pairs = [
            (sample(theirs, incomplete=0), sample(mine, incomplete=2))
            for theirs, mine in zip(quick, times[slower], strict=True)
        ]
        judged = judge(Metric("fct_us.all.mean"), pairs, 0.95)
        return judged.verdict, judged.reason

    assert verdict(slower=True) == ("worse", "")
    assert verdict(slower=False) == ("cannot tell", "10 flows are unfinished")


def sample(values: NDArray[np.float64], incomplete: int) -> Sample:
    """Return a sample with completion times only."""
    return Sample({"fct_us.all": Series(values, incomplete)}, {}, ())


def test_queries_are_compared(tmp_path: Path) -> None:
    text = QUERIES.replace("queries = 3", "queries = 40")
    schemes = '[sweep]\naxes = { seed = [1, 2, 3, 4, 5] }\n[[sweep.scheme]]\nname = "a"\nset = {}\n'
    schemes += '[[sweep.scheme]]\nname = "b"\nset = { "topology.link_delay" = "2us" }\n'
    compared = sh.compare(make_sweep(text + schemes, tmp_path / "out"))
    assert row(compared, "query_us.all.mean").verdict == "worse"


TWO = """
[[workload]]
kind = "poisson"
load = 0.1
of = "receivers"
sizes = { kind = "fixed", size = "5KB" }
flows = 40
senders = "1..5"
receivers = "0..1"
class = 1
"""


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep of two workloads; the second one has only small flows, in a class of its own."""
    schemes = SCHEMES[: SCHEMES.index('[[sweep.scheme]]\nname = "10.3 us"')]
    slow = '[[sweep.scheme]]\nname = "slow"\nset = { "topology.link_delay" = "20us" }\n'
    return make_sweep(SMALL + TWO + schemes + slow, tmp_path_factory.mktemp("two"))


def test_a_metric_may_be_of_one_workload_or_class(two: Path) -> None:
    metrics = ["fct_us.small.mean@1", "fct_us.all.mean@class0", "slowdown.all.mean@0..2"]
    found = sh.compare(two, metrics=metrics, cool_down=0)
    for metric, chosen in zip(
        metrics, [pl.col("workload") == 1, pl.col("class") == 0, pl.lit(value=True)], strict=True
    ):
        column = "slowdown" if metric.startswith("slowdown") else "fct_us"
        means = [run.flows.filter(chosen)[column].mean() for run in runs(two, "slow")]
        assert row(found, metric).value == pytest.approx(np.mean(means))  # type: ignore[arg-type]
    # The same numbers as in `Run.by`.
    by = [
        run.by("workload").filter(pl.col("workload") == 1)["fct_mean_us"].item() for run in runs(two, "slow")
    ]
    assert row(found, metrics[0]).value == pytest.approx(np.mean(by))
    assert row(found, metrics[0]).has_interval
    assert found.rankings[0].metrics == metrics
    assert {each.metric for each in found.main()} >= set(metrics)


def test_the_command_compares_one_workload_and_says_which(shell: Shell, two: Path) -> None:
    done = shell("compare", two, "--metrics", "fct_us.small.mean@1")
    assert done.returncode == 0, done.stderr
    assert "FCT small mean, workload 1 µs" in done.stdout


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("fct_us.small.mean@7", "workload 7 does not exist or sends no flows"),
        ("fct_us.small.mean@incast", "'incast' does not select flows"),
        ("fct_us.small.mean@class9", "no workload sends flows of 'class9'"),
        ("fct_us.large.p50@1", "metric 'fct_us.large.p50@1' is missing in at least one run"),
        ("goodput_gbps@0", "metric 'goodput_gbps@0' is missing in at least one run"),
    ],
)
def test_an_unknown_workload_or_metric_of_one_is_answered_with_what_there_is(
    two: Path, metric: str, expected: str
) -> None:
    with pytest.raises(sh.ShallowsError) as refused:
        sh.compare(two, metrics=[metric])
    assert expected in str(refused.value)


def test_the_command_prints_verdicts_and_writes_figure_and_json(
    shell: Shell, sweep: Path, tmp_path: Path
) -> None:
    done = shell("compare", sweep, "--out", "out")
    assert done.returncode == 0, done.stderr
    for expected in [
        "reno against 10 us",
        "95 % interval",
        "worse",
        "cannot tell",
        "FCT all mean",
        "left out",
    ]:
        assert expected in done.stdout
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "compare.json",
        "compare.pdf",
        "compare.png",
    ]
    printed = shell("compare", sweep, "--json", "--confidence", "0.99")
    document = json.loads(printed.stdout)
    assert document["confidence"] == 0.99
    narrow = json.loads((tmp_path / "out" / "compare.json").read_text())["rows"][0]
    wide = document["rows"][0]
    assert wide["metric"] == narrow["metric"] == "fct_us.all.mean"
    assert wide["low"] < narrow["low"] < narrow["change"] < narrow["high"] < wide["high"]


def test_what_cannot_be_drawn_is_said_and_the_json_is_written(
    shell: Shell, sweep: Path, tmp_path: Path
) -> None:
    done = shell("compare", folders(sweep, "10 us")[0], folders(sweep, "reno")[0], "--out", "out")
    assert done.returncode == 0, done.stderr
    assert "no figure: the comparison has no confidence interval to draw" in done.stdout
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["compare.json"]


def test_the_figure_draws_each_interval_and_its_verdict(sweep: Path) -> None:
    compared = sh.compare(sweep)
    figure = forest.draw(compared)
    drawn = [
        each for each in compared.main() if each.scheme == "reno" and each.metric[:3] in {"fct", "slo", "goo"}
    ]
    drawn = [each for each in drawn if each.has_interval]
    panel = figure.axes[1]
    assert panel.get_title() == "reno against 10 us"
    points = [
        line for line in panel.get_lines() if line.get_markersize() == 4 and line.get_linestyle() == "None"
    ]
    places = [float(np.asarray(line.get_xdata())[0]) for line in points]
    assert places == [1 + each.change for each in drawn if each.change is not None]
    assert [line.get_marker() for line in points] == [forest.MARKS[each.verdict]["marker"] for each in drawn]


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (
            lambda path: path.write_bytes(path.read_bytes()[:1000]),
            ["cannot be read", "run its scenario again"],
        ),
        (
            lambda path: pl.DataFrame({"a": [1]}).write_parquet(path),
            ["query is missing; version", "run the scenario again"],
        ),
        (
            lambda path: pl.read_parquet(path).with_columns(pl.col("fct_us").cast(str)).write_parquet(path),
            ["column fct_us must be of type Float64, got String", "does not come from Shallows"],
        ),
        (lambda path: (path.parent / "summary.json").write_text("{}"), ["summary.json: fct_us is missing"]),
        (
            lambda path: (path.parent / "resolved.json").write_text("{}"),
            ["resolved.json: measure.warm_up is missing"],
        ),
        (lambda path: path.unlink(), ["flows.parquet cannot be read"]),
    ],
)
def test_a_damaged_foreign_or_older_folder_is_named_with_a_remedy(
    shell: Shell, sweep: Path, damage: Callable[[Path], object], expected: list[str]
) -> None:
    path = folders(sweep, "reno")[2] / "flows.parquet"
    damage(path)
    seal(path.parent)  # as if it had been written so
    refused = shell("compare", sweep)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert path.parent.name in refused.stderr
    for words in expected:
        assert words in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"workload.0.flows": 61}, "workload.0.flows, got 60 and 61"),
        ({"workload.0.load": 0.5}, "workload.0.load, got 0.6 and 0.5"),
        ({"measure.fct": "sender"}, "measure.fct, got 'receiver' and 'sender'"),
        ({"measure.warm_up": "1ms"}, "measure.warm_up, got '0ps' and '1ms'"),
        ({"stop.at": "10ms"}, "stop.at, got not set and '10ms'"),
    ],
)
def test_runs_that_do_not_match_are_refused(
    scenario: Path, tmp_path: Path, change: dict[str, object], expected: str
) -> None:
    ours, theirs = (
        [sh.run(scenario, changed, seed, tmp_path / name / str(seed)) for seed in (1, 2)]
        for name, changed in (("ours", {}), ("theirs", change))
    )
    with pytest.raises(sh.ShallowsError, match="compare runs of the same workload, length and") as refused:
        sh.compare(ours, theirs)
    assert expected in str(refused.value)


def test_schemes_without_a_common_seed_or_point_are_refused(sweep: Path) -> None:
    ours, theirs = runs(sweep, "10 us")[:2], runs(sweep, "reno")[2:]
    with pytest.raises(sh.ShallowsError, match=r"have no seed in common: 1, 2 versus 3, 4, 5"):
        sh.compare(ours, theirs, names=["ours", "theirs"])
    with pytest.raises(sh.ShallowsError, match="the same scheme, point and seed: ours"):
        sh.compare([*ours, sh.Run(ours[0].path)], theirs, names=["ours", "theirs"])


def test_seeds_of_one_scheme_only_are_left_out_and_named(sweep: Path) -> None:
    compared = sh.compare(runs(sweep, "10 us"), runs(sweep, "reno", 3), names=["a", "b"])
    assert "b: left out: seeds 4, 5, which only one side has" in compared.notes


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--baseline", "dctcp"], "the schemes are: 10 us, 10.3 us, reno"),
        (["--confidence", "95"], "confidence must be at least 0.5 and below 1, got 95.0"),
        (["--cool-down", "1"], "cool-down must be at least 0 and below 1, got 1.0"),
        (["nowhere"], "nowhere does not exist"),
    ],
)
def test_wrong_arguments_are_refused(shell: Shell, sweep: Path, arguments: list[str], expected: str) -> None:
    refused = shell("compare", sweep, *arguments)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert expected in refused.stderr


def test_one_scheme_is_nothing_to_compare(shell: Shell, sweep: Path) -> None:
    refused = shell("compare", folders(sweep, "reno")[0])
    assert "at least two schemes, got only reno" in refused.stderr
    assert "name the folders of two schemes" in refused.stderr
