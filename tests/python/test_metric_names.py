"""Tests that names of metrics are checked against the scenario before a run, with its workload numbers."""

from pathlib import Path

import pytest

import shallows as sh
from drawn import data
from fake_claims import WITHOUT_AXIS, claim, only_check, runs_of
from shallows.reproduction import claim_types
from shallows.reproduction.judging import DOES_NOT_HOLD, HOLDS
from shallows.runs.source import Source
from shallows.series.measures import check, measure
from shallows.series.offered import Offered

BESIDE_DATAGRAMS = """
[stop]
at = "20ms"
[topology]
kind = "star"
hosts = 6
rate = "10Gbps"
[switch.buffer]
kind = "static-partition"
per_port = "400p"
[measure]
bins = ["1KB", "30KB", "1MB"]
[[workload]]
kind = "udp"
senders = 0
receivers = 1
pattern = { kind = "constant", rate = "1Gbps" }
[[workload]]
kind = "partition-aggregate"
clients = "0"
fan_out = 3
size = "20KB"
queries = 5
arrivals = { kind = "poisson", mean = "100us" }
"""


@pytest.fixture
def beside_datagrams(tmp_path: Path) -> Path:
    """A scenario with datagrams, then a workload with queries, and with four size bins."""
    path = tmp_path / "beside.toml"
    path.write_text(BESIDE_DATAGRAMS, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("fct_us.all.p99@0", "workload 0 does not exist or sends no flows"),
        ("fct_us.all.p99@2", "workload 2 does not exist or sends no flows"),
        ("fct_us.large.p99@1", "unknown size bin 'large'"),
        ("fct_us.small.p99@1", "unknown size bin 'small'"),
        ("concurrent.p50@1", "'1' is not a time"),
        ("jain_over.5ms@0", "'0' is not a span"),
        ("catch_up_ms@99", "flow 99 is not traced"),
        ("goodput_gbps@77", "unknown host 77"),
        ("sent_gbps@nowhere", "unknown port 'nowhere'"),
    ],
)
def test_a_metric_that_a_scenario_does_not_have_is_refused_before_it_runs(
    name: str, message: str, beside_datagrams: Path
) -> None:
    offered = Offered.of(Source.read(beside_datagrams).parse())
    with pytest.raises(sh.ShallowsError, match=message):
        check(name, offered)


def test_metrics_and_settings_number_workloads_alike(beside_datagrams: Path, tmp_path: Path) -> None:
    run = sh.run(beside_datagrams, {"workload.1.queries": 7}, out=tmp_path / "run")
    assert run.queries is not None
    assert len(run.queries) == 7
    assert run.flows["workload"].unique().to_list() == [1]
    # All flows have 20 KB: in the second bin, from 1 to 30 KB.
    of_bin = measure(run, "fct_us.1000_to_30000.p99@1")
    assert of_bin == measure(run, "fct_us.all.p99@1") == run.summary["fct_us"]["all"]["p99"]
    with pytest.raises(sh.ShallowsError, match="no flow in size bin"):
        measure(run, "fct_us.30000_to_1000000.p99@1")


def test_the_figure_of_queries_beside_datagrams_counts_their_servers(
    beside_datagrams: Path, tmp_path: Path
) -> None:
    run = sh.run(beside_datagrams, out=tmp_path / "run")
    goodput, *_ = sh.figures.incast([run]).axes
    (line,) = goodput.get_lines()
    assert data(line)[0] == [3]


@pytest.mark.parametrize(
    ("value", "verdict"),
    [(-0.4, HOLDS), (-0.2, HOLDS), (-0.8, HOLDS), (-0.19, DOES_NOT_HOLD), (-0.81, DOES_NOT_HOLD)],
)
def test_a_factor_of_a_negative_number_allows_as_much_on_both_sides(value: float, verdict: str) -> None:
    asked = claim(expected=-0.4, factor=2.0)
    assert only_check(asked, WITHOUT_AXIS, runs_of(a=[value])).verdict == verdict


@pytest.mark.parametrize("factor", [0, 0.5, -2, float("inf")])
def test_a_factor_below_1_is_refused(factor: float) -> None:
    is_factor, _ = claim_types.FACTOR
    assert is_factor(1)
    assert not is_factor(factor)
