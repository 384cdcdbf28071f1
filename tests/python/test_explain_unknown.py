"""Tests that conclusions about a queue consider all lines about it, and the limits of its buffer."""

import json
from fractions import Fraction

import pytest

from shallows.advisor.configuration import Curve, Switch, Threshold
from shallows.advisor.explain import Explanation, explain
from shallows.advisor.readers import reader, sonic
from shallows.advisor.resolved import Hints, resolve
from shallows.advisor.writers import write
from sonic_files import Tables, curve, leaf
from vendors import read


def explained(format_: str, text: str, hints: Hints | None = None) -> Explanation:
    return explain(resolve(reader(format_).read(text, "switch.cfg"), hints))


def of_leaf(tables: Tables) -> Explanation:
    return explain(resolve(sonic.read(json.dumps(tables), "config_db.json")))


def codes(found: Explanation) -> list[str]:
    return [each.code for each in found.findings]


def marks(found: Explanation) -> dict[int, str]:
    return {each["queue"]: each["marks"] for each in found.document()["classes"]}


NXOS = """policy-map type queuing OUT
  class type queuing c-out-8q-q3
    bandwidth remaining percent 50
    random-detect later-optimized ecn
  class type queuing c-out-8q-q-default
    bandwidth remaining percent 50
system qos
  service-policy type queuing output OUT
"""

EOS = """qos profile p
   uc-tx-queue 3
      no priority
      random-detect ecn later 7
   uc-tx-queue 1
      bandwidth percent 7
interface Ethernet1
   service-profile p
"""


@pytest.mark.parametrize(
    ("format_", "text", "line", "other"),
    [("nxos", NXOS, "random-detect later-optimized ecn", 0), ("eos", EOS, "random-detect ecn later 7", 1)],
)
def test_a_queue_with_an_unread_line_about_marking_is_not_said_to_mark_nothing(
    format_: str, text: str, line: str, other: int
) -> None:
    found = explained(format_, text)
    assert marks(found) == {3: "not known", other: "no"}
    said = f'Whether queue 3 marks is not known: switch.cfg:4 was not understood: "{line}".'
    assert said in found.verdict
    assert "No queue marks" not in found.verdict
    (unknown,) = [each for each in found.findings if each.code == "not-known"]
    assert unknown.what.startswith("queue 3: whether packets are marked is not known")
    assert (str(unknown.source), unknown.source.text) == ("switch.cfg:4", line)
    # That line does not affect conclusions about the other queue.
    (absent,) = [each for each in found.findings if each.code == "no-profile"]
    assert absent.what.startswith(f"nothing is marked in queue {other} ")
    assert {row[0]: row[5] for row in found.tables[0].rows} == {"3": "not known", str(other): "never"}


def test_nothing_is_said_to_be_right_where_no_queue_was_understood() -> None:
    found = explained("junos", "set class-of-service interfaces et-0/0/0 scheduler-of-tomorrow M\n")
    said = "No line about queues was understood. 1 of 1 lines or values about queues were not understood."
    assert found.verdict == said


def test_an_unread_line_that_is_not_about_marking_or_dropping_leaves_the_conclusion() -> None:
    found = explained("eos", EOS.replace("random-detect ecn later 7", "bandwidth later 7"))
    assert found.resolved.switch.unread
    assert "No queue marks; all queues drop packets at their limit." in found.verdict
    assert "not-known" not in codes(found)


def test_an_unread_line_about_dropping_leaves_open_whether_a_queue_drops_early() -> None:
    found = explained("eos", EOS.replace("random-detect ecn later 7", "drop later 7"))
    assert marks(found) == {3: "not known", 1: "no"}


def test_what_nothing_uses_leaves_no_doubt() -> None:
    # A drop profile that no scheduler names, and a memory profile that is not applied.
    junos = """class-of-service {
    drop-profiles { spare { fill-level 10 drop-probability 7; } }
    forwarding-classes { class web queue-num 1; }
    schedulers { s { transmit-rate percent 10; } }
    scheduler-maps { m { forwarding-class web scheduler s; } }
    interfaces { et-0/0/1 { scheduler-map m; } }
}"""
    found = explained("junos", junos)
    assert found.resolved.switch.unread
    assert "No queue marks" in found.verdict


def test_an_unread_line_at_one_port_concerns_that_port_alone() -> None:
    text = EOS.replace("random-detect ecn later 7", "bandwidth percent 8")
    text += "   uc-tx-queue 3\n      random-detect ecn later 7\n"
    text += "interface Ethernet2\n   service-profile q\n"
    text += "qos profile q\n   uc-tx-queue 3\n      bandwidth percent 9\n"
    found = explained("eos", text)
    classes = found.resolved.classes
    assert {(each.profiles[0].ports, each.queue.number): bool(each.unread) for each in classes} == {
        (("Ethernet1",), 3): True,
        (("Ethernet1",), 1): False,
        (("Ethernet2",), 3): False,
    }


def test_a_field_of_a_wred_profile_that_is_not_known_leaves_unmarked_queues_open() -> None:
    tables = leaf()
    tables["WRED_PROFILE"]["LOSSY"] |= {"ecn": "ecn_none", "ecn_of_tomorrow": "1"}
    found = of_leaf(tables)
    assert marks(found) == {0: "not known", 3: "yes"}
    assert "Whether queue 0 marks is not known: config_db.json:WRED_PROFILE|LOSSY" in found.verdict


def test_a_lossless_group_is_not_said_to_lack_headroom_while_a_line_about_memory_is_unread() -> None:
    tables = leaf()
    del tables["BUFFER_PROFILE"]["pg_lossless_100000_40m_profile"]["xoff"]
    del tables["BUFFER_POOL"]["ingress_lossless_pool"]["xoff"]
    assert "headroom-insufficient" in codes(of_leaf(tables))
    tables["BUFFER_POOL"]["ingress_lossless_pool"]["headroom_of_tomorrow"] = "7"
    found = of_leaf(tables)
    assert "headroom-insufficient" not in codes(found)
    (unknown,) = [each for each in found.findings if each.code == "not-known"]
    assert "whether lossless priority group 3 has headroom is not known" in unknown.what


RED = "min 100000b max 305000b ecn"


@pytest.mark.parametrize(
    "state",
    ["", "refcnt 2 ", "offloaded ", "refcnt 2 offloaded ingress_block 3 egress_block 4 "],
)
def test_what_tc_prints_before_the_options_of_a_qdisc_is_none_of_them(state: str) -> None:
    # tc/tc_qdisc.c, print_qdisc: refcnt, offloaded, ingress_block and egress_block, in this order.
    text = f"qdisc red 8001: dev swp1 root {state}limit 1Mb {RED} ewma 5 probability 0.1 Scell_log 13\n"
    (marking,) = read("tc", text).markings
    (found,) = marking.curves
    assert (found.minimum, found.maximum) == (Threshold.of_bytes(100_000), Threshold.of_bytes(305_000))
    assert (found.marks_ect, found.probability, found.weight) == (True, Fraction(1, 10), 5)


def test_a_word_that_red_does_not_have_makes_the_line_unread_and_its_device_not_known() -> None:
    found = explained("tc", f"qdisc red 8001: dev swp1 root limit 1Mb later {RED}\n")
    assert 'Whether swp1 marks is not known: switch.cfg:1 was not understood: "qdisc red' in found.verdict
    assert "No queue marks" not in found.verdict


@pytest.mark.parametrize("kind", ["gred vqs 4 default 1", "choke limit 100p min 10p max 50p ecn", "codel"])
def test_other_qdiscs_that_can_mark_leave_their_device_open(kind: str) -> None:
    name, _, options = kind.partition(" ")
    text = "qdisc ets 1: dev swp1 root refcnt 2 bands 2 strict 2 priomap 1 0\n"
    text += f"qdisc {name} 8001: dev swp1 parent 1:2 {options}\n"
    assert marks(explained("tc", text)) == {0: "no", 1: "not known"}


def test_red_below_a_queue_of_the_nic_is_not_taken_for_a_band() -> None:
    text = f"qdisc mq 1: dev eth0 root\nqdisc red 8001: dev eth0 parent 1:1 limit 1Mb {RED}\n"
    assert "Whether eth0 marks is not known" in explained("tc", text).verdict


def red_of(options: str) -> Curve:
    (marking,) = read("tc", f"qdisc red 8001: dev swp1 root limit 1Mb {options}\n").markings
    return marking.curves[0]


def test_plog_is_the_probability_that_the_kernel_takes() -> None:
    # net/red.h, red_set_parms: (2^32 - 1 >> 21) · 205,000 / 2^32 = 2047 · 205,000 / 2^32 = 9.77 %.
    share = red_of(f"{RED} ewma 5 Plog 21 Scell_log 13").probability
    assert share is not None
    assert float(share) == pytest.approx(2047 * 205_000 / 2**32, rel=1e-5)


def test_what_tc_shows_without_details_leaves_probability_and_average_open() -> None:
    found = red_of(RED)
    assert (found.probability, found.weight) == (None, None)


def test_harddrop_drops_above_the_maximum_what_is_marked_below_it() -> None:
    options = "harddrop ewma 5 probability 0.1 Scell_log 13"
    text = f"qdisc red 8001: dev swp1 root limit 1Mb {RED} {options}\n"
    (zones,) = [each["zones"] for each in explained("tc", text).document()["classes"]]
    assert list(zones["01, 10 (capable)"].values()) == ["passed", "marked, up to 10 %", "dropped", "dropped"]
    switch = read("tc", text)
    assert read("tc", write("tc", None, switch).change) == switch


def test_adaptive_red_marks_and_its_probability_is_said_to_move() -> None:
    options = f"{RED} adaptive ewma 5 probability 0.1 Scell_log 13qevent early_drop block 10"
    text = f"qdisc red 8001: dev swp1 root limit 1Mb {options}\n"
    found = explained("tc", text)
    assert marks(found) == {0: "yes"}
    assert "probability-moves" in codes(found)
    change = write("tc", None, read("tc", text)).change
    assert change.endswith("probability 0.1 adaptive qevent early_drop block 10\n")
    assert read("tc", change) == read("tc", text)


def test_a_probability_of_1_is_what_tc_and_the_kernel_make_of_it() -> None:
    # tc: 1 · 2^32 overflows to 0 on x86; Plog of 60,000 bytes is 16; the kernel takes 65,535 · 60,000 / 2^32.
    command = "tc qdisc add dev e root red limit 1mb min 30000 max 90000 avpkt 1000 burst 200 ecn"
    found = explained("tc", f"{command} probability 1.0")
    assert found.resolved.classes[0].curve is not None
    share = found.resolved.classes[0].curve.probability
    assert share is not None
    assert float(share) == pytest.approx(0.9155, abs=1e-4)
    assert "with up to 91.6 %" in found.verdict
    assert "probability-overflow" in codes(found)
    certain = explained("tc", f"{command} probability 0.9999999997")
    assert "with up to 100 %" in certain.verdict
    assert "probability-overflow" not in codes(certain)
    # The kernel shows the values that it applies.
    assert red_of(f"{RED} ewma 5 probability 1 Scell_log 13").probability == 1


def test_nexus_thresholds_of_the_platform_mark_where_the_file_does_not_say() -> None:
    text = NXOS.replace("later-optimized", "threshold burst-optimized")
    found = explained("nxos", text)
    assert marks(found) == {3: "yes", 0: "no"}
    assert "Queue 3 marks from an unknown backlog" in found.verdict
    switch = read("nxos", text)
    change = write("nxos", None, switch).change
    assert "random-detect threshold burst-optimized ecn\n" in change
    assert read("nxos", change) == switch


def far(kmax: str = "100000000") -> Tables:
    """Return tables with a curve from 80 KB on; a lone busy queue may use half of the pool of 8 MB."""
    tables = leaf()
    tables["WRED_PROFILE"]["LOSSY"] = curve("80000", kmax, "100")
    tables["BUFFER_POOL"]["egress_lossy_pool"]["size"] = "8000000"
    tables["BUFFER_PROFILE"]["egress_lossy_profile"] |= {"dynamic_th": "0", "size": "0"}
    return tables


def test_the_probability_that_the_buffer_allows_is_said_and_not_that_of_the_curve() -> None:
    found = of_leaf(far())
    lossy = found.document()["classes"][0]
    # αB/(1 + nα) = 8 MB/(1 + n), and there (q - 80 KB)/(100 MB - 80 KB).
    expected = {n: (8_000_000 // (1 + n) - 80_000) / 99_920_000 for n in (1, 4, 8, 16)}
    assert lossy["reach"] == pytest.approx(expected)
    assert lossy["reach"][1] == pytest.approx(0.0392, abs=1e-4)
    assert "with at most 3.92 % if no other queue is busy, 1.52 % with 4" in found.verdict
    assert "up to 100 %" not in found.verdict
    assert lossy["zones"]["01, 10 (capable)"]["in between"] == "marked, up to 3.92 %"
    assert lossy["zones"]["01, 10 (capable)"]["above the maximum"] == "never reached"
    (row,) = [row for row in found.tables[1].rows if row[0] == "0"]
    assert row[2:] == ["3.92 %", "1.52 %", "0.81 %", "0.391 %"]
    (beyond,) = [each for each in found.findings if each.code == "maximum-beyond-limit"]
    assert beyond.severity == "warning"
    assert "at most 3.92 % of packets are marked, 1.52 % with 4" in beyond.what


def test_a_maximum_that_only_several_busy_queues_put_out_of_reach_is_a_note() -> None:
    # Four busy queues hold 1.6 MB each, the only one 4 MB.
    found = of_leaf(far("2000000"))
    (beyond,) = [each for each in found.findings if each.code == "maximum-beyond-limit"]
    assert beyond.severity == "note"
    # (1.6 - 0.08) / (2 - 0.08) MB.
    assert "with up to 100 %, but at most 79.2 % with 4 busy" in found.verdict
    assert "maximum-beyond-limit" not in codes(of_leaf(far("400000")))


def test_a_maximum_of_another_unit_is_suspect() -> None:
    # 100 MB take 8 ms at 100 Gb/s; the longest maximum that is shipped is 2.4 ms.
    (suspect,) = [each for each in of_leaf(far()).findings if each.code == "unit-suspect"]
    assert suspect.what == "queue 0: marking ends at 100 MB, which is 8,000 µs at 100 Gbps"
    assert "unit-suspect" not in codes(of_leaf(far("30000000")))  # 2.4 ms


def test_a_time_is_suspect_without_the_rate_of_the_port() -> None:
    def found(low: str, high: str) -> list[str]:
        line = f"random-detect ecn minimum-threshold {low} maximum-threshold {high} weight 0"
        return codes(explained("eos", EOS.replace("random-detect ecn later 7", line)))

    assert "unit-suspect" in found("5 milliseconds", "6 milliseconds")
    assert "unit-suspect" in found("50 microseconds", "6 milliseconds")
    assert "unit-suspect" not in found("50 microseconds", "600 microseconds")


def dropping(ecn: str) -> Explanation:
    tables = leaf()
    for profile in tables["WRED_PROFILE"].values():
        profile |= curve("208000", "416000", "5") | {"ecn": ecn}
    return of_leaf(tables)


def test_a_queue_that_drops_early_is_not_said_to_drop_at_its_limit() -> None:
    found = dropping("ecn_none")
    verdict = "Queues 0, 3 mark nothing and drop early, from 208 KB to 416 KB with up to 5 %."
    assert found.verdict.startswith(verdict)
    assert "at their limit" not in found.verdict
    zones = found.document()["classes"][0]["zones"]
    assert {tuple(row.values())[1] for row in zones.values()} == {"dropped, up to 5 %"}
    (absent,) = [each for each in found.findings if each.code == "no-profile"]
    assert absent.why.startswith("these queues drop packets of ECN-capable transports early")


def test_a_queue_that_marks_other_colours_alone_is_said_to_do_so() -> None:
    found = dropping("ecn_yellow_red")
    assert found.verdict.startswith(
        "Queues 0, 3 mark only yellow and red packets. Queues 0, 3 drop early, from 208 KB"
    )
    (absent,) = [each for each in found.findings if each.code == "no-profile"]
    assert absent.what.startswith("no packets but yellow and red ones are marked in queues 0, 3 ")
    # Green packets, those of no colour, are dropped whether they are ECN-capable or not.
    dropped = [each.what for each in found.findings if each.code == "not-ect-dropped"]
    assert len(dropped) == 2  # of a lossy and a lossless queue
    assert all(what.endswith("packets are dropped, even if they are ECN-capable") for what in dropped)
    hurt = [each.what for each in found.findings if each.code == "enable-false"]
    assert all(", yellow has marking on but WRED off" in what for what in hurt)


def test_a_curve_that_begins_beyond_the_limit_of_its_queue_drops_nothing_early() -> None:
    tables = leaf()
    for profile in tables["WRED_PROFILE"].values():
        profile |= curve("100000000", "200000000", "5") | {"ecn": "ecn_none"}
    found = of_leaf(tables)
    assert found.verdict.startswith("No queue marks; all queues drop packets at their limit.")
    capable = found.document()["classes"][0]["zones"]["01, 10 (capable)"]
    assert list(capable.values()) == ["passed", "never reached", "never reached", "dropped"]


@pytest.mark.parametrize(
    ("format_", "text", "whom"),
    [
        (
            "eos",
            EOS.replace(
                "random-detect ecn later 7",
                "random-detect drop minimum-threshold 208 kbytes maximum-threshold 416 kbytes"
                " drop-probability 5",
            ),
            "",
        ),
        (
            "eos",
            EOS.replace(
                "random-detect ecn later 7",
                "random-detect drop drop-precedence 2 minimum-threshold 208 kbytes"
                " maximum-threshold 416 kbytes drop-probability 5",
            ),
            "red packets ",
        ),
        (
            "nxos",
            NXOS.replace(
                "random-detect later-optimized ecn",
                "random-detect minimum-threshold 208 kbytes maximum-threshold 416 kbytes drop-probability 5",
            ),
            "",
        ),
    ],
)
def test_drop_curves_of_eos_and_nexus_are_said_to_drop_early(format_: str, text: str, whom: str) -> None:
    verdict = explained(format_, text).verdict
    said = f"Queue 3 marks nothing and drops {whom}early, from 208 KB to 416 KB with up to 5 %."
    assert said in verdict
    assert "No queue marks; all queues drop packets at their limit" not in verdict


def test_a_switch_whose_lines_are_all_understood_still_says_that_nothing_marks() -> None:
    found = explain(resolve(Switch("eos", profiles=read("eos", EOS).profiles)))
    assert found.verdict.startswith("No queue marks; all queues drop packets at their limit.")
