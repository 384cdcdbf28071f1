"""Tests of the agreement of real TCP with its simulation: bounds, intervals and tables."""

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

import shallows as sh
from fake_runs import change_summary, fake_run
from shallows.comparison import agreement
from shallows.comparison.agreement import Agreement
from shallows.errors import ShallowsError
from shallows.runs.table import NOTHING, Table

NAMES = [
    "goodput_gbps",
    "marked",
    "fct_us.all.mean",
    "fct_us.all.p99",
    "retransmits",
    "timeouts_per_flow",
]
"""Names of all metrics if the scenario has a single size bin, which has no metrics of its own."""


def run_with(scale: float = 1.0, *, more: float = 0.0, count: int = 1_000, flows: int = 100) -> sh.Run:
    """Return a run with times, rates and marks times `scale`; `more` is added to the retransmitted share.

    There are 100,000 data packets, of which 10,000 are marked, and 1,000 are retransmitted; Of `flows`
    flows, `count` are complete.
    """
    times = {"count": count, "mean": 100.0 * scale, "p99": 400.0 * scale}
    return fake_run(
        queues=None,
        traces=None,
        flows=pl.DataFrame({"flow": range(flows)}),
        summary={
            "goodput_gbps": 5.0 * scale,
            "packets": {"data": 100_000, "marked": round(10_000 * scale)},
            "retransmits": 1_000 + round(100_000 * more),
            "timeouts": round(100 * more),
            "fct_us": {"all": times, "small": times},
        },
    )


def agreements(simulated: sh.Run, real: sh.Run, pairs: int = 3) -> dict[str, Agreement]:
    """Judge several equal pairs, so that both limits of each interval are equal to the estimate."""
    return {each.metric: each for each in agreement.agreements([simulated] * pairs, [real] * pairs)}


def test_goodput_marks_times_retransmissions_and_timeouts_are_compared() -> None:
    assert list(agreements(run_with(), run_with())) == NAMES


BOUNDS = {"goodput_gbps": 0.03, "marked": 0.2, "fct_us.all.mean": 0.15, "fct_us.all.p99": 0.25}


@pytest.mark.parametrize(("metric", "bound"), BOUNDS.items())
@pytest.mark.parametrize("sign", [1, -1])
def test_rates_times_and_marks_agree_up_to_a_relative_bound(metric: str, bound: float, sign: int) -> None:
    within, beyond = (run_with(1 + sign * (bound + more)) for more in (-0.01, 0.01))
    assert agreements(run_with(), within)[metric].verdict == "agree"
    assert agreements(run_with(), beyond)[metric].verdict == "differ"


@pytest.mark.parametrize(
    ("more", "retransmits", "timeouts"),
    [
        (0.004, "agree", "agree"),
        (0.006, "differ", "agree"),
        (0.04, "differ", "agree"),
        (0.06, "differ", "differ"),
    ],
)
def test_retransmissions_agree_within_0_005_of_data_and_timeouts_within_0_05_a_flow(
    more: float, retransmits: str, timeouts: str
) -> None:
    found = agreements(run_with(), run_with(more=more))
    assert (found["retransmits"].verdict, found["timeouts_per_flow"].verdict) == (retransmits, timeouts)


@pytest.mark.parametrize(
    ("simulated", "real"), [(run_with(), run_with(more=0.05)), (run_with(more=0.05), run_with())]
)
def test_a_difference_exactly_at_its_bound_agrees(simulated: sh.Run, real: sh.Run) -> None:
    # Five timeouts more in a hundred flows are the bound of 0.05. A sum of four is divided without an error.
    timeouts = agreements(simulated, real, pairs=4)["timeouts_per_flow"]
    assert abs(timeouts.difference or 0.0) == timeouts.bound == 0.05
    assert timeouts.verdict == "agree"


@pytest.mark.parametrize(
    ("data", "flows", "shares"),
    [
        # One marked, two retransmitted, and three timeouts.
        (4, 6, (0.25, 0.5, 0.5)),
        (1, 1, (1, 2, 3)),
        # Without data packets and flows, counts are divided by one.
        (0, 0, (1, 2, 3)),
    ],
)
def test_shares_are_of_all_data_and_flows(data: int, flows: int, shares: tuple[float, ...]) -> None:
    run = run_with(flows=flows)
    change_summary(run, packets={"data": data, "marked": 1}, retransmits=2, timeouts=3)
    found = agreements(run, run, pairs=1)
    names = ("marked", "retransmits", "timeouts_per_flow")
    assert tuple(found[name].simulated for name in names) == shares


def test_two_pairs_give_no_verdict() -> None:
    found = agreements(run_with(), run_with(1.5), pairs=2)
    found.pop("fct_us.all.p99")
    assert {(each.verdict, each.low, each.reason) for each in found.values()} == {
        ("cannot tell", None, "pairs: 2; at least 3 are needed")
    }


def test_the_tail_of_fewer_than_2000_flows_has_no_verdict() -> None:
    tail = agreements(run_with(), run_with(count=666))["fct_us.all.p99"]
    assert (tail.verdict, tail.reason) == ("cannot tell", "1,998 flows: 2,000 are needed")
    assert (tail.simulated, tail.difference, tail.low) == (None, None, None)


def test_a_mean_needs_one_flow_only() -> None:
    assert agreements(run_with(), run_with(count=666))["fct_us.all.mean"].verdict == "agree"
    assert "fct_us.all.mean" in agreements(run_with(), run_with(count=1))


def test_times_are_left_out_where_no_flow_is_complete() -> None:
    found = agreements(run_with(), run_with(count=0))
    assert not [name for name in found if name.startswith("fct_us")]


def with_queues(factor: float, warm_up: str = "5us") -> sh.Run:
    """Return a run of 10 µs with two ports; the backlog of the fuller one is multiplied by `factor`."""
    rows = {"time_us": [0.0, 4.0, 6.0, 4.0], "bytes": [0.0, 9_000.0 * factor, 1_000.0 * factor, 10.0]}
    names = ["s->a", "s->a", "s->a", "s->b"]
    made = run_with()
    made.queues = pl.DataFrame(rows | {"kind": ["port"] * 4, "name": names})
    made.counters = pl.DataFrame({"port": ["s->a", "s->b"], "kind": ["to-host"] * 2})
    change_summary(made, simulated_s=1e-5)
    made.scenario = {
        "measure": {"warm_up": warm_up, "traces": []},
        "switch": {"buffer": {"kind": "static-partition"}},
    }
    return made


@pytest.mark.parametrize(
    ("warm_up", "mean"),
    [
        # From 5 µs on 9,000 bytes for one µs, and 1,000 for four.
        ("5us", 2_600),
        # From the beginning on 9,000 bytes for two of ten µs, and 1,000 for four.
        ("0ps", 2_200),
    ],
)
def test_the_backlog_of_a_port_is_that_after_the_warm_up(warm_up: str, mean: float) -> None:
    assert agreement.queue(with_queues(1, warm_up), "s->a").mean() == mean


def test_the_queue_of_the_fullest_port_agrees_within_15_percent_in_the_mean_and_25_in_the_tail() -> None:
    # A fifth more is beyond 15 % and within 25 %.
    found = agreements(with_queues(1), with_queues(1.2))
    mean, tail = found["queue.mean"], found["queue.p99"]
    assert (mean.title, mean.simulated, mean.verdict) == ("s->a mean bytes", 2_600, "differ")
    assert (tail.title, tail.simulated, tail.verdict) == ("s->a p99 bytes", 9_000, "agree")


def test_queues_are_compared_only_where_all_runs_have_sampled_them() -> None:
    found = agreement.agreements([with_queues(1), run_with()], [with_queues(1)] * 2)
    assert "queue.mean" not in {each.metric for each in found}


def crossing_goodput() -> Agreement:
    """Return the verdict for goodputs 0, 5 and 10 % higher: the interval extends beyond 10 %."""
    real = [run_with(scale) for scale in (1.0, 1.05, 1.1)]
    found = agreement.agreements([run_with()] * 3, real)[0]
    assert found.metric == "goodput_gbps"
    return found


def test_an_interval_that_crosses_a_bound_calls_for_more_pairs() -> None:
    goodput = crossing_goodput()
    assert goodput.verdict == "cannot tell"
    assert goodput.reason == "the interval crosses the bound; more pairs are needed"
    assert goodput.low is not None
    assert goodput.high is not None
    assert goodput.low < 0 < 0.1 < goodput.high


@pytest.mark.parametrize("missing", ["low", "high"])
def test_an_interval_without_a_limit_is_not_shown(missing: str) -> None:
    changes: dict[str, Any] = {missing: None}
    (row,) = agreement.table([replace(crossing_goodput(), **changes)], 3).rows
    assert row[5] == NOTHING


@pytest.mark.parametrize(
    ("simulated", "real", "expected"),
    [(0, 0, ("agree", 0.0)), (0, 5, ("differ", None)), (5, 0, ("differ", None))],
)
def test_no_marks_agree_with_no_marks_only(
    simulated: int, real: int, expected: tuple[str, float | None]
) -> None:
    def marked(packets: int) -> sh.Run:
        run = run_with()
        change_summary(run, packets=run.summary["packets"] | {"marked": packets})
        return run

    found = agreements(marked(simulated), marked(real))["marked"]
    assert (found.verdict, found.difference) == expected


def agreement_table() -> Table:
    """Return the table for real runs with 1 % higher times and rates, and too few flows for a p99."""
    found = agreements(run_with(), run_with(1.01, more=0.006, count=666))
    return agreement.table([*found.values()], 3)


@pytest.mark.parametrize(("count", "title"), [(1, "1 pair of runs"), (3, "3 pairs of runs")])
def test_the_table_of_agreement_counts_pairs(count: int, title: str) -> None:
    assert agreement.table([], count).title.endswith(title)


def test_the_table_of_agreement_has_reasons_as_footnotes() -> None:
    shown = agreement_table()
    verdicts = {row[0]: row[1] for row in shown.rows}
    assert shown.note == "[1] 1,998 flows: 2,000 are needed"
    assert verdicts["FCT all p99 µs"] == "cannot tell [1]"
    assert verdicts["goodput Gb/s"] == "agree"


def test_the_table_of_agreement_has_differences_in_percent_and_of_shares_in_points() -> None:
    rows = {row[0]: row for row in agreement_table().rows}
    assert rows["goodput Gb/s"][4].split()[0] == "+1"
    assert rows["goodput Gb/s"][5:] == ["+1 % to +1 %", "3 %"]
    assert rows["retransmissions"][4].split()[0] == "+0.6"
    assert rows["retransmissions"][6] == "0.5 points"


def test_the_table_of_agreement_of_two_pairs_has_no_intervals() -> None:
    found = agreements(run_with(), run_with(), pairs=2)
    assert {row[5] for row in agreement.table([*found.values()], 2).rows} == {NOTHING}


def test_the_table_of_agreement_is_a_table_of_seven_columns_in_markdown() -> None:
    assert agreement.markdown(agreement_table()).splitlines()[1] == "|" + " --- |" * 7


def measured_run(name: str, *complaints: str) -> sh.Run:
    """Return a testbed run with these complaints about the machine."""
    return fake_run(path=name, summary={"health": {"complaints": list(complaints)}})


COMPLAINED = [measured_run("a"), measured_run("b", "late", "later"), measured_run("c", "slow")]


def test_runs_whose_machine_complained_are_named_with_the_first_complaint() -> None:
    assert agreement.invalid(COMPLAINED) == ["b: late", "c: slow"]


def test_runs_whose_machine_complained_are_refused() -> None:
    with pytest.raises(ShallowsError, match="2 of 3 measured runs are invalid: b: late"):
        agreement.reject_invalid(COMPLAINED)


def test_runs_whose_machine_kept_up_are_accepted() -> None:
    agreement.reject_invalid(COMPLAINED[:1])
