"""Tests of the rules: they give the numbers of the papers, and show the inputs of each number."""

import math
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

from shallows.advisor import rules
from shallows.advisor.advised import advised, contradictions
from shallows.advisor.fabric import Fabric

EXAMPLES = Path(__file__).parents[2] / "experiments" / "advisor"
PIB = 3 * 1024**2


def test_dctcp_bound_is_a_seventh_of_the_pipe() -> None:
    # 10 Gb/s · 100 µs = 125 KB, a seventh of which is 17,857 B.
    assert rules.dctcp_bound(10e9, 100e-6).number == pytest.approx(17_857, abs=1)


def test_at_a_seventh_of_the_pipe_the_queue_of_the_worst_number_of_flows_just_empties() -> None:
    # Qmin is least, over N, at N = (C·RTT + K)/8, where it is K − (C·RTT + K)/8: zero at K = C·RTT/7.
    bound = rules.dctcp_bound(10e9, 1e-3).number
    packets = 10e9 * 1e-3 / 8 / rules.PACKET
    worst = round((packets + bound / rules.PACKET) / 8)
    assert rules.dctcp_queue_minimum(10e9, 1e-3, bound, worst).number == pytest.approx(0, abs=0.05)
    assert rules.dctcp_queue_minimum(10e9, 1e-3, bound / 2, worst).number < -5


def test_practice_is_what_papers_set() -> None:
    assert rules.dctcp_practice(1e9, 250e-6).number == 20 * 1500  # DCTCP §4
    assert rules.dctcp_practice(10e9, 100e-6).number == 65 * 1500  # DCTCP §4
    assert rules.dctcp_practice(100e9, 80e-6).number == pytest.approx(720_000)  # BCC §III-C


def test_sixty_five_packets_are_the_bound_of_twenty_and_a_burst() -> None:
    # DCTCP §3.5: theory asks for some 20 packets, and bursts of 30 to 40 add to that; 20 · 7 = 140 in flight.
    rtt = 140 * 1500 * 8 / 10e9
    assert rules.dctcp_with_bursts(10e9, rtt).number / 1500 == pytest.approx(65, abs=2)


def test_the_conservative_threshold_of_a_full_pool_is_some_200_kilobytes() -> None:
    # BCC §III-C: 3 MB for 8 ports, 128 KB reserved, α = 4. 4·3 MB/33 + 128 KB = 491.6 KB, times 0.72/1.72.
    found = rules.conservative(3e6, 4, 8, 128e3, 0.72)
    assert found.number == pytest.approx(205_801, abs=1)


@pytest.mark.parametrize(
    ("pool", "reserved", "unit", "kmax", "kmin"),
    [
        # The paper's Eqs. 2 and 3 in decimal units: B_R = 1.72 MB − 128 KB = 1.592 MB; C·N·h = 800 KB.
        (3e6, 128e3, 1e6, 2.602e6, 1.802e6),
        # The released script in binary ones: Kmax = 2,727,608 B; it has 819,200 B for C·N·h, we 800,000.
        (PIB, 131_072, 1_048_576, 2_727_608, 1_927_608),
    ],
)
def test_thresholds_of_the_pool_are_those_of_bcc(
    pool: float, reserved: float, unit: float, kmax: float, kmin: float
) -> None:
    rtt = unit * 8 / 100e9
    needed = rules.required(100e9, rtt, 0.72, reserved)
    assert needed.number == pytest.approx(1.72 * unit - reserved)
    upper = rules.pool_kmax(pool, 4, needed.number)
    assert upper.number == pytest.approx(kmax, abs=1)
    assert rules.pool_kmin(upper.number, 100e9, 8).number == pytest.approx(kmin, abs=1)


def test_other_transports_need_what_they_give_up() -> None:
    assert rules.halving(100e9, 100e-6).number == 1_250_000  # BCC §II-B: 1.25 MB
    assert rules.cubic(100e9, 80e-6).number == pytest.approx(0.3 / 0.7 * 1e6)
    assert rules.dctcp_fluid(100e9, 80e-6).number == pytest.approx(170_000)


def test_classes_share_the_threshold_of_the_port_by_weight() -> None:
    # MQ-ECN §4: two queues of equal quanta have half of it each.
    each = [rules.per_class(10e9, 100e-6, [1, 1], place, 1.0).number for place in (0, 1)]
    assert each == [62_500, 62_500]
    # TCN: as a time, whatever the share of the link.
    assert rules.sojourn(100e-6, 1.0).number == 100e-6


def test_limits_of_dynamic_threshold_are_those_of_the_paper() -> None:
    # BCC's pool: 2.52 MB for one port, 381 KB for each of eight.
    shares = [rules.share_of_pool(PIB, 4, busy).number for busy in (1, 8)]
    assert shares == [pytest.approx(2_516_582, abs=1), pytest.approx(381_300, abs=1)]


def test_alpha_is_the_largest_that_lets_the_burst_in() -> None:
    alphas = [0.5, 1, 2, 4, 8]
    # With two others busy 9 MB leave 9/(1+2α) MB, and α/(1+α) of that: 1.5, 1.5, 1.2, 0.8, 0.47 MB.
    assert rules.alpha_for(9e6, alphas, 1.1e6, 2).number == 2
    assert rules.alpha_for(9e6, alphas, 0.5e6, 2).number == 4
    too_large = rules.alpha_for(9e6, alphas, 5e6, 2)
    assert too_large.number == 0.5
    assert "no α admits the whole burst" in too_large.valid_for


@pytest.mark.parametrize(
    ("link", "metres", "mtu", "expected"),
    [(40e9, 100, 1500, 17_251), (100e9, 100, 9216, 65_563), (400e9, 2000, 4200, 1_070_719)],
)
def test_headroom_adds_what_is_still_on_its_way(link: float, metres: int, mtu: int, expected: int) -> None:
    # Own frame + 84 B of pause + cable twice at 2·10⁸ m/s + 118, 394 or 905 quanta of 64 B + peer's frame
    # + the frame that does not fit below the limit + 1.
    advice = rules.headroom(link, metres / 2e8, mtu)
    assert advice is not None
    assert advice.number == expected


def test_a_rate_without_a_response_time_has_no_rule_for_headroom() -> None:
    assert rules.headroom(7e9, 1e-7, 1_500) is None


def test_a_ramp_holds_a_queue_that_grows_with_the_number_of_flows() -> None:
    # p(q) = 2/W on 1–2 MiB, 5 %, at 100 Gb/s and 30 µs: solved by hand in 1.09, 1.34 and 1.92 MB.
    found = [rules.ramp_backlog(100e9, 30e-6, flows, 2**20, 2**21, 0.05, 1500) for flows in (1, 8, 32)]
    assert [round(each / 1e6, 2) for each in found] == [1.09, 1.34, 1.92]


LINK, RTT = 10e9, 80e-6
"""Rate and round-trip time with a bandwidth-delay product of 100,000 bytes."""


@pytest.mark.parametrize(
    ("advice", "number"),
    [
        (rules.dctcp_bound(LINK, RTT), 100_000 / 7),
        (rules.dctcp_fluid(LINK, RTT), 17_000),
        (rules.dctcp_with_bursts(LINK, RTT), 100_000 / 7 + 65_536),
        (rules.dctcp_with_bursts(LINK, RTT, 1_000), 100_000 / 7 + 1_000),
        (rules.halving(LINK, RTT), 100_000),
        # (1 - β)/β of what is in flight.
        (rules.cubic(LINK, RTT, 0.5), 100_000),
        (rules.cubic(LINK, RTT, 0.8), 25_000),
        (rules.cubic(LINK, RTT), 300_000 / 7),
        (rules.sojourn(RTT, 0.5), 40e-6),
        (rules.required(LINK, RTT, 0.72, 2_000), 170_000),
        (rules.required(LINK, RTT, 0.72), 172_000),
    ],
    ids=lambda each: each.name if isinstance(each, rules.Advice) else None,
)
def test_a_threshold_is_a_share_of_the_bandwidth_delay_product(advice: rules.Advice, number: float) -> None:
    assert rules.bdp(LINK, RTT) == pytest.approx(100_000)
    assert advice.number == pytest.approx(number)


def test_an_advice_is_written_with_its_unit_and_what_it_was_computed_from() -> None:
    found = rules.dctcp_bound(LINK, RTT)
    assert found.text == "14.3 KB"
    assert found.given == "C = 10 Gbps, RTT = 80 µs, C·RTT = 100 KB"


def test_the_least_queue_of_synchronised_flows_is_in_packets() -> None:
    # 100 packets in flight and K of 20: √(2 · 15 · 120) is 60, half of which is below 20 + 15 by 5.
    found = rules.dctcp_queue_minimum(LINK, 120e-6, 30_000, 15)
    assert found.number == pytest.approx(5)
    assert found.text == "5 packets"
    # Of packets twice as large half as many.
    larger = rules.dctcp_queue_minimum(LINK, 120e-6, 30_000, 15, 3_000)
    assert larger.number == pytest.approx(10 + 15 - math.sqrt(2 * 15 * 60) / 2)


@pytest.mark.parametrize(
    ("rate", "threshold"), [(1e9, 30_000), (1.1e9, 97_500), (10e9, 97_500), (10.1e9, 0.72 * 101_000)]
)
def test_practice_counts_packets_up_to_10_gbps(rate: float, threshold: float) -> None:
    assert rules.dctcp_practice(rate, RTT).number == pytest.approx(threshold)


def test_a_queue_has_its_weights_share_of_the_threshold_and_is_numbered_from_the_first() -> None:
    found = rules.per_class(LINK, RTT, [1, 3], 1, 0.5, first=2)
    assert found.name == "K of queue 3, all queues busy"
    assert found.number == pytest.approx(37_500)
    assert "quantum_i/T_round = 7.5 Gbps" in found.given
    alone = rules.per_class(LINK, RTT, [4], 0, 1.0)
    assert alone.name == "K of queue 0, all queues busy"
    assert alone.number == pytest.approx(100_000)


def test_busy_queues_share_a_pool_by_dynamic_threshold() -> None:
    # Half of 900 over 1 + 2 / 2 is 225, and 75 are reserved; a third of that at λ = 1/2.
    assert rules.busy_share(900, 0.5, 2) == 225
    assert rules.share_of_pool(900, 0.5, 2, 75).number == 300
    assert rules.share_of_pool(900, 0.5, 2).number == 225
    assert rules.conservative(900, 0.5, 2, 75, 0.5).number == pytest.approx(100)


def test_thresholds_of_a_pool_leave_room_for_a_queue_and_for_what_arrives_in_a_burst() -> None:
    # A queue needs 200,000 and may have four times the rest of the pool: 50,000 are kept for it.
    assert rules.pool_kmax(1e6, 4, 200e3).number == 950_000
    # 8 ports at 10 Gb/s get 80,000 bytes in 8 µs.
    assert rules.pool_kmin(950e3, LINK, 8).number == pytest.approx(870_000)
    assert rules.pool_kmin(950e3, LINK, 8, 1e-6).number == pytest.approx(940_000)
    assert rules.first_windows(30, 14_600).number == 438_000


def test_a_burst_may_fill_its_share_of_what_busy_queues_leave() -> None:
    # One busy queue leaves 900 / (1 + α): 600, 450 and 300, of which 1/3, 1/2 and 2/3 are 200, 225 and 200.
    assert [rules.burst_limit(900, each, 1).number for each in (0.5, 2, 1)] == pytest.approx([200, 200, 225])
    assert rules.burst_limit(900, 2, 1, 10).number == pytest.approx(210)


@pytest.mark.parametrize(
    ("alphas", "burst", "reserved", "chosen", "is_enough"),
    [
        ([0.5, 2, 1], 199, 0, 2, True),
        ([0.5, 2, 1], 201, 0, 1, True),
        # Ten reserved bytes are added to 200, 225 and 200.
        ([0.5, 2, 1], 209.9, 10, 2, True),
        ([0.5, 2, 1], 210.1, 10, 1, True),
        ([0.5, 2, 1], 234.9, 10, 1, True),
        ([0.5, 2, 1], 235.1, 10, 1, False),
        # Neither lets in what only the pool itself would hold, and both let in a byte.
        ([8, 4], 999, 0, 4, False),
        ([8, 4], 1, 0, 8, True),
    ],
)
def test_alpha_is_the_largest_whose_limit_holds_the_burst(
    alphas: list[float], burst: float, reserved: float, chosen: float, is_enough: bool
) -> None:
    found = rules.alpha_for(900, alphas, burst, 1, reserved)
    assert found.number == chosen
    assert ("no α admits the whole burst" in found.valid_for) is not is_enough


@pytest.mark.parametrize(
    ("rtt", "delay", "delayed_ack", "expected"),
    [
        (100e-6, 0, None, 5e-3),
        (400e-6, 200e-6, None, pytest.approx(6e-3)),
        # A delayed acknowledgement is added to the ten round-trip times, not to the five milliseconds.
        (400e-6, 200e-6, 0.04, pytest.approx(0.046)),
        (100e-6, 0, 0.04, pytest.approx(0.041)),
        (100e-6, 0, 0.003, 5e-3),
    ],
)
def test_a_timeout_is_ten_round_trip_times_and_at_least_5_ms(
    rtt: float, delay: float, delayed_ack: float | None, expected: float
) -> None:
    more = () if delayed_ack is None else (delayed_ack,)
    assert rules.least_rto(rtt, delay, *more).number == expected


@pytest.mark.parametrize(
    ("flows", "low", "expected"),
    [
        # At 50,000 of 20,000 to 80,000 bytes four of ten packets are marked: two in a window of five. With as
        # much in flight as is queued 16 flows of 5 · 1,250 bytes are that.
        (16, 20_000, pytest.approx(50_000, abs=1)),
        # At its end, where even there too few are marked, and where there is no ramp.
        (160, 20_000, 80_000),
        (16, 80_000, 80_000),
    ],
)
def test_flows_settle_where_a_ramp_marks_two_packets_of_a_window(
    flows: int, low: float, expected: float
) -> None:
    assert rules.ramp_backlog(LINK, 40e-6, flows, low, 80_000, 0.8, 1_250) == expected


@pytest.mark.parametrize(
    ("time", "text"),
    [
        (1.0, "1 s"),
        (0.999, "999 ms"),
        (1e-3, "1 ms"),
        (0.999e-3, "999 µs"),
        (1e-6, "1 µs"),
        (0.5e-6, "500 ns"),
    ],
)
def test_a_time_is_written_in_the_unit_that_fits(time: float, text: str) -> None:
    assert rules.seconds(time) == text


def test_alpha_is_written_as_a_fraction_below_one() -> None:
    assert [rules.alpha_text(each) for each in (1, 2, 0.5)] == ["1", "2", "1/2"]


def test_every_advice_has_formula_inputs_source_and_validity() -> None:
    for path in sorted(EXAMPLES.glob("*.toml")):
        found = advised(Fabric.load(path))
        assert len(found) > 10
        for each in found:
            assert each.formula
            assert each.inputs
            assert each.source
            assert each.valid_for
            assert each.text


def test_a_rule_that_is_the_same_for_several_queues_is_said_once_and_names_them() -> None:
    def thresholds(weights: Sequence[float]) -> dict[str, float]:
        table = tomllib.loads((EXAMPLES / "eight-classes.toml").read_text())
        classes = [{**each, "weight": weight} for each, weight in zip(table["class"], weights, strict=True)]
        rules = advised(Fabric.from_dict(table | {"class": classes}))
        return {each.name: each.number for each in rules if "all queues busy" in each.name}

    equal = thresholds([1] * 8)
    assert list(equal) == ["K of each of queues 0–7, all queues busy"]
    # Weights 1 and 2 in turn, 12 together: 1/12 and 2/12 of what the port needs, where an eighth was.
    port = 8 * equal["K of each of queues 0–7, all queues busy"]
    assert thresholds([1, 2] * 4) == {
        "K of each of queues 0, 2, 4, 6, all queues busy": pytest.approx(port / 12),
        "K of each of queues 1, 3, 5, 7, all queues busy": pytest.approx(port / 6),
    }
    assert list(thresholds([1, *[2] * 7])) == [
        "K of queue 0, all queues busy",
        "K of each of queues 1–7, all queues busy",
    ]


def test_contradictions_name_the_cause_that_applies() -> None:
    one = {each.name: each for each in contradictions(Fabric.load(EXAMPLES / "tomahawk-bcc.toml"))}
    assert (
        "143 KB (theory) to 720 KB (practice) and 1 MB"
        in one["0.14, 0.17, 0.72 or 1 bandwidth-delay product"].numbers
    )
    assert "hosts have 76 µs" in one["which round-trip time"].applies
    assert "threshold of a queue, or of a port" not in one
    eight = {each.name: each for each in contradictions(Fabric.load(EXAMPLES / "eight-classes.toml"))}
    # 65 packets for each of eight queues.
    assert "allows 780 KB at the port" in eight["threshold of a queue, or of a port"].numbers
    incast = {each.name: each for each in contradictions(Fabric.load(EXAMPLES / "legacy-10g.toml"))}
    assert "an incast of 30" in incast["large or small α"].applies
