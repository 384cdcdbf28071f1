"""Fixtures: scenarios, finished runs, and a function that runs the command line."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import not_run
import shallows as sh
from shallows.series import inputs
from shared import (
    CUT_OFF,
    ENDLESS,
    GALLERY,
    HOSTILE,
    HPCC,
    MANY,
    SHALLOWS,
    SIZES,
    SMALL,
    SWEEP,
    TINY,
    Shell,
    gallery_points,
    seal,
)

# A shell that starts pytest in the background ignores SIGINT, and programs started here would inherit this.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List the tests that were not run, by reason."""
    found = terminalreporter.stats
    reasons = [report.longrepr[2].removeprefix("Skipped: ") for report in found.get("skipped", [])]
    for line in not_run.lines(reasons, sum(len(found.get(kind, [])) for kind in ("passed", "failed"))):
        terminalreporter.write_line(line)


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """A small scenario in a file."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


@pytest.fixture
def endless(tmp_path: Path) -> Path:
    """A scenario that runs for minutes, in a file."""
    path = tmp_path / "endless.toml"
    path.write_text(ENDLESS)
    return path


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    """A file with a sweep of eight small points."""
    path = tmp_path / "sweep.toml"
    path.write_text(SMALL + SWEEP)
    return path


@pytest.fixture(scope="session")
def finished_sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished sweep of two schemes, two loads and three seeds; tests must not change it."""
    folder = tmp_path_factory.mktemp("finished")
    path = folder / "sweep.toml"
    path.write_text(SMALL + SWEEP.replace("seed = [1, 2]", "seed = [1, 2, 3]"))
    return sh.sweep(path, out=folder / "sweep").path


@pytest.fixture
def finished(finished_sweep: Path, tmp_path: Path) -> Path:
    """A copy of `finished_sweep`, which tests may change."""
    return shutil.copytree(finished_sweep, tmp_path / "finished")


@pytest.fixture
def hostile(finished: Path) -> Path:
    """A copy of `finished_sweep` with names that would run a script if they were not escaped."""
    for path in finished.glob("*/env.json"):
        environment = json.loads(path.read_text())
        if environment["labels"]["scheme"] == "dctcp":
            environment["labels"]["scheme"] = HOSTILE
        path.write_text(json.dumps(environment))
    for path in finished.glob("*/summary.json"):
        summary = json.loads(path.read_text())
        path.write_text(json.dumps(summary | {"name": HOSTILE, "warnings": [HOSTILE], "notes": [HOSTILE]}))
    for path in finished.glob("*/scenario.toml"):
        path.write_text(f"# {HOSTILE}\n{path.read_text()}")
        seal(path.parent)
    return finished


@pytest.fixture
def hpcc(tmp_path: Path) -> Path:
    """A folder with HPCC's three files: two switches with two hosts each. Round-trip time 8,180 ns."""
    return Path(shutil.copytree(HPCC, tmp_path / "mix"))


@pytest.fixture(scope="session")
def hundred_thousand(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run with 100,000 flows of one packet each."""
    folder = tmp_path_factory.mktemp("flows")
    (folder / "tiny.cdf").write_text("200 0.5\n1400 1\n")
    text = SMALL.replace('"web-search"', '"tiny.cdf"').replace("flows = 60", "flows = 100000")
    path = folder / "flows.toml"
    path.write_text(text.replace('sample_queues = "50us"', 'sample_queues = "10us"\nbins = ["300B", "1KB"]'))
    return sh.run(path, out=folder / "flows").path


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """A file with a sweep of three schemes, six loads and three seeds; another file has its flow sizes."""
    (tmp_path / "sizes.cdf").write_text(SIZES)
    path = tmp_path / "scenarios" / "tiny.toml"
    path.parent.mkdir()
    path.write_text(TINY + MANY)
    return path


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A function that runs the command line in a new folder."""

    def run(
        *arguments: str | Path, cwd: Path = tmp_path, timeout_s: float = 120
    ) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [SHALLOWS, *map(str, arguments)],
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )

    return run


@pytest.fixture(scope="session")
def loads(tmp_path_factory: pytest.TempPathFactory) -> list[sh.Run]:
    """Runs of three schemes at two loads with two seeds."""
    keep: dict[str, list[Any]] = {"workload.0.load": [0.4, 0.8], "seed": [1, 2]}
    return gallery_points(tmp_path_factory.mktemp("load"), "load", ("workload.0.flows", "300"), keep=keep)


@pytest.fixture(scope="session")
def heavy(loads: list[sh.Run]) -> list[sh.Run]:
    """The runs of `loads` at the load 0.8 with seed 1: one for each scheme."""
    return inputs.choose_runs(loads, [("load", "0.8"), ("seed", "1")])


@pytest.fixture(scope="session")
def blocks(tmp_path_factory: pytest.TempPathFactory) -> list[sh.Run]:
    """Runs of two schemes, with two numbers of servers and two seeds."""
    keep = {"workload.0.fan_out": [5, 40], "seed": [1, 2]}
    return gallery_points(tmp_path_factory.mktemp("incast"), "incast", ("workload.0.repeats", "3"), keep=keep)


@pytest.fixture(scope="session")
def sharing(tmp_path_factory: pytest.TempPathFactory) -> list[sh.Run]:
    """Runs of two schemes, each with four flows that start one after the other."""
    return gallery_points(tmp_path_factory.mktemp("convergence"), "convergence", ("stop.at", "1s"), keep={})


@pytest.fixture(scope="session")
def starving(tmp_path_factory: pytest.TempPathFactory) -> list[sh.Run]:
    """Runs of sixty flows with three queue disciplines."""
    return gallery_points(tmp_path_factory.mktemp("starvation"), "starvation", ("stop.at", "1s"), keep={})


@pytest.fixture(scope="session")
def classes(tmp_path_factory: pytest.TempPathFactory) -> list[sh.Run]:
    """Runs with pings of two classes and two kinds of markers."""
    traced = ("measure.flow_traces", "[{ workload = 0 }, { workload = 1 }]")
    return gallery_points(tmp_path_factory.mktemp("classes"), "classes", ("stop.at", "10ms"), traced, keep={})


@pytest.fixture(scope="session")
def classed(tmp_path_factory: pytest.TempPathFactory) -> list[sh.Run]:
    """Runs of three schemes, with flows in two classes of service."""
    changes = ("workload.0.class", "{ kind = 'random', weights = [1, 3] }"), ("workload.0.flows", "300")
    port = ("switch.port", "{ kind = 'dwrr', queues = 2, quantum = '1p' }")
    keep: dict[str, list[Any]] = {"workload.0.load": [0.8], "seed": [1]}
    return gallery_points(tmp_path_factory.mktemp("classed"), "load", *changes, port, keep=keep)


@pytest.fixture(scope="session")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> list[sh.Run]:
    """Eight queue pairs with DCQCN."""
    traced = {"measure.flow_traces": [{"workload": 0}]}
    return [sh.run(GALLERY.parent / "models/roce.toml", traced, out=tmp_path_factory.mktemp("pairs") / "run")]


@pytest.fixture(scope="session")
def cut_off(tmp_path_factory: pytest.TempPathFactory) -> sh.Run:
    """A run with two flows, of which the second is unfinished."""
    folder = tmp_path_factory.mktemp("cut-off")
    (folder / "cut-off.toml").write_text(CUT_OFF)
    return sh.run(folder / "cut-off.toml", out=folder / "run")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a disk of 300 kB, which has space for two or three points."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("needs root, to mount a small disk")
    place = tmp_path / "disk"
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=300k", "shallows-test", place], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("needs permission to mount a file system")
    yield place
    subprocess.run(["umount", place], check=True)
