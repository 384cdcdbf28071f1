"""Tests of one run on several threads."""

import json
import signal
import subprocess
from pathlib import Path

import pytest

import shallows as sh
from shallows.errors import ShallowsError
from shallows.runs.executing import execute
from shallows.runs.source import Source
from shallows.runs.threads import Threads, cores, division_in_words, threads_of
from shallows.sweeps.local import threads_of_each
from shared import SHALLOWS, Shell, wait_until

FABRIC = """
name = "fabric"

[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 4
rate = "25Gbps"
uplink_delay = "10us"

[switch]
buffer = { kind = "dynamic-threshold", alpha = 1, pool = "200KB" }
markers = [{ kind = "threshold", k = "60KB" }]

[tcp]
congestion = "dctcp"

[measure]
captures = [{ name = "up", ports = ["leaf*->spine*", "nic"] }, { name = "one", hosts = 3 }]
flow_traces = [{ sample = 5 }, { sample = 9, every = "20us" }]

[[workload]]
kind = "poisson"
load = 0.6
sizes = "web-search"
flows = 60
"""


@pytest.fixture
def fabric(tmp_path: Path) -> Path:
    path = tmp_path / "fabric.toml"
    path.write_text(FABRIC)
    return path


def test_a_run_on_several_threads_leaves_the_same_files(fabric: Path, shell: Shell, tmp_path: Path) -> None:
    for threads in ("1", "2", "5"):
        done = shell("run", fabric, "--threads", threads, "--out", threads)
        assert done.returncode == 0, done.stderr
    first = tmp_path / "1"
    for more in (3, 8, 16):
        sh.run(fabric, out=tmp_path / str(more), threads=more)
    execute(
        source := Source.read(fabric), source.parse(), tmp_path / "adapts", threads=Threads(4, adapts=True)
    )
    names = [path.name for kind in ("*.parquet", "*.pcapng") for path in first.glob(kind)]
    assert set(names) == {
        *("flows.parquet", "counters.parquet", "markers.parquet", "flow_traces.parquet"),
        *("up.pcapng", "one.pcapng"),
    }
    for threads in ("2", "3", "5", "8", "16", "adapts"):
        for name in (*names, "resolved.json"):
            assert (tmp_path / threads / name).read_bytes() == (first / name).read_bytes(), (
                f"{threads}, {name}"
            )
    for other in (tmp_path / "2", tmp_path / "5"):
        # The number of threads does not matter: it is the same run.
        again = shell("run", fabric, "--out", other.name)
        assert "contains a finished run of the same scenario" in again.stderr
    assert sh.run(fabric, out=first, threads=3).path == first


class Begun:
    """Mock of an experiment and its simulation, which records the arguments of calls."""

    name, seed, hash = "begun", 42, "0" * 64

    def __init__(self) -> None:
        self.called: list[object] = []

    def footprint(self) -> str:
        """Return the memory of one route in a switch, as JSON."""
        return json.dumps([{"what": "1 routes of switches", "bytes": 8.0, "remedy": "fewer switches"}])

    def simulate(self, _folder: Path, threads: int, adapts: bool) -> "Begun":
        """Record the number of threads, and return this object as the simulation."""
        self.called += [threads, adapts]
        return self

    def advance(self, _: int) -> str:
        """Raise an error that ends the run."""
        raise sh.DefectError("far enough")


@pytest.mark.parametrize(
    ("threads", "called"), [(3, [3, False]), ("3", [3, False]), ("auto", [cores(), True])]
)
def test_auto_adapts_up_to_all_cores_and_a_number_is_fixed(
    threads: int | str, called: list[object], fabric: Path, tmp_path: Path
) -> None:
    begun = Begun()
    with pytest.raises(sh.DefectError, match="far enough"):
        execute(Source.read(fabric), begun, tmp_path / "run", threads=threads_of(threads))  # type: ignore[arg-type]
    assert begun.called == called


@pytest.mark.parametrize("threads", ["0", "-1", "two", "1.5", "1025", ""])
def test_what_is_no_number_of_threads_is_refused(
    threads: str, fabric: Path, shell: Shell, tmp_path: Path
) -> None:
    done = shell("run", fabric, f"--threads={threads}", "--out", "out")
    assert done.returncode == 1
    assert "threads must be from 1 to 1024 or auto" in done.stderr
    assert not (tmp_path / "out").exists()
    with pytest.raises(ShallowsError, match="threads must be from 1 to 1024"):
        sh.run(fabric, out=tmp_path / "out", threads=threads)


def test_a_plan_says_how_a_run_is_divided_or_why_not(fabric: Path, shell: Shell) -> None:
    # Ports of a leaf and its hosts: 4 + 4 + 2; of a spine 2. So 12 on either of two threads.
    assert division_in_words(Source.read(fabric).parse(), 2) == (
        "on 2 threads where much happens at once, at most 2 times as fast; "
        "they meet about every 10 µs of simulated time"
    )
    assert division_in_words(Source.read(fabric).parse(), 1) == "on one thread"
    # Links to hosts have 20.2 us, and threads exchange packets three times in a window of this length.
    fig9 = Source.read(Path("experiments/mq-ecn/fig9-as-made.toml")).parse()
    assert division_in_words(fig9, 2).endswith("they meet about every 6.73 µs of simulated time")
    assert "it runs on" in shell("plan", fabric).stdout
    fabric.write_text(FABRIC.replace('uplink_delay = "10us"', 'uplink_delay = "0us"'))
    assert "a link between switches has no delay" in shell("plan", fabric).stdout
    blocks = '[[workload]]\nkind = "block-transfer"\nclients = 0\nfan_out = 3\nblock = "9KB"\nrepeats = 2\n'
    fabric.write_text(FABRIC + blocks)
    # Servers that nobody asks would have to hear of the end of a block at its client.
    assert "flows start at one host when something happens at another" in shell("plan", fabric).stdout


@pytest.mark.parametrize(
    ("points", "jobs", "threads"),
    [(100, None, 1), (100, 2, 2), (100, 1, 4), (1, None, 4), (3, None, 1), (2, 9, 2)],
)
def test_points_that_run_at_the_same_time_share_the_cores(
    points: int, jobs: int | None, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shallows.sweeps.local.cores", lambda: 4)
    assert threads_of_each(points, jobs) == threads


def started(fabric: Path, threads: int) -> "subprocess.Popen[str]":
    """Start a run that takes hours, and wait until it has begun."""
    fabric.write_text(FABRIC.replace("flows = 60", "flows = 20000000"))
    process = subprocess.Popen(
        [SHALLOWS, "run", fabric, "--threads", str(threads), "--out", "runs/here"],
        cwd=fabric.parent,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(lambda: any((fabric.parent / "runs").glob(".here.*.partial/up.pcapng")))
    tasks = Path(f"/proc/{process.pid}/task")
    wait_until(lambda: process.poll() is not None or len(list(tasks.iterdir())) >= threads)
    return process


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_stops_every_thread_and_keeps_nothing(
    threads: int, number: signal.Signals, fabric: Path
) -> None:
    process = started(fabric, threads)
    process.send_signal(number)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 128 + number, errors
    assert "Traceback" not in errors
    assert ("interrupted; the results of this run are lost" in errors) == (number == signal.SIGINT)
    assert list((fabric.parent / "runs").iterdir()) == []


@pytest.mark.parametrize("threads", [1, 3])
def test_a_killed_run_leaves_nothing_that_the_next_one_takes_for_a_run(
    threads: int, fabric: Path, shell: Shell
) -> None:
    process = started(fabric, threads)
    process.kill()
    _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (-signal.SIGKILL, "")
    runs = fabric.parent / "runs"
    assert not (runs / "here").exists()
    fabric.write_text(FABRIC)
    done = shell("run", fabric, "--threads", str(threads), "--out", "runs/here")
    assert done.returncode == 0, done.stderr
    assert [path.name for path in runs.iterdir()] == ["here"]


@pytest.mark.parametrize("threads", [1, 3])
def test_a_full_disk_ends_a_run_of_any_number_of_threads(
    threads: int, fabric: Path, shell: Shell, small_disk: Path
) -> None:
    # Captures of 60 flows of 1.6 MB on average do not fit in 300 kB.
    done = shell("run", fabric, "--threads", str(threads), "--out", small_disk / "here")
    assert done.returncode == 1
    assert done.stderr.count("No space left on device") == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert list(small_disk.iterdir()) == []
