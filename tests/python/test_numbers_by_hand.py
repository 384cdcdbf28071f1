"""What single numbers decide, and where their edges are: each is worked out by hand."""

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import polars as pl
import pytest

import shallows as sh
from shallows.comparison import agreement
from shallows.errors import ShallowsError
from shallows.reproduction import beside, findings, like
from shallows.reproduction.expected import Claim, Experiment
from shallows.reproduction.findings import Finding
from shallows.reproduction.judging import Check, Measured, judge
from shallows.runs import breakdown, tables
from shallows.runs.steps import Series
from shallows.series import completions, flow_measures, flow_series, inputs
from shallows.sweeps.points import Shard


def invented(**found: Any) -> sh.Run:
    """A run that never was and has these tables."""
    return cast(sh.Run, SimpleNamespace(**{"path": Path("by-hand")} | found))


def ended(scale: float = 1.0, *, more: float = 0.0, count: int = 100, flows: int = 100) -> sh.Run:
    """A run whose times and rates are so many times what they would be, its shares larger by `more`."""
    times = {"count": count, "mean": 100.0 * scale, "p99": 400.0 * scale}
    return invented(
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


def verdicts_of(real: sh.Run) -> dict[str, str]:
    """Of three pairs that are alike, so that their interval is a point."""
    return {each.metric: each.verdict for each in agreement.agreements([ended()] * 3, [real] * 3)}


def test_real_tcp_agrees_up_to_the_bound_of_each_metric() -> None:
    # Bounds: goodput 3 %, means of times 15 %, 99th percentiles 25 %, marks 20 %, retransmissions 0.005 of
    # data, timeouts 0.05 a flow. With one bin of sizes besides all flows, that is not told apart.
    names = [
        "goodput_gbps",
        "marked",
        "fct_us.all.mean",
        "fct_us.all.p99",
        "retransmits",
        "timeouts_per_flow",
    ]
    limits = [0.03, 0.2, 0.15, 0.25]
    for place, limit in enumerate(limits):
        assert list(verdicts_of(ended(1 + limit - 0.01))) == names
        assert verdicts_of(ended(1 + limit - 0.01))[names[place]] == "agree"
        assert verdicts_of(ended(1 - limit + 0.01))[names[place]] == "agree"
        assert verdicts_of(ended(1 + limit + 0.01))[names[place]] == "differ"
        assert verdicts_of(ended(1 - limit - 0.01))[names[place]] == "differ"
    assert [verdicts_of(ended(more=0.004))[name] for name in names[4:]] == ["agree", "agree"]
    assert [verdicts_of(ended(more=0.006))[name] for name in names[4:]] == ["differ", "agree"]
    assert [verdicts_of(ended(more=0.06))[name] for name in names[4:]] == ["differ", "differ"]
    assert [verdicts_of(ended(more=0.04))[name] for name in names[4:]] == ["differ", "agree"]


def test_what_is_exactly_at_a_bound_agrees() -> None:
    # Five timeouts more in a hundred flows are the bound of 0.05; four times that, over four, is the same.
    for simulated, real in ((ended(), ended(more=0.05)), (ended(more=0.05), ended())):
        found = agreement.agreements([simulated] * 4, [real] * 4)
        (timeouts,) = [each for each in found if each.metric == "timeouts_per_flow"]
        assert abs(timeouts.difference or 0.0) == timeouts.bound == 0.05
        assert timeouts.verdict == "agree"


def test_shares_are_of_all_data_also_where_there_is_one_packet_or_none() -> None:
    def simulated(data: int, flows: int) -> tuple[float | None, ...]:
        run = ended(flows=flows)
        run.summary |= {"packets": {"data": data, "marked": 1}, "retransmits": 2, "timeouts": 3}
        found = {each.metric: each.simulated for each in agreement.agreements([run], [run])}
        return tuple(found[name] for name in ("marked", "retransmits", "timeouts_per_flow"))

    assert [simulated(4, 6), simulated(1, 1)] == [(0.25, 0.5, 0.5), (1, 2, 3)]
    # Of nothing, as if of one.
    assert simulated(0, 0) == (1, 2, 3)


def test_what_too_few_pairs_or_flows_say_is_not_told() -> None:
    two = agreement.agreements([ended()] * 2, [ended(1.5)] * 2)
    assert {(each.verdict, each.low, each.reason) for each in two if each.metric != "fct_us.all.p99"} == {
        ("cannot tell", None, "pairs: 2; 3 are needed")
    }
    found = {each.metric: each for each in agreement.agreements([ended()] * 3, [ended(count=99)] * 3)}
    tail = found["fct_us.all.p99"]
    # Its interval is shown all the same.
    assert (tail.verdict, tail.reason) == ("cannot tell", "99 flows: 100 are needed")
    assert (tail.difference, tail.low, tail.high) == (0.0, 0.0, 0.0)
    assert found["fct_us.all.mean"].verdict == "agree"
    assert "fct_us.all.mean" in verdicts_of(ended(count=1))
    assert not [name for name in verdicts_of(ended(count=0)) if name.startswith("fct_us")]


def test_the_queue_is_compared_after_the_warm_up_at_the_port_that_was_fullest() -> None:
    def run(factor: float, warm_up: str = "5us") -> sh.Run:
        rows = {"time_us": [0.0, 4.0, 6.0, 4.0], "bytes": [0.0, 9_000.0 * factor, 1_000.0 * factor, 10.0]}
        names = ["s->a", "s->a", "s->a", "s->b"]
        made = ended()
        made.queues = pl.DataFrame(rows | {"kind": ["port"] * 4, "name": names})
        made.counters = pl.DataFrame({"port": ["s->a", "s->b"], "kind": ["to-host"] * 2})
        made.summary["simulated_s"] = 1e-5
        made.scenario = {
            "measure": {"warm_up": warm_up, "traces": []},
            "switch": {"buffer": {"kind": "static-partition"}},
        }
        return made

    # From 5 µs on 9,000 for one and 1,000 for four: a mean of 2,600. From the begin 9,000 for two of ten.
    assert agreement.queue(run(1), "s->a").mean() == 2_600
    assert agreement.queue(run(1, "0ps"), "s->a").mean() == 2_200
    found = {each.metric: each for each in agreement.agreements([run(1)] * 3, [run(1.2)] * 3)}
    mean, tail = found["queue.mean"], found["queue.p99"]
    # A fifth more is beyond 15 % and within 25 %.
    assert (mean.title, mean.simulated, mean.verdict) == ("s->a mean bytes", 2_600, "differ")
    assert (tail.title, tail.simulated, tail.verdict) == ("s->a p99 bytes", 9_000, "agree")
    assert "queue.mean" not in {each.metric for each in agreement.agreements([run(1), ended()], [run(1)] * 2)}


def test_an_interval_that_crosses_a_bound_asks_for_more_pairs_and_one_without_a_limit_is_not_shown() -> None:
    # Goodputs of 0, 5 and 10 % more: a mean of 5 %, and more than 10 % to either side.
    found = agreement.agreements([ended()] * 3, [ended(scale) for scale in (1.0, 1.05, 1.1)])
    goodput = found[0]
    assert (goodput.metric, goodput.verdict) == ("goodput_gbps", "cannot tell")
    assert goodput.reason == "the interval crosses the bound: more pairs"
    assert goodput.low is not None
    assert goodput.high is not None
    assert goodput.low < 0 < 0.1 < goodput.high
    open_ended = [replace(goodput, low=None), replace(goodput, high=None)]
    assert [row[5] for row in agreement.table(open_ended, 3).rows] == [tables.NOTHING] * 2


def test_what_never_happened_agrees_with_itself_only() -> None:
    def marked(packets: int) -> sh.Run:
        run = ended()
        run.summary["packets"]["marked"] = packets
        return run

    def judged(simulated: int, real: int) -> tuple[str, float | None]:
        found = agreement.agreements([marked(simulated)] * 3, [marked(real)] * 3)
        return next((each.verdict, each.difference) for each in found if each.metric == "marked")

    assert (judged(0, 0), judged(0, 5), judged(5, 0)) == (("agree", 0.0), ("differ", None), ("differ", None))


def test_the_table_of_agreement_numbers_its_reasons_and_counts_pairs() -> None:
    found = agreement.agreements([ended()] * 3, [ended(1.01, more=0.006, count=99)] * 3)
    shown = agreement.table(found, 3)
    rows = {row[0]: row[1:] for row in shown.rows}
    assert shown.title.endswith("3 pairs of runs")
    assert agreement.table(found, 1).title.endswith("1 pair of runs")
    assert shown.note == "[1] 99 flows: 100 are needed"
    assert rows["FCT all p99 µs"][0] == "cannot tell [1]"
    assert rows["goodput Gb/s"][0] == "agree"
    # Less one, in percent; of shares in points; of counts as they are.
    assert [rows[name][3].split()[0] for name in ("goodput Gb/s", "retransmissions")] == ["+1", "+0.6"]
    assert rows["goodput Gb/s"][4:] == ["+1 % to +1 %", "3 %"]
    assert rows["retransmissions"][5] == "0.5 points"
    few = agreement.table(agreement.agreements([ended()] * 2, [ended()] * 2), 2)
    assert {row[5] for row in few.rows} == {tables.NOTHING}
    assert agreement.markdown(shown).splitlines()[1] == "|" + " --- |" * 7


def test_runs_whose_machine_complained_are_counted_and_named() -> None:
    def measured(name: str, *complaints: str) -> sh.Run:
        return invented(path=name, summary={"health": {"complaints": list(complaints)}})

    runs = [measured("a"), measured("b", "late", "later"), measured("c", "slow")]
    assert agreement.unbelievable(runs) == ["b: late", "c: slow"]
    with pytest.raises(ShallowsError, match="2 of 3 measured runs are not to be believed: b: late"):
        agreement.refuse_unbelievable(runs)
    agreement.refuse_unbelievable(runs[:1])


def test_what_a_flow_acknowledged_last_has_no_row_and_comes_only_if_it_ended() -> None:
    flows = {
        "flow": [0, 1],
        "size_bytes": [900, 900],
        "arrival_us": [5.0, 6.0],
        "fct_sender_us": [20.0, None],
    }
    run = invented(flows=pl.DataFrame(flows, strict=False), summary={"simulated_s": 1e-4})
    rows = {"time_us": [10.0, 10.0], "flow": [0, 1], "value": [300.0, 400.0]}
    trace = pl.DataFrame(rows)
    assert flow_series.acked_bytes(run, 0, trace).rows() == [(10.0, 300.0), (25.0, 900.0)]
    assert flow_series.acked_bytes(run, 1, trace).rows() == [(10.0, 400.0)]
    assert flow_series.end_us(run) == pytest.approx(100.0)


def test_what_was_acknowledged_in_the_last_time_excludes_what_was_before_by_a_nanosecond() -> None:
    # Of 10 ms the last begins at 9,000 µs, and a row up to a nanosecond later counts for before.
    def packets(first_us: float) -> float:
        rows = {"time_us": [first_us, 9_500.0], "flow": [0, 0], "value": [1_460.0, 4_380.0]}
        run = invented(
            flow_traces=pl.DataFrame(rows).with_columns(quantity=pl.lit("acked_bytes")),
            summary={"simulated_s": 0.01},
            scenario={"tcp": {"timestamps": False}, "topology": {"mtu": 1500, "framing": 0}},
        )
        return float(flow_measures.acked_packets(run, "1ms").item())

    assert (packets(9_000.0005), packets(9_000.005)) == (2.0, 3.0)


def test_sizes_begin_at_nothing_and_the_last_has_no_end() -> None:
    def run(*bins: str) -> sh.Run:
        times: dict[str, Any] = {"all": {}, "small": {}, "medium": {}, "large": {}}
        return invented(summary={"fct_us": times}, scenario={"measure": {"bins": list(bins)}})

    found = {"small": (0, 100_000), "medium": (100_000, 10_000_000), "large": (10_000_000, None)}
    assert completions.size_bins([run("100KB", "10MB")] * 2) == found
    with pytest.raises(ShallowsError, match="different size bins"):
        completions.size_bins([run("100KB", "10MB"), run("1KB", "10MB")])


def test_percentiles_of_a_breakdown_are_the_smallest_values_that_so_many_do_not_exceed() -> None:
    def of(count: int) -> dict[str, Any]:
        times = [float(number) for number in range(count, 0, -1)]
        flows = {"class": [0] * count, "fct_us": times, "slowdown": [2 * each for each in times]}
        flows |= {name: [1] * count for name in ("counted", "timeouts", "retransmits")}
        flows["delivered_bytes"] = [1_000] * count
        run = invented(flows=pl.DataFrame(flows), summary={"simulated_s": 1e-6})
        (row,) = breakdown.by(cast(Any, run), "class").iter_rows(named=True)
        return row

    # Of three the second; of four the second as well; of 100 the 99th, of 101 the 100th.
    assert [of(count)["fct_p50_us"] for count in (1, 2, 3, 4)] == [1.0, 1.0, 2.0, 2.0]
    assert [of(count)["fct_p99_us"] for count in (1, 100, 101)] == [1.0, 99.0, 100.0]
    assert of(101)["slowdown_p99"] == 200.0
    # 3 · 1,000 bytes in a microsecond.
    assert (of(3)["fct_mean_us"], of(3)["goodput_gbps"], of(3)["timeouts"]) == (2.0, 24.0, 3)


def test_a_table_of_queries_has_a_row_for_each_workload() -> None:
    described = {"count": 1_200, "mean": 5.0, "p50": 4.0, "p95": 6.0, "p99": 7.0, "p999": 8.0}
    described |= {"with_timeout": 0.25, "quality": 0.5, "goodput_gbps": 3.0}
    shown = tables.queries({"queries": {"workload0": described, "workload2": described}})
    assert shown is not None
    assert [row[:3] for row in shown.rows] == [["workload 0", "1,200", "5"], ["workload 2", "1,200", "5"]]
    assert shown.rows[0][7:9] == ["25 %", "50 %"]
    assert (tables.queries({}), tables.queries({"queries": {}})) == (None, None)


def test_only_what_occurs_more_than_once_is_broken_down_unasked() -> None:
    def run(classes: list[int]) -> sh.Run:
        count = len(classes)
        flows = {
            "workload": [0] * count,
            "class": classes,
            "fct_us": [1.0] * count,
            "slowdown": [1.0] * count,
        }
        flows |= {name: [1] * count for name in ("counted", "timeouts", "retransmits", "delivered_bytes")}
        workload = {"workload": [{"kind": "incast"}]}
        made = SimpleNamespace(flows=pl.DataFrame(flows), summary={"simulated_s": 1e-6}, scenario=workload)
        made.by = lambda what: breakdown.by(cast(Any, made), what)
        return cast(sh.Run, made)

    assert tables.breakdowns(run([0, 0])) == []
    (only,) = tables.breakdowns(run([0, 1]))
    assert len(only.rows) == 2


def test_a_run_made_alone_is_told_by_what_was_changed() -> None:
    alone = invented(labels={}, environment={"overrides": ['scheme="a"', "load=0.5", "name=x y"]})
    assert inputs.labels(alone) == {"scheme": "a", "load": 0.5, "name": "x y"}
    assert inputs.labels(invented(labels={"load": 0.9}, environment={})) == {"load": 0.9}


def claim(**keys: Any) -> Claim:
    """What a paper could claim."""
    return Claim(**{"id": "c", "experiment": "x", "kind": "value", "metric": "m", "source": "§1"} | keys)


def test_numbers_are_shown_as_their_claims_write_them() -> None:
    def shown(value: float, **keys: Any) -> str:
        return findings.number(claim(**keys), Check(None, "", value, value, value, "holds"))

    assert shown(90_000.0, expected="100KB") == "90 KB"
    assert (shown(12.0, expected=1.0), shown(12.0, kind="ordering")) == ("12", "+12")
    assert shown(12.0, expected=1.0, change="difference") == "+12"
    assert (shown(math.inf, kind="crossing"), shown(math.inf, expected=1.0)) == ("never", "∞")


def test_what_a_document_is_made_from_names_the_experiments_of_its_claims_only() -> None:
    told = {name: SimpleNamespace(fingerprint=name * 3) for name in ("a", "b")}
    paper = cast(Any, SimpleNamespace(title="P", experiments=told))
    assert findings.made_from(paper, {"b"}) == "Made from: b bbb\n"
    checks = [Check(None, "1", 1.0, 1.0, 1.0, "holds")]
    found = [
        Finding(claim(), checks),
        Finding(claim(), [Check(None, "1", 2.0, 2.0, 2.0, "does not hold")]),
        Finding(claim(), checks),
    ]
    assert findings.document_of(paper, found, quick=False)["holding"] == 2


def test_an_average_asks_a_reduced_run_only_where_it_was() -> None:
    runs = [
        Measured({"load": load, "seed": seed}, lambda _, value=value: value)  # type: ignore[misc]
        for load, values in {0.2: [1.0, 2.0, 3.0], 0.4: [3.0, 4.0, 5.0]}.items()
        for seed, value in enumerate(values)
    ]
    experiment = cast(Experiment, SimpleNamespace(axis="load", name="x"))
    asked = claim(kind="average", over=[0.2, 0.4, 0.9], expected=3.0, absolute=2.0)
    (check,) = judge(asked, experiment, runs, quick=True)
    assert check.ours == 3.0
    with pytest.raises(ShallowsError):
        judge(asked, experiment, runs, quick=False)


def test_an_ordering_holds_if_the_higher_is_higher_by_more_than_chance() -> None:
    def verdict(*higher: float) -> str:
        runs = [
            Measured({"scheme": scheme, "seed": seed}, lambda _, value=value: value)  # type: ignore[misc]
            for scheme, values in {"a": (5.0,) * 3, "b": higher}.items()
            for seed, value in enumerate(values)
        ]
        asked = claim(kind="ordering", lower={"scheme": "a"}, higher={"scheme": "b"})
        (check,) = judge(asked, cast(Experiment, SimpleNamespace(axis=None, name="x")), runs, quick=False)
        return check.verdict

    # By 2, by -2 and by nothing, without chance; and by half of ±1/16, which reaches below zero and not to 1.
    assert [verdict(by, by, by) for by in (7.0, 3.0, 5.0)] == ["holds", "does not hold", "does not hold"]
    assert verdict(5.0625, 4.9375, 5.0) == "cannot tell"
    assert verdict(5.5, 5.4375, 5.5625) == "holds"


def test_a_number_may_be_off_by_a_billionth_and_says_how_it_is_meant() -> None:
    experiment = cast(Experiment, SimpleNamespace(axis=None, name="x"))

    def check(asked: Claim, **values: float) -> Check:
        runs = [
            Measured({"scheme": scheme, "seed": 1}, lambda _, value=value: value)  # type: ignore[misc]
            for scheme, value in values.items()
        ]
        return judge(asked, experiment, runs, quick=False)[0]

    million = claim(expected=1e6, where={"scheme": "a"})
    assert check(million, a=1e6 + 5e-4).verdict == "holds"
    assert check(million, a=1e6 + 2e-3).verdict == "does not hold"
    sides = {"where": {"scheme": "a"}, "versus": {"scheme": "b"}}
    half = check(claim(expected=0.5, change="relative", **sides), a=3.0, b=2.0)
    assert (half.paper, half.ours, half.verdict) == ("+50 %", 0.5, "holds")
    one = check(claim(expected=1.0, change="difference", **sides), a=3.0, b=2.0)
    assert (one.paper, one.ours, one.verdict) == ("+1", 1.0, "holds")
    assert check(million, a=1e6).paper == "1,000,000"


def test_what_is_normalised_is_over_the_run_of_its_seed() -> None:
    runs = [
        Measured({"scheme": scheme, "seed": seed}, lambda _, value=value: value)  # type: ignore[misc]
        for scheme, values in {"a": (2.0, 0.0), "b": (6.0, 9.0)}.items()
        for seed, value in enumerate(values)
    ]
    experiment = cast(Experiment, SimpleNamespace(axis=None, name="x", normalised={"scheme": "a"}))
    found = [run.value("m") for run in beside._normalised(runs, experiment)]
    assert found[:3:2] == [1.0, 3.0]
    assert [math.isnan(each) for each in found] == [False, True, False, True]


def test_lines_beside_a_paper_are_told_by_all_but_axis_and_seed() -> None:
    run = Measured({"scheme": "a", "load": 0.5, "seed": 1}, lambda _: 1.0)
    assert beside._line(run, "load") == "a"
    assert beside._line(Measured({"load": 0.5, "seed": 1}, lambda _: 1.0), "load") == "ours"


def test_an_experiment_like_another_has_its_values_and_claims_but_for_its_own() -> None:
    told: dict[str, Any] = {
        "a": {"base": "x.toml", "set": {"p": 1, "q": 2}, "axis": "load"},
        "b": {"like": "a", "set": {"q": 3}, "causes": {"a-one": "why"}},
        "c": {"like": "b"},
        "d": {"causes": {}},
    }
    assert like.completed("a", told) is told["a"]
    assert like.completed("b", told) == {"base": "x.toml", "set": {"p": 1, "q": 3}, "axis": "load"}
    with pytest.raises(ValueError, match=r"expected one of a, d$"):
        like.completed("c", told)
    with pytest.raises(ValueError, match="causes goes with like"):
        like.completed("d", told)
    listed = [
        {"id": "a-one", "experiment": "a", "cause": "theirs"},
        {"id": "two", "experiment": "a", "cause": "theirs"},
        {"id": "other", "experiment": "z"},
    ]
    assert like.claims("b", told["b"], listed) == [
        {"id": "b-one", "experiment": "b", "cause": "why"},
        {"id": "b-two", "experiment": "b"},
    ]
    with pytest.raises(ValueError, match="no claim"):
        like.claims("b", {"like": "a", "causes": {"nine": "why"}}, listed)


def test_a_step_that_is_known_from_before_begins_with_the_run() -> None:
    def read(*times: float, end: float = 10.0, before: float | None = None) -> list[list[float]]:
        frame = pl.DataFrame(
            {"time_us": list(times), "value": [1.0] * len(times)}, schema=["time_us", "value"]
        )
        made = Series.read(frame.cast(pl.Float64), "value", end, before)
        return [made.times.tolist(), made.values.tolist()]

    assert read(4.0) == [[4.0, 10.0], [1.0, 1.0]]
    assert read(4.0, before=7.0) == [[0.0, 4.0, 10.0], [7.0, 1.0, 1.0]]
    assert read(0.0, before=7.0) == [[0.0, 10.0], [1.0, 1.0]]
    assert read(before=7.0) == [[0.0, 10.0], [7.0, 7.0]]
    assert read(4.0, 10.0) == [[4.0, 10.0], [1.0, 1.0]]
    assert read(12.0) == [[12.0, 12.0], [1.0, 1.0]]


def test_the_deviation_over_time_is_that_of_values_weighed_by_how_long_they_were() -> None:
    # 2 for 3 µs and 6 for 1: the mean is 3, the squares 12 + 36 over 4 are 12, less 9 is 3.
    series = Series(np.array([0.0, 3.0, 4.0]), np.array([2.0, 6.0, 6.0]))
    assert series.std() == pytest.approx(math.sqrt(3))


def test_a_shard_is_every_nth_point_from_its_own_on() -> None:
    assert Shard.parse("2/3") == Shard(2, 3)
    points: Any = [*"abcdefg"]
    assert [*map(str, Shard(2, 3).of(points))] == ["b", "e"]
    for text in ("0/3", "4/3", "2/", "x/3", "2"):
        with pytest.raises(ShallowsError, match="is not a shard"):
            Shard.parse(text)
