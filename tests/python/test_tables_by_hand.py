"""What tables show and when, and values over time at their edges: each is worked out by hand."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import polars as pl
import pytest

import shallows as sh
from shallows.errors import ShallowsError
from shallows.runs import breakdown, pools, tables
from shallows.runs.steps import Series


def curve(low: float, high: float, **more: Any) -> dict[str, Any]:
    """A marking curve that begins and ends at so many bytes, packets of 1,000 bytes each."""
    level = [
        {"bytes": each, "packets": each / 1e3, "us": each / 1e4, "bdp": each / 1e5} for each in (low, high)
    ]
    known: dict[str, Any] = {"rate_bps": 1e10, "kind": "red", "scope": "queue", "at": "enqueue", "pmax": 1.0}
    known |= {"kmin": level[0], "kmax": level[1], "limits": [], "ports": 3, "port": "up", "base_rtt_us": 8.25}
    return known | more


def test_marking_curves_have_a_column_for_each_and_say_ranges_once() -> None:
    limits = [
        {"busy_ports": busy, "limit_bytes": size, "can_fire": True}
        for busy, size in ((8, 50_000), (1, 90_000))
    ]
    shown = tables.marking_curves(
        [curve(30_000, 90_000, pmax=0.1, limits=limits), curve(2_000_000, 2_000_000), curve(900, 2_000)]
    )
    assert shown.columns == ["", *["3 × up"] * 3]
    rows = {row[0]: row[1:] for row in shown.rows}
    # What has one prefix says it once.
    assert rows["marks above"] == ["30–90 KB", "2 MB", "900 B–2 KB"]
    assert rows["  in packets"] == ["30–90", "2,000", "0.9–2"]
    assert rows["  probability up to"] == ["10 %", "100 %", "100 %"]
    # Limits from few busy ports to many; of markers that know none, nothing.
    assert [row[0] for row in shown.rows[-3:]] == ["limit, 1 busy", "limit, 8 busy", "can mark"]
    assert (rows["limit, 1 busy"], rows["limit, 8 busy"][0]) == (["90 KB", "–", "–"], "50 KB")
    assert "8.25 µs" in shown.note
    # Also of curves that can be read only once.
    certain = tables.marking_curves(iter([curve(1_000, 1_000)]))
    assert "  probability up to" not in [row[0] for row in certain.rows]
    assert tables.marking_curves([]).rows == []


def test_bins_are_in_the_order_of_their_sizes() -> None:
    names = ["above_5000", "1000_to_5000", "0_to_1000", "all"]
    assert tables.bins({"fct_us": dict.fromkeys(names)}) == ["all", "0_to_1000", "1000_to_5000", "above_5000"]
    named = ["large", "medium", "all", "small"]
    assert tables.bins({"fct_us": dict.fromkeys(named)}) == ["all", "small", "medium", "large"]
    # Of 10 bytes and above them; of edges that end with the same.
    few = ["above_2", "0_to_2", "all"]
    assert tables.bins({"fct_us": dict.fromkeys(few)}) == ["all", "0_to_2", "above_2"]
    assert tables.Table("one column of names", [], []).names == 1


def test_markers_are_told_apart_where_there_are_two_or_one_does_more_than_mark() -> None:
    def shown(**counts: tuple[int, int, int]) -> list[list[str]] | None:
        names = ("marked", "incast", "dropped")
        made = tables.markers(
            {"markers": {key: dict(zip(names, each, strict=True)) for key, each in counts.items()}}
        )
        return made.rows if made else None

    assert shown(red=(5, 0, 0)) is None
    assert shown(red=(5_000, 1, 0)) == [["red", "5,000", "1", "0"]]
    assert shown(red=(5, 0, 2)) == [["red", "5", "0", "2"]]
    assert shown(red=(5, 0, 0), codel=(6, 0, 0)) == [["red", "5", "0", "0"], ["codel", "6", "0", "0"]]
    assert (tables.markers({}), tables.markers({"markers": None})) == (None, None)


def port(**counts: int) -> dict[str, Any]:
    """What a kind of port did."""
    return {
        "ports": 4,
        "received": 2_000,
        "dropped": 0,
        "dropped_data": 0,
        "marked": 0,
        "loss_rate": 0.0,
    } | counts


def test_ports_are_told_apart_where_two_kinds_lost_or_marked_or_cards_did() -> None:
    lost, marked, idle = port(dropped=20, dropped_data=10, loss_rate=0.01), port(marked=7), port()  # type: ignore[arg-type]
    assert tables.ports({"ports": {"to-host": lost, "up": idle}}) is None
    assert tables.ports({"ports": {"to-host": idle, "nic": idle}}) is None
    shown = tables.ports({"ports": {"to-host": lost, "up": marked}})
    assert shown is not None
    assert shown.rows == [
        ["switch to host", "4", "2,000", "20", "1 %", "10", "0"],
        ["leaf to spine, or edge to aggregation", "4", "2,000", "0", "0 %", "0", "7"],
    ]
    cards = tables.ports({"ports": {"nic": marked}})
    assert cards is not None
    assert len(cards.rows) == 1


def test_echoes_have_their_times_and_those_that_never_came() -> None:
    times = {"count": 1_000, "mean": 1.0, "p50": 2.0, "p95": 3.0, "p99": 4.0, "max": 5.0, "lost": 6}
    shown = tables.pings({"ping_rtt_us": {"class1": times, "class2": {"count": 0, "lost": 9}}})
    assert shown is not None
    assert shown.rows[0] == ["class 1", "1,000", "1", "2", "3", "4", "5", "6"]
    assert shown.rows[1] == ["class 2", "0", *["–"] * 5, "9"]
    assert (tables.pings({}), tables.pings({"ping_rtt_us": {}})) == (None, None)


def test_datagrams_are_told_of_where_there_are_any_and_losses_where_something_was_lost() -> None:
    packets = {"sent": 1_000, "marked": 3, "dropped_in_switches": 10, "dropped_in_cards": 0}
    packets |= {"dropped_data_in_switches": 8, "dropped_data_in_cards": 0}
    summary: dict[str, Any] = {
        "flows": {"completed": 2, "started": 3},
        "packets": packets,
        "simulated_s": 0.9994,
    }
    summary |= {"goodput_gbps": 4.5, "timeouts": 1, "retransmits": 2}
    summary |= {"loss_rate_in_switches": 0.01, "loss_rate_in_cards": 0.0}
    plain, more = tables.network(summary), tables.network(summary | {"datagram_gbps": 1.5})
    assert [row[0] for row in more.rows if row not in plain.rows] == ["datagrams received"]
    assert more.rows[1:4] == [
        ["simulated time", "999 ms"],
        ["goodput", "4.5 Gb/s"],
        ["datagrams received", "1.5 Gb/s"],
    ]
    told = dict(plain.rows)
    assert told["packets dropped in switches"] == "10 (1 %)"
    assert told["packets dropped in hosts' cards"] == "none"
    assert told["  lost in switches, in cards"] == "8, 0"
    assert tables.network(summary | {"datagram_gbps": 0.0}).rows == plain.rows


def test_a_machine_that_kept_up_is_told_of_with_what_it_lost() -> None:
    late = {"count": 1_000, "median_us": 2_000, "p99_us": 30, "worst_us": 44.44}
    health: dict[str, Any] = dict.fromkeys(("lateness", "pickup", "writing"), late)
    health |= {
        "bound_p99_us": 100,
        "bound_worst_us": 1_000,
        "overruns": 3,
        "refused": 4,
        "steal_percent": 0.5,
    }
    shown = tables.health({"health": health | {"valid": True, "dilation": 1}})
    assert shown is not None
    assert shown.rows == [
        ["frames handed over", "1,000", "2,000", "30", "44.4"],
        ["frames taken", "1,000", "2,000", "30", "44.4"],
        ["flows written", "1,000", "2,000", "30", "44.4"],
        ["bound", "", "", "100", "1,000"],
    ]
    assert shown.note == (
        "7 frames lost beside the model; 0.5 % of the processors' time went to others. Valid."
    )
    slow = tables.health({"health": health | {"valid": False, "dilation": 2}})
    assert slow is not None
    assert slow.note.endswith("Not valid. Of the machine's time; the network's passes 2 times slower.")
    assert tables.health({}) is None


def finished(labels: dict[str, Any], **more: Any) -> sh.Run:
    """A run of which tables of sweeps tell."""
    summary: dict[str, Any] = {
        "fct_us": {"all": {"mean": 11.0, "max": 15.0}},
        "flows": {"started": 9, "completed": 6, "endless": 3},
        "loss_rate_in_switches": 0.0,
        "loss_rate_in_cards": 0.0,
        "timeouts": 1_000,
        "engine": {"packet_hops_per_s": 3e6},
    }
    return cast(sh.Run, SimpleNamespace(labels=labels, summary=summary | more))


def test_columns_in_which_no_run_has_anything_are_left_out() -> None:
    shown = tables.points([finished({"scheme": "a", "red.k_min": 1}), finished({"scheme": "b", "seed": 2})])
    # No sizes, no losses in cards, and nothing open: flows that never end are not.
    assert shown.columns == [
        "scheme",
        "k min",
        "seed",
        "mean µs",
        "max µs",
        "switch loss",
        "timeouts",
        "hops/s",
    ]
    assert shown.rows == [
        ["a", "1", "–", "11", "15", "0 %", "1,000", "3 M"],
        ["b", "–", "2", "11", "15", "0 %", "1,000", "3 M"],
    ]
    assert (shown.names, shown.note) == (3, "")
    unfinished = {"started": 9, "completed": 5, "endless": 3}
    some = tables.points([finished({}, flows=unfinished), finished({}, loss_rate_in_cards=0.5)])
    assert some.columns[-4:] == ["card loss", "timeouts", "open", "hops/s"]
    assert [row[-4::2] for row in some.rows] == [["–", "1"], ["50 %", "–"]]
    assert some.note.startswith("open: flows that were not complete")


def test_losses_of_cards_are_told_of_where_they_are_more_than_those_of_switches() -> None:
    runs = [finished({}, loss_rate_in_cards=share, loss_rate_in_switches=0.1) for share in (0.1, 0.2, 0.05)]
    assert tables.losses_of_cards(runs) == [
        "1 of 3 runs lost more packets in hosts' own cards than in switches"
    ]
    assert tables.losses_of_cards(runs[::2]) == []


def ports_of_leaves(sent: dict[str, list[int]]) -> Any:
    """Counters of leaves that have sent so many bytes on each of their uplinks."""
    rows = [
        {"port": f"{leaf}->spine{number}", "kind": "up", "sent_bytes": size}
        for leaf, sizes in sent.items()
        for number, size in enumerate(sizes)
    ]
    run: Any = SimpleNamespace(counters=pl.DataFrame(rows), summary={"simulated_s": 1.0}, path="by-hand")
    run.by = lambda what: breakdown.by(run, what)
    return run


def test_uplinks_are_as_even_as_their_largest_and_their_deviation_are_near_the_mean() -> None:
    # 1, 1 and 4 of a mean of 2: the largest is twice that, the deviation √2, over 2.
    found = breakdown.by(ports_of_leaves({"leaf0": [1, 1, 4], "leaf1": [0, 0], "leaf2": [5]}), "uplinks")
    assert found["leaf"].to_list() == ["leaf0", "leaf1", "leaf2"]
    assert found["uplinks"].to_list() == [3, 2, 1]
    assert found["sent_bytes"].to_list() == [6, 0, 5]
    assert found["max_over_mean"].to_list() == [2.0, None, 1.0]
    assert found["variation"].to_list() == [pytest.approx(2**0.5 / 2), None, 0.0]


def test_eight_leaves_are_shown_and_of_more_the_most_uneven() -> None:
    # Of 1 and n the deviation over the mean is (n − 1) / (n + 1): the more, the larger n; no bytes come last.
    def shown(*sizes: int) -> tables.Table:
        leaves = {f"leaf{size}": [size and 1, size] for size in sizes}
        return tables.breakdown(cast(sh.Run, ports_of_leaves(leaves)), "uplinks")

    eight, nine = shown(*range(1, 9)), shown(0, *range(1, 9))
    assert [row[0] for row in eight.rows] == [f"leaf{size}" for size in range(1, 9)]
    assert [row[0] for row in nine.rows] == [f"leaf{size}" for size in range(8, 0, -1)]
    assert "Those 8 of 9 leaves" in nine.note
    assert "Those" not in eight.note
    assert (eight.names, eight.columns) == (1, ["leaf", "uplinks", "sent", "largest", "deviation"])
    assert eight.rows[2] == ["leaf3", "2", "4 B", "1.5", "0.5"]


def test_ports_share_pools_in_their_order_so_many_to_each() -> None:
    counters = pl.DataFrame({"port": ["s->a", "s->a", "s->b", "s->c", "t->a"], "received": [1] * 5})

    def shared(**buffer: Any) -> list[str]:
        scenario = {"switch": {"buffer": buffer}}
        run = cast(pools.Recorded, SimpleNamespace(counters=counters, scenario=scenario))
        return [*pools.pool_of(run).values()]

    assert shared(kind="dynamic-threshold", ports_per_pool=2) == ["s.pool0", "s.pool0", "s.pool1", "t.pool0"]
    assert shared(kind="dynamic-threshold") == ["s.pool0"] * 3 + ["t.pool0"]
    assert shared(kind="static-partition") == ["s.pool0", "s.pool1", "s.pool2", "t.pool0"]


def test_only_what_a_pool_shares_with_others_is_refused_at_changes() -> None:
    def refused(name: str, quantity: str, *every: str) -> bool:
        scenario = {
            "switch": {"buffer": {"kind": "dynamic-threshold", "ports_per_pool": 2}},
            "measure": {"traces": [{"every": each} for each in every]},
        }
        counters = pl.DataFrame({"port": ["s->a", "s->b", "s->c"]})
        run = cast(pools.Recorded, SimpleNamespace(counters=counters, scenario=scenario))
        try:
            pools.refuse_shared(run, name, quantity)
        except ShallowsError:
            return True
        return False

    assert refused("s->a", "pool_bytes", "event")
    assert refused("s->a", "pool_bytes", "10us", "event")
    # Alone in its pool, of its own, or at intervals.
    assert not refused("s->c", "pool_bytes", "event")
    assert not refused("s->a", "backlog_bytes", "event")
    assert not refused("s->a", "pool_bytes", "10us")


STEPS = Series(np.array([0.0, 2.0, 6.0, 10.0]), np.array([30.0, 10.0, 20.0, 20.0]))
"""30 for 2 µs, 10 for 4 and 20 for 4."""


def test_quantiles_begin_at_the_smallest_value_and_end_at_the_largest() -> None:
    values, shares = STEPS.distribution()
    assert (values.tolist(), shares.tolist()) == ([10.0, 20.0, 30.0], [0.4, 0.8, 1.0])
    assert [STEPS.quantile(share) for share in (0.0, 0.4, 0.41, 0.8, 1.0)] == [10, 10, 20, 20, 30]
    for share in (-0.01, 1.01):
        with pytest.raises(ShallowsError, match="there is no quantile"):
            STEPS.quantile(share)
    assert (STEPS.min(), STEPS.max(), STEPS.length_us) == (10, 30, 10)
    assert [STEPS.time_at(value) for value in (10, 20, 30, 40)] == [4, 4, 2, 0]
    assert [STEPS.share_above(limit) for limit in (5, 10, 25, 30)] == pytest.approx([1, 0.6, 0.2, 0])
    assert STEPS.mean() == 18
    # What was twice is one value.
    again = Series(np.array([0.0, 1.0, 3.0, 4.0]), np.array([5.0, 7.0, 5.0, 5.0])).distribution()
    assert [found.tolist() for found in again] == [[5, 7], [0.5, 1]]


def test_a_part_of_a_series_has_the_values_that_held_then() -> None:
    part = STEPS.between(1.0, 6.0)
    assert (part.times.tolist(), part.values.tolist()) == ([1, 2, 6], [30, 10, 20])
    later = STEPS.between(2.0)
    assert (later.times.tolist(), later.values.tolist()) == ([2, 6, 10], [10, 20, 20])
    whole = STEPS.between(0.0, 10.0)
    assert (whole.times.tolist(), whole.values.tolist()) == (STEPS.times.tolist(), STEPS.values.tolist())
    for begin, end in ((-0.1, 5.0), (5.0, 5.0), (6.0, 5.0), (5.0, 10.1)):
        with pytest.raises(ShallowsError, match="there is nothing between"):
            STEPS.between(begin, end)


def test_windows_begin_with_the_series_and_the_last_ends_with_it() -> None:
    late = Series(STEPS.times + 100, STEPS.values)
    found = late.resampled(4.0)
    # 30 for half of the first, 10 for the rest and half of the second, 20 from there on.
    assert found.rows() == [(100, 20, 10, 30), (104, 15, 10, 20), (108, 20, 20, 20)]
    assert late.resampled(5.0)["time_us"].to_list() == [100, 105]
    assert late.resampled(10.0).rows() == [(100, 18, 10, 30)]
    assert late.resampled(99.0).rows() == [(100, 18, 10, 30)]
    for every in (0.0, -1.0, float("inf"), float("nan")):
        with pytest.raises(ShallowsError, match="there is no window of"):
            late.resampled(every)
    long = Series(np.array([0.0, 1e7, 1e7 + 1]), np.array([1.0, 1.0, 1.0]))
    with pytest.raises(ShallowsError, match="have more than 10,000,000 windows of 1 µs"):
        long.resampled(1.0)


def test_parts_are_changes_if_they_suffice_and_else_what_repeats_goes_first() -> None:
    every = STEPS.parts(3)
    assert (every.edges.tolist(), every.longest_us) == ([0, 2, 6, 10], 0)
    assert every.mean.tolist() == every.low.tolist() == every.high.tolist() == [30, 10, 20]
    # A row that changes nothing is none.
    again = Series(np.array([0.0, 1.0, 2.0, 6.0, 10.0]), np.array([30.0, 30.0, 10.0, 20.0, 20.0]))
    assert again.parts(3).edges.tolist() == [0, 2, 6, 10]
    assert again.parts(4).edges.tolist() == [0, 1, 2, 6, 10]
    assert STEPS.highest(np.array([0.0, 2.0, 5.0, 10.0])).tolist() == [30, 10, 20]
    # Half of the area of 180 has passed by 6 µs, with 100, and a third by 2 µs, with 60.
    assert [STEPS.settled(share) for share in (60 / 180, 61 / 180, 100 / 180, 1.0)] == [2, 6, 6, 10]


def test_parts_are_as_short_as_there_may_be_of_them_and_end_at_a_lone_change() -> None:
    # 0 and 8 in turn for 1 µs each from 84 to 100 µs. Of 16 equal parts the last three hold the changes; with
    # what is idle before, these are four, and of 32 they would be more. Of 6.25 µs 2 are at 8, then 3 and 3.
    times = np.concatenate([[0.0], np.arange(84.0, 101.0)])
    parts = Series(times, np.concatenate([[0.0], np.tile([8.0, 0.0], 8), [0.0]])).parts(4)
    assert (parts.edges.tolist(), parts.longest_us) == ([0, 81.25, 87.5, 93.75, 100], 6.25)
    assert parts.mean.tolist() == pytest.approx([0, 16 / 6.25, 24 / 6.25, 24 / 6.25])
    assert (parts.low.tolist(), parts.high.tolist()) == ([0] * 4, [0, 8, 8, 8])
    # Of eight parts the first and the fifth have one change each, and end there; the last has three. Of 16
    # one without any would follow that with three.
    alone = Series(np.array([0.0, 10, 60, 90, 91, 92, 100]), np.array([1.0, 2, 3, 4, 5, 6, 6])).parts(4)
    assert (alone.edges.tolist(), alone.longest_us) == ([0, 10, 60, 87.5, 100], 12.5)
    assert alone.mean.tolist() == pytest.approx([1, 2, 3, (3 * 2.5 + 4 + 5 + 6 * 8) / 12.5])
    assert (alone.low.tolist(), alone.high.tolist()) == ([1, 2, 3, 3], [1, 2, 3, 6])


def test_what_never_changes_has_no_deviation_however_its_square_is_rounded() -> None:
    # The mean of the squares of 0.7 and of 123.456 comes out a little below the square of the mean.
    times = np.array([0.0, 0.1, 0.7, 1.0])
    for value in (0.7, 123.456):
        constant = Series(times, np.full(4, value))
        assert Series(times, constant.values**2).mean() < constant.mean() ** 2
        assert constant.std() == 0
