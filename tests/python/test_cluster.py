"""Tests of sweeps on a Ray cluster: results are the same even if a worker or a node is killed.

Tests that need no cluster run without Ray.
"""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

import shallows as sh
from not_run import needs
from shallows.errors import NoSpaceError, ShallowsError
from shallows.runs.source import Source
from shallows.runs.toml_text import override_texts
from shallows.sweeps.cluster import SILENT_S, Board, _pack_inputs, _Tasks, drive, run_far, run_on_ray
from shallows.sweeps.points import Outcome, Point, plan
from shallows.sweeps.sharing import Ended, Share
from shallows.sweeps.sweeps import choose_engine, run_points
from shared import contents, results

try:
    from ray.cluster_utils import Cluster
except ImportError:
    Cluster = None

needs_ray = pytest.mark.skipif(Cluster is None, reason=needs("Ray", "make ray"))
BOARD = SimpleNamespace(note=SimpleNamespace(remote=lambda *_: None))


@pytest.fixture
def points(many: Path, tmp_path: Path) -> list[Point]:
    """Eleven points of a sweep, some of each scheme."""
    _, found = plan(Source.read(many), tmp_path / "ray")
    return found[::5]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A cluster with a node for the driver, and two nodes that run points."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    started = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    started.workers = [started.add_node(num_cpus=1) for _ in range(2)]
    yield started
    started.shutdown()


@needs_ray
def test_a_sweep_outlives_a_worker_and_a_node(
    cluster: Any, points: list[Point], many: Path, tmp_path: Path
) -> None:
    # One of them fails on every worker: it is reported, and not retried.
    points[2].source = replace(points[2].source, seed=7)

    def kill() -> None:
        _kill_a_worker()
        cluster.remove_node(cluster.workers[0], allow_graceful=False)

    death = Death(points, kill)
    engine = choose_engine("ray", address=cluster.address)
    outcomes = run_points(points, engine, death)
    assert [index for index, outcome in enumerate(outcomes) if not outcome.run] == [2]
    assert "has another engine" in str(outcomes[2].error)
    assert death.came_early()

    local, alike = plan(Source.read(many), tmp_path / "local")
    alike = alike[::5]
    del alike[2]
    run_points(alike, choose_engine(), lambda *_: None)
    assert contents(tmp_path / "ray") == contents(local)
    assert results(tmp_path / "ray") == results(local)


@needs_ray
def test_a_cluster_that_dies_is_reported_with_what_is_kept(
    cluster: Any, points: list[Point], many: Path, tmp_path: Path
) -> None:
    # From the fourth on, points take minutes, so none of them finishes before the cluster is gone.
    _, endless = plan(Source.read(many, override_texts({"workload.0.flows": 10_000_000})), tmp_path / "ray")
    points[3:] = endless[: len(points) - 3]
    death = Death(points, cluster.shutdown)
    with pytest.raises(ShallowsError, match=r"the Ray cluster at .* was lost") as lost:
        run_points(points, choose_engine("ray", address=cluster.address), death)
    assert death.came_early()
    kept = sum(point.has_results for point in points)
    assert lost.value.remedy == f"{kept} of 11 points are kept; repeat the command to run the others"


def test_a_point_whose_worker_was_killed_is_no_longer_among_those_that_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    board = Board()
    board.note(0, {"fraction": 0.2})
    board.note(1, {"fraction": 0.3})
    now += SILENT_S - 1
    board.note(1, {"fraction": 0.4})
    assert board.read() == {0: {"fraction": 0.2}, 1: {"fraction": 0.4}}
    now += 2  # the second goes on, the first notes nothing
    assert board.read() == {1: {"fraction": 0.4}}


@pytest.fixture
def no_ray(monkeypatch: pytest.MonkeyPatch) -> MagicMock:
    """A mock in place of Ray."""
    ray = MagicMock()
    ray.exceptions = SimpleNamespace(RaySystemError=OSError, LocalRayletDiedError=OSError)
    for name in ("ray", "ray.util", "ray.util.scheduling_strategies"):
        monkeypatch.setitem(sys.modules, name, ray)
    return ray


def test_without_space_points_that_run_on_a_cluster_go_on_to_their_end(
    points: list[Point], no_ray: MagicMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    points[0].folder.parent.mkdir()
    ends = [
        (0, Ended.by(NoSpaceError("one could not be written: No space left"))),
        (1, Ended(is_lost=True)),
        (2, Ended()),
    ]

    class Tasks:
        """Mock of the tasks: three points start, and each check finds that one of them has ended."""

        def __init__(self, _ray: object, share: Share, _most: int) -> None:
            self.share = share
            self.begun = [share.begin() for _ in ends]

        def hand_out(self) -> None:
            assert self.begun == [0, 1, 2]
            if self.share.full:
                assert self.share.begin() is None

        def take_in(self) -> None:
            assert not no_ray.shutdown.called
            self.share.end(*ends.pop(0))

        def running(self) -> dict[int, dict[str, Any]]:
            return {}

    monkeypatch.setattr("shallows.sweeps.cluster._Tasks", Tasks)
    said: list[tuple[str, Any]] = []
    drive(said.append, dict(enumerate(points)), None, "auto")
    assert ends == []
    assert [content for kind, content in said if kind == "ended" and content] == [{2: Ended()}]
    kind, error = said[-1]
    assert (kind, type(error)) == ("stopped", NoSpaceError)
    assert no_ray.shutdown.called
    assert not list(points[0].folder.parent.iterdir())


def test_an_input_that_cannot_be_read_fails_points_and_not_the_sweep(
    points: list[Point], no_ray: MagicMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    points[0].folder.parent.mkdir()
    share = Share(dict(enumerate(points)))
    tasks = _Tasks(no_ray, share, len(points))
    monkeypatch.setattr("shallows.sweeps.cluster.LARGEST_INPUT", 3)
    tasks.hand_out()
    assert share.is_over
    failed = share.news()
    assert failed.keys() == set(range(len(points)))
    assert all(
        "sizes.cdf cannot be read: the file must have at most" in str(ended.error)
        for ended in failed.values()
    )


@needs_ray
def test_an_address_without_a_cluster_is_refused(points: list[Point]) -> None:
    with pytest.raises(ShallowsError, match=r"there is no Ray cluster at 127\.0\.0\.1:1"):
        run_points(points, choose_engine("ray", address="127.0.0.1:1"), lambda *_: None)


class Death:
    """An action that happens once, when three points have finished."""

    def __init__(self, points: list[Point], act: Callable[[], object]) -> None:
        self.points = points
        self.act = act
        self.finished_then: int | None = None

    def __call__(self, _running: dict[int, dict[str, Any]], outcomes: list[Outcome]) -> None:
        """Run the action if three points have finished."""
        if len(outcomes) >= 3 and self.finished_then is None:
            self.finished_then = len(outcomes)
            self.act()

    def came_early(self) -> bool:
        """Return whether the action happened before all points had finished."""
        return self.finished_then is not None and self.finished_then < len(self.points)


def _kill_a_worker() -> None:
    for process in Path("/proc").glob("[0-9]*"):
        try:
            title = (process / "cmdline").read_text()
        except OSError:
            continue
        if title.startswith("ray::point-"):
            os.kill(int(process.name), signal.SIGKILL)
            return


def test_a_task_finds_the_files_that_a_scenario_names(points: list[Point], tmp_path: Path) -> None:
    inputs = _pack_inputs(points[0].source)
    assert inputs == {"../sizes.cdf": (tmp_path / "sizes.cdf").read_bytes()}
    (tmp_path / "sizes.cdf").unlink()
    error, packed = run_far(BOARD, 0, points[0].source, points[0].hash, inputs)
    assert error is None
    assert b"flows.parquet" in packed
    error, packed = run_far(BOARD, 0, points[0].source, points[0].hash, {"../sizes.cdf": b"1000 1\n"})
    assert "other input files" in str(error)
    assert packed == b""


def test_without_ray_the_remedy_is_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(ShallowsError, match="Ray is not installed") as refused:
        choose_engine("ray")
    assert refused.value.remedy == "install it with: pip install 'shallows[ray]'"


def test_a_sweep_that_is_finished_needs_no_cluster() -> None:
    assert list(run_on_ray({}, address="127.0.0.1:1")) == []


def test_engines_that_are_not_there_are_refused(many: Path) -> None:
    with pytest.raises(ShallowsError, match="unknown engine 'slurm'"):
        sh.sweep(many, engine="slurm")
    with pytest.raises(ShallowsError, match="the local engine does not accept an address"):
        sh.sweep(many, address="127.0.0.1:1")
