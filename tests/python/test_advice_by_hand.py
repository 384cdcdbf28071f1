"""What rules, races and recommendations of the advisor work out, at their edges: each by hand."""

import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from shallows.advisor import race as racing
from shallows.advisor import recommendation, rules
from shallows.advisor.goals import LOSS, TAIL, THROUGHPUT, parse
from shallows.advisor.race import Objective, Race
from shallows.advisor.recommendation import Beside, contenders, recommend
from shallows.comparison.intervals import Interval
from shallows.comparison.samples import Sample, Series
from shallows.comparison.verdicts import SAME, Judgement
from shallows.errors import ShallowsError
from test_advise_race import fabric, made_up, noisy

LINK, RTT = 10e9, 80e-6
"""100,000 bytes in flight."""


def test_thresholds_are_shares_of_what_is_in_flight() -> None:
    assert rules.bdp(LINK, RTT) == pytest.approx(100_000)
    assert rules.dctcp_bound(LINK, RTT).number == pytest.approx(100_000 / 7)
    assert rules.dctcp_bound(LINK, RTT).text == "14.3 KB"
    assert rules.dctcp_bound(LINK, RTT).given == "C = 10 Gbps, RTT = 80 µs, C·RTT = 100 KB"
    assert rules.dctcp_fluid(LINK, RTT).number == pytest.approx(17_000)
    assert rules.dctcp_with_bursts(LINK, RTT).number == pytest.approx(100_000 / 7 + 65_536)
    assert rules.dctcp_with_bursts(LINK, RTT, 1_000).number == pytest.approx(100_000 / 7 + 1_000)
    assert rules.halving(LINK, RTT).number == pytest.approx(100_000)
    assert [rules.cubic(LINK, RTT, beta).number for beta in (0.5, 0.8)] == pytest.approx([100_000, 25_000])
    assert rules.cubic(LINK, RTT).number == pytest.approx(300_000 / 7)
    assert rules.sojourn(RTT, 0.5).number == pytest.approx(40e-6)
    assert rules.required(LINK, RTT, 0.72, 2_000).number == pytest.approx(170_000)
    assert rules.required(LINK, RTT, 0.72).number == pytest.approx(172_000)


def test_the_least_backlog_of_flows_in_step_is_in_packets() -> None:
    # 100 packets in flight and K of 20: √(2 · 15 · 120) is 60, half of which is below 20 + 15 by 5.
    found = rules.dctcp_queue_minimum(LINK, 120e-6, 30_000, 15)
    assert found.number == pytest.approx(5)
    assert found.text == "5 packets"
    # Of packets twice as large half as many.
    larger = rules.dctcp_queue_minimum(LINK, 120e-6, 30_000, 15, 3_000)
    assert larger.number == pytest.approx(10 + 15 - math.sqrt(2 * 15 * 60) / 2)


def test_practice_counts_packets_up_to_ten_gigabits() -> None:
    found = [rules.dctcp_practice(rate, RTT).number for rate in (1e9, 1.1e9, 10e9, 10.1e9)]
    assert found == pytest.approx([30_000, 97_500, 97_500, 0.72 * 101_000])


def test_queues_have_their_weight_of_the_threshold_and_are_numbered_from_the_first() -> None:
    found = rules.per_class(LINK, RTT, [1, 3], 1, 0.5, first=2)
    assert found.name == "K of queue 3, all queues busy"
    assert found.number == pytest.approx(37_500)
    assert "quantum_i/T_round = 7.5 Gbps" in found.given
    alone = rules.per_class(LINK, RTT, [4], 0, 1.0)
    assert alone.name == "K of queue 0, all queues busy"
    assert alone.number == pytest.approx(100_000)


def test_a_pool_is_shared_by_who_is_busy() -> None:
    # Half of 900 over 1 + 2 / 2 is 225, and 75 are private; a third of that at λ = 1/2.
    assert rules.busy_share(900, 0.5, 2) == 225
    assert rules.share_of_pool(900, 0.5, 2, 75).number == 300
    assert rules.share_of_pool(900, 0.5, 2).number == 225
    assert rules.conservative(900, 0.5, 2, 75, 0.5).number == pytest.approx(100)
    # A queue needs 200,000 and may have four times the rest of the pool: 50,000 are kept for it.
    assert rules.pool_kmax(1e6, 4, 200e3).number == 950_000
    # 8 ports at 10 Gb/s get 80,000 bytes in 8 µs.
    assert rules.pool_kmin(950e3, LINK, 8).number == pytest.approx(870_000)
    assert rules.pool_kmin(950e3, LINK, 8, 1e-6).number == pytest.approx(940_000)
    assert rules.first_windows(30, 14_600).number == 438_000


def test_a_burst_has_its_share_of_what_others_leave_and_the_largest_alpha_that_does() -> None:
    # One busy queue leaves 900 / (1 + α): 600, 450 and 300, of which 1/3, 1/2 and 2/3 are 200, 225 and 200.
    alphas = [0.5, 2, 1]
    assert [rules.burst_limit(900, each, 1).number for each in alphas] == pytest.approx([200, 200, 225])
    assert [rules.alpha_for(900, alphas, burst, 1).number for burst in (199, 201)] == [2, 1]
    assert rules.burst_limit(900, 2, 1, 10).number == pytest.approx(210)
    chosen = [rules.alpha_for(900, alphas, burst, 1, 10) for burst in (209.9, 210.1, 234.9, 235.1)]
    assert [each.number for each in chosen] == [2, 1, 1, 1]
    assert ["no α lets this burst in" in each.valid_for for each in chosen] == [False, False, False, True]
    # Of 4 and 8 neither lets in what only the pool itself would hold, and both let in a byte.
    assert [rules.alpha_for(900, [8, 4], burst, 1).number for burst in (999, 1)] == [4, 8]


def test_after_a_pause_two_frames_the_pause_itself_cable_and_response_come_in() -> None:
    # 1,500 and 38 bytes twice, 84, the cable, and 64 for each quantum.
    assert rules.after_pause(0, 0, 1_500) == 3_160
    assert rules.after_pause(100, 2, 1_500) == 3_388
    # The response is that of the next rate of the standard, from 10 Gb/s on; 100 ns of cable both ways.
    quanta = {1e9: 67, 10e9: 67, 10.1e9: 80, 25e9: 80, 30e9: 118, 100e9: 394, 800e9: 905, 1e12: 905}
    for link, expected in quanta.items():
        found = rules.headroom(link, 1e-7, 1_500)
        assert found.number == pytest.approx(3_160 + 2 * link * 1e-7 / 8 + 64 * expected)
        assert f"response = {expected} quanta" in found.given


def test_a_timeout_is_ten_round_trips_and_never_below_five_milliseconds() -> None:
    assert rules.least_rto(100e-6, 0).number == 5e-3
    assert rules.least_rto(400e-6, 200e-6).number == pytest.approx(6e-3)
    assert rules.least_rto(400e-6, 200e-6, 0.04).number == pytest.approx(0.046)
    # A delayed acknowledgement is waited for beside the ten, not beside the five.
    assert rules.least_rto(100e-6, 0, 0.04).number == pytest.approx(0.041)
    assert rules.least_rto(100e-6, 0, 0.003).number == 5e-3


def test_flows_settle_on_a_ramp_where_they_are_marked_twice_a_window() -> None:
    # At 50,000 of 20,000 to 80,000 bytes four of ten packets are marked: two in a window of five. With as
    # much in flight as is queued 16 flows of 5 · 1,250 bytes are that.
    assert rules.ramp_backlog(LINK, 40e-6, 16, 20_000, 80_000, 0.8, 1_250) == pytest.approx(50_000, abs=1)
    # Where even at the end of the ramp too few are marked, and where there is no ramp, at its end.
    assert rules.ramp_backlog(LINK, 40e-6, 160, 20_000, 80_000, 0.8, 1_250) == 80_000
    assert rules.ramp_backlog(LINK, 40e-6, 16, 80_000, 80_000, 0.8, 1_250) == 80_000


def test_times_and_alphas_are_written_in_the_unit_that_fits() -> None:
    times = (1.0, 0.999, 1e-3, 0.999e-3, 1e-6, 0.5e-6)
    assert [rules.seconds(each) for each in times] == ["1 s", "999 ms", "1 ms", "999 µs", "1 µs", "500 ns"]
    assert [rules.alpha_text(each) for each in (1, 2, 0.5)] == ["1", "2", "1/2"]


def test_looks_share_what_may_be_missed_as_squares_do() -> None:
    shares = [racing.share_of_look(look) for look in (1, 2, 3)]
    assert shares == pytest.approx([6 / math.pi**2, 6 / math.pi**2 / 4, 6 / math.pi**2 / 9])


def test_a_rival_is_decided_on_beyond_what_counts_as_none() -> None:
    def decided(*changes: tuple[float, float]) -> bool | None:
        return racing.decide([(0.03, Interval((low + high) / 2, low, high)) for low, high in changes])

    better, same = (-0.2, -0.05), (-0.03, 0.03)
    # What ends at 3 % is none, on either side.
    assert (decided(same), decided(same, better)) == (False, True)
    assert decided((-0.1, -0.03)) is None
    # Worse by 3 % at least may be no worse, and then the next goal counts; by more it does not.
    assert (decided((0.03, 0.06), better), decided((0.031, 0.06), better)) == (None, False)
    assert (decided((0.03, 0.06)), decided((-0.031, 0.06))) == (False, None)


def race(*objectives: Objective) -> Race:
    """A race that has run nothing yet."""
    made = Race.__new__(Race)
    made.objectives = list(objectives)
    return made


def test_estimates_leave_room_to_be_better_by_three_percent_and_worse_by_less() -> None:
    asked = race(*(Objective(goal, 0.7) for goal in (THROUGHPUT, TAIL, LOSS)))
    assert [each.delta for each in asked.objectives] == [0.03, 0.03, 1e-4]
    theirs = [100.0, 500.0, 0.01]
    for mine, expected in (
        ([96.0, 500.0, 0.01], True),
        ([97.5, 500.0, 0.01], False),
        ([96.0, 510.0, 0.01], True),
        ([96.0, 520.0, 0.01], False),
        ([100.0, 500.0, 0.0098], True),
        ([100.0, 500.0, 0.00995], False),
        ([96.0, 500.0, 0.01005], True),
        ([96.0, 500.0, 0.0102], False),
        ([None, 400.0, 0.0], False),
    ):
        assert asked._may_beat(cast(Any, mine), theirs) is expected
    # Beside nothing a time is longer by itself.
    assert not asked._may_beat([1.0, 400.0, 0.0], [0.0, 500.0, 0.01])
    assert asked._may_beat([0.0, 400.0, 0.0], [0.0, 500.0, 0.01])


def test_a_change_is_told_in_percent_or_points_or_why_it_is_not() -> None:
    def said(goal: Any, change: Interval | None, **more: Any) -> str:
        return Beside(Objective(goal, 0.7), 1.0, None, Judgement(change=change, **more)).change_text

    change = Interval(0.05, -0.1, 0.2)
    assert said(TAIL, change) == "+5 % (−10 to +20)"
    assert said(LOSS, change) == "+5 points (−10 to +20)"
    assert said(TAIL, None, reason="no such flows in some runs") == "no such flows in some runs"
    for low, high in ((-math.inf, 0.2), (-0.1, math.inf)):
        assert said(TAIL, Interval(0.05, low, high), verdict="worse") == "worse, without limits"


def test_a_bound_is_kept_where_the_whole_interval_is_below_it() -> None:
    def state(bound: float | None, *losses: float) -> str:
        goal = SimpleNamespace(bound=bound)
        asked = cast(Any, SimpleNamespace(load=0.7, metric=LOSS.metric, goal=goal))
        samples = {seed: Sample({}, {"loss_rate_in_switches": loss}, ()) for seed, loss in enumerate(losses)}
        ran = cast(Any, SimpleNamespace(measured={0.7: {"a": samples}}))
        return recommendation._bound(ran, asked, "a")

    same = (0.25, 0.25, 0.25)
    keeps, misses, open_ = recommendation.KEEPS, recommendation.MISSES, recommendation.OPEN
    assert [state(bound, *same) for bound in (0.26, 0.25, 0.24, None)] == [keeps, open_, misses, open_]
    # 0.2, 0.25 and 0.3: 0.25 ± t(0.975, 2) · 0.05 / √3 = 0.124.
    apart = (0.2, 0.25, 0.3)
    assert [state(bound, *apart) for bound in (0.38, 0.37, 0.13, 0.12)] == [keeps, open_, open_, misses]
    assert state(0.26, *same[:2]) == open_
    states = ((keeps, misses), (open_, misses), (keeps, open_), (keeps, keeps), ())
    assert [recommendation._state(each) for each in states] == [2, 2, 1, 0, 0]


def asked(goal: Any, **numbers: list[float | None]) -> tuple[Any, list[Any]]:
    """A race of which the goals are asked in this order, and its candidates with their numbers."""
    goals = parse(goal, [])
    of = {
        name: dict(zip([each.metric.name for each in goals], found, strict=True))
        for name, found in numbers.items()
    }
    race = SimpleNamespace(
        fabric=SimpleNamespace(goals=goals, loads=[0.3, 0.7]),
        value=lambda objective, name: of[name][objective.metric.name],
        seeds=lambda _: 10,
        rounds=6,
    )
    return race, [SimpleNamespace(name=name) for name in numbers]


def test_goals_decide_in_their_order_among_those_within_three_percent_of_the_best() -> None:
    def best(goal: str, **numbers: list[float | None]) -> tuple[str, str]:
        chosen, decided_by = recommendation._best(*asked(goal, **numbers))
        assert decided_by.load == 0.7
        return chosen.name, decided_by.goal.said

    # 103 is within 3 % of 100, and 104 is not: the tail decides between the others.
    both = "throughput, then p99 of small flows"
    near: dict[str, list[float | None]] = {"a": [100.0, 500.0], "b": [103.0, 400.0], "c": [104.0, 1.0]}
    assert best(both, **near) == ("b", "p99 of small flows")
    assert best(both, a=[100.0, 500.0], b=[103.1, 400.0]) == ("a", "throughput")
    assert best(both, a=[None, 1.0], b=[100.0, 500.0]) == ("b", "throughput")
    # Of losses a hundredth of a percent is none.
    loss = "loss, then throughput"
    assert best(loss, a=[0.001, 500.0], b=[0.0011, 400.0], c=[0.00111, 1.0]) == ("b", "throughput")
    # What has a bound has done its work, unless all have one.
    assert best("p99 of small flows below 1 ms, then throughput", a=[9.0, 5.0], b=[8.0, 6.0])[0] == "a"
    assert best("p99 of small flows below 1 ms", a=[9.0], b=[8.0]) == ("b", "p99 of small flows")


def test_weighted_goals_are_weighed_by_their_ratios() -> None:
    def weighed(goal: dict[str, float], **numbers: list[float | None]) -> str:
        return str(recommendation._weigh(*asked(goal, **numbers)).name)

    # Twice as long a tail and half as long large flows: who weighs more decides.
    numbers: dict[str, list[float | None]] = {"a": [200.0, 100.0], "b": [100.0, 200.0]}
    assert weighed({"p99 of small flows": 1, "throughput": 2}, **numbers) == "a"
    assert weighed({"p99 of small flows": 2, "throughput": 1}, **numbers) == "b"
    # Losses below a hundredth of a percent are as good as none: 1.1 of times decides.
    lossy = {"loss": 9.0, "throughput": 1.0}
    assert weighed(lossy, a=[0.0, 110.0], b=[1e-4, 100.0]) == "b"
    assert weighed(lossy, a=[0.0, 110.0], b=[2e-4, 100.0]) == "a"
    # A bound that all miss is missed least where the ratio is.
    race, field = asked(
        "p99 of small flows below 1 ms, then loss below 1 %", a=[3_000.0, 0.02], b=[2_000.0, 0.025]
    )
    chosen, by = recommendation._least_missing(race, field, recommendation._goals(race))
    assert (chosen.name, by.goal.said) == ("b", "p99 of small flows")


def test_confidence_is_shared_by_pairs_goals_and_looks() -> None:
    race, (a, b, _) = asked("throughput, then loss", a=[1, 1], b=[1, 1], c=[1, 1])
    race.beats = lambda _goals, one, other, confidence: (one, other, confidence)
    # Of three there are three pairs, in two goals; the second look has 6 / (2π)², any before 6 / π².
    for rounds, look in ((6, 2), (5, 1), (3, 1)):
        race.rounds = rounds
        share = 6 / (math.pi * look) ** 2 / 3 / 2
        one, other, confidence = cast(Any, recommendation._beats(race, a, b, 3))
        assert (one, other) == ("a", "b")
        assert confidence == pytest.approx(1 - 0.05 * share)
    seen: list[float] = []

    def judge(_: Objective, one: str, other: str, confidence: float) -> Judgement:
        seen.append(confidence)
        return Judgement(verdict="worse" if (one, other) == ("a", "b") else "cannot tell")

    race.judge = judge
    objective = Objective(LOSS, 0.7)
    assert [recommendation._is_equal(race, objective, a, b, kept) for kept in (1, 2, 3)] == [False] * 3
    assert seen == pytest.approx([0.95, 0.95, 0.975])


def test_reasons_name_six_equals_and_who_is_left() -> None:
    def reasons(count: int, goal: str = "throughput") -> tuple[str, ...]:
        found = recommend(made_up(dict.fromkeys("abcdefghi"[:count], (500, 4000, 0.0)), 10, goal))
        assert found.candidate.name == "a"
        assert found.standing.candidate.name == "a"
        assert [found.of(name).candidate.name for name in "abc"] == [*"abc"]
        assert found.equals == tuple("bcdefghi"[: count - 1])
        # It is not judged beside itself.
        assert {each.judgement for each in found.standing.beside} == {Judgement(reason=SAME)}
        assert {each.judgement.groups for each in found.of("b").beside} == {
            "10 seeds",
            "20 blocks of 10 seeds",
        }
        return found.reasons

    chosen, equal, left = reasons(7)
    assert chosen.startswith("It was chosen by throughput at 70 % load: ")
    assert chosen.endswith(" ms (mean time of large flows).")
    assert "it cannot be told from 6 of the 6 others that are left: b, c, d, e, f, g. Where" in equal
    assert left.startswith("7 of 7 settings are left after 10 seeds: it was made up. ")
    assert "7 of the 7 others that are left: b, c, d, e, f, g and others. Where" in reasons(8)[1]
    bound = reasons(3, "loss below 1 %, then throughput")[0]
    assert bound == "loss below 1 %: 0 % (95 %: 0 % to 0 %); the goal is kept."


def test_of_settings_that_all_miss_a_bound_the_one_that_loses_nothing_misses_the_least() -> None:
    # Above 100 µs and 0.1 %: A by 1.5 and 0, B by 9 and 0.5. Nothing lost is no infinite loss.
    ran, field = asked(
        "p99 of small flows below 100 us, then loss below 0.1 %", A=[150.0, 0.0], B=[900.0, 0.0005]
    )
    bounded = recommendation._goals(ran)
    chosen, _ = recommendation._least_missing(ran, field, bounded)
    assert chosen.name == "A"
    # What was not measured is still beyond every bound.
    ran, field = asked("loss below 0.1 %", A=[None], B=[0.5])
    chosen, _ = recommendation._least_missing(ran, field, recommendation._goals(ran))
    assert chosen.name == "B"


def test_estimates_alone_decide_where_goals_are_weighed_or_all_miss_a_bound() -> None:
    def open_with(goal: Any) -> list[str]:
        # Noise of 10 % leaves open which of the two has the shorter large flows; tails are some 500 µs.
        race = noisy({"good": 4000, "near": 4040}, 10, 0.1)
        race.fabric = fabric(goal=goal)
        return sorted(contenders(race))

    assert open_with("throughput") == ["good", "near"]
    assert open_with("p99 of small flows below 1 ms, then throughput") == ["good", "near"]
    assert open_with({"throughput": 1, "loss": 2}) == []
    assert open_with("p99 of small flows below 200 us, then throughput") == []


class Counted(Race):
    """A race that measures nothing, and drops so many after the rounds that it is told."""

    def __init__(self, kept: int, drops: dict[int, int], **sample_of: Any) -> None:
        self.fabric = fabric(goal="throughput")
        self.candidates = [cast(Any, SimpleNamespace(name=name)) for name in "abcdef"[:kept]]
        self.kept = [each.name for each in self.candidates]
        self.rounds, self.ended, self.is_stable, self.measured, self.points = 0, "", False, {}, []
        self.objectives = racing.objectives(self.fabric)
        self.dropping, self.sample_of = drops, sample_of or {"fct_us.large": Series(np.ones(1))}
        self.seen: list[tuple[int, int, int]] = []
        self.left_s: list[float] = []

    def _run(self, names: Sequence[str], seeds: Sequence[int], progress: Any, *_: Any) -> None:
        self.seen.append((progress.round, progress.kept, progress.of))
        self.left_s.append(progress.left_s)
        for name in names:
            for seed in seeds:
                self.measured.setdefault(0.7, {}).setdefault(name, {})[seed] = Sample(self.sample_of, {}, ())

    def _look(self) -> None:
        for _ in range(self.dropping.get(self.rounds, 0)):
            self.kept.pop()

    def write(self) -> None:
        """Write nothing down."""


def test_a_race_ends_after_two_looks_without_a_drop_from_the_eighth_round_on() -> None:
    def ended(kept: int, drops: dict[int, int], most: int = 64, budget_s: float = 1e6) -> tuple[int, str]:
        race = Counted(kept, drops)
        race.run(budget_s, lambda *_: None, most)
        assert [each[0] for each in race.seen] == [*range(1, race.rounds + 1)]
        assert {each[2] for each in race.seen} == {kept}
        # Of the budget at first nearly all is left, and less and less; these rounds take no minute.
        assert race.left_s == sorted(race.left_s, reverse=True)
        assert budget_s - 60 < race.left_s[-1] <= race.left_s[0] <= budget_s
        assert race.is_stable is race.ended.startswith("2 rounds")
        return race.rounds, race.ended

    stable = "2 rounds in a row dropped nobody"
    assert ended(3, {}) == (8, stable)
    # Looks are from the fifth round on; after a drop it takes two more.
    assert ended(3, {6: 1}) == (8, stable)
    assert ended(3, {7: 1}) == (9, stable)
    assert ended(3, {4: 2}, most=5) == (5, "5 rounds are the most")
    assert ended(3, {5: 1, 8: 1}) == (8, "one candidate is left")
    assert ended(1, {}) == (1, "one candidate is left")
    assert ended(3, {}, budget_s=0.0) == (1, "the budget is spent")
    assert ended(3, {}, most=1) == (1, "1 rounds are the most")


def test_what_this_traffic_has_no_flows_of_is_looked_at_only_if_it_was_asked_for() -> None:
    race = Counted(2, {})
    race.run(0.0, lambda *_: None)
    # Of the three axes the tail of small flows; losses are of whole runs.
    assert [each.metric.name for each in race.objectives] == ["fct_us.large.mean", "loss_rate_in_switches"]
    with pytest.raises(ShallowsError, match="goal: 'throughput': no such flows are in this traffic"):
        Counted(2, {}, **{"fct_us.small": Series(np.ones(1))}).run(0.0, lambda *_: None)
