"""Tests of extreme values: those that a target accepts are written, others are reported and not written."""

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from shallows.advisor.configuration import (
    Curve,
    Marking,
    Pool,
    PortProfile,
    Queue,
    Scheduler,
    Switch,
    Threshold,
    Unit,
)
from shallows.advisor.explain import explain
from shallows.advisor.findings import find
from shallows.advisor.linux_red import applied, fits
from shallows.advisor.readers import sonic
from shallows.advisor.resolved import resolve
from shallows.advisor.units import converted
from shallows.advisor.writers import FORMATS, write
from sonic_files import leaf
from vendors import read

PLAIN = Curve(
    Threshold.of_bytes(100_000), Threshold.of_bytes(400_000), Fraction(1, 10), drops_not_ect=False, weight=0
)


def told(
    curve: Curve = PLAIN, scheduler: Scheduler | None = None, kind: str = "uc-tx-queue", **port: object
) -> Switch:
    """Return a switch with one port, whose queue 3 has this curve."""
    queue = Queue(3, scheduler or Scheduler("dwrr", percent=Fraction(50)), "M", name=kind)
    profile = replace(PortProfile(("swp1",), queues=(queue,), name="p"), **port)  # type: ignore[arg-type]
    return Switch("eos", profiles=(profile,), markings=(Marking("M", (curve,)),))


def curve(low: int, high: int, unit: Unit = "bytes", **other: object) -> Curve:
    ends = Threshold(Fraction(low), unit), Threshold(Fraction(high), unit)
    return replace(PLAIN, minimum=ends[0], maximum=ends[1], **other)  # type: ignore[arg-type]


def probability(format_: str, share: Fraction) -> tuple[str, tuple[str, ...]]:
    ends = (10, 40, "percent") if format_ == "junos" else (100_000, 400_000, "bytes")
    text = write(format_, None, told(curve(*ends, probability=share)))  # type: ignore[arg-type]
    return text.change, text.inexpressible


WORDS = {
    "sonic": '"green_drop_probability": "{}"',
    "eos": "max-mark-probability {}",
    "avd": "max_probability: {}",
    "nvue": "ecn enable",  # 100 % is NVUE's default
    "nxos": "drop-probability {}",
    "junos": "drop-probability [ 0 {} ]",
    "tc": "probability {}",
}


@pytest.mark.parametrize("format_", FORMATS)
def test_a_probability_of_100_percent_is_written_as_the_target_takes_it(format_: str) -> None:
    change, _ = probability(format_, Fraction(1))
    # 1 overflows in tc: 4,294,967,294 of 2^32 is the largest that ten digits can say.
    assert WORDS[format_].format("0.9999999997" if format_ == "tc" else 100) in change
    (marking,) = read(format_, change).markings
    assert {each.probability for each in marking.curves} == {1}


@pytest.mark.parametrize("format_", FORMATS)
def test_a_probability_of_0_is_written_where_the_target_has_it_and_else_said(format_: str) -> None:
    change, said = probability(format_, Fraction(0))
    # From 0: sonic-wred-profile.yang, Juniper's reference. From 1: pyavd's schema, NVUE's reference, tc.
    if format_ in ("sonic", "nxos", "junos"):
        assert WORDS[format_].format(0) in change
    else:
        assert not read(format_, change).markings if change else True
        assert any("probability" in each for each in said)


@pytest.mark.parametrize(
    ("format_", "most"),
    # qosorch.cpp: stoi; NVIDIA's reference: 4,294,967,295; net/red.h: 31 bits with an average of 2^-1.
    [("sonic", (1 << 31) - 1), ("nvue", (1 << 32) - 1), ("tc", (1 << 30) - 1)],
)
def test_the_largest_threshold_is_written_and_one_more_byte_is_said(format_: str, most: int) -> None:
    def at(high: int) -> tuple[str, tuple[str, ...]]:
        text = write(format_, None, told(curve(high - 1000, high)))
        return text.change, text.inexpressible

    change, _ = at(most)
    (marking,) = read(format_, change).markings
    assert marking.curves[0].maximum == Threshold.of_bytes(most)
    change, said = at(most + 1)
    assert str(most + 1) not in change
    assert any("threshold" in each for each in said)


def test_a_threshold_of_0_is_not_written_where_it_means_something_else() -> None:
    zero = told(curve(0, 400_000))
    # SAI: the whole buffer. tc: a third of the maximum. pyavd's schema: from 1.
    assert "WRED_PROFILE" not in json.loads(write("sonic", None, zero).change)
    tc = write("tc", None, zero)
    assert " min 1 max 400000 " in tc.change
    assert any("a threshold of 0 is written as 1 byte" in each for each in tc.inexpressible)
    for format_ in ("eos", "avd"):
        text = write(format_, None, zero)
        assert "threshold" not in text.change
        assert any("from 1" in each for each in text.inexpressible)


def test_a_threshold_of_0_of_sonic_is_the_whole_buffer_and_said() -> None:
    tables = leaf()
    tables["WRED_PROFILE"]["LOSSY"] |= {"green_min_threshold": "0"}
    resolved = resolve(sonic.read(json.dumps(tables), "config_db.json"))
    assert resolved.classes[0].kmin is None
    assert "zero-threshold" in [each.code for each in find(resolved)]
    assert "Queue 0 marks from 0" not in explain(resolved).verdict
    tables["WRED_PROFILE"]["LOSSY"] |= {"green_min_threshold": str(1 << 31)}
    unread = sonic.read(json.dumps(tables), "config_db.json").unread
    assert [each.place for each in unread] == ["WRED_PROFILE|LOSSY green_min_threshold"]


@pytest.mark.parametrize("format_", ["eos", "avd", "nxos"])
def test_weights_of_the_average_are_written_up_to_15(format_: str) -> None:
    # pyavd's schema; of NX-OS from memory (evidence/advisor.md).
    def at(weight: int) -> tuple[str, tuple[str, ...]]:
        text = write(format_, None, told(replace(PLAIN, weight=weight)))
        return text.change, text.inexpressible

    assert read(format_, at(15)[0]).markings[0].curves[0].weight == 15
    change, said = at(16)
    assert "16" not in change
    assert any("a weight of 16" in each for each in said)


@pytest.mark.parametrize("format_", ["eos", "avd", "nvue"])
def test_shares_of_the_rate_are_written_from_1_to_100_percent(format_: str) -> None:
    def at(share: Fraction) -> tuple[list[Fraction | None], tuple[str, ...]]:
        text = write(format_, None, told(scheduler=Scheduler("dwrr", percent=share)))
        found = [queue.scheduler for _, queue in read(format_, text.change).queues()]
        return [each.percent for each in found if each], text.inexpressible

    assert at(Fraction(100))[0] == [100]
    assert at(Fraction(1))[0] == [1]
    for share in (Fraction(0), Fraction(101), Fraction(1, 2)):
        found, said = at(share)
        assert found == [None]
        assert any("percent" in each for each in said)


@pytest.mark.parametrize(
    ("format_", "most"),
    # porthlpr.cpp of orchagent; pyavd's schema; terraform-provider-nxos.
    [("sonic", 9216), ("eos", 65_535), ("avd", 65_535), ("nxos", 9216)],
)
def test_an_mtu_beyond_what_a_port_takes_is_said(format_: str, most: int) -> None:
    assert read(format_, write(format_, None, told(mtu=most)).change).profiles[0].mtu == most
    text = write(format_, None, told(mtu=most + 1))
    assert str(most + 1) not in text.change
    assert any("MTU" in each for each in text.inexpressible)


@pytest.mark.parametrize(("mtu", "written"), [(575, False), (576, True), (9216, True), (9217, False)])
def test_an_mtu_of_nxos_is_written_from_576_to_9216_at_ports_and_in_classes(mtu: int, written: bool) -> None:
    # CiscoDevNet/terraform-provider-nxos: min_int 576, max_int 9216 of l1PhysIf's mtu and of ipqosSetMTU.
    network = (
        "policy-map type network-qos N\n  class type network-qos c-8q-nq3\n    pause pfc-cos 3\n    mtu {}\n"
    )
    network += "system qos\n  service-policy type network-qos N\n"
    for switch in (told(mtu=mtu), read("nxos", network.format(mtu))):
        text = write("nxos", None, switch)
        assert (f"mtu {mtu}" in text.change) is written
        assert any("NX-OS takes 576 to 9,216" in each for each in text.inexpressible) is not written


def test_what_is_no_whole_number_of_sonic_is_said_and_not_cut_off() -> None:
    switch = told(rate=1_500_000, cable=Fraction(5, 2))
    text = write("sonic", None, replace(switch, pools=(Pool("p", percent=Fraction(99, 2)),)))
    assert "PORT" not in json.loads(text.change)
    assert "CABLE_LENGTH" not in json.loads(text.change)
    assert sum(words in " ".join(text.inexpressible) for words in ("1,500,000", "2.5 m", "49.5 percent")) == 3


def test_times_of_a_queue_of_a_fixed_arista_are_whole_milliseconds() -> None:
    # pyavd's schema has no microseconds for random_detect.ecn of uc_tx_queues, and has them for tx_queues.
    fine, coarse = (curve(low, 2 * low, "ps") for low in (320 * 10**6, 10**9))
    assert "minimum-threshold 320 microseconds" in write("eos", None, told(fine, kind="tx-queue")).change
    text = write("eos", None, told(fine))
    assert "threshold" not in text.change
    assert any("milliseconds" in each for each in text.inexpressible)
    assert "minimum-threshold 1 milliseconds maximum-threshold 2" in write("eos", None, told(coarse)).change


def test_a_probability_too_small_for_tc_is_said() -> None:
    # tc_red_eval_P: 31 doublings of probability / (max - min) must exceed 1: 205,000 / 2^31 is the limit.
    least = Fraction(205_000, 1 << 31)
    assert applied(205_000, least) is None
    assert applied(205_000, least * 2) == least * 2
    text = write("tc", None, told(curve(100_000, 305_000, probability=least)))
    assert " red " not in text.change
    assert any("tc refuses a probability of 0, and one below" in each for each in text.inexpressible)


def test_the_kernel_takes_thresholds_of_fewer_than_32_bits_with_the_average() -> None:
    # red_check_params of net/red.h: fls(max) + Wlog >= 32 is refused.
    assert fits((1 << 27) - 1, 4)
    assert not fits(1 << 27, 4)
    text = write("tc", None, told(curve(100_000, 1 << 27, weight=4)))
    assert " red " not in text.change


def test_an_average_that_nobody_shows_is_said_and_left_to_tc() -> None:
    text = write("tc", None, told(replace(PLAIN, weight=None)))
    # q_red.c demands avpkt.
    assert " avpkt 1000 ecn " in text.change
    assert any("the weight of the average is not known" in each for each in text.inexpressible)


def test_prio_has_two_bands_at_least() -> None:
    profile = PortProfile(("swp1",), queues=(Queue(0, Scheduler("strict")),), name="prio")
    text = write("tc", None, Switch("tc", profiles=(profile,)))
    assert text.change == ""
    assert any("prio takes from 2 bands" in each for each in text.inexpressible)


@pytest.mark.parametrize("format_", FORMATS)
def test_drops_above_the_maximum_are_lost_but_in_linux_and_that_is_said(format_: str) -> None:
    made = converted(told(replace(PLAIN, drops_above=True)), format_)
    assert any("harddrop" in each for each in made.said) == (format_ != "tc")
