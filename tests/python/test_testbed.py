"""Runs with real TCP. Without root or the testbed's program they are listed as not run."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

import shallows as sh
from shallows.errors import ScenarioError, ShallowsError
from shallows.runs import measuring
from shallows.runs.measuring import measure, measured_folder, measured_hash
from shallows.runs.running import Source
from shared import SHALLOWS, seal

STAR = """
name = "star"
[stop]
at = "2s"
[topology]
kind = "star"
hosts = 3
rate = "100Mbps"
link_delay = "50us"
[switch]
buffer = { kind = "static-partition", per_port = "150KB" }
markers = [{ kind = "threshold", k = "30KB" }]
[tcp]
congestion = { kind = "reno", ecn = true }
rto = { min = "200ms" }
[measure]
sample_queues = "1ms"
[[workload]]
kind = "long-lived"
senders = "0..2"
receivers = "2..3"
"""

SHORT = """
name = "short"
[topology]
kind = "star"
hosts = 4
rate = "100Mbps"
link_delay = "50us"
[switch]
buffer = { kind = "static-partition", per_port = "150KB" }
[tcp]
congestion = "cubic"
rto = { min = "20ms" }
[[workload]]
kind = "poisson"
load = 0.2
flows = 60
sizes = "web-search"
"""

LEAF_SPINE = SHORT.replace(
    'kind = "star"\nhosts = 4', 'kind = "leaf-spine"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2'
)


def _built() -> bool:
    try:
        return bool(measuring.program())
    except ShallowsError:
        return False


needs_testbed = pytest.mark.skipif(
    not (_built() and os.geteuid() == 0), reason="not run: needs root, and `make testbed`"
)


def _source(folder: Path, text: str, *overrides: tuple[str, str]) -> Source:
    path = folder / "scenario.toml"
    path.write_text(text)
    return Source.read(path, overrides)


def _measured(folder: Path, text: str, *overrides: tuple[str, str]) -> sh.Run:
    source = _source(folder, text, *overrides)
    return measure(source, source.parse(), folder / "run")


def _networks() -> set[str]:
    """Namespaces of networks that a process is in, or holds."""
    found = set()
    for link in (*Path("/proc").glob("[0-9]*/task/*/ns/net"), *Path("/proc").glob("[0-9]*/fd/*")):
        try:
            target = str(link.readlink())
        except OSError:
            continue
        if target.startswith("net:"):
            found.add(target)
    return found


def test_a_measured_run_is_never_taken_for_a_simulated_one(tmp_path: Path) -> None:
    experiment = _source(tmp_path, STAR).parse()
    assert measured_hash(experiment) != experiment.hash
    assert measured_folder(experiment, tmp_path).name.startswith("star-testbed-")


def test_without_its_program_the_error_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        ShallowsError, match=r"shallows-testbed, is not there\n  build it with `make testbed`"
    ):
        measuring.program()


@needs_testbed
def test_long_flows_share_a_link_over_real_tcp(tmp_path: Path) -> None:
    run = _measured(tmp_path, STAR)
    summary = run.summary
    # 1,448 of 1,500 bytes of each packet are data; the rest is for the ramp, and for a machine that is busy.
    assert 0.5 * 0.1 * 1_448 / 1_500 < summary["goodput_gbps"] < 0.1
    assert summary["packets"]["marked"] > 0
    assert summary["packets"]["dropped"] == 0
    shares = run.flows["delivered_bytes"].to_list()
    assert len(shares) == 2
    assert min(shares) > 0.2 * max(shares)
    assert run.queues is not None
    assert run.queues["name"].unique().to_list().count("switch0->host2") == 1
    health = summary["health"]
    assert health["lateness"]["count"] > 10_000
    assert health["overruns"] == health["refused"] == 0


@needs_testbed
@pytest.mark.parametrize("text", [SHORT, LEAF_SPINE], ids=["star", "leaf-spine"])
def test_the_flows_are_those_of_the_simulation_and_end_no_sooner_than_they_can(
    tmp_path: Path, text: str
) -> None:
    measured = _measured(tmp_path, text)
    simulated = sh.run(tmp_path / "scenario.toml", out=tmp_path / "simulated")
    same = ["source", "destination", "size_bytes", "arrival_us"]
    assert measured.flows.select(same).equals(simulated.flows.select(same))
    assert measured.summary["flows"]["completed"] == simulated.summary["flows"]["completed"] == 60
    # A clock of the kernel may be some microseconds off.
    assert min(measured.flows["slowdown"].to_list()) > 0.98


@needs_testbed
def test_a_full_buffer_drops_and_senders_repair_it(tmp_path: Path) -> None:
    run = _measured(tmp_path, STAR, ("switch.markers", "[]"), ("switch.buffer.per_port", '"30KB"'))
    packets = run.summary["packets"]
    assert packets["dropped_in_switches"] > 0
    assert packets["marked"] == 0
    # A packet that was lost is sent again; what was lost last may not have been, when the run ends.
    assert 0 < run.summary["retransmits"] < 3 * packets["dropped"]


@needs_testbed
def test_dctcp_holds_the_queue_at_its_threshold_and_goes_with_the_program(tmp_path: Path) -> None:
    try:
        run = _measured(tmp_path, STAR, ("tcp.congestion", '"dctcp"'))
    except ScenarioError:
        pytest.skip("not run: needs a kernel with DCTCP, or clang when the testbed is built")
    packets = run.summary["packets"]
    # DCTCP '10, §3.3: the queue swings about K. In slow start it goes beyond; the buffer holds five times K.
    assert packets["dropped"] == 0
    # Two flows about K of 20 packets: windows of ten packets, alpha near sqrt(2 / 10).
    assert 0.05 < packets["marked"] / packets["data"] < 0.6
    known = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    assert not [name for name in known if name.startswith("dctcp_")]


@needs_testbed
def test_what_linux_cannot_do_is_refused_with_its_key(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"scenario\.toml: tcp\.congestion: this kernel has no"):
        _measured(tmp_path, STAR, ("tcp.congestion", '"pulser"'))
    with pytest.raises(ScenarioError, match=r"topology: a link of 10 ?Gb"):
        _measured(tmp_path, STAR, ("topology.rate", '"10Gbps"'))
    assert not (tmp_path / "run").exists()


@needs_testbed
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_nothing_is_left_of_a_run_that_was_killed(tmp_path: Path, number: signal.Signals) -> None:
    before = _networks()
    (tmp_path / "scenario.toml").write_text(STAR.replace('at = "2s"', 'at = "60s"'))
    command = [SHALLOWS, "testbed", "run", "scenario.toml", "--out", "run"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 30
        while len(_networks() - before) < 4:  # three hosts and the switch
            assert time.monotonic() < deadline, "the hosts never came up"
            time.sleep(0.1)
        time.sleep(0.5)
        process.send_signal(number)
    deadline = time.monotonic() + 10
    while (left := _networks() - before) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not left
    assert not (tmp_path / "run").exists()


def test_a_run_that_is_not_to_be_believed_is_not_compared(tmp_path: Path) -> None:
    runs = [sh.run(_source(tmp_path, SHORT).file, out=tmp_path / name) for name in ("simulated", "late")]
    health = {"valid": False, "complaints": ["a frame was late"]}
    (runs[1].path / "summary.json").write_text(json.dumps(runs[1].summary | {"health": health}))
    seal(runs[1].path)
    with pytest.raises(
        ShallowsError, match="late is not to be believed: a frame was late\n  measure it again"
    ):
        sh.compare(runs[:1], runs[1:], names=["simulated", "late"])


@needs_testbed
def test_its_page_and_its_tables_show_its_health(tmp_path: Path) -> None:
    (tmp_path / "scenario.toml").write_text(STAR.replace('at = "2s"', 'at = "1s"'))
    command = [SHALLOWS, "testbed", "run", "scenario.toml", "--out", "run"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode in {0, 3}, done.stderr
    assert re.search(r"frames handed over +[0-9,]+", done.stdout)
    assert "frames handed over" in (tmp_path / "run" / "report.html").read_text()
    again = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert again.returncode == 1
    assert "--force" in again.stderr
