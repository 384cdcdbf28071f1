"""Queue pairs of RoCEv2: their table, their metrics, and scenarios that are refused."""

from pathlib import Path

import polars as pl
import pytest

import shallows as sh
from shallows.runs import tables
from shallows.series.measures import check, measure

MODEL = Path(__file__).parents[2] / "experiments/models/roce.toml"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> sh.Run:
    return sh.run(MODEL, out=tmp_path_factory.mktemp("roce") / "run")


def test_a_run_tabulates_the_actions_of_its_queue_pairs(run: sh.Run) -> None:
    counts = run.summary["queue_pairs"]
    table = tables.queue_pairs(run.summary)
    assert table is not None
    assert table.rows == [
        [
            "8",
            "0",
            "0",
            "0",
            "0",
            f"{counts['cnps']:,}",
            "0",
            f"{counts['cuts']:,}",
            f"{counts['increases']:,}",
        ]
    ]
    assert counts["cnps"] > 0


def test_counts_of_queue_pairs_are_metrics(run: sh.Run) -> None:
    assert measure(run, "queue_pairs.cnps") == run.summary["queue_pairs"]["cnps"]
    with pytest.raises(sh.ShallowsError, match="no metric 'queue_pairs"):
        measure(run, "queue_pairs.cnp")
    with pytest.raises(sh.ShallowsError, match="has no 'cnp'"):
        check("queue_pairs.cnp")


def test_runs_over_tcp_have_no_counts_of_queue_pairs(tmp_path: Path) -> None:
    tcp = sh.run(MODEL.with_name("dctcp-mix.toml"), out=tmp_path / "tcp")
    assert tables.queue_pairs(tcp.summary) is None
    assert "queue_pairs" not in tcp.summary


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"roce.mtu": "8KB"}, "roce.mtu: must be from 256B to 4KiB, got 8KB"),
        ({"roce.mtu": "2048B"}, "roce.mtu: must leave room for 60B of headers"),
        ({"roce.retry_count": 8}, "roce.retry_count: must be at most 7, got 8"),
        ({"roce.congestion": "none", "roce.cnp.latency": "1us"}, "roce.cnp: must be left out"),
        ({"roce.congestion.gain": 2.0}, "must be above 0 and at most 1, got 2"),
        ({"workload.0.transport": "tcp"}, "roce: must be left out, or a workload must have transport"),
        ({"workload.0.tcp.congestion": "reno"}, 'must be left out, because transport = "roce"'),
    ],
)
def test_mistakes_are_refused_with_the_allowed_values(changes: dict[str, object], message: str) -> None:
    with pytest.raises(sh.ScenarioError) as refused:
        sh.run(MODEL, changes)
    assert message in str(refused.value)


def test_a_trace_of_a_queue_pair_has_its_rate(tmp_path: Path) -> None:
    changes = {"measure.flow_traces": [{"flows": [0]}], "roce.congestion": "dcqcn"}
    traced = sh.run(MODEL, changes, out=tmp_path / "traced")
    assert traced.flow_traces is not None
    rates = traced.flow_traces.filter(pl.col("quantity") == "rate_gbps")["value"]
    # A queue pair begins at line rate. The first CNP halves it, because α is 1 (SIGCOMM '15, equation 1).
    assert rates[0] == pytest.approx(100)
    assert rates[1] == pytest.approx(50)
