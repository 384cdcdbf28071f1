"""Tests of runs with real TCP; skipped without root or the testbed's program."""

import itertools
import json
import re
import shutil
import signal
import struct
import subprocess
import time
from pathlib import Path

import pytest

import shallows as sh
from shallows.cli import main
from shallows.comparison import agreement
from shallows.errors import ScenarioError, ShallowsError
from shallows.runs import measuring
from shallows.runs.measuring import measure, measured_folder, measured_hash
from shallows.runs.source import Source
from shared import NEEDS_BPF, SHALLOWS, STAR, needs_testbed, of_processes, seal

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


def _source(folder: Path, text: str, *overrides: tuple[str, str]) -> Source:
    path = folder / "scenario.toml"
    path.write_text(text)
    return Source.read(path, overrides)


def _measured(folder: Path, text: str, *overrides: tuple[str, str]) -> sh.Run:
    source = _source(folder, text, *overrides)
    return measure(source, source.parse(), folder / "run")


def _networks() -> set[str]:
    """Return the network namespaces that processes use or hold open."""
    found = set()
    for link in (*of_processes("task/*/ns/net"), *of_processes("fd/*")):
        try:
            target = str(link.readlink())
        except OSError:
            continue
        if target.startswith("net:"):
            found.add(target)
    return found


def test_a_measured_run_is_never_taken_for_a_simulated_one(tmp_path: Path) -> None:
    experiment = _source(tmp_path, STAR).parse()
    hashes = [experiment.hash, measured_hash(experiment), measured_hash(experiment, 10)]
    assert len(set(hashes)) == 3
    assert measured_folder(experiment, tmp_path).name.startswith("star-testbed-")


def test_without_its_program_the_error_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        ShallowsError,
        match=r"program shallows-testbed is not installed\n  build the program with `make testbed`",
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
    # Lost packets are retransmitted, but the run may end before the last of these retransmissions.
    assert 0 < run.summary["retransmits"] < 3 * packets["dropped"]


@needs_testbed
def test_dctcp_holds_the_queue_at_its_threshold_and_goes_with_the_program(tmp_path: Path) -> None:
    try:
        run = _measured(tmp_path, STAR, ("tcp.congestion", '"dctcp"'))
    except ScenarioError:
        pytest.skip(NEEDS_BPF)
    packets = run.summary["packets"]
    # DCTCP '10, §3.3: the queue swings about K. In slow start it goes beyond; the buffer holds five times K.
    assert packets["dropped"] == 0
    # Two flows about K of 20 packets: windows of ten packets, alpha near sqrt(2 / 10).
    assert 0.05 < packets["marked"] / packets["data"] < 0.6
    known = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    assert not [name for name in known if name.startswith("dctcp_")]


@needs_testbed
def test_ecn_star_has_all_its_packets_ecn_capable(tmp_path: Path) -> None:
    # With a threshold of zero, every waiting packet that is not ECN-capable is dropped, acknowledgements too.
    zero = '[{ kind = "threshold", k = "0B" }]'
    star = (("tcp.congestion", '"ecn-star"'), ("switch.markers", zero), ("tcp.handshake", "true"))
    try:
        run = _measured(tmp_path, STAR, *star)
    except ScenarioError:
        pytest.skip(NEEDS_BPF)
    packets = run.summary["packets"]
    assert packets["marked"] > 0
    assert packets["dropped"] == 0
    assert min(run.flows["delivered_bytes"].to_list()) > 0


INCAST = """
[[workload]]
kind = "incast"
senders = "1..9"
receivers = "9"
size = "60KB"
start = "500ms"
think_time = "300ms"
repeats = 3
[[measure.captures]]
name = "in"
ports = ["switch0->host9"]
[[measure.captures]]
name = "echoes"
ports = ["host9->switch0"]
"""


@needs_testbed
def test_an_incast_pulls_the_brake_of_a_real_sender_and_its_end_lets_it_go(tmp_path: Path) -> None:
    pulser = (
        ("topology.hosts", "10"),
        ("workload.0.senders", '"0..1"'),
        ("workload.0.receivers", '"9..10"'),
        ("tcp.congestion", '"pulser"'),
        ("switch.markers", '[{ kind = "threshold", k = "30KB" }, { kind = "ein", high_water = "30KB" }]'),
        ("measure.flow_traces", '[{ workload = 0, every = "1ms" }]'),
    )
    try:
        run = _measured(tmp_path, STAR + INCAST, *pulser)
    except ScenarioError:
        pytest.skip(NEEDS_BPF)
    # RFC 791 §3.1: the first flag; RFC 9293 §3.1: the lowest reserved bit. Ethernet has 14 bytes, IPv4 20.
    frames = {
        name: [block[20:] for kind, block in _blocks(run.captures[name]) if kind == 6]
        for name in ("in", "echoes")
    }
    assert sum(frame[20] >> 7 for frame in frames["in"]) > 100
    assert sum(frame[46] >> 1 & 1 for frame in frames["echoes"]) > 50
    traces = run.flow_traces
    assert traces is not None
    cwnd = traces.filter((traces["quantity"] == "cwnd_bytes") & (traces["flow"] == 0))
    windows = [
        value / 1_448 for time, value in zip(cwnd["time_us"], cwnd["value"], strict=True) if time > 450_000
    ]
    # What was saved, at least a dozen segments here, comes back between two readings; that it is exactly
    # that, and no slow start, is asked of the kernel alone (crates/testbed/tests/bpf/sender.rs).
    assert any(low <= 20 and high >= low + 8 for low, high in itertools.pairwise(windows)), windows


@needs_testbed
def test_dilated_time_carries_a_faster_network_in_its_own_units(tmp_path: Path) -> None:
    faster = (
        ("topology.rate", '"1Gbps"'),
        ("topology.link_delay", '"5us"'),
        ("stop.at", '"100ms"'),
        ("tcp.rto.min", '"20ms"'),
    )
    source = _source(tmp_path, STAR, *faster)
    run = measure(source, source.parse(), tmp_path / "run", dilation=20)
    summary = run.summary
    assert summary["simulated_s"] == pytest.approx(0.1, abs=1e-6)
    assert summary["engine"]["wall_s"] > 2  # 20 × 100 ms
    # Half of what the link carries is for a machine that is busy; it never carries more.
    assert 0.5 * 1_448 / 1_500 < summary["goodput_gbps"] < 1
    assert summary["health"]["dilation"] == run.environment["dilation"] == 20
    assert summary["health"]["bound_p99_us"] == pytest.approx(240)  # 12 us of the network's time
    assert any("dilated 20 times" in note for note in summary["notes"])


@needs_testbed
def test_sixteen_hosts_send_to_one(tmp_path: Path) -> None:
    many = (("topology.hosts", "17"), ("workload.0.senders", '"0..16"'), ("workload.0.receivers", '"16..17"'))
    run = _measured(tmp_path, STAR, *many, ("switch.buffer.per_port", '"600KB"'))
    assert run.flows.height == 16
    assert min(run.flows["delivered_bytes"].to_list()) > 0
    assert run.summary["goodput_gbps"] > 0.04


UNREACTING = """
[[workload]]
kind = "udp"
senders = "0..1"
receivers = "2..3"
payload = "1472B"
pattern = { kind = "constant", rate = "12Mbps" }
[[workload]]
kind = "ping"
senders = "1..2"
receivers = "2..3"
interval = "100ms"
"""


@needs_testbed
def test_datagrams_and_echo_requests_pass_beside_real_tcp(tmp_path: Path) -> None:
    run = _measured(tmp_path, STAR + UNREACTING)
    # 1,500 bytes each millisecond; those that are not ECN-capable are dropped above the threshold.
    assert 0 < run.summary["datagram_gbps"] <= 0.0121
    assert run.pings is not None
    assert run.pings.height == 20
    # Four links of 50 us, and 84 bytes of 6.7 us each.
    assert min(run.pings["rtt_us"].drop_nulls().to_list()) >= 226
    assert run.summary["goodput_gbps"] > 0.02


@needs_testbed
def test_a_kernel_tells_what_its_senders_keep(tmp_path: Path) -> None:
    run = _measured(tmp_path, STAR, ("measure.flow_traces", '[{ workload = 0, every = "10ms" }]'))
    traces = run.flow_traces
    assert traces is not None
    told = set(traces["quantity"].unique())
    assert told == {"cwnd_bytes", "ssthresh_bytes", "srtt_us", "pipe_bytes", "state", "acked_bytes"}
    acked = traces.filter((traces["quantity"] == "acked_bytes") & (traces["flow"] == 0))["value"]
    assert acked.is_sorted()
    # The last reading is 10 ms old: no more than the link carries in a tenth of a second is missing.
    assert abs(acked[-1] - run.flows["delivered_bytes"][0]) < 1_250_000
    with pytest.raises(ScenarioError, match=r"measure\.flow_traces\.every: must be an interval"):
        _measured(tmp_path, STAR, ("measure.flow_traces", "[{ workload = 0 }]"))


SEND = """
import socket, sys, time
for _ in range(50):
    try:
        s = socket.create_connection(("10.0.0.3", 7000), 5)
        break
    except OSError:
        time.sleep(0.1)
s.sendall(bytes(2_000_000))
"""

TAKE = """
import socket
s = socket.create_server(("10.0.0.3", 7000))
c, _ = s.accept()
n = 0
while d := c.recv(1 << 16):
    n += len(d)
print("got", n)
"""

FLOOD = """
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
end = time.monotonic() + 2
while time.monotonic() < end:
    s.sendto(bytes(1_400), ("10.0.0.3", 9))
"""


def _shell(folder: Path, script: str, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "scenario.toml").write_text(STAR)
    command = [SHALLOWS, "testbed", "shell", "scenario.toml", *options, "--", "bash", "-c", script]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=60)


@needs_testbed
def test_programs_of_the_user_meet_over_the_switch(tmp_path: Path) -> None:
    for name, text in (("send", SEND), ("take", TAKE)):
        (tmp_path / f"{name}.py").write_text(text)
    done = _shell(tmp_path, "h2 python3 take.py & h0 python3 send.py; wait; sleep 0.5; queues; exit 7")
    assert done.returncode == 7, done.stderr
    assert "got 2000000" in done.stdout
    # 2,000,000 bytes in segments of 1,448.
    (port,) = [line.split() for line in done.stdout.splitlines() if line.startswith("switch0->host2")]
    assert int(port[2]) >= 1_382
    assert re.search(r"switch0->host2 +1,[0-9]{3}", done.stderr)


@needs_testbed
def test_a_program_that_floods_is_held_by_its_link(tmp_path: Path) -> None:
    (tmp_path / "flood.py").write_text(FLOOD)
    done = _shell(
        tmp_path, "h0 python3 flood.py; h1 python3 flood.py & h0 python3 flood.py; wait; sleep 0.3; queues"
    )
    assert done.returncode == 0, done.stderr
    (port,) = [line.split() for line in done.stdout.splitlines() if line.startswith("switch0->host2")]
    # Datagrams that are not ECN-capable are dropped above the threshold; six seconds carry 52,000 at most.
    assert 1_000 < int(port[2]) < 80_000
    assert int(port[4]) > 0


@needs_testbed
def test_nothing_is_left_of_a_shell_that_was_killed(tmp_path: Path) -> None:
    before = _networks()
    (tmp_path / "scenario.toml").write_text(STAR)
    script = "h0 sleep 987 & h1 sleep 987 & echo up; wait"
    command = [SHALLOWS, "testbed", "shell", "scenario.toml", "--", "bash", "-c", script]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "up\n"
        assert len(_networks() - before) >= 4
        process.kill()
    deadline = time.monotonic() + 10
    while (left := _networks() - before) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not left


@needs_testbed
def test_a_congestion_control_in_bpf_goes_with_a_program_that_is_killed(tmp_path: Path) -> None:
    known = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
    (tmp_path / "scenario.toml").write_text(STAR.replace('at = "2s"', 'at = "60s"'))
    command = [
        SHALLOWS,
        "testbed",
        "run",
        "scenario.toml",
        "--set",
        "tcp.congestion=ecn-star",
        "--out",
        "run",
    ]
    ours = re.compile(r"ecnstar_[0-9]+")
    before = set(ours.findall(known.read_text()))
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 30
        while not set(ours.findall(known.read_text())) - before:
            if process.poll() is not None and process.stderr and "no congestion" in process.stderr.read():
                pytest.skip(NEEDS_BPF)
            assert time.monotonic() < deadline, "it never came"
            time.sleep(0.1)
        time.sleep(0.5)
        process.kill()
    deadline = time.monotonic() + 10
    while (left := set(ours.findall(known.read_text())) - before) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not left


def _blocks(path: Path) -> list[tuple[int, bytes]]:
    """Return type and contents of each pcapng block. Type 6 is a packet: 20 bytes, then its frame."""
    data, at, blocks = path.read_bytes(), 0, []
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        blocks.append((kind, data[at + 8 : at + length]))
        at += length
    return blocks


def _kinds(path: Path) -> list[int]:
    return [kind for kind, _ in _blocks(path)]


@needs_testbed
def test_what_the_switch_carries_is_captured_as_it_was(tmp_path: Path) -> None:
    wanted = '[{ name = "in", ports = ["switch0->host2"] }, { name = "out", ports = ["host2->switch0"] }]'
    run = _measured(tmp_path, STAR + UNREACTING, ("measure.captures", wanted), ("stop.at", '"1s"'))
    assert set(run.captures) == {"in", "out"}
    for name, port in (("in", "switch0->host2"), ("out", "host2->switch0")):
        sent = run.counters.filter(run.counters["port"] == port)["sent"].item()
        assert _kinds(run.captures[name]).count(6) == sent > 1_000
    assert b"real TCP of Linux" in run.captures["in"].read_bytes()[:400]
    if shutil.which("tshark") is None:
        return
    command = ["tshark", "-n", "-o", "ip.check_checksum:TRUE", "-r", str(run.captures["in"]), "-T", "fields"]
    names = ("ip.checksum.status", "ip.dsfield.ecn", "frame.time_epoch", "_ws.col.Protocol")
    for field in names:
        command += ["-e", field]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [line.split("\t") for line in told.splitlines()]
    assert {row[0] for row in rows} == {"1"}  # every checksum holds, marks or not
    counted = run.counters.filter(run.counters["port"] == "switch0->host2").row(0, named=True)
    # Marked as they come, and captured as they leave.
    waiting = counted["enqueued"] - counted["dequeued"]
    assert 0 <= counted["marked"] - sum(row[1] == "3" for row in rows) <= waiting
    times = [float(row[2]) for row in rows]
    assert times == sorted(times)
    assert 0 <= times[0] < times[-1] < 1.1
    assert {row[3] for row in rows} >= {"TCP", "UDP", "ICMP"}


@needs_testbed
def test_the_ports_of_pcap_are_captured_of_a_run_and_of_a_shell(tmp_path: Path) -> None:
    (tmp_path / "scenario.toml").write_text(STAR.replace('at = "2s"', 'at = "500ms"'))
    command = [SHALLOWS, "testbed", "run", "scenario.toml", "--out", "run", "--pcap", "to-host"]
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert 6 in _kinds(tmp_path / "run/capture.pcapng")
    # Three datagrams to a port on which no program listens.
    send = "h0 bash -c 'for _ in 1 2 3; do echo here > /dev/udp/10.0.0.3/9; done'"
    done = _shell(tmp_path, send, "--pcap", "switch0->host2", "--out", "packets")
    assert done.returncode == 0, done.stderr
    assert _kinds(tmp_path / "packets/capture.pcapng").count(6) == 3
    # Existing files are not overwritten.
    again = _shell(tmp_path, "true", "--pcap", "to-host", "--out", "packets")
    assert again.returncode == 1
    assert "capture.pcapng cannot be written" in again.stderr
    # Without it, no captures are written, although the scenario has some.
    (tmp_path / "capture.pcapng").unlink(missing_ok=True)
    assert _shell(tmp_path, "true", "--set", "measure.captures=[{ports=['to-host']}]").returncode == 0
    assert not list(tmp_path.glob("*.pcapng"))


@needs_testbed
def test_what_was_measured_until_an_interface_went_is_kept_and_marked(tmp_path: Path) -> None:
    before = _networks()
    (tmp_path / "scenario.toml").write_text(STAR.replace('at = "2s"', 'at = "30s"'))
    command = [SHALLOWS, "testbed", "run", "scenario.toml", "--out", "run"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 30
        while len(new := _networks() - before) < 4:
            assert time.monotonic() < deadline, "the hosts never came up"
            time.sleep(0.1)
        time.sleep(2)
        assert _at_a_host(new, "ip link del eth0")
        said = process.stdout.read() if process.stdout else ""
    assert process.returncode == 3
    assert "incomplete" in said
    run = sh.Run(tmp_path / "run")
    health = run.summary["health"]
    assert re.fullmatch(
        r"the run ended after [0-9.]+ s: the interface of host [012] was removed or set down",
        health["incomplete"],
    )
    assert not health["valid"]
    assert 0.1 < run.summary["simulated_s"] < 20
    assert run.flows["delivered_bytes"].sum() > 0
    deadline = time.monotonic() + 10
    while (left := _networks() - before) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not left


def _at_a_host(networks: set[str], command: str) -> bool:
    """Run a command in one of these namespaces that belongs to a host; return whether it succeeded."""
    script = f"ip link show eth0 && {command}"
    for link in of_processes("fd/*"):
        try:
            if str(link.readlink()) not in networks:
                continue
        except OSError:
            continue
        entered = ["nsenter", f"--net={link}", "sh", "-ec", script]
        if subprocess.run(entered, capture_output=True, check=False).returncode == 0:
            return True
    return False


@needs_testbed
@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        (
            "ip link set eth0 mtu 600; ip link set eth0 mtu 1500",
            r"the MTU of an interface was changed from 1500 to 600 bytes \(of host [012]\)",
        ),
        ("ip address flush dev eth0", r".*an address was removed \(of host [012]\)"),
    ],
)
def test_a_run_whose_hosts_were_changed_meanwhile_is_not_valid(
    tmp_path: Path, command: str, complaint: str
) -> None:
    before = _networks()
    (tmp_path / "scenario.toml").write_text(STAR.replace('at = "2s"', 'at = "4s"'))
    started = [SHALLOWS, "testbed", "run", "scenario.toml", "--out", "run"]
    with subprocess.Popen(started, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 30
        while len(new := _networks() - before) < 4:
            assert time.monotonic() < deadline, "the hosts never came up"
            time.sleep(0.1)
        time.sleep(1.5)
        assert _at_a_host(new, command)
        process.communicate(timeout=60)
    assert process.returncode == 3
    health = sh.Run(tmp_path / "run").summary["health"]
    assert not health["valid"]
    assert any(
        re.fullmatch(f"the network was changed during the run: {complaint}", text)
        for text in health["complaints"]
    ), health["complaints"]


REAL = """
title = "Mine"
[experiment.x]
figures = ["1"]
scenario = "x.toml"
testbed = 20
[[claim]]
id = "no-more-than-the-link"
experiment = "x"
kind = "below"
source = "topology.rate"
metric = "goodput_gbps@2"
expected = 0.1
"""


@needs_testbed
def test_claims_are_judged_by_valid_runs_with_real_tcp(tmp_path: Path) -> None:
    folder = tmp_path / "experiments/mine"
    folder.mkdir(parents=True)
    short = STAR.replace('at = "2s"', 'at = "100ms"')
    (folder / "x.toml").write_text(short + "[sweep]\naxes = { seed = [1] }\n")
    (folder / "expected.toml").write_text(REAL)
    command = [SHALLOWS, "reproduce", "mine", "--experiments", str(folder.parent), "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    document = json.loads(done.stdout)
    if "invalid run" in done.stderr:
        # A machine that is busier than that keeps nothing, and claims nothing.
        assert done.returncode == 1
        assert document["claims"] == []
        assert not list(tmp_path.glob("runs/mine/x/*/summary.json"))
        return
    assert done.returncode == 0, done.stderr
    assert [claim["verdict"] for claim in document["claims"]] == ["holds"]
    (summary,) = tmp_path.glob("runs/mine/x/*/summary.json")
    health = json.loads(summary.read_text())["health"]
    assert (health["valid"], health["dilation"]) == (True, 20)


def test_without_the_program_experiments_with_real_tcp_are_listed_as_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/x.toml").write_text(STAR + "[sweep]\naxes = { seed = [1] }\n")
    (tmp_path / "mine/expected.toml").write_text(REAL)
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    options = ["reproduce", "mine", "--experiments", str(tmp_path), "--out", str(tmp_path / "out"), "--json"]
    assert main(options) == 1
    said = capsys.readouterr()
    assert "not run: x: the testbed's program shallows-testbed is not installed" in said.err
    document = json.loads(said.out)
    assert document["claims"] == []
    assert list(document["not_run"]) == ["x"]


@needs_testbed
def test_what_linux_cannot_do_is_refused_with_its_key(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"scenario\.toml: tcp\.congestion\.g: must be 1/16 .*got 0\.5"):
        _measured(tmp_path, STAR, ("tcp.congestion", '{ kind = "dctcp", g = 0.5 }'))
    with pytest.raises(
        ScenarioError, match=r"topology: links must be at most .*got 10 ?Gb.*--dilate 10 or more"
    ):
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


def test_an_invalid_run_is_not_compared(tmp_path: Path) -> None:
    runs = [sh.run(_source(tmp_path, SHORT).file, out=tmp_path / name) for name in ("simulated", "late")]
    health = {"valid": False, "complaints": ["a frame was late"]}
    (runs[1].path / "summary.json").write_text(json.dumps(runs[1].summary | {"health": health}))
    seal(runs[1].path)
    with pytest.raises(ShallowsError, match="late is invalid: a frame was late\n  measure the run again"):
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


def _simulated(folder: Path, name: str, overrides: dict[str, object] | None = None) -> list[sh.Run]:
    text = STAR.replace('at = "2s"', 'at = "500ms"')
    (folder / "scenario.toml").write_text(text)
    return [sh.run(folder / "scenario.toml", overrides, seed, folder / f"{name}{seed}") for seed in (1, 2, 3)]


def test_what_is_alike_agrees_and_what_is_not_differs(tmp_path: Path) -> None:
    same, longer = (
        _simulated(tmp_path, "same"),
        _simulated(tmp_path, "longer", {"switch.markers.0.k": "90KB"}),
    )
    alike = {each.metric: each for each in agreement.agreements(same, same)}
    assert {each.verdict for each in alike.values()} == {"agree"}
    assert alike["queue.mean"].difference == 0
    apart = {each.metric: each for each in agreement.agreements(same, longer)}
    assert apart["queue.mean"].verdict == "differ"
    assert apart["queue.mean"].difference is not None
    # About three times the threshold, and so the queue.
    assert 1 < apart["queue.mean"].difference < 4
    assert apart["goodput_gbps"].verdict == "agree"
    few = agreement.agreements(same[:2], longer[:2])
    assert {each.verdict for each in few if each.difference} == {"cannot tell"}
    text = agreement.markdown(agreement.table(list(apart.values()), 3))
    assert "| goodput Gb/s | agree |" in text


def test_invalid_runs_are_refused_before_anything_is_compared(tmp_path: Path) -> None:
    runs = _simulated(tmp_path, "late")
    health = {"valid": False, "complaints": ["a frame was late"]}
    for run in runs[1:]:
        (run.path / "summary.json").write_text(json.dumps(run.summary | {"health": health}))
        seal(run.path)
    fine = {"valid": True, "complaints": []}
    (runs[0].path / "summary.json").write_text(json.dumps(runs[0].summary | {"health": fine}))
    seal(runs[0].path)
    again = [sh.Run(run.path) for run in runs]
    with pytest.raises(ShallowsError, match=r"2 of 3 measured runs are invalid: .*late2: a frame was late"):
        agreement.reject_invalid(again)
    agreement.reject_invalid(again[:1])


@needs_testbed
def test_compare_leaves_runs_a_table_and_a_figure(tmp_path: Path) -> None:
    (tmp_path / "scenario.toml").write_text(STAR.replace('at = "2s"', 'at = "500ms"'))
    command = [SHALLOWS, "testbed", "compare", "scenario.toml", "--repeats", "1", "--invalid", "--out", "out"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Real TCP versus simulation, 1 pair of runs" in done.stdout
    left = {path.name for path in (tmp_path / "out").iterdir()}
    assert left >= {"simulated-s1", "real-s1", "agreement.json", "agreement.md", "queue.png", "queue.pdf"}
    document = json.loads((tmp_path / "out" / "agreement.json").read_text())
    assert [each["metric"] for each in document["metrics"]][:3] == ["goodput_gbps", "queue.mean", "queue.p99"]
