"""Points of sweeps, what they cost, and what is made of claims about them, each worked out by hand."""

import json
from multiprocessing import Pipe
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from shallows.errors import ShallowsError
from shallows.reproduction.expected import Claim, Experiment
from shallows.reproduction.judging import Measured
from shallows.runs import memory
from shallows.runs.running import Source
from shallows.sweeps import estimate
from shallows.sweeps.conditions import Condition
from shallows.sweeps.estimate import Cost
from shallows.sweeps.merging import different, gather
from shallows.sweeps.points import Point, Shard, missing_in, plan, readable_in, write_index
from shared import SMALL, write_run

SCHEMES = """
[sweep]
axes = { "workload.0.load" = [0.3, 0.6], seed = [1, 2] }
[[sweep.scheme]]
name = "dctcp"
set = { "tcp.initial_window" = 5 }
[[sweep.scheme]]
name = "reno"
set = { "tcp.initial_window" = 5, "tcp.congestion" = "reno", "switch.markers" = [] }
"""


def test_an_option_wins_over_a_scheme_and_the_first_shard_has_the_first_point() -> None:
    _, points = plan(Source("x.toml", SMALL + SCHEMES, (("tcp.initial_window", "7"),)), None)
    windows = {json.loads(point.source.parse().resolved())["tcp"]["initial_window"] for point in points}
    assert windows == {7}
    # The last axis changes fastest, schemes slowest.
    assert [tuple(point.source.labels.values()) for point in points[:3]] == [
        ("dctcp", 0.3, 1),
        ("dctcp", 0.3, 2),
        ("dctcp", 0.6, 1),
    ]
    assert Shard(1, 3).of(points) == [points[0], points[3], points[6]]
    assert Shard(3, 3).of(points) == [points[2], points[5]]


def test_a_row_of_comparisons_is_one_of_neighbours_and_units_multiply_from_either_side() -> None:
    axes, labels = ["k", "n"], {"k": "90KB", "n": 3}
    for text, expected in (("1 < n < 2", False), ("n > 1 < 2", True), ("2 × k == 180KB", True)):
        assert Condition(text, axes).holds(labels) is expected
    with pytest.raises(ValueError, match="bytes and a number cannot be compared"):
        Condition("k > n", axes).holds(labels)


def run_folder(folder: Path, text: str = "", **engine: float) -> Path:
    """A finished run's folder, with a table if it has text."""
    folder.mkdir(parents=True)
    if text:
        (folder / "flows.parquet").write_text(text)
    write_run(folder, {"seed": 1}, {"goodput_gbps": 1.0, "engine": {"events": 5} | engine})
    return folder


def test_runs_are_the_same_but_for_what_their_machines_add(tmp_path: Path) -> None:
    def of(name: str, text: str = "", **engine: float) -> Path:
        return run_folder(tmp_path / name / "point", text, **engine)

    one = of("one", "x", wall_s=1.0, packet_hops_per_s=2.0, peak_rss_mb=3.0)
    assert different(one, of("two", "x", wall_s=9.0, packet_hops_per_s=9.0, peak_rss_mb=9.0)) is None
    assert different(one, of("three", "y")) == "flows.parquet"
    assert different(one, of("four")) == different(of("five"), one) == "flows.parquet"
    assert different(one, of("six", "x", events=6)) == "summary.json"


def point(folder: Path, *, finished: bool = False, **labels: Any) -> Point:
    """A point whose run has the hash that its folder is called after."""
    return Point(Source("x.toml", "", labels=labels), folder.name, folder, finished)


def test_a_point_is_gathered_from_where_it_is_whole_and_its_own(tmp_path: Path) -> None:
    here, there = tmp_path / "all", tmp_path / "part"
    here.mkdir()
    points = [point(here / name, seed=name) for name in ("a", "b", "c")]
    run_folder(there / "a", "from the part")
    # At the place of b is a run of something else.
    run_folder(there / "other").rename(there / "b")
    own = run_folder(here / "c", "mine")
    written = own.stat().st_ino
    run_folder(there / "c", "mine")
    missing, problems = gather(points, [there], here)
    assert (missing, problems) == ([points[1]], [])
    assert (here / "a/flows.parquet").read_text() == "from the part"
    # What is here already is not written again.
    assert own.stat().st_ino == written
    # The second copy of a differs from the first, though there is no third.
    run_folder(tmp_path / "more/a", "otherwise")
    with pytest.raises(ShallowsError, match=r"but their flows\.parquet differs"):
        gather(points[:1], [tmp_path / "more"], here)


def test_a_point_that_is_finished_and_not_among_some_runs_is_missing_there(tmp_path: Path) -> None:
    points = [point(run_folder(tmp_path / name), seed=name) for name in ("a", "b")]
    write_index(tmp_path, points)
    runs, _ = readable_in(tmp_path)
    assert (missing_in(tmp_path), missing_in(tmp_path, runs[:1])) == ([], ["seed b"])


def test_a_point_is_expected_to_cost_what_the_nearest_of_its_scheme_does(tmp_path: Path) -> None:
    known = {1: 10.0, 4: 40.0, 5: 500.0}
    points = [
        point(
            run_folder(tmp_path / str(n), packet_hops=known[n], wall_s=1.0, peak_rss_mb=1.0)
            if n in known
            else tmp_path / str(n),
            finished=n in known,
            scheme="b" if n == 5 else "a",
        )
        for n in range(7)
    ]
    found = [(cost.packet_hops, cost.source) if cost else None for cost in estimate.from_finished(points)]
    near, far = (10.0, "inferred"), (40.0, "inferred")
    assert found == [near, (10.0, "measured"), near, far, (40.0, "measured"), (500.0, "measured"), far]


def test_what_is_left_is_reckoned_without_what_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(estimate, "cores", lambda: 4)
    points = [point(tmp_path / str(n), finished=n == 0, seed=n) for n in range(5)]
    costs = [Cost(9e9, 99.0, 900.0, "measured"), Cost(100.0, 8.0, 60.0, "inferred"), None, None, None]
    # Of four that are left one is known, and the others are taken to be like it.
    needs = estimate.add_up(points, costs, 3)
    assert (needs.left, needs.packet_hops, needs.wall_s, needs.memory_mb) == (4, 400.0, 32 / 3, 180.0)
    assert needs.basis == "judged by 1 finished points"
    monkeypatch.setattr(memory, "available_mb", lambda: 150.0)
    with pytest.raises(ShallowsError, match="the largest, seed 1, takes 60 MB") as refused:
        estimate.refuse_what_cannot_fit(points, costs, 3)
    assert refused.value.remedy == "--jobs 2 fits"


def test_a_sample_is_extrapolated_to_the_whole_run(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = {"fraction": 0.25, "wall_s": 1.0, "packet_hops": 100, "middle": 0.15, "middle_mb": 40.0}

    class Fake:
        """A process that has been a quarter of its way."""

        def __init__(self, *_: object) -> None:
            self.pipe, other = Pipe(duplex=False)
            other.send(None)

        def give(self, *_: object) -> None:
            pass

        def receive(self) -> list[dict[str, float]]:
            return [seen | {"memory_mb": 60.0}]

        def stop(self) -> None:
            pass

    monkeypatch.setattr(estimate, "Child", Fake)
    clock = iter((10.0, 13.0))
    monkeypatch.setattr(estimate, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    alone = Point(Source("x.toml", SMALL), "", Path("x"), is_finished=False)
    (found,) = estimate.sample([alone], lambda _: None)
    # Four times the second, and two to start; 20 MB in a tenth are 150 in the three quarters that are left.
    assert found is not None
    assert (found.packet_hops, found.wall_s, found.peak_mb) == pytest.approx((400, 6, 210))


SWEEP = Experiment("x", ["1"], Path("x.toml"), axis="load")


def claim(**keys: Any) -> Claim:
    """A claim of which only what matters is said."""
    return Claim(**{"id": "c", "experiment": "x", "kind": "value", "metric": "m", "source": "§1"} | keys)


def measured(**values: dict[Any, list[float]]) -> list[Measured]:
    """Runs of schemes at places, whose only metric has a value for each seed."""
    return [
        Measured({"scheme": scheme, "load": load, "seed": seed}, lambda _, value=value: value)  # type: ignore[misc]
        for scheme, places in values.items()
        for load, seeds in places.items()
        for seed, value in enumerate(seeds)
    ]
