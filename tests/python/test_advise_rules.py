"""Rules give the numbers that papers give, and say what they are made of."""

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
    # BCC §III-C: 3 MB for 8 ports, 128 KB private, α = 4. 4·3 MB/33 + 128 KB = 491.6 KB, times 0.72/1.72.
    found = rules.conservative(3e6, 4, 8, 128e3, 0.72)
    assert found.number == pytest.approx(205_801, abs=1)


@pytest.mark.parametrize(
    ("pool", "private", "unit", "kmax", "kmin"),
    [
        # The paper's Eqs. 2 and 3 in decimal units: B_R = 1.72 MB − 128 KB = 1.592 MB; C·N·h = 800 KB.
        (3e6, 128e3, 1e6, 2.602e6, 1.802e6),
        # The released script in binary ones: Kmax = 2,727,608 B; it has 819,200 B for C·N·h, we 800,000.
        (PIB, 131_072, 1_048_576, 2_727_608, 1_927_608),
    ],
)
def test_thresholds_of_the_pool_are_those_of_bcc(
    pool: float, private: float, unit: float, kmax: float, kmin: float
) -> None:
    rtt = unit * 8 / 100e9
    needed = rules.required(100e9, rtt, 0.72, private)
    assert needed.number == pytest.approx(1.72 * unit - private)
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
    assert "no α lets this burst in" in too_large.valid_for


@pytest.mark.parametrize(
    ("link", "metres", "mtu", "expected"),
    [(40e9, 100, 1500, 15_712), (100e9, 100, 9216, 56_308), (400e9, 2000, 4200, 1_066_480)],
)
def test_headroom_adds_what_is_still_on_its_way(link: float, metres: int, mtu: int, expected: int) -> None:
    # Own frame + 84 B of pause + cable twice at 2·10⁸ m/s + 118, 394 or 905 quanta of 64 B + peer's frame.
    assert rules.headroom(link, metres / 2e8, mtu).number == pytest.approx(expected)


def test_a_ramp_holds_a_queue_that_grows_with_the_number_of_flows() -> None:
    # p(q) = 2/W on 1–2 MiB, 5 %, at 100 Gb/s and 30 µs: solved by hand in 1.09, 1.34 and 1.92 MB.
    found = [rules.ramp_backlog(100e9, 30e-6, flows, 2**20, 2**21, 0.05, 1500) for flows in (1, 8, 32)]
    assert [round(each / 1e6, 2) for each in found] == [1.09, 1.34, 1.92]


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
