"""Tests of sweeps: every point runs once, even if processes fail or are killed."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from shallows.about import build
from shallows.errors import ScenarioError, ShallowsError
from shallows.runs.index import points_of
from shallows.runs.leases import Watch, take
from shallows.runs.source import Source
from shallows.sweeps import local
from shallows.sweeps.local import run_here
from shallows.sweeps.points import Point, enter, plan
from shallows.sweeps.sweeps import run_points
from shallows.sweeps.sweeps import sweep as run_sweep
from shared import SHALLOWS, SMALL, SWEEP, Shell, contents, results


def test_points_are_the_product_of_schemes_and_axes(sweep: Path) -> None:
    parent, points = plan(Source.read(sweep), None)
    assert parent == Path("runs/small")
    assert [tuple(point.source.labels.values()) for point in points] == [
        (scheme, load, seed) for scheme in ["dctcp", "reno"] for load in [0.3, 0.6] for seed in [1, 2]
    ]
    assert len({point.folder for point in points}) == 8
    assert {point.folder.name[-3:] for point in points} == {"-s1", "-s2"}


@pytest.mark.parametrize("jobs", [0, -3])
def test_no_worker_at_all_is_refused(sweep: Path, tmp_path: Path, jobs: int) -> None:
    with pytest.raises(ShallowsError, match=f"^jobs must be at least 1, got {jobs}"):
        run_sweep(sweep, out=tmp_path / "out", jobs=jobs)
    assert not (tmp_path / "out").exists()


def test_one_and_two_workers_give_the_same_bytes(shell: Shell, sweep: Path, tmp_path: Path) -> None:
    for jobs in ["1", "2"]:
        done = shell("sweep", sweep, "--jobs", jobs, "--out", f"with{jobs}")
        assert done.returncode == 0, done.stderr
    # Of each of eight points: flows, queues, counters, settings, scenario; of four, the markers.
    assert len(contents(tmp_path / "with1")) == 8 * 5 + 4
    assert contents(tmp_path / "with1") == contents(tmp_path / "with2")
    assert results(tmp_path / "with1") == results(tmp_path / "with2")


def test_runs_that_are_no_points_are_told_of(shell: Shell, sweep: Path, tmp_path: Path) -> None:
    said = "runs/small has 8 further runs: they have other settings or another build of the engine"
    assert said not in shell("sweep", sweep, "--jobs", "2").stdout
    # Another build of the engine has other hashes, and so other folders, for the same settings.
    folder = tmp_path / "runs" / "small"
    index = (folder / "sweep.json").read_text()
    for run in [path for path in folder.iterdir() if path.is_dir()]:
        other = run.name[:-3] + "x" + run.name[-3:]
        index = index.replace(run.name, other)
        run.rename(folder / other)
    (folder / "sweep.json").write_text(index)
    done = shell("sweep", sweep, "--shard", "1/8")
    assert said in done.stdout, (done.stdout, done.stderr)


def test_the_default_folder_of_another_sweep_is_refused_and_stays_as_it_was(
    shell: Shell, sweep: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shell("sweep", sweep, "--shard", "1/8").returncode == 0
    index = tmp_path / "runs" / "small" / "sweep.json"
    before = index.read_bytes()
    for command in (["sweep", sweep], ["merge", sweep, "elsewhere"]):
        done = shell(*command, "--set", "tcp.initial_window=4")
        assert done.returncode == 1
        assert 'runs/small contains another sweep, "small" (8 points' in done.stderr
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ShallowsError, match="runs/small contains another sweep") as refused:
        run_sweep(sweep, overrides={"tcp.initial_window": 4})
    assert "out= in Python" in (refused.value.remedy or "")
    assert index.read_bytes() == before


def test_json_lists_every_point_with_its_results(shell: Shell, sweep: Path, tmp_path: Path) -> None:
    done = shell("sweep", sweep, "--json")
    points = json.loads(done.stdout)["points"]
    assert [point["status"] for point in points] == ["done"] * 8
    assert points[0]["labels"] == {"scheme": "dctcp", "workload.0.load": 0.3, "seed": 1}
    assert (tmp_path / "runs" / "small" / points[0]["folder"] / "summary.json").exists()
    assert points[7]["summary"]["packets"]["marked"] == 0


def test_a_killed_sweep_goes_on_where_it_was(shell: Shell, sweep: Path, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    assert shell("sweep", sweep, "--out", whole).returncode == 0
    killed = tmp_path / "killed"
    process = subprocess.Popen(
        [SHALLOWS, "sweep", sweep, "--jobs", "1", "--out", killed],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while len(finished := list(killed.glob("small-*"))) < 2:
        assert process.poll() is None
        time.sleep(0.005)
    process.kill()
    process.wait()
    made = {path: (path / "manifest.json").stat().st_mtime_ns for path in finished}
    done = shell("sweep", sweep, "--out", killed)
    assert done.returncode == 0, done.stderr
    kept = [(path / "manifest.json").stat().st_mtime_ns == made_at for path, made_at in made.items()]
    # A build with local changes to the engine reuses nothing.
    assert kept == [not build()["dirty"]] * len(made)
    assert contents(killed) == contents(whole)
    assert results(killed) == results(whole)
    assert not [path for path in killed.iterdir() if path.name.startswith(".")]


def test_a_point_that_fails_stops_no_other(sweep: Path, tmp_path: Path) -> None:
    _, points = plan(Source.read(sweep), tmp_path / "out")
    # As if its scenario could not be loaded on the machine where it runs.
    points[1].source = replace(points[1].source, text="name = 3")
    outcomes = run_points(points, run_here, lambda *_: None)
    assert [outcome.run is None for outcome in outcomes] == [False, True] + [False] * 6
    assert "workload must be a list" in str(outcomes[1].error)


def test_a_worker_that_is_killed_is_reported_and_stops_no_other(tmp_path: Path, endless: Path) -> None:
    small = Source("small.toml", SMALL + SWEEP)
    _, points = plan(small, tmp_path / "out")
    points = points[:2]
    points[0].source = Source(str(endless), endless.read_text())
    end_it = Killer(points[0].folder)
    outcomes = run_points(points, run_here, end_it)
    assert outcomes[0].error == "the process exited with code -9 (out of memory, or killed)"
    assert outcomes[1].run is not None


def processes_of(points: list[Point]) -> set[int]:
    """Run points one at a time, and return the numbers of the processes that ran them."""
    seen: set[int] = set()
    run_points(points, partial(run_here, jobs=1), lambda *_: seen.update(children()))
    return seen


def test_small_points_run_one_after_another_in_one_process_until_one_fails(
    sweep: Path, tmp_path: Path
) -> None:
    _, points = plan(Source.read(sweep), tmp_path / "out")
    assert len(processes_of(points)) == 1
    _, points = plan(Source.read(sweep), tmp_path / "again")
    points[1].source = replace(points[1].source, text="name = 3")
    assert len(processes_of(points)) == 2


def test_a_process_takes_no_further_point_for_ever(
    sweep: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, points = plan(Source.read(sweep), tmp_path / "out")
    monkeypatch.setattr(local, "FRESH_S", 0.0)
    assert len(processes_of(points)) == 8


def test_a_process_that_is_killed_with_nothing_to_do_fails_no_point(sweep: Path, tmp_path: Path) -> None:
    _, points = plan(Source.read(sweep), tmp_path / "out")
    worker = local._Worker()
    worker.child.process.kill()
    worker.child.process.wait()
    points[0].folder.parent.mkdir()
    lease = take(points[0].folder, Watch())
    assert lease is not None
    worker.begin(points[0].source, lease, 1)
    while not (ended := worker.ended()):
        time.sleep(0.005)
    worker.child.end()
    assert ended.error is None
    assert points[0].has_results


def children() -> list[int]:
    """Return the numbers of the processes that this thread has started."""
    started = Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text()
    return [int(number) for number in started.split()]


class Killer:
    """Callback that kills the process that writes a folder, as the kernel does if memory is exhausted."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *_: object) -> None:
        """Kill the first of our processes once the folder is being written."""
        if list(self.folder.parent.glob(f".{self.folder.name}.*.partial")):
            os.kill(min(children()), signal.SIGKILL)
            self.folder = self.folder.with_name("none")


def test_ctrl_c_keeps_what_is_finished(sweep: Path, tmp_path: Path) -> None:
    sweep.write_text(sweep.read_text().replace("flows = 60", "flows = 600"))
    process = subprocess.Popen(
        [SHALLOWS, "sweep", sweep, "--jobs", "1", "--out", "out"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not list((tmp_path / "out").glob("small-*")):
        assert process.poll() is None
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "of 8 points are kept; repeat the command to run the others" in errors
    assert "Traceback" not in errors
    assert not [path for path in (tmp_path / "out").iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("[sweep]\n", "the [sweep] table must have axes or schemes"),
        ("[sweep]\nloads = [1]\n", "unknown key sweep.loads; expected one of sweep.axes, sweep.scheme"),
        ('[sweep]\naxes = { "workload.0.load" = 0.4 }\n', "sweep.axes must be a table of lists"),
        (
            '[sweep]\naxes = { load = [1, 2] }\ntogether = { load = { "tcp.initial_window" = [1] } }\n',
            "sweep.together.load: tcp.initial_window must have one value for each value of the axis load",
        ),
        (
            "[sweep]\naxes = { seed = [1] }\ntogether = { load = {} }\n",
            "sweep.together must have tables of keys",
        ),
        ('[[sweep.scheme]]\nname = "a"\n', "each [[sweep.scheme]] must have exactly two keys"),
        (
            "[sweep]\naxes = { seed = [3, 3] }\n",
            "two points of the sweep result in the same run: seed 3; seed 3",
        ),
    ],
)
def test_a_wrong_sweep_table_is_refused(table: str, message: str) -> None:
    with pytest.raises(ShallowsError) as refused:
        plan(Source("x.toml", SMALL + table), None)
    assert message in str(refused.value)


def test_an_axis_may_stand_for_several_keys() -> None:
    table = """[sweep]
axes = { pace = [1, 2] }
[sweep.together.pace]
"workload.0.load" = [0.3, 0.6]
"tcp.initial_window" = [5, 10]
"""
    _, points = plan(Source("x.toml", SMALL + table), None)
    assert [point.source.labels for point in points] == [{"pace": 1}, {"pace": 2}]
    resolved = [json.loads(point.source.parse().resolved()) for point in points]
    assert [(each["workload"][0]["load"], each["tcp"]["initial_window"]) for each in resolved] == [
        (0.3, 5),
        (0.6, 10),
    ]
    wrong = table.replace("workload.0.load", "workload.0.lod")
    with pytest.raises(ScenarioError, match=r"sweep\.together\.pace, workload\.0\.lod = 0\.3"):
        plan(Source("x.toml", SMALL + wrong), None)


def test_what_would_change_the_table_and_be_ignored_is_refused(sweep: Path) -> None:
    source = Source.read(sweep, (("sweep.axes.seed", "[1]"),))
    with pytest.raises(ShallowsError, match=r"seed=\[1\]: --set cannot change the \[sweep\] table"):
        plan(source, None)


def test_an_axis_that_names_no_key_is_refused_before_anything_runs() -> None:
    table = '[sweep]\naxes = { "workload.0.lod" = [0.3, 0.6] }\n'
    with pytest.raises(ScenarioError, match="lod"):
        plan(Source("x.toml", SMALL + table), None)


def test_a_folder_of_another_sweep_is_refused_and_stays_as_it_was(
    shell: Shell, sweep: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    run_sweep(sweep, overrides={"workload.0.flows": 10}, out=out)
    before = contents(out) | {"sweep.json": (out / "sweep.json").read_bytes()}
    said = (
        f'{out} contains another sweep, "small" (8 points, the first at dctcp, load 0.3, seed 1); '
        'this sweep, "small" (8 points, the first at dctcp, load 0.3, seed 1), has other settings '
        "and no point in common with it"
    )
    with pytest.raises(ShallowsError) as refused:
        run_sweep(sweep, overrides={"workload.0.flows": 11}, out=out)
    assert refused.value.message == said
    assert refused.value.remedy == (
        f"name another folder with --out (out= in Python), or remove {out / 'sweep.json'}: the runs remain"
    )
    done = shell("sweep", sweep, "--set", "workload.0.flows=11", "--out", "out")
    assert done.returncode == 1
    assert 'out contains another sweep, "small" (8 points' in done.stderr
    assert contents(out) | {"sweep.json": (out / "sweep.json").read_bytes()} == before


def test_a_sweep_may_gain_points_and_be_run_by_another_build(sweep: Path, tmp_path: Path) -> None:
    _, points = plan(Source.read(sweep), tmp_path)
    enter(tmp_path, points[:5])
    enter(tmp_path, points)
    assert len(points_of(tmp_path)) == 8
    # Another build has other hashes, and so other folders, for the same settings.
    others = [replace(point, folder=tmp_path / f"{point.folder.name[:-3]}x-s1") for point in points]
    enter(tmp_path, others)
    assert [path for path, _ in points_of(tmp_path)] == [point.folder for point in others]
    changed = [replace(point, source=replace(point.source, overrides=())) for point in points]
    with pytest.raises(ShallowsError, match="contains another sweep"):
        enter(tmp_path, changed)


RACING = """
import sys, time
from pathlib import Path
from shallows.errors import ShallowsError
from shallows.runs.source import Source
from shallows.sweeps.points import enter, plan

scenario, out, start, flows = sys.argv[1:]
for turn in range(20):
    folder = Path(out) / str(turn)
    _, points = plan(Source.read(scenario, (("workload.0.flows", flows),)), folder)
    while time.time() < float(start) + turn / 4:
        pass
    try:
        enter(folder, points)
    except ShallowsError as error:
        assert "contains another sweep" in error.message, error
        print("refused")
    else:
        print(points[0].folder.name)
"""


def test_of_two_sweeps_that_enter_a_folder_at_once_one_is_refused(sweep: Path, tmp_path: Path) -> None:
    start = str(time.time() + 2)
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACING, sweep, tmp_path / "out", start, str(flows)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for flows in (10, 11)
    ]
    said = [racer.communicate()[0].split() for racer in racers]
    assert [len(turns) for turns in said] == [20, 20]
    for turn, both in enumerate(zip(*said, strict=True)):
        assert sorted(each == "refused" for each in both) == [False, True], both
        winner = next(each for each in both if each != "refused")
        assert points_of(tmp_path / "out" / str(turn))[0][0].name == winner
