"""Tests of HPCC's congestion controls, windows, pauses and queues as imported scenarios have them."""

import re
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import shallows
from shallows.errors import ShallowsError
from shallows.foreign.hpcc import import_hpcc
from shallows.foreign.hpcc_paths import Longest, longest
from shallows.foreign.hpcc_topology import Network
from shallows.foreign.ignoring import NOTHING, Ignored
from shallows.foreign.writing import Cable, Imported, write
from shared import HPCC, Shell

OF_MODES = {
    # The values of `mix/config.txt` of HPCC's repository.
    1: "EWMA_GAIN 0.00390625\nALPHA_RESUME_INTERVAL 1\nRATE_DECREASE_INTERVAL 4\nRP_TIMER 900\n"
    "RATE_AI 50Mb/s\nRATE_HAI 100Mb/s\nMIN_RATE 100Mb/s\nFAST_RECOVERY_TIMES 1\nCLAMP_TARGET_RATE 0\n",
    3: "RATE_AI 50Mb/s\nU_TARGET 0.95\nMI_THRESH 0\nMULTI_RATE 0\nVAR_WIN 1\nFAST_REACT 1\nINT_MULTI 4\n",
    7: "RATE_AI 100Mb/s\nRATE_HAI 500Mb/s\nMIN_RATE 1Gb/s\nHAS_WIN 0\n",
    8: "EWMA_GAIN 0.0625\nDCTCP_RATE_AI 615Mb/s\nMIN_RATE 1Gb/s\nVAR_WIN 1\n",
    10: "RATE_AI 64Mb/s\nU_TARGET 0.95\nMI_THRESH 0\nVAR_WIN 1\nPINT_LOG_BASE 1.05\nPINT_PROB 0.5\n",
}
"""Keys of each mode of congestion control."""


def configured(hpcc: Path, mode: int, more: str = "", ignored: Ignored = NOTHING) -> Imported:
    """Import the files with the keys of a mode."""
    text = (HPCC / "config.txt").read_text().replace("CC_MODE 8\nEWMA_GAIN 0.0625\nRATE_AI 40Mb/s\n", "")
    keys = OF_MODES.get(mode, "")
    (hpcc / "config.txt").write_text(f"{text}CC_MODE {mode}\n{keys}{more}")
    return import_hpcc(hpcc, ignored)


def control(hpcc: Path, mode: int, more: str = "") -> dict[str, Any]:
    """Return `roce.congestion` of the imported scenario."""
    congestion: dict[str, Any] = configured(hpcc, mode, more).tables["roce"]["congestion"]
    return congestion


def test_the_longest_round_trip_time_is_that_of_hpccs_fat_tree() -> None:
    # A path of fat.txt: links of 1 us, of 100 Gb/s at hosts and 400 Gb/s above. 12 us there and back, and
    # 1,000 bytes on each link: 2 · 80 + 4 · 20 ns. The smallest rate is 100 Gb/s: 153,000 bytes.
    path = ["switch4", "switch5", "switch6", "switch7", "switch8"]
    ends = [
        ("host0", "switch4"),
        ("host1", "switch4"),
        *pairwise(path),
        ("switch8", "host2"),
    ]
    rates = {"host": 100 * 10**9, "switch": 400 * 10**9}
    cables = [Cable(pair, rates[min(pair).rstrip("0123456789")], 10**6) for pair in ends]
    nics = (100 * 10**9,)
    assert longest(Network([0, 1, 2], [4, 5, 6, 7, 8], cables), 1_000) == Longest(12_240, 153_000, nics)
    # Hosts 0 and 1 alone have a switch between them: 4 us and 160 ns.
    assert longest(Network([0, 1], [4], cables[:2]), 1_000) == Longest(4_160, 52_000, nics)


def test_of_equally_short_paths_the_one_by_the_lowest_switch_counts() -> None:
    # third.cc visits the neighbours of a node in the order of their numbers, not in that of the file. By
    # switch 9: 8 us there and back, and 1,000 bytes on four links of 100 Gb/s, 80 ns each.
    cables = [
        Cable(ends, 100 * 10**9, delay_us * 10**6)
        for ends, delay_us in [
            (("host0", "switch4"), 1),
            (("host1", "switch11"), 1),
            (("switch4", "switch10"), 2),
            (("switch10", "switch11"), 2),
            (("switch4", "switch9"), 1),
            (("switch9", "switch11"), 1),
        ]
    ]
    assert longest(Network([0, 1], [4, 9, 10, 11], cables), 1_000).rtt_ns == 8_320


def test_dctcp_has_hpccs_increase_and_the_window_of_its_rate(hpcc: Path) -> None:
    assert control(hpcc, 8) == {
        "kind": "dctcp",
        "gain": 0.0625,
        "additive_increase": "615Mbps",
        "min_rate": "1Gbps",
        "window": {"rtt": "8180ns", "of": "current"},
    }
    # Defaults of third.cc: DCTCP_RATE_AI 1000 Mb/s, MIN_RATE 100 Mb/s, HAS_WIN 1, VAR_WIN 0.
    imported = import_hpcc(Path(shutil.copytree(HPCC, hpcc / "of-defaults")))
    assert imported.tables["roce"]["congestion"] == {
        "kind": "dctcp",
        "gain": 0.0625,
        "additive_increase": "1Gbps",
        "min_rate": "100Mbps",
        "window": {"rtt": "8180ns", "of": "line"},
    }


def test_dcqcn_has_the_timers_of_the_file(hpcc: Path) -> None:
    values = {
        "kind": "dcqcn-connectx",
        "gain": 0.00390625,
        "alpha_period": "1us",
        "decrease_period": "4us",
        "increase_period": "900us",
        "fast_recovery": 1,
        "additive_increase": "50Mbps",
        "hyper_increase": "100Mbps",
        "min_rate": "100Mbps",
        "clamp": "after-increase",
    }
    assert control(hpcc, 1, "HAS_WIN 0\n") == values
    assert control(hpcc, 1, "CLAMP_TARGET_RATE 1\nVAR_WIN 1\n") == values | {
        "clamp": "always",
        "window": {"rtt": "8180ns", "of": "current"},
    }
    assert configured(hpcc, 1).tables["roce"]["cnp"] == {"interval": "0s", "class": 7}
    # Defaults of third.cc; ns-3 leaves out fractions of microseconds.
    values |= {"alpha_period": "55us", "fast_recovery": 5, "increase_period": "700us"}
    text = OF_MODES[1].replace("ALPHA_RESUME_INTERVAL 1\n", "").replace("FAST_RECOVERY_TIMES 1\n", "")
    text = text.replace("RP_TIMER 900", "RP_TIMER 700.9")
    assert control_of(hpcc, f"CC_MODE 1\n{text}HAS_WIN 0\n") == values


def control_of(hpcc: Path, keys: str) -> dict[str, Any]:
    """Return `roce.congestion` for these keys."""
    return control(hpcc, 0, keys)


def test_rates_of_hpcc_become_bytes_in_the_round_trip_time(hpcc: Path) -> None:
    # 2 · (1,000 + 4,410 + 1,000) ns and 80 + 20 + 80 ns are 13 us. 50 Mb/s · 13 us / 8 = 81.25 bytes.
    topology = hpcc / "topology.txt"
    topology.write_text(topology.read_text().replace("400Gbps 2us", "400Gbps 4410ns"))
    imported = configured(hpcc, 3)
    assert imported.tables["roce"]["congestion"] == {
        "kind": "hpcc",
        "target": 0.95,
        "max_stage": 0,
        "additive_increase": "81B",
        "base_rtt": "13us",
        "min_rate": "100Mbps",
    }
    assert "RATE_AI 50Mbps is 81.25 bytes in the round-trip time of 13000 ns, rounded to 81" in imported.notes
    # 64 Mb/s are 104 bytes exactly; 5 is third.cc's default of MI_THRESH, and 1 that of MULTI_RATE.
    text = OF_MODES[3].replace("50Mb/s", "64Mb/s").replace("MI_THRESH 0\nMULTI_RATE 0\n", "")
    congestion = control_of(hpcc, f"CC_MODE 3\nSAMPLE_FEEDBACK 1\n{text}")
    assert (congestion["additive_increase"], congestion["max_stage"]) == ("104B", 5)
    assert (congestion["per_hop"], congestion["skip_empty"]) == (True, True)
    assert not any("rounded to" in note for note in import_hpcc(hpcc).notes)


def test_pint_has_the_parameters_of_hpcc_and_its_own(hpcc: Path) -> None:
    # 2 · (1,000 + 2,000 + 1,000) ns and 80 + 20 + 80 ns are 8,180 ns. 64 Mb/s · 8,180 ns / 8 = 65.44 bytes.
    expected = {
        "kind": "hpcc-pint",
        "target": 0.95,
        "max_stage": 0,
        "additive_increase": "65B",
        "base_rtt": "8180ns",
        "min_rate": "100Mbps",
        "log_base": 1.05,
        "sampled": 0.5,
    }
    assert control(hpcc, 10) == expected
    # Codes to base 1.01 have two bytes, as in HPCC's packets. Others have one, and a byte of framing.
    fine = configured(hpcc, 10, "PINT_LOG_BASE 1.01\n").tables["topology"]
    coarse = configured(hpcc, 10).tables["topology"]
    assert (fine["mtu"] - coarse["mtu"], fine["framing"] - coarse["framing"]) == (1, -1)


def test_timely_has_hpccs_increase_in_each_round_trip_time(hpcc: Path) -> None:
    values = {"kind": "timely", "preset": "hpcc-repo", "increase": "100Mbps", "min_rate": "1Gbps"}
    assert control(hpcc, 7) == values
    window = {"window": {"rtt": "8180ns", "of": "line"}}
    assert control(hpcc, 7, "HAS_WIN 1\n") == values | window
    with pytest.raises(ShallowsError, match="RATE_HAI: TIMELY's hyperactive increase is 5 times RATE_AI"):
        configured(hpcc, 7, "RATE_HAI 100Mb/s\n")
    ignored = configured(hpcc, 7, "RATE_HAI 100Mb/s\n", Ignored(["RATE_HAI"]))
    assert ignored.tables["roce"]["congestion"] == values


@pytest.mark.parametrize(
    ("mode", "full", "ack", "note"),
    [
        # HPCC has 48 bytes of headers, and 8 of TIMELY's timestamp, 42 of telemetry or 2 of PINT.
        (1, 1_048, 52, "52 bytes; HPCC's have 60"),
        (3, 1_090, 94, "94 bytes; HPCC's have 88"),
        (7, 1_056, 60, "HPCC's size"),
        (8, 1_048, 52, "52 bytes; HPCC's have 60"),
        (10, 1_050, 54, "54 bytes; HPCC's have 60"),
    ],
)
def test_packets_have_hpccs_size(hpcc: Path, mode: int, full: int, ack: int, note: str) -> None:
    imported = configured(hpcc, mode)
    topology = imported.tables["topology"]
    assert topology["mtu"] + topology["framing"] - 16 == full, "without RETH"
    assert full - 1_000 + 4 == ack, "AETH instead of data"
    assert f"Acknowledgements have {note}." in imported.comments["roce"]


@pytest.mark.parametrize(
    ("mode", "more", "message"),
    [
        (2, "", "CC_MODE: congestion control 2 is not modelled; only 1 (DCQCN), 3 (HPCC), 7 (TIMELY), 8"),
        (10, "VAR_WIN 0\n", "VAR_WIN: 0 (a fixed window of HPCC) is not modelled; only 1 is"),
        (10, "PINT_LOG_BASE 1\n", "PINT_LOG_BASE must be from 1.001 to 2, got 1"),
        (3, "VAR_WIN 0\n", "VAR_WIN: 0 (a fixed window of HPCC) is not modelled; only 1 is"),
        (3, "FAST_REACT 0\n", "FAST_REACT: 0 (one update in a round-trip time) is not modelled"),
        (3, "HAS_WIN 0\n", "HAS_WIN: 0 (no window) is not modelled; only 1 is"),
        (1, "GLOBAL_T 0\n", "GLOBAL_T: 0 (a round-trip time for each pair of hosts) is not modelled"),
        (1, "RATE_BOUND 0\n", "RATE_BOUND: 0 (senders without a rate) is not modelled; only 1 is"),
        (8, "L2_BACK_TO_ZERO 1\n", "L2_BACK_TO_ZERO: 1 (retransmission from the start of a chunk)"),
        (8, "PACKET_PAYLOAD_SIZE 9000\n", "PACKET_PAYLOAD_SIZE: RDMA has packets with 256 to 4096 bytes"),
        (8, "LB_MODE 0\nPAUSE_TIME 5\n", "PAUSE_TIME: ConWeave's pauses are not modelled"),
        (
            0,
            "CC_MODE 3\nRATE_AI 1Mb/s\n",
            "VAR_WIN: 0 (a fixed window of HPCC), which is the default,",
        ),
        (0, "CC_MODE 1\nEWMA_GAIN 0.1\nRATE_HAI 1Mb/s\nRP_TIMER 1\n", "config.txt: RATE_AI is missing"),
        (0, "CC_MODE 1\nRATE_AI 1Mb/s\nRATE_HAI 1Mb/s\nRP_TIMER 1\n", "config.txt: EWMA_GAIN is missing"),
        (0, "CC_MODE 1\nEWMA_GAIN 0.1\nRATE_AI 1Mb/s\nRATE_HAI 1Mb/s\n", "config.txt: RP_TIMER is missing"),
        (0, "CC_MODE 8\n", "config.txt: EWMA_GAIN is missing"),
        (8, "EWMA_GAIN 2\n", "EWMA_GAIN (DCTCP's g) must be above 0 and at most 1, got 2"),
        (8, "VAR_WIN yes\n", 'VAR_WIN must be a whole number from 0 to 9223372036854775807, got "yes"'),
    ],
)
def test_what_has_no_counterpart_is_named(hpcc: Path, mode: int, more: str, message: str) -> None:
    with pytest.raises(ShallowsError, match=re.escape(message)):
        configured(hpcc, mode, more)


@pytest.mark.parametrize(
    ("key", "valid", "invalid"),
    [
        ("PINT_LOG_BASE", ["1.001", "2"], ["1.0009", "2.001"]),
        ("PINT_PROB", ["1"], ["0", "1.001"]),
        ("U_TARGET", ["1"], ["0", "1.001"]),
        # InfiniBand's smallest and largest MTU.
        ("PACKET_PAYLOAD_SIZE", ["256", "4096"], ["255", "4097"]),
        ("SIMULATOR_STOP_TIME", ["0.000000000001", "86400"], ["0"]),
    ],
)
def test_keys_accept_the_limits_of_their_range(
    hpcc: Path, key: str, valid: list[str], invalid: list[str]
) -> None:
    for value in valid:
        notes = configured(hpcc, 10, f"{key} {value}\n").notes
        assert not any("longer than a day" in note for note in notes)
    for value in invalid:
        with pytest.raises(ShallowsError, match=f"{key}.* got {value}"):
            configured(hpcc, 10, f"{key} {value}\n")


def test_without_a_window_the_round_trip_time_of_a_pair_has_no_effect(hpcc: Path) -> None:
    # GLOBAL_T selects the round-trip time of the window.
    assert "window" not in control(hpcc, 1, "HAS_WIN 0\nGLOBAL_T 0\n")


def test_missing_keys_have_the_defaults_of_third_cc(hpcc: Path) -> None:
    # third.cc: simulator_stop_time = 3.01, buffer_size = 16 MiB, packet_payload_size = 1000.
    config = hpcc / "config.txt"
    keys = "SIMULATOR_STOP_TIME|BUFFER_SIZE|PACKET_PAYLOAD_SIZE"
    config.write_text(re.sub(rf"(?m)^({keys}) .*\n", "", config.read_text()))
    tables = import_hpcc(hpcc).tables
    assert tables["stop"] == {"at": "3010ms"}
    assert tables["switch"]["buffer"]["pool"] == "16MiB"
    assert tables["roce"]["mtu"] == "1000B"
    # ConWeave's network-load-balance.cc stops ten seconds after the last flow.
    config.write_text(f"{config.read_text()}FLOWGEN_STOP_TIME 0.5\n")
    assert import_hpcc(hpcc).tables["stop"] == {"at": "10500ms"}


def test_unmodelled_settings_are_left_out_when_asked(hpcc: Path) -> None:
    every = Ignored(unmodelled=True)
    imported = configured(hpcc, 2, "RATE_AI 50Mb/s\nEWMA_GAIN 0.5\nPACKET_PAYLOAD_SIZE 9000\n", every)
    # The gain belongs to mode 2, so DCTCP has the usual one.
    assert imported.tables["roce"]["congestion"]["gain"] == 0.0625
    assert imported.tables["roce"]["mtu"] == "1000B"
    asked = "left out on request: CC_MODE 2 (unknown; the scenario has DCTCP), PACKET_PAYLOAD_SIZE 9000"
    assert asked in imported.notes
    again = configured(hpcc, 3, ignored=Ignored(["CC_MODE"])).tables["roce"]["congestion"]
    assert (again["kind"], again["gain"]) == ("dctcp", 0.0625)
    fixed = configured(hpcc, 3, "VAR_WIN 0\nFAST_REACT 0\n", every).tables["roce"]["congestion"]
    assert fixed["kind"] == "hpcc"


def test_switches_pause_as_hpccs_do(hpcc: Path) -> None:
    imported = configured(hpcc, 8, "PAUSE_TIME 5\nUSE_DYNAMIC_PFC_THRESHOLD 1\nL2_CHUNK_SIZE 4000\n")
    switch = imported.tables["switch"]
    assert switch["lossless"] == {
        "classes": [3, 7],
        "preset": "hpcc-repo",
        "cyclic_routes": "allow",
        "tc_to_priority_group": {"3": 3, "7": 3},
    }
    # switch-node.cc marks in SwitchNotifyDequeue, after it has counted the packet out of the queue.
    marker = {"kind": "red", "kmin": "100KB", "kmax": "400KB", "pmax": 0.2, "at": "dequeue"}
    assert switch["markers"] == [marker]
    unused = "L2_CHUNK_SIZE, PAUSE_TIME, USE_DYNAMIC_PFC_THRESHOLD"
    assert (
        f"keys without effect on the scenario (HPCC reads and does not use them): {unused}" in imported.notes
    )


def test_equal_marking_thresholds_become_one_threshold(hpcc: Path) -> None:
    # switch-mmu.cc marks every packet above KMAX and none below KMIN.
    imported = configured(hpcc, 8, "KMAX_MAP 1 100000000000 100\n")
    assert imported.tables["switch"]["markers"] == [{"kind": "threshold", "k": "100KB", "at": "dequeue"}]


def test_nics_send_acknowledgements_first(hpcc: Path, tmp_path: Path) -> None:
    # qbb-net-device.cc, RdmaEgressQueue::GetNextQindex. Host 0 sends eight flows of 1 MB to host 1 while host
    # 1 sends 1,000 bytes to host 0. The acknowledgement waits for at most the packet on each wire.
    rows = [f"0 1 3 {100 + flow} 1000000 2.0" for flow in range(8)] + ["1 0 3 200 1000 2.00005"]
    (hpcc / "flow.txt").write_text(f"{len(rows)}\n" + "\n".join(rows) + "\n")
    imported = configured(hpcc, 8, "ENABLE_QCN 0\n")
    assert imported.tables["roce"]["ack_class"] == 7
    nic = {"kind": "strict-priority", "queues": 2, "classes": [1, 1, 1, 1, 1, 1, 1, 0]}
    assert imported.tables["host"]["nic"]["port"] == nic
    assert "port" not in imported.tables["switch"]
    write(imported, tmp_path / "ours.toml")
    run = shallows.run(tmp_path / "ours.toml")
    [short] = run.flows.filter(size_bytes=1000)["fct_us"].to_list()
    # Two links of 1 us each way. 1,064 bytes take 85.12 ns on each link, the acknowledgement of 52 bytes 4.16
    # ns, and the packet on the wire up to 85.12 ns, at the NIC and at the switch. Times in us.
    alone = 4 + 2 * 0.08512 + 2 * 0.00416
    assert alone <= short <= alone + 2 * 0.08512


def test_windows_are_the_largest_bandwidth_delay_product(hpcc: Path) -> None:
    # A slow link of 40 Gb/s: 8,000 + 80 + 200 + 80 ns, 41,800 bytes. Hosts 0 and 1 have more, 4,160 ns at 100
    # Gb/s.
    topology = hpcc / "topology.txt"
    (hpcc / "slow.txt").write_text(topology.read_text().replace("400Gbps", "40Gbps"))
    slow = "ENABLE_QCN 0\nTOPOLOGY_FILE slow.txt\n"
    assert control(hpcc, 8, slow)["window"] == {"rtt": "4160ns", "of": "current"}
    # 400 Gb/s at host 3: the largest product is still that of 8,180 ns at 100 Gb/s.
    (hpcc / "slow.txt").write_text(topology.read_text().replace("3 5 100Gbps", "3 5 400Gbps"))
    imported = configured(hpcc, 8, slow)
    assert imported.tables["roce"]["congestion"]["window"]["rtt"] == "2045ns"
    note = (
        "the window is 102250 bytes at NICs of 400Gbps, and smaller at slower NICs; HPCC's windows are equal"
    )
    assert any(found.startswith(note) for found in imported.notes)


def test_powertcps_files_have_the_switches_and_windows_of_ns3_datacenter(hpcc: Path) -> None:
    # `RdmaHw::AddQueuePair`: windows are the longest round-trip time at the NIC's rate.
    topology = hpcc / "topology.txt"
    text = topology.read_text().replace("6 2 5", "6 2 2 5").replace("3 5 100Gbps", "3 5 400Gbps")
    topology.write_text(text)
    imported = configured(hpcc, 8)
    assert imported.tables["switch"]["lossless"]["preset"] == "ns3-datacenter"
    assert imported.tables["roce"]["congestion"]["window"]["rtt"] == "8180ns"
    assert not [note for note in imported.notes if note.startswith("the window is")]


def test_without_pfc_switches_drop_and_mark_at_dequeue(hpcc: Path) -> None:
    # 8,180 ns at 100 Gb/s are 102,250 bytes, 103 packets.
    tables = configured(hpcc, 8, "ENABLE_PFC 0\nENABLE_IRN 1\n").tables
    assert "lossless" not in tables["switch"]
    assert tables["switch"]["markers"][0]["at"] == "dequeue"
    assert tables["roce"]["recovery"] == {"kind": "irn", "window": 103}
    assert "recovery" not in configured(hpcc, 8, "ENABLE_PFC 0\nENABLE_IRN 0\n").tables["roce"]


def test_acknowledgements_have_a_queue_with_priority_when_asked(hpcc: Path) -> None:
    tables = configured(hpcc, 1, "ACK_HIGH_PRIO 1\nL2_ACK_INTERVAL 2500\n").tables
    assert tables["roce"]["ack_class"] == 0
    assert tables["roce"]["cnp"] == {"interval": "0s", "class": 0}
    assert tables["roce"]["ack_every"] == 3
    assert tables["switch"]["port"] == tables["host"]["nic"]["port"]
    assert (tables["switch"]["port"]["strict"], tables["switch"]["port"]["classes"][0]) == (1, 0)
    assert tables["switch"]["lossless"]["classes"] == [3]


@pytest.mark.parametrize(
    ("mode", "more"),
    [(1, "ACK_HIGH_PRIO 1\n"), (3, ""), (7, ""), (8, "ENABLE_PFC 0\nENABLE_IRN 1\n"), (10, "")],
)
def test_each_congestion_control_slows_an_incast_down(
    mode: int, more: str, hpcc: Path, shell: Shell, tmp_path: Path
) -> None:
    # Three hosts send 1 MB each to host 3, whose link marks from 20 KB on.
    (hpcc / "flow.txt").write_text("3\n0 3 3 100 1000000 0\n1 3 3 100 1000000 0\n2 3 4 100 1000000 0\n")
    configured(hpcc, mode, more)
    config = hpcc / "config.txt"
    text = config.read_text().replace("KMIN_MAP 2 100000000000 100", "KMIN_MAP 2 100000000000 20")
    config.write_text(text.replace("SIMULATOR_STOP_TIME 4", "SIMULATOR_STOP_TIME 0.1"))
    imported = shell("import", "hpcc", hpcc, "-o", "mine.toml")
    assert imported.returncode == 0, imported.stderr
    for out, threads in (("one", 1), ("two", 2)):
        run = shell("run", "mine.toml", "--threads", threads, "--out", out)
        assert run.returncode == 0, run.stdout + run.stderr
        assert shell("export", "hpcc", out, "-o", f"{out}.txt").returncode == 0
    assert (tmp_path / "one.txt").read_text() == (tmp_path / "two.txt").read_text()
    assert shallows.Run(tmp_path / "one").summary["queue_pairs"]["cuts"] > 0
    # 3,000 packets of at least 1,048 bytes at 100 Gb/s take 251.5 us.
    fcts = [int(line.split()[6]) for line in (tmp_path / "one.txt").read_text().splitlines()]
    assert len(fcts) == 3
    assert max(fcts) > 251_520
