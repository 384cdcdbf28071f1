"""Tests of the estimated cost of a sweep, from finished points and from short trials of others."""

from multiprocessing import Pipe
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from shallows.errors import ShallowsError
from shallows.runs import memory
from shallows.runs.source import Source
from shallows.sweeps import estimate
from shallows.sweeps.estimate import Cost
from shallows.sweeps.points import Point
from shared import SMALL, write_run


def point(folder: Path, *, finished: bool = False, **labels: Any) -> Point:
    """Return a point whose folder is named after the run's hash."""
    return Point(Source("x.toml", "", labels=labels), folder.name, folder, finished)


def finished_point(folder: Path, hops: float, **labels: Any) -> Point:
    """Return a finished point whose run took `hops` packet-hops, a second and a megabyte."""
    folder.mkdir(parents=True)
    engine = {"packet_hops": hops, "wall_s": 1.0, "peak_rss_mb": 1.0}
    write_run(folder, {"seed": 1}, {"goodput_gbps": 1.0, "engine": engine})
    return point(folder, finished=True, **labels)


def test_a_point_costs_what_the_nearest_finished_point_of_its_scheme_cost(tmp_path: Path) -> None:
    known = {1: 10.0, 4: 40.0, 5: 500.0}
    schemes = "aaaaaba"
    points = [
        finished_point(tmp_path / str(n), known[n], scheme=scheme)
        if n in known
        else point(tmp_path / str(n), scheme=scheme)
        for n, scheme in enumerate(schemes)
    ]
    found = [(cost.packet_hops, cost.source) if cost else None for cost in estimate.from_finished(points)]
    near, far = (10.0, "inferred"), (40.0, "inferred")
    assert found == [near, (10.0, "measured"), near, far, (40.0, "measured"), (500.0, "measured"), far]


@pytest.fixture
def partly_known(tmp_path: Path) -> tuple[list[Point], list[Cost | None]]:
    """Five points and their costs: one finished, one with an inferred cost, three with unknown costs."""
    points = [point(tmp_path / str(n), finished=n == 0, seed=n) for n in range(5)]
    return points, [Cost(9e9, 99.0, 900.0, "measured"), Cost(100.0, 8.0, 60.0, "inferred"), None, None, None]


def test_unknown_points_cost_the_mean_of_the_known_and_finished_ones_nothing(
    partly_known: tuple[list[Point], list[Cost | None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(estimate, "cores", lambda: 4)
    needs = estimate.add_up(*partly_known, 3)
    # Four times 100 packet-hops and 8 s, three at a time; three of 60 MB at a time.
    assert (needs.left, needs.packet_hops, needs.wall_s, needs.memory_mb) == (4, 400.0, 32 / 3, 180.0)
    assert needs.basis == "judged by 1 finished run"


def test_too_little_memory_is_refused_with_the_number_of_jobs_that_fits(
    partly_known: tuple[list[Point], list[Cost | None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (estimate, memory):
        monkeypatch.setattr(module, "available_mb", lambda: 150.0)
    with pytest.raises(ShallowsError, match="the largest point, seed 1, takes 60 MB") as refused:
        estimate.refuse_what_cannot_fit(*partly_known, 3)
    assert refused.value.remedy == "run fewer points at a time: --jobs 2"


def test_a_point_tried_for_a_moment_is_extrapolated_to_its_whole_run(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = {"fraction": 0.25, "wall_s": 1.0, "packet_hops": 100, "middle": 0.15, "middle_mb": 40.0}

    class Fake:
        """Mock of a process that has run a quarter of its point."""

        def __init__(self, *_: object) -> None:
            self.pipe, other = Pipe(duplex=False)
            other.send(None)

        def give(self, *_: object) -> None:
            pass

        def receive(self) -> list[dict[str, float]]:
            return [seen | {"memory_mb": 60.0}]

        def end(self) -> None:
            pass

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
