"""Tests of the samples that a comparison reads: flows, queries, series, and ages of unfinished flows."""

from pathlib import Path

import polars as pl
import pytest

import shallows as sh
from fake_runs import write_fake_run
from shallows.comparison import samples
from shallows.comparison.samples import Sample
from shared import seal


def test_an_unfinished_flow_stands_with_its_time_so_far(cut_off: sh.Run) -> None:
    # One flow takes 4.4 µs; the other is cut off after 80 µs.
    times = samples.read(cut_off, 0).series["fct_us.all"]
    assert times.values.tolist() == pytest.approx([4.4, 80])
    assert times.incomplete == 1


def test_an_unfinished_flow_has_the_least_slowdown(cut_off: sh.Run) -> None:
    assert samples.read(cut_off, 0).series["slowdown.all"].values.tolist() == pytest.approx([1, 1])


def test_a_size_without_unfinished_flows_has_none(cut_off: sh.Run) -> None:
    small = samples.read(cut_off, 0).series["fct_us.small"]
    assert small.values.tolist() == pytest.approx([4.4])
    assert small.incomplete == 0


def test_the_cool_down_leaves_out_late_flows_of_a_run(cut_off: sh.Run) -> None:
    # Flows arrived from 10 to 20 µs: the last three fifths begin at 14 µs.
    assert samples.read(cut_off, 0.6).series["fct_us.all"].values.tolist() == pytest.approx([4.4])


def test_flows_before_the_warm_up_are_in_no_sample(cut_off: sh.Run, tmp_path: Path) -> None:
    late = sh.run(cut_off.path / "scenario.toml", {"measure.warm_up": "10001ns"}, out=tmp_path / "late")
    assert samples.read(late, 0).series["fct_us.all"].values.tolist() == pytest.approx([80])


def test_the_cool_down_is_a_share_of_the_time_in_which_counted_flows_arrive(tmp_path: Path) -> None:
    # Counted flows arrive from 10 to 40 µs: two thirds of these 30 are left out, from after 20 µs on.
    flows = {
        "arrival_us": [0.0, 10.0, 20.0, 30.0, 40.0],
        "counted": [0, 1, 1, 1, 1],
        "fct_us": [9.0, 6.0, None, 8.0, 9.0],
        "timeouts": [9, 1, 3, 9, 9],
    }
    found = samples.read(write_fake_run(tmp_path / "run", flows), 2 / 3).series
    # The unfinished flow has been under way for 80 of 100 µs; its timeouts so far count.
    assert found["fct_us.all"].values.tolist() == [6.0, 80.0]
    assert found["timeouts_per_flow"].values.tolist() == [1.0, 3.0]


@pytest.mark.parametrize(
    ("answer", "flow", "query", "same"),
    [
        # The time at which an answer starts depends on the network.
        (8.0, 7.0, 5.0, True),
        (6.0, 7.5, 5.0, False),
        (6.0, 7.0, 5.5, False),
    ],
    ids=["answer later", "flow later", "query later"],
)
def test_two_runs_met_the_same_work_if_flows_and_queries_arrived_at_the_same_times(
    tmp_path: Path, answer: float, flow: float, query: float, same: bool
) -> None:
    def work(name: str, answer: float, flow: float, query: float) -> Sample:
        flows = {"query": [0, None], "arrival_us": [answer, flow]}
        asked = {"workload": [0], "query": [0], "client": [1], "start_us": [query]}
        asked |= {"completion_us": [9.0], "counted": [1]}
        return samples.read(write_fake_run(tmp_path / name, flows, queries=asked), 0)

    assert work("one", 6.0, 7.0, 5.0).met_the_same(work("other", answer, flow, query)) is same


@pytest.fixture
def grouped(tmp_path: Path) -> sh.Run:
    """A run with three flows of 5, 7 and 9 µs between hosts of the groups `old` and `new`."""
    run = write_fake_run(tmp_path / "run", {"fct_us": [5.0, 7.0, 9.0]})
    path = run.path / "flows.parquet"
    groups = {"group": ["old", "new", "old"], "to_group": ["new", "new", "old"]}
    columns = {name: pl.Series(values) for name, values in groups.items()}
    pl.read_parquet(path).with_columns(**columns).write_parquet(path)
    seal(run.path)
    return run


def test_a_group_of_hosts_has_what_it_sends_and_what_it_gets(grouped: sh.Run) -> None:
    found = samples.read(grouped, 0, ["fct_us.all@group=old", "fct_us.all@to_group=new"]).series
    assert found["fct_us.all@group=old"].values.tolist() == [5.0, 9.0]
    assert found["fct_us.all@to_group=new"].values.tolist() == [5.0, 7.0]


def test_an_unknown_group_is_refused_with_the_parts_that_there_are(grouped: sh.Run) -> None:
    expected = r"no flow of 'group=none'\n  .*: 0, class0, group=new, group=old, to_group=new"
    with pytest.raises(sh.ShallowsError, match=expected):
        samples.read(grouped, 0, ["fct_us.all@group=none"])


def test_a_size_holds_its_upper_edge(tmp_path: Path) -> None:
    # Edges are 100 KB and 10 MB.
    flows = {"size_bytes": [1, 100_000, 100_001, 10_000_000, 10_000_001], "fct_us": [1.0, 2.0, 3.0, 4.0, 5.0]}
    found = samples.read(write_fake_run(tmp_path / "run", flows), 0, ["fct_us.small@0"]).series
    sizes = {name: found[f"fct_us.{name}"].values.tolist() for name in ("small", "medium", "large")}
    assert sizes == {"small": [1, 2], "medium": [3, 4], "large": [5]}


def test_a_size_that_all_flows_have_is_a_series_only_of_a_part_that_is_asked_for(tmp_path: Path) -> None:
    run = write_fake_run(tmp_path / "alike", {"fct_us": [1.0, 2.0]})
    found = samples.read(run, 0, ["fct_us.small@0"]).series
    assert found.keys() & {"fct_us.small", "fct_us.medium"} == set()
    assert "fct_us.small@0" in found
    assert "fct_us.medium@0" not in found


@pytest.fixture
def three_workloads(tmp_path: Path) -> sh.Run:
    """A run of three workloads, each with a query and a flow; the second query is unfinished."""
    asked = {"workload": [0, 1, 2], "query": [0, 1, 2], "client": [1] * 3, "counted": [1] * 3}
    times = {"start_us": [0.0, 1.0, 2.0], "completion_us": [5.0, None, 9.0]}
    flows = {"query": [0, 1, 2], "workload": [0, 1, 2], "class": [0, 1, 1]}
    return write_fake_run(tmp_path / "run", flows, queries=asked | times)


def test_queries_can_be_those_of_some_workloads(three_workloads: sh.Run) -> None:
    found = samples.read(three_workloads, 0, ["query_us.all@1", "query_us.all@0, 2"]).series
    # The query that has not come back was asked at 1 of 100 µs: it has been under way for 99.
    queries = {name: series.values.tolist() for name, series in found.items() if name.startswith("query_us")}
    assert queries == {"query_us.all": [5, 99, 9], "query_us.all@1": [99], "query_us.all@0, 2": [5, 9]}


def test_flows_can_be_those_of_a_class(three_workloads: sh.Run) -> None:
    found = samples.read(three_workloads, 0, ["fct_us.all@class1"]).series
    assert found["fct_us.all@class1"].values.size == 2
