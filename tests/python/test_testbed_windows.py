"""Tests of bounded windows of real TCP; skipped without root or the testbed's program."""

import subprocess
from pathlib import Path

import pytest

from shallows.runs.measuring import measure
from shallows.runs.source import Source
from shared import SHALLOWS, STAR, needs_testbed

BOUNDED = (
    ("tcp.congestion", '"reno"'),
    ("tcp.max_window", "20"),
    ("switch.markers", "[]"),
    ("measure.flow_traces", '[{ workload = 0, every = "10ms" }]'),
)

WINDOW = """
import socket, struct, time
s = socket.create_connection(("10.0.0.3", 7000))
end, most = time.monotonic() + 1, 0
while time.monotonic() < end:
    s.send(bytes(65536))
    # linux/tcp.h, struct tcp_info: tcpi_snd_cwnd.
    most = max(most, struct.unpack_from("I", s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256), 80)[0])
print("most", most)
"""

TAKE = """
import socket
s = socket.create_server(("10.0.0.3", 7000))
print("up", flush=True)
while True:
    c, _ = s.accept()
    while c.recv(1 << 16):
        pass
"""


@needs_testbed
def test_windows_of_a_run_grow_to_their_bound_and_no_further(tmp_path: Path) -> None:
    (tmp_path / "scenario.toml").write_text(STAR)
    source = Source.read(tmp_path / "scenario.toml", BOUNDED)
    run = measure(source, source.parse(), tmp_path / "run")
    traces, queues = run.flow_traces, run.queues
    assert traces is not None
    assert queues is not None
    # Two windows of 20 segments are 60 KB of packets, and links hold a few of them: both reach the bound.
    windows = traces.filter(traces["quantity"] == "cwnd_bytes")["value"]
    assert windows.max() == 20 * 1_448
    assert max(queues["bytes"].to_list()) <= 2 * 20 * 1_500
    assert run.summary["packets"]["dropped"] == 0


@needs_testbed
@pytest.mark.parametrize("host", ["h0", "h1"])
def test_windows_of_the_first_connection_in_a_shell_have_their_bound(tmp_path: Path, host: str) -> None:
    (tmp_path / "scenario.toml").write_text(STAR)
    (tmp_path / "take.py").write_text(TAKE)
    (tmp_path / "window.py").write_text(WINDOW)
    script = f"coproc h2 python3 take.py; read -u ${{COPROC[0]}}; {host} python3 window.py"
    settings = [word for key, value in BOUNDED for word in ("--set", f"{key}={value}")]
    command = [SHALLOWS, "testbed", "shell", "scenario.toml", *settings, "--", "bash", "-c", script]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout == "most 20\n", done.stderr
