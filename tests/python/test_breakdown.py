"""Tests of results by workload, class, port, queue and uplink, against numbers computed by hand."""

from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest

import shallows as sh
from fake_runs import COUNTERS, fake_run, flow_table
from shallows import reports
from shallows.runs import breakdown, breakdown_tables
from shallows.runs.table import Table
from shallows.series.measures import measure
from shared import Shell

# Four spines at the hosts' rate. One flow from leaf to leaf, two within a leaf, and a ping.
LEAVES = """
name = "leaves"
[stop]
at = "10ms"
[topology]
kind = "leaf-spine"
leaves = 2
hosts_per_leaf = 2
spines = 4
rate = "10Gbps"
uplink_rate = "10Gbps"
[switch]
buffer = { kind = "complete-sharing", pool = "4MB" }
[[workload]]
kind = "ping"
senders = "0"
receivers = "1"
interval = "1ms"
[[workload]]
kind = "incast"
senders = "0..1"
receivers = "2..3"
size = "1MB"
period = "20ms"
repeats = 1
[[workload]]
kind = "incast"
senders = "2..3"
receivers = "3..4"
size = "10KB"
period = "2ms"
repeats = 2
class = 1
"""


@pytest.fixture(scope="module")
def leaves(tmp_path_factory: pytest.TempPathFactory) -> sh.Run:
    """A run of the scenario `LEAVES`."""
    folder = tmp_path_factory.mktemp("leaves")
    (folder / "leaves.toml").write_text(LEAVES)
    return sh.run(folder / "leaves.toml", out=folder / "run")


def invented(**columns: list[Any]) -> breakdown.Measured:
    """Return a run of 1 ms with these columns of flows."""
    flows = pl.DataFrame(columns, schema_overrides={"fct_us": pl.Float64, "slowdown": pl.Float64})
    zeros = flows.select(timeouts=pl.lit(0, pl.Int64), retransmits=pl.lit(0, pl.Int64))
    run = fake_run(
        1e3,
        flows=flows.with_columns(*(zeros[name].head(1) for name in zeros.columns if name not in columns)),
        scenario={"workload": [{"kind": "udp"}, {"kind": "poisson"}, {"kind": "incast"}]},
    )
    return cast("breakdown.Measured", run)


def test_percentiles_are_nearest_ranks_of_counted_and_complete_flows() -> None:
    # Of workload 1 a hundred flows of 1 to 100 us; of workload 2 one before the warm-up, one that is not
    # complete, and two of 10 and 20 us. Workload 0 sends datagrams.
    run = invented(
        workload=[2, 2] + [1] * 100 + [2, 2],
        counted=[0, 1] + [1] * 102,
        fct_us=[5.0, None, *map(float, range(100, 0, -1)), 10.0, 20.0],
        slowdown=[5.0, None, *[2.0] * 100, 1.0, 3.0],
        delivered_bytes=[1000, 500, *[10] * 100, 250, 250],
        timeouts=[1, 1] + [0] * 102,
        retransmits=[2, 3] + [0] * 101 + [1],
    )
    first, second = breakdown.by(run, "workload").rows(named=True)
    assert (first["kind"], first["flows"], first["completed"]) == ("poisson", 100, 100)
    assert (first["fct_mean_us"], first["fct_p50_us"], first["fct_p99_us"]) == (50.5, 50.0, 99.0)
    assert (first["slowdown_mean"], first["goodput_gbps"]) == (
        2.0,
        pytest.approx(0.008),
    )  # 8,000 bits in 1 ms
    assert (second["kind"], second["flows"], second["completed"]) == ("incast", 3, 2)
    assert (second["fct_mean_us"], second["fct_p50_us"], second["fct_p99_us"]) == (15.0, 10.0, 20.0)
    assert (second["slowdown_p99"], second["goodput_gbps"]) == (3.0, pytest.approx(0.016))
    # As in the summary, timeouts and retransmitted segments include those before the warm-up.
    assert (second["timeouts"], second["retransmits"]) == (2, 6)


def test_a_workload_without_a_complete_flow_has_no_times() -> None:
    run = invented(workload=[1], counted=[1], fct_us=[None], slowdown=[None], delivered_bytes=[0])
    (row,) = breakdown.by(run, "workload").rows(named=True)
    assert (row["flows"], row["completed"], row["fct_mean_us"], row["fct_p99_us"]) == (1, 0, None, None)


def test_workloads_and_classes_add_up_to_the_summary(leaves: sh.Run) -> None:
    workloads, classes = leaves.by("workload"), leaves.by("class")
    assert workloads["kind"].to_list() == ["incast", "incast"]
    assert workloads["flows"].to_list() == classes["flows"].to_list() == [1, 2]
    assert classes["class"].to_list() == [0, 1]
    # All arrives within the 10 ms: 1 MB and 20 KB, so 0.8 and 0.016 Gbit/s.
    assert workloads["goodput_gbps"].to_list() == pytest.approx([0.8, 0.016])
    assert workloads["goodput_gbps"].sum() == pytest.approx(leaves.summary["goodput_gbps"])
    for column in ("timeouts", "retransmits"):
        assert workloads[column].sum() == leaves.summary[column]
    (one,) = leaves.flows.filter(workload=1)["fct_us"]
    assert workloads["fct_mean_us"][0] == workloads["fct_p50_us"][0] == workloads["fct_p99_us"][0] == one


GROUPS = """
[[host.group]]
name = "slow"
members = "0..2"
delay = "50us"
"""


def test_groups_have_what_their_hosts_send_and_what_they_get(tmp_path: Path) -> None:
    (tmp_path / "groups.toml").write_text(LEAVES + GROUPS)
    run = sh.run(tmp_path / "groups.toml", out=tmp_path / "run")
    # Host 0, in the group, sends 1 MB to host 2; that sends twice 10 KB to host 3.
    assert run.flows.select("source", "group", "to_group").sort("source").rows() == [
        (0, "slow", "default"),
        (2, "default", "default"),
        (2, "default", "default"),
    ]
    by_sender = run.by("group")
    assert by_sender.select("group", "flows", "completed").rows() == [("default", 2, 2), ("slow", 1, 1)]
    assert by_sender["goodput_gbps"].to_list() == pytest.approx([0.016, 0.8])
    assert run.by("to_group").select("to_group", "flows").rows() == [("default", 3)]
    # What is asked for by name is of the same flows; all flows have one receiver's group, which is no table.
    assert measure(run, "goodput_gbps@group=slow") == pytest.approx(0.8)
    assert measure(run, "goodput_ratio@group=default/group=slow") == pytest.approx(0.02)
    assert measure(run, "goodput_gbps@to_group=default") == pytest.approx(0.816)
    (time,) = run.flows.filter(group="slow")["fct_us"]
    assert measure(run, "fct_us.all.p99@group=slow") == time
    assert [table.title for table in breakdown_tables.breakdowns(run)] == [
        "By workload",
        "By class of service",
        "By group of senders",
    ]
    with pytest.raises(
        sh.ShallowsError, match=r"'group=fast'\n  .*: 1, 2, class0, class1, group=default, group=slow"
    ):
        measure(run, "fct_us.all.p99@group=fast")


def test_a_run_without_groups_is_told_by_none(leaves: sh.Run) -> None:
    assert "group" not in leaves.flows.columns
    with pytest.raises(sh.ShallowsError, match=r"no groups of hosts\n  add \[\[host.group\]\]"):
        leaves.by("group")
    with pytest.raises(sh.ShallowsError, match="no flow of 'group=slow'"):
        measure(leaves, "fct_us.all.p99@group=slow")


def test_a_run_in_which_nothing_was_sent_has_dashes_for_shares(shell: Shell, tmp_path: Path) -> None:
    path, out = tmp_path / "short.toml", tmp_path / "run"
    head = LEAVES[: LEAVES.index("[[workload]]")].replace("10ms", "1us")
    # At a load of 10^-6 the first flow comes after seconds.
    path.write_text(f'{head}[[workload]]\nkind = "poisson"\nload = 1e-6\nsizes = "web-search"\nflows = 9\n')
    # The exit code of a run in which nothing was measured is 3.
    assert shell("run", path, "--out", out).returncode == 3
    done = shell("report", out, "--by", "uplinks")
    assert (done.returncode, done.stderr) == (0, "")
    (leaf,) = [line.split() for line in done.stdout.splitlines() if line.startswith("leaf0")]
    assert leaf == ["leaf0", "4", "0", "B", "–", "–"]


def test_use_of_links_is_what_was_sent_over_what_could_have_been(leaves: sh.Run) -> None:
    kinds = {row["kind"]: row for row in leaves.by("port").rows(named=True)}
    # 1,020,000 bytes are 691 + 2 * 7 segments of at most 1,448 bytes, with 52 of headers; acknowledgements
    # and pings go through the NICs too.
    data = 1_020_000 + 52 * (691 + 2 * 7)
    nic = kinds["nic"]
    assert data < nic["sent_bytes"] < 1.05 * data
    # Four links at 10 Gbit/s could carry 12.5 MB each in 10 ms.
    assert nic["utilisation"] == pytest.approx(nic["sent_bytes"] / (4 * 12_500_000))
    # The busiest is that of the large flow's sender: its data, and nothing but echoes of pings beside it.
    large = 1_000_000 + 52 * 691
    assert nic["utilisation_max"] == pytest.approx(large / 12_500_000, rel=0.001)
    for kind, row in kinds.items():
        counted = leaves.summary["ports"][kind]
        assert (row["ports"], row["sent_bytes"], row["marked"]) == (
            counted["ports"],
            counted["sent_bytes"],
            counted["marked"],
        )
    # Each kind of port has one queue.
    assert leaves.by("queue").drop("queue").equals(leaves.by("port"))


def test_one_flow_uses_one_of_four_uplinks(leaves: sh.Run) -> None:
    found = leaves.by("uplinks")
    assert found["leaf"].to_list() == ["leaf0", "leaf1"]
    assert found["uplinks"].to_list() == [4, 4]
    # Its segments on one uplink of its leaf, their acknowledgements on one of the other's. Of x, 0, 0, 0 the
    # mean is x/4, and the variance (3x/4)^2/4 + 3(x/4)^2/4 = 3x^2/16.
    assert found["max_over_mean"].to_list() == pytest.approx([4.0, 4.0])
    assert found["variation"].to_list() == pytest.approx([3**0.5, 3**0.5])
    assert found["sent_bytes"][0] == 1_000_000 + 52 * 691


def test_an_unused_leaf_and_a_network_without_leaves_have_no_evenness(leaves: sh.Run, scenario: Path) -> None:
    idle = fake_run(counters=leaves.counters.with_columns(sent_bytes=pl.lit(0, pl.Int64)))
    found = breakdown.by(cast("breakdown.Measured", idle), "uplinks")
    assert found["max_over_mean"].to_list() == found["variation"].to_list() == [None, None]
    star = sh.run(scenario, {"workload.0.flows": 3}, out=scenario.with_name("star"))
    assert star.by("uplinks").is_empty()


def test_results_of_earlier_versions_have_no_use_of_links(leaves: sh.Run) -> None:
    older = fake_run(counters=leaves.counters.drop("rate_bps"), summary=leaves.summary)
    found = breakdown.by(cast("breakdown.Measured", older), "port")
    assert found["utilisation"].null_count() == found["utilisation_max"].null_count() == found.height == 4
    assert found["sent_bytes"].equals(leaves.by("port")["sent_bytes"])


def test_other_ways_are_refused_with_those_that_there_are(leaves: sh.Run) -> None:
    with pytest.raises(sh.ShallowsError, match="cannot group results by 'host'") as refused:
        leaves.by("host")
    assert refused.value.remedy == "the groupings are: workload, class, group, to_group, port, queue, uplinks"


def test_metrics_can_be_of_workloads_and_classes(leaves: sh.Run) -> None:
    small, large = (leaves.flows.filter(workload=number)["fct_us"].to_list() for number in (2, 1))
    assert measure(leaves, "fct_us.all.p50@1") == measure(leaves, "fct_us.medium.max@class0") == large[0]
    assert measure(leaves, "fct_us.small.mean@2") == pytest.approx(sum(small) / 2)
    assert measure(leaves, "fct_us.all.p50@1..3") == max(small)  # the second of three
    assert measure(leaves, "slowdown.all.max@2") == max(leaves.flows.filter(workload=2)["slowdown"])
    with pytest.raises(sh.ShallowsError, match="no flow of '1' in size bin 'small'"):
        measure(leaves, "fct_us.small.p99@1")
    with pytest.raises(sh.ShallowsError, match=r"unknown metric 'fct_us\.all\.median@1'"):
        measure(leaves, "fct_us.all.median@1")


def test_tables_are_shown_where_asked_for_or_where_there_are_several(
    leaves: sh.Run, scenario: Path, shell: Shell
) -> None:
    titles = [table.title for table in breakdown_tables.breakdowns(leaves)]
    assert titles == ["By workload", "By class of service"]
    page = reports.write_run(leaves).read_text(encoding="utf-8")
    for title in [*titles, "By kind of port", "By leaf: how evenly it used its uplinks"]:
        assert f"<h3>{title}</h3>" in page
    said = shell("run", scenario, "--out", "one", "--by", "port", "--by", "queue").stdout
    assert "By kind of port" in said
    assert "By queue" in said
    assert "By workload" not in shell("report", "one").stdout
    row = next(
        line for line in shell("report", "one", "--by", "workload").stdout.splitlines() if "poisson" in line
    )
    assert row.split()[:4] == ["0", "poisson", "60", "60"]
    refused = shell("report", "one", "--by", "host")
    assert (refused.returncode, "invalid choice: 'host'" in refused.stderr) == (2, True)


def test_a_breakdown_is_of_one_run(shell: Shell, finished: Path) -> None:
    refused = shell("report", finished, "--by", "port")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "contains 12" in refused.stderr


def test_only_the_most_uneven_of_many_leaves_are_in_a_table() -> None:
    # Leaf number n sends 100 + n and 100 - n bytes: its deviation is n %.
    rows = [(f"leaf{n}->spine{s}", "up", 100 + n * (1 - 2 * s)) for n in range(12) for s in (0, 1)]
    counters = pl.DataFrame(rows, schema=["port", "kind", "sent_bytes"], orient="row")

    table = breakdown_tables.breakdown(fake_run(counters=counters), "uplinks")
    assert [row[0] for row in table.rows] == [f"leaf{n}" for n in range(11, 3, -1)]
    assert table.rows[0][1:] == ["2", "200 B", "1.11", "0.11"]
    assert "Those 8 of 12 leaves" in table.note


def by_class(count: int) -> dict[str, Any]:
    """Return the row of a class with completion times of 1, 2, … `count` µs, and slowdowns twice as large."""
    times = [float(number) for number in range(count, 0, -1)]
    ones = [1] * count
    flows = flow_table(fct_us=times, slowdown=[2 * time for time in times], timeouts=ones, retransmits=ones)
    (row,) = breakdown.by(cast(breakdown.Measured, fake_run(1.0, flows=flows)), "class").iter_rows(named=True)
    return row


@pytest.mark.parametrize(
    ("count", "column", "expected"),
    [
        # The median is the smallest value that half of the values do not exceed: the second of three, and of
        # four.
        (1, "fct_p50_us", 1.0),
        (2, "fct_p50_us", 1.0),
        (3, "fct_p50_us", 2.0),
        (4, "fct_p50_us", 2.0),
        # The p99 is the smallest value that 99 % of the values do not exceed: the 100th of 101.
        (1, "fct_p99_us", 1.0),
        (100, "fct_p99_us", 99.0),
        (101, "fct_p99_us", 100.0),
        (101, "slowdown_p99", 200.0),
    ],
)
def test_percentiles_of_a_class_are_nearest_ranks(count: int, column: str, expected: float) -> None:
    assert by_class(count)[column] == expected


def test_a_class_has_its_mean_time_its_goodput_and_its_timeouts() -> None:
    # Three flows of 1,000 bytes in a microsecond.
    row = by_class(3)
    assert (row["fct_mean_us"], row["goodput_gbps"], row["timeouts"]) == (2.0, 24.0, 3)


def test_ports_of_a_kind_are_together_with_all_of_their_queues() -> None:
    run = cast(breakdown.Measured, fake_run(10.0, counters=COUNTERS))
    to_hosts, nics = breakdown.by(run, "port").rows(named=True)
    assert (to_hosts["ports"], to_hosts["sent_bytes"], to_hosts["max_backlog_bytes"]) == (2, 55_000, 4_000)
    assert nics["ports"] == 1


def test_the_use_of_links_is_over_all_of_a_kind_and_that_of_the_busiest() -> None:
    # In 10 µs: 55,000 bytes on links of 10 and 40 Gb/s, which carry 62,500; the busiest sent 15,000 of
    # 12,500.
    run = cast(breakdown.Measured, fake_run(10.0, counters=COUNTERS))
    to_hosts, nics = breakdown.by(run, "port").rows(named=True)
    assert (to_hosts["utilisation"], to_hosts["utilisation_max"]) == pytest.approx((0.88, 1.2))
    assert nics["utilisation"] == pytest.approx(0.08)


def uplinks_of(sent: dict[str, list[int]]) -> Any:
    """Return a run in which each leaf sent these numbers of bytes on its uplinks."""
    rows = [
        {"port": f"{leaf}->spine{number}", "kind": "up", "sent_bytes": size}
        for leaf, sizes in sent.items()
        for number, size in enumerate(sizes)
    ]
    return fake_run(1e6, counters=pl.DataFrame(rows))


def test_uplinks_are_as_even_as_their_largest_and_their_deviation_are_near_the_mean() -> None:
    # 1, 1 and 4 of a mean of 2: the largest is twice that, and the deviation is √2, over 2.
    found = breakdown.by(uplinks_of({"leaf0": [1, 1, 4], "leaf1": [0, 0], "leaf2": [5]}), "uplinks")
    assert found["leaf"].to_list() == ["leaf0", "leaf1", "leaf2"]
    assert found["uplinks"].to_list() == [3, 2, 1]
    assert found["sent_bytes"].to_list() == [6, 0, 5]
    assert found["max_over_mean"].to_list() == [2.0, None, 1.0]
    assert found["variation"].to_list() == [pytest.approx(2**0.5 / 2), None, 0.0]


def uplink_table(*sizes: int) -> Table:
    """Return the table of leaves with two uplinks: one sent a byte, the other one of `sizes`."""
    leaves = {f"leaf{size}": [size and 1, size] for size in sizes}
    return breakdown_tables.breakdown(cast(sh.Run, uplinks_of(leaves)), "uplinks")


def test_eight_leaves_are_shown_in_their_order() -> None:
    shown = uplink_table(*range(1, 9))
    assert [row[0] for row in shown.rows] == [f"leaf{size}" for size in range(1, 9)]
    assert "Those" not in shown.note


def test_the_eight_most_uneven_of_nine_leaves_are_shown() -> None:
    # The deviation of 1 and n over their mean is (n − 1) / (n + 1): it grows with n. A leaf without bytes is
    # last.
    shown = uplink_table(0, *range(1, 9))
    assert [row[0] for row in shown.rows] == [f"leaf{size}" for size in range(8, 0, -1)]
    assert "Those 8 of 9 leaves" in shown.note


def test_a_leaf_is_shown_with_its_bytes_and_its_evenness() -> None:
    shown = uplink_table(*range(1, 9))
    assert (shown.names, shown.columns) == (1, ["leaf", "uplinks", "sent", "largest", "deviation"])
    assert shown.rows[2] == ["leaf3", "2", "4 B", "1.5", "0.5"]


@pytest.mark.parametrize(("classes", "rows"), [([0, 0], []), ([0, 1], [2])])
def test_only_what_occurs_more_than_once_is_broken_down_by_default(
    classes: list[int], rows: list[int]
) -> None:
    flows = flow_table(**{"class": classes})
    made = fake_run(1.0, flows=flows, scenario={"workload": [{"kind": "incast"}]})
    assert [len(table.rows) for table in breakdown_tables.breakdowns(made)] == rows
