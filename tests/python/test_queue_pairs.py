"""Queue pairs of RoCEv2: their table, their metrics, and scenarios that are refused."""

import struct
import zlib
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

import shallows as sh
from shallows import reports
from shallows.runs import tables
from shallows.series.measures import check, measure
from shallows.series.offered import Offered
from test_captures import count, fields, needs_tshark
from test_report import data

MODEL = Path(__file__).parents[2] / "experiments/models/roce.toml"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> sh.Run:
    return sh.run(MODEL, out=tmp_path_factory.mktemp("roce") / "run")


def test_a_run_tabulates_the_actions_of_its_queue_pairs(run: sh.Run) -> None:
    counts = run.summary["queue_pairs"]
    table = tables.queue_pairs(run.summary)
    assert table is not None
    assert table.rows == [
        [
            "8",
            *["0"] * 6,
            f"{counts['cnps']:,}",
            "0",
            f"{counts['cuts']:,}",
            f"{counts['increases']:,}",
        ]
    ]
    assert counts["cnps"] > 0


def sends_that_are_refused(size: str) -> dict[str, object]:
    """Return changes with which each queue pair sends two messages; the second is refused three times."""
    operation = {"kind": "send", "receive_depth": 1, "refill": "1s", "rnr_timer": "10us", "rnr_retry": 2}
    connections = {"kind": "persistent", "when_busy": "queue"}
    rounds = {"repeats": 2, "period": "1ms", "size": size, "connections": connections}
    changes = {f"workload.0.{key}": value for key, value in rounds.items()}
    return {"roce.operation": operation, "stop.at": "10ms"} | changes


def test_rnr_naks_are_tabulated(tmp_path: Path) -> None:
    run = sh.run(MODEL, sends_that_are_refused("1KB"), out=tmp_path / "run")
    table = tables.queue_pairs(run.summary)
    assert table is not None
    # Each of the 8 queue pairs ends after three RNR NAKs.
    found = dict(zip(table.columns, table.rows[0], strict=True))
    assert (found["ended by timeouts"], found["ended by RNR"], found["RNR NAKs"]) == ("0", "8", "24")
    assert "RNR: receiver not ready" in (table.note or "")
    assert measure(run, "queue_pairs.rnr_naks") == 24


def test_runs_without_counts_of_rnr_are_tabulated_with_zeros(run: sh.Run) -> None:
    counts = {name: n for name, n in run.summary["queue_pairs"].items() if not name.startswith("rnr")}
    assert tables.queue_pairs({"queue_pairs": counts}) == tables.queue_pairs(run.summary)


def two_workloads(size: str) -> dict[str, object]:
    """Return changes with which host 8 also sends a message of this size to host 7, with Swift."""
    second = {"kind": "incast", "transport": "roce", "senders": 8, "receivers": 7, "size": size}
    first = {"kind": "incast", "transport": "roce", "senders": "0..7", "receivers": 8, "size": "1MB"}
    return {"workload": [first, second | {"roce": {"congestion": "swift"}}]}


def test_a_passive_congestion_control_beside_an_active_one_is_tabulated_and_warned_of(tmp_path: Path) -> None:
    run = sh.run(MODEL, two_workloads("1KB"), out=tmp_path / "run")
    counts = run.summary["queue_pairs"]
    table = tables.congestion_controls(run.summary)
    assert table is not None
    assert table.columns[:3] == ["workload", "control", "queue pairs"]
    assert table.rows == [
        ["0", "dcqcn", "7", f"{counts['cnps']:,}", "0", f"{counts['cuts']:,}", table.rows[0][-1]],
        ["1", "swift", "1", "0", "0", "0", table.rows[1][-1]],
    ]
    warning = 'the congestion control of workload 1 ("swift") never reduced a rate or a window'
    assert [text for text in run.summary["warnings"] if "congestion control" in text] == [warning]
    page = Path(reports.write_run(run)).read_text(encoding="utf-8")
    assert "Congestion control of queue pairs" in page


def test_groups_of_senders_are_tabulated_with_their_congestion_controls(tmp_path: Path) -> None:
    group = {"name": "old", "members": "0..4", "roce": {"congestion": "dcqcn-connectx"}}
    run = sh.run(MODEL, {"host.group": [group]}, out=tmp_path / "run")
    table = tables.congestion_controls(run.summary)
    assert table is not None
    assert table.names == 3
    assert [row[:4] for row in table.rows] == [
        ["0", "default", "dcqcn", "4"],
        ["0", "old", "dcqcn-connectx", "4"],
    ]


def test_one_congestion_control_needs_no_table_of_its_own(run: sh.Run) -> None:
    [control] = run.summary["queue_pair_controls"]
    expected = {"workload": 0, "group": "default", "congestion": "dcqcn"}
    assert control == run.summary["queue_pairs"] | expected
    assert tables.congestion_controls(run.summary) is None
    # Runs of older versions lack the list.
    assert tables.congestion_controls({"queue_pairs": run.summary["queue_pairs"]}) is None


def test_counts_of_queue_pairs_are_metrics(run: sh.Run) -> None:
    assert measure(run, "queue_pairs.cnps") == run.summary["queue_pairs"]["cnps"]
    with pytest.raises(sh.ShallowsError, match="no metric 'queue_pairs"):
        measure(run, "queue_pairs.cnp")
    with pytest.raises(sh.ShallowsError, match="has no 'cnp'"):
        check("queue_pairs.cnp")


def test_runs_over_tcp_have_no_counts_of_queue_pairs(tmp_path: Path) -> None:
    tcp = sh.run(MODEL.with_name("dctcp-mix.toml"), out=tmp_path / "tcp")
    assert tables.queue_pairs(tcp.summary) is None
    assert "queue_pairs" not in tcp.summary


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"roce.mtu": "8KB"}, "roce.mtu: must be from 256B to 4KiB, got 8KB"),
        ({"roce.mtu": "2048B"}, "roce.mtu: must be at most 1.44KB, got 2KiB"),
        ({"roce.retry_count": 8}, "roce.retry_count: must be at most 7, got 8"),
        ({"roce.congestion": "none", "roce.cnp.latency": "1us"}, "roce.cnp: must be left out"),
        ({"roce.congestion.gain": 2.0}, "must be above 0 and at most 1, got 2"),
        ({"workload.0.transport": "tcp"}, "roce: must be left out, or a workload must have transport"),
        ({"workload.0.tcp.congestion": "reno"}, 'must be left out, because transport = "roce"'),
    ],
)
def test_mistakes_are_refused_with_the_allowed_values(changes: dict[str, object], message: str) -> None:
    with pytest.raises(sh.ScenarioError) as refused:
        sh.run(MODEL, changes)
    assert message in str(refused.value)


def test_a_trace_of_a_queue_pair_has_its_rate(tmp_path: Path) -> None:
    changes = {"measure.flow_traces": [{"flows": [0]}], "roce.congestion": "dcqcn"}
    traced = sh.run(MODEL, changes, out=tmp_path / "traced")
    assert traced.flow_traces is not None
    rates = traced.flow_traces.filter(pl.col("quantity") == "rate_gbps")["value"]
    # A queue pair begins at line rate. The first CNP halves it, because α is 1 (SIGCOMM '15, equation 1).
    assert rates[0] == pytest.approx(100)
    assert rates[1] == pytest.approx(50)


@needs_tshark
def test_a_capture_of_queue_pairs_is_read_by_tshark(tmp_path: Path) -> None:
    # 2,500 bytes are three packets: 1,024, 1,024 and 452 bytes.
    changes = {"measure.captures": [{"hosts": 8, "snap": "9100B"}], "workload.0.size": "2500B"}
    captured = sh.run(MODEL, changes, out=tmp_path / "captured").captures["capture"]
    names = ["udp.dstport", "infiniband.bth.opcode", "infiniband.bth.psn", "infiniband.bth.a"]
    rows = [tuple(row) for row in fields(captured, names, "infiniband")]
    # InfiniBand, section 9.2: WRITE first, middle and last are 6, 7 and 8, an acknowledgement is 17.
    data = {("4791", "6", "0", "1"), ("4791", "7", "1", "1"), ("4791", "8", "2", "1")}
    acks = {("4791", "17", str(psn), "0") for psn in range(3)}
    assert set(rows) == data | acks
    assert len(rows) == 8 * 6
    assert count(captured, "_ws.malformed") == 0


@needs_tshark
def test_a_capture_of_sends_and_rnr_naks_is_read_by_tshark(tmp_path: Path) -> None:
    changes = sends_that_are_refused("2500B") | {"measure.captures": [{"hosts": 8, "snap": "9100B"}]}
    captured = sh.run(MODEL, changes, out=tmp_path / "captured").captures["capture"]
    names = [f"infiniband.{name}" for name in ("bth.opcode", "bth.psn", "aeth.syndrome")]
    rows = Counter(tuple(row) for row in fields(captured, names, "infiniband"))
    # SEND first, middle and last are 0, 1 and 2. The three packets of the second message are sent thrice.
    sends = {(str(psn % 3), str(psn), ""): 8 if psn < 3 else 24 for psn in range(6)}
    # The syndrome of an RNR NAK is 32 and the code of its timer, which is 1 for 10 µs.
    replies = {("17", str(psn), "31"): 8 for psn in range(3)} | {("17", "3", "33"): 24}
    assert rows == sends | replies
    assert count(captured, "_ws.malformed") == 0


@needs_tshark
def test_a_capture_of_reads_is_read_by_tshark(tmp_path: Path) -> None:
    captures = [{"hosts": 8, "snap": "9100B"}]
    changes = {"roce.operation": "read", "measure.captures": captures, "workload.0.size": "2500B"}
    captured = sh.run(MODEL, changes, out=tmp_path / "captured").captures["capture"]
    names = [f"infiniband.{name}" for name in ("bth.opcode", "bth.psn", "reth.dmalen", "aeth.syndrome")]
    rows = Counter(tuple(row) for row in fields(captured, names, "infiniband"))
    # READ request is 12; response first, middle and last are 13, 14 and 15.
    request = ("12", "0", "2500", "")
    responses = [("13", "0", "", "31"), ("14", "1", "", ""), ("15", "2", "", "31")]
    assert rows == dict.fromkeys([request, *responses], 8)
    assert count(captured, "_ws.malformed") == 0


@needs_tshark
def test_a_capture_of_dcqcn_has_its_congestion_notification_packets(tmp_path: Path) -> None:
    changes = {"measure.captures": [{"hosts": 8, "snap": "9100B"}], "workload.0.size": "200KB"}
    run = sh.run(MODEL, changes, out=tmp_path / "run")
    captured = run.captures["capture"]
    # InfiniBand, annex A17.9.3: a CNP has opcode 0x81 and 16 reserved bytes after the BTH.
    names = ["ip.src", "frame.len", "_ws.col.Info"]
    rows = [tuple(row) for row in fields(captured, names, "infiniband.bth.opcode == 0x81")]
    assert {row[:2] for row in rows} == {("10.0.0.9", str(14 + 20 + 8 + 12 + 16 + 4))}
    assert len(rows) == run.summary["queue_pairs"]["cnps"] >= 8
    assert count(captured, "_ws.malformed") == 0
    cnps = [frame for frame in packets_of(captured) if frame[42] == 0x81]
    assert [frame[54:-4] for frame in cnps] == [bytes(16)] * len(rows)


@needs_tshark
def test_a_capture_of_losses_has_a_nak_for_each_gap(tmp_path: Path) -> None:
    # Class 1 is not lossless, and a small α makes the switch drop packets.
    losses = {"workload.0.class": 1, "workload.0.size": "20KB", "switch.buffer.alpha": 0.001}
    changes = losses | {"roce.congestion": "none", "measure.captures": [{"hosts": 8, "snap": "9100B"}]}
    run = sh.run(MODEL, changes, out=tmp_path / "run")
    captured = run.captures["capture"]
    names = ["ip.src", "ip.dst", *(f"infiniband.{name}" for name in ("aeth.syndrome", "bth.psn"))]
    rows = fields(captured, names, "infiniband")
    # The syndrome of a NAK for a PSN sequence error is 0x60. Its PSN is that of the missing packet: all
    # packets before it have been acknowledged, and it is retransmitted.
    naks = [(place, host, psn) for place, (_, host, syndrome, psn) in enumerate(rows) if syndrome == "96"]
    assert len(naks) == run.summary["queue_pairs"]["naks"] > 0
    for place, host, psn in naks:
        acknowledged = {int(row[3]) for row in rows[:place] if row[1] == host and row[2] == "31"}
        assert acknowledged == set(range(int(psn)))
        assert [host, "10.0.0.9", "", psn] in rows[place:]
    assert count(captured, "_ws.malformed") == 0


@needs_tshark
def test_a_capture_of_hpcc_has_the_bytes_of_in_band_telemetry(tmp_path: Path) -> None:
    changes = {"measure.captures": [{"hosts": 8, "snap": "9100B"}], "workload.0.size": "2500B"}
    run = sh.run(MODEL, changes | {"roce.congestion": "hpcc"}, out=tmp_path / "run")
    captured = run.captures["capture"]
    rows = Counter(tuple(row) for row in fields(captured, ["infiniband.bth.opcode", "frame.len"]))
    # Ethernet, IP, UDP, BTH and ICRC have 58 bytes, an RETH 16, an AETH 4, and the telemetry 42.
    lengths = {"6": 58 + 16 + 1024 + 42, "7": 58 + 1024 + 42, "8": 58 + 452 + 42, "17": 58 + 4 + 42}
    assert rows == {(code, str(length)): 24 if code == "17" else 8 for code, length in lengths.items()}
    assert count(captured, "_ws.malformed") == 0
    acks = [frame for frame in packets_of(captured) if frame[42] == 17]
    assert [frame[58:-4] for frame in acks] == [bytes(42)] * 24


@pytest.mark.parametrize("congestion", ["dcqcn", "hpcc"])
def test_captured_packets_of_queue_pairs_end_with_their_icrc(congestion: str, tmp_path: Path) -> None:
    changes = {"measure.captures": [{"hosts": 8, "snap": "9100B"}], "workload.0.size": "2500B"}
    changes |= {"roce.congestion": congestion}
    captured = sh.run(MODEL, changes, out=tmp_path / "captured").captures["capture"]
    frames = packets_of(captured)
    assert len(frames) == 8 * 6
    for frame in frames:
        packet = bytearray(frame[14:-4])
        for changing in (1, 8, 10, 11, 26, 27, 32):
            packet[changing] = 0xFF
        assert zlib.crc32(b"\xff" * 8 + packet).to_bytes(4, "little") == frame[-4:]


def packets_of(path: Path) -> list[bytes]:
    """Return the frames of a pcapng file: the contents of its enhanced packet blocks."""
    content, place, found = path.read_bytes(), 0, []
    while place < len(content):
        kind, length = struct.unpack_from("<II", content, place)
        if kind == 6:
            (kept,) = struct.unpack_from("<I", content, place + 20)
            found.append(content[place + 28 : place + 28 + kept])
        place += length
    return found


def test_a_report_shows_rates_of_queue_pairs_that_have_no_window(tmp_path: Path) -> None:
    traced = sh.run(MODEL, {"measure.flow_traces": [{"workload": 0}]}, out=tmp_path / "run")
    page = Path(reports.write_run(traced)).read_text(encoding="utf-8")
    assert "Rates of queue pairs" in page
    assert "Congestion windows" not in page


@pytest.mark.parametrize("operation", ["write", "read"])
def test_a_report_charts_the_alpha_of_the_host_that_sends_data(tmp_path: Path, operation: str) -> None:
    ends = {"write": ("0..8", 8), "read": (8, "0..8")}[operation]
    changes = {
        "roce.operation": operation,
        "workload.0.senders": ends[0],
        "workload.0.receivers": ends[1],
        "measure.flow_traces": [{"workload": 0}],
    }
    traced = sh.run(MODEL, changes, out=tmp_path / "run")
    page = Path(reports.write_run(traced)).read_text(encoding="utf-8")
    charts = {chart["name"]: chart for chart in data(page)["charts"]}
    rates, alphas = charts["rates"], charts["alphas"]
    assert "α of congestion controls" in page
    assert (alphas["y"]["name"], rates["y"]["name"]) == ("α", "rate (Gb/s)")
    assert [line["name"] for line in alphas["lines"]] == [line["name"] for line in rates["lines"]]
    for line in alphas["lines"]:
        values = [point[1] for point in line["points"]]
        assert max(values) <= 1
        assert len(set(values)) > 2


def small_messages(depth: int) -> dict[str, object]:
    """Return changes with which host 0 sends four messages of one packet on one queue pair."""
    connections = {"kind": "persistent", "when_busy": "queue", "queue_depth": depth}
    rounds = {"senders": "0", "repeats": 4, "period": "1ns", "size": "1000B", "connections": connections}
    changes: dict[str, object] = {f"workload.0.{key}": value for key, value in rounds.items()}
    return changes | {"host.jitter": "off", "roce.congestion": "none"}


def test_the_time_that_messages_wait_for_their_queue_pair_is_a_column_and_a_metric(tmp_path: Path) -> None:
    # At 100 Gb/s, a packet with 1,098 bytes on the wire takes 87.84 ns, and an acknowledgement with 86 bytes
    # 6.88 ns, on each of two links of 1 us.
    packet, round_trip = 0.08784, 4 + 2 * 0.08784 + 2 * 0.00688
    for depth, turn in ((4, packet), (1, round_trip)):
        run = sh.run(MODEL, small_messages(depth), out=tmp_path / f"depth-{depth}")
        waits = [place * (turn - 0.001) for place in range(4)]
        assert run.flows["queued_us"].to_list() == pytest.approx(waits)
        # The message latency is the completion time: it includes the wait.
        assert run.flows["fct_us"].to_list() == pytest.approx([2 + 2 * packet + wait for wait in waits])
        assert measure(run, "queued_us.all.max") == pytest.approx(waits[-1])
        assert measure(run, "fct_us.all.max") == pytest.approx(2 + 2 * packet + waits[-1])


def test_runs_over_tcp_have_no_waits_for_queue_pairs(tmp_path: Path) -> None:
    tcp = sh.run(MODEL.with_name("dctcp-mix.toml"), out=tmp_path / "tcp")
    assert "queued_us" not in tcp.flows.columns
    for metric in ("queued_us.all.p99", "queued_us.all.p99@0"):
        with pytest.raises(sh.ShallowsError, match="the scenario has no queue pairs"):
            check(metric, Offered(tcp.scenario))
        with pytest.raises(sh.ShallowsError, match="has no queue pairs"):
            measure(tcp, metric)


def test_flows_over_tcp_have_no_wait_beside_queue_pairs(tmp_path: Path) -> None:
    text = MODEL.read_text()
    tcp = "\n[[workload]]\nkind = 'incast'\nsenders = 0\nreceivers = 1\nsize = '1KB'\n"
    (tmp_path / "mixed.toml").write_text(text + tcp)
    mixed = sh.run(tmp_path / "mixed.toml", out=tmp_path / "run")
    waits = dict(mixed.flows.group_by("workload").agg(pl.col("queued_us").null_count()).rows())
    assert waits == {0: 0, 1: 1}
    assert measure(mixed, "queued_us.all.max") == measure(mixed, "queued_us.all.max@0") == 0
    with pytest.raises(sh.ShallowsError, match="none of the selected flows in size bin 'all'"):
        measure(mixed, "queued_us.all.max@1")


@needs_tshark
def test_a_capture_of_outstanding_messages_is_read_by_tshark(tmp_path: Path) -> None:
    captures = {"measure.captures": [{"hosts": 0, "snap": "9100B"}], "workload.0.size": "2500B"}
    captured = sh.run(MODEL, small_messages(4) | captures, out=tmp_path / "captured").captures["capture"]
    rows = [
        tuple(row) for row in fields(captured, ["infiniband.bth.opcode", "infiniband.bth.psn"], "infiniband")
    ]
    # Four messages of three packets leave before the first acknowledgement arrives. Each has a WRITE first.
    assert rows[:12] == [(str(6 + psn % 3), str(psn)) for psn in range(12)]
    assert rows[12:] == [("17", str(psn)) for psn in range(12)]
    assert count(captured, "_ws.malformed") == 0
