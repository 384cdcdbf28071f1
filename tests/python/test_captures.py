"""Tests of packet captures, read with tshark; skipped without it."""

import json
import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl
import pytest

import shallows as sh
from not_run import needs
from shallows.errors import ShallowsError
from shared import SMALL, Shell, contents

ROOT = Path(__file__).parents[2]

needs_tshark = pytest.mark.skipif(
    shutil.which("tshark") is None, reason=needs("tshark", "apt-get install tshark")
)

# Thirty flows meet at a port that marks above 30 KB. Windows end at two bandwidth-delay products, so that no
# NIC overflows.
DCTCP: dict[str, object] = {
    "tcp.handshake": True,
    "tcp.fin": True,
    "workload.0.senders": "1..4",
    "workload.0.flows": 30,
    "workload.0.sizes": {"kind": "fixed", "size": "150KB"},
    "switch.markers.0.k": "30KB",
    "switch.buffer.alpha": 8.0,
    "switch.buffer.pool": "16MB",
    "tcp.max_window": "100KB",
}
WHOLE = "9100B"


def run(scenario: Path, sets: Mapping[str, object], *captures: Mapping[str, object]) -> sh.Run:
    """Run a scenario with these captures."""
    overrides = {**sets, "measure.captures": list(captures)}
    return sh.run(scenario, overrides, out=scenario.parent / "run")


def tshark(path: Path, *arguments: str) -> str:
    """Return tshark's output for a capture, with all checksums verified."""
    checks = [option for kind in ("ip", "tcp", "udp") for option in ("-o", f"{kind}.check_checksum:TRUE")]
    # Its profile is the default one, whoever runs this.
    environment = {"PATH": os.environ["PATH"], "HOME": str(path.parent)}
    command = ["tshark", "-n", *checks, "-r", str(path), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def fields(path: Path, names: Sequence[str], only: str = "") -> list[list[str]]:
    """Return these fields of each packet that passes the display filter `only`."""
    columns = [argument for name in names for argument in ("-e", name)]
    chosen = ["-Y", only] if only else []
    return [line.split("\t") for line in tshark(path, *chosen, "-T", "fields", *columns).splitlines()]


def count(path: Path, only: str) -> int:
    """Return the number of packets that pass a display filter."""
    return len(fields(path, ["frame.number"], only))


def counters(run: sh.Run, port: str) -> dict[str, int]:
    """Return the counters of a port."""
    return run.counters.filter(pl.col("port") == port).row(0, named=True)


@needs_tshark
def test_a_dctcp_run_is_read_without_complaint(scenario: Path) -> None:
    found = run(scenario, DCTCP, {"hosts": 0, "snap": WHOLE})
    path = found.captures["capture"]
    assert found.summary["packets"]["dropped"] == 0
    sent = counters(found, "switch0->host0")["sent"] + counters(found, "host0->switch0")["sent"]
    assert count(path, "frame") == sent == count(path, "tcp && ip") > 2_000
    # All that tshark remarks on are connections that begin and end: nothing is malformed or out of order.
    remarks = Counter(
        line for row in fields(path, ["_ws.expert.message"]) for line in row[0].split(",") if line
    )
    known = ("Connection establish", "Connection finish", "This frame initiates the connection closing")
    assert {remark for remark in remarks if not remark.startswith(known)} == set()
    # Status 1 is good (epan/proto.h); each packet has a checksum of both.
    statuses = fields(path, ["ip.checksum.status", "tcp.checksum.status"])
    assert {tuple(row) for row in statuses} == {("1", "1")}


@needs_tshark
def test_a_handshake_has_the_options_of_the_scenario(scenario: Path) -> None:
    path = run(scenario, DCTCP, {"hosts": 0}).captures["capture"]
    names = ["mss_val", "sack_perm", "wscale.shift", "timestamp.tsval"]
    options = fields(path, [f"tcp.options.{name}" for name in names], "tcp.flags.syn == 1")
    # mtu - 40; SACK permitted (kind 4 is there); 2^30 bytes of window need a shift of 14.
    assert {(mss, bool(sack), shift) for mss, sack, shift, _ in options} == {("1460", True, "14")}
    assert all(value for *_, value in options)
    # RFC 3168 6.1.1: the SYN asks with ECE and CWR, its answer has ECE alone; one of each for a flow.
    bits = fields(path, ["tcp.flags.ack", "tcp.flags.ece", "tcp.flags.cwr"], "tcp.flags.syn == 1")
    assert Counter(map(tuple, bits)) == {("0", "1", "1"): 30, ("1", "1", "0"): 30}
    assert count(path, "tcp.flags.fin == 1") == 30


@needs_tshark
def test_marks_and_their_echoes_are_as_many_as_ours(scenario: Path) -> None:
    every = {**DCTCP, "tcp.delayed_ack.segments": 1}
    found = run(
        scenario, every, {"ports": ["switch0->host0"], "name": "in"}, {"ports": ["host0->*"], "name": "out"}
    )
    marked = counters(found, "switch0->host0")["marked"]
    assert marked > 100
    assert count(found.captures["in"], "ip.dsfield.ecn == 3") == marked
    # With an acknowledgement for every segment each mark is echoed once (RFC 8257 3.2). SYNs negotiate.
    echoes = "tcp.flags.ece == 1 && tcp.flags.syn == 0"
    assert count(found.captures["out"], echoes) == marked


@needs_tshark
def test_delayed_acknowledgements_echo_as_many_bytes_as_were_marked(scenario: Path) -> None:
    path = run(scenario, DCTCP, {"hosts": 0}).captures["capture"]
    rows = fields(path, ["ip.dsfield.ecn", "tcp.len"], "ip.dst == 10.0.0.1 && tcp.len > 0")
    marked = sum(int(size) for ecn, size in rows if ecn == "3")
    # RFC 8257 3.2: what an acknowledgement with ECE covers was marked, and nothing else was.
    echoed = 0
    last: dict[str, int] = {}
    names = ["tcp.stream", "tcp.ack", "tcp.flags.ece", "tcp.flags.syn"]
    for stream, number, ece, syn in fields(path, names, "ip.src == 10.0.0.1"):
        if syn == "0" and ece == "1":
            echoed += int(number) - last[stream]
        last[stream] = int(number)
    # The last acknowledgement of a connection covers its FIN, which counts as a byte.
    ends = count(path, "tcp.flags.fin == 1 && ip.dsfield.ecn == 3")
    assert echoed == marked + ends
    assert marked > 10_000


@needs_tshark
@pytest.mark.parametrize("recovery", ["sack", "rack"])
def test_what_was_retransmitted_for_nothing_is_reported_in_a_block_of_its_own(
    scenario: Path, recovery: str
) -> None:
    # The acknowledgement of a lone last segment waits 40 ms, and timers do not; nothing is lost.
    hasty = {
        **DCTCP,
        "tcp.fin": False,
        "tcp.recovery": recovery,
        "tcp.dsack": True,
        "tcp.rto": {"initial": "1ms", "min": "60us", "granularity": "1us"},
    }
    found = run(scenario, hasty, {"hosts": 0, "snap": WHOLE})
    assert found.summary["packets"]["dropped"] == 0 < found.summary["retransmits"]
    path = found.captures["capture"]
    assert count(path, "tcp.options.sack.dsack_le") == found.summary["retransmits"]
    assert count(path, "tcp.checksum.status == 0") == 0


# Host 0 asks four workers, twenty times; their answers meet at its port.
ASKING = """
[[workload]]
kind = "partition-aggregate"
clients = 0
request = "5KB"
size = "40KB"
queries = 20
arrivals = "closed-loop"
answers = "same-connection"
"""


@needs_tshark
@pytest.mark.parametrize("connections", ["persistent", "new"])
def test_both_directions_of_a_connection_are_read_without_complaint(scenario: Path, connections: str) -> None:
    scenario.write_text(SMALL[: SMALL.index("[[workload]]")] + ASKING)
    ends = {"tcp.handshake": True, "tcp.fin": True, "workload.0.connections": connections}
    found = run(scenario, ends, {"hosts": 0, "snap": WHOLE})
    path = found.captures["capture"]
    assert found.summary["packets"]["dropped"] == 0
    remarks = Counter(
        line for row in fields(path, ["_ws.expert.message"]) for line in row[0].split(",") if line
    )
    known = (
        *("Connection establish", "Connection finish", "This frame initiates the connection closing"),
        "Unreassembled fragment",  # some port has a dissector, which makes nothing of zeros
    )
    assert {remark for remark in remarks if not remark.startswith(known)} == set()
    # Each side acknowledges what the other has sent, and what it sends itself goes on from there.
    sent: Counter[tuple[str, str]] = Counter()
    acknowledged: Counter[tuple[str, str]] = Counter()
    names = ["tcp.stream", "ip.src", "tcp.seq", "tcp.nxtseq", "tcp.len", "tcp.ack", "tcp.flags.syn"]
    for stream, source, number, following, length, ack, syn in fields(path, names, "tcp"):
        way = (stream, source)
        if syn == "1":
            continue
        other = next((key for key in sent if key[0] == stream and key[1] != source), None)
        assert int(ack) <= (sent[other] if other else 1)
        assert int(ack) >= acknowledged[way]
        acknowledged[way] = int(ack)
        assert int(number) == max(sent[way], 1)
        sent[way] = int(following) if int(length) else max(sent[way], 1)
    streams = {stream for stream, _ in sent}
    assert len(streams) == (4 if connections == "persistent" else 80)
    # As many bytes went each way as were asked for.
    rows = fields(path, ["ip.src", "tcp.len"], "tcp.len > 0")
    asked = sum(int(size) for source, size in rows if source == "10.0.0.1")
    assert asked == 20 * 4 * 5_000
    assert sum(int(size) for _, size in rows) == asked + 20 * 4 * 40_000


@needs_tshark
def test_losses_show_as_losses_and_as_blocks(scenario: Path) -> None:
    few = {**DCTCP, "tcp.congestion": "reno", "switch.markers.0.k": "1GB", "switch.buffer.pool": "15KB"}
    found = run(scenario, few, {"hosts": 0, "snap": WHOLE})
    path = found.captures["capture"]
    assert found.summary["packets"]["dropped"] > 10
    edges = fields(path, ["tcp.options.sack_le", "tcp.options.sack_re"], "tcp.options.sack.count")
    pairs = [pair for le, re in edges for pair in zip(le.split(","), re.split(","), strict=True)]
    assert pairs
    assert all(int(end) > int(start) for start, end in pairs)
    # What is missing at the receiver's port, tshark notices; the header is as long as its blocks demand.
    assert count(path, "tcp.analysis.lost_segment") > 0
    assert count(path, "_ws.malformed || tcp.checksum.status != 1 || ip.checksum.status != 1") == 0


@needs_tshark
def test_the_incast_bits_are_in_what_no_standard_uses(tmp_path: Path) -> None:
    sets = {
        "measure.captures": [
            {"ports": ["switch0->host0"], "name": "in"},
            {"ports": ["host0->*"], "name": "out"},
        ]
    }
    found = sh.run(ROOT / "experiments/models/ein.toml", sets, out=tmp_path / "ein")
    noticed = counters(found, "switch0->host0")["incast"]
    assert noticed > 50
    assert count(found.captures["in"], "ip.flags.rb == 1") == noticed
    # Each segment is acknowledged on its own; the echo is the lowest of three reserved bits.
    assert count(found.captures["out"], "tcp.flags.res == 1") == noticed
    assert count(found.captures["out"], "tcp.flags.urg == 1 || tcp.flags.ae == 1") == 0
    assert count(found.captures["out"], "_ws.expert.severity >= 6291456") == 0  # warnings and errors


@needs_tshark
def test_datagrams_and_pings_are_read(tmp_path: Path) -> None:
    text = SMALL[: SMALL.index("[[workload]]")] + (
        "[stop]\nat = '1ms'\n"
        "[[workload]]\nkind = 'udp'\nsenders = 1\nreceivers = 0\nclass = 5\n"
        "pattern = { kind = 'constant', rate = '1Gbps' }\n"
        "[[workload]]\nkind = 'ping'\nsenders = 2\nreceivers = 0\ninterval = '100us'\nclass = 5\n"
    )
    scenario = tmp_path / "mixed.toml"
    scenario.write_text(text)
    path = run(scenario, {}, {"hosts": 0, "snap": WHOLE}).captures["capture"]
    assert {tuple(row) for row in fields(path, ["udp.dstport", "udp.checksum.status"], "udp")} == {
        ("5002", "1")
    }
    assert count(path, "icmp.type == 8") == 10
    assert count(path, "icmp.type == 0 && icmp.resp_to") == count(path, "icmp.type == 0") >= 9
    assert count(path, "ip.dsfield.dscp == 5") == count(path, "frame")
    assert count(path, "_ws.malformed || icmp.checksum.status == 0 || ip.checksum.status != 1") == 0


@needs_tshark
def test_pfc_frames_are_read(tmp_path: Path) -> None:
    sets = {"stop.at": "300us", "measure.captures": [{"ports": ["right->left"], "name": "pauses"}]}
    found = sh.run(ROOT / "experiments/models/lossless.toml", sets, out=tmp_path / "run")
    assert found.pauses is not None
    (row,) = found.pauses.filter(pl.col("port") == "right->left").to_dicts()
    path = found.captures["pauses"]
    names = ["macc.opcode", "macc.cbfc.enbv", "macc.cbfc.pause_time.c0", "eth.dst", "eth.src", "frame.len"]
    frames = fields(path, names, "macc")
    assert len(frames) == row["frames_sent"] > row["pauses_sent"] > 0
    # The switch is node 7 and has the address of a host with this number. Frames lack their check sequence.
    assert {(*of[:2], *of[3:]) for of in frames} == {
        ("0x0101", "0x0001", "01:80:c2:00:00:01", "02:00:0a:00:00:08", "60")
    }
    # A frame pauses for 65,535 quanta, or resumes.
    times = Counter(of[2] for of in frames)
    assert times == {"65535": len(frames) - row["resumes_sent"], "0": row["resumes_sent"]}
    assert count(path, "_ws.malformed || _ws.expert.severity >= 6291456") == 0


@needs_tshark
def test_the_file_names_ports_scenario_and_seed_and_a_short_packet_keeps_its_length(scenario: Path) -> None:
    path = run(scenario, DCTCP, {"hosts": "0"}).captures["capture"]
    names = {row[0] for row in fields(path, ["frame.interface_name"])}
    assert names == {"host0->switch0", "switch0->host0"}
    # The longest packet is 1500 bytes and 14 of Ethernet; 96 are kept, and its checksum is not judged (2).
    longest = max(fields(path, ["frame.len", "frame.cap_len"]), key=lambda row: int(row[0]))
    assert longest == ["1514", "96"]
    assert {row[0] for row in fields(path, ["tcp.checksum.status"], "frame.len > 96")} <= {"2", "3"}
    about = subprocess.run(["capinfos", "-k", path], capture_output=True, text=True, check=True).stdout
    assert 'scenario "small", seed 1; window scale 14' in about
    times = [float(row[0]) for row in fields(path, ["frame.time_epoch"])]
    assert times == sorted(times)
    assert 0 <= times[0] < times[-1] < 1


def test_captures_are_the_same_however_they_are_made(sweep: Path, shell: Shell) -> None:
    setting = "measure.captures=[{ ports = ['to-host'], name = 'ports' }]"
    for jobs in ("1", "2"):
        done = shell("sweep", sweep, "--set", setting, "--jobs", jobs, "--out", f"with-{jobs}")
        assert done.returncode == 0, done.stderr
    folders = [contents(sweep.parent / f"with-{jobs}") for jobs in ("1", "2")]
    assert folders[0] == folders[1]
    assert sum(name.endswith("/ports.pcapng") for name in folders[0]) == 8


def test_a_run_whose_capture_cannot_be_written_leaves_nothing(
    scenario: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The engine creates its files in the folder of the run; a folder of that name is in the way of one.
    original = Path.mkdir

    def with_an_obstacle(
        self: Path, mode: int = 0o777, parents: bool = False, exist_ok: bool = False
    ) -> None:
        original(self, mode, parents, exist_ok)
        if self.name.endswith(".partial"):
            original(self / "capture.pcapng")

    monkeypatch.setattr(Path, "mkdir", with_an_obstacle)
    with pytest.raises(ShallowsError, match=r"could not be written: Is a directory .*"):
        run(scenario, {}, {"hosts": 0})
    assert [path.name for path in scenario.parent.iterdir()] == ["small.toml"]


def test_what_is_not_captured_has_no_file(scenario: Path) -> None:
    found = sh.run(scenario, out=scenario.parent / "run")
    assert found.captures == {}
    assert json.loads((found.path / "resolved.json").read_text())["measure"]["captures"] == []
